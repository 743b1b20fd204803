// SPDX-License-Identifier: BSD-3-Clause
//
// CompletionPacer: when the completions of one TX queue are worth a look. Owned by the lcore that
// reaps the queue. Its clock is read once per look, of which there is one in up to 64 turns.
//
// A reap in vain costs as much as one that brings something, and one at every burst finds little.
// So the pacer
//   - never reaps with nothing in flight;
//   - reaps when `threshold` packets have gone out since the last reap, or when the oldest has been
//     out for an age: `busy_age` while the queue is being sent to, `idle_age` when it is not;
//   - asks first, where the queue can tell without a reap, whether the oldest is done at all;
//   - after a reap or a question in vain waits twice as long, up to sixteen times, until one
//     succeeds. At the longest it reaps unasked: what a device stopped taking may need a push.
//
// In flight is what was sent minus what reaping brought back. That is too much where the driver
// took completions by itself, as it does in a burst that would otherwise stall. Three things put it
// right: no more than `limit` can be in flight; a queue that can tell how many are not done is
// believed where it says none; and one that cannot, and is idle, is left alone after several reaps
// in vain until something is sent again. It is too little for packets of several descriptors, but
// never nothing while a queue that can tell has something.
//
//   CompletionPacer pacer(clock, {.limit = 1024, .threshold = 64, …});
//   credit = pacer.Look(sent, queue);   // sent: packets given to the queue, of all lcores
//
// `credit` is how many packets and idle turns of the lcore may pass until the next Look. `queue`
// has
//   uint32_t Waiting(uint32_t out)  how many of the `out` youngest are not done yet, or kCannotTell
//   int Reap(uint32_t out)          frees what is done of `out`: how many; negative: it never can

#ifndef PENSTOCK_LIB_RING_COMPLETION_PACER_H_
#define PENSTOCK_LIB_RING_COMPLETION_PACER_H_

#include <algorithm>
#include <cstdint>

#include "lib/base/clock.h"
#include "lib/ring/pinned_age.h"

namespace penstock {

struct CompletionPace {
  uint32_t limit = 1;  // Descriptors of the queue: more cannot be in flight.
  uint32_t threshold = 64;
  uint64_t busy_age_ns = 100'000;
  uint64_t idle_age_ns = 1'000'000;
  // What is in flight is known after each reap, whatever the driver did before.
  bool exact = false;
  // Reaping also sends what the device left in the ring: an idle queue is never given up.
  bool persistent = false;
};

template <Clock C>
class CompletionPacer {
 public:
  static constexpr uint32_t kCannotTell = UINT32_MAX;
  static constexpr uint32_t kMostCredit = 64;
  static constexpr uint32_t kMostDoublings = 4;  // Of an age, by reaps in vain.

  // `clock` outlives the pacer.
  CompletionPacer(const C& clock, const CompletionPace& pace) noexcept
      : clock_(&clock),
        limit_(std::max(pace.limit, 1u)),
        // Half a ring at most, or sending would stall before the first look.
        threshold_(std::clamp(pace.threshold, 1u, std::max(limit_ / 2, 1u))),
        busy_age_tsc_(NsToTsc(pace.busy_age_ns, clock.Hz())),
        idle_age_tsc_(NsToTsc(pace.idle_age_ns, clock.Hz())),
        exact_(pace.exact),
        persistent_(pace.persistent),
        reap_at_(threshold_),
        age_(limit_) {}

  template <typename Queue>
  uint32_t Look(uint64_t sent, Queue& queue) noexcept {
    const uint64_t now_tsc = clock_->NowTsc();
    const uint64_t turn_tsc = now_tsc - last_look_tsc_;
    SetStride(turn_tsc);
    last_look_tsc_ = now_tsc;
    if (quiet_ && !WakeUp(sent)) return stride_;
    if (sent - returned_ > limit_) returned_ = sent - limit_;
    const auto out = static_cast<uint32_t>(sent - returned_);
    if (out == 0) return std::min(stride_, threshold_);
    Note(sent, now_tsc);
    // What will be too old at the next look is taken now.
    const bool by_count = out >= reap_at_;
    if (by_count || IsOld(now_tsc + turn_tsc)) TakeBack(out, by_count, queue);
    return Credit();
  }

  // When nobody will look any more: takes back what is done by now.
  template <typename Queue>
  void Finish(uint64_t sent, Queue& queue) noexcept {
    if (sent - returned_ > limit_) returned_ = sent - limit_;
    if (quiet_ || sent == returned_) return;
    last_look_tsc_ = clock_->NowTsc();
    Note(sent, last_look_tsc_);
    TakeBack(in_flight(), /*by_count=*/true, queue);
  }

  // As of the last look.
  uint32_t in_flight() const noexcept { return static_cast<uint32_t>(seen_ - returned_); }
  // When the oldest in flight went out, to within a sixteenth of the ring and a look; 0: none is.
  uint64_t oldest_tsc() const noexcept { return in_flight() == 0 ? 0 : OldestTsc(); }
  uint64_t reaps() const noexcept { return reaps_; }
  uint64_t empty_reaps() const noexcept { return empty_reaps_; }
  uint64_t reaped() const noexcept { return reaped_; }

 private:
  // Whether an idle queue that was given up is sent to again.
  bool WakeUp(uint64_t sent) noexcept {
    if (refused_ || sent == seen_) return false;
    quiet_ = false;
    // The driver took them itself, as far as can be known.
    if (!exact_) returned_ = seen_;
    return true;
  }

  void Note(uint64_t sent, uint64_t now_tsc) noexcept {
    if (sent == seen_) return;
    const uint64_t first = std::max(seen_, sent > limit_ ? sent - limit_ : 0);
    age_.Went(static_cast<uint32_t>(first), static_cast<uint32_t>(sent - first),
              static_cast<uint32_t>(returned_), [now_tsc] { return now_tsc; });
    seen_ = sent;
    last_sent_tsc_ = now_tsc;
  }

  uint64_t OldestTsc() const noexcept {
    return age_.SinceTsc(static_cast<uint32_t>(seen_), static_cast<uint32_t>(returned_));
  }

  // Half an age without a packet is idle: else the last packets of a burst would still be busy when
  // they are an age old.
  bool Busy(uint64_t now_tsc) const noexcept {
    return now_tsc - last_sent_tsc_ < busy_age_tsc_ / 2;
  }
  uint64_t AgeTsc(uint64_t now_tsc) const noexcept {
    return Busy(now_tsc) ? busy_age_tsc_ : idle_age_tsc_;
  }
  bool IsOld(uint64_t at_tsc) const noexcept {
    return at_tsc - OldestTsc() >= AgeTsc(last_look_tsc_) && at_tsc >= not_before_tsc_;
  }

  template <typename Queue>
  void TakeBack(uint32_t out, bool by_count, Queue& queue) noexcept {
    const bool push = !by_count && doublings_ == kMostDoublings;
    const uint32_t waiting = queue.Waiting(out);
    if (waiting != kCannotTell && waiting >= out && !push) {
      InVain(by_count);
      reap_at_ = NextReapAt(out);
      return;
    }
    const int answer = queue.Reap(out);
    if (answer < 0) {
      refused_ = quiet_ = true;
      returned_ = seen_;
      return;
    }
    const auto freed = static_cast<uint32_t>(answer);
    ++reaps_;
    reaped_ += freed;
    uint32_t left = out - std::min(freed, out);
    // Some of those may have been done and freed since; none waiting means none left.
    if (waiting != kCannotTell) left = waiting == 0 ? 0 : std::clamp(left, 1u, waiting);
    returned_ = seen_ - left;
    reap_at_ = NextReapAt(left);
    if (freed != 0) {
      doublings_ = 0;
      not_before_tsc_ = 0;
      return;
    }
    ++empty_reaps_;
    // As often as it could be longer, and then once more: there is nothing to be had.
    if (!persistent_ && doublings_ == kMostDoublings && !Busy(last_look_tsc_)) quiet_ = true;
    InVain(by_count);
  }

  void InVain(bool by_count) noexcept {
    if (by_count) return;
    not_before_tsc_ = last_look_tsc_ + (AgeTsc(last_look_tsc_) << doublings_);
    if (doublings_ < kMostDoublings) ++doublings_;
  }

  uint32_t NextReapAt(uint32_t left) const noexcept { return std::min(left + threshold_, limit_); }

  // Looks are to be no further apart than an eighth of an age, however long a turn takes.
  void SetStride(uint64_t turn_tsc) noexcept {
    if (turn_tsc > busy_age_tsc_ / 8) {
      stride_ = std::max(stride_ / 2, 1u);
    } else if (turn_tsc < busy_age_tsc_ / 16) {
      stride_ = std::min(stride_ * 2, kMostCredit);
    }
  }

  uint32_t Credit() const noexcept {
    const uint32_t out = in_flight();
    return std::min(stride_, out < reap_at_ ? reap_at_ - out : 1);
  }

  const C* clock_;
  uint32_t limit_;
  uint32_t threshold_;
  uint64_t busy_age_tsc_;
  uint64_t idle_age_tsc_;
  bool exact_;
  bool persistent_;
  bool quiet_ = false;    // Not looked at until something is sent.
  bool refused_ = false;  // Not looked at again.
  uint32_t doublings_ = 0;
  uint32_t stride_ = 1;  // Grows while turns are short.
  uint32_t reap_at_;
  uint64_t seen_ = 0;      // Sent, at the last look that found something in flight.
  uint64_t returned_ = 0;  // Of these. Free-running, both.
  uint64_t last_look_tsc_ = 0;
  uint64_t last_sent_tsc_ = 0;
  uint64_t not_before_tsc_ = 0;  // Of looks for age, after one in vain.
  uint64_t reaps_ = 0;
  uint64_t empty_reaps_ = 0;
  uint64_t reaped_ = 0;
  PinnedAge age_;
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_RING_COMPLETION_PACER_H_
