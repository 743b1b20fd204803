// SPDX-License-Identifier: BSD-3-Clause
//
// Reports of TX queues, from a plan, the drivers' counts and budgets of a driver that the test
// plays on net_null. Main lcore.

#include "lib/pipeline/tx_queue_reports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/unit/pipeline/rig.h"

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr TxBudgetDriver kDrivers[] = {
    {"net_null", [](uint16_t, uint16_t, uint32_t) { return absl::OkStatus(); },
     [](uint16_t, uint16_t) -> absl::StatusOr<DriverTxBudget> {
       DriverTxBudget budget{.budget = 96};
       budget.sends[SendBucket(0)] = 7;
       budget.sends[SendBucket(80)] = 5;
       budget.sends[SendBucket(1)] = 3;
       return budget;
     }},
};

TEST(TxQueueReports, SayWhatThePlanTheDriverAndTheBudgetsKnowAndNoMore) {
  NullPort null;
  const Port port = Port::Open(null.port(), nullptr).value();
  TxBudgets budgets(kDrivers);
  ASSERT_TRUE(budgets.Set(port, 1, 512, std::nullopt).ok());
  const auto other = static_cast<uint16_t>(null.port() + 1);
  Plan plan;
  plan.tx_queues = {{null.port(), 0, {1, 2}, Sharing::kMtLockfree}, {other, 3, {1}}};
  PortReport counts;
  counts.port = other;
  counts.xstats = {{"tx_q3_sends", 12}, {"tx_q3_send_eagain", 0}, {"tx_q0_sends", 99}};
  const std::vector<TxQueueReport> reports = TxQueueReports(plan, {&counts, 1}, budgets);
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(reports[0].port, null.port());
  EXPECT_EQ(reports[0].users, 2u);
  EXPECT_EQ(reports[0].sharing, "mt-lockfree");
  EXPECT_EQ(reports[0].budget, 96u);
  EXPECT_TRUE(reports[0].tuned);
  EXPECT_EQ(reports[0].budget_reason, "auto: 100.0 % of 8 sends fit");
  using Size = TxQueueReport::SendSize;
  EXPECT_THAT(reports[0].send_sizes, ElementsAre(Size{1, 3}, Size{96, 5}));
  EXPECT_EQ(reports[0].send_calls, std::nullopt);
  EXPECT_EQ(reports[1].queue, 3);
  EXPECT_EQ(reports[1].budget, std::nullopt);
  EXPECT_EQ(reports[1].budget_reason, "");
  EXPECT_THAT(reports[1].send_sizes, IsEmpty());
  EXPECT_EQ(reports[1].send_calls, 12u);
  EXPECT_EQ(reports[1].eagains, 0u);
}

}  // namespace
}  // namespace penstock
