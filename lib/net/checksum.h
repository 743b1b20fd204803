// SPDX-License-Identifier: BSD-3-Clause
//
// The Internet checksum of RFC 1071, and the two that IPv4 and UDP make of it. Any lcore, data
// path: no state, no allocation, any length and alignment, bytes read only within the span.
//
//   ip.checksum = Ipv4HeaderChecksum(ip);
//   udp->checksum = UdpIpv4Checksum(ip.source, ip.destination, datagram);
//
// To verify, compute again and compare. Where the port offloads checksums, let it.

#ifndef PENSTOCK_LIB_NET_CHECKSUM_H_
#define PENSTOCK_LIB_NET_CHECKSUM_H_

#include <cstdint>
#include <span>

#include "lib/base/endian.h"
#include "lib/net/headers.h"
#include "lib/net/ip_address.h"

namespace penstock {

// The one's complement of the one's complement sum of the bytes taken as 16-bit words, an odd last
// byte padded with zero. 0 over data that contains its own right checksum.
Big16 InternetChecksum(std::span<const uint8_t> bytes) noexcept;

// Of a header without options. The field `checksum` itself is taken as zero, whatever it holds.
Big16 Ipv4HeaderChecksum(const Ipv4Header& header) noexcept;

// Of a UDP datagram, header and payload, and the pseudo header of RFC 768. `datagram` is at least a
// UdpHeader and at most 65535 bytes; its checksum field is taken as zero, whatever it holds. Never
// 0, which on the wire means "none": a sum of 0 is sent as 0xffff.
Big16 UdpIpv4Checksum(Ipv4Address source, Ipv4Address destination,
                      std::span<const uint8_t> datagram) noexcept;

}  // namespace penstock

#endif  // PENSTOCK_LIB_NET_CHECKSUM_H_
