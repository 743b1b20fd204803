// SPDX-License-Identifier: BSD-3-Clause
//
// Mailbox: what one lcore freed and another is the home of. Written by the first (the freer), read
// by the second (the home); one of them for every such pair. A ring of pointers and two indices.
//
// Pointers lie in an array and are not links in the objects: the home copies them without a look at
// any object, so that no cache miss waits for the one before.
//
// The freer trusts an idle home little. A new mailbox takes kFirstTrust objects; each time the
// freer looks and finds that the home has taken something, it may hold twice as many, up to all its
// slots. So an lcore that set up a port, and has all its mbufs, but never frees or allocates again,
// keeps next to nothing out of use.
//
// Ordering. Put stores the slots, then the tail with release; Waiting loads it with acquire, so
// Take reads what was stored. Take reads the slots, then stores the head with release; Put loads it
// with acquire before it stores into a slot again. test/model/mailbox.pml has both, and twins
// without.

#ifndef PENSTOCK_LIB_RING_MAILBOX_H_
#define PENSTOCK_LIB_RING_MAILBOX_H_

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "lib/base/cycles.h"

namespace penstock {

// `Words` says what an object and an atomic are; home_pool.h has the usual one, tests have one that
// loses time.
template <typename Words>
class Mailbox {
 public:
  using Object = typename Words::Object;

  static constexpr uint32_t kFirstTrust = 32;

  // `slots`: how many, 0 or a power of two; `memory` has room for them, and outlives the mailbox.
  Mailbox(Object* memory, uint32_t slots) noexcept
      : slots_(memory), trusted_(std::min(slots, kFirstTrust)), size_(slots) {}

  // ---- The freer. ----

  // Takes the first of `n` objects over, as many as it has room for: the answer.
  uint32_t Put(const Object* objects, uint32_t n) noexcept {
    const uint32_t tail = tail_.load(std::memory_order_relaxed);
    uint32_t room = trusted_ - (tail - seen_head_);
    if (room < n) {
      // Acquire: partner of the release in Take. The home has read the slots that it gives back.
      const uint32_t head = head_.load(std::memory_order_acquire);
      if (head != seen_head_) trusted_ = std::min(2 * trusted_, size_);
      seen_head_ = head;
      room = trusted_ - (tail - head);
    }
    n = std::min(n, room);
    if (n == 0) return 0;
    const uint32_t at = tail & (size_ - 1);
    const uint32_t before_the_end = std::min(n, size_ - at);
    std::copy_n(objects, before_the_end, slots_ + at);
    std::copy_n(objects + before_the_end, n - before_the_end, slots_);
    // Release: partner of the acquire in Waiting. The home sees the slots stored above.
    tail_.store(tail + n, std::memory_order_release);
    return n;
  }

  // Objects put since it was last asked, for the freer to decide whether it is time to ring.
  uint32_t Unannounced() const noexcept {
    return tail_.load(std::memory_order_relaxed) - announced_;
  }
  void Announced() noexcept { announced_ = tail_.load(std::memory_order_relaxed); }

  // ---- The home. ----

  uint32_t Waiting() const noexcept {
    // Acquire: partner of the release in Put.
    return tail_.load(std::memory_order_acquire) - head_.load(std::memory_order_relaxed);
  }

  // Takes `n` objects, at most as many as were Waiting, in the order in which they were put.
  void Take(Object* into, uint32_t n) noexcept {
    const uint32_t head = head_.load(std::memory_order_relaxed);
    const uint32_t at = head & (size_ - 1);
    const uint32_t before_the_end = std::min(n, size_ - at);
    std::copy_n(slots_ + at, before_the_end, into);
    std::copy_n(slots_, n - before_the_end, into + before_the_end);
    // Release: partner of the acquire in Put. The slots were read.
    head_.store(head + n, std::memory_order_release);
  }

  // ---- Any thread; exact at rest. ----
  uint32_t Count() const noexcept {
    const uint32_t head = head_.load(std::memory_order_acquire);
    return tail_.load(std::memory_order_acquire) - head;
  }

 private:
  // Processors fetch lines in pairs, so what different lcores write lies two lines apart.
  static constexpr size_t kApart = 2 * kCacheLineBytes;

  template <typename T>
  using Atomic = typename Words::template Atomic<T>;

  // Written by the freer; the home reads the tail.
  alignas(kApart) Atomic<uint32_t> tail_{0};
  Object* slots_;
  uint32_t seen_head_ = 0;
  uint32_t trusted_;  // It never holds more than so many.
  uint32_t size_;     // Never written again, and read by both.
  uint32_t announced_ = 0;

  // Written by the home; the freer reads it when the mailbox seems full.
  alignas(kApart) Atomic<uint32_t> head_{0};
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_RING_MAILBOX_H_
