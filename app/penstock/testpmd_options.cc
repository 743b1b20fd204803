// SPDX-License-Identifier: BSD-3-Clause
#include "app/penstock/testpmd_options.h"

#include <algorithm>
#include <span>

namespace penstock {
namespace {

struct Known {
  absl::string_view name;
  absl::string_view instead;
};

constexpr absl::string_view kPlan = "the planner decides; show plan shows it";
constexpr absl::string_view kEvents =
    "a removed port ends penstock with exit code 4; other events are the driver's affair";
constexpr absl::string_view kHairpin =
    "--port-topology=loop sends packets back out of their port, through the lcores";
constexpr absl::string_view kMore = "one process has its ports to itself; several run side by side";
constexpr absl::string_view kNoNoisy = "there is no mode noisy; --help lists the modes";
constexpr absl::string_view kReceivedWhole = "packets are received whole";
constexpr absl::string_view kReport = "the report has it (--report=FILE.json)";
constexpr absl::string_view kRssLevel = "flow create with the action rss level N";
constexpr absl::string_view kThreshold =
    "the driver's own is used; some drivers take a devarg for it";
constexpr absl::string_view kTunnel =
    "what is inside of tunnels is not looked at; flow create matches the outer headers (udp dst)";

constexpr Known kKnown[] = {
    {"bitrate-stats", "--stats-period=SECONDS shows rates"},
    {"cmdline-file-noecho", "--cmdline-file=FILE"},
    {"disable-crc-strip", "--rx-offloads=keep_crc, where the port has it"},
    {"disable-device-start", "ports start with penstock; port stop N stops one"},
    {"disable-link-check", "the link is not waited for"},
    {"disable-rss", "give --rxq=1, the default: one queue spreads nothing"},
    {"display-xstats", "show port xstats N and the report have all of them"},
    {"enable-drop-en", "set it in the device's devargs"},
    {"eth-link-speed", "set it on the interface or in the device's devargs"},
    {"eth-peers-configfile", "give --eth-peer=PORT,MAC once for each port"},
    {"flow-isolate-all",
     "flow create, of the lowest priority and with the action drop, leaves out what no other rule "
     "takes"},
    {"flowgen-clones", "flowgen makes every packet anew"},
    {"geneve-parsed-port", kTunnel},
    {"hairpin-mode", kHairpin},
    {"hairpinq", kHairpin},
    {"hot-plug", "stop penstock and start it with the new port"},
    {"latencystats", "latency is measured from outside: ping against --forward-mode=icmpecho"},
    {"mask-event", kEvents},
    {"max-lro-pkt-size", "--enable-lro leaves the size to the driver"},
    {"mlockall", "not needed: the kernel pins what devices use"},
    {"mp-alloc", "EAL's --no-huge and --huge-dir choose the memory"},
    {"mp-anon", "EAL's --no-huge"},
    {"multi-rx-mempool", "one mempool per NUMA node; the planner decides"},
    {"nb-ports", "--portlist=0-N names the ports that forward"},
    {"no-flush-rx", "RX queues are not emptied at start"},
    {"no-iova-contig", "EAL's --iova-mode"},
    {"no-lsc-interrupt", kEvents},
    {"no-mlockall", "nothing is locked but what the kernel pins for devices"},
    {"no-numa", kPlan},
    {"no-rmv-interrupt", kEvents},
    {"noisy-lkup-memory", kNoNoisy},
    {"noisy-lkup-memory-size", kNoNoisy},  // As its help has it.
    {"noisy-lkup-num-reads", kNoNoisy},
    {"noisy-lkup-num-reads-writes", kNoNoisy},
    {"noisy-lkup-num-writes", kNoNoisy},
    {"noisy-tx-sw-buffer-flushtime", kNoNoisy},
    {"noisy-tx-sw-buffer-size", kNoNoisy},
    {"num-procs", kMore},
    {"numa", kPlan},
    {"port-numa-config", kPlan},
    {"print-event", kEvents},
    {"proc-id", kMore},
    {"record-burst-stats", "not recorded; the report has polls and packets by lcore"},
    {"record-core-cycles", kReport},
    {"ring-numa-config", kPlan},
    {"rss-level-inner", kRssLevel},
    {"rss-level-outer", kRssLevel},
    {"rx-mq-mode",
     "RSS wherever a port has several RX queues and can; --rss-ip and --rss-udp choose by what"},
    {"rxq-share", "ports do not share RX queues; the planner deals them out to lcores"},
    {"rxfreet", kThreshold},
    {"rxht", kThreshold},
    {"rxhdrs", kReceivedWhole},
    {"rxoffs", kReceivedWhole},
    {"rxpkts", kReceivedWhole},
    {"rxpt", kThreshold},
    {"rxwt", kThreshold},
    {"socket-num", kPlan},
    {"txfreet", kThreshold},
    {"txht", kThreshold},
    {"txpt", kThreshold},
    {"txrst", kThreshold},
    {"txwt", kThreshold},
    {"vxlan-gpe-port", kTunnel},
};

constexpr Known kModes[] = {
    {"ieee1588", "packets have no timestamps; ptp4l on the interface keeps time"},
    {"noisy", "io, with --tx-retries and --txd for more room; no lookups are made to be slow"},
    {"recycle_mbufs", "io; a driver's devargs choose how it takes mbufs back"},
    {"shared_rxq", "rxonly; RX queues belong to one port each"},
};

absl::string_view Find(std::span<const Known> table, absl::string_view name) {
  const auto found = std::ranges::find(table, name, &Known::name);
  return found == table.end() ? "" : found->instead;
}

}  // namespace

absl::string_view InsteadOfTestpmd(absl::string_view name) { return Find(kKnown, name); }
absl::string_view InsteadOfTestpmdMode(absl::string_view name) { return Find(kModes, name); }

}  // namespace penstock
