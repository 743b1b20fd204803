// SPDX-License-Identifier: BSD-3-Clause
#include "lib/config/options.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "lib/base/log.h"
#include "lib/base/quote.h"
#include "lib/base/status.h"
#include "lib/config/offloads.h"
#include "lib/config/option_readers.h"
#include "lib/text/quantity.h"
#include "lib/text/yaml.h"

namespace penstock {
namespace {

constexpr Word<PortTopology> kTopologies[] = {{"paired", PortTopology::kPaired},
                                              {"chained", PortTopology::kChained},
                                              {"loop", PortTopology::kLoop}};
constexpr Word<MempoolOps> kMempools[] = {{"deferred", MempoolOps::kDeferred},
                                          {"ring", MempoolOps::kRing}};
constexpr Word<Severity> kLogLevels[] = {{SeverityName(Severity::kDebug), Severity::kDebug},
                                         {SeverityName(Severity::kInfo), Severity::kInfo},
                                         {SeverityName(Severity::kWarning), Severity::kWarning},
                                         {SeverityName(Severity::kError), Severity::kError}};

constexpr Word<Completion> kCompletions[] = {{"stage", Completion::kStage},
                                             {"inline", Completion::kInline}};

using C = Configuration;
using V = absl::string_view;

// testpmd's switches for one or some RX offloads each.
template <uint64_t bits>
constexpr Option RxSwitch(absl::string_view name, absl::string_view help) {
  return {.area = "offloads",
          .name = name,
          .argument = "",
          .help = help,
          .sets = "rx-offloads",
          .adds = true,
          .set = [](C& c, V v) { return ReadOffloadSwitch(v, bits, c.rx_offloads); }};
}

constexpr Option kOptions[] = {
    {.area = "run",
     .name = "interactive",
     .argument = "",
     .help = "read commands from the terminal (also: -i); without it, forward until a signal",
     .in_file = false,
     .set = [](C& c, V v) { return ReadSwitch(v, c.interactive); }},
    {.area = "run",
     .name = "auto-start",
     .argument = "",
     .help = "with -i: forward at once (also: -a); without it, that is so anyway",
     .set = [](C& c, V v) { return ReadSwitch(v, c.auto_start); }},
    {.area = "run",
     .name = "cmdline-file",
     .argument = "FILE",
     .help = "commands that run before the prompt, or without -i before forwarding",
     .set = [](C& c, V v) { return ReadText(v, "a file name", c.cmdline_file); }},
    {.area = "run",
     .name = "tx-first",
     .argument = "",
     .help = "send a burst of what txonly makes from each TX queue before forwarding begins",
     .set =
         [](C& c, V v) {
           bool on = false;
           PENSTOCK_RETURN_IF_ERROR(ReadSwitch(v, on));
           c.tx_first = on ? 1 : 0;
           return absl::OkStatus();
         }},
    {.area = "run",
     .name = "duration",
     .argument = "SECONDS",
     .help = "stop by itself after so many seconds of forwarding (default 0: never)",
     .set = [](C& c, V v) { return ReadSeconds(v, c.duration_s); }},
    {.area = "run",
     .name = "stats-period",
     .argument = "SECONDS",
     .help = "show rates and drops every so many seconds (default 0: never)",
     .set = [](C& c, V v) { return ReadSeconds(v, c.stats_period_s); }},
    {.area = "run",
     .name = "report",
     .argument = "FILE.json",
     .help = "write the report there at the end",
     .set = [](C& c, V v) { return ReadText(v, "a file name", c.report_path); }},
    {.area = "run",
     .name = "memory",
     .argument = "SIZE",
     .help = "memory for mbufs and DPDK, such as 512M (default without hugepages: 1G)",
     .set =
         [](C& c, V v) {
           const auto size = ParseSize(v, kMinMemoryBytes, kMaxMemoryBytes);
           if (!size.ok()) return Accepted("64M to 1T, such as 512M or 2G");
           c.memory_bytes = *size;
           return absl::OkStatus();
         }},
    {.area = "run",
     .name = "run-dir",
     .argument = "DIR",
     .help = "where this instance keeps its state (default /run/penstock)",
     .set = [](C& c, V v) { return ReadText(v, "a folder", c.run_directory); }},
    {.area = "run",
     .name = "log-level",
     .argument = "LEVEL",
     .help = "debug, info, warning or error (default info)",
     .set = [](C& c, V v) { return ReadWord(v, kLogLevels, c.log_level); }},

    {.area = "mode",
     .name = "forward-mode",
     .argument = "MODE",
     .help = "what to do with packets (default io); the modes are listed below",
     .set = [](C& c, V v) { return ReadText(v, "a mode", c.forward_mode); }},
    {.area = "mode",
     .name = "port-topology",
     .argument = "TOPOLOGY",
     .help =
         "where a packet of port P leaves: paired (P^1, the default), chained (the next), loop (P)",
     .set = [](C& c, V v) { return ReadWord(v, kTopologies, c.port_topology); }},
    {.area = "mode",
     .name = "portlist",
     .argument = "N[-N],...",
     .help = "ports that forward, in the order that the topology goes by (default all)",
     .set = [](C& c, V v) { return ReadList(v, kMaxPorts, c.portlist); }},
    {.area = "mode",
     .name = "portmask",
     .argument = "MASK",
     .help = "ports that forward, as a hexadecimal mask: 0x3 is --portlist=0,1",
     .sets = "portlist",
     .set = [](C& c, V v) { return ReadMask(v, kMaxPorts, c.portlist); }},
    {.area = "mode",
     .name = "corelist",
     .argument = "N[-N],...",
     .help = "lcores that may work, in the order that work is dealt out (default all workers)",
     .set = [](C& c, V v) { return ReadList(v, kMaxLcores, c.corelist); }},
    {.area = "mode",
     .name = "coremask",
     .argument = "MASK",
     .help = "lcores that may work, as a hexadecimal mask: 0x6 is --corelist=1,2",
     .sets = "corelist",
     .set = [](C& c, V v) { return ReadMask(v, kMaxLcores, c.corelist); }},
    {.area = "mode",
     .name = "nb-cores",
     .argument = "N",
     .help = "how many of those lcores work (default all)",
     .set = [](C& c, V v) { return ReadNumber(v, 1, kMaxLcores, c.nb_cores); }},

    {.area = "queues",
     .name = "rxq",
     .argument = "N|PORT:N,...",
     .help = "RX queues (default 1)",
     .set = [](C& c, V v) { return ReadPerPort(v, kMaxQueues, c.rxq); }},
    {.area = "queues",
     .name = "txq",
     .argument = "N|PORT:N,...",
     .help = "TX queues (default one per sending lcore, up to what the port has)",
     .set = [](C& c, V v) { return ReadPerPort(v, kMaxQueues, c.txq); }},
    {.area = "queues",
     .name = "rxd",
     .argument = "N|PORT:N,...",
     .help = "descriptors of an RX queue (default 1024 or the nearest the port takes)",
     .set = [](C& c, V v) { return ReadPerPort(v, kMaxDescriptors, c.rxd); }},
    {.area = "queues",
     .name = "txd",
     .argument = "N|PORT:N,...",
     .help = "descriptors of a TX queue (default 1024 or the nearest the port takes)",
     .set = [](C& c, V v) { return ReadPerPort(v, kMaxDescriptors, c.txd); }},
    {.area = "queues",
     .name = "burst",
     .argument = "N",
     .help = "packets taken from an RX queue at once, 1 to 512 (default 32)",
     .set = [](C& c, V v) { return ReadNumber(v, 1, kMaxBurst, c.burst); }},
    {.area = "queues",
     .name = "tx-retries",
     .argument = "N",
     .help = "further tries for packets a TX queue did not take (default 0), then they are dropped",
     .set = [](C& c, V v) { return ReadNumber(v, 0, kMaxTxRetries, c.tx_retries); }},
    {.area = "queues",
     .name = "completion",
     .argument = "WAY",
     .help = "who takes back what was sent: stage (the lcore's loop, the default) or inline "
             "(tx_burst)",
     .set = [](C& c, V v) { return ReadWord(v, kCompletions, c.completion); }},
    {.area = "queues",
     .name = "completion-threshold",
     .argument = "N",
     .help = "packets in flight that the stage takes back at once (default 64)",
     .set = [](C& c, V v) { return ReadNumber(v, 1, kMaxDescriptors, c.completion_threshold); }},
    {.area = "queues",
     .name = "completion-age",
     .argument = "BUSY,IDLE",
     .help = "how old they may grow on a queue in use, and on an idle one (default 100us,1ms)",
     .set = [](C& c, V v) { return ReadCompletionAge(v, c.completion_age_ns); }},
    {.area = "queues",
     .name = "completion-lcore",
     .argument = "default|PORT.QUEUE@LCORE,...",
     .help = "the lcore that takes back what that TX queue sent (default the one that sends)",
     .set = [](C& c, V v) { return ReadCompletionLcore(v, c.completion_lcore); }},
    {.area = "queues",
     .name = "tx-budget",
     .argument = "N|auto|default|PORT:N,...",
     .help =
         "packets per send call of AF_XDP ports, 32 to the TX ring (default auto: as bursts are)",
     .set = [](C& c, V v) { return ReadTxBudget(v, c.tx_budget); }},
    {.area = "queues",
     .name = "rss-ip",
     .argument = "",
     .help = "spread packets over RX queues by IP addresses only (default: UDP, TCP ports as well)",
     .sets = "rss",
     .set = [](C& c, V v) { return ReadRss(v, Rss::kIp, c.rss); }},
    {.area = "queues",
     .name = "rss-udp",
     .argument = "",
     .help = "spread packets over RX queues by IP addresses and UDP ports",
     .sets = "rss",
     .set = [](C& c, V v) { return ReadRss(v, Rss::kUdp, c.rss); }},
    {.area = "queues",
     .name = "max-pkt-len",
     .argument = "BYTES",
     .help = "longest packet in bytes with FCS; the MTU becomes 18 less (default: as it is)",
     .set = [](C& c, V v) { return ReadMaxPacket(v, c.max_packet_bytes); }},

    {.area = "offloads",
     .name = "rx-offloads",
     .argument = "MASK|NAME,...",
     .help = "RX offloads that each port is to have, such as 0xe or ipv4_cksum,udp_cksum,tcp_cksum",
     .adds = true,
     .set = [](C& c, V v) { return AddOffloads(v, kRxOffloads, c.rx_offloads); },
     .clear = [](C& c) { c.rx_offloads = 0; }},
    {.area = "offloads",
     .name = "tx-offloads",
     .argument = "MASK|NAME,...",
     .help = "TX offloads that each port is to have, such as 0x8000 or multi_segs",
     .adds = true,
     .set = [](C& c, V v) { return AddOffloads(v, kTxOffloads, c.tx_offloads); },
     .clear = [](C& c) { c.tx_offloads = 0; }},
    RxSwitch<OffloadsNamed(kRxOffloads, {"ipv4_cksum", "udp_cksum", "tcp_cksum"})>(
        "enable-rx-cksum", "--rx-offloads=ipv4_cksum,udp_cksum,tcp_cksum"),
    RxSwitch<OffloadsNamed(kRxOffloads, {"scatter"})>("enable-scatter", "--rx-offloads=scatter"),
    RxSwitch<OffloadsNamed(kRxOffloads, {"tcp_lro"})>("enable-lro", "--rx-offloads=tcp_lro"),
    RxSwitch<OffloadsNamed(kRxOffloads, {"timestamp"})>("enable-rx-timestamp",
                                                        "--rx-offloads=timestamp"),
    RxSwitch<OffloadsNamed(kRxOffloads, {"vlan_strip", "vlan_filter", "vlan_extend"})>(
        "enable-hw-vlan", "--rx-offloads=vlan_strip,vlan_filter,vlan_extend"),
    RxSwitch<OffloadsNamed(kRxOffloads, {"vlan_strip"})>("enable-hw-vlan-strip",
                                                         "--rx-offloads=vlan_strip"),
    RxSwitch<OffloadsNamed(kRxOffloads, {"vlan_filter"})>("enable-hw-vlan-filter",
                                                          "--rx-offloads=vlan_filter"),
    RxSwitch<OffloadsNamed(kRxOffloads, {"vlan_extend"})>("enable-hw-vlan-extend",
                                                          "--rx-offloads=vlan_extend"),
    RxSwitch<OffloadsNamed(kRxOffloads, {"qinq_strip"})>("enable-hw-qinq-strip",
                                                         "--rx-offloads=qinq_strip"),

    {.area = "mempool",
     .name = "total-num-mbufs",
     .argument = "N",
     .help = "mbufs in each mempool (default: what the plan needs)",
     .set = [](C& c, V v) { return ReadNumber(v, kMinMbufs, kMaxMbufs, c.total_num_mbufs); }},
    {.area = "mempool",
     .name = "mbuf-size",
     .argument = "BYTES",
     .help = "data room of an mbuf, 128 bytes of headroom included (default 2176)",
     .set = [](C& c, V v) { return ReadNumber(v, kMinMbufBytes, 65535, c.mbuf_size); }},
    {.area = "mempool",
     .name = "mbcache",
     .argument = "N",
     .help = "mbufs that each lcore's cache keeps, 0 to 512 (default 250)",
     .set = [](C& c, V v) { return ReadNumber(v, 0, kMaxMbufCache, c.mbcache); }},
    {.area = "mempool",
     .name = "mempool",
     .argument = "KIND",
     .help = "deferred or ring (default deferred, unless EAL's --mbuf-pool-ops-name says another)",
     .set = [](C& c, V v) { return ReadWord(v, kMempools, c.mempool); }},

    {.area = "txonly",
     .name = "txpkts",
     .argument = "N[,N...]",
     .help = "length of each segment of a packet in bytes without FCS (default 64)",
     .set = [](C& c, V v) { return ReadTxpkts(v, c.txpkts); }},
    {.area = "txonly",
     .name = "tx-ip",
     .argument = "SRC,DST",
     .help = "IPv4 addresses (default 198.18.0.1,198.18.0.2)",
     .set = [](C& c, V v) { return ReadTxIp(v, c.tx_ip); }},
    {.area = "txonly",
     .name = "tx-udp",
     .argument = "SRC[,DST]",
     .help = "UDP ports (default 9,9)",
     .set = [](C& c, V v) { return ReadTxUdp(v, c.tx_udp); }},
    {.area = "txonly",
     .name = "eth-peer",
     .argument = "PORT,MAC",
     .help = "destination address of what PORT sends (default 02:00:00:00:00:PORT); repeatable",
     .repeatable = true,
     .set = [](C& c, V v) { return ReadEthPeer(v, c.eth_peer); },
     .clear = [](C& c) { c.eth_peer.clear(); }},
    {.area = "txonly",
     .name = "txonly-multi-flow",
     .argument = "",
     .help = "the source address changes from packet to packet",
     .set = [](C& c, V v) { return ReadSwitch(v, c.txonly_multi_flow); }},
    {.area = "txonly",
     .name = "flowgen-flows",
     .argument = "N",
     .help = "flows that the mode flowgen makes in turn (default 1024)",
     .set = [](C& c, V v) { return ReadNumber(v, 1, kMaxFlows, c.flowgen_flows); }},
};

absl::Status SetFromNode(const std::string& path, const YamlNode& node, Configuration& filled) {
  const Option* option = FindOption(node.key);
  if (option == nullptr || !option->in_file) {
    YamlNode at_key = node;
    at_key.line = node.key_line;
    at_key.column = node.key_column;
    return YamlError(path, at_key, absl::StrCat(Quote(node.key), " is no option of a file"),
                     "the options that penstock --help lists, without dashes in front");
  }
  const auto set = [&](const YamlNode& value) {
    if (value.kind != YamlNode::Kind::kScalar) {
      return YamlError(path, value, absl::StrCat(node.key, " is not one value"),
                       option->repeatable ? "a value or a list of values" : "a value");
    }
    const absl::Status status = option->set(filled, value.text);
    if (status.ok()) return status;
    return YamlError(path, value,
                     absl::StrCat(node.key, ": ", Shown(value.text), ": ", status.message()), "");
  };
  if (node.kind != YamlNode::Kind::kSequence || !option->repeatable) return set(node);
  for (const YamlNode& value : node.children) PENSTOCK_RETURN_IF_ERROR(set(value));
  return absl::OkStatus();
}

}  // namespace

std::span<const Option> Options() { return kOptions; }

const Option* FindOption(absl::string_view name) {
  const auto it = std::ranges::find(kOptions, name, &Option::name);
  return it == std::end(kOptions) ? nullptr : it;
}

absl::Status SetOption(Configuration& configuration, absl::string_view name,
                       absl::string_view value) {
  const Option* option = FindOption(name);
  if (option == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--", Shown(name), ": no such option; accepted: those that penstock --help lists"));
  }
  return WithContext(option->set(configuration, value),
                     absl::StrCat("--", name, "=", Shown(value)));
}

absl::Status LoadConfigurationFile(const std::string& path, Configuration& configuration) {
  PENSTOCK_ASSIGN_OR_RETURN(const YamlNode root, ReadYamlFile(path));
  if (root.kind == YamlNode::Kind::kNull) return absl::OkStatus();
  if (root.kind != YamlNode::Kind::kMap) {
    return YamlError(path, root, "not a map", "lines such as \"forward-mode: macswap\"");
  }
  Configuration filled = configuration;
  std::map<absl::string_view, absl::string_view> setter_of;
  for (const YamlNode& node : root.children) {
    if (const Option* option = FindOption(node.key); option != nullptr && !option->adds) {
      const auto [first, fresh] = setter_of.emplace(FieldOf(*option), option->name);
      if (!fresh) {
        return YamlError(path, node, absl::StrCat(node.key, " beside ", first->second),
                         "one of them");
      }
    }
    PENSTOCK_RETURN_IF_ERROR(SetFromNode(path, node, filled));
  }
  configuration = std::move(filled);
  return absl::OkStatus();
}

}  // namespace penstock
