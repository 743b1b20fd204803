// SPDX-License-Identifier: BSD-3-Clause
//
// The other side of rings in ordinary memory, as the kernel plays it: takes entries of one ring and
// posts what they say on another. Also entries and locks that lose time where it hurts, so that
// lcores meet where they seldom would.

#ifndef PENSTOCK_TEST_UNIT_RING_FAKE_KERNEL_H_
#define PENSTOCK_TEST_UNIT_RING_FAKE_KERNEL_H_

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "lib/ring/ownership.h"
#include "lib/ring/ring_memory.h"

namespace penstock {

// Gives the processor away now and then; each thread at its own moments.
inline void LoseTime() {
  thread_local uint32_t state =
      static_cast<uint32_t>(std::hash<std::thread::id>()(std::this_thread::get_id())) | 1;
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  if (state % 16 == 0) std::this_thread::yield();
}

// An entry whose copy, which is the store into a slot, takes its time.
struct SlowEntry {
  SlowEntry() = default;
  explicit SlowEntry(uint64_t v) : value(v) {}
  SlowEntry(const SlowEntry& other) { *this = other; }
  SlowEntry& operator=(const SlowEntry& other) {
    LoseTime();
    value = other.value;
    return *this;
  }
  uint64_t value = 0;
};

class SlowLock {
 public:
  void Lock() noexcept {
    LoseTime();
    lock_.Lock();
    LoseTime();
  }
  void Unlock() noexcept {
    LoseTime();
    lock_.Unlock();
    LoseTime();
  }
  uint64_t waits() const noexcept { return lock_.waits(); }

 private:
  SpinLock lock_;
};

// As Shared, losing time inside the lock and on both sides of it.
struct SlowShared : Shared {
  using Lock = SlowLock;
};

template <typename Entry>
struct RingBuffer {
  // The indices begin at `start`, which may be just before they wrap around.
  explicit RingBuffer(uint32_t size, uint32_t start = 0)
      : producer(start), consumer(start), entries(size) {}

  RingMemory<Entry> memory() {
    return {.producer = &producer,
            .consumer = &consumer,
            .entries = entries.data(),
            .size = static_cast<uint32_t>(entries.size()),
            .flags = &flags};
  }

  // The kernel's ends.
  bool Take(Entry& out) {
    const uint32_t c = consumer;
    if (std::atomic_ref(producer).load(std::memory_order_acquire) == c) return false;
    out = entries[c & (entries.size() - 1)];
    std::atomic_ref(consumer).store(c + 1, std::memory_order_release);
    return true;
  }
  bool Post(const Entry& entry) {
    const uint32_t p = producer;
    if (p - std::atomic_ref(consumer).load(std::memory_order_acquire) == entries.size()) {
      return false;
    }
    entries[p & (entries.size() - 1)] = entry;
    std::atomic_ref(producer).store(p + 1, std::memory_order_release);
    return true;
  }

  uint32_t producer;
  uint32_t consumer;
  uint32_t flags = 0;
  std::vector<Entry> entries;
};

}  // namespace penstock

#endif  // PENSTOCK_TEST_UNIT_RING_FAKE_KERNEL_H_
