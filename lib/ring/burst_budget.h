// SPDX-License-Identifier: BSD-3-Clause
//
// BurstBudget: how many descriptors a copy-mode AF_XDP socket may send per system call
// (XDP_MAX_TX_SKB_BUDGET), tuned by the sends that are seen. The kernel's own budget of 32 cuts a
// burst of 256 into eight calls, seven of which end in EAGAIN; a budget of the whole ring lets one
// lcore keep the kernel busy for long.
//
// The budget is the smallest that lets 99 of 100 sends through whole: what is rarer is not worth a
// longer call for everybody. It is judged window by window, the first windows short, so that the
// first burst is followed at once, and then kWindow sends long.
//
//   grows    as soon as more than one send in a hundred of a window is over it
//   shrinks  after `patience` whole windows in a row, each of which a smaller one would have served
//            with half of that to spare (1 in 200). Each time that had to be taken back, patience
//            doubles, up to kMostPatience windows: bursts that come and go keep their budget.
//
// Between 1 in 200 and 1 in 100 it stays as it is, which is what keeps it from going back and
// forth on the same traffic.
//
// In the driver, on the lcore that sends:
//   BurstBudget budget(ring_size);
//   if (const uint32_t wanted = budget.Observe(pending)) setsockopt(…, XDP_MAX_TX_SKB_BUDGET, …);
// From outside, with what was counted since the last time (send_sizes.h):
//   if (const uint32_t wanted = budget.ObserveMany(sends)) …
//
// One user at a time. Data path: no call, no clock.

#ifndef PENSTOCK_LIB_RING_BURST_BUDGET_H_
#define PENSTOCK_LIB_RING_BURST_BUDGET_H_

#include <algorithm>
#include <cstdint>

#include "lib/ring/send_sizes.h"

namespace penstock {

// What the kernel takes: 32 … the size of the TX ring, and 32 without being asked.
inline constexpr uint32_t kMinTxBudget = 32;

class BurstBudget {
 public:
  static constexpr uint64_t kWindow = 1024;
  static constexpr uint32_t kPatience = 8;
  static constexpr uint32_t kMostPatience = 256;

  // `ring_size` is a power of two. A smaller ring than 32 leaves nothing to tune.
  explicit BurstBudget(uint32_t ring_size) noexcept : max_(std::max(ring_size, kMinTxBudget)) {}

  uint32_t budget() const noexcept { return budget_; }

  // `pending` descriptors are about to be sent by one call. The budget to set, 0 if it stays.
  uint32_t Observe(uint32_t pending) noexcept {
    Count(SendBucket(pending), 1);
    return Judge();
  }

  // The same of many sends at once.
  uint32_t ObserveMany(const SendSizes& sends) noexcept {
    for (size_t i = 0; i < kSendBuckets; ++i) Count(i, sends[i]);
    return Judge();
  }

 private:
  static constexpr uint64_t kCut = 100;    // One send in so many may be over the budget,
  static constexpr uint64_t kSpare = 200;  // and of a smaller one that is to take its place.

  void Count(size_t bucket, uint64_t sends) noexcept {
    if (bucket == 0) return;
    window_[bucket] += sends;
    sends_ += sends;
    if (SendBucketEnd(bucket) > budget_) over_ += sends;
  }

  uint32_t Judge() noexcept {
    // Known before the end of a window: however the rest turns out, it is too much.
    if (budget_ < max_ && over_ * kCut > std::max(sends_, length_)) {
      if (shrunk_) patience_ = std::min(2 * patience_, kMostPatience);
      shrunk_ = false;
      calm_ = 0;
      return Set(Covering(kCut));
    }
    if (sends_ < length_) return 0;
    enough_ = calm_ == 0 ? Covering(kSpare) : std::max(enough_, Covering(kSpare));
    if (enough_ >= budget_) {
      calm_ = 0;
    } else if (++calm_ == patience_) {
      calm_ = 0;
      shrunk_ = true;
      return Set(enough_);
    }
    Begin();
    return 0;
  }

  // The smallest budget that at most one send in `most` of this window is over.
  uint32_t Covering(uint64_t most) const noexcept {
    uint64_t over = 0;
    size_t bucket = kSendBuckets - 1;
    while (bucket > 0 && (over + window_[bucket]) * most <= sends_) over += window_[bucket--];
    return std::clamp(SendBucketEnd(bucket), kMinTxBudget, max_);
  }

  uint32_t Set(uint32_t budget) noexcept {
    budget_ = budget;
    Begin();
    return budget;
  }

  void Begin() noexcept {
    window_ = {};
    sends_ = 0;
    over_ = 0;
    length_ = std::min(2 * length_, kWindow);
  }

  uint32_t max_;
  uint32_t budget_ = kMinTxBudget;
  SendSizes window_{};
  uint64_t sends_ = 0;   // In this window,
  uint64_t over_ = 0;    // of which over the budget,
  uint64_t length_ = 1;  // and when it ends.
  uint32_t enough_ = 0;  // For all of the last `calm_` windows.
  uint32_t calm_ = 0;
  uint32_t patience_ = kPatience;
  bool shrunk_ = false;  // The last change was.
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_RING_BURST_BUDGET_H_
