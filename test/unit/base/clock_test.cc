// SPDX-License-Identifier: BSD-3-Clause
//
// Clocks and conversions.

#include "lib/base/clock.h"

#include <gtest/gtest.h>

#include <limits>

namespace penstock {
namespace {

constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();

TEST(ClockTest, ConvertsExactlyAndRoundsDown) {
  struct Row {
    uint64_t tsc;
    uint64_t hz;
    uint64_t ns;
  };
  const Row kRows[] = {
      {0, 2'000'000'000, 0},
      {1, 2'000'000'000, 0},
      {3, 2'000'000'000, 1},
      {2'494'140'000, 2'494'140'000, 1'000'000'000},
      // A year at 3 GHz: tsc * 10^9 needs 87 bits.
      {94'608'000'000'000'000, 3'000'000'000, 31'536'000'000'000'000},
      {1, 1, 1'000'000'000},
      {kMax, 1'000'000'000, kMax},
      {kMax, 1, kMax},  // would be 2^64 seconds in ns: held at the end
  };
  for (const Row& row : kRows) EXPECT_EQ(TscToNs(row.tsc, row.hz), row.ns) << row.tsc;
}

TEST(ClockTest, ConvertsBack) {
  struct Row {
    uint64_t ns;
    uint64_t hz;
    uint64_t tsc;
  };
  const Row kRows[] = {
      {0, 2'500'000'000, 0},
      {1, 2'500'000'000, 2},
      {10'000, 2'494'140'000, 24'941},
      {31'536'000'000'000'000, 3'000'000'000, 94'608'000'000'000'000},
      {999'999'999, 1, 0},
      {kMax, 3'000'000'000, kMax},
  };
  for (const Row& row : kRows) EXPECT_EQ(NsToTsc(row.ns, row.hz), row.tsc) << row.ns;
}

TEST(ClockTest, ManualClockMovesOnlyWhenTold) {
  ManualClock clock(2'000'000'000);
  EXPECT_EQ(clock.Hz(), 2'000'000'000u);
  EXPECT_EQ(clock.NowTsc(), 0u);
  EXPECT_EQ(clock.NowTsc(), 0u);
  clock.Advance(7);
  clock.Advance(NsToTsc(1'000, clock.Hz()));
  EXPECT_EQ(clock.NowTsc(), 2'007u);
}

TEST(ClockTest, TscClockReadsTheCounterAtTheGivenRate) {
  const TscClock clock(123);
  EXPECT_EQ(clock.Hz(), 123u);
  const uint64_t before = ReadTsc();
  const uint64_t now = clock.NowTsc();
  EXPECT_LE(before, now);
  EXPECT_LE(now, ReadTsc());
}

TEST(ClockTest, MeasureFindsAPlausibleRate) {
  const absl::StatusOr<TscClock> clock = TscClock::Measure();
  ASSERT_TRUE(clock.ok()) << clock.status();
  // From the 24 MHz timer of an ARM board up to a fast TSC: a mistaken unit is a factor of 1000.
  EXPECT_GT(clock->Hz(), 10'000'000u);
  EXPECT_LT(clock->Hz(), 10'000'000'000u);
}

}  // namespace
}  // namespace penstock
