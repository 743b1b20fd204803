// SPDX-License-Identifier: BSD-3-Clause
//
// What a mailbox and a HomePool are made of in tests: objects whose copy and atomics whose accesses
// lose time, so that lcores meet between any two steps of the protocol. Also memory for a pool.

#ifndef PENSTOCK_TEST_UNIT_RING_SLOW_WORDS_H_
#define PENSTOCK_TEST_UNIT_RING_SLOW_WORDS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "lib/ring/home_pool.h"
#include "test/unit/ring/fake_kernel.h"

namespace penstock {

template <typename T>
class SlowAtomic {
 public:
  SlowAtomic(T value) : value_(value) {}
  T load(std::memory_order order) const noexcept {
    LoseTime();
    const T value = value_.load(order);
    LoseTime();
    return value;
  }
  void store(T value, std::memory_order order) noexcept {
    LoseTime();
    value_.store(value, order);
    LoseTime();
  }

 private:
  std::atomic<T> value_;
};

struct SlowWords {
  using Object = SlowEntry;
  template <typename T>
  using Atomic = SlowAtomic<T>;
  using Lock = SlowLock;
  using Gate = OwnerGate;
  static uintptr_t Address(const SlowEntry& entry) noexcept { return entry.value; }
};

// A pool and its memory. Objects are made up: addresses kObjectBytes apart.
template <typename Words>
class PoolInMemory {
 public:
  static constexpr size_t kObjectBytes = 2368;

  PoolInMemory(uint32_t objects, uint32_t homes, uint32_t burst = 32)
      : shape{.objects = objects, .object_bytes = kObjectBytes, .homes = homes, .burst = burst},
        memory_(std::aligned_alloc(HomePool<Words>::kAlignment, HomePool<Words>::Bytes(shape))) {
    std::memset(memory_.get(), 0, HomePool<Words>::Bytes(shape));
    pool = HomePool<Words>::Create(shape, memory_.get());
    for (uint32_t i = 0; i < objects; ++i) {
      const typename Words::Object object = ObjectAt(i);
      pool->GiveAnywhere(&object, 1);
    }
  }

  static typename Words::Object ObjectAt(uint32_t i) {
    return typename Words::Object((uint64_t{1} << 32) + i * kObjectBytes);
  }
  static uint32_t IndexOf(const typename Words::Object& object) {
    return static_cast<uint32_t>((Words::Address(object) - (uint64_t{1} << 32)) / kObjectBytes);
  }

  const HomeShape shape;
  HomePool<Words>* pool;

 private:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  std::unique_ptr<void, Free> memory_;
};

// Ordinary objects without their addresses being those of anything: numbers.
struct NumberWords {
  using Object = uint64_t;
  template <typename T>
  using Atomic = std::atomic<T>;
  using Lock = SpinLock;
  using Gate = OpenGate;
  static uintptr_t Address(uint64_t object) noexcept { return object; }
};

}  // namespace penstock

#endif  // PENSTOCK_TEST_UNIT_RING_SLOW_WORDS_H_
