// SPDX-License-Identifier: BSD-3-Clause
//
// IPv6 neighbour discovery, as far as one who answers for an address needs it: solicitations read,
// advertisements made (RFC 4861). Any lcore, data path: no state, no allocation.
//
//   if (ReadSolicitation(ip, message) == Solicitation::kAsks) {
//     const NeighborAnswer answer = AnswerSolicitation(ip, message, mac);

#ifndef PENSTOCK_LIB_NET_NEIGHBOR_H_
#define PENSTOCK_LIB_NET_NEIGHBOR_H_

#include <cstdint>
#include <span>

#include "lib/base/endian.h"
#include "lib/net/headers.h"
#include "lib/net/ip_address.h"
#include "lib/net/mac_address.h"

namespace penstock {

// RFC 4861, 4.3 and 4.4: solicitations and advertisements begin alike.
struct NeighborMessage {
  IcmpHeader icmp;
  Big32 flags;  // kNeighborSolicited …; of a solicitation reserved
  Ipv6Address target;
};
static_assert(sizeof(NeighborMessage) == 24 && alignof(NeighborMessage) == 1);
inline constexpr uint32_t kNeighborSolicited = 0x40000000;
inline constexpr uint32_t kNeighborOverride = 0x20000000;

// RFC 4861, 4.6.1.
struct LinkAddressOption {
  uint8_t type = 0;
  uint8_t length = 1;  // in units of 8 bytes
  MacAddress address;
};
static_assert(sizeof(LinkAddressOption) == 8 && alignof(LinkAddressOption) == 1);
inline constexpr uint8_t kSourceLinkAddress = 1;
inline constexpr uint8_t kTargetLinkAddress = 2;

inline constexpr uint8_t kNeighborHopLimit = 255;

enum class Solicitation {
  kAsks,     // for the link-layer address of a target
  kProbes,   // whether a target is still free: duplicate address detection (RFC 4862, 5.4)
  kInvalid,  // of those that RFC 4861, 7.1.1 has discarded
};

// `message` is the ICMPv6 message, all of it; its checksum has been looked at.
Solicitation ReadSolicitation(const Ipv6Header& ip, std::span<const uint8_t> message) noexcept;

// A whole IPv6 packet.
struct NeighborAnswer {
  Ipv6Header ip;
  NeighborMessage message;
  LinkAddressOption option;
};
static_assert(sizeof(NeighborAnswer) == 72 && alignof(NeighborAnswer) == 1);

// What the holder of the target says to one that asks: here, at `mac`.
NeighborAnswer AnswerSolicitation(const Ipv6Header& ip, std::span<const uint8_t> message,
                                  const MacAddress& mac) noexcept;

}  // namespace penstock

#endif  // PENSTOCK_LIB_NET_NEIGHBOR_H_
