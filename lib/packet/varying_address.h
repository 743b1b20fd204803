// SPDX-License-Identifier: BSD-3-Clause
//
// VaryingAddress: makes packets of many flows out of one UDP template, by one of its IPv4
// addresses.
//
// Eight bytes change in a packet: the address and the two checksums that it is part of. What
// the rest adds to them is summed up once, so a packet costs a few additions and nothing is read.
//
//   const VaryingAddress destination(udp, VaryingAddress::kDestination);
//   udp.Stamp(mbufs);
//   destination.Set(mbufs[0], Ipv4Address(0xc0000205));
//
// Immutable once made: several lcores may use one. Set is fit for the data path.

#ifndef PENSTOCK_LIB_PACKET_VARYING_ADDRESS_H_
#define PENSTOCK_LIB_PACKET_VARYING_ADDRESS_H_

#include <rte_mbuf.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "lib/base/endian.h"
#include "lib/net/headers.h"
#include "lib/net/ip_address.h"
#include "lib/packet/mbuf.h"
#include "lib/packet/packet_template.h"

namespace penstock {

class VaryingAddress {
 public:
  enum Which { kSource, kDestination };

  // `packet` is a template made by PacketTemplate::Udp.
  VaryingAddress(const PacketTemplate& packet, Which which);

  // Gives a packet stamped from that template this address, and right checksums.
  void Set(rte_mbuf* packet, Ipv4Address address) const noexcept {
    // RFC 1071, 2(B): the words are added as the machine loads them, the sum stored likewise.
    const auto word = std::bit_cast<uint32_t>(address);
    const uint32_t halves = (word & 0xffff) + (word >> 16);
    const uint16_t ip_checksum = Complement(ip_sum_ + halves);
    uint16_t udp_checksum = Complement(udp_sum_ + halves);
    // RFC 768: "If the computed checksum is zero, it is transmitted as all ones".
    if (udp_checksum == 0) udp_checksum = 0xffff;
    if (packet->data_len < kHeadersBytes) [[unlikely]] {
      SetSegmented(packet, word, ip_checksum, udp_checksum);
      return;
    }
    uint8_t* const frame = rte_pktmbuf_mtod(packet, uint8_t*);
    std::memcpy(frame + kIpChecksumAt, &ip_checksum, sizeof(ip_checksum));
    std::memcpy(frame + address_at_, &word, sizeof(word));
    std::memcpy(frame + kUdpChecksumAt, &udp_checksum, sizeof(udp_checksum));
  }

 private:
  static constexpr size_t kIpAt = sizeof(EthernetHeader);
  static constexpr size_t kUdpAt = kIpAt + sizeof(Ipv4Header);
  static constexpr size_t kHeadersBytes = kUdpAt + sizeof(UdpHeader);
  static constexpr size_t kIpChecksumAt = kIpAt + offsetof(Ipv4Header, checksum);
  static constexpr size_t kUdpChecksumAt = kUdpAt + offsetof(UdpHeader, checksum);

  // Of a sum of up to four words of 16 bits.
  static uint16_t Complement(uint32_t sum) noexcept {
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    return static_cast<uint16_t>(~sum);
  }

  // Of a packet whose first segment ends before its headers do.
  [[gnu::noinline]] void SetSegmented(rte_mbuf* packet, uint32_t word, uint16_t ip_checksum,
                                      uint16_t udp_checksum) const noexcept;

  uint32_t ip_sum_;   // Of all that the checksum is over, the address taken as zero.
  uint32_t udp_sum_;  // Likewise.
  size_t address_at_;
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_PACKET_VARYING_ADDRESS_H_
