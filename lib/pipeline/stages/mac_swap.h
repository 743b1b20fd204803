// SPDX-License-Identifier: BSD-3-Clause
//
// macswap: exchanges source and destination MAC address and sends to the peer port. testpmd's
// "macswap"; a packet too short to have the addresses is dropped and counted, where testpmd writes
// beyond its end.

#ifndef PENSTOCK_LIB_PIPELINE_STAGES_MAC_SWAP_H_
#define PENSTOCK_LIB_PIPELINE_STAGES_MAC_SWAP_H_

#include <utility>

#include "lib/base/status.h"
#include "lib/packet/mbuf.h"
#include "lib/pipeline/stages/to_peer.h"

namespace penstock {

class MacSwap : public StageBase {
 public:
  static constexpr absl::string_view kName = "macswap";
  enum Reason : unsigned { kRunt };
  static constexpr DropReason kDrops[] = {{"runt", "shorter than an Ethernet header of 14 bytes"}};

  static absl::StatusOr<MacSwap> Create(const StageContext& context) {
    PENSTOCK_ASSIGN_OR_RETURN(ToPeer to_peer, ToPeer::Create(context));
    return MacSwap(std::move(to_peer));
  }

  void Process(Burst burst, auto& out) noexcept {
    const std::span<rte_mbuf*> mbufs = burst.mbufs;
    const size_t swapped = SwapOrdinary(mbufs);
    const size_t kept =
        swapped == mbufs.size() ? swapped : SwapShort(mbufs, swapped, out);  // Hardly ever.
    out.Send(to_peer_[burst.rx], mbufs.first(kept));
  }

 private:
  // Swaps until a packet is too short for a whole vector. Returns how many it swapped.
  static size_t SwapOrdinary(std::span<rte_mbuf* const> mbufs) noexcept {
    // No prefetch: packets do not depend on each other, and a burst of these few instructions fits
    // the window of a core that looks ahead by itself. Asking it to was measured slower, hot or
    // cold.
    size_t i = 0;
    for (; i < mbufs.size(); ++i) {
      if (mbufs[i]->data_len < kMacVectorBytes) [[unlikely]]
        break;
      SwapMacPairVector(rte_pktmbuf_mtod(mbufs[i], uint8_t*));
    }
    return i;
  }

  // The rest of the burst, whatever its packets are. Returns how many packets the burst has kept.
  [[gnu::noinline]] static size_t SwapShort(std::span<rte_mbuf*> mbufs, size_t first,
                                            auto& out) noexcept {
    size_t kept = first;
    for (size_t i = first; i < mbufs.size(); ++i) {
      rte_mbuf* const mbuf = mbufs[i];
      if (mbuf->data_len >= kEthernetHeaderBytes) {
        SwapMacPair(rte_pktmbuf_mtod(mbuf, uint8_t*));
      } else if (mbuf->pkt_len >= kEthernetHeaderBytes) {
        SwapMacPairSegmented(mbuf);
      } else {
        out.Drop(kRunt, mbuf);
        continue;
      }
      mbufs[kept++] = mbuf;
    }
    return kept;
  }

  explicit MacSwap(ToPeer to_peer) : to_peer_(std::move(to_peer)) {}

  ToPeer to_peer_;
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_PIPELINE_STAGES_MAC_SWAP_H_
