// SPDX-License-Identifier: BSD-3-Clause
//
// BurstBudget: how many descriptors a copy-mode AF_XDP socket may send per system call
// (XDP_MAX_TX_SKB_BUDGET), tuned by the bursts that are seen. The kernel's own budget of 32 cuts a
// burst of 256 into eight calls, seven of which end in EAGAIN; a budget of the whole ring lets one
// lcore keep the kernel busy for long.
//
//   BurstBudget budget(ring_size);
//   if (const uint32_t wanted = budget.Observe(pending)) setsockopt(…, XDP_MAX_TX_SKB_BUDGET, …);
//
// One user at a time. Data path: no call, no clock.

#ifndef PENSTOCK_LIB_RING_BURST_BUDGET_H_
#define PENSTOCK_LIB_RING_BURST_BUDGET_H_

#include <algorithm>
#include <bit>
#include <cstdint>

namespace penstock {

// What the kernel takes: 32 … the size of the TX ring, and 32 without being asked.
inline constexpr uint32_t kMinTxBudget = 32;

class BurstBudget {
 public:
  // `ring_size` is a power of two. A smaller ring than 32 leaves nothing to tune.
  explicit BurstBudget(uint32_t ring_size) noexcept : max_(std::max(ring_size, kMinTxBudget)) {}

  uint32_t budget() const noexcept { return budget_; }

  // `pending` descriptors are about to be sent by one call. The budget to set, 0 if it stays. A
  // larger burst is followed at once: it would be cut. A smaller one is believed only after
  // kCalmCalls calls in a row of which none needed more than half: each change costs a system call.
  uint32_t Observe(uint32_t pending) noexcept {
    if (pending > budget_) return Set(pending);
    largest_ = std::max(largest_, pending);
    if (++calls_ < kCalmCalls) return 0;
    const uint32_t largest = largest_;
    calls_ = 0;
    largest_ = 0;
    return largest <= budget_ / 2 ? Set(largest) : 0;
  }

  static constexpr uint32_t kCalmCalls = 4096;

 private:
  uint32_t Set(uint32_t wanted) noexcept {
    calls_ = 0;
    largest_ = 0;
    const uint32_t budget = std::clamp(std::bit_ceil(std::min(wanted, max_)), kMinTxBudget, max_);
    if (budget == budget_) return 0;
    budget_ = budget;
    return budget;
  }

  uint32_t max_;
  uint32_t budget_ = kMinTxBudget;
  uint32_t calls_ = 0;    // since the last change or the last look back
  uint32_t largest_ = 0;  // of these calls
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_RING_BURST_BUDGET_H_
