// SPDX-License-Identifier: BSD-3-Clause
//
// Who uses one end of a ring, as a type. The policy is chosen when a queue is set up and is part of
// the cursor's type from then on: no burst asks how many users there are, and no number of users
// can change under a burst that is running.
//
// - Exclusive: one lcore. Plain loads and stores; what ordering the other side of the ring needs is
//   in the cursors. No lock exists, so none can be forgotten.
// - Checked: as Exclusive, and a queue's gate tells when a second lcore comes in. For debugging.
// - Shared: any lcore at any time. A short lock per cursor; it covers the slots, the stores and the
//   index, never a system call and never work on a packet.
//
// Two objections were raised in the kernel when it did the same for its side of the completion
// ring, and both are met by construction here:
//
//   "What guarantees that there is one user until the function exits?" A count that is looked at
//   when a burst begins guarantees nothing. Here nothing is looked at: a queue that was set up
//   Exclusive is one until it is set up anew, which ethdev allows on a stopped port only, and a
//   port is stopped when its lcores have left it. Whoever reaps completions counts as a user,
//   whether it sends or not.
//
//   "Even with one producer, the failure path and another core's completion run together." Every
//   path into a queue goes through one of these cursors by the same functions: sending, its error
//   path (Cancel), reaping, and the drain when the queue stops. Producer and consumer share no
//   memory but the ring itself; each has its lock, on the line of the index that it guards.
//   Statistics and interrupts only read: counters are relaxed atomics, and the interrupt's socket
//   has no TX ring, because a poll of one that has sends what is in it.

#ifndef PENSTOCK_LIB_RING_OWNERSHIP_H_
#define PENSTOCK_LIB_RING_OWNERSHIP_H_

#include <atomic>
#include <cstdint>

#include "lib/base/cycles.h"

namespace penstock {

inline void SpinPause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Where nobody else is.
class NoLock {
 public:
  void Lock() noexcept {}
  void Unlock() noexcept {}
  uint64_t waits() const noexcept { return 0; }
};

class SpinLock {
 public:
  void Lock() noexcept {
    // Acquire: partner of the release in Unlock. What the last holder wrote is seen.
    if (held_.exchange(1, std::memory_order_acquire) == 0) return;
    do {
      while (held_.load(std::memory_order_relaxed) != 0) SpinPause();
    } while (held_.exchange(1, std::memory_order_acquire) != 0);
    // Only the holder writes it; relaxed because statistics read it at any time.
    waits_.store(waits_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  // Release: partner of the acquires in Lock.
  void Unlock() noexcept { held_.store(0, std::memory_order_release); }

  // How often somebody had to wait. Any thread.
  uint64_t waits() const noexcept { return waits_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint32_t> held_{0};
  std::atomic<uint64_t> waits_{0};
};

template <typename Lock>
class ScopedLock {
 public:
  explicit ScopedLock(Lock& lock) noexcept : lock_(lock) { lock_.Lock(); }
  ~ScopedLock() { lock_.Unlock(); }
  ScopedLock(const ScopedLock&) = delete;
  ScopedLock& operator=(const ScopedLock&) = delete;

 private:
  Lock& lock_;
};

// Lets everybody in.
class OpenGate {
 public:
  uint32_t Enter(uint32_t) noexcept { return 0; }
  void Reset() noexcept {}
};

// Remembers who came first. `user` is not 0.
class OwnerGate {
 public:
  // 0 if `user` is the first since Reset() or the same as before; else the one who was.
  uint32_t Enter(uint32_t user) noexcept {
    uint32_t owner = owner_.load(std::memory_order_relaxed);
    if (owner == user) return 0;
    // Relaxed: only the identity counts, nothing is published through it.
    if (owner == 0 && owner_.compare_exchange_strong(owner, user, std::memory_order_relaxed)) {
      return 0;
    }
    return owner == user ? 0 : owner;
  }
  // When the queue stops or starts: the next one to come may be another.
  void Reset() noexcept { owner_.store(0, std::memory_order_relaxed); }

 private:
  std::atomic<uint32_t> owner_{0};
};

struct Exclusive {
  static constexpr bool kShared = false;
  using Lock = NoLock;
  using Gate = OpenGate;
};

struct Checked : Exclusive {
  using Gate = OwnerGate;
};

struct Shared {
  static constexpr bool kShared = true;
  using Lock = SpinLock;
  using Gate = OpenGate;
};

// A count that the users of a queue make and any thread may read. Relaxed: it orders nothing.
template <typename Ownership>
class Counter {
 public:
  void Add(uint64_t n) noexcept {
    if constexpr (Ownership::kShared) {
      value_.fetch_add(n, std::memory_order_relaxed);
    } else {
      value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
    }
  }
  uint64_t value() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_RING_OWNERSHIP_H_
