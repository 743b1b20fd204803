// SPDX-License-Identifier: BSD-3-Clause
#include "lib/esp/outbound_sequence.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <random>
#include <thread>
#include <type_traits>
#include <vector>

namespace penstock {
namespace {

TEST(OutboundSequence, BeginsWithOneAndGoesOn) {
  OutboundSequence sequence(OutboundSequence::kLast32);
  EXPECT_EQ(sequence.used(), 0u);
  const SequenceRange first = sequence.Take(3);
  EXPECT_EQ(first.first, 1u);
  EXPECT_EQ(first.count, 3u);
  const SequenceRange second = sequence.Take(32);
  EXPECT_EQ(second.first, 4u);
  EXPECT_EQ(second.count, 32u);
  EXPECT_FALSE(second.soft_reached || second.hard_reached);
  EXPECT_EQ(sequence.used(), 35u);
}

TEST(OutboundSequence, NothingAskedIsNothingTaken) {
  OutboundSequence sequence(10);
  EXPECT_EQ(sequence.Take(0).count, 0u);
  EXPECT_EQ(sequence.Take(1).first, 1u);
}

TEST(OutboundSequence, CannotBeCopiedMovedOrBegunElsewhere) {
  static_assert(!std::is_copy_constructible_v<OutboundSequence>);
  static_assert(!std::is_move_constructible_v<OutboundSequence>);
  static_assert(!std::is_copy_assignable_v<OutboundSequence>);
  static_assert(!std::is_move_assignable_v<OutboundSequence>);
  static_assert(!std::is_constructible_v<OutboundSequence, uint64_t, uint64_t, uint64_t>);
}

TEST(OutboundSequence, TheLastNumberIsUsedAndNoneAfterIt) {
  OutboundSequence sequence(OutboundSequence::kLast32);
  ASSERT_EQ(sequence.Take(0xffff'fffe).count, 0xffff'fffe);
  const SequenceRange last = sequence.Take(32);
  EXPECT_EQ(last.first, OutboundSequence::kLast32);
  EXPECT_EQ(last.count, 1u);
  EXPECT_TRUE(last.hard_reached);
  for (int i = 0; i < 3; ++i) {
    const SequenceRange none = sequence.Take(32);
    EXPECT_EQ(none.count, 0u);
    EXPECT_FALSE(none.hard_reached) << "told once";
  }
  EXPECT_EQ(sequence.used(), OutboundSequence::kLast32);
}

TEST(OutboundSequence, AnExactFitIsNotShort) {
  OutboundSequence sequence(64, 64);
  EXPECT_FALSE(sequence.Take(63).soft_reached);
  const SequenceRange fit = sequence.Take(1);
  EXPECT_EQ(fit.first, 64u);
  EXPECT_EQ(fit.count, 1u);
  EXPECT_TRUE(fit.soft_reached);
  EXPECT_FALSE(fit.hard_reached);
  const SequenceRange none = sequence.Take(1);
  EXPECT_EQ(none.count, 0u);
  EXPECT_TRUE(none.hard_reached);
  EXPECT_FALSE(none.soft_reached);
}

TEST(OutboundSequence, ExtendedNumbersGoOnBeyond2To32) {
  OutboundSequence sequence(OutboundSequence::kLastExtended);
  ASSERT_EQ(sequence.Take(0xffff'fff0).first, 1u);
  const SequenceRange across = sequence.Take(32);
  EXPECT_EQ(across.first, 0xffff'fff1u);
  EXPECT_EQ(across.count, 32u);
  EXPECT_EQ(sequence.Take(1).first, (uint64_t{1} << 32) + 17);
}

TEST(OutboundSequence, TheSoftLimitIsToldOnceWhereverItFalls) {
  for (uint64_t soft = 1; soft <= 100; ++soft) {
    OutboundSequence sequence(100, soft);
    int told = 0;
    for (uint64_t used = 0; used < 120; used += 7) {
      const SequenceRange range = sequence.Take(7);
      told += range.soft_reached;
      EXPECT_EQ(range.soft_reached, used < soft && soft <= used + 7) << used << " " << soft;
    }
    EXPECT_EQ(told, 1) << soft;
  }
}

TEST(OutboundSequence, LcoresShareNumbersWithoutOneTwiceOrOneLeftOut) {
  constexpr uint64_t kLast = 200'003;
  constexpr uint64_t kSoft = 150'000;
  constexpr int kThreads = 4;
  OutboundSequence sequence(kLast, kSoft);
  std::vector<std::atomic<uint8_t>> times(kLast + 1);
  std::atomic<int> soft{0}, hard{0}, beyond{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<uint32_t>(t));
      // Each goes on for a while after there is nothing left.
      for (int empty = 0; empty < 50;) {
        const SequenceRange range = sequence.Take(random() % 64 + 1);
        empty += range.count == 0;
        soft += range.soft_reached;
        hard += range.hard_reached;
        for (uint64_t n = range.first; n < range.first + range.count; ++n) {
          if (n > kLast) {
            ++beyond;
          } else {
            times[n].fetch_add(1, std::memory_order_relaxed);
          }
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(times[0], 0);
  for (uint64_t n = 1; n <= kLast; ++n) ASSERT_EQ(times[n], 1) << n;
  EXPECT_EQ(beyond, 0);
  EXPECT_EQ(soft, 1);
  EXPECT_EQ(hard, 1);
  EXPECT_EQ(sequence.used(), kLast);
}

}  // namespace
}  // namespace penstock
