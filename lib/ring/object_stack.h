// SPDX-License-Identifier: BSD-3-Clause
//
// ObjectStack: pointers, the last in the first out, so that what was used last, and is still in the
// processor's cache, is used next. Used by one lcore at a time, or under a lock; Count by anybody.

#ifndef PENSTOCK_LIB_RING_OBJECT_STACK_H_
#define PENSTOCK_LIB_RING_OBJECT_STACK_H_

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace penstock {

template <typename Object>
class ObjectStack {
 public:
  // `memory` has room for `slots`, and outlives the stack.
  ObjectStack(Object* memory, uint32_t slots) noexcept : slots_(memory), size_(slots) {}

  uint32_t size() const noexcept { return size_; }
  uint32_t Count() const noexcept { return count_.load(std::memory_order_relaxed); }
  uint32_t Room() const noexcept { return size_ - Count(); }

  // n ≤ Room().
  void Push(const Object* objects, uint32_t n) noexcept {
    std::copy_n(objects, n, slots_ + Count());
    SetCount(Count() + n);
  }

  // Room for `n` ≤ Room() more objects on top, which the caller fills before anything else.
  Object* Extend(uint32_t n) noexcept {
    Object* const top = slots_ + Count();
    SetCount(Count() + n);
    return top;
  }

  // n ≤ Count(). The uppermost is the last of `into`, where a mempool's cache begins to use them.
  void Pop(Object* into, uint32_t n) noexcept {
    SetCount(Count() - n);
    std::copy_n(slots_ + Count(), n, into);
  }

  // The `n` ≤ Count() that have lain there longest, for reading until Forget(n) takes them away.
  const Object* Oldest() const noexcept { return slots_; }
  void Forget(uint32_t n) noexcept {
    std::copy(slots_ + n, slots_ + Count(), slots_);
    SetCount(Count() - n);
  }

 private:
  // Relaxed: whoever reads it from elsewhere wants a number, not the objects.
  void SetCount(uint32_t n) noexcept { count_.store(n, std::memory_order_relaxed); }

  Object* slots_;
  uint32_t size_;
  std::atomic<uint32_t> count_{0};
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_RING_OBJECT_STACK_H_
