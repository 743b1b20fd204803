// SPDX-License-Identifier: BSD-3-Clause
//
// Budgets of ports whose driver has them itself, played by net_null and functions of the test.
// Those of sockets are shown on real ones in test/integration. Main lcore.

#include "lib/port/tx_budgets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lib/config/configuration.h"
#include "test/unit/pipeline/rig.h"

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

// What the driver has, by queue, and what was asked of it.
struct Driver {
  std::map<uint16_t, DriverTxBudget> queues;
  std::vector<std::pair<uint16_t, uint32_t>> set;
  bool none = false;  // As in zero-copy mode.
} driver;

constexpr TxBudgetDriver kDrivers[] = {
    {"net_null",
     [](uint16_t, uint16_t queue, uint32_t budget) {
       if (!driver.queues.contains(queue)) return absl::NotFoundError("no such queue");
       driver.set.emplace_back(queue, budget);
       driver.queues[queue].fixed = budget;
       if (budget != 0 && !driver.none) driver.queues[queue].budget = budget;
       return absl::OkStatus();
     },
     [](uint16_t, uint16_t queue) -> absl::StatusOr<DriverTxBudget> {
       if (!driver.queues.contains(queue)) return absl::NotFoundError("no such queue");
       return driver.queues[queue];
     }},
};

class TxBudgetsTest : public testing::Test {
 protected:
  void SetUp() override {
    driver = {};
    driver.queues[0].budget = driver.queues[1].budget = 32;
  }
  absl::Status Set(std::optional<uint16_t> wanted) { return budgets_.Set(port_, 2, 512, wanted); }
  TxBudgetState State(uint16_t queue = 0) {
    const auto state = budgets_.StateOf(null_.port(), queue);
    EXPECT_TRUE(state.has_value());
    return state.value_or(TxBudgetState());
  }

  NullPort null_;
  Port port_ = Port::Open(null_.port(), nullptr).value();
  TxBudgets budgets_{kDrivers};
};

TEST_F(TxBudgetsTest, ADriverOfTheTableOrAHiddenSocketHasBudgets) {
  PortCapabilities port;
  port.driver = "net_ring";
  EXPECT_FALSE(budgets_.Has(port));
  EXPECT_EQ(budgets_.SendsOf(port, 0, 1), nullptr);
  port.driver = "net_null";
  EXPECT_TRUE(budgets_.Has(port));
  EXPECT_EQ(budgets_.SendsOf(port, 0, 1), nullptr) << "the driver counts";
  EXPECT_FALSE(TxBudgets({}).Has(port));
  port.driver = "net_af_xdp";
  port.hidden_sockets = true;
  EXPECT_TRUE(budgets_.Has(port));
}

TEST_F(TxBudgetsTest, EachLcoreCountsForItselfInTheSamePlaceAlways) {
  PortCapabilities port;
  port.hidden_sockets = true;
  LcoreSends* const sends = budgets_.SendsOf(port, 0, 1);
  ASSERT_NE(sends, nullptr);
  EXPECT_NE(budgets_.SendsOf(port, 0, 2), sends);
  EXPECT_NE(budgets_.SendsOf(port, 1, 1), sends);
  for (unsigned lcore = 3; lcore < 128; ++lcore) budgets_.SendsOf(port, 0, lcore);
  EXPECT_EQ(budgets_.SendsOf(port, 0, 1), sends);
}

TEST_F(TxBudgetsTest, ANumberGoesToEveryQueueOnceAndAutoTakesItBack) {
  EXPECT_EQ(budgets_.StateOf(null_.port(), 0), std::nullopt);
  ASSERT_TRUE(Set(std::nullopt).ok());
  EXPECT_THAT(driver.set, IsEmpty()) << "it is so already";
  ASSERT_TRUE(Set(256).ok());
  ASSERT_TRUE(Set(256).ok());
  EXPECT_THAT(driver.set, ElementsAre(Pair(0, 256), Pair(1, 256)));
  EXPECT_EQ(State(1).budget, 256u);
  EXPECT_FALSE(State(1).tuned);
  EXPECT_EQ(State(1).reason, "--tx-budget");
  ASSERT_TRUE(Set(kTxBudgetAuto).ok());
  EXPECT_TRUE(State().tuned);
  EXPECT_EQ(State().reason, "auto: nothing sent yet");
  // A port that is set up anew has forgotten.
  ASSERT_TRUE(Set(64).ok());
  driver.queues[1] = {.budget = 32};
  driver.set.clear();
  ASSERT_TRUE(Set(64).ok());
  EXPECT_THAT(driver.set, ElementsAre(Pair(1, 64)));
}

TEST_F(TxBudgetsTest, TheDevargHoldsUntilTheOptionOverridesItWhichIsSaid) {
  for (auto& [queue, budget] : driver.queues)
    budget = {.budget = 64, .fixed = 64, .of_devargs = 64};
  const auto said = [&](std::optional<uint16_t> wanted) {
    testing::internal::CaptureStderr();
    EXPECT_TRUE(Set(wanted).ok());
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(said(std::nullopt), "");
  EXPECT_THAT(driver.set, IsEmpty());
  EXPECT_EQ(State().reason, "devarg budget=64");
  EXPECT_EQ(said(64), "") << "the same";
  EXPECT_THAT(said(128), HasSubstr("--tx-budget=128 overrides the devarg budget=64"));
  EXPECT_EQ(said(128), "") << "once";
  EXPECT_THAT(said(kTxBudgetAuto), HasSubstr("--tx-budget=auto overrides the devarg budget=64"));
  EXPECT_TRUE(State().tuned);
  EXPECT_EQ(said(std::nullopt), "");
  EXPECT_EQ(driver.queues[0].fixed, 64u);
}

TEST_F(TxBudgetsTest, TheReasonSaysHowManySendsFit) {
  ASSERT_TRUE(Set(std::nullopt).ok());
  driver.queues[0].budget = 64;
  driver.queues[0].sends[SendBucket(20)] = 2000;
  driver.queues[0].sends[SendBucket(64)] = 1999;
  driver.queues[0].sends[SendBucket(65)] = 1;
  EXPECT_EQ(State().reason, "auto: 99.9 % of 4000 sends fit");
  EXPECT_EQ(State().sends[SendBucket(64)], 1999u);
  driver.queues[0].budget = 96;
  EXPECT_EQ(State().reason, "auto: 100.0 % of 4000 sends fit");
  driver.queues[0].budget = 0;
  EXPECT_EQ(State().budget, std::nullopt);
  EXPECT_THAT(State().reason, HasSubstr("a kernel before 6.17"));
}

TEST_F(TxBudgetsTest, ANumberThatHasNoEffectIsSaidOnce) {
  driver.none = true;
  driver.queues[0].budget = driver.queues[1].budget = 0;
  const auto said = [&](std::optional<uint16_t> wanted) {
    testing::internal::CaptureStderr();
    EXPECT_TRUE(Set(wanted).ok());
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(said(std::nullopt), "");
  EXPECT_EQ(said(kTxBudgetAuto), "");
  const std::string once = said(64);
  EXPECT_THAT(once, HasSubstr(": --tx-budget=64 has no effect: none: a kernel before 6.17"));
  EXPECT_EQ(std::ranges::count(once, '\n'), 1);
  EXPECT_EQ(said(64), "");
}

TEST_F(TxBudgetsTest, WhatADriverRefusesIsReturned) {
  driver.queues.erase(1);
  EXPECT_EQ(Set(64).code(), absl::StatusCode::kNotFound);
}

TEST_F(TxBudgetsTest, FrozenItAsksNobody) {
  ASSERT_TRUE(Set(128).ok());
  budgets_.Freeze();
  driver.queues.clear();
  EXPECT_EQ(State().budget, 128u);
  budgets_.Tune();
}

}  // namespace
}  // namespace penstock
