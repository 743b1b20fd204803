// SPDX-License-Identifier: BSD-3-Clause
//
// PinnedAge: since when the oldest entry of a queue has been out, without a time stamp per entry.
// The entries are taken to come back in the order in which they went; the result is right to within
// one sixteenth of the queue, and to the last look of the clock.
//
//   age.Went(first, n, returned, ReadTsc);             // after Publish, its result as `first`
//   const uint64_t oldest = age.SinceTsc(published, returned);

#ifndef PENSTOCK_LIB_RING_PINNED_AGE_H_
#define PENSTOCK_LIB_RING_PINNED_AGE_H_

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

namespace penstock {

class PinnedAge {
 public:
  // At most `limit` entries are out at a time.
  explicit PinnedAge(uint32_t limit) noexcept
      : shift_(static_cast<uint32_t>(std::bit_width((limit - 1) / kSlots))) {}

  // Entries first … first + n − 1, free-running, went out, when `returned` had come back. `clock()`
  // is asked only where a sixteenth begins, or nothing was out. Any user of the queue.
  template <typename Clock>
  void Went(uint32_t first, uint32_t n, uint32_t returned, Clock clock) noexcept {
    const uint32_t step = 1u << shift_;
    const bool alone = first == returned;  // What the slot had before is not out any more.
    const uint32_t to_next = (0 - first) & (step - 1);
    if (n == 0 || (!alone && to_next >= n)) return;
    const uint64_t now = clock();
    if (alone) Slot(first).store(now, std::memory_order_relaxed);
    for (uint32_t i = to_next; i < n; i += step) {
      Slot(first + i).store(now, std::memory_order_relaxed);
    }
  }

  // When the entry number `returned` went out; 0 if none is out. Any thread.
  uint64_t SinceTsc(uint32_t published, uint32_t returned) const noexcept {
    if (static_cast<int32_t>(published - returned) <= 0) return 0;
    return went_[(returned >> shift_) % (2 * kSlots)].load(std::memory_order_relaxed);
  }

 private:
  static constexpr uint32_t kSlots = 16;

  std::atomic<uint64_t>& Slot(uint32_t entry) noexcept {
    return went_[(entry >> shift_) % (2 * kSlots)];
  }

  uint32_t shift_;  // a slot stands for 2^shift_ entries
  // Twice as many, so that none is overwritten while its entries are out.
  std::array<std::atomic<uint64_t>, 2 * kSlots> went_{};
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_RING_PINNED_AGE_H_
