// SPDX-License-Identifier: BSD-3-Clause
//
// The stage at the end of an iteration: queues each at its own pace, on virtual time, and what of
// that stands in the lcore's counters. No EAL needed.

#include "lib/pipeline/completion_stage.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace penstock {
namespace {

static_assert(std::is_empty_v<NoCompletion>);

constexpr uint64_t kUs = 1000;  // of a ManualClock's ticks

// A clock that the stage may copy: all copies show the same time.
struct SharedClock {
  const ManualClock* clock;
  uint64_t NowTsc() const noexcept { return clock->NowTsc(); }
  uint64_t Hz() const noexcept { return clock->Hz(); }
};

// Frees all that was sent.
struct FakeQueue {
  struct State {
    uint64_t reaps = 0;
    uint32_t inside = 0;
  };
  State* state;
  uint32_t Waiting(uint32_t) noexcept { return 0; }
  int Reap(uint32_t) noexcept {
    ++state->reaps;
    return static_cast<int>(std::exchange(state->inside, 0));
  }
};

class CompletionStageTest : public testing::Test {
 protected:
  using Stage = CompletionStage<FakeQueue, SharedClock>;
  static constexpr size_t kQueues = 2;

  CompletionStageTest()
      : counts_(kQueues * LcoreCounters::kPerReapedQueue, 0),
        // Moved as an lcore's program moves it: nothing in it may point to where it was.
        stage_(std::make_unique<Stage>(Make())) {}

  Stage Make() {
    std::vector<Stage::Reaped> queues;
    queues.push_back({{&states_[0]}, SentCount(&own_), {.limit = 1024, .threshold = 64}});
    queues.push_back({{&states_[1]}, SentCount(&shared_), {.limit = 1024, .threshold = 8}});
    return Stage(SharedClock{&clock_}, queues, counts_.data());
  }

  void Send(size_t queue, uint32_t n) {
    states_[queue].inside += n;
    if (queue == 0) {
      own_ += n;
    } else {
      shared_ += n;
    }
  }
  void Turn(uint64_t packets, uint64_t ns = 100) {
    stage_->Pace(packets);
    clock_.Advance(ns);
  }
  uint64_t Count(size_t queue, size_t counter) const {
    return counts_[queue * LcoreCounters::kPerReapedQueue + counter];
  }

  ManualClock clock_;
  FakeQueue::State states_[kQueues];
  uint64_t own_ = 0;
  std::atomic<uint64_t> shared_{0};
  std::vector<uint64_t> counts_;
  std::unique_ptr<Stage> stage_;
};

TEST_F(CompletionStageTest, EachQueueHasItsOwnPaceAndItsOwnCounters) {
  for (int i = 0; i < 64; ++i) {
    Send(0, 4);
    Send(1, 1);
    Turn(5);
  }
  EXPECT_NEAR(static_cast<double>(states_[0].reaps), 4, 1);
  EXPECT_NEAR(static_cast<double>(states_[1].reaps), 8, 2);
  for (size_t queue : {0u, 1u}) {
    EXPECT_EQ(Count(queue, LcoreCounters::kReaps), states_[queue].reaps);
    EXPECT_EQ(Count(queue, LcoreCounters::kEmptyReaps), 0u);
  }
  EXPECT_EQ(Count(0, LcoreCounters::kReaped) + states_[0].inside, 256u);
  EXPECT_EQ(Count(1, LcoreCounters::kReaped) + states_[1].inside, 64u);
}

TEST_F(CompletionStageTest, WhatIsInFlightAndHowOldStandsInTheCounters) {
  Turn(0);
  clock_.Advance(7000);
  Send(0, 5);
  for (int i = 0; i < 64; ++i) Turn(0, 10);
  EXPECT_EQ(Count(0, LcoreCounters::kInFlight), 5u);
  EXPECT_NEAR(static_cast<double>(Count(0, LcoreCounters::kOldestTsc)), 7100, 700);
  EXPECT_EQ(Count(1, LcoreCounters::kInFlight), 0u);
  EXPECT_EQ(Count(1, LcoreCounters::kOldestTsc), 0u);
  // The tail of both comes back while the lcore has nothing to do.
  Send(1, 1);
  for (int i = 0; i < 20'000; ++i) Turn(0, 100);
  for (size_t queue : {0u, 1u}) {
    EXPECT_EQ(states_[queue].inside, 0u);
    EXPECT_EQ(Count(queue, LcoreCounters::kInFlight), 0u);
    EXPECT_EQ(states_[queue].reaps, 1u);
  }
}

TEST_F(CompletionStageTest, AtTheEndWhatIsDoneComesBackBeforeItsTime) {
  Turn(0);
  stage_->Finish();
  EXPECT_EQ(states_[0].reaps + states_[1].reaps, 0u) << "nothing in flight";
  Send(0, 3);
  stage_->Finish();
  EXPECT_EQ(states_[0].inside, 0u);
  EXPECT_EQ(Count(0, LcoreCounters::kReaped), 3u);
  EXPECT_EQ(states_[1].reaps, 0u);
}

TEST_F(CompletionStageTest, ALongTurnIsNotWaitedOut) {
  Turn(0);
  for (int i = 0; i < 40; ++i) {
    Send(0, 32);
    Turn(32, 60 * kUs);
    // Two turns are more than an age.
    EXPECT_LE(states_[0].inside, 64u);
  }
  EXPECT_GE(states_[0].reaps, 19u);
}

}  // namespace
}  // namespace penstock
