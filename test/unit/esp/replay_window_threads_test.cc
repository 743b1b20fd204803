// SPDX-License-Identifier: BSD-3-Clause
//
// Several threads on one ReplayWindow, with delays between its steps. Each test also runs a window
// that is known to be wrong (naive_window.h), and must catch it.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "lib/esp/replay_window.h"
#include "test/unit/esp/naive_window.h"

namespace penstock {
namespace {

constexpr uint32_t kThreads = 3;  // one more than many machines have processors for

// Gives the processor away at a step now and then, sometimes for long; each thread at its own
// moments.
struct Disturbed {
  static void Point() noexcept {
    thread_local std::minstd_rand random(
        static_cast<uint32_t>(std::hash<std::thread::id>()(std::this_thread::get_id())) | 1);
    const uint64_t chance = random() % 256;
    if (chance >= 16) return;
    for (uint64_t i = 0; i < (chance == 0 ? 32 : 1); ++i) std::this_thread::yield();
  }
};

std::unique_ptr<BasicReplayWindow<Disturbed>> Make(BasicReplayWindow<Disturbed>*,
                                                   uint32_t packets) {
  return *BasicReplayWindow<Disturbed>::Create(packets);
}
std::unique_ptr<NaiveWindow<Disturbed>> Make(NaiveWindow<Disturbed>*, uint32_t packets) {
  return NaiveWindow<Disturbed>::Create(packets);
}

// Where all threads meet, without being put to sleep: they would be woken one after the other, and
// the first would be through with the next round before the second begins.
class Meeting {
 public:
  explicit Meeting(uint32_t threads) : threads_(threads) {}
  // The last to come runs `judge` while the others wait.
  template <typename Judge>
  void Arrive(Judge&& judge) {
    const uint32_t round = round_;
    if (arrived_.fetch_add(1) + 1 == threads_) {
      judge();
      arrived_ = 0;
      round_ = round + 1;
    } else {
      while (round_ == round) std::this_thread::yield();
    }
  }

 private:
  const uint32_t threads_;
  std::atomic<uint32_t> arrived_{0};
  std::atomic<uint32_t> round_{0};
};

struct Outcome {
  uint64_t twice = 0;    // numbers that were accepted more than once
  uint64_t refused = 0;  // numbers inside the window that were accepted never
};

// In each round every thread offers the same numbers, all of which are inside the window all the
// time: each must be accepted once, by one of them. Every other number is lost on the way, at
// random: of a stream without gaps the bits that a window has not cleared yet hide those that it
// loses. Ends early when a number was accepted twice.
template <typename Window>
Outcome OfferTheSame(uint32_t packets, uint64_t rounds, uint32_t count_of_threads = kThreads) {
  const auto window = Make(static_cast<Window*>(nullptr), packets);
  const uint64_t numbers = packets / 4;
  std::vector<std::atomic<uint8_t>> times(2 * numbers);
  Outcome outcome;
  std::atomic<bool> stop{false};
  Meeting meeting(count_of_threads);
  const auto judge = [&] {
    uint64_t accepted = 0;
    for (std::atomic<uint8_t>& count : times) {
      outcome.twice += count > 1;
      accepted += count != 0;
      count = 0;
    }
    outcome.refused += numbers - accepted;
    stop = outcome.twice != 0;
  };
  const auto offer = [&](uint32_t thread) {
    std::minstd_rand own(thread + 1);
    std::vector<uint64_t> sequences(numbers);
    std::vector<ReplayVerdict> verdicts(numbers);
    for (uint64_t round = 0; round < rounds && !stop; ++round) {
      const uint64_t base = 1 + 2 * round * numbers;
      std::minstd_rand same(static_cast<uint32_t>(round + 1));
      same.discard(2);
      for (uint64_t i = 0; i < numbers; ++i) sequences[i] = base + 2 * i + (same() >> 8) % 2;
      // Somewhat out of order.
      for (uint64_t i = 0; i + 8 < numbers; i += 5) {
        std::swap(sequences[i], sequences[i + own() % 8]);
      }
      for (size_t at = 0; at < numbers;) {
        const size_t n = std::min<size_t>(own() % 24 + 1, numbers - at);
        window->CheckAndSet({&sequences[at], n}, {&verdicts[at], n});
        at += n;
      }
      for (uint64_t i = 0; i < numbers; ++i) {
        if (verdicts[i] == ReplayVerdict::kOk) times[sequences[i] - base].fetch_add(1);
      }
      meeting.Arrive(judge);
    }
  };
  std::vector<std::thread> threads;
  for (uint32_t thread = 0; thread < count_of_threads; ++thread)
    threads.emplace_back(offer, thread);
  for (std::thread& thread : threads) thread.join();
  return outcome;
}

// Threads jump laps ahead and offer numbers of the last laps, all of them in the same few words, so
// that one that was delayed finds its word laps ahead. Nothing may be accepted twice.
template <typename Window>
Outcome JumpLaps(uint64_t laps) {
  const auto window = Make(static_cast<Window*>(nullptr), 64);
  const uint64_t ring = window->ring_numbers();
  constexpr uint64_t kNear = 96;  // numbers in a lap that are used
  std::vector<std::atomic<uint8_t>> times((laps + 8) * kNear);
  std::atomic<bool> stop{false};
  const auto offer = [&](uint32_t thread) {
    std::minstd_rand random(thread + 1);
    std::vector<uint64_t> sequences;
    std::vector<ReplayVerdict> verdicts(64);
    while (!stop) {
      const uint64_t lap = window->top() / ring;
      if (lap >= laps) break;
      sequences.clear();
      for (uint64_t n = random() % 12 + 1; n > 0; --n) {
        const uint64_t back = random() % 8 == 0 ? std::min<uint64_t>(lap, 1) : 0;
        const uint64_t ahead = random() % 64 == 0 ? random() % 4 : 0;
        sequences.push_back((lap - back + ahead) * ring + random() % kNear);
      }
      window->CheckAndSet(sequences, verdicts);
      for (size_t i = 0; i < sequences.size(); ++i) {
        if (verdicts[i] != ReplayVerdict::kOk) continue;
        const uint64_t at = sequences[i] / ring * kNear + sequences[i] % ring;
        if (times[at].fetch_add(1) != 0) stop = true;
      }
    }
  };
  std::vector<std::thread> threads;
  for (uint32_t thread = 0; thread < kThreads; ++thread) threads.emplace_back(offer, thread);
  for (std::thread& thread : threads) thread.join();
  Outcome outcome;
  for (const std::atomic<uint8_t>& count : times) outcome.twice += count > 1;
  return outcome;
}

TEST(ReplayWindowThreads, EveryNumberInsideTheWindowIsAcceptedOnce) {
  for (const uint32_t packets : {64u, 256u, 8192u}) {
    const Outcome outcome = OfferTheSame<BasicReplayWindow<Disturbed>>(packets, 400'000 / packets);
    EXPECT_EQ(outcome.twice, 0u) << packets;
    EXPECT_EQ(outcome.refused, 0u) << packets;
  }
}

TEST(ReplayWindowThreads, AWindowThatClearsIsCaughtByTheSame) {
  EXPECT_GT(OfferTheSame<NaiveWindow<Disturbed>>(64, 200'000).twice, 0u);
  // It is the threads that break it.
  const Outcome alone = OfferTheSame<NaiveWindow<Disturbed>>(64, 2'000, 1);
  EXPECT_EQ(alone.twice, 0u);
  EXPECT_EQ(alone.refused, 0u);
}

TEST(ReplayWindowThreads, NothingIsAcceptedTwiceWhenLapsPass) {
  EXPECT_EQ(JumpLaps<BasicReplayWindow<Disturbed>>(8'000).twice, 0u);
}

TEST(ReplayWindowThreads, AWindowThatClearsIsCaughtWhenLapsPass) {
  EXPECT_GT(JumpLaps<NaiveWindow<Disturbed>>(40'000).twice, 0u);
}

}  // namespace
}  // namespace penstock
