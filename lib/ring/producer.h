// SPDX-License-Identifier: BSD-3-Clause
//
// Producer: the filling end of a ring whose other end somebody else empties (FILL and TX of an
// AF_XDP socket, where that is the kernel). Used by one lcore (Exclusive) or by any (Shared);
// ownership.h says what that means and why it holds.
//
// A burst is reserve, prepare, publish:
//
//   const uint32_t room = tx.Reserve(n, returned);      // how many of n may be sent: a count
//   for (i < room) { check, copy if need be, mark, entries[k++] = …; }   // no lock
//   tx.Cancel(room - k);                                // what was not used after all
//   tx.Publish(entries, k);                             // slots, stores and index: one short lock
//   sendto(…);                                          // no lock
//
// A reservation is a count and no position. Slots are dealt out by Publish, in the order of arrival
// there, so a lcore that prepares for long holds up nobody, what it gives back leaves no hole, and
// giving back is a subtraction, whoever else reserved in between. Entries of one Publish lie behind
// each other: a packet of several entries must be in one call.
//
// Why a slot is free when Publish stores into it (Shared). Reserve takes n only where
// claimed + n − consumer ≤ size, with the consumer as it was loaded then. Consider a Publish of
// lcore B up to index e, and among B and those that published before it the one, L, whose Reserve
// came last. All that they claimed and did not cancel was in L's sum, so e ≤ claimed(L) + n(L) ≤
// consumer(L) + size. L's acquire of the consumer came before its Publish, that one's Unlock before
// B's Lock: the other side has read the old entry of each slot before B writes it.
// test/model/producer.pml checks the protocol in all interleavings, and that its broken twins are
// caught.
//
// `limit` and `returned`: at most `limit` entries are outstanding, that is published or reserved
// and not yet returned. `returned` counts, from 0 and free-running, what came back (for TX:
// completions taken; for FILL: frames received), so with COMPLETION at least as large as `limit` it
// cannot overflow, and no more than `limit` mbufs are ever inside.

#ifndef PENSTOCK_LIB_RING_PRODUCER_H_
#define PENSTOCK_LIB_RING_PRODUCER_H_

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "lib/base/cycles.h"
#include "lib/ring/ownership.h"
#include "lib/ring/ring_memory.h"

namespace penstock {

template <typename Entry, typename Ownership>
class PENSTOCK_CACHE_ALIGNED Producer {
 public:
  // Takes up the ring where its indices are. 0 < limit ≤ ring.size.
  Producer(const RingMemory<Entry>& ring, uint32_t limit) noexcept
      : next_(std::atomic_ref(*ring.producer).load(std::memory_order_relaxed)),
        ring_(ring),
        base_(next_.load(std::memory_order_relaxed)),
        limit_(limit),
        seen_consumer_(base_) {}

  // Up to `n` entries for the caller to publish or cancel; may be 0.
  uint32_t Reserve(uint32_t n, uint32_t returned) noexcept {
    uint32_t claimed = claimed_.load(std::memory_order_relaxed);
    if constexpr (Ownership::kShared) {
      for (;;) {
        const uint32_t take = std::min(n, Room(claimed, LoadConsumer(), returned));
        if (take == 0) return 0;
        // Relaxed: it is a count. The acquire that makes slots reusable is LoadConsumer's.
        if (claimed_.compare_exchange_weak(claimed, claimed + take, std::memory_order_relaxed)) {
          return take;
        }
      }
    } else {
      uint32_t room = Room(claimed, seen_consumer_, returned);
      if (room < n) {
        seen_consumer_ = LoadConsumer();
        room = Room(claimed, seen_consumer_, returned);
      }
      const uint32_t take = std::min(n, room);
      claimed_.store(claimed + take, std::memory_order_relaxed);
      return take;
    }
  }

  // Gives back what was reserved and will not be published.
  void Cancel(uint32_t n) noexcept {
    if (n == 0) return;
    if constexpr (Ownership::kShared) {
      claimed_.fetch_sub(n, std::memory_order_relaxed);
    } else {
      claimed_.store(claimed_.load(std::memory_order_relaxed) - n, std::memory_order_relaxed);
    }
  }

  // Hands over `n` entries out of the caller's reservation, in order and side by side. The count of
  // entries published before them, from 0 and free-running.
  uint32_t Publish(const Entry* entries, uint32_t n) noexcept {
    ScopedLock guard(lock_);
    const uint32_t first = next_.load(std::memory_order_relaxed);
    ring_.Write(first, entries, n);
    next_.store(first + n, std::memory_order_relaxed);
    // Release: partner of the other side's acquire of the producer. It sees the entries stored
    // above.
    std::atomic_ref(*ring_.producer).store(first + n, std::memory_order_release);
    return first - base_;
  }

  // Entries published in all, free-running from 0. Any thread.
  uint32_t published() const noexcept { return next_.load(std::memory_order_relaxed) - base_; }
  // Reserved or published in all, less what was cancelled. Any thread.
  uint32_t claimed() const noexcept { return claimed_.load(std::memory_order_relaxed); }
  // Published entries that the other side has not taken, as far as it says. Any thread.
  uint32_t Unconsumed() const noexcept {
    const uint32_t consumer = LoadConsumer();
    return next_.load(std::memory_order_relaxed) - consumer;
  }
  // Entries that the other side has taken, as far as it says, free-running from 0. Any thread.
  uint32_t consumed() const noexcept { return LoadConsumer() - base_; }
  // The other side asks to be woken. Ordered after the index of the last Publish.
  bool NeedsWakeup(uint32_t flag) const noexcept {
    if (ring_.flags == nullptr) return true;
    // The kernel sets the flag, then looks at the producer once more; we do it the other way round.
    // Both sequentially consistent, so that one of the two sees the other's. Adding nothing is the
    // fence here: it is an access to the index itself.
    std::atomic_ref(*ring_.producer).fetch_add(0, std::memory_order_seq_cst);
    return (std::atomic_ref(*const_cast<uint32_t*>(ring_.flags)).load(std::memory_order_seq_cst) &
            flag) != 0;
  }
  uint64_t lock_waits() const noexcept { return lock_.waits(); }

 private:
  // Acquire: partner of the other side's release of the consumer. It has read what it gives back.
  uint32_t LoadConsumer() const noexcept {
    return std::atomic_ref(*ring_.consumer).load(std::memory_order_acquire);
  }

  uint32_t Room(uint32_t claimed, uint32_t consumer, uint32_t returned) const noexcept {
    return std::min(Free(ring_.size, claimed - (consumer - base_)),
                    Free(limit_, claimed - returned));
  }

  // The counts are loaded one after the other while others move them. One that seems negative was
  // overtaken, and the compare and exchange will tell.
  static uint32_t Free(uint32_t size, uint32_t used) noexcept {
    if (static_cast<int32_t>(used) < 0) return size;
    return used > size ? 0 : size - used;
  }

  // The lock and what it guards: one line.
  [[no_unique_address]] typename Ownership::Lock lock_;
  std::atomic<uint32_t> next_;  // our copy of the producer index
  RingMemory<Entry> ring_;

  // Reservations: a line of their own, because they are made while another lcore publishes.
  PENSTOCK_CACHE_ALIGNED std::atomic<uint32_t> claimed_{0};
  uint32_t base_;  // the producer index at first
  uint32_t limit_;
  uint32_t seen_consumer_;  // Exclusive only
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_RING_PRODUCER_H_
