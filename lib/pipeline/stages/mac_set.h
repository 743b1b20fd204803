// SPDX-License-Identifier: BSD-3-Clause
//
// mac: writes the addresses with which a packet leaves, to `--eth-peer` of the TX port and from its
// own address, and sends to the peer port. testpmd's "mac"; a packet too short to have the
// addresses is dropped and counted, where testpmd writes beyond its end.

#ifndef PENSTOCK_LIB_PIPELINE_STAGES_MAC_SET_H_
#define PENSTOCK_LIB_PIPELINE_STAGES_MAC_SET_H_

#include <utility>

#include "lib/base/status.h"
#include "lib/packet/mbuf.h"
#include "lib/pipeline/stages/frame_faults.h"
#include "lib/pipeline/stages/peer_macs.h"
#include "lib/pipeline/stages/to_peer.h"

namespace penstock {

class MacSet : public StageBase {
 public:
  static constexpr absl::string_view kName = "mac";
  enum Reason : unsigned { kRunt };
  static constexpr DropReason kDrops[] = {kRuntDrop};

  static absl::StatusOr<MacSet> Create(const StageContext& context) {
    PENSTOCK_ASSIGN_OR_RETURN(ToPeer to_peer, ToPeer::Create(context));
    PENSTOCK_ASSIGN_OR_RETURN(PeerMacs macs, PeerMacs::Create(context));
    return MacSet(std::move(to_peer), std::move(macs));
  }

  void Process(Burst burst, auto& out) noexcept {
    const std::span<rte_mbuf*> mbufs = burst.mbufs;
    // A copy, which no store to a packet can change: it stays in registers.
    const MacPair pair = macs_[burst.rx];
    const size_t set = SetOrdinary(mbufs, pair);
    const size_t kept =
        set == mbufs.size() ? set : SetShort(mbufs, set, pair, out);  // Hardly ever.
    out.Send(to_peer_[burst.rx], mbufs.first(kept));
  }

 private:
  // Writes until a first segment is too short. Returns how many packets it wrote to.
  static size_t SetOrdinary(std::span<rte_mbuf* const> mbufs, const MacPair& pair) noexcept {
    size_t i = 0;
    for (; i < mbufs.size(); ++i) {
      if (mbufs[i]->data_len < kEthernetHeaderBytes) [[unlikely]]
        break;
      SetMacPair(rte_pktmbuf_mtod(mbufs[i], uint8_t*), pair);
    }
    return i;
  }

  // The rest of the burst, whatever its packets are. Returns how many packets the burst has kept.
  [[gnu::noinline]] static size_t SetShort(std::span<rte_mbuf*> mbufs, size_t first, MacPair pair,
                                           auto& out) noexcept {
    size_t kept = first;
    for (size_t i = first; i < mbufs.size(); ++i) {
      rte_mbuf* const mbuf = mbufs[i];
      if (mbuf->pkt_len < kEthernetHeaderBytes) {
        out.Drop(kRunt, mbuf);
        continue;
      }
      CopyToPacket(mbuf, 0, {reinterpret_cast<const uint8_t*>(&pair), sizeof(pair)});
      mbufs[kept++] = mbuf;
    }
    return kept;
  }

  MacSet(ToPeer to_peer, PeerMacs macs) : to_peer_(std::move(to_peer)), macs_(std::move(macs)) {}

  ToPeer to_peer_;
  PeerMacs macs_;
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_PIPELINE_STAGES_MAC_SET_H_
