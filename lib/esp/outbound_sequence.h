// SPDX-License-Identifier: BSD-3-Clause
//
// OutboundSequence: the sequence numbers of one outbound SA, each handed out once. Any number of
// lcores use it at once: one addition to a shared line per burst, no lock.
//
//   OutboundSequence sequence(OutboundSequence::kLast32, soft);
//   const SequenceRange range = sequence.Take(n);     // as late as possible, before the cipher
//   packets 0 … range.count - 1 get range.first, range.first + 1, …; the others are dropped
//   if (range.soft_reached) …ask for a new SA…        // one lcore is told, once
//   if (range.hard_reached) …the SA is used up…       // likewise
//
// With AES-GCM, ChaCha20-Poly1305 and GMAC the number is the IV as well: used twice under one key
// it gives away the authentication key (RFC 4106 3.1, RFC 7634 2). Therefore:
//
//   - Take is the only source of numbers, and there is no way to give one back. A packet that fails
//     after it was given one, or is tried again with other contents, takes a new number; the gap is
//     nothing to the peer. One that leaves the fast path, to hardware or from it, keeps its SA's
//     only counter.
//   - It begins with 1 (RFC 4303 2.2) and cannot be made to begin elsewhere. A key whose counter
//     was lost, by a restart, is not to be used again: after a restart there are new SAs with new
//     keys. A copy would be a second counter under one key, so it cannot be copied or moved.
//   - Segmentation takes as many numbers as there will be packets.
//
// Numbers are taken exactly, not in blocks kept by lcores: the peer would see the blocks
// interleaved, and its window may have 32 or 64 numbers (RFC 4303 3.4.3).
//
// The limit is compared by "<=" with a counter that is wider than any limit: lcores that race add
// beyond it, to no effect but that the excess is handed to nobody. Once it is passed, nothing is
// added, so the counter ends at most one burst per lcore beyond the limit and never comes round.

#ifndef PENSTOCK_LIB_ESP_OUTBOUND_SEQUENCE_H_
#define PENSTOCK_LIB_ESP_OUTBOUND_SEQUENCE_H_

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstdint>

#include "lib/base/cycles.h"

namespace penstock {

struct SequenceRange {
  uint64_t first;             // meaningless where count is 0
  uint32_t count;             // at most what was asked for; less only where the limit is reached
  bool soft_reached = false;  // the number `soft` was passed by this range
  bool hard_reached = false;  // this call was the first to get less than it asked for
};

class PENSTOCK_CACHE_ALIGNED OutboundSequence {
 public:
  // RFC 4303 3.3.3: the number must not come round. The last one of an SA without extended numbers,
  // and of one with: 2^64 less room for what racing lcores add beyond it.
  static constexpr uint64_t kLast32 = 0xffff'ffff;
  static constexpr uint64_t kLastExtended = ~uint64_t{0} - kLast32;

  // Hands out 1 … `last`, at most kLast32 or kLastExtended. `soft` is the number from which a new
  // SA is due, at most `last`; 0 for none. Leave room for what is taken while the new SA is made.
  explicit OutboundSequence(uint64_t last, uint64_t soft = 0) noexcept : last_(last), soft_(soft) {
    assert(0 < last && last <= kLastExtended && soft <= last);
  }
  OutboundSequence(const OutboundSequence&) = delete;
  OutboundSequence& operator=(const OutboundSequence&) = delete;

  // The next `n` numbers, or as many as are left. Any lcore; what all of them ask for at one time
  // is below 2^32.
  SequenceRange Take(uint32_t n) noexcept {
    // Used up and told: nothing is added any more, and the line is shared instead of fought for.
    if (n == 0 || taken_.load(std::memory_order_relaxed) > last_) return {.first = 0, .count = 0};
    // Relaxed: the additions to one location have one order, and that is all that is needed for
    // ranges without overlap. Nothing is published through it.
    const uint64_t before = taken_.fetch_add(n, std::memory_order_relaxed);
    if (before + n <= last_) [[likely]] {
      return {
          .first = before + 1, .count = n, .soft_reached = before < soft_ && soft_ <= before + n};
    }
    const uint64_t left = before < last_ ? last_ - before : 0;
    return {.first = before + 1,
            .count = static_cast<uint32_t>(left),
            .soft_reached = before < soft_,
            .hard_reached = before <= last_};
  }

  // The largest number handed out, 0 before the first. Any thread.
  uint64_t used() const noexcept { return std::min(taken_.load(std::memory_order_relaxed), last_); }
  uint64_t last() const noexcept { return last_; }
  uint64_t soft() const noexcept { return soft_; }

 private:
  std::atomic<uint64_t> taken_{0};
  // Constants; whoever takes has this line anyway.
  const uint64_t last_;
  const uint64_t soft_;
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_ESP_OUTBOUND_SEQUENCE_H_
