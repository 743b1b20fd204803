// SPDX-License-Identifier: BSD-3-Clause
//
// Headers as they stand on the wire. Any lcore, data path: plain structs of bytes and big-endian
// integers, without padding and with alignment 1, to be laid over any byte of a frame. Whoever does
// that has checked that the frame holds the whole struct.
//
//   auto* ethernet = reinterpret_cast<EthernetHeader*>(frame);
//   if (ethernet->type == kEtherTypeIpv4) ...

#ifndef PENSTOCK_LIB_NET_HEADERS_H_
#define PENSTOCK_LIB_NET_HEADERS_H_

#include <array>
#include <cstdint>

#include "lib/base/endian.h"
#include "lib/net/ip_address.h"
#include "lib/net/mac_address.h"

namespace penstock {

// IEEE 802 registration authority, EtherType values.
inline constexpr Big16 kEtherTypeIpv4{0x0800};
inline constexpr Big16 kEtherTypeArp{0x0806};
inline constexpr Big16 kEtherTypeVlan{0x8100};
inline constexpr Big16 kEtherTypeIpv6{0x86dd};
inline constexpr Big16 kEtherTypeQinq{0x88a8};
inline constexpr Big16 kEtherTypeOldQinq{0x9100};  // Of no standard: outer tags before 802.1ad.

// IANA, assigned internet protocol numbers; IPv6 extension headers are of the same numbers.
inline constexpr uint8_t kIpProtocolHopByHop = 0;
inline constexpr uint8_t kIpProtocolIcmp = 1;
inline constexpr uint8_t kIpProtocolTcp = 6;
inline constexpr uint8_t kIpProtocolUdp = 17;
inline constexpr uint8_t kIpProtocolRouting = 43;
inline constexpr uint8_t kIpProtocolFragment = 44;
inline constexpr uint8_t kIpProtocolAh = 51;
inline constexpr uint8_t kIpProtocolIcmpv6 = 58;
inline constexpr uint8_t kIpProtocolDestinationOptions = 60;
inline constexpr uint8_t kIpProtocolSctp = 132;
inline constexpr uint8_t kIpProtocolMobility = 135;
inline constexpr uint8_t kIpProtocolHip = 139;
inline constexpr uint8_t kIpProtocolShim6 = 140;

// IEEE 802.3-2018, 3.2: the frame without preamble and check sequence.
struct EthernetHeader {
  MacAddress destination;
  MacAddress source;
  Big16 type;
};
static_assert(sizeof(EthernetHeader) == 14 && alignof(EthernetHeader) == 1);

// IEEE 802.1Q-2018, 9.6: what follows an EthernetHeader whose type is kEtherTypeVlan or -Qinq.
struct VlanHeader {
  Big16 control;  // priority (3 bits), drop eligible (1), VLAN identifier (12)
  Big16 type;     // of what follows
};
static_assert(sizeof(VlanHeader) == 4 && alignof(VlanHeader) == 1);

// RFC 826, of IPv4 over Ethernet.
struct ArpHeader {
  Big16 hardware_type = Big16(1);
  Big16 protocol_type = kEtherTypeIpv4;
  uint8_t hardware_bytes = 6;
  uint8_t protocol_bytes = 4;
  Big16 operation;  // kArpRequest, kArpReply
  MacAddress sender_mac;
  Ipv4Address sender_ip;
  MacAddress target_mac;
  Ipv4Address target_ip;
};
static_assert(sizeof(ArpHeader) == 28 && alignof(ArpHeader) == 1);
inline constexpr Big16 kArpRequest{1};
inline constexpr Big16 kArpReply{2};

// RFC 791, 3.1, without options.
struct Ipv4Header {
  uint8_t version_ihl = 0x45;  // version 4, header of five 32-bit words
  uint8_t type_of_service = 0;
  Big16 total_length;  // bytes, this header included
  Big16 identification;
  Big16 flags_fragment;  // reserved, don't fragment, more fragments; offset in units of 8 bytes
  uint8_t time_to_live = 0;
  uint8_t protocol = 0;
  Big16 checksum;
  Ipv4Address source;
  Ipv4Address destination;
};
static_assert(sizeof(Ipv4Header) == 20 && alignof(Ipv4Header) == 1);
inline constexpr uint16_t kIpv4MoreFragments = 0x2000;
inline constexpr uint16_t kIpv4FragmentOffset = 0x1fff;  // mask

// RFC 8200, 3.
struct Ipv6Header {
  Big32 version_class_flow = Big32(0x60000000);  // version (4 bits), traffic class (8), flow (20)
  Big16 payload_length;                          // bytes, this header excluded
  uint8_t next_header = 0;
  uint8_t hop_limit = 0;
  Ipv6Address source;
  Ipv6Address destination;
};
static_assert(sizeof(Ipv6Header) == 40 && alignof(Ipv6Header) == 1);

// How the IPv6 extension headers of RFC 8200, 4 begin.
struct Ipv6ExtensionHeader {
  uint8_t next_header;
  uint8_t length;  // in units of 8 bytes beyond the first 8; of AH in units of 4 beyond the first 8
};
static_assert(sizeof(Ipv6ExtensionHeader) == 2 && alignof(Ipv6ExtensionHeader) == 1);

// RFC 8200, 4.4.
struct Ipv6RoutingHeader {
  uint8_t next_header;
  uint8_t length;
  uint8_t type;
  uint8_t segments_left;
  Big32 data;
};
static_assert(sizeof(Ipv6RoutingHeader) == 8 && alignof(Ipv6RoutingHeader) == 1);

// RFC 8200, 4.5.
struct Ipv6FragmentHeader {
  uint8_t next_header;
  uint8_t reserved;
  Big16 offset_more;  // offset in units of 8 bytes (13 bits), reserved (2), more fragments (1)
  Big32 identification;
};
static_assert(sizeof(Ipv6FragmentHeader) == 8 && alignof(Ipv6FragmentHeader) == 1);

// RFC 768.
struct UdpHeader {
  Big16 source_port;
  Big16 destination_port;
  Big16 length;    // bytes, this header included
  Big16 checksum;  // 0: none was computed
};
static_assert(sizeof(UdpHeader) == 8 && alignof(UdpHeader) == 1);

// RFC 9293, 3.1, without options.
struct TcpHeader {
  Big16 source_port;
  Big16 destination_port;
  Big32 sequence;
  Big32 acknowledgment;
  uint8_t data_offset = 0x50;  // bytes of this header with options, in units of 4 (4 bits)
  uint8_t flags = 0;
  Big16 window;
  Big16 checksum;
  Big16 urgent;
};
static_assert(sizeof(TcpHeader) == 20 && alignof(TcpHeader) == 1);

// RFC 9260, 3.1.
struct SctpHeader {
  Big16 source_port;
  Big16 destination_port;
  Big32 verification_tag;
  Big32 checksum;  // CRC32c
};
static_assert(sizeof(SctpHeader) == 12 && alignof(SctpHeader) == 1);

// How the messages of ICMP (RFC 792) and ICMPv6 (RFC 4443, 2.1) begin.
struct IcmpHeader {
  uint8_t type = 0;
  uint8_t code = 0;
  Big16 checksum;
};
static_assert(sizeof(IcmpHeader) == 4 && alignof(IcmpHeader) == 1);
inline constexpr uint8_t kIcmpEchoReply = 0;
inline constexpr uint8_t kIcmpEchoRequest = 8;
inline constexpr uint8_t kIcmpv6EchoRequest = 128;
inline constexpr uint8_t kIcmpv6EchoReply = 129;
inline constexpr uint8_t kIcmpv6NeighborSolicitation = 135;
inline constexpr uint8_t kIcmpv6NeighborAdvertisement = 136;

}  // namespace penstock

#endif  // PENSTOCK_LIB_NET_HEADERS_H_
