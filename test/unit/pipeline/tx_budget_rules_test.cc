// SPDX-License-Identifier: BSD-3-Clause
//
// Which TX budgets are refused, and which noted, as the planner does it. No EAL needed.

#include "lib/pipeline/tx_budget_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "test/unit/pipeline/planner_worlds.h"

namespace penstock {
namespace {

using testing::HasSubstr;

TEST(TxBudgetRules, ABudgetIsForPortsThatHaveThemAndFitsTheRing) {
  std::vector<PlannerPort> ports = Ports(2);
  ports[0].tx_budget = true;
  struct {
    const char* what;
    PerPort budget;
    uint16_t txd;
    const char* refused;  // Nullptr: it is not.
  } const kRows[] = {
      {"nothing asked", {}, 1024, nullptr},
      {"auto for all", {.all = kTxBudgetAuto, .of_port = {}}, 1024, nullptr},
      {"the whole ring", {.all = {}, .of_port = {{0, 1024}}}, 1024, nullptr},
      {"the kernel's ring", {.all = {}, .of_port = {{0, 1024}}}, 1000, nullptr},
      {"auto where there is none", {.all = {}, .of_port = {{1, kTxBudgetAuto}}}, 64, nullptr},
      {"more than the ring",
       {.all = {}, .of_port = {{0, 1025}}},
       1024,
       "--tx-budget=1025: port 0 (dev0) has TX rings of 1024 descriptors; accepted: auto, or 32 to "
       "1024; --txd asks for larger rings"},
      {"a ring without budgets",
       {.all = {}, .of_port = {{0, 32}}},
       16,
       "--tx-budget=32: port 0 (dev0) has TX rings of 16 descriptors; accepted: auto; --txd asks "
       "for "
       "larger rings"},
      {"all, and one has none",
       {.all = 64, .of_port = {}},
       1024,
       "--tx-budget=64: port 1 (dev1) has no budget for its sends, which only AF_XDP ports "
       "(net_af_xdp, net_xsk) have; ask it of those alone, such as --tx-budget=0:64"},
      {"one that has none",
       {.all = {}, .of_port = {{1, 64}}},
       1024,
       "--tx-budget=64: port 1 (dev1) has no budget"},
      {"no such port", {.all = {}, .of_port = {{2, 64}}}, 1024, "--tx-budget names port 2"},
      {"no such port, auto",
       {.all = {}, .of_port = {{2, kTxBudgetAuto}}},
       1024,
       "--tx-budget names port 2"},
  };
  for (const auto& row : kRows) {
    Configuration configuration;
    configuration.tx_budget = row.budget;
    configuration.txd.all = row.txd;
    const auto plan = MakePlan(ports, Lcores(1), kForward, configuration);
    EXPECT_EQ(plan.ok(), row.refused == nullptr) << row.what << ": " << plan.status();
    if (row.refused != nullptr) {
      EXPECT_EQ(plan.status().code(), absl::StatusCode::kFailedPrecondition) << row.what;
      EXPECT_THAT(plan.status().message(), HasSubstr(row.refused)) << row.what;
    } else {
      const bool noted = row.budget.For(1) == kTxBudgetAuto;
      EXPECT_EQ(plan->notes.size(), noted ? 1u : 0u) << row.what << "\n" << FormatPlan(*plan);
      if (!noted) continue;
      EXPECT_THAT(plan->notes[0], HasSubstr("port 1 (dev1) has no budget for its sends"))
          << row.what;
    }
  }
}

TEST(TxBudgetRules, WhereNoPortHasBudgetsTheWayOutIsToAskForNone) {
  Configuration configuration;
  configuration.tx_budget.all = 64;
  EXPECT_THAT(MakePlan(Ports(1), Lcores(1), kForward, configuration).status().message(),
              HasSubstr("(net_af_xdp, net_xsk) have; leave --tx-budget out"));
}

}  // namespace
}  // namespace penstock
