// SPDX-License-Identifier: BSD-3-Clause
//
// RepairChecksums: verifies the IPv4, TCP, UDP, ICMP and ICMPv6 checksums of any packet, in as many
// segments as it may be, and puts right those that are wrong. On the lcore that has the packet: no
// allocation, no locks. The mode csum is made of it (lib/pipeline/stages/csum.h says what is left
// alone and why) with a faster way for what nearly all packets are.
//
//   const ChecksumOffloads offloads = ChecksumOffloads::Of(rx.offloads, tx.offloads);
//   const ChecksumFindings found = RepairChecksums(mbuf, offloads);
//   if (found.bad_ip) …
//
// A checksum that the TX port fills is asked of it as DPDK wants it: ol_flags, l2_len and l3_len,
// an IPv4 checksum of zero, in TCP and UDP the sum of the pseudo header, so that the driver's
// tx_prepare has nothing left to do. What a port cannot be asked for is computed here.

#ifndef PENSTOCK_LIB_PACKET_CHECKSUM_REPAIR_H_
#define PENSTOCK_LIB_PACKET_CHECKSUM_REPAIR_H_

#include <rte_mbuf.h>

#include <cstdint>

#include "lib/net/dissect.h"

namespace penstock {

// What the ports do, in effect on both queues.
struct ChecksumOffloads {
  bool rx_ip = false;
  bool rx_tcp = false;
  bool rx_udp = false;
  bool tx_ip = false;
  bool tx_tcp = false;
  bool tx_udp = false;

  // `rx` of RTE_ETH_RX_OFFLOAD_*, `tx` of RTE_ETH_TX_OFFLOAD_*.
  static ChecksumOffloads Of(uint64_t rx, uint64_t tx) noexcept;

  bool any() const noexcept { return rx_ip || rx_tcp || rx_udp || tx_ip || tx_tcp || tx_udp; }
};

// What the RX port says of a checksum.
enum class ChecksumVerdict {
  kUnknown,
  kGood,
  kBad,
  kNone,  // Not filled, but the data is as it was sent.
};

// Believed only where the offload is in effect, and not of a packet in which the port saw a tunnel:
// what it says may then be about the inner headers.
inline bool BelievesPort(const rte_mbuf* mbuf, bool offload) noexcept {
  return offload && (mbuf->packet_type & RTE_PTYPE_TUNNEL_MASK) == 0;
}

inline ChecksumVerdict IpVerdict(const rte_mbuf* mbuf, bool offload) noexcept {
  if (!BelievesPort(mbuf, offload)) return ChecksumVerdict::kUnknown;
  switch (mbuf->ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK) {
    case RTE_MBUF_F_RX_IP_CKSUM_GOOD:
      return ChecksumVerdict::kGood;
    case RTE_MBUF_F_RX_IP_CKSUM_BAD:
      return ChecksumVerdict::kBad;
    case RTE_MBUF_F_RX_IP_CKSUM_NONE:
      return ChecksumVerdict::kNone;
    default:
      return ChecksumVerdict::kUnknown;
  }
}

inline ChecksumVerdict TransportVerdict(const rte_mbuf* mbuf, bool offload) noexcept {
  if (!BelievesPort(mbuf, offload)) return ChecksumVerdict::kUnknown;
  switch (mbuf->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK) {
    case RTE_MBUF_F_RX_L4_CKSUM_GOOD:
      return ChecksumVerdict::kGood;
    case RTE_MBUF_F_RX_L4_CKSUM_BAD:
      return ChecksumVerdict::kBad;
    case RTE_MBUF_F_RX_L4_CKSUM_NONE:
      return ChecksumVerdict::kNone;
    default:
      return ChecksumVerdict::kUnknown;
  }
}

struct ChecksumFindings {
  FrameFault fault = FrameFault::kNone;  // Left alone from there on.
  bool bad_ip = false;                   // Wrong as received; put right.
  bool bad_transport = false;            // The same.
  bool udp_without = false;              // Left alone, and so are the rest.
  bool fragment = false;
  bool unknown_route = false;
};

ChecksumFindings RepairChecksums(rte_mbuf* packet, const ChecksumOffloads& offloads) noexcept;

}  // namespace penstock

#endif  // PENSTOCK_LIB_PACKET_CHECKSUM_REPAIR_H_
