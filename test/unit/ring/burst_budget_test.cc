// SPDX-License-Identifier: BSD-3-Clause
#include "lib/ring/burst_budget.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

uint32_t Calm(BurstBudget& budget, uint32_t pending) {
  uint32_t changed = 0;
  for (uint32_t i = 0; i < BurstBudget::kCalmCalls; ++i) changed += budget.Observe(pending);
  return changed;
}

TEST(BurstBudget, BeginsWhereTheKernelDoesAndFollowsALargerBurstAtOnce) {
  BurstBudget budget(2048);
  EXPECT_EQ(budget.budget(), 32u);
  EXPECT_EQ(budget.Observe(1), 0u);
  EXPECT_EQ(budget.Observe(32), 0u);
  EXPECT_EQ(budget.Observe(33), 64u);
  EXPECT_EQ(budget.Observe(256), 256u);
  EXPECT_EQ(budget.Observe(256), 0u);
}

TEST(BurstBudget, StaysWithinWhatTheKernelTakes) {
  BurstBudget small(64);
  EXPECT_EQ(small.Observe(1000), 64u);
  EXPECT_EQ(small.Observe(1000), 0u) << "there is no more";
  BurstBudget tiny(16);
  EXPECT_EQ(tiny.Observe(16), 0u);
  EXPECT_EQ(tiny.Observe(40), 0u);
  EXPECT_EQ(tiny.budget(), 32u);
}

TEST(BurstBudget, ShrinksOnlyAfterALongCalm) {
  BurstBudget budget(2048);
  ASSERT_EQ(budget.Observe(512), 512u);
  for (uint32_t i = 0; i + 1 < BurstBudget::kCalmCalls; ++i) ASSERT_EQ(budget.Observe(20), 0u);
  EXPECT_EQ(budget.Observe(20), 32u);
  ASSERT_EQ(budget.Observe(512), 512u);
  // One call that needs more than half keeps it.
  ASSERT_EQ(budget.Observe(257), 0u);
  EXPECT_EQ(Calm(budget, 20), 0u);
  EXPECT_EQ(budget.budget(), 512u);
  EXPECT_EQ(Calm(budget, 100), 128u);
}

}  // namespace
}  // namespace penstock
