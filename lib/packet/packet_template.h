// SPDX-License-Identifier: BSD-3-Clause
//
// PacketTemplate: one finished frame, stamped into as many mbufs as wanted.
//
// Everything that can be computed once is: headers, checksums, payload and the mbuf's own fields.
// Stamping copies the frame whole, so nothing that an mbuf carried before goes out on the wire.
//
//   PacketTemplate udp = PacketTemplate::Udp({.segment_bytes = {64}, …});
//   udp.Stamp(mbufs);           // lcore; mbufs fresh from their pool, one segment per packet
//
// Immutable once made: several lcores may stamp from one.

#ifndef PENSTOCK_LIB_PACKET_PACKET_TEMPLATE_H_
#define PENSTOCK_LIB_PACKET_PACKET_TEMPLATE_H_

#include <rte_mbuf.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "lib/net/ip_address.h"
#include "lib/net/mac_address.h"

namespace penstock {

struct UdpFrame {
  std::vector<uint16_t> segment_bytes;  // At least 42 in all; each fits one mbuf's data room.
  MacAddress source;
  MacAddress destination;
  std::array<Ipv4Address, 2> ip;  // Source, destination.
  std::array<uint16_t, 2> udp;
};

class PacketTemplate {
 public:
  // IPv4 and UDP with both checksums right, payload zero, no FCS.
  static PacketTemplate Udp(const UdpFrame& frame);

  size_t segments() const noexcept { return segment_bytes_.size(); }
  std::span<const uint8_t> bytes() const noexcept { return bytes_; }

  // Makes packets of `mbufs`, which came from rte_mempool_get_bulk of a pktmbuf pool and are as
  // free mbufs are (one reference, no next). `mbufs` holds segments() of them for each packet, in
  // order; the packets are then every segments()-th element.
  void Stamp(std::span<rte_mbuf* const> mbufs) const noexcept;

 private:
  void StampSegmented(std::span<rte_mbuf* const> mbufs) const noexcept;

  std::vector<uint8_t> bytes_;
  std::vector<uint16_t> segment_bytes_;
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_PACKET_PACKET_TEMPLATE_H_
