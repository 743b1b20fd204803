// SPDX-License-Identifier: BSD-3-Clause
//
// InFlight: a byte per chunk of packet memory, naming the queue that has given it to the kernel.
// What comes back from the kernel is believed only if the byte says that it was there: AF_XDP can
// post the address of a descriptor that it refuses again on every try, and to free a chunk twice is
// to lose a packet of somebody else later. When a queue stops, the bytes also tell which chunks are
// still out.
//
// Holders are 1…255, dealt out by the user; 0 is nobody. Mark before the entry is published, Clear
// after it was taken from a ring: the rings' release and acquire order the byte with them, so
// relaxed accesses are enough. A second completion of a chunk that is in flight again cannot be
// told from a right one; descriptors are therefore checked before they are sent.

#ifndef PENSTOCK_LIB_RING_IN_FLIGHT_H_
#define PENSTOCK_LIB_RING_IN_FLIGHT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace penstock {

class InFlight {
 public:
  explicit InFlight(size_t chunks) : holders_(chunks) {}

  size_t size() const noexcept { return holders_.size(); }

  // False if somebody has it already: nothing changes then. The caller owns the chunk, so no other
  // lcore marks it at the same time.
  bool Mark(size_t chunk, uint8_t holder) noexcept {
    if (holders_[chunk].load(std::memory_order_relaxed) != 0) return false;
    holders_[chunk].store(holder, std::memory_order_relaxed);
    return true;
  }

  // True if `holder` had it: it is the caller's now. Under Shared two lcores may hold the same
  // address if it was posted twice, and one of them gets it.
  template <typename Ownership>
  bool Clear(size_t chunk, uint8_t holder) noexcept {
    if constexpr (Ownership::kShared) {
      uint8_t expected = holder;
      return holders_[chunk].compare_exchange_strong(expected, 0, std::memory_order_relaxed);
    } else {
      if (holders_[chunk].load(std::memory_order_relaxed) != holder) return false;
      holders_[chunk].store(0, std::memory_order_relaxed);
      return true;
    }
  }

  // Clears what `holder` still has and calls take(chunk) for each. Nobody else uses that queue.
  template <typename Take>
  void TakeAll(uint8_t holder, Take take) {
    for (size_t chunk = 0; chunk < holders_.size(); ++chunk) {
      if (Clear<ExclusiveUse>(chunk, holder)) take(chunk);
    }
  }

  size_t Count(uint8_t holder) const noexcept {
    size_t count = 0;
    for (const auto& each : holders_) count += each.load(std::memory_order_relaxed) == holder;
    return count;
  }

 private:
  struct ExclusiveUse {
    static constexpr bool kShared = false;
  };

  std::vector<std::atomic<uint8_t>> holders_;
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_RING_IN_FLIGHT_H_
