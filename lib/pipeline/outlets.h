// SPDX-License-Identifier: BSD-3-Clause
//
// LcoreOutlets: where packets leave an lcore, and where they are counted. Owned and used by one
// lcore.

#ifndef PENSTOCK_LIB_PIPELINE_OUTLETS_H_
#define PENSTOCK_LIB_PIPELINE_OUTLETS_H_

#include <rte_mbuf.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "lib/pipeline/lcore_counters.h"
#include "lib/pipeline/stage.h"
#include "lib/pipeline/tx_queue.h"
#include "lib/stats/drop_reason.h"

namespace penstock {

template <class Policy>
class LcoreOutlets {
 public:
  // `counts` is the lcore's CounterPage; `queues` its TX queues by slot.
  LcoreOutlets(std::vector<TxQueue> queues, LcoreCounters layout, uint64_t* counts,
               uint32_t tx_retries)
      : queues_(std::move(queues)), layout_(layout), counts_(counts), tx_retries_(tx_retries) {}

  // Returns how many the queue took: the first of them, unless it joins segments.
  uint16_t Send(TxSlot slot, std::span<rte_mbuf*> mbufs) noexcept {
    TxQueue& queue = queues_[slot];
    // Packets of this iteration that were given before go first.
    if (queue.gathered > 0) FlushQueue(slot, queue);
    return Transmit(slot, queue, mbufs.data(), static_cast<uint16_t>(mbufs.size()));
  }

  void Send(TxSlot slot, rte_mbuf* mbuf) noexcept {
    TxQueue& queue = queues_[slot];
    if (queue.gathered == queue.mbufs.size()) FlushQueue(slot, queue);
    queue.mbufs[queue.gathered++] = mbuf;
    unflushed_ = true;
  }

  // `reason` indexes the reasons of the whole row of stages.
  void Drop(unsigned reason, std::span<rte_mbuf*> mbufs) noexcept {
    counts_[layout_.Drop(reason)] += mbufs.size();
    rte_pktmbuf_free_bulk(mbufs.data(), static_cast<unsigned>(mbufs.size()));
  }

  void Drop(unsigned reason, rte_mbuf* mbuf) noexcept {
    counts_[layout_.Drop(reason)] += 1;
    if (dropped_count_ == dropped_.size()) FreeDropped();
    dropped_[dropped_count_++] = mbuf;
    unflushed_ = true;
  }

  void Made(uint64_t n) noexcept { counts_[LcoreCounters::kMade] += n; }
  void Count(unsigned counter, uint64_t n) noexcept { counts_[layout_.Stage(counter)] += n; }

  // Ends an iteration: what was given one by one leaves now.
  void Flush() noexcept {
    if (unflushed_) FlushAll();
  }

 private:
  static constexpr size_t kDropBatch = 64;

  [[gnu::noinline]] void FlushAll() noexcept {
    unflushed_ = false;
    for (size_t slot = 0; slot < queues_.size(); ++slot) {
      if (queues_[slot].gathered > 0) FlushQueue(static_cast<TxSlot>(slot), queues_[slot]);
    }
    if (dropped_count_ > 0) FreeDropped();
  }

  void FlushQueue(TxSlot slot, TxQueue& queue) noexcept {
    const uint16_t n = queue.gathered;
    queue.gathered = 0;
    Transmit(slot, queue, queue.mbufs.data(), n);
  }

  uint16_t Transmit(TxSlot slot, TxQueue& queue, rte_mbuf** mbufs, uint16_t n) noexcept {
    if constexpr (Policy::kChecksSegments) {
      if (queue.single_segment && AnyChain(mbufs, n)) [[unlikely]]
        n = JoinSegments(mbufs, n);
    }
    uint16_t sent = Policy::Burst(queue, mbufs, n);
    if (sent < n) [[unlikely]]
      sent = TryAgain(queue, mbufs, sent, n);
    counts_[layout_.Tx(slot)] += sent;
    return sent;
  }

  // The queue is full. Tries again as often as configured, then drops the rest. Returns how many
  // were sent in all.
  [[gnu::noinline]] uint16_t TryAgain(TxQueue& queue, rte_mbuf** mbufs, uint16_t sent,
                                      uint16_t n) noexcept {
    for (uint32_t i = 0; i < tx_retries_ && sent < n; ++i) {
      rte_pause();
      sent = static_cast<uint16_t>(
          sent + Policy::Burst(queue, mbufs + sent, static_cast<uint16_t>(n - sent)));
    }
    if (sent < n) {
      Drop(static_cast<unsigned>(TxDrop::kFull), std::span<rte_mbuf*>(mbufs + sent, mbufs + n));
    }
    return sent;
  }

  // Chains are rare even where they would matter: the look costs one load a packet and no branch.
  static bool AnyChain(rte_mbuf* const* mbufs, uint16_t n) noexcept {
    unsigned bits = 0;
    for (uint16_t i = 0; i < n; ++i) bits |= mbufs[i]->nb_segs;
    return bits > 1;
  }

  // Copies the segments of each packet together; drops what fits no single mbuf. Keeps the order.
  [[gnu::noinline]] uint16_t JoinSegments(rte_mbuf** mbufs, uint16_t n) noexcept {
    uint16_t kept = 0;
    for (uint16_t i = 0; i < n; ++i) {
      if (mbufs[i]->nb_segs > 1 && rte_pktmbuf_linearize(mbufs[i]) != 0) [[unlikely]] {
        Drop(static_cast<unsigned>(TxDrop::kSegments), mbufs[i]);
      } else {
        mbufs[kept++] = mbufs[i];
      }
    }
    return kept;
  }

  void FreeDropped() noexcept {
    rte_pktmbuf_free_bulk(dropped_.data(), dropped_count_);
    dropped_count_ = 0;
  }

  std::vector<TxQueue> queues_;
  const LcoreCounters layout_;
  uint64_t* const counts_;
  const uint32_t tx_retries_;
  // Whether something may be waiting for Flush(): an iteration of whole bursts looks at nothing
  // else.
  bool unflushed_ = false;
  uint32_t dropped_count_ = 0;
  std::array<rte_mbuf*, kDropBatch> dropped_;
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_PIPELINE_OUTLETS_H_
