// SPDX-License-Identifier: BSD-3-Clause
#include "app/penstock/testpmd_commands.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "app/penstock/testpmd_options.h"
#include "lib/base/quote.h"

namespace penstock {
namespace {

struct Known {
  absl::string_view words;  // "a|b" is either, "*" any word.
  absl::string_view instead;
};

constexpr absl::string_view kBonding = "bond the interfaces in the kernel (ip link add type bond)";
constexpr absl::string_view kBpf = "attach a program to the interface with ip link or bpftool";
constexpr absl::string_view kCapture = "dpdk-dumpcap and dpdk-pdump show packets as they pass";
constexpr absl::string_view kChecksums =
    "the mode csum takes what the port offers and does the rest itself; --tx-offloads asks for "
    "more";
constexpr absl::string_view kDcb = "DCB is set on the interface (dcb, lldptool)";
constexpr absl::string_view kDriver = "set it in the device's devargs, before --";
constexpr absl::string_view kEncapsulation =
    "rules encapsulate nothing; the flow actions are "
    "queue, rss, mark, drop, count and security";
constexpr absl::string_view kEthtool = "ethtool shows it of the interface";
constexpr absl::string_view kFirmware = "ethtool and devlink load packages into devices";
constexpr absl::string_view kFlow = "flow create, list and query";
constexpr absl::string_view kFlowControl = "ethtool -A sets it on the interface";
constexpr absl::string_view kGro = "packets are not merged or cut; they go as they are";
constexpr absl::string_view kInfo = "show port info N has it";
constexpr absl::string_view kLink = "ip link set INTERFACE up or down";
constexpr absl::string_view kMac = "ip link set INTERFACE address MAC, before the start";
constexpr absl::string_view kMeter = "packets are not metered; tc does that on an interface";
constexpr absl::string_view kMtu = "set max-pkt-len BYTES, which are 18 more than the MTU";
constexpr absl::string_view kMulticast = "ports are promiscuous: every multicast frame comes in";
constexpr absl::string_view kOffloads =
    "--rx-offloads and --tx-offloads, or set rx-offloads and "
    "set tx-offloads; show config has them";
constexpr absl::string_view kOtherPorts = "stop penstock and start it with the ports wanted";
constexpr absl::string_view kPlan =
    "the planner decides which queues there are; show plan shows it";
constexpr absl::string_view kPromiscuous = "ports are promiscuous while they run";
constexpr absl::string_view kPtypes = "packets are parsed in software";
constexpr absl::string_view kQueues =
    "set rxq, txq, rxd or txd, for all ports or by port (0:2,1:1)";
constexpr absl::string_view kReceivedWhole = "packets are received whole";
constexpr absl::string_view kRing =
    "rings are the driver's; show mempool counts mbufs, show port "
    "xstats what the driver tells";
constexpr absl::string_view kRss =
    "--rss-ip or --rss-udp at the start choose by what; flow create "
    "with the action rss by rule";
constexpr absl::string_view kSpeed = "ethtool -s sets it on the interface";
constexpr absl::string_view kStats = "show fwd stats, and --report=FILE.json at the end";
constexpr absl::string_view kTrafficManagement =
    "traffic is not shaped; tc does that on an interface";
constexpr absl::string_view kTunnel = "tunnels are not looked into";
constexpr absl::string_view kVf = "ip link set INTERFACE vf N sets it on the PF";
constexpr absl::string_view kVlan =
    "tags stay in the packet; --rx-offloads and --tx-offloads ask the "
    "port for more";

// In the order of testpmd's `help all`, then what that leaves out.
constexpr Known kKnown[] = {
    // ---- display ----
    {"show port fdir", kFlow},
    {"show port dcb_tc", kDcb},
    {"show port info * representor", kDriver},
    {"show port * module_eeprom|eeprom", kEthtool},
    {"show port * rss|rss-hash", kRss},
    {"clear port fdir|info", "clear port stats N and clear port xstats N"},
    {"show rxq|txq", "show plan has queues and descriptors"},
    {"show config rxoffs|rxpkts|rxhdrs", kReceivedWhole},
    {"show config txtimes", "txonly sends as fast as the port takes"},
    {"read rxd|txd", kRing},
    {"show vf stats", kVf},
    {"clear vf stats", kVf},
    {"show port meter", kMeter},
    {"show port * rx_offload|tx_offload", kOffloads},
    {"show port * tx_metadata", kDriver},
    {"show port * ptypes", kPtypes},
    {"show device info", "show port info all"},
    {"show port * rxq|txq", kRing},
    {"show port * macs", kInfo},
    {"show port * mcast_macs", kMulticast},
    {"show port * flow transfer proxy", kFlow},
    {"show port * fec|fec_mode", kEthtool},
    {"show port * flow_ctrl", kFlowControl},
    // ---- configuration ----
    {"set default", "set fwd io, set burst 32 and so on: show config has the defaults"},
    {"set verbose", kCapture},
    {"set log", "set log-level debug|info|warning|error"},
    {"set nbport", "set portlist 0,1 names the ports that forward"},
    {"set burst tx delay", "set tx-retries N; there is no delay"},
    {"set fwd * retry", "set tx-retries N"},
    {"set rxoffs|rxpkts|rxhdrs", kReceivedWhole},
    {"set txsplit", "set txpkts says where packets are cut"},
    {"set txtimes", "txonly sends as fast as the port takes"},
    {"set port setup on", kOtherPorts},
    {"set tx loopback", kVf},
    {"set all queues drop", kDriver},
    {"set vf", kVf},
    {"vlan set", kVlan},
    {"rx_vlan add|rm", kVlan},
    {"rx_vxlan_port add|rm", kTunnel},
    {"tx_vlan set|reset", kVlan},
    {"csum set|show|parse-tunnel|mac-swap", kChecksums},
    {"tso set|show", kGro},
    {"tunnel_tso set|show", kGro},
    {"set port * gro|gso", kGro},
    {"show port * gro|gso", kGro},
    {"set gro|gso", kGro},
    {"mac_addr add|remove|set", kMac},
    {"mcast_addr add|remove", kMulticast},
    {"set port * uta", kPromiscuous},
    {"set promisc", kPromiscuous},
    {"set allmulti", kMulticast},
    {"set flow_ctrl", kFlowControl},
    {"set pfc_ctrl|pfc_queue_ctrl", kDcb},
    {"set port * rxq", kDriver},
    {"set stat_qmap", "show port xstats N counts by queue where the driver does"},
    {"set xstats-hide-zero", "show port xstats N shows every counter"},
    {"set record-core-cycles", kStats},
    {"set record-burst-stats", kStats},
    {"set port * vf", kVf},
    {"set port * queue", kTrafficManagement},
    {"set flush_rx", "RX queues are not emptied at start"},
    {"set link_check", "the link is not waited for"},
    {"set link-up|link-down", kLink},
    {"set port * ptype_mask", kPtypes},
    {"set port * fec_mode", "ethtool --set-fec sets it on the interface"},
    {"add port meter", kMeter},
    {"del port meter", kMeter},
    {"create port meter", kMeter},
    {"enable port meter", kMeter},
    {"disable port meter", kMeter},
    {"get port meter", kMeter},
    {"set port meter", kMeter},
    // ---- ports ----
    {"port close|attach|detach", kOtherPorts},
    {"port reset", "port stop N, then port start N"},
    {"port config * speed", kSpeed},
    {"port config * loopback", kSpeed},
    {"port config all rxq|txq|rxd|txd", kQueues},
    {"port config all max-pkt-len", "set max-pkt-len BYTES"},
    {"port config all max-lro-pkt-size", kGro},
    {"port config all drop-en", kDriver},
    {"port config all rss", kRss},
    {"port config * rss|rss-hash-key", kRss},
    {"port config * dcb", kDcb},
    {"port config all burst", "set burst N"},
    {"port config all txpt|txht|txwt|rxpt|rxht|rxwt|txfreet|txrst|rxfreet", kDriver},
    {"port config mtu", kMtu},
    {"port config * rxq|txq", kQueues},
    {"port * rxq|txq", kPlan},
    {"port config * udp_tunnel_port", kTunnel},
    {"port config * rx_offload|tx_offload", kOffloads},
    {"port config * tx_metadata|dynf", kDriver},
    {"port cleanup", "the driver takes back what it sent when it needs room"},
    {"bpf-load rx|tx", kBpf},
    {"bpf-unload rx|tx", kBpf},
    // ---- filters ----
    {"set vxlan|vxlan-with-vlan|vxlan-tos-ttl|nvgre|nvgre-with-vlan", kEncapsulation},
    {"set l2_encap|l2_encap-with-vlan|l2_decap|l2_decap-with-vlan", kEncapsulation},
    {"set mplsogre_encap|mplsogre_encap-with-vlan", kEncapsulation},
    {"set mplsogre_decap|mplsogre_decap-with-vlan", kEncapsulation},
    {"set mplsoudp_encap|mplsoudp_encap-with-vlan", kEncapsulation},
    {"set mplsoudp_decap|mplsoudp_decap-with-vlan", kEncapsulation},
    {"set raw_encap|raw_decap|sample_actions", kEncapsulation},
    {"show raw_encap|raw_decap", kEncapsulation},
    {"set conntrack", kEncapsulation},
    {"set flex_pattern", "the flow items are eth, vlan, ipv4, ipv6, udp, tcp and esp"},
    {"flow_director_filter", "flow create"},
    // ---- traffic management ----
    {"show port tm", kTrafficManagement},
    {"add port tm", kTrafficManagement},
    {"del port tm", kTrafficManagement},
    {"set port tm", kTrafficManagement},
    {"suspend port tm", kTrafficManagement},
    {"resume port tm", kTrafficManagement},
    {"port tm", kTrafficManagement},
    // ---- devices, and what drivers bring ----
    {"device detach", kOtherPorts},
    {"set bonding", kBonding},
    {"show bonding", kBonding},
    {"add bonding", kBonding},
    {"remove bonding", kBonding},
    {"create bonded", kBonding},
    {"set port * queue-region", kDriver},
    {"show port * queue-region", kDriver},
    {"set tx strict-link-priority", kTrafficManagement},
    {"set tc", kTrafficManagement},
    {"set macsec", "MACsec is set up in the kernel (ip macsec)"},
    {"set bypass", kDriver},
    {"show bypass", kDriver},
    {"port config bypass", kDriver},
    {"ddp add|del|get|dump", kFirmware},
    {"port config * pctype", kDriver},
    {"show port * pctype", kDriver},
    {"ptype mapping", kDriver},
    {"mlx5 set|port", kDriver},
    // ---- what `help all` leaves out ----
    {"dump_mempool", "show mempool"},
    {"dump_ring|dump_struct_sizes", kRing},
    {"dump_physmem", "dpdk-telemetry.py has it: /eal/heap_info,N by NUMA node"},
    {"dump_memzone", "dpdk-telemetry.py has it: /eal/memzone_list"},
    {"dump_socket_mem", "dpdk-telemetry.py has it: /eal/heap_list and /eal/heap_info,N"},
    {"dump_devargs", "dpdk-telemetry.py has the devices as they were given: /eal/params"},
    {"dump_log_types", "set log-level debug|info|warning|error is for all that is logged"},
};

// How many words the row is, if the line begins with them; else 0.
size_t Matches(const Known& row, std::span<const std::string> line) {
  const std::vector<absl::string_view> words = absl::StrSplit(row.words, ' ');
  if (words.size() > line.size()) return 0;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::vector<absl::string_view> choices = absl::StrSplit(words[i], '|');
    if (words[i] != "*" && std::ranges::find(choices, line[i]) == choices.end()) return 0;
  }
  return words.size();
}

}  // namespace

size_t InsteadOfTestpmdCommand(std::span<const std::string> words, std::string& answer) {
  size_t longest = 0;
  absl::string_view instead;
  for (const Known& row : kKnown) {
    const size_t matched = Matches(row, words);
    if (matched <= longest) continue;
    longest = matched;
    instead = row.instead;
  }
  constexpr size_t kModeAt = 2;  // set fwd MODE
  if (longest <= kModeAt && words.size() > kModeAt && words[0] == "set" && words[1] == "fwd") {
    if (const absl::string_view mode = InsteadOfTestpmdMode(words[kModeAt]); !mode.empty()) {
      longest = kModeAt + 1;
      instead = mode;
    }
  }
  if (longest > 0) {
    answer = absl::StrCat(Quote(absl::StrJoin(words.first(longest), " ")),
                          ": known from testpmd, not offered: ", instead);
  }
  return longest;
}

}  // namespace penstock
