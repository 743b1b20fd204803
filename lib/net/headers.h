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
inline constexpr Big16 kEtherTypeVlan{0x8100};
inline constexpr Big16 kEtherTypeIpv6{0x86dd};

// IANA, assigned internet protocol numbers.
inline constexpr uint8_t kIpProtocolUdp = 17;

// IEEE 802.3-2018, 3.2: the frame without preamble and check sequence.
struct EthernetHeader {
  MacAddress destination;
  MacAddress source;
  Big16 type;
};
static_assert(sizeof(EthernetHeader) == 14 && alignof(EthernetHeader) == 1);

// IEEE 802.1Q-2018, 9.6: what follows an EthernetHeader whose type is kEtherTypeVlan.
struct VlanHeader {
  Big16 control;  // priority (3 bits), drop eligible (1), VLAN identifier (12)
  Big16 type;     // of what follows
};
static_assert(sizeof(VlanHeader) == 4 && alignof(VlanHeader) == 1);

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

// RFC 8200, 3.
struct Ipv6Header {
  Big32 version_class_flow = Big32(0x60000000);  // version (4 bits), traffic class (8), flow (20)
  Big16 payload_length;                          // bytes, this header excluded
  uint8_t next_header = 0;
  uint8_t hop_limit = 0;
  std::array<uint8_t, 16> source{};
  std::array<uint8_t, 16> destination{};
};
static_assert(sizeof(Ipv6Header) == 40 && alignof(Ipv6Header) == 1);

// RFC 768.
struct UdpHeader {
  Big16 source_port;
  Big16 destination_port;
  Big16 length;    // bytes, this header included
  Big16 checksum;  // 0: none was computed
};
static_assert(sizeof(UdpHeader) == 8 && alignof(UdpHeader) == 1);

}  // namespace penstock

#endif  // PENSTOCK_LIB_NET_HEADERS_H_
