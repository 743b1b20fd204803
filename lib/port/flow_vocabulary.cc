// SPDX-License-Identifier: BSD-3-Clause
#include "lib/port/flow_vocabulary.h"

#include <rte_ethdev.h>

#include <algorithm>
#include <bit>
#include <cstddef>

namespace penstock {
namespace {

using Kind = FlowField::Kind;

// A number that fills its bytes.
constexpr FlowField Number(Kind kind, absl::string_view name, size_t offset, size_t bytes,
                           absl::string_view help) {
  return {name,
          help,
          kind,
          static_cast<uint16_t>(offset),
          static_cast<uint16_t>(bytes),
          ~uint64_t{0} >> (64 - 8 * bytes)};
}
constexpr FlowField Wire(absl::string_view name, size_t offset, size_t bytes,
                         absl::string_view help) {
  return Number(Kind::kNetworkNumber, name, offset, bytes, help);
}
constexpr FlowField Host(absl::string_view name, size_t offset, size_t bytes,
                         absl::string_view help) {
  return Number(Kind::kHostNumber, name, offset, bytes, help);
}

// A number that has some bits of its bytes.
constexpr FlowField WireBits(absl::string_view name, size_t offset, size_t bytes, uint64_t bits,
                             absl::string_view help) {
  return {
      name, help, Kind::kNetworkNumber, static_cast<uint16_t>(offset), static_cast<uint16_t>(bytes),
      bits};
}
// The n-th of the one-bit bit-fields that follow a header, at once and without padding: C counts
// them from the end that the machine's integers begin at.
constexpr FlowField Flag(absl::string_view name, size_t header_bytes, unsigned n,
                         absl::string_view help) {
  const uint64_t bit = std::endian::native == std::endian::little ? 1U << n : 0x80U >> n;
  return {name, help, Kind::kHostNumber, static_cast<uint16_t>(header_bytes), 1, bit};
}

constexpr FlowField Address(Kind kind, absl::string_view name, size_t offset,
                            absl::string_view help) {
  const uint16_t bytes = kind == Kind::kMac ? 6 : kind == Kind::kIpv4 ? 4 : 16;
  return {name, help, kind, static_cast<uint16_t>(offset), bytes, 0};
}

// ---- Pattern items ----

constexpr FlowField kAny[] = {
    Host("num", offsetof(rte_flow_item_any, num), 4, "number of layers covered"),
};
constexpr FlowField kEth[] = {
    Address(Kind::kMac, "dst", offsetof(rte_flow_item_eth, hdr.dst_addr), "destination MAC"),
    Address(Kind::kMac, "src", offsetof(rte_flow_item_eth, hdr.src_addr), "source MAC"),
    Wire("type", offsetof(rte_flow_item_eth, hdr.ether_type), 2, "EtherType"),
    Flag("has_vlan", sizeof(rte_ether_hdr), 0, "the packet has a VLAN tag"),
};
// What `tci` holds comes first: a rule is written with the parts.
constexpr FlowField kVlan[] = {
    WireBits("pcp", offsetof(rte_flow_item_vlan, hdr.vlan_tci), 2, 0xe000, "priority code point"),
    WireBits("dei", offsetof(rte_flow_item_vlan, hdr.vlan_tci), 2, 0x1000,
             "drop eligible indicator"),
    WireBits("vid", offsetof(rte_flow_item_vlan, hdr.vlan_tci), 2, 0x0fff, "VLAN identifier"),
    Wire("tci", offsetof(rte_flow_item_vlan, hdr.vlan_tci), 2, "pcp, dei and vid in one"),
    Wire("inner_type", offsetof(rte_flow_item_vlan, hdr.eth_proto), 2, "inner EtherType"),
    Flag("has_more_vlan", sizeof(rte_vlan_hdr), 0, "another VLAN tag follows"),
};
constexpr FlowField kIpv4[] = {
    Wire("version_ihl", offsetof(rte_flow_item_ipv4, hdr.version_ihl), 1,
         "version and header length"),
    Wire("tos", offsetof(rte_flow_item_ipv4, hdr.type_of_service), 1, "type of service"),
    Wire("packet_id", offsetof(rte_flow_item_ipv4, hdr.packet_id), 2, "fragment identification"),
    Wire("fragment_offset", offsetof(rte_flow_item_ipv4, hdr.fragment_offset), 2,
         "fragmentation flags and offset"),
    Wire("ttl", offsetof(rte_flow_item_ipv4, hdr.time_to_live), 1, "time to live"),
    Wire("proto", offsetof(rte_flow_item_ipv4, hdr.next_proto_id), 1, "next protocol"),
    Address(Kind::kIpv4, "src", offsetof(rte_flow_item_ipv4, hdr.src_addr), "source address"),
    Address(Kind::kIpv4, "dst", offsetof(rte_flow_item_ipv4, hdr.dst_addr), "destination address"),
};
constexpr FlowField kIpv6[] = {
    WireBits("tc", offsetof(rte_flow_item_ipv6, hdr.vtc_flow), 4, 0x0ff00000, "traffic class"),
    WireBits("flow", offsetof(rte_flow_item_ipv6, hdr.vtc_flow), 4, 0x000fffff, "flow label"),
    Wire("proto", offsetof(rte_flow_item_ipv6, hdr.proto), 1, "next header"),
    Wire("hop", offsetof(rte_flow_item_ipv6, hdr.hop_limits), 1, "hop limit"),
    Address(Kind::kIpv6, "src", offsetof(rte_flow_item_ipv6, hdr.src_addr), "source address"),
    Address(Kind::kIpv6, "dst", offsetof(rte_flow_item_ipv6, hdr.dst_addr), "destination address"),
    Flag("has_frag_ext", sizeof(rte_ipv6_hdr), 2, "the packet has a fragment extension header"),
};
constexpr FlowField kUdp[] = {
    Wire("src", offsetof(rte_flow_item_udp, hdr.src_port), 2, "source port"),
    Wire("dst", offsetof(rte_flow_item_udp, hdr.dst_port), 2, "destination port"),
};
constexpr FlowField kTcp[] = {
    Wire("src", offsetof(rte_flow_item_tcp, hdr.src_port), 2, "source port"),
    Wire("dst", offsetof(rte_flow_item_tcp, hdr.dst_port), 2, "destination port"),
    Wire("flags", offsetof(rte_flow_item_tcp, hdr.tcp_flags), 1, "TCP flags"),
};
constexpr FlowField kEsp[] = {
    Wire("spi", offsetof(rte_flow_item_esp, hdr.spi), 4, "security parameters index"),
    Wire("seq", offsetof(rte_flow_item_esp, hdr.seq), 4, "sequence number"),
};

constexpr FlowItemKind kItems[] = {
    {"void", "matches nothing and stands for nothing", RTE_FLOW_ITEM_TYPE_VOID, 0, {}},
    {"any", "any protocol of the layer", RTE_FLOW_ITEM_TYPE_ANY, sizeof(rte_flow_item_any), kAny},
    {"eth", "Ethernet header", RTE_FLOW_ITEM_TYPE_ETH, sizeof(rte_flow_item_eth), kEth},
    {"vlan", "VLAN tag", RTE_FLOW_ITEM_TYPE_VLAN, sizeof(rte_flow_item_vlan), kVlan},
    {"ipv4", "IPv4 header", RTE_FLOW_ITEM_TYPE_IPV4, sizeof(rte_flow_item_ipv4), kIpv4},
    {"ipv6", "IPv6 header", RTE_FLOW_ITEM_TYPE_IPV6, sizeof(rte_flow_item_ipv6), kIpv6},
    {"udp", "UDP header", RTE_FLOW_ITEM_TYPE_UDP, sizeof(rte_flow_item_udp), kUdp},
    {"tcp", "TCP header", RTE_FLOW_ITEM_TYPE_TCP, sizeof(rte_flow_item_tcp), kTcp},
    {"esp", "ESP header", RTE_FLOW_ITEM_TYPE_ESP, sizeof(rte_flow_item_esp), kEsp},
};

// ---- Actions ----

constexpr FlowField kQueue[] = {
    Host("index", offsetof(rte_flow_action_queue, index), 2, "RX queue"),
};
constexpr FlowField kMark[] = {
    Host("id", offsetof(rte_flow_action_mark, id), 4, "value to hand over with the packet"),
};
constexpr FlowField kCount[] = {
    Host("identifier", offsetof(rte_flow_action_count, id), 4, "which counter"),
};
using Form = FlowActionKind::Form;
constexpr FlowActionKind kActions[] = {
    {"void", "does nothing", RTE_FLOW_ACTION_TYPE_VOID, Form::kFields, 0, {}},
    {"passthru",
     "later rules see the packet too",
     RTE_FLOW_ACTION_TYPE_PASSTHRU,
     Form::kFields,
     0,
     {}},
    {"mark", "a number for the packet", RTE_FLOW_ACTION_TYPE_MARK, Form::kFields,
     sizeof(rte_flow_action_mark), kMark},
    {"queue", "to one RX queue", RTE_FLOW_ACTION_TYPE_QUEUE, Form::kFields,
     sizeof(rte_flow_action_queue), kQueue},
    {"drop", "drops the packet", RTE_FLOW_ACTION_TYPE_DROP, Form::kFields, 0, {}},
    {"count", "counts packets and bytes", RTE_FLOW_ACTION_TYPE_COUNT, Form::kFields,
     sizeof(rte_flow_action_count), kCount},
    {"rss", "spreads packets over RX queues", RTE_FLOW_ACTION_TYPE_RSS, Form::kRss, 0, {}},
    {"security", "inline cryptography", RTE_FLOW_ACTION_TYPE_SECURITY, Form::kSecurity, 0, {}},
};

constexpr FlowRssFunction kRssFunctions[] = {
    {"default", RTE_ETH_HASH_FUNCTION_DEFAULT},
    {"toeplitz", RTE_ETH_HASH_FUNCTION_TOEPLITZ},
    {"simple_xor", RTE_ETH_HASH_FUNCTION_SIMPLE_XOR},
    {"symmetric_toeplitz", RTE_ETH_HASH_FUNCTION_SYMMETRIC_TOEPLITZ},
};

constexpr uint64_t kRssAll = RTE_ETH_RSS_ETH | RTE_ETH_RSS_VLAN | RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP |
                             RTE_ETH_RSS_UDP | RTE_ETH_RSS_SCTP | RTE_ETH_RSS_L2_PAYLOAD |
                             RTE_ETH_RSS_L2TPV3 | RTE_ETH_RSS_ESP | RTE_ETH_RSS_AH |
                             RTE_ETH_RSS_PFCP | RTE_ETH_RSS_GTPU | RTE_ETH_RSS_ECPRI |
                             RTE_ETH_RSS_MPLS | RTE_ETH_RSS_L2TPV2;

// Groups before what they hold: a set of types is written with the first that fit.
constexpr FlowRssType kRssTypes[] = {
    {"all", kRssAll},
    {"none", 0},
    {"ip", RTE_ETH_RSS_IP},
    {"udp", RTE_ETH_RSS_UDP},
    {"tcp", RTE_ETH_RSS_TCP},
    {"sctp", RTE_ETH_RSS_SCTP},
    {"tunnel", RTE_ETH_RSS_TUNNEL},
    {"vlan", RTE_ETH_RSS_VLAN},
    {"ipv4", RTE_ETH_RSS_IPV4},
    {"ipv4-frag", RTE_ETH_RSS_FRAG_IPV4},
    {"ipv4-tcp", RTE_ETH_RSS_NONFRAG_IPV4_TCP},
    {"ipv4-udp", RTE_ETH_RSS_NONFRAG_IPV4_UDP},
    {"ipv4-sctp", RTE_ETH_RSS_NONFRAG_IPV4_SCTP},
    {"ipv4-other", RTE_ETH_RSS_NONFRAG_IPV4_OTHER},
    {"ipv6", RTE_ETH_RSS_IPV6},
    {"ipv6-frag", RTE_ETH_RSS_FRAG_IPV6},
    {"ipv6-tcp", RTE_ETH_RSS_NONFRAG_IPV6_TCP},
    {"ipv6-udp", RTE_ETH_RSS_NONFRAG_IPV6_UDP},
    {"ipv6-sctp", RTE_ETH_RSS_NONFRAG_IPV6_SCTP},
    {"ipv6-other", RTE_ETH_RSS_NONFRAG_IPV6_OTHER},
    {"ipv6-ex", RTE_ETH_RSS_IPV6_EX},
    {"ipv6-tcp-ex", RTE_ETH_RSS_IPV6_TCP_EX},
    {"ipv6-udp-ex", RTE_ETH_RSS_IPV6_UDP_EX},
    {"l2-payload", RTE_ETH_RSS_L2_PAYLOAD},
    {"port", RTE_ETH_RSS_PORT},
    {"vxlan", RTE_ETH_RSS_VXLAN},
    {"geneve", RTE_ETH_RSS_GENEVE},
    {"nvgre", RTE_ETH_RSS_NVGRE},
    {"gtpu", RTE_ETH_RSS_GTPU},
    {"eth", RTE_ETH_RSS_ETH},
    {"s-vlan", RTE_ETH_RSS_S_VLAN},
    {"c-vlan", RTE_ETH_RSS_C_VLAN},
    {"esp", RTE_ETH_RSS_ESP},
    {"ah", RTE_ETH_RSS_AH},
    {"l2tpv2", RTE_ETH_RSS_L2TPV2},
    {"l2tpv3", RTE_ETH_RSS_L2TPV3},
    {"pfcp", RTE_ETH_RSS_PFCP},
    {"pppoe", RTE_ETH_RSS_PPPOE},
    {"ecpri", RTE_ETH_RSS_ECPRI},
    {"mpls", RTE_ETH_RSS_MPLS},
    {"ipv4-chksum", RTE_ETH_RSS_IPV4_CHKSUM},
    {"l4-chksum", RTE_ETH_RSS_L4_CHKSUM},
    {"l3-pre32", RTE_ETH_RSS_L3_PRE32},
    {"l3-pre40", RTE_ETH_RSS_L3_PRE40},
    {"l3-pre48", RTE_ETH_RSS_L3_PRE48},
    {"l3-pre56", RTE_ETH_RSS_L3_PRE56},
    {"l3-pre64", RTE_ETH_RSS_L3_PRE64},
    {"l3-pre96", RTE_ETH_RSS_L3_PRE96},
    {"l2-src-only", RTE_ETH_RSS_L2_SRC_ONLY},
    {"l2-dst-only", RTE_ETH_RSS_L2_DST_ONLY},
    {"l3-src-only", RTE_ETH_RSS_L3_SRC_ONLY},
    {"l3-dst-only", RTE_ETH_RSS_L3_DST_ONLY},
    {"l4-src-only", RTE_ETH_RSS_L4_SRC_ONLY},
    {"l4-dst-only", RTE_ETH_RSS_L4_DST_ONLY},
};

// ---- What dpdk-testpmd has beyond these ----

constexpr absl::string_view kAges =
    "rules do not grow old; the action count and flow query tell whether packets still come";
constexpr absl::string_view kConnections =
    "connections are not tracked; match addresses, ports and the flags of tcp";
constexpr absl::string_view kEncapsulation =
    "rules encapsulate nothing; the kernel's tunnel interfaces do (ip link add type vxlan)";
constexpr absl::string_view kGeneve = "udp dst is 6081; what is inside is not looked at";
constexpr absl::string_view kGreHeader =
    "ipv4 proto is 47, or ipv6 proto is 47; what is inside is not looked at";
constexpr absl::string_view kGtpU = "udp dst is 2152; what is inside is not looked at";
constexpr absl::string_view kHeaders = "match fields of the headers that are accepted";
constexpr absl::string_view kIcmp6 = "ipv6 proto is 58";
constexpr absl::string_view kL2tp = "udp dst is 1701; what is inside is not looked at";
constexpr absl::string_view kMetadata =
    "packets come in without metadata; match fields of their headers";
constexpr absl::string_view kMeter = "packets are not metered; tc does that on an interface";
constexpr absl::string_view kOwnPort =
    "a rule is for the port that it is made on: flow create PORT";
constexpr absl::string_view kPppoeSession = "eth type is 0x8864";
constexpr absl::string_view kRewrites =
    "rules change no packets; the modes mac, macswap and 5tswap do: set fwd MODE";
constexpr absl::string_view kToQueues =
    "a rule spreads packets over the RX queues of its port, with queue or rss; the topology says "
    "where they leave: set port-topology";

constexpr FlowElsewhere kItemsElsewhere[] = {
    {"invert", "write rules for what is to match; one of lower priority has the rest"},
    {"port_id", kOwnPort},
    {"mark", kMetadata},
    {"raw", kHeaders},
    {"icmp", "ipv4 proto is 1"},
    {"sctp", "ipv4 proto is 132, or ipv6 proto is 132"},
    {"vxlan", "udp dst is 4789; what is inside is not looked at"},
    {"e_tag", "eth type is 0x893f"},
    {"nvgre", kGreHeader},
    {"mpls", "eth type is 0x8847"},
    {"gre", kGreHeader},
    {"fuzzy", "every match is exact; give a mask to leave bits out"},
    {"gtp", kGtpU},
    {"gtpc", "udp dst is 2123"},
    {"gtpu", kGtpU},
    {"geneve", kGeneve},
    {"vxlan-gpe", "udp dst is 4790; what is inside is not looked at"},
    {"arp_eth_ipv4", "eth type is 0x0806"},
    {"ipv6_ext", "ipv6 proto is N, the number of the first extension header"},
    {"ipv6_frag_ext", "ipv6 has_frag_ext is 1"},
    {"icmp6", kIcmp6},
    {"icmp6_nd_ns", kIcmp6},
    {"icmp6_nd_na", kIcmp6},
    {"icmp6_nd_opt", kIcmp6},
    {"icmp6_nd_opt_sla_eth", kIcmp6},
    {"icmp6_nd_opt_tla_eth", kIcmp6},
    {"meta", kMetadata},
    {"gre_key", kGreHeader},
    {"gre_option", kGreHeader},
    {"gtp_psc", kGtpU},
    {"pppoes", kPppoeSession},
    {"pppoed", "eth type is 0x8863"},
    {"pppoe_proto_id", kPppoeSession},
    {"higig2", kHeaders},
    {"tag", kMetadata},
    {"l2tpv3oip", "ipv4 proto is 115, or ipv6 proto is 115"},
    {"ah", "ipv4 proto is 51, or ipv6 proto is 51"},
    {"pfcp", "udp dst is 8805"},
    {"ecpri", "eth type is 0xaefe"},
    {"geneve-opt", kGeneve},
    {"integrity", "the mode csum verifies lengths and checksums"},
    {"conntrack", kConnections},
    {"port_representor", kOwnPort},
    {"represented_port", kOwnPort},
    {"flex", kHeaders},
    {"l2tpv2", kL2tp},
    {"ppp", kL2tp},
    {"meter", kMeter},
    {"end_set", "end ends a pattern"},
};

constexpr FlowElsewhere kActionsElsewhere[] = {
    {"jump", "every packet meets the rules of group 0; priority orders them"},
    {"flag", "mark id N"},
    {"pf", kToQueues},
    {"vf", kToQueues},
    {"port_id", kToQueues},
    {"meter", kMeter},
    {"color", kMeter},
    {"meter_mark", kMeter},
    {"of_dec_nw_ttl", kRewrites},
    {"of_pop_vlan", kRewrites},
    {"of_push_vlan", kRewrites},
    {"of_set_vlan_vid", kRewrites},
    {"of_set_vlan_pcp", kRewrites},
    {"of_pop_mpls", kRewrites},
    {"of_push_mpls", kRewrites},
    {"vxlan_encap", kEncapsulation},
    {"vxlan_decap", kEncapsulation},
    {"nvgre_encap", kEncapsulation},
    {"nvgre_decap", kEncapsulation},
    {"l2_encap", kEncapsulation},
    {"l2_decap", kEncapsulation},
    {"mplsogre_encap", kEncapsulation},
    {"mplsogre_decap", kEncapsulation},
    {"mplsoudp_encap", kEncapsulation},
    {"mplsoudp_decap", kEncapsulation},
    {"set_ipv4_src", kRewrites},
    {"set_ipv4_dst", kRewrites},
    {"set_ipv6_src", kRewrites},
    {"set_ipv6_dst", kRewrites},
    {"set_tp_src", kRewrites},
    {"set_tp_dst", kRewrites},
    {"mac_swap", "the mode macswap exchanges the addresses: set fwd macswap"},
    {"dec_ttl", kRewrites},
    {"set_ttl", kRewrites},
    {"set_mac_src", "the mode mac sets it to the address of the port: set fwd mac"},
    {"set_mac_dst", "the mode mac sets it: set fwd mac, and set eth-peer PORT MAC"},
    {"inc_tcp_seq", kRewrites},
    {"dec_tcp_seq", kRewrites},
    {"inc_tcp_ack", kRewrites},
    {"dec_tcp_ack", kRewrites},
    {"raw_encap", kEncapsulation},
    {"raw_decap", kEncapsulation},
    {"set_tag", "mark id N"},
    {"set_meta", "mark id N"},
    {"set_ipv4_dscp", kRewrites},
    {"set_ipv6_dscp", kRewrites},
    {"age", kAges},
    {"age_update", kAges},
    {"sample", "dpdk-dumpcap copies packets as they pass"},
    {"indirect", "write the action itself into each rule"},
    {"modify_field", kRewrites},
    {"conntrack", kConnections},
    {"conntrack_update", kConnections},
    {"port_representor", kToQueues},
    {"represented_port", kToQueues},
    {"send_to_kernel",
     "ethtool -N steers packets to the queues that the port leaves to the kernel"},
};

template <typename Table>
auto Find(const Table& table, absl::string_view name) {
  const auto found = std::ranges::find_if(table, [&](const auto& row) { return row.name == name; });
  return found == std::end(table) ? nullptr : &*found;
}

}  // namespace

std::span<const FlowItemKind> FlowItems() { return kItems; }
std::span<const FlowActionKind> FlowActions() { return kActions; }
std::span<const FlowRssType> FlowRssTypes() { return kRssTypes; }
std::span<const FlowRssFunction> FlowRssFunctions() { return kRssFunctions; }
std::span<const FlowElsewhere> FlowItemsElsewhere() { return kItemsElsewhere; }
std::span<const FlowElsewhere> FlowActionsElsewhere() { return kActionsElsewhere; }
const FlowItemKind* FindFlowItem(absl::string_view name) { return Find(kItems, name); }
const FlowActionKind* FindFlowAction(absl::string_view name) { return Find(kActions, name); }

}  // namespace penstock
