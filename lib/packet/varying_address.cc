// SPDX-License-Identifier: BSD-3-Clause
//
// See varying_address.h.

#include "lib/packet/varying_address.h"

#include <span>

#include "lib/net/checksum.h"

namespace penstock {
namespace {

uint32_t SumOf(Big16 checksum) { return static_cast<uint16_t>(~std::bit_cast<uint16_t>(checksum)); }

}  // namespace

VaryingAddress::VaryingAddress(const PacketTemplate& packet, Which which)
    : address_at_(kIpAt + (which == kSource ? offsetof(Ipv4Header, source)
                                            : offsetof(Ipv4Header, destination))) {
  const std::span<const uint8_t> frame = packet.bytes();
  Ipv4Header ip;
  std::memcpy(&ip, frame.data() + kIpAt, sizeof(ip));
  (which == kSource ? ip.source : ip.destination) = Ipv4Address();
  ip_sum_ = SumOf(Ipv4HeaderChecksum(ip));
  // 0xffff in place of 0 leaves a sum of 0 in place of 0xffff: the same number in one's complement.
  udp_sum_ = SumOf(UdpIpv4Checksum(ip.source, ip.destination, frame.subspan(kUdpAt)));
}

void VaryingAddress::SetSegmented(rte_mbuf* packet, uint32_t word, uint16_t ip_checksum,
                                  uint16_t udp_checksum) const noexcept {
  const auto write = [packet](size_t offset, const auto& value) {
    CopyToPacket(packet, static_cast<uint32_t>(offset),
                 {reinterpret_cast<const uint8_t*>(&value), sizeof(value)});
  };
  write(kIpChecksumAt, ip_checksum);
  write(address_at_, word);
  write(kUdpChecksumAt, udp_checksum);
}

}  // namespace penstock
