// SPDX-License-Identifier: BSD-3-Clause
//
// Runtime::Apply with what a user chooses: which ports and lcores, stopped ports, offloads, packet
// length, first bursts. On net_ring, whose ends the test holds, and net_null. Main lcore; the
// runtime uses the workers.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rte_ethdev.h>

#include <algorithm>
#include <map>

#include "lib/pipeline/runtime.h"
#include "test/unit/pipeline/rig.h"
#include "test/unit/pipeline/runtime_modes.h"

namespace penstock {
namespace {

using testing::HasSubstr;

// Says which offloads its context had.
class Looks : public StageBase {
 public:
  static constexpr absl::string_view kName = "looks";
  static absl::StatusOr<Looks> Create(const StageContext& context) {
    rx = context.rx.at(0).offloads;
    tx = context.tx.at(0).offloads;
    return Looks();
  }
  void Process(Burst burst, auto& out) noexcept { out.Next(burst); }
  static inline uint64_t rx = 0;
  static inline uint64_t tx = 0;
};

constexpr Mode kModes[] = {
    MakeMode<Io>("io", "", kForwardShape),
    MakeMode<RxOnly>("rxonly", "", kReceiveShape),
    MakeMode<TxOnly>("txonly", "", kSourceShape),
    MakeMode<Looks, Io>("looks", "", kForwardShape),
};

// A driver with budgets, played on net_null.
uint32_t budget_of_null = 32;
constexpr TxBudgetDriver kBudgetDrivers[] = {
    {"net_null",
     [](uint16_t, uint16_t, uint32_t budget) {
       budget_of_null = budget;
       return absl::OkStatus();
     },
     [](uint16_t, uint16_t) -> absl::StatusOr<DriverTxBudget> {
       return DriverTxBudget{.budget = budget_of_null == 0 ? 32 : budget_of_null,
                             .fixed = budget_of_null};
     }},
};

// As above, by port, and one refuses 128.
std::map<uint16_t, uint32_t> budget_of_port;
uint16_t refusing_port = RTE_MAX_ETHPORTS;
constexpr TxBudgetDriver kRefusingDrivers[] = {
    {"net_null",
     [](uint16_t port, uint16_t, uint32_t budget) -> absl::Status {
       if (port == refusing_port && budget == 128) return absl::InternalError("refused");
       budget_of_port[port] = budget;
       return absl::OkStatus();
     },
     [](uint16_t port, uint16_t) -> absl::StatusOr<DriverTxBudget> {
       return DriverTxBudget{.budget = std::max(32u, budget_of_port[port]),
                             .fixed = budget_of_port[port]};
     }},
};

TEST(RuntimeChange, ATxBudgetThatADriverRefusesIsTakenBackFromThePortsBefore) {
  NullPort one;
  NullPort two;
  budget_of_port.clear();
  refusing_port = std::max(one.port(), two.port());
  const uint16_t first = std::min(one.port(), two.port());
  auto made = Runtime::Create({.modes = kModes,
                               .run_directory = nullptr,
                               .version = "t",
                               .budget_drivers = kRefusingDrivers});
  ASSERT_TRUE(made.ok()) << made.status();
  Configuration configuration;
  configuration.tx_budget.all = 64;
  ASSERT_TRUE((*made)->Apply(configuration).ok());
  Configuration wrong = configuration;
  wrong.tx_budget.all = 128;
  EXPECT_EQ((*made)->Apply(wrong).status().message(), "refused");
  EXPECT_EQ(budget_of_port[first], 64u);
  EXPECT_EQ(budget_of_port[refusing_port], 64u);
  EXPECT_TRUE((*made)->configuration() == configuration);
  ASSERT_TRUE((*made)->Close().ok());
}

TEST(RuntimeChange, ATxBudgetChangesWithoutAPauseAndIsRefusedWhole) {
  Pool pool(1000);
  RingPort ring;
  NullPort null;
  budget_of_null = 0;
  auto made = Runtime::Create({.modes = kModes,
                               .run_directory = nullptr,
                               .version = "t",
                               .budget_drivers = kBudgetDrivers});
  ASSERT_TRUE(made.ok()) << made.status();
  Runtime& runtime = **made;
  Configuration configuration;
  configuration.txd.of_port = {{null.port(), 512}};
  ASSERT_TRUE(runtime.Apply(configuration).ok());
  const auto budget = [&] {
    const Report report = runtime.Snapshot();
    return std::ranges::find(report.tx_queues, null.port(), &TxQueueReport::port)->budget;
  };
  EXPECT_EQ(budget(), 32u);
  EXPECT_EQ(runtime.Snapshot().tx_queues[ring.port() < null.port() ? 0 : 1].budget, std::nullopt);
  const size_t notes = runtime.plan().notes.size();

  configuration.tx_budget.of_port = {{null.port(), 512}};
  const auto applied = runtime.Apply(configuration);
  ASSERT_TRUE(applied.ok()) << applied.status();
  EXPECT_EQ(applied->change.kind, ChangeKind::kSettings);
  EXPECT_EQ(applied->paused_ns, 0u);
  EXPECT_EQ(budget(), 512u);

  for (const auto& [wrong, why] :
       {std::pair{PerPort{.all = 64, .of_port = {}}, "has no budget"},
        {PerPort{.all = {}, .of_port = {{null.port(), 513}}}, "TX rings of 512 descriptors"}}) {
    Configuration refused = configuration;
    refused.tx_budget = wrong;
    const auto status = runtime.Apply(refused).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(status.message(), HasSubstr(why));
    EXPECT_EQ(budget(), 512u);
    EXPECT_TRUE(runtime.configuration() == configuration);
  }

  configuration.tx_budget = {.all = kTxBudgetAuto, .of_port = {}};
  ASSERT_TRUE(runtime.Apply(configuration).ok());
  EXPECT_EQ(budget_of_null, 0u);
  ASSERT_EQ(runtime.plan().notes.size(), notes + 1);
  configuration.tx_budget = {};
  ASSERT_TRUE(runtime.Apply(configuration).ok());
  EXPECT_EQ(runtime.plan().notes.size(), notes) << "silent where nothing was asked";
  runtime.TuneTxBudgets();
  const auto report = runtime.Close();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(budget(), 32u) << "kept after the close";
}

std::unique_ptr<Runtime> Make() {
  auto runtime = Runtime::Create({.modes = kModes, .run_directory = nullptr, .version = "t"});
  EXPECT_TRUE(runtime.ok()) << runtime.status();
  return *std::move(runtime);
}

void ExpectBalancedEnd(Runtime& runtime) {
  const auto report = runtime.Close();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->totals.unaccounted, 0U) << FormatReport(*report);
  for (const MempoolReport& pool : report->mempools) EXPECT_EQ(pool.in_use_at_exit, 0U);
}

bool Sent(const Runtime& runtime, uint64_t packets) {
  return Eventually([&] { return runtime.Snapshot().totals.tx_packets == packets; });
}

TEST(RuntimeChange, ThePortlistSaysWhoForwardsToWhomWhileItRuns) {
  Pool pool(1000);
  RingPort ports[3];
  auto runtime = Make();
  Configuration configuration;
  const auto id = [&](int i) { return ports[i].port(); };
  configuration.portlist = {id(0), id(2)};
  ASSERT_TRUE(runtime->Apply(configuration).ok());
  ports[0].Give(0, pool, 1, 10);
  ports[1].Give(0, pool, 2, 10);
  ASSERT_TRUE(Sent(*runtime, 10));
  EXPECT_EQ(ports[2].Take(0), Tags(1, 0, 10));
  EXPECT_EQ(ports[1].Waiting(0), 10U);  // Nobody polls it.
  configuration.portlist = {id(1), id(0), id(2)};
  configuration.port_topology = PortTopology::kChained;
  const auto applied = runtime->Apply(configuration);
  ASSERT_TRUE(applied.ok()) << applied.status();
  EXPECT_EQ(applied->change.kind, ChangeKind::kPipeline);
  ASSERT_TRUE(Sent(*runtime, 20));
  EXPECT_EQ(ports[0].Take(0), Tags(2, 0, 10));  // The one after port 1 in the list.
  ExpectBalancedEnd(*runtime);
}

TEST(RuntimeChange, LcoresAreThoseOfTheCorelist) {
  NullPort a;
  NullPort b;
  auto runtime = Make();
  Configuration configuration;
  configuration.corelist = {2};
  ASSERT_TRUE(runtime->Apply(configuration).ok());
  EXPECT_EQ(rte_eal_get_lcore_state(1), WAIT);
  EXPECT_EQ(rte_eal_get_lcore_state(2), RUNNING);
  configuration.corelist = {2, 1};
  ASSERT_TRUE(runtime->Apply(configuration).ok());
  EXPECT_EQ(rte_eal_get_lcore_state(1), RUNNING);
  configuration.corelist = {0};
  const auto refused = runtime->Apply(configuration);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(runtime->forwarding());
  ExpectBalancedEnd(*runtime);
}

TEST(RuntimeChange, OnlyThePortThatIsStoppedIsStopped) {
  Pool pool(1000);
  RingPort a;
  RingPort b;
  auto runtime = Make();
  Configuration configuration;
  ASSERT_TRUE(runtime->Apply(configuration).ok());
  configuration.stopped_ports = {b.port()};
  auto applied = runtime->Apply(configuration);  // It forwards.
  ASSERT_FALSE(applied.ok());
  EXPECT_THAT(std::string(applied.status().message()), HasSubstr("is stopped and is to forward"));
  EXPECT_TRUE(runtime->forwarding());
  // Left out of the list it may be stopped while the other goes on.
  configuration.portlist = {a.port()};
  applied = runtime->Apply(configuration);
  ASSERT_TRUE(applied.ok()) << applied.status();
  EXPECT_TRUE(runtime->ports()[0].started());
  EXPECT_FALSE(runtime->ports()[1].started());
  a.Give(0, pool, 1, 20);
  ASSERT_TRUE(Sent(*runtime, 20));
  EXPECT_EQ(a.Take(0), Tags(1, 0, 20));
  configuration.stopped_ports = {};
  configuration.portlist = {};
  ASSERT_TRUE(runtime->Apply(configuration).ok());
  EXPECT_TRUE(runtime->ports()[1].started());
  a.Give(0, pool, 2, 20);
  ASSERT_TRUE(Sent(*runtime, 40));
  EXPECT_EQ(b.Take(0), Tags(2, 0, 20));
  ExpectBalancedEnd(*runtime);
}

TEST(RuntimeChange, WhileNothingForwardsAnyPortMayBeStoppedAndAStartIsThenRefused) {
  NullPort port;
  auto runtime = Make();
  Configuration configuration;
  configuration.forwarding = false;
  configuration.stopped_ports = {port.port()};
  ASSERT_TRUE(runtime->Apply(configuration).ok());
  EXPECT_FALSE(runtime->ports()[0].started());
  configuration.forwarding = true;
  EXPECT_FALSE(runtime->Apply(configuration).ok());
  EXPECT_FALSE(runtime->forwarding());
  configuration.stopped_ports = {};
  ASSERT_TRUE(runtime->Apply(configuration).ok());
  EXPECT_TRUE(runtime->forwarding());
  ExpectBalancedEnd(*runtime);
}

TEST(RuntimeChange, APortThatStaysAsItIsIsNotSetUpAnew) {
  Pool pool(1000);
  RingPort a;
  RingPort b;
  auto runtime = Make();
  Configuration configuration;
  ASSERT_TRUE(runtime->Apply(configuration).ok());
  // A start switches it on: this shows which of them was started anew.
  ASSERT_EQ(rte_eth_promiscuous_disable(a.port()), 0);
  ASSERT_EQ(rte_eth_promiscuous_disable(b.port()), 0);
  configuration.rxd.of_port[b.port()] = 64;
  ASSERT_TRUE(runtime->Apply(configuration).ok());
  EXPECT_EQ(runtime->plan().ports[1].rx_descriptors, 64);
  EXPECT_EQ(rte_eth_promiscuous_get(a.port()), 0);
  EXPECT_EQ(rte_eth_promiscuous_get(b.port()), 1);
  a.Give(0, pool, 1, 30);
  ASSERT_TRUE(Sent(*runtime, 30));
  ExpectBalancedEnd(*runtime);
}

// net_null sums its counts over the queues that it has at the moment.
TEST(RuntimeChange, AStoppedPortSetUpWithFewerQueuesKeepsItsCounts) {
  NullPort port;
  const std::unique_ptr<Runtime> runtime = Make();
  Configuration wanted;
  wanted.rxq.all = 2;
  ASSERT_TRUE(runtime->Apply(wanted).ok());
  ASSERT_TRUE(Eventually([&] { return runtime->Snapshot().totals.rx_packets > 1000; }));
  wanted.forwarding = false;
  ASSERT_TRUE(runtime->Apply(wanted).ok());
  const Report before = runtime->Snapshot();
  EXPECT_EQ(before.totals.unaccounted, 0U) << FormatReport(before);
  wanted.stopped_ports = {port.port()};
  wanted.rxq.all = 1;
  ASSERT_TRUE(runtime->Apply(wanted).ok());
  EXPECT_EQ(runtime->Snapshot().ports.at(0).rx_packets, before.ports.at(0).rx_packets);
  ExpectBalancedEnd(*runtime);
}

TEST(RuntimeChange, NothingChangesWhileFirstBurstsAreSent) {
  NullPort port;
  const std::unique_ptr<Runtime> runtime = Make();
  Configuration wanted;
  wanted.tx_first = 1'000'000;
  ASSERT_TRUE(runtime->Apply(wanted).ok());
  wanted.tx_first = 0;
  wanted.burst = 64;
  const absl::Status refused = runtime->Apply(wanted).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("tx_first"));
  EXPECT_EQ(runtime->configuration().burst, 32);
  wanted.forwarding = false;
  EXPECT_TRUE(runtime->Apply(wanted).ok()) << "but a stop does stop them";
  ExpectBalancedEnd(*runtime);
}

TEST(RuntimeChange, StagesKnowTheOffloadsInEffect) {
  RingPort port;
  auto runtime = Make();
  Configuration configuration;
  configuration.forward_mode = "looks";
  ASSERT_TRUE(runtime->Apply(configuration).ok());
  const PortCapabilities& can = runtime->ports()[0].capabilities();
  EXPECT_NE(Looks::tx, 0U);
  EXPECT_EQ(Looks::rx, can.rx_offloads & RTE_ETH_RX_OFFLOAD_SCATTER);
  EXPECT_EQ(Looks::tx,
            can.tx_offloads & (RTE_ETH_TX_OFFLOAD_MULTI_SEGS | RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE));
  // Only what is asked for comes in addition.
  const uint64_t before = Looks::tx;
  configuration.tx_offloads = RTE_ETH_TX_OFFLOAD_MT_LOCKFREE;
  const bool has_it = runtime->ports()[0].capabilities().mt_lockfree;
  EXPECT_EQ(runtime->Apply(configuration).ok(), has_it);
  EXPECT_EQ(Looks::tx, has_it ? before | RTE_ETH_TX_OFFLOAD_MT_LOCKFREE : before);
  ExpectBalancedEnd(*runtime);
}

TEST(RuntimeChange, AnOffloadThatAPortLacksIsRefusedAndEverythingGoesOn) {
  NullPort port;
  auto runtime = Make();
  Configuration configuration;
  ASSERT_TRUE(runtime->Apply(configuration).ok());
  configuration.rx_offloads = RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_VLAN_STRIP;
  const auto refused = runtime->Apply(configuration);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("has no vlan_strip,ipv4_cksum; it has "));
  EXPECT_TRUE(runtime->forwarding());
  EXPECT_EQ(runtime->configuration().rx_offloads, 0U);
  ExpectBalancedEnd(*runtime);
}

TEST(RuntimeChange, FirstBurstsAreMadeAtEachBeginningThatAsksForThem) {
  Pool pool(1000);
  RingPort a;
  RingPort b;
  auto runtime = Make();
  Configuration configuration;
  configuration.forwarding = false;
  configuration.tx_first = 3;
  configuration.burst = 16;
  ASSERT_TRUE(runtime->Apply(configuration).ok());
  EXPECT_EQ(runtime->configuration().tx_first, 3U);  // Kept for the beginning.
  EXPECT_EQ(runtime->Snapshot().totals.made, 0U);
  configuration.forwarding = true;
  ASSERT_TRUE(runtime->Apply(configuration).ok());
  EXPECT_EQ(runtime->configuration().tx_first, 0U);
  ASSERT_TRUE(Sent(*runtime, 96));
  EXPECT_EQ(runtime->Snapshot().totals.made, 96U);
  EXPECT_EQ(a.Take(0).size(), 48U);
  EXPECT_EQ(b.Take(0).size(), 48U);
  // Not at a beginning that does not, nor at a change while it runs.
  configuration = runtime->configuration();
  configuration.burst = 8;
  configuration.tx_first = 5;
  ASSERT_TRUE(runtime->Apply(configuration).ok());
  EXPECT_EQ(runtime->Snapshot().totals.made, 96U);
  configuration = runtime->configuration();
  configuration.forwarding = false;
  ASSERT_TRUE(runtime->Apply(configuration).ok());
  configuration.forwarding = true;
  configuration.tx_first = 0;
  ASSERT_TRUE(runtime->Apply(configuration).ok());
  a.Give(0, pool, 1, 10);
  ASSERT_TRUE(Sent(*runtime, 106));
  EXPECT_EQ(runtime->Snapshot().totals.made, 96U);
  ExpectBalancedEnd(*runtime);
}

TEST(RuntimeChange, OfThoseWhoShareAQueueOneSendsFirst) {
  RingPort port({.rx_queues = 3, .tx_queues = 1});
  auto runtime = Make();
  Configuration configuration;
  configuration.rxq.all = 3;
  configuration.tx_first = 2;
  ASSERT_TRUE(runtime->Apply(configuration).ok());
  ASSERT_EQ(runtime->plan().tx_queues[0].users.size(), 3U);
  ASSERT_TRUE(Sent(*runtime, 64));
  EXPECT_EQ(runtime->Snapshot().totals.made, 64U);
  EXPECT_EQ(port.Take(0).size(), 64U);
  ExpectBalancedEnd(*runtime);
}

TEST(RuntimeChange, FirstBurstsBeyondWhatAQueueTakesAreDropsWithAName) {
  RingPort port({.ring_size = 64});
  auto runtime = Make();
  Configuration configuration;
  configuration.tx_first = 4;
  ASSERT_TRUE(runtime->Apply(configuration).ok());
  EXPECT_TRUE(Eventually([&] { return runtime->Snapshot().totals.made == 128; }));
  configuration = runtime->configuration();
  configuration.forwarding = false;
  ASSERT_TRUE(runtime->Apply(configuration).ok());
  Report report = runtime->Snapshot();
  EXPECT_EQ(report.totals.tx_packets, 63U);
  EXPECT_EQ(report.drops["tx_full"], 65U);
  EXPECT_EQ(report.totals.unaccounted, 0U);
  port.Take(0);
  ExpectBalancedEnd(*runtime);
}

TEST(RuntimeChange, AModeThatSendsNothingHasNoFirstBursts) {
  NullPort port;
  auto runtime = Make();
  Configuration configuration;
  configuration.forward_mode = "rxonly";
  configuration.tx_first = 1;
  const auto refused = runtime->Apply(configuration);
  EXPECT_EQ(std::string(refused.status().message()),
            "--tx-first: mode rxonly sends nothing; choose another, or leave it out");
}

TEST(RuntimeChange, MempoolsAreThereToBeShown) {
  NullPort port;
  auto runtime = Make();
  EXPECT_TRUE(runtime->mempools().empty());
  ASSERT_TRUE(runtime->Apply(Configuration{}).ok());
  ASSERT_EQ(runtime->mempools().size(), 1U);
  EXPECT_EQ(runtime->mempools()[0].name(), "penstock_0");
  ExpectBalancedEnd(*runtime);
}

}  // namespace
}  // namespace penstock
