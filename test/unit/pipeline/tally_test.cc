// SPDX-License-Identifier: BSD-3-Clause
//
// Tally: what lcores counted under one plan and mode and then under another adds up in one report.
// No EAL needed.

#include "lib/pipeline/tally.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace penstock {
namespace {

struct Alpha : StageBase {
  static constexpr absl::string_view kName = "alpha";
  static constexpr DropReason kDrops[] = {{"short", ""}, {"common", ""}};
  static constexpr StageCounter kCounters[] = {{"seen", ""}, {"kept", ""}};
  static absl::StatusOr<Alpha> Create(const StageContext&) { return Alpha(); }
  void Process(Burst burst, auto& out) noexcept { out.Next(burst); }
};

struct Beta : StageBase {
  static constexpr absl::string_view kName = "beta";
  static constexpr DropReason kDrops[] = {{"common", ""}};
  static absl::StatusOr<Beta> Create(const StageContext&) { return Beta(); }
  void Process(Burst burst, auto& out) noexcept { out.Send(0, burst.mbufs); }
};

constexpr uint64_t kNowTsc = 10'000'000;
constexpr uint64_t kHz = 1'000'000'000;

constexpr Mode kModes[] = {MakeMode<Alpha, Beta>("both", "", {}), MakeMode<Beta>("beta", "", {})};

// Counters of a row, each with a value of its own: place × scale.
struct Counted {
  LcoreCounters layout;
  CounterPage::Copy copy;
  explicit Counted(const LcoreCounters& like, uint64_t scale) : layout(like) {
    copy.values.resize(layout.size());
    std::iota(copy.values.begin(), copy.values.end(), uint64_t{1});
    for (uint64_t& value : copy.values) value *= scale;
  }
  uint64_t operator[](size_t place) const { return copy.values[place]; }
};

LcorePlan PlanOf(unsigned lcore, std::vector<uint16_t> rx_ports, std::vector<uint16_t> tx_ports) {
  LcorePlan plan;
  plan.lcore = lcore;
  for (uint16_t port : rx_ports) plan.rx.push_back({port, 0, kNoSlot});
  for (uint16_t port : tx_ports) plan.tx.push_back({port, 0, 0, false});
  return plan;
}

Report WithPorts(std::vector<uint16_t> ports) {
  Report report;
  for (uint16_t port : ports) report.ports.emplace_back().port = port;
  return report;
}

TEST(Tally, EveryReasonOfEveryModeIsThereAtZero) {
  Report report;
  Tally(kModes).Fill(report, kNowTsc, kHz);
  EXPECT_EQ(report.drops, (std::map<std::string, uint64_t>{
                              {"common", 0}, {"short", 0}, {"tx_full", 0}, {"tx_segments", 0}}));
  EXPECT_TRUE(report.lcores.empty());
  EXPECT_TRUE(report.sections.empty());
}

TEST(Tally, PutsEachCounterWhereItBelongs) {
  const Counted c({2, 2, 5, 2}, 1);
  Tally tally(kModes);
  tally.Add(kModes[0], PlanOf(4, {0, 1}, {1, 2}), c.layout, c.copy);
  Report report = WithPorts({0, 1, 2, 3});
  tally.Fill(report, kNowTsc, kHz);

  ASSERT_EQ(report.lcores.size(), 1U);
  const LcoreReport& lcore = report.lcores[0];
  EXPECT_EQ(lcore.lcore, 4U);
  EXPECT_EQ(lcore.polls, c[LcoreCounters::kPolls]);
  EXPECT_EQ(lcore.empty_polls, c[LcoreCounters::kEmptyPolls]);
  EXPECT_EQ(lcore.made, c[LcoreCounters::kMade]);
  EXPECT_EQ(lcore.held, c[LcoreCounters::kHeld]);
  EXPECT_EQ(lcore.busy_cycles, c[LcoreCounters::kBusyCycles]);
  EXPECT_EQ(lcore.rx_packets, c[c.layout.Rx(0)] + c[c.layout.Rx(1)]);
  EXPECT_EQ(lcore.tx_packets, c[c.layout.Tx(0)] + c[c.layout.Tx(1)]);
  EXPECT_TRUE(lcore.fresh);

  EXPECT_EQ(report.ports[0].lcores_rx, c[c.layout.Rx(0)]);
  EXPECT_EQ(report.ports[0].lcores_tx, 0U);
  EXPECT_EQ(report.ports[1].lcores_rx, c[c.layout.Rx(1)]);
  EXPECT_EQ(report.ports[1].lcores_tx, c[c.layout.Tx(0)]);
  EXPECT_EQ(report.ports[2].lcores_tx, c[c.layout.Tx(1)]);
  EXPECT_EQ(report.ports[3].lcores_rx + report.ports[3].lcores_tx, 0U);

  EXPECT_EQ(report.drops["tx_full"], c[c.layout.Drop(0)]);
  EXPECT_EQ(report.drops["tx_segments"], c[c.layout.Drop(1)]);
  EXPECT_EQ(report.drops["short"], c[c.layout.Drop(2)]);
  // Two stages that use one name mean one thing.
  EXPECT_EQ(report.drops["common"], c[c.layout.Drop(3)] + c[c.layout.Drop(4)]);

  EXPECT_EQ(report.sections.size(), 1U);
  EXPECT_EQ(report.sections["alpha"]["seen"], c[c.layout.Stage(0)]);
  EXPECT_EQ(report.sections["alpha"]["kept"], c[c.layout.Stage(1)]);
}

TEST(Tally, AddsUpLcoresPlansAndModes) {
  const Counted one({1, 1, 5, 2}, 1);
  const Counted two({1, 1, 5, 2}, 100);
  const Counted later({1, 1, 3, 0}, 10000);
  Tally tally(kModes);
  tally.Add(kModes[0], PlanOf(1, {0}, {1}), one.layout, one.copy);
  tally.Add(kModes[0], PlanOf(2, {1}, {0}), two.layout, two.copy);
  tally.Add(kModes[1], PlanOf(1, {1}, {1}), later.layout,
            later.copy);  // Another plan, another mode.
  Report report = WithPorts({0, 1});
  tally.Fill(report, kNowTsc, kHz);
  ASSERT_EQ(report.lcores.size(), 2U);
  EXPECT_EQ(report.lcores[0].lcore, 1U);
  EXPECT_EQ(report.lcores[0].rx_packets, one[one.layout.Rx(0)] + later[later.layout.Rx(0)]);
  EXPECT_EQ(report.lcores[1].rx_packets, two[two.layout.Rx(0)]);
  EXPECT_EQ(report.ports[0].lcores_rx, one[one.layout.Rx(0)]);
  EXPECT_EQ(report.ports[1].lcores_rx, two[two.layout.Rx(0)] + later[later.layout.Rx(0)]);
  EXPECT_EQ(report.ports[1].lcores_tx, one[one.layout.Tx(0)] + later[later.layout.Tx(0)]);
  EXPECT_EQ(report.drops["common"], one[one.layout.Drop(3)] + one[one.layout.Drop(4)] +
                                        two[two.layout.Drop(3)] + two[two.layout.Drop(4)] +
                                        later[later.layout.Drop(2)]);
  EXPECT_EQ(report.sections["alpha"]["seen"], one[one.layout.Stage(0)] + two[two.layout.Stage(0)]);
}

TEST(Tally, AnOldCountMakesTheLcoreStaleForGood) {
  Counted one({1, 1, 5, 2}, 1);
  Tally tally(kModes);
  one.copy.fresh = false;
  tally.Add(kModes[0], PlanOf(1, {0}, {0}), one.layout, one.copy);
  one.copy.fresh = true;
  tally.Add(kModes[0], PlanOf(1, {0}, {0}), one.layout, one.copy);
  tally.Add(kModes[0], PlanOf(2, {0}, {0}), one.layout, one.copy);
  Report report;
  tally.Fill(report, kNowTsc, kHz);
  EXPECT_FALSE(report.lcores[0].fresh);
  EXPECT_TRUE(report.lcores[1].fresh);
}

// ---- reaps ----

// An lcore that reaps two queues, with counters of its own for each.
struct Reaping {
  LcoreCounters layout{0, 0, 5, 2, 2};
  CounterPage::Copy copy;
  LcorePlan plan = PlanOf(1, {}, {});
  Reaping() {
    copy.values.resize(layout.size());
    plan.reaps = {{0, 0, 0, kNoSlot}, {1, 3, 1, kNoSlot}};
    Set(0, {100, 2, 6400, 7, kNowTsc - 5'000'000});
    Set(1, {10, 1, 90, 0, 0});
  }
  void Set(size_t queue, std::vector<uint64_t> values) {
    std::ranges::copy(values,
                      copy.values.begin() + static_cast<ptrdiff_t>(layout.ReapedQueue(queue)));
  }
};

Report WithQueues() {
  Report report = WithPorts({0, 1});
  report.at_rest = false;
  for (const auto& [port, queue] : {std::pair<uint16_t, uint16_t>{0, 0}, {1, 3}, {1, 4}}) {
    TxQueueReport& added = report.tx_queues.emplace_back();
    added.port = port;
    added.queue = queue;
    added.completion = "stage";
  }
  return report;
}

TEST(Tally, ReapsAddUpByQueueAndWhatIsInFlightIsThePresent) {
  Tally tally(kModes);
  Reaping reaping;
  tally.Add(kModes[0], reaping.plan, reaping.layout, reaping.copy);
  reaping.Set(0, {50, 1, 3200, 3, kNowTsc - 2'000'000});
  tally.Add(kModes[0], reaping.plan, reaping.layout, reaping.copy);
  Report report = WithQueues();
  tally.Fill(report, kNowTsc, kHz);
  const TxQueueReport& first = report.tx_queues[0];
  EXPECT_EQ(first.reaps, 150u);
  EXPECT_EQ(first.empty_reaps, 3u);
  EXPECT_EQ(first.reaped, 9600u);
  EXPECT_EQ(first.in_flight, 3u);
  EXPECT_EQ(first.oldest_pinned_us, 2000u);
  const TxQueueReport& second = report.tx_queues[1];
  EXPECT_EQ(second.reaps, 20u);
  EXPECT_EQ(second.in_flight, 0u);
  EXPECT_EQ(second.oldest_pinned_us, 0u);
  EXPECT_EQ(report.tx_queues[2].reaps, std::nullopt) << "nobody reaps it";
}

TEST(Tally, AtRestWhatIsInARingIsNotTheLcoresToSay) {
  Tally tally(kModes);
  const Reaping reaping;
  tally.Add(kModes[0], reaping.plan, reaping.layout, reaping.copy);
  Report report = WithQueues();
  report.at_rest = true;
  tally.Fill(report, kNowTsc, kHz);
  EXPECT_EQ(report.tx_queues[0].reaps, 100u);
  EXPECT_EQ(report.tx_queues[0].in_flight, std::nullopt);
  EXPECT_EQ(report.tx_queues[0].oldest_pinned_us, std::nullopt);
}

TEST(Tally, WhereTheDriverCountsItsReapsThatCountStands) {
  Tally tally(kModes);
  const Reaping reaping;
  tally.Add(kModes[0], reaping.plan, reaping.layout, reaping.copy);
  Report report = WithQueues();
  report.ports[1].xstats = {{"tx_q3_reaps", 11},
                            {"tx_q3_empty_reaps", 4},
                            {"tx_q3_reaped", 95},
                            {"tx_q3_oldest_pinned_us", 17},
                            {"tx_q4_reaps", 8}};
  tally.Fill(report, kNowTsc, kHz);
  EXPECT_EQ(report.tx_queues[0].reaps, 100u);
  EXPECT_EQ(report.tx_queues[1].reaps, 11u);
  EXPECT_EQ(report.tx_queues[1].empty_reaps, 4u);
  EXPECT_EQ(report.tx_queues[1].reaped, 95u);
  EXPECT_EQ(report.tx_queues[1].oldest_pinned_us, 17u);
  EXPECT_EQ(report.tx_queues[2].reaps, 8u);
}

}  // namespace
}  // namespace penstock
