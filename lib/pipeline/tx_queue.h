// SPDX-License-Identifier: BSD-3-Clause
//
// One lcore's use of a TX queue, and the two things that the plan may ask of sending: a lock where
// lcores share a queue, and single segments where a port sends no others. Both are part of a type,
// so that an lcore whose plan asks for neither runs code without either.

#ifndef PENSTOCK_LIB_PIPELINE_TX_QUEUE_H_
#define PENSTOCK_LIB_PIPELINE_TX_QUEUE_H_

#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_spinlock.h>

#include <array>
#include <cstdint>

#include "lib/base/cycles.h"
#include "lib/config/configuration.h"

namespace penstock {

// The lock of a TX queue that several lcores send to without the driver's help. One cache line of
// its own: nothing else is to move with it. Owned by the runtime.
struct PENSTOCK_CACHE_ALIGNED TxLock {
  rte_spinlock_t lock = RTE_SPINLOCK_INITIALIZER;
};

struct TxQueue {
  using BurstFunction = uint16_t (*)(const TxQueue& queue, rte_mbuf** mbufs, uint16_t n) noexcept;

  uint16_t port = 0;
  uint16_t queue = 0;
  uint16_t gathered = 0;          // Packets given one by one in this iteration.
  bool single_segment = false;    // The port sends one segment per packet.
  TxLock* lock = nullptr;         // Null unless the plan says spinlock.
  BurstFunction burst = nullptr;  // Used only where some queue of the lcore has a lock.
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
  rte_spinlock_unlock(&queue.lock->lock);
  return sent;
}

// What the TX queues of one lcore need, all together.
template <bool kSomeLocked, bool kSomeSingleSegment>
struct TxPolicy {
  static constexpr bool kChecksSegments = kSomeSingleSegment;

  // Which function a queue uses was decided once, when the lcore was built; here nothing is tested.
  static uint16_t Burst(const TxQueue& queue, rte_mbuf** mbufs, uint16_t n) noexcept {
    if constexpr (kSomeLocked) {
      return queue.burst(queue, mbufs, n);
    } else {
      return BurstDirect(queue, mbufs, n);
    }
  }
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_PIPELINE_TX_QUEUE_H_
