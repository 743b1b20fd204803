// SPDX-License-Identifier: BSD-3-Clause
//
// HomeHints: the home of each object, a byte in a table that is indexed by the object's address.
// Read and written by any lcore.
//
// Nothing in the object is used: a mempool does not own what its objects contain, and the header in
// front of them is a cache line that nobody else touches.
//
// The index is the address without its lowest bits: as many as two neighbours differ by at least.
// So the objects of one piece of memory that the table covers have a byte each, whatever gaps are
// between them. Objects of several pieces may share one. Then one of them has the wrong home, and
// is sent there, where it is as good as anywhere: a hint that is wrong costs time and nothing else.
// That is why accesses are relaxed, and why nothing is lost when two lcores write one at a time.

#ifndef PENSTOCK_LIB_RING_HOME_HINTS_H_
#define PENSTOCK_LIB_RING_HOME_HINTS_H_

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace penstock {

class HomeHints {
 public:
  using Byte = std::atomic<uint8_t>;

  // The table for `objects` objects that lie at least `object_bytes` > 0 apart: a power of two.
  static size_t TableBytes(size_t objects, size_t object_bytes) noexcept {
    // Half as much again for the gaps that keep objects from crossing pages.
    const size_t area = objects * object_bytes + objects * object_bytes / 2;
    return std::bit_ceil((area >> Shift(object_bytes)) + 2);
  }

  // `table` is zeroed, TableBytes() long, and outlives the object.
  HomeHints(Byte* table, size_t objects, size_t object_bytes) noexcept
      : table_(table), mask_(TableBytes(objects, object_bytes) - 1), shift_(Shift(object_bytes)) {}

  // 0 if it was never set.
  uint8_t Of(uintptr_t address) const noexcept {
    return table_[(address >> shift_) & mask_].load(std::memory_order_relaxed);
  }
  void Set(uintptr_t address, uint8_t hint) noexcept {
    table_[(address >> shift_) & mask_].store(hint, std::memory_order_relaxed);
  }

 private:
  static unsigned Shift(size_t object_bytes) noexcept {
    return static_cast<unsigned>(std::bit_width(object_bytes)) - 1;
  }

  Byte* table_;
  size_t mask_;
  unsigned shift_;
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_RING_HOME_HINTS_H_
