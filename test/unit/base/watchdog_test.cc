// SPDX-License-Identifier: BSD-3-Clause
//
// The watchdog, on virtual time (a tick is a nanosecond).

#include "lib/base/watchdog.h"

#include <gtest/gtest.h>

namespace penstock {

void PrintTo(const StuckLcore& stuck, std::ostream* out) {
  *out << "{" << stuck.index << ", " << stuck.silent_ns << "ns}";
}

namespace {

using Stuck = std::vector<StuckLcore>;

struct Step {
  uint64_t advance_ns;
  std::vector<uint64_t> heartbeats;
  Stuck stuck;
};

struct Row {
  const char* what;
  uint64_t limit_ns;
  std::vector<Step> steps;
};

TEST(WatchdogTest, FindsTheLcoresThatStandStill) {
  const Row kRows[] = {
      {"all beat", 100, {{40, {1, 1}, {}}, {40, {2, 2}, {}}, {40, {3, 3}, {}}, {40, {4, 4}, {}}}},
      {"the limit itself is allowed, one more is not",
       100,
       {{10, {1}, {}}, {50, {1}, {}}, {50, {1}, {}}, {1, {1}, {{0, 101}}}, {9, {1}, {{0, 110}}}}},
      {"one of three stands still",
       100,
       {{40, {1, 1, 1}, {}},
        {40, {2, 1, 2}, {}},
        {40, {3, 1, 3}, {}},
        {40, {4, 1, 4}, {{1, 120}}},
        {40, {5, 1, 5}, {{1, 160}}}}},
      {"it recovers, and has the whole limit again",
       100,
       {{40, {0}, {}},
        {40, {0}, {}},
        {40, {0}, {{0, 120}}},
        {40, {1}, {}},
        {40, {1}, {}},
        {40, {1}, {}},
        {40, {1}, {{0, 120}}}}},
      {"never having beaten counts from the beginning",
       100,
       {{50, {0}, {}}, {50, {0}, {}}, {50, {0}, {{0, 150}}}}},
      {"any change is life, a wrapped or restarted count too",
       100,
       {{50, {~uint64_t{0}}, {}}, {50, {0}, {}}, {50, {9}, {}}, {50, {3}, {}}}},
      {"a control thread that slept does not condemn the lcores",
       100,
       {{10, {1, 1}, {}}, {1'000'000, {1, 1}, {}}, {10, {2, 1}, {}}, {10, {3, 2}, {}}}},
      {"one that sleeps each time still finds a stuck one",
       100,
       {{1'000, {1, 1}, {}}, {1'000, {2, 1}, {}}, {1'000, {3, 1}, {{1, 102}}}}},
      {"no limit: still is stuck", 0, {{5, {1}, {}}, {5, {1}, {{0, 1}}}}},
      {"no lcores", 100, {{500, {}, {}}, {500, {}, {}}}},
  };
  for (const Row& row : kRows) {
    ManualClock clock;
    Watchdog<ManualClock> watchdog(clock, row.steps.front().heartbeats.size(), row.limit_ns);
    int number = 0;
    for (const Step& step : row.steps) {
      clock.Advance(step.advance_ns);
      EXPECT_EQ(watchdog.Observe(step.heartbeats), step.stuck) << row.what << ", step " << ++number;
    }
  }
}

TEST(WatchdogTest, TheLimitIsTimeAndNotTicks) {
  ManualClock clock(2'500'000'000);
  Watchdog<ManualClock> watchdog(clock, 1, 1'000);
  const std::vector<uint64_t> heartbeats = {0};
  clock.Advance(1'250);
  EXPECT_EQ(watchdog.Observe(heartbeats), Stuck{});
  clock.Advance(1'250);
  EXPECT_EQ(watchdog.Observe(heartbeats), Stuck{});
  clock.Advance(25);
  EXPECT_EQ(watchdog.Observe(heartbeats), (Stuck{{0, 1'010}}));
}

}  // namespace
}  // namespace penstock
