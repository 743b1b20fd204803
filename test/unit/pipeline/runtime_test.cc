// SPDX-License-Identifier: BSD-3-Clause
//
// Runtime::Apply and its life: start, stop, change while running, refusals that leave everything as
// it was, failures after which it can be called again, the end. On net_ring, whose ends the test
// holds, and net_null. Main lcore; the runtime uses the workers.

#include "lib/pipeline/runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rte_launch.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "test/unit/pipeline/rig.h"
#include "test/unit/pipeline/runtime_modes.h"

// Which a driver calls when its device goes away; their header is for drivers.
struct rte_eth_dev;
extern "C" {
rte_eth_dev* rte_eth_dev_allocated(const char* name);
int rte_eth_dev_callback_process(rte_eth_dev* device, rte_eth_event_type event, void* result);
}

namespace penstock {
namespace {

using testing::HasSubstr;

std::unique_ptr<Runtime> Make() {
  auto runtime = Runtime::Create({.modes = kTestModes, .run_directory = nullptr, .version = "t"});
  EXPECT_TRUE(runtime.ok()) << runtime.status();
  return *std::move(runtime);
}

Configuration Mode_(const char* mode) {
  Configuration configuration;
  configuration.forward_mode = mode;
  return configuration;
}

// It moves packets now.
bool Forwards(const Runtime& runtime) {
  const uint64_t before = runtime.Snapshot().totals.rx_packets;
  return Eventually([&] { return runtime.Snapshot().totals.rx_packets > before; });
}

void ExpectBalanced(const Report& report) {
  EXPECT_EQ(report.totals.unaccounted, 0U) << FormatReport(report);
  EXPECT_TRUE(report.at_rest);
  for (const MempoolReport& pool : report.mempools) {
    EXPECT_EQ(pool.in_use_at_exit, 0U) << pool.name;
    EXPECT_EQ(pool.held_by_driver, 0U) << pool.name;
  }
}

TEST(Runtime, FirstStartForwardsAndCloseBalances) {
  Pool pool(2000);
  RingPort a;
  RingPort b;
  const uint16_t port_of_a = a.port();
  auto runtime = Make();
  EXPECT_FALSE(runtime->forwarding());
  a.Give(0, pool, 1, 500);
  b.Give(0, pool, 2, 300);
  const auto applied = runtime->Apply(Mode_("io"));
  ASSERT_TRUE(applied.ok()) << applied.status();
  EXPECT_EQ(applied->change.kind, ChangeKind::kPorts);
  EXPECT_EQ(applied->paused_ns, 0U);
  EXPECT_TRUE(runtime->forwarding());
  EXPECT_EQ(runtime->mode().name, "io");
  EXPECT_TRUE(Eventually([&] { return runtime->Snapshot().totals.tx_packets == 800; }));
  const auto report = runtime->Close();
  ASSERT_TRUE(report.ok()) << report.status();
  ExpectBalanced(*report);
  EXPECT_FALSE(runtime->forwarding());
  EXPECT_EQ(report->totals.rx_packets, 800U);
  EXPECT_EQ(report->mode, "io");
  EXPECT_EQ(report->version, "t");
  ASSERT_EQ(report->ports.size(), 2U);
  EXPECT_EQ(report->ports[0].port, port_of_a);
  EXPECT_EQ(report->ports[0].rx_packets, 500U);
  EXPECT_EQ(report->ports[0].tx_packets, 300U);
  EXPECT_EQ(report->ports[0].driver, "net_ring");
  EXPECT_EQ(b.Take(0), Tags(1, 0, 500));
  EXPECT_EQ(a.Take(0), Tags(2, 0, 300));
  EXPECT_FALSE(a.Open());
  EXPECT_EQ(pool.InUse(), 0U);
}

TEST(Runtime, StartsWithoutForwardingWhenToldSo) {
  NullPort port;
  auto runtime = Make();
  Configuration configuration = Mode_("rxonly");
  configuration.forwarding = false;
  ASSERT_TRUE(runtime->Apply(configuration).ok());
  EXPECT_FALSE(runtime->forwarding());
  EXPECT_EQ(runtime->Snapshot().totals.rx_packets, 0U);
  configuration.forwarding = true;
  const auto applied = runtime->Apply(configuration);
  ASSERT_TRUE(applied.ok()) << applied.status();
  EXPECT_EQ(applied->change.kind, ChangeKind::kPipeline);
  EXPECT_EQ(applied->paused_ns, 0U);  // None was running before.
  EXPECT_TRUE(Forwards(*runtime));
  configuration.forwarding = false;
  ASSERT_TRUE(runtime->Apply(configuration).ok());
  EXPECT_FALSE(runtime->forwarding());
  const Report at_rest = runtime->Snapshot();
  EXPECT_TRUE(at_rest.at_rest);
  EXPECT_EQ(at_rest.totals.unaccounted, 0U);
  EXPECT_EQ(runtime->Snapshot().totals.rx_packets, at_rest.totals.rx_packets);
  EXPECT_EQ(runtime->Snapshot().duration_s, at_rest.duration_s);  // Time at rest is not counted.
  configuration.forwarding = true;
  ASSERT_TRUE(runtime->Apply(configuration).ok());
  EXPECT_TRUE(Forwards(*runtime));
  const auto report = runtime->Close();
  ASSERT_TRUE(report.ok()) << report.status();
  ExpectBalanced(*report);
  EXPECT_GT(report->totals.rx_packets, at_rest.totals.rx_packets);  // The sums go on.
  EXPECT_GT(report->duration_s, at_rest.duration_s);
}

// Packets go round and round over a ring while modes change under them.
TEST(Runtime, ChangesOfModeLoseNothing) {
  constexpr uint32_t kPackets = 1000;
  Pool pool(2000);
  RingPort port({.ring_size = 4096, .loop = true});
  auto runtime = Make();
  ASSERT_EQ(port.Give(0, pool, 7, kPackets), kPackets);
  ASSERT_TRUE(runtime->Apply(Mode_("io")).ok());
  for (int round = 0; round < 20; ++round) {
    ASSERT_TRUE(Forwards(*runtime));
    const auto applied = runtime->Apply(Mode_(round % 2 == 0 ? "macswap" : "io"));
    ASSERT_TRUE(applied.ok()) << applied.status();
    EXPECT_EQ(applied->change.kind, ChangeKind::kPipeline);
    EXPECT_EQ(applied->change.options, std::vector<std::string>{"forward-mode"});
    EXPECT_GT(applied->paused_ns, 0U);
  }
  ASSERT_TRUE(Forwards(*runtime));
  const auto report = runtime->Close();
  ASSERT_TRUE(report.ok()) << report.status();
  ExpectBalanced(*report);
  EXPECT_EQ(report->totals.dropped, 0U);
  EXPECT_EQ(report->totals.rx_packets, report->totals.tx_packets);
  // All are there, once, and in the order in which they went round.
  std::vector<Tag> left = port.Take(0);
  ASSERT_EQ(left.size(), kPackets);
  const auto first = std::ranges::find(left, Tag{7, 0});
  ASSERT_NE(first, left.end());
  std::rotate(left.begin(), first, left.end());
  EXPECT_EQ(left, Tags(7, 0, kPackets));
}

TEST(Runtime, ChangesOfQueuesWhileRunningLoseNothing) {
  NullPort a;
  NullPort b;
  auto runtime = Make();
  Configuration configuration = Mode_("io");
  configuration.total_num_mbufs = 32767;  // Enough for the most queues, since pools stay.
  ASSERT_TRUE(runtime->Apply(configuration).ok());
  for (const uint16_t queues : {2, 1, 3, 1}) {
    ASSERT_TRUE(Forwards(*runtime));
    configuration.rxq.all = queues;
    const auto applied = runtime->Apply(configuration);
    ASSERT_TRUE(applied.ok()) << applied.status();
    EXPECT_EQ(applied->change.kind, ChangeKind::kPorts);
    EXPECT_GT(applied->paused_ns, 0U);
    EXPECT_EQ(runtime->plan().ports[0].rx_queues, queues);
  }
  ASSERT_TRUE(Forwards(*runtime));
  const auto report = runtime->Close();
  ASSERT_TRUE(report.ok()) << report.status();
  ExpectBalanced(*report);
}

TEST(Runtime, NothingAndSettingsDoNotTouchTheLcores) {
  NullPort port;
  auto runtime = Make();
  Configuration configuration = Mode_("rxonly");
  ASSERT_TRUE(runtime->Apply(configuration).ok());
  auto applied = runtime->Apply(configuration);
  ASSERT_TRUE(applied.ok());
  EXPECT_EQ(applied->change.kind, ChangeKind::kNone);
  EXPECT_EQ(applied->paused_ns, 0U);
  configuration.stats_period_s = 3;
  applied = runtime->Apply(configuration);
  ASSERT_TRUE(applied.ok());
  EXPECT_EQ(applied->change.kind, ChangeKind::kSettings);
  EXPECT_EQ(applied->paused_ns, 0U);
  EXPECT_EQ(runtime->configuration().stats_period_s, 3);
  EXPECT_TRUE(Forwards(*runtime));
}

TEST(Runtime, ARefusedChangeLeavesEverythingAsItWas) {
  RingPort ring;
  NullPort null;
  auto runtime = Make();
  const Configuration good = Mode_("moody");
  Moody::refuses = false;
  ASSERT_TRUE(runtime->Apply(good).ok());
  struct Row {
    const char* what;
    void (*ask)(Configuration&);
    absl::StatusCode code;
    const char* message;
  };
  const Row rows[] = {
      {"wrong in itself", [](Configuration& c) { c.burst = 0; }, absl::StatusCode::kInvalidArgument,
       "--burst=0: accepted: 1 to 512"},
      {"no such mode", [](Configuration& c) { c.forward_mode = "nonsense"; },
       absl::StatusCode::kInvalidArgument,
       "--forward-mode=nonsense: accepted: io, macswap, rxonly, txonly, faulty, spin, parking, "
       "moody, "
       "watched_io, watched_macswap, watched_rxonly, watched_txonly, watched_parking, "
       "watched_fault"},
      {"the ports cannot", [](Configuration& c) { c.rxq.all = 2; },
       absl::StatusCode::kFailedPrecondition, "has at most 1 RX queues; ask for 1 to 1"},
      {"fixed at start",
       [](Configuration& c) {
         c.mbuf_size = 4096;
         c.mbcache = 100;
       },
       absl::StatusCode::kFailedPrecondition,
       "fixed when penstock starts: --mbuf-size, --mbcache; stop it and start it with the new "
       "value"},
      {"the mempool is too small", [](Configuration& c) { c.rxd.all = 32768; },
       absl::StatusCode::kFailedPrecondition,
       "the plan wants 131071 mbufs in mempool 0, which was made with 16383; start penstock with "
       "--total-num-mbufs=131071"},
      {"a stage cannot be made",
       [](Configuration& c) {
         Moody::refuses = true;
         c.burst = 16;
       },
       absl::StatusCode::kUnavailable, "stage moody on lcore 1: not in the mood"},
  };
  for (const Row& row : rows) {
    Configuration wanted = good;
    row.ask(wanted);
    const auto applied = runtime->Apply(wanted);
    Moody::refuses = false;
    ASSERT_FALSE(applied.ok()) << row.what;
    EXPECT_EQ(applied.status().code(), row.code) << row.what;
    EXPECT_THAT(std::string(applied.status().message()), HasSubstr(row.message)) << row.what;
    EXPECT_EQ(runtime->configuration(), good) << row.what;
    EXPECT_TRUE(runtime->forwarding()) << row.what;
    EXPECT_TRUE(Forwards(*runtime)) << row.what;
  }
  const auto report = runtime->Close();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->totals.unaccounted, 0U);
}

// ---- failures after the lcores paused ----

TEST(Runtime, APortThatCannotBeSetUpFailsTheStartWhichMayBeTriedAgain) {
  Pool pool(100);
  RingPort port;
  auto runtime = Make();
  port.Start(pool);  // Somebody else has it: it cannot be configured now.
  auto applied = runtime->Apply(Mode_("io"));
  ASSERT_FALSE(applied.ok());
  EXPECT_THAT(std::string(applied.status().message()),
              HasSubstr("rte_eth_dev_configure(1 rx, 1 tx)"));
  EXPECT_FALSE(runtime->forwarding());
  EXPECT_EQ(runtime->Snapshot().totals.unaccounted, 0U);
  ASSERT_EQ(rte_eth_dev_stop(port.port()), 0);
  applied = runtime->Apply(Mode_("io"));
  ASSERT_TRUE(applied.ok()) << applied.status();
  EXPECT_EQ(applied->change.kind, ChangeKind::kPorts);
  port.Give(0, pool, 1, 50);
  EXPECT_TRUE(Eventually([&] { return runtime->Snapshot().totals.tx_packets == 50; }));
  const auto report = runtime->Close();
  ASSERT_TRUE(report.ok()) << report.status();
  ExpectBalanced(*report);
  EXPECT_EQ(port.Take(0), Tags(1, 0, 50));
}

TEST(Runtime, MempoolsOfAStartThatFailedAreMadeAnewAsTheNextOneWantsThem) {
  Pool pool(100);
  RingPort port;
  auto runtime = Make();
  port.Start(pool);  // Somebody else has it: it cannot be configured now.
  Configuration configuration = Mode_("io");
  configuration.total_num_mbufs = 20000;
  ASSERT_FALSE(runtime->Apply(configuration).ok());
  ASSERT_EQ(rte_eth_dev_stop(port.port()), 0);
  configuration.total_num_mbufs = 18000;
  const auto applied = runtime->Apply(configuration);
  ASSERT_TRUE(applied.ok()) << applied.status();
  ASSERT_EQ(runtime->Snapshot().mempools.size(), 1U);
  EXPECT_EQ(runtime->Snapshot().mempools[0].size, 18000U);
  EXPECT_TRUE(runtime->Close().ok());
}

std::atomic<bool> busy{false};

TEST(Runtime, AnLcoreThatIsBusyElsewhereFailsTheStartWhichMayBeTriedAgain) {
  NullPort port;
  auto runtime = Make();
  busy = true;
  ASSERT_EQ(rte_eal_remote_launch(
                [](void*) {
                  while (busy) sched_yield();
                  return 0;
                },
                nullptr, 2),
            0);
  const auto began = std::chrono::steady_clock::now();
  Configuration configuration = Mode_("rxonly");
  configuration.rxq.all = 3;
  auto applied = runtime->Apply(configuration);
  ASSERT_FALSE(applied.ok());
  EXPECT_THAT(std::string(applied.status().message()), HasSubstr("rte_eal_remote_launch(lcore 2)"));
  EXPECT_FALSE(runtime->forwarding());  // Lcore 1, which had begun, has stopped again.
  EXPECT_EQ(rte_eal_get_lcore_state(1), WAIT);
  const Report failed = runtime->Snapshot();
  EXPECT_EQ(failed.totals.unaccounted, 0U);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - began;
  EXPECT_LE(failed.duration_s, elapsed.count());
  busy = false;
  rte_eal_wait_lcore(2);
  // The same again is not "no change": nothing is forwarding.
  applied = runtime->Apply(configuration);
  ASSERT_TRUE(applied.ok()) << applied.status();
  EXPECT_TRUE(runtime->forwarding());
  EXPECT_TRUE(Forwards(*runtime));
  const auto report = runtime->Close();
  ASSERT_TRUE(report.ok()) << report.status();
  ExpectBalanced(*report);
}

TEST(Runtime, AStuckLcoreIsFoundNothingIsTakenFromItAndItsReturnHealsAll) {
  Pool pool(100);
  RingPort a;
  RingPort b;
  auto runtime = Make();
  Spin::spinning = true;
  Spin::inside = false;
  ASSERT_TRUE(runtime->Apply(Mode_("spin")).ok());
  EXPECT_TRUE(runtime->StuckLcores().empty());
  a.Give(0, pool, 1, 1);
  ASSERT_TRUE(Eventually([&] { return Spin::inside.load(); }));
  std::vector<unsigned> stuck;
  EXPECT_TRUE(Eventually([&] {
    stuck = runtime->StuckLcores();
    return !stuck.empty();
  }));
  // The one that polls port a; the one that polls port b turns on.
  EXPECT_EQ(stuck, std::vector<unsigned>{runtime->plan().lcores[0].lcore});
  const Report stale = runtime->Snapshot();
  ASSERT_EQ(stale.lcores.size(), 2U);
  EXPECT_FALSE(stale.lcores[0].fresh);
  EXPECT_TRUE(stale.lcores[1].fresh);
  // Ports and pools stay: the lcore may still use them.
  const auto close = runtime->Close();
  ASSERT_FALSE(close.ok());
  EXPECT_EQ(close.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(std::string(close.status().message()), "lcore 1 did not stop within 5 s");
  EXPECT_TRUE(a.Open());
  EXPECT_TRUE(b.Open());
  Spin::spinning = false;
  const auto report = runtime->Close();
  ASSERT_TRUE(report.ok()) << report.status();
  ExpectBalanced(*report);
  EXPECT_EQ(b.Take(0), Tags(1, 0, 1));
}

// ---- the end ----

TEST(Runtime, AfterCloseOnlyTheReportIsLeft) {
  NullPort port;
  auto runtime = Make();
  ASSERT_TRUE(runtime->Apply(Mode_("io")).ok());
  ASSERT_TRUE(Forwards(*runtime));
  const auto first = runtime->Close();
  ASSERT_TRUE(first.ok()) << first.status();
  ExpectBalanced(*first);
  const auto second = runtime->Close();
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(ToJson(*second), ToJson(*first));
  EXPECT_EQ(ToJson(runtime->Snapshot()), ToJson(*first));
  const auto applied = runtime->Apply(Mode_("io"));
  EXPECT_EQ(applied.status(), absl::FailedPreconditionError("the runtime is closed"));
}

TEST(Runtime, SeveralLivesInOneProcess) {
  for (int life = 0; life < 3; ++life) {
    Pool pool(1000);
    RingPort a;
    RingPort b;
    auto runtime = Make();
    ASSERT_EQ(runtime->ports().size(), 2U);
    a.Give(0, pool, 1, 100);
    ASSERT_TRUE(runtime->Apply(Mode_("io")).ok());
    EXPECT_TRUE(Eventually([&] { return runtime->Snapshot().totals.tx_packets == 100; }));
    // The second ends without Close.
    if (life != 1) {
      const auto report = runtime->Close();
      ASSERT_TRUE(report.ok()) << report.status();
      ExpectBalanced(*report);
      EXPECT_EQ(report->totals.rx_packets, 100U);
    }
    runtime.reset();
    EXPECT_FALSE(a.Open());
    EXPECT_EQ(b.Take(0).size(), 100U);
  }
}

TEST(Runtime, CloseWithoutAStart) {
  NullPort port;
  auto runtime = Make();
  const auto report = runtime->Close();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->totals.unaccounted, 0U);
  EXPECT_TRUE(report->mempools.empty());
}

TEST(Runtime, WithoutAPortItSaysSo) {
  auto runtime = Make();
  EXPECT_EQ(runtime->Apply(Mode_("io")).status().code(), absl::StatusCode::kFailedPrecondition);
}

// ---- for commands, watching and others ----

TEST(Runtime, AFeatureBringsItsOwnReasonsReportSectionAndCommand) {
  Pool pool(2000);
  RingPort port;
  auto runtime = Make();
  ASSERT_TRUE(runtime->Apply(Mode_("parking")).ok());
  ASSERT_EQ(runtime->mode().commands.size(), 1U);
  const ModeCommand& barrier = runtime->mode().commands[0];
  std::string output;
  const std::vector<std::string> down = {"down"};
  ASSERT_TRUE(runtime->RunStageCommand(barrier, down, output).ok());
  EXPECT_EQ(output, "barrier down on 1 lcores\n");
  port.Give(0, pool, 1, 500);
  EXPECT_TRUE(Eventually([&] { return runtime->Snapshot().totals.rx_packets == 500; }));
  Report report = runtime->Snapshot();
  EXPECT_EQ(report.totals.held, 300U);
  EXPECT_EQ(report.drops["parking_full"], 200U);
  EXPECT_EQ(report.totals.unaccounted, 0U);
  EXPECT_EQ(report.sections["parking"], Json::parse(R"({"inside": 300, "parked": 300})"));
  EXPECT_EQ(ToJson(report)["parking"]["inside"], 300);
  const std::vector<std::string> up = {"up"};
  ASSERT_TRUE(runtime->RunStageCommand(barrier, up, output).ok());
  EXPECT_TRUE(Eventually([&] { return runtime->Snapshot().totals.tx_packets == 300; }));
  ASSERT_TRUE(runtime->RunStageCommand(barrier, down, output).ok());
  port.Give(0, pool, 2, 50);
  EXPECT_TRUE(Eventually([&] { return runtime->Snapshot().totals.held == 50; }));
  const auto last = runtime->Close();  // What is held when lcores stop is let go of.
  ASSERT_TRUE(last.ok()) << last.status();
  ExpectBalanced(*last);
  EXPECT_EQ(last->totals.held, 0U);
  EXPECT_EQ(last->totals.tx_packets, 350U);
}

TEST(Runtime, WhatWasUnpublishedMayBeFreedOnceTheLcoresSaidSo) {
  NullPort port;
  auto runtime = Make();
  Configuration configuration = Mode_("rxonly");
  configuration.rxq.all = 3;
  ASSERT_TRUE(runtime->Apply(configuration).ok());
  for (int i = 0; i < 50; ++i) {
    const uint64_t token = rte_rcu_qsbr_start(runtime->quiescence());
    EXPECT_TRUE(Eventually(
        [&] { return rte_rcu_qsbr_check(runtime->quiescence(), token, /*wait=*/false) == 1; }));
  }
  configuration.forwarding = false;
  ASSERT_TRUE(runtime->Apply(configuration).ok());
  const uint64_t token = rte_rcu_qsbr_start(runtime->quiescence());
  EXPECT_EQ(rte_rcu_qsbr_check(runtime->quiescence(), token, /*wait=*/false), 1);
}

TEST(Runtime, KnowsWhenAPortIsRemoved) {
  NullPort one;
  NullPort two;
  auto runtime = Make();
  ASSERT_TRUE(runtime->Apply(Mode_("rxonly")).ok());
  EXPECT_EQ(runtime->LostPort(), std::nullopt);
  rte_eth_dev_callback_process(rte_eth_dev_allocated(two.name().c_str()), RTE_ETH_EVENT_INTR_RMV,
                               nullptr);
  EXPECT_EQ(runtime->LostPort(), two.port());
}

}  // namespace
}  // namespace penstock
