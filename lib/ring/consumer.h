// SPDX-License-Identifier: BSD-3-Clause
//
// Consumer: the emptying end of a ring that somebody else fills (RX and COMPLETION of an AF_XDP
// socket, where that is the kernel). Used by one lcore (Exclusive) or by any (Shared); ownership.h
// says what that means and why it holds.
//
//   std::array<uint64_t, 64> addresses;
//   const uint32_t n = completions.Take(addresses.data(), addresses.size());
//   // What they mean is looked up and freed here, outside the lock.

#ifndef PENSTOCK_LIB_RING_CONSUMER_H_
#define PENSTOCK_LIB_RING_CONSUMER_H_

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "lib/base/cycles.h"
#include "lib/ring/ownership.h"
#include "lib/ring/ring_memory.h"

namespace penstock {

template <typename Entry, typename Ownership>
class PENSTOCK_CACHE_ALIGNED Consumer {
 public:
  // Takes up the ring where its consumer index is.
  explicit Consumer(const RingMemory<Entry>& ring) noexcept
      : next_(std::atomic_ref(*ring.consumer).load(std::memory_order_relaxed)), ring_(ring) {}

  // Moves up to `n` entries, the oldest first, into `out`; how many there were. Under Shared each
  // entry goes to one caller.
  uint32_t Take(Entry* out, uint32_t n) noexcept {
    // Without the lock, because most polls find nothing; a stale view is corrected under it.
    if (Ready() == 0) return 0;
    ScopedLock guard(lock_);
    const uint32_t first = next_.load(std::memory_order_relaxed);
    const uint32_t take = std::min(n, LoadProducer() - first);
    ring_.Read(first, out, take);
    // Release: partner of the acquire in Ready.
    next_.store(first + take, std::memory_order_release);
    // Release: partner of the other side's acquire of the consumer. It stores into these slots only
    // after they were read above.
    std::atomic_ref(*ring_.consumer).store(first + take, std::memory_order_release);
    return take;
  }

  // How many entries are there now. Any thread; under Shared another may take them first.
  uint32_t Ready() const noexcept {
    // Acquire, and first: partner of the release in Take. Who stored it had seen a producer index
    // at least as far, so the one loaded next is not behind it.
    const uint32_t first = next_.load(std::memory_order_acquire);
    return LoadProducer() - first;
  }
  // How far the other side has come: moves with what it hands over, whoever takes. Any thread.
  uint32_t produced() const noexcept { return LoadProducer(); }
  uint64_t lock_waits() const noexcept { return lock_.waits(); }

 private:
  // Acquire: partner of the other side's release of the producer. The entries are there.
  uint32_t LoadProducer() const noexcept {
    return std::atomic_ref(*ring_.producer).load(std::memory_order_acquire);
  }

  // The lock and what it guards: one line.
  [[no_unique_address]] typename Ownership::Lock lock_;
  std::atomic<uint32_t> next_;  // our copy of the consumer index
  RingMemory<Entry> ring_;
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_RING_CONSUMER_H_
