// SPDX-License-Identifier: BSD-3-Clause
//
// Dissect: where the headers of a frame stand. Any lcore, data path: no state, no allocation, reads
// only within the span, and takes no more steps than the span has headers, at most kMaxVlanTags and
// kMaxIpv6Extensions of them.
//
// Known are Ethernet, VLAN tags in any number and mix, ARP, IPv4 with options, IPv6 with extension
// headers, and above them TCP, UDP, ICMP, ICMPv6, SCTP. What is not known is not a fault: a frame
// of another EtherType has no `network`, a packet of another protocol no `transport`.
//
//   const Dissection d = Dissect({data, data_len}, pkt_len);
//   if (d.transport == Transport::kUdp) {
//     auto* udp = reinterpret_cast<UdpHeader*>(data + d.transport_offset);
//
// The span is the first bytes of the frame, contiguous; the frame may go on behind it (an mbuf with
// segments). When a header does not lie within the span whole, but may within the frame, the fault
// is kBeyondHead: come again with more of the frame in one piece; kDissectHeadBytes are enough for
// all that is ordinary.
//
// Whatever the fault, what is said of the layers before it is right: `network` is set when the
// header lies within the span, with all its options, and is of the version that its EtherType
// announces; `transport` when, beyond that, all of the IP packet lies within the frame, its headers
// lie within the packet and the span, and their own lengths are possible. Offsets are from the
// first byte of the frame.

#ifndef PENSTOCK_LIB_NET_DISSECT_H_
#define PENSTOCK_LIB_NET_DISSECT_H_

#include <cstdint>
#include <span>

#include "absl/strings/string_view.h"
#include "lib/base/endian.h"

namespace penstock {

inline constexpr unsigned kMaxVlanTags = 8;
inline constexpr unsigned kMaxIpv6Extensions = 16;
inline constexpr uint32_t kDissectHeadBytes = 512;

enum class Network : uint8_t { kNone, kArp, kIpv4, kIpv6 };
enum class Transport : uint8_t { kNone, kTcp, kUdp, kIcmp, kIcmpv6, kSctp };

enum class Fragment : uint8_t {
  kNone,   // A whole packet; a Fragment header that says so (RFC 6946) is one too.
  kFirst,  // Begins with the transport header; its rest is elsewhere.
  kLater,  // Has no transport header.
};

enum class FrameFault : uint8_t {
  kNone,
  kRunt,                // Shorter than an Ethernet header.
  kTruncated,           // A header goes on behind the end of the frame or of its IP packet.
  kBeyondHead,          // A header goes on behind the span, within the frame.
  kTooManyTags,         // More than kMaxVlanTags.
  kTooManyExtensions,   // More than kMaxIpv6Extensions.
  kBadVersion,          // An IP version that is not its EtherType's.
  kBadHeaderLength,     // An IPv4 header length below 20 bytes.
  kBadLength,           // An IP packet shorter than its header or longer than the frame.
  kBadTransportLength,  // A UDP length or TCP data offset that is too small or beyond the packet.
};
inline constexpr unsigned kFrameFaults = 10;

// Name and meaning of a fault, for counters and messages: "truncated"; empty for kNone.
struct FrameFaultText {
  absl::string_view name;
  absl::string_view what;
};
inline constexpr FrameFaultText kFrameFaultTexts[kFrameFaults] = {
    {"", ""},
    {"runt", "shorter than an Ethernet header of 14 bytes"},
    {"truncated", "ended within a header"},
    {"beyond_head", "headers longer than is looked at"},
    {"too_many_tags", "more than 8 VLAN tags"},
    {"too_many_extensions", "more than 16 IPv6 extension headers"},
    {"bad_version", "IP version not that of the EtherType"},
    {"bad_header_length", "IPv4 header length below 20 bytes"},
    {"bad_length", "IP length less than the header or more than the frame"},
    {"bad_transport_length", "UDP length or TCP data offset too small or beyond the packet"},
};

struct Dissection {
  // No header is there: the offset of an address that is not known.
  static constexpr uint32_t kNoOffset = 0;

  FrameFault fault = FrameFault::kNone;
  Network network = Network::kNone;
  Transport transport = Transport::kNone;
  Fragment fragment = Fragment::kNone;
  uint8_t vlan_tags = 0;
  // What follows the IP header and the IPv6 extension headers that were walked; of a later fragment
  // and at a fault, the header that was not looked at. Valid with an IP `network`.
  uint8_t protocol = 0;
  // Of what follows the VLAN tags. Valid unless the fault is kRunt.
  Big16 ether_type;
  // Behind the last VLAN tag: where the network header is. DPDK's l2_len.
  uint32_t network_offset = 0;
  // Behind the IP header with options and extension headers; how far these were walked at a fault.
  // Minus network_offset, DPDK's l3_len.
  uint32_t transport_offset = 0;
  // Behind the transport header, TCP options included. Valid with `transport`.
  uint32_t payload_offset = 0;
  // Where the IP packet ends by its own length; the frame's bytes from here on are padding. With an
  // ARP packet, its end. Otherwise, and when the fault is kBadLength, the end of the frame.
  uint32_t packet_end = 0;
  // Where that ends which the transport checksum covers, which begins at transport_offset: the
  // datagram by its UDP length, else the packet. Valid with `transport`.
  uint32_t transport_end = 0;
  // Where the addresses of the pseudo header are: the IP header's, or what a source route, an IPv6
  // Routing header or a Home Address option say is source or final destination. kNoOffset when a
  // Routing header of an unknown kind hides it: then nobody on the way can tell the checksum. Valid
  // with an IP `network`.
  uint32_t source_offset = kNoOffset;
  uint32_t destination_offset = kNoOffset;
};

// `head` is the first bytes of a frame of `frame_bytes`, at least head.size().
Dissection Dissect(std::span<const uint8_t> head, uint32_t frame_bytes) noexcept;

}  // namespace penstock

#endif  // PENSTOCK_LIB_NET_DISSECT_H_
