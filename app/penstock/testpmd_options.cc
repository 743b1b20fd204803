// SPDX-License-Identifier: BSD-3-Clause
#include "app/penstock/testpmd_options.h"

namespace penstock {
namespace {

struct Known {
  absl::string_view name;
  absl::string_view instead;
};

constexpr absl::string_view kLcores = "choose lcores with EAL's -l or --lcores";
constexpr absl::string_view kPorts = "give only the ports wanted, with -a or --vdev";
constexpr absl::string_view kPlan = "the planner decides; show plan shows it";
constexpr absl::string_view kDriver = "use the driver's devargs";
constexpr absl::string_view kEvents =
    "a removed port ends penstock with exit code 4; link changes are the driver's affair";
constexpr absl::string_view kNotYet = "no rules for flows in the present modes";
constexpr absl::string_view kReport = "the report has it (--report=FILE.json)";
constexpr absl::string_view kSoftware = "not in the present modes; packets go as they are";

constexpr Known kKnown[] = {
    {"auto-start", "without -i forwarding starts by itself; with it, type start"},
    {"bitrate-stats", "--stats-period=SECONDS shows rates"},
    {"coremask", kLcores},
    {"cmdline-file", "pipe the commands into penstock -i"},
    {"cmdline-file-noecho", "pipe the commands into penstock -i"},
    {"corelist", kLcores},
    {"disable-crc-strip", "frames come without FCS"},
    {"disable-device-start", "ports start with penstock"},
    {"disable-link-check", "the link is not waited for"},
    {"disable-rss", "give --rxq=1"},
    {"display-xstats", kReport},
    {"enable-drop-en", kDriver},
    {"enable-hw-qinq-strip", kSoftware},
    {"enable-hw-vlan", kSoftware},
    {"enable-hw-vlan-extend", kSoftware},
    {"enable-hw-vlan-filter", kSoftware},
    {"enable-hw-vlan-strip", kSoftware},
    {"enable-lro", kSoftware},
    {"enable-rx-cksum", kSoftware},
    {"enable-rx-timestamp", kSoftware},
    {"enable-scatter", "on wherever the port can"},
    {"eth-link-speed", "set it on the interface or in the device's devargs"},
    {"eth-peers-configfile", "give --eth-peer=PORT,MAC once for each port"},
    {"flow-isolate-all", kNotYet},
    {"flowgen-clones", "--forward-mode=txonly makes packets"},
    {"flowgen-flows", "--forward-mode=txonly makes packets"},
    {"geneve-parsed-port", kSoftware},
    {"hairpin-mode", kNotYet},
    {"hairpinq", kNotYet},
    {"hot-plug", "stop penstock and start it with the new port"},
    {"latencystats", "latency is not measured by the present modes"},
    {"lsc-interrupt", kEvents},
    {"mask-event", kEvents},
    {"max-lro-pkt-size", kSoftware},
    {"max-pkt-len", "give --mbuf-size; longer packets arrive in segments where the port can"},
    {"mlockall", "not needed: DPDK locks what it hands to devices"},
    {"mp-alloc", "EAL's --no-huge and --huge-dir choose the memory"},
    {"mp-anon", "EAL's --no-huge"},
    {"multi-rx-mempool", "one mempool per NUMA node; the planner decides"},
    {"nb-cores", kLcores},
    {"nb-ports", kPorts},
    {"no-flush-rx", "RX queues are not emptied at start"},
    {"no-iova-contig", "EAL's --iova-mode"},
    {"no-lsc-interrupt", kEvents},
    {"no-mlockall", "nothing is locked but what DPDK hands to devices"},
    {"no-numa", kPlan},
    {"no-rmv-interrupt", kEvents},
    {"noisy-forward-mode", "--forward-mode lists the modes there are"},
    {"noisy-lkup-memory", "--forward-mode lists the modes there are"},
    {"noisy-lkup-memory-size", "--forward-mode lists the modes there are"},
    {"noisy-lkup-num-reads", "--forward-mode lists the modes there are"},
    {"noisy-lkup-num-reads-writes", "--forward-mode lists the modes there are"},
    {"noisy-lkup-num-writes", "--forward-mode lists the modes there are"},
    {"noisy-tx-sw-buffer-flushtime", "--forward-mode lists the modes there are"},
    {"noisy-tx-sw-buffer-size", "--forward-mode lists the modes there are"},
    {"num-procs", "one penstock per set of ports; several run side by side"},
    {"numa", kPlan},
    {"port-numa-config", kPlan},
    {"portlist", kPorts},
    {"portmask", kPorts},
    {"print-event", "--log-level=debug"},
    {"proc-id", "one penstock per set of ports; several run side by side"},
    {"record-burst-stats", "not recorded; the report has polls and packets by lcore"},
    {"record-core-cycles", kReport},
    {"ring-numa-config", kPlan},
    {"rmv-interrupt", kEvents},
    {"rss-ip", "on wherever a port has several RX queues and can"},
    {"rss-level-inner", kDriver},
    {"rss-level-outer", kDriver},
    {"rss-udp", "on wherever a port has several RX queues and can"},
    {"rx-mq-mode", "RSS wherever a port has several RX queues and can"},
    {"rx-offloads", "what the mode needs is switched on"},
    {"rxq-share", kPlan},
    {"rxfreet", kDriver},
    {"rxht", kDriver},
    {"rxhdrs", "packets are received whole"},
    {"rxoffs", "packets are received whole"},
    {"rxpkts", "packets are received whole"},
    {"rxpt", kDriver},
    {"rxwt", kDriver},
    {"socket-num", kPlan},
    {"tx-first", "start a second penstock with --forward-mode=txonly on the other end"},
    {"tx-offloads", "what the mode needs is switched on"},
    {"txfreet", kDriver},
    {"txht", kDriver},
    {"txonly-multi-flow", "one flow per penstock: start several, each with its --tx-udp"},
    {"txpt", kDriver},
    {"txrst", kDriver},
    {"txwt", kDriver},
    {"vxlan-gpe-port", kSoftware},
};

}  // namespace

absl::string_view InsteadOfTestpmd(absl::string_view name) {
  for (const Known& known : kKnown) {
    if (known.name == name) return known.instead;
  }
  return "";
}

}  // namespace penstock
