// SPDX-License-Identifier: BSD-3-Clause
//
// TxReaper: takes back what one TX queue has sent, through ethdev; the queue that a CompletionPacer
// (lib/ring/completion_pacer.h) paces. Used by the lcore that the plan says reaps the queue.
//
//   TxReaper reaper(port, queue, descriptors, TxReap::kCleanupTold, nullptr);
//   if (reaper.Waiting(out) < out) freed = reaper.Reap(out);

#ifndef PENSTOCK_LIB_PORT_TX_REAPER_H_
#define PENSTOCK_LIB_PORT_TX_REAPER_H_

#include <rte_ethdev.h>
#include <rte_spinlock.h>

#include <algorithm>
#include <cstdint>

#include "lib/port/capabilities.h"
#include "lib/ring/completion_pacer.h"

namespace penstock {

class TxReaper {
 public:
  // `way` is one of the three that reap. `lock`: taken around each call to the driver, where lcores
  // share a queue without the driver's help; else null.
  TxReaper(uint16_t port, uint16_t queue, uint16_t descriptors, TxReap way,
           rte_spinlock_t* lock) noexcept
      : port_(port), queue_(queue), descriptors_(descriptors), way_(way), lock_(lock) {}

  // How many of the `out` packets sent last are not done yet. From the end of the ring backwards:
  // the descriptor before the tail is that of the youngest packet, and what the device is done with
  // says DONE, freed or not. They are done in order.
  uint32_t Waiting(uint32_t out) noexcept {
    if (way_ != TxReap::kCleanupTold) return kCannotTell;
    const Guard guard(lock_);
    return Count(out, [this](uint32_t k) {
      return rte_eth_tx_descriptor_status(port_, queue_, static_cast<uint16_t>(descriptors_ - k)) ==
             RTE_ETH_TX_DESC_FULL;
    });
  }

  int Reap(uint32_t out) noexcept {
    const Guard guard(lock_);
    if (way_ != TxReap::kStatus) return rte_eth_tx_done_cleanup(port_, queue_, 0);
    // mlx5 handles completions when it is asked for a descriptor's status, and then counts from the
    // oldest: those below the number in flight are FULL.
    const uint32_t left = Count(out, [this](uint32_t k) {
      return rte_eth_tx_descriptor_status(port_, queue_, static_cast<uint16_t>(k - 1)) ==
             RTE_ETH_TX_DESC_FULL;
    });
    return static_cast<int>(out - left);
  }

 private:
  static constexpr uint32_t kCannotTell = UINT32_MAX;

  class Guard {
   public:
    explicit Guard(rte_spinlock_t* lock) noexcept : lock_(lock) {
      if (lock_ != nullptr) rte_spinlock_lock(lock_);
    }
    ~Guard() {
      if (lock_ != nullptr) rte_spinlock_unlock(lock_);
    }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    rte_spinlock_t* lock_;
  };

  // The greatest k of 1…most that is full, 0 if none is. The two usual answers, none and all, are
  // looked for first.
  template <typename IsFull>
  uint32_t Count(uint32_t most, IsFull is_full) const noexcept {
    most = std::min<uint32_t>(most, descriptors_);
    if (most == 0 || !is_full(1)) return 0;
    if (is_full(most)) return most;
    uint32_t full = 1;
    uint32_t done = most;
    while (done - full > 1) {
      const uint32_t middle = full + (done - full) / 2;
      (is_full(middle) ? full : done) = middle;
    }
    return full;
  }

  uint16_t port_;
  uint16_t queue_;
  uint16_t descriptors_;
  TxReap way_;
  rte_spinlock_t* lock_;
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_PORT_TX_REAPER_H_
