// SPDX-License-Identifier: BSD-3-Clause
//
// One lcore's use of a TX queue, and what the plan may ask of sending: a lock where lcores share a
// queue, a count of the sends where only we can see them, and single segments where a port sends no
// others. It is part of a type whether any of it is asked for, so that an lcore whose plan asks for
// none runs code without.

#ifndef PENSTOCK_LIB_PIPELINE_TX_QUEUE_H_
#define PENSTOCK_LIB_PIPELINE_TX_QUEUE_H_

#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_spinlock.h>

#include <array>
#include <atomic>
#include <cstdint>

#include "lib/base/cycles.h"
#include "lib/config/configuration.h"
#include "lib/ring/send_sizes.h"

namespace penstock {

// What the lcores that use one TX queue have between them: the lock, where they do without the
// driver's help, and how many packets it was given, for the one that reaps it. One cache line of
// its own: nothing else is to move with it. Owned by the runtime.
struct PENSTOCK_CACHE_ALIGNED TxLock {
  rte_spinlock_t lock = RTE_SPINLOCK_INITIALIZER;
  std::atomic<uint64_t> sent{0};
};

struct TxQueue {
  using BurstFunction = uint16_t (*)(const TxQueue& queue, rte_mbuf** mbufs, uint16_t n) noexcept;

  uint16_t port = 0;
  uint16_t queue = 0;
  uint16_t gathered = 0;          // Packets given one by one in this iteration.
  bool single_segment = false;    // The port sends one segment per packet.
  TxLock* lock = nullptr;         // Null unless `burst` needs it.
  LcoreSends* sends = nullptr;    // Null where nobody wants them counted.
  BurstFunction burst = nullptr;  // Used only where some queue of the lcore has one of the two.
  std::array<rte_mbuf*, kMaxBurst> mbufs;
};

inline uint16_t BurstDirect(const TxQueue& queue, rte_mbuf** mbufs, uint16_t n) noexcept {
  return rte_eth_tx_burst(queue.port, queue.queue, mbufs, n);
}

// One lock for the whole burst. The system call of a socket driver is inside it, which only a
// driver with MT_LOCKFREE can avoid.
inline uint16_t BurstLocked(const TxQueue& queue, rte_mbuf** mbufs, uint16_t n) noexcept {
  rte_spinlock_lock(&queue.lock->lock);
  const uint16_t sent = rte_eth_tx_burst(queue.port, queue.queue, mbufs, n);
  // Relaxed, and no more than a store: only holders of the lock write it, and it orders nothing.
  queue.lock->sent.store(queue.lock->sent.load(std::memory_order_relaxed) + sent,
                         std::memory_order_relaxed);
  rte_spinlock_unlock(&queue.lock->lock);
  return sent;
}

// Of a queue that lcores share through the driver, and one of them reaps.
inline uint16_t BurstPublished(const TxQueue& queue, rte_mbuf** mbufs, uint16_t n) noexcept {
  const uint16_t sent = rte_eth_tx_burst(queue.port, queue.queue, mbufs, n);
  // Relaxed: a count, published once per burst.
  queue.lock->sent.fetch_add(sent, std::memory_order_relaxed);
  return sent;
}

inline uint16_t BurstCounted(const TxQueue& queue, rte_mbuf** mbufs, uint16_t n) noexcept {
  queue.sends->Add(n);
  return BurstDirect(queue, mbufs, n);
}

inline uint16_t BurstCountedAndLocked(const TxQueue& queue, rte_mbuf** mbufs, uint16_t n) noexcept {
  queue.sends->Add(n);
  return BurstLocked(queue, mbufs, n);
}

// What `queue` needs, by what it has.
inline TxQueue::BurstFunction BurstFor(const TxQueue& queue) {
  if (queue.sends == nullptr) return queue.lock == nullptr ? &BurstDirect : &BurstLocked;
  return queue.lock == nullptr ? &BurstCounted : &BurstCountedAndLocked;
}

// What the TX queues of one lcore need, all together. `kByQueue`: some are locked or counted.
template <bool kByQueue, bool kSomeSingleSegment>
struct TxPolicy {
  static constexpr bool kChecksSegments = kSomeSingleSegment;

  // Which function a queue uses was decided once, when the lcore was built; here nothing is tested.
  static uint16_t Burst(const TxQueue& queue, rte_mbuf** mbufs, uint16_t n) noexcept {
    if constexpr (kByQueue) {
      return queue.burst(queue, mbufs, n);
    } else {
      return BurstDirect(queue, mbufs, n);
    }
  }
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_PIPELINE_TX_QUEUE_H_
