// SPDX-License-Identifier: BSD-3-Clause
//
// CompletionStage: the end of an lcore's iteration, where it takes back what its TX queues have
// sent, each at its own pace (lib/ring/completion_pacer.h). An lcore that reaps no queue has
// NoCompletion in its place, and no code for it. Owned by one lcore; made on the control path.
//
// An iteration pays a subtraction and a compare. How far away the next look is, the pacers say, in
// packets that the lcore moves and in turns of its loop.

#ifndef PENSTOCK_LIB_PIPELINE_COMPLETION_STAGE_H_
#define PENSTOCK_LIB_PIPELINE_COMPLETION_STAGE_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "lib/pipeline/lcore_counters.h"
#include "lib/ring/completion_pacer.h"

namespace penstock {

// How many packets a TX queue was given: by this lcore alone, or by all that share it.
class SentCount {
 public:
  explicit SentCount(const uint64_t* own) noexcept : own_(own) {}
  explicit SentCount(const std::atomic<uint64_t>* shared) noexcept : shared_(shared) {}

  uint64_t Read() const noexcept {
    // Relaxed: a count. What the driver did is ordered by the driver.
    return own_ != nullptr ? *own_ : shared_->load(std::memory_order_relaxed);
  }

 private:
  const uint64_t* own_ = nullptr;
  const std::atomic<uint64_t>* shared_ = nullptr;
};

struct NoCompletion {
  void Pace(uint64_t) noexcept {}
  void Finish() noexcept {}
};

// `Queue` as CompletionPacer wants it: TxReaper, or what a test has in its place.
template <class Queue, Clock C>
class CompletionStage {
 public:
  struct Reaped {
    Queue queue;
    SentCount sent;
    CompletionPace pace;
  };

  // `counts`: the lcore's CounterPage from its first ReapedQueue on, in the order of `queues`.
  CompletionStage(const C& clock, const std::vector<Reaped>& queues, uint64_t* counts)
      : clock_(std::make_unique<C>(clock)), counts_(counts) {
    for (const Reaped& each : queues) queues_.push_back(std::make_unique<Paced>(*clock_, each));
  }

  // Once per iteration, which moved so many packets.
  void Pace(uint64_t packets) noexcept {
    credit_ -= static_cast<int64_t>(packets + 1);
    if (credit_ <= 0) [[unlikely]]
      Look();
  }

  // After the last iteration.
  void Finish() noexcept {
    for (const auto& each : queues_) each->pacer.Finish(each->sent.Read(), each->queue);
    Show();
  }

 private:
  struct Paced {
    Paced(const C& clock, const Reaped& reaped)
        : queue(reaped.queue), sent(reaped.sent), pacer(clock, reaped.pace) {}
    Queue queue;
    SentCount sent;
    CompletionPacer<C> pacer;
  };

  [[gnu::noinline]] void Look() noexcept {
    uint32_t credit = CompletionPacer<C>::kMostCredit;
    for (const auto& each : queues_) {
      credit = std::min(credit, each->pacer.Look(each->sent.Read(), each->queue));
    }
    credit_ = credit;
    Show();
  }

  void Show() noexcept {
    uint64_t* counts = counts_;
    for (const auto& each : queues_) {
      counts[LcoreCounters::kReaps] = each->pacer.reaps();
      counts[LcoreCounters::kEmptyReaps] = each->pacer.empty_reaps();
      counts[LcoreCounters::kReaped] = each->pacer.reaped();
      counts[LcoreCounters::kInFlight] = each->pacer.in_flight();
      counts[LcoreCounters::kOldestTsc] = each->pacer.oldest_tsc();
      counts += LcoreCounters::kPerReapedQueue;
    }
  }

  int64_t credit_ = CompletionPacer<C>::kMostCredit;
  // Each finds the clock wherever this is moved.
  std::unique_ptr<C> clock_;
  std::vector<std::unique_ptr<Paced>> queues_;
  uint64_t* counts_;
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_PIPELINE_COMPLETION_STAGE_H_
