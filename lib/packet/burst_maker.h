// SPDX-License-Identifier: BSD-3-Clause
//
// BurstMaker: bursts of packets stamped from a template, out of one mempool. Owned and used by one
// lcore; no allocation but from the pool, no lock of its own.
//
//   BurstMaker maker(pool, 32);
//   const BurstMaker::Packets made = maker.Make(udp);
//   if (made.short_of_mbufs) …                       // count it
//   if (!made.mbufs.empty()) …                       // send them: the caller's from here on

#ifndef PENSTOCK_LIB_PACKET_BURST_MAKER_H_
#define PENSTOCK_LIB_PACKET_BURST_MAKER_H_

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "lib/config/configuration.h"
#include "lib/packet/packet_template.h"

namespace penstock {

class BurstMaker {
 public:
  // `pool` is a pktmbuf pool that outlives it; `burst` is 1 to kMaxBurst packets.
  BurstMaker(rte_mempool* pool, uint16_t burst) : pool_(pool), burst_(burst) {}

  struct Packets {
    std::span<rte_mbuf*> mbufs;  // Valid until the next Make().
    bool short_of_mbufs;         // The pool had no whole burst: one packet, or none.
  };

  // A burst of packets, or as many as kMaxBurst mbufs make of a template of several segments. When
  // the pool runs low, one, so that sending goes on and the driver gives back what it has sent.
  Packets Make(const PacketTemplate& packet) noexcept {
    const size_t segments = packet.segments();
    size_t packets = std::min<size_t>(burst_, mbufs_.size() / segments);
    bool short_of_mbufs = false;
    if (!Take(packets * segments)) [[unlikely]] {
      short_of_mbufs = true;
      packets = 1;
      if (!Take(segments)) return {{}, short_of_mbufs};
    }
    packet.Stamp({mbufs_.data(), packets * segments});
    if (segments > 1) {
      for (size_t i = 1; i < packets; ++i) mbufs_[i] = mbufs_[i * segments];
    }
    return {{mbufs_.data(), packets}, short_of_mbufs};
  }

 private:
  bool Take(size_t mbufs) noexcept {
    void** const objects = reinterpret_cast<void**>(mbufs_.data());
    return rte_mempool_get_bulk(pool_, objects, static_cast<unsigned>(mbufs)) == 0;
  }

  rte_mempool* pool_;
  uint16_t burst_;
  std::array<rte_mbuf*, kMaxBurst> mbufs_{};
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_PACKET_BURST_MAKER_H_
