// SPDX-License-Identifier: BSD-3-Clause
//
// One thread: every verdict against a set and a top. replay_window_threads_test.cc has several.

#include "lib/esp/replay_window.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <random>
#include <unordered_set>
#include <vector>

#include "lib/esp/extended_sequence.h"

namespace penstock {
namespace {

using enum ReplayVerdict;

std::unique_ptr<ReplayWindow> WindowOf(uint32_t packets) {
  auto window = ReplayWindow::Create(packets);
  EXPECT_TRUE(window.ok()) << window.status();
  return *std::move(window);
}

std::vector<ReplayVerdict> Check(ReplayWindow& window, const std::vector<uint64_t>& sequences) {
  std::vector<ReplayVerdict> verdicts(sequences.size());
  const size_t accepted = window.CheckAndSet(sequences, verdicts);
  EXPECT_EQ(accepted, static_cast<size_t>(std::count(verdicts.begin(), verdicts.end(), kOk)));
  return verdicts;
}

std::vector<ReplayVerdict> Filter(const ReplayWindow& window,
                                  const std::vector<uint64_t>& sequences) {
  std::vector<ReplayVerdict> verdicts(sequences.size());
  const size_t good = window.Filter(sequences, verdicts);
  EXPECT_EQ(good, static_cast<size_t>(std::count(verdicts.begin(), verdicts.end(), kOk)));
  return verdicts;
}

using Verdicts = std::vector<ReplayVerdict>;

TEST(ReplayWindow, IsMadeInItsRangeOnly) {
  for (const uint32_t packets : {64u, 65u, 8192u, 65536u}) {
    const auto window = WindowOf(packets);
    EXPECT_EQ(window->packets(), packets);
    EXPECT_GE(window->ring_numbers(), uint64_t{packets} + 32);
  }
  for (const uint32_t packets : {0u, 63u, 65537u, ~0u}) {
    const auto window = ReplayWindow::Create(packets);
    ASSERT_FALSE(window.ok());
    EXPECT_EQ(window.status().message(),
              absl::StrCat("a replay window of ", packets, " packets: accepted are 64 to 65536"));
  }
}

TEST(ReplayWindow, AcceptsEachNumberOnce) {
  const auto window = WindowOf(64);
  EXPECT_EQ(window->top(), 0u);
  EXPECT_EQ(Check(*window, {1, 2, 3}), (Verdicts{kOk, kOk, kOk}));
  EXPECT_EQ(Check(*window, {2, 4, 1}), (Verdicts{kReplayed, kOk, kReplayed}));
  EXPECT_EQ(Check(*window, {9, 9, 5}), (Verdicts{kOk, kReplayed, kOk})) << "twice in a burst";
  EXPECT_EQ(window->top(), 9u);
  EXPECT_EQ(Check(*window, {}), Verdicts{});
}

TEST(ReplayWindow, NumberZeroIsBelowEveryWindow) {
  const auto window = WindowOf(64);
  EXPECT_EQ(Filter(*window, {0}), Verdicts{kLate});
  EXPECT_EQ(Check(*window, {0, 1, 0}), (Verdicts{kLate, kOk, kLate}));
  EXPECT_EQ(window->top(), 1u);
}

TEST(ReplayWindow, TheEdgeIsExact) {
  for (uint32_t packets = 64; packets < 200; ++packets) {
    const auto window = WindowOf(packets);
    EXPECT_EQ(Check(*window, {1000}), Verdicts{kOk});
    EXPECT_EQ(Check(*window, {1000 - packets, 1001 - packets}), (Verdicts{kLate, kOk})) << packets;
    EXPECT_EQ(Filter(*window, {1000 - packets, 1002 - packets}), (Verdicts{kLate, kOk})) << packets;
  }
}

TEST(ReplayWindow, EachPacketMeetsTheTopOfThoseBeforeIt) {
  const auto window = WindowOf(64);
  const uint64_t ring = window->ring_numbers();
  EXPECT_EQ(Check(*window, {ring, 100}), (Verdicts{kOk, kLate}));
  // The same words, a lap later; those before the jump are inside the window when they come.
  EXPECT_EQ(Check(*window, {ring - 1, 2 * ring, ring - 2}), (Verdicts{kOk, kOk, kLate}));
  EXPECT_EQ(Check(*window, {2 * ring + 1, 3 * ring + 1, 4 * ring + 2, 3 * ring + 3}),
            (Verdicts{kOk, kOk, kOk, kLate}));
}

TEST(ReplayWindow, AFilterChangesNothing) {
  const auto window = WindowOf(64);
  Check(*window, {5, 7});
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Filter(*window, {4, 5, 6, 7, 8, 1'000'000}),
              (Verdicts{kOk, kReplayed, kOk, kReplayed, kOk, kOk}));
  }
  EXPECT_EQ(window->top(), 7u);
  EXPECT_EQ(Check(*window, {4, 6, 8}), (Verdicts{kOk, kOk, kOk}));
}

TEST(ReplayWindow, SaysHowFarBehindPacketsCame) {
  const auto window = WindowOf(128);
  Check(*window, {1, 2, 3});
  EXPECT_EQ(window->largest_lag(), 0u);
  Check(*window, {500, 490, 495});
  EXPECT_EQ(window->largest_lag(), 10u);
  Check(*window, {373});
  EXPECT_EQ(window->largest_lag(), 127u);
  Check(*window, {499, 372, 20});
  EXPECT_EQ(window->largest_lag(), 127u) << "late packets may be anything's replay";
}

TEST(ReplayWindow, AWordThatWasLongUnusedIsOfItsLap) {
  constexpr uint64_t kTwoTo31 = uint64_t{1} << 31;
  for (const uint64_t laps : {uint64_t{1}, uint64_t{2}, uint64_t{3}, kTwoTo31 - 1, kTwoTo31,
                              kTwoTo31 + 1, 2 * kTwoTo31 - 2}) {
    const auto window = WindowOf(8192);
    const uint64_t later = 100 + laps * window->ring_numbers();
    EXPECT_EQ(Check(*window, {100, 101}), (Verdicts{kOk, kOk}));
    EXPECT_EQ(Check(*window, {later}), Verdicts{kOk}) << laps;
    EXPECT_EQ(Check(*window, {later, later + 1}), (Verdicts{kReplayed, kOk})) << laps;
    EXPECT_EQ(Check(*window, {100, 101}), (Verdicts{kLate, kLate})) << laps;
  }
}

// ---- against a set and a top ----

class Oracle {
 public:
  explicit Oracle(uint64_t packets) : packets_(packets) {}
  ReplayVerdict Decide(uint64_t sequence) {
    const ReplayVerdict verdict = Foresee(sequence);
    if (verdict == kOk) seen_.insert(sequence);
    top_ = std::max(top_, sequence);
    return verdict;
  }
  ReplayVerdict Foresee(uint64_t sequence) const {
    if (sequence == 0 || (top_ >= packets_ && sequence <= top_ - packets_)) return kLate;
    return seen_.count(sequence) != 0 ? kReplayed : kOk;
  }
  uint64_t top() const { return top_; }

 private:
  const uint64_t packets_;
  uint64_t top_ = 0;
  std::unordered_set<uint64_t> seen_;
};

// A number near something that matters: the top, the edge, another lap of the same word, ±2^32.
uint64_t NearSomething(std::mt19937_64& random, uint64_t top, uint64_t packets, uint64_t ring) {
  const uint64_t some = random() % 40;
  const auto up = [&](uint64_t by) { return top + std::min(by, ~top); };
  const auto down = [&](uint64_t by) { return top - std::min(by, top); };
  switch (random() % 32) {
    case 0:
      return up(packets + some);
    case 1:
      return up(ring - 20 + some);
    case 2:
      return up(random() % 4 * ring + some);
    case 3:
      return down(ring - 20 + some);
    case 4:
      return down(random() % (3 * packets));
    case 5:
      return some == 0 ? up(uint64_t{1} << 32) : down(uint64_t{1} << 32);
    case 6:
      return some == 0 ? 0 : some;
    case 7:
    case 8:
      return down(packets - 2 + some % 4);
    case 9:
    case 10:
      return down(random() % packets);
    case 11:
    case 12:
      return down(some);
    case 13:
      return top;
    default:
      return up(1 + some % 8);
  }
}

// Takes the window to `start` with every word in use, as a sender would have.
void Advance(ReplayWindow& window, Oracle& oracle, uint64_t start) {
  const uint64_t ring = window.ring_numbers();
  for (uint64_t sequence = start > ring ? start - ring : 1; sequence <= start; sequence += 16) {
    ASSERT_EQ(Check(window, {sequence}), Verdicts{oracle.Decide(sequence)});
    if (start - sequence < 16) break;
  }
}

void CompareFrom(uint64_t start, uint32_t packets, int bursts, uint64_t seed) {
  const auto window = WindowOf(packets);
  const uint64_t ring = window->ring_numbers();
  Oracle oracle(packets);
  Advance(*window, oracle, start);
  std::mt19937_64 random(seed);
  constexpr size_t kSizes[] = {1, 2, 7, 32, 63, 64, 65, 200, 512};
  std::vector<uint64_t> sequences;
  for (int burst = 0; burst < bursts; ++burst) {
    sequences.clear();
    uint64_t top = oracle.top();
    for (size_t i = kSizes[random() % std::size(kSizes)]; i > 0; --i) {
      sequences.push_back(NearSomething(random, top, packets, ring));
      if (random() % 2 == 0) top = std::max(top, sequences.back());
    }
    Verdicts filtered, decided;
    for (const uint64_t sequence : sequences) filtered.push_back(oracle.Foresee(sequence));
    for (const uint64_t sequence : sequences) decided.push_back(oracle.Decide(sequence));
    ASSERT_EQ(Filter(*window, sequences), filtered) << packets << " from " << start;
    ASSERT_EQ(Check(*window, sequences), decided) << packets << " from " << start;
    ASSERT_EQ(window->top(), oracle.top());
  }
}

TEST(ReplayWindow, AgreesWithASetAndATopAtEverySizeModulo64) {
  for (uint32_t packets = 64; packets < 128; ++packets) CompareFrom(0, packets, 60, packets);
  for (uint32_t packets = 4050; packets < 4114; ++packets) CompareFrom(0, packets, 30, packets);
}

TEST(ReplayWindow, AgreesWithASetAndATopAtLargeSizes) {
  for (const uint32_t packets : {1000u, 8191u, 8192u, 8193u, 65503u, 65504u, 65505u, 65536u}) {
    CompareFrom(0, packets, 300, packets);
  }
}

TEST(ReplayWindow, AgreesWithASetAndATopWhereNumbersTurn) {
  constexpr uint64_t kTwoTo32 = uint64_t{1} << 32;
  for (const uint32_t packets : {64u, 100u, 8192u}) {
    const uint64_t ring = WindowOf(packets)->ring_numbers();
    CompareFrom(kTwoTo32 - 3000, packets, 300, 1);
    CompareFrom(7 * kTwoTo32 - 3000, packets, 300, 2);
    CompareFrom(ring * kTwoTo32 - 3000, packets, 300, 3);  // where 32 bits of a lap come round
    CompareFrom(~uint64_t{0} - 20'000, packets, 300, 4);   // up to the last number there is
  }
}

TEST(ReplayWindow, ExtendedNumbersCrossEvery2To32OutOfOrder) {
  constexpr uint64_t kTwoTo32 = uint64_t{1} << 32;
  const auto window = WindowOf(1024);
  std::mt19937_64 random(5);
  for (uint64_t high = 1; high < 6; ++high) {
    const uint64_t begin = high * kTwoTo32 - 2048;
    Check(*window, {begin});
    for (uint64_t base = begin + 1; base < begin + 4096; base += 512) {
      std::vector<uint64_t> sent(512);
      for (size_t i = 0; i < sent.size(); ++i) sent[i] = base + i;
      std::shuffle(sent.begin(), sent.end(), random);
      // What the receiver makes of the low halves, with the top of before the burst.
      const uint64_t top = window->top();
      std::vector<uint64_t> inferred;
      for (const uint64_t sequence : sent) {
        inferred.push_back(InferSequence(top, static_cast<uint32_t>(sequence)));
      }
      ASSERT_EQ(inferred, sent);
      ASSERT_EQ(Check(*window, inferred), Verdicts(sent.size(), kOk)) << base;
      ASSERT_EQ(Check(*window, inferred), Verdicts(sent.size(), kReplayed)) << base;
    }
  }
}

}  // namespace
}  // namespace penstock
