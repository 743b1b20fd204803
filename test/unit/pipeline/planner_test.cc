// SPDX-License-Identifier: BSD-3-Clause
//
// The planner's rules: by tables, by the exact reasons of its refusals, and by a property test that
// recomputes every promise of a plan from nothing but the plan. No EAL needed; test process only.

#include "lib/pipeline/planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr ModeShape kForward{.sends = Destination::kPeer, .streams = Streams::kReceive};
constexpr ModeShape kSink{.sends = Destination::kNone, .streams = Streams::kReceive};
constexpr ModeShape kSource{.sends = Destination::kSelf, .streams = Streams::kTransmit};
constexpr ModeShape kRouter{.sends = Destination::kAny, .streams = Streams::kReceive};
constexpr ModeShape kEcho{.sends = Destination::kSelf, .streams = Streams::kReceive};

PlannerPort Offering(uint16_t rx_queues, uint16_t tx_queues, bool equal_queues = false,
                     bool mt_lockfree = false) {
  PlannerPort port;
  port.max_rx_queues = rx_queues;
  port.max_tx_queues = tx_queues;
  port.equal_queues = equal_queues;
  port.mt_lockfree = mt_lockfree;
  return port;
}

std::vector<PlannerPort> Ports(size_t count, const PlannerPort& like = Offering(16, 16)) {
  std::vector<PlannerPort> ports(count, like);
  for (size_t i = 0; i < count; ++i) {
    ports[i].port = static_cast<uint16_t>(i);
    ports[i].name = absl::StrCat("dev", i);
  }
  return ports;
}

// Ids from 1, as worker lcores have.
std::vector<PlannerLcore> Lcores(size_t count) {
  std::vector<PlannerLcore> lcores;
  for (size_t i = 0; i < count; ++i) lcores.push_back({static_cast<unsigned>(i + 1), 0});
  return lcores;
}

PerPort All(uint16_t value) { return {.all = value, .of_port = {}}; }

// One line per lcore: what it polls and where each goes, or what it feeds.
//   "1: 0.0>1.0 1.0>0.0"   "2: idle"   "3: *0.1"
std::string Picture(const Plan& plan) {
  std::vector<std::string> lines;
  for (const LcorePlan& lcore : plan.lcores) {
    std::string line = absl::StrCat(lcore.lcore, ":");
    for (const LcorePlan::Rx& rx : lcore.rx) {
      absl::StrAppend(&line, " ", rx.port, ".", rx.queue);
      if (rx.peer == kNoSlot) continue;
      const LcorePlan::Tx& tx = lcore.tx.at(rx.peer);
      absl::StrAppend(&line, ">", tx.port, ".", tx.queue);
    }
    for (const LcorePlan::Tx& tx : lcore.tx) {
      if (tx.source) absl::StrAppend(&line, " *", tx.port, ".", tx.queue);
    }
    if (lcore.Idle()) line += " idle";
    lines.push_back(line);
  }
  return absl::StrJoin(lines, "\n");
}

// One word per TX queue: "0.0=1+2/spinlock".
std::string Users(const Plan& plan) {
  std::vector<std::string> words;
  for (const TxQueuePlan& queue : plan.tx_queues) {
    words.push_back(absl::StrCat(queue.port, ".", queue.queue, "=", absl::StrJoin(queue.users, "+"),
                                 "/", SharingName(queue.sharing)));
  }
  return absl::StrJoin(words, " ");
}

struct TopologyCase {
  const char* what;
  size_t ports;
  uint16_t rxq;
  size_t lcores;
  ModeShape shape;
  PortTopology topology;
  const char* picture;
};

const TopologyCase kTopologies[] = {
    {"one port answers itself", 1, 1, 1, kForward, PortTopology::kPaired, "1: 0.0>0.0"},
    {"a pair on one lcore", 2, 1, 1, kForward, PortTopology::kPaired, "1: 0.0>1.0 1.0>0.0"},
    {"a pair on two lcores", 2, 1, 2, kForward, PortTopology::kPaired, "1: 0.0>1.0\n2: 1.0>0.0"},
    {"more lcores than queues", 2, 1, 4, kForward, PortTopology::kPaired,
     "1: 0.0>1.0\n2: 1.0>0.0\n3: idle\n4: idle"},
    {"each pair whole on one lcore", 4, 1, 2, kForward, PortTopology::kPaired,
     "1: 0.0>1.0 1.0>0.0\n2: 2.0>3.0 3.0>2.0"},
    {"three ports: the last pairs with itself", 3, 1, 3, kForward, PortTopology::kPaired,
     "1: 0.0>1.0\n2: 1.0>0.0\n3: 2.0>2.0"},
    {"five ports on two lcores", 5, 1, 2, kForward, PortTopology::kPaired,
     "1: 0.0>1.0 1.0>0.0 2.0>3.0\n2: 3.0>2.0 4.0>4.0"},
    {"chained", 3, 1, 1, kForward, PortTopology::kChained, "1: 0.0>1.0 1.0>2.0 2.0>0.0"},
    {"loop", 3, 1, 3, kForward, PortTopology::kLoop, "1: 0.0>0.0\n2: 1.0>1.0\n3: 2.0>2.0"},
    {"two queues, two lcores: a queue of both ports each", 2, 2, 2, kForward, PortTopology::kPaired,
     "1: 0.0>1.0 1.0>0.0\n2: 0.1>1.1 1.1>0.1"},
    {"the longer runs come first", 1, 5, 2, kForward, PortTopology::kPaired,
     "1: 0.0>0.0 0.1>0.0 0.2>0.0\n2: 0.3>0.1 0.4>0.1"},
    {"self is the port itself whatever the topology", 2, 1, 2, kEcho, PortTopology::kPaired,
     "1: 0.0>0.0\n2: 1.0>1.0"},
    {"none sends nowhere", 2, 1, 2, kSink, PortTopology::kPaired, "1: 0.0\n2: 1.0"}};

TEST(Planner, DealsOutTheWork) {
  for (const TopologyCase& c : kTopologies) {
    Configuration configuration;
    configuration.rxq = All(c.rxq);
    configuration.port_topology = c.topology;
    const auto plan = MakePlan(Ports(c.ports), Lcores(c.lcores), c.shape, configuration);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(Picture(*plan), c.picture) << c.what << "\n" << FormatPlan(*plan);
  }
}

TEST(Planner, SelfSendsBackWhateverTheTopology) {
  for (const PortTopology topology :
       {PortTopology::kPaired, PortTopology::kChained, PortTopology::kLoop}) {
    Configuration configuration;
    configuration.port_topology = topology;
    const auto plan = MakePlan(Ports(3), Lcores(1), kEcho, configuration);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(Picture(*plan), "1: 0.0>0.0 1.0>1.0 2.0>2.0");
  }
}

// ---- TX queues and sharing ----

struct SharingCase {
  const char* what;
  size_t ports;
  PlannerPort like;
  size_t lcores;
  PerPort rxq;
  PerPort txq;
  const char* sharing;
};

const SharingCase kSharings[] = {
    {"a queue per sender",
     1,
     Offering(8, 8),
     3,
     All(3),
     {},
     "0.0=1/exclusive 0.1=2/exclusive 0.2=3/exclusive"},
    {"up to what the port offers, then a lock",
     1,
     Offering(8, 2),
     3,
     All(3),
     {},
     "0.0=1+3/spinlock 0.1=2/exclusive"},
    {"the driver's own means where it has them",
     1,
     Offering(8, 2, false, true),
     3,
     All(3),
     {},
     "0.0=1+3/mt-lockfree 0.1=2/exclusive"},
    {"--txq is obeyed", 1, Offering(8, 8), 3, All(3), All(1), "0.0=1+2+3/spinlock"},
    {"queues that nobody sends to stay exclusive", 1, Offering(8, 8), 1, All(1), All(3),
     "0.0=1/exclusive 0.1=/exclusive 0.2=/exclusive"},
    {"an lcore that polls two queues of a port is one sender",
     1,
     Offering(8, 8),
     1,
     All(2),
     {},
     "0.0=1/exclusive"},
    {"by port",
     2,
     Offering(8, 8),
     2,
     All(2),
     {.all = 2, .of_port = {{1, 1}}},
     "0.0=1/exclusive 0.1=2/exclusive 1.0=1+2/spinlock"},
    {"as many as RX queues where the driver demands it",
     1,
     Offering(8, 8, true),
     1,
     All(3),
     {},
     "0.0=1/exclusive 0.1=/exclusive 0.2=/exclusive"},
    {"and no more than that: the lcores share",
     2,
     Offering(8, 8, true),
     2,
     {.all = std::nullopt, .of_port = {{0, 2}}},
     {},
     "0.0=1/exclusive 0.1=/exclusive 1.0=1+2/spinlock"}};

TEST(Planner, CountsTheUsersOfEachQueue) {
  for (const SharingCase& c : kSharings) {
    Configuration configuration;
    configuration.rxq = c.rxq;
    configuration.txq = c.txq;
    const auto plan = MakePlan(Ports(c.ports, c.like), Lcores(c.lcores), kForward, configuration);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(Users(*plan), c.sharing) << c.what << "\n" << FormatPlan(*plan);
  }
}

TEST(Planner, AnyGivesEachWorkingLcoreAQueueOnEveryPort) {
  const auto plan = MakePlan(Ports(3), Lcores(4), kRouter, Configuration{});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(Picture(*plan), "1: 0.0\n2: 1.0\n3: 2.0\n4: idle");
  EXPECT_EQ(Users(*plan),
            "0.0=1/exclusive 0.1=2/exclusive 0.2=3/exclusive "
            "1.0=1/exclusive 1.1=2/exclusive 1.2=3/exclusive "
            "2.0=1/exclusive 2.1=2/exclusive 2.2=3/exclusive");
  for (size_t i = 0; i < 3; ++i) {
    ASSERT_EQ(plan->lcores[i].tx.size(), 3U);
    for (uint16_t port = 0; port < 3; ++port) EXPECT_EQ(plan->lcores[i].tx[port].port, port);
  }
}

TEST(Planner, NoneHasATxQueueThatNobodyUses) {
  const auto plan = MakePlan(Ports(2), Lcores(2), kSink, Configuration{});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(Users(*plan), "0.0=/exclusive 1.0=/exclusive");
}

// ---- modes of sources ----

struct SourceCase {
  const char* what;
  size_t ports;
  PlannerPort like;
  size_t lcores;
  PerPort rxq;
  PerPort txq;
  const char* picture;
  uint16_t rx_queues;  // Of port 0.
};

const PlannerPort kMany = Offering(8, 8);
const PlannerPort kOne = Offering(1, 1);
const PlannerPort kEqual = Offering(8, 8, true);
const PlannerPort kEqualFewRx = Offering(2, 8, true);

const SourceCase kSources[] = {
    {"one port, one lcore", 1, kMany, 1, {}, {}, "1: *0.0", 1},
    {"a TX queue per lcore", 1, kMany, 3, {}, {}, "1: *0.0\n2: *0.1\n3: *0.2", 1},
    {"lcores shared out over the ports", 2, kMany, 3, {}, {}, "1: *0.0\n2: *1.0\n3: *0.1", 1},
    {"more lcores than TX queues", 1, kOne, 3, {}, {}, "1: *0.0\n2: idle\n3: idle", 1},
    {"fewer lcores than TX queues", 1, kMany, 2, {}, All(5), "1: *0.0 *0.1 *0.2\n2: *0.3 *0.4", 1},
    {"more ports than lcores", 4, kMany, 2, {}, {}, "1: *0.0 *1.0\n2: *2.0 *3.0", 1},
    {"equal numbers where the driver demands it",
     1,
     kEqual,
     3,
     {},
     {},
     "1: *0.0\n2: *0.1\n3: *0.2",
     3},
    {"as many as the RX queues that were asked for", 1, kEqual, 1, All(2), {}, "1: *0.0 *0.1", 2},
    {"no more than the RX queues that there are",
     1,
     kEqualFewRx,
     4,
     {},
     {},
     "1: *0.0\n2: *0.1\n3: idle\n4: idle",
     2},
    {"RX queues as asked", 1, kMany, 1, All(4), {}, "1: *0.0", 4}};

TEST(Planner, EachTxQueueIsFedByOneLcore) {
  for (const SourceCase& c : kSources) {
    Configuration configuration;
    configuration.rxq = c.rxq;
    configuration.txq = c.txq;
    const auto plan = MakePlan(Ports(c.ports, c.like), Lcores(c.lcores), kSource, configuration);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(Picture(*plan), c.picture) << c.what << "\n" << FormatPlan(*plan);
    EXPECT_EQ(plan->ports[0].rx_queues, c.rx_queues) << c.what;
    for (const TxQueuePlan& queue : plan->tx_queues) {
      EXPECT_EQ(queue.users.size(), 1U) << c.what;
      EXPECT_EQ(queue.sharing, Sharing::kExclusive) << c.what;
    }
  }
}

// ---- descriptors ----

TEST(Planner, DescriptorsFitThePort) {
  struct Row {
    DescriptorLimits limits;
    std::optional<uint16_t> asked;
    uint16_t planned;
  };
  const Row rows[] = {
      {{1, 32768, 1}, std::nullopt, 1024},
      {{1, 512, 1}, std::nullopt, 512},
      {{2048, 4096, 1}, std::nullopt, 2048},
      {{1, 1000, 64}, std::nullopt, 960},
      {{64, 4096, 32}, 96, 96},
      {{1, 32768, 0}, 77, 77},
      {{100, 120, 64}, std::nullopt, 0},  // No multiple in between: refused, see below.
  };
  for (const Row& row : rows) {
    PlannerPort port = Offering(4, 4);
    port.rx_descriptors = row.limits;
    port.tx_descriptors = row.limits;
    Configuration configuration;
    if (row.asked) configuration.rxd = configuration.txd = All(*row.asked);
    const auto plan = MakePlan(Ports(1, port), Lcores(1), kForward, configuration);
    if (row.planned == 0) {
      ASSERT_FALSE(plan.ok());
      EXPECT_EQ(plan.status().code(), absl::StatusCode::kFailedPrecondition);
      continue;
    }
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(plan->ports[0].rx_descriptors, row.planned);
    EXPECT_EQ(plan->ports[0].tx_descriptors, row.planned);
  }
}

// ---- refusals ----

struct RefusalCase {
  size_t ports;
  PlannerPort like;
  size_t lcores;
  void (*ask)(Configuration&);
  const char* message;
  ModeShape shape = kForward;
};

const PlannerPort kTwo = Offering(2, 2);
const PlannerPort kAligned = [] {
  PlannerPort port = Offering(2, 2);
  port.rx_descriptors = {64, 4096, 32};
  port.tx_descriptors = {128, 2048, 1};
  return port;
}();
const PlannerPort kEqualFewTx = Offering(8, 2, true);
const PlannerPort kGap = [] {
  PlannerPort port = Offering(1, 1);
  port.rx_descriptors = {100, 120, 64};
  return port;
}();

const RefusalCase kRefusals[] = {
    {0, kTwo, 1, [](Configuration&) {},
     "no port to work on: give one, such as --vdev=net_af_xdp0,iface=IFACE or -a "
     "PCI_ADDRESS"},
    {1, kTwo, 0, [](Configuration&) {},
     "no lcore to forward with: the first one runs commands, so give at least two, "
     "such as -l 0,1, or --lcores=0@0,1@0 on a machine with one processor"},
    {2, kTwo, 1, [](Configuration& c) { c.rxq = All(3); },
     "--rxq=3: port 0 (dev0) has at most 2 RX queues; ask for 1 to 2"},
    {2, kTwo, 1, [](Configuration& c) { c.txq.of_port[1] = 9; },
     "--txq=9: port 1 (dev1) has at most 2 TX queues; ask for 1 to 2"},
    {2, kTwo, 1, [](Configuration& c) { c.txq = All(3); },
     "--txq=3: port 0 (dev0) has at most 2 TX queues; ask for 1 to 2", kSource},
    {2, kTwo, 1, [](Configuration& c) { c.rxq = All(3); },
     "--rxq=3: port 0 (dev0) has at most 2 RX queues; ask for 1 to 2", kSource},
    {2, kTwo, 1, [](Configuration& c) { c.rxq.of_port[5] = 1; },
     "--rxq names port 5, which is not there; ports are 0, 1"},
    {2, kTwo, 1, [](Configuration& c) { c.txq.of_port[2] = 1; },
     "--txq names port 2, which is not there; ports are 0, 1"},
    {2, kTwo, 1, [](Configuration& c) { c.rxd.of_port[2] = 64; },
     "--rxd names port 2, which is not there; ports are 0, 1"},
    {2, kTwo, 1, [](Configuration& c) { c.txd.of_port[2] = 64; },
     "--txd names port 2, which is not there; ports are 0, 1"},
    {1, kTwo, 1, [](Configuration& c) { c.eth_peer[3] = MacAddress{}; },
     "--eth-peer names port 3, which is not there; ports are 0"},
    {1, kAligned, 1, [](Configuration& c) { c.rxd = All(100); },
     "--rxd=100: port 0 (dev0) takes 64 to 4096 descriptors in steps of 32"},
    {1, kAligned, 1, [](Configuration& c) { c.rxd = All(32); },
     "--rxd=32: port 0 (dev0) takes 64 to 4096 descriptors in steps of 32"},
    {1, kAligned, 1, [](Configuration& c) { c.txd = All(4096); },
     "--txd=4096: port 0 (dev0) takes 128 to 2048 descriptors in steps of 1"},
    {1, kEqual, 1, [](Configuration& c) { c.txq = All(2); },
     "port 0 (dev0): its driver wants as many TX queues as RX queues, and the plan "
     "has 2 and 1; give both, such as --rxq=0:1 --txq=0:1"},
    {1, kEqualFewTx, 1, [](Configuration& c) { c.rxq = All(4); },
     "port 0 (dev0): its driver wants as many TX queues as RX queues, and the plan "
     "has 2 and 4; give both, such as --rxq=0:2 --txq=0:2"},
    {1, kGap, 1, [](Configuration&) {},
     "port 0 (dev0) takes 100 to 120 descriptors in steps of 64: there is no such "
     "number"}};

TEST(Planner, SayWhatAndWhatToType) {
  for (const RefusalCase& c : kRefusals) {
    Configuration configuration;
    c.ask(configuration);
    const auto plan = MakePlan(Ports(c.ports, c.like), Lcores(c.lcores), c.shape, configuration);
    ASSERT_FALSE(plan.ok()) << FormatPlan(*plan);
    EXPECT_EQ(plan.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(std::string(plan.status().message()), c.message);
  }
}

TEST(PlannerTest, AllRxQueuesOfAPortThatHasThemAnywayArePolledUnlessSaidOtherwise) {
  PlannerPort port = Offering(3, 3);
  port.fixed_queues = true;
  Configuration configuration;
  auto plan = MakePlan(Ports(1, port), Lcores(3), kSink, configuration);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(Picture(*plan), "1: 0.0\n2: 0.1\n3: 0.2");
  EXPECT_THAT(plan->notes, IsEmpty());
  configuration.rxq = All(2);
  plan = MakePlan(Ports(1, port), Lcores(2), kSink, configuration);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(Picture(*plan), "1: 0.0\n2: 0.1");
  EXPECT_THAT(plan->notes,
              ElementsAre("port 0 (dev0) has 3 RX queues, of which --rxq has 2 polled: "
                          "what comes in on the others is lost"));
}

// ---- mempools and notes ----

TEST(Planner, OneMempoolPerNodeThatHasAPortOrAWorkingLcore) {
  std::vector<PlannerPort> ports = Ports(2);
  ports[0].numa_node = 1;
  ports[1].numa_node = -1;  // Served from the lcores' node.
  const std::vector<PlannerLcore> lcores = {{1, 2}, {2, 1}, {3, 3}};
  const auto plan = MakePlan(ports, lcores, kForward, Configuration{});
  ASSERT_TRUE(plan.ok()) << plan.status();
  std::vector<int> nodes;
  for (const MempoolPlan& pool : plan->mempools) nodes.push_back(pool.numa_node);
  EXPECT_THAT(nodes, ElementsAre(1, 2));  // None on 3: that lcore is idle.
  EXPECT_EQ(plan->ports[0].mempool, 0);
  EXPECT_EQ(plan->ports[1].mempool, 1);
  EXPECT_EQ(plan->lcores[0].mempool, 1);
  EXPECT_EQ(plan->lcores[1].mempool, 0);
  EXPECT_THAT(plan->notes, ElementsAre("lcore 1 on NUMA node 2 polls port 0 on node 1",
                                       "lcore 3 is idle: there are fewer RX queues than lcores"));
}

TEST(Planner, MempoolsHoldWhatWasAskedForOrEnoughForAll) {
  Configuration configuration;
  configuration.total_num_mbufs = 5000;
  auto plan = MakePlan(Ports(2), Lcores(1), kForward, configuration);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(plan->mempools, ElementsAre(MempoolPlan{0, 5000}));

  plan = MakePlan(Ports(2), Lcores(1), kForward, Configuration{});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(plan->mempools, ElementsAre(MempoolPlan{0, 16383}));

  PlannerPort hungry = Offering(8, 8);
  hungry.driver_mbufs = 6144;
  configuration = {};
  configuration.rxq = All(4);
  plan = MakePlan(Ports(2, hungry), Lcores(1), kForward, configuration);
  ASSERT_TRUE(plan.ok()) << plan.status();
  // 2 ports x 4 queues x (1024 + 6144), 2 x 1 TX queue x 1024, an lcore's cache and bursts: 61299.
  EXPECT_THAT(plan->mempools, ElementsAre(MempoolPlan{0, 65535}));
}

TEST(Planner, NotesSayWhatAUserMayWantToKnow) {
  Configuration configuration;
  configuration.rxq = All(2);
  configuration.txq = All(1);
  auto plan = MakePlan(Ports(1), Lcores(3), kForward, configuration);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(
      plan->notes,
      ElementsAre("an odd number of ports: port 0 (dev0) sends back what it receives",
                  "lcore 3 is idle: there are fewer RX queues than lcores",
                  "2 lcores send to queue 0 of port 0 under a lock: more lcores send to the "
                  "port than its TX queues, 1, and it has no MT_LOCKFREE"));
  plan = MakePlan(Ports(2), Lcores(2), kForward, Configuration{});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(plan->notes, IsEmpty());
  plan = MakePlan(Ports(1, kOne), Lcores(2), kSource, Configuration{});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(plan->notes, ElementsAre("lcore 2 is idle: there are fewer TX queues than lcores"));
}

// ---- as text and as JSON ----

TEST(Planner, FormatPlanIsATable) {
  Configuration configuration;
  configuration.rxq.of_port[0] = 2;
  configuration.txq = All(1);
  const auto plan = MakePlan(Ports(2), Lcores(4), kForward, configuration);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(
      FormatPlan(*plan),
      "plan (queues as PORT.QUEUE)\n"
      "  lcore  rx queues                tx queues: users, sharing                mempool\n"
      "  1      0.0                      1.0: 2, spinlock                         0\n"
      "  2      1.0                      0.0: 1, exclusive                        0\n"
      "  3      0.1                      1.0: 2, spinlock                         0\n"
      "  4      -                        -                                        -\n"
      "  port 0: 2 rx queues of 1024, 1 tx queues of 1024, mempool 0\n"
      "  port 1: 1 rx queues of 1024, 1 tx queues of 1024, mempool 0\n"
      "  mempool 0: 16383 mbufs on NUMA node 0\n"
      "  note: lcore 4 is idle: there are fewer RX queues than lcores\n"
      "  note: 2 lcores send to queue 0 of port 1 under a lock: more lcores send to the port than "
      "its TX queues, 1, and it has no MT_LOCKFREE\n");
}

TEST(Planner, JsonSaysTheSame) {
  const auto plan = MakePlan(Ports(1), Lcores(2), kForward, Configuration{});
  ASSERT_TRUE(plan.ok()) << plan.status();
  const Json expected = Json::parse(R"({
    "ports": [{"port": 0, "rx_queues": 1, "tx_queues": 1, "rx_descriptors": 1024,
               "tx_descriptors": 1024, "mempool": 0}],
    "lcores": [{"lcore": 1, "rx_queues": [{"port": 0, "queue": 0}],
                "tx_queues": [{"port": 0, "queue": 0}], "mempool": 0},
               {"lcore": 2, "rx_queues": [], "tx_queues": []}],
    "tx_queues": [{"port": 0, "queue": 0, "users": [1], "sharing": "exclusive"}],
    "mempools": [{"numa_node": 0, "mbufs": 16383}],
    "notes": ["an odd number of ports: port 0 (dev0) sends back what it receives",
              "lcore 2 is idle: there are fewer RX queues than lcores"]})");
  EXPECT_EQ(ToJson(*plan), expected) << ToJson(*plan).dump(1);
}

// ---- whatever is asked ----

struct World {
  std::vector<PlannerPort> ports;
  std::vector<PlannerLcore> lcores;
  ModeShape shape;
  Configuration configuration;
};

class Dice {
 public:
  explicit Dice(uint32_t seed) : random_(seed) {}
  uint16_t From(uint16_t low, uint16_t high) {
    return std::uniform_int_distribution<uint16_t>(low, high)(random_);
  }
  bool Coin() { return From(0, 1) == 1; }

 private:
  std::mt19937 random_;
};

World RandomWorld(Dice& dice) {
  World world;
  const uint16_t ports = dice.From(1, 6);
  // Port numbers with gaps: a port's number is not its index.
  uint16_t number = dice.From(0, 2);
  for (uint16_t i = 0; i < ports; ++i) {
    PlannerPort port;
    port.port = number;
    number = static_cast<uint16_t>(number + dice.From(1, 3));
    port.name = absl::StrCat("dev", i);
    port.numa_node = dice.From(0, 2) - 1;
    port.max_rx_queues = dice.From(1, 6);
    port.max_tx_queues = dice.From(1, 6);
    port.equal_queues = dice.From(0, 3) == 0;
    port.mt_lockfree = dice.Coin();
    port.driver_mbufs = dice.Coin() ? 6144 : 0;
    port.rx_descriptors = {dice.From(1, 64), dice.From(512, 4096), dice.From(0, 32)};
    world.ports.push_back(port);
    const auto maybe = [&](PerPort& values, uint16_t max) {
      if (dice.From(0, 3) == 0) values.of_port[port.port] = dice.From(1, max);
    };
    maybe(world.configuration.rxq, port.max_rx_queues);
    maybe(world.configuration.txq, port.max_tx_queues);
  }
  const uint16_t lcores = dice.From(1, 8);
  for (unsigned i = 0; i < lcores; ++i) world.lcores.push_back({i * 2 + 1, dice.From(0, 1)});
  const Destination sends[] = {Destination::kNone, Destination::kPeer, Destination::kSelf,
                               Destination::kAny};
  const PortTopology topologies[] = {PortTopology::kPaired, PortTopology::kChained,
                                     PortTopology::kLoop};
  world.shape = dice.From(0, 4) == 0 ? kSource : ModeShape{.sends = sends[dice.From(0, 3)]};
  world.configuration.port_topology = topologies[dice.From(0, 2)];
  world.configuration.mbcache = dice.From(0, 512);
  return world;
}

using Queue = std::pair<uint16_t, uint16_t>;

// What the mode wants of a packet from the index-th port, told without the planner's own code.
uint16_t PeerPort(const World& world, size_t index) {
  const size_t count = world.ports.size();
  size_t peer = index;
  if (world.shape.sends == Destination::kPeer) {
    if (world.configuration.port_topology == PortTopology::kChained) {
      peer = index + 1 == count ? 0 : index + 1;
    } else if (world.configuration.port_topology == PortTopology::kPaired) {
      peer = index % 2 == 1 ? index - 1 : (index + 1 < count ? index + 1 : index);
    }
  }
  return world.ports[peer].port;
}

void CheckPlan(const World& world, const Plan& plan) {
  ASSERT_EQ(plan.ports.size(), world.ports.size());
  ASSERT_EQ(plan.lcores.size(), world.lcores.size());
  const bool receives = world.shape.streams == Streams::kReceive;

  // Queues within what the port has, and as asked.
  for (size_t i = 0; i < plan.ports.size(); ++i) {
    const PortPlan& port = plan.ports[i];
    const PlannerPort& known = world.ports[i];
    EXPECT_EQ(port.port, known.port);
    EXPECT_GE(port.rx_queues, 1);
    EXPECT_LE(port.rx_queues, known.max_rx_queues);
    EXPECT_GE(port.tx_queues, 1);
    EXPECT_LE(port.tx_queues, known.max_tx_queues);
    const auto rxq = world.configuration.rxq.For(port.port);
    const auto txq = world.configuration.txq.For(port.port);
    if (rxq) {
      EXPECT_EQ(port.rx_queues, *rxq);
    }
    if (txq) {
      EXPECT_EQ(port.tx_queues, *txq);
    }
    if (known.equal_queues) {
      EXPECT_EQ(port.rx_queues, port.tx_queues);
    }
    EXPECT_GE(port.rx_descriptors, known.rx_descriptors.min);
    EXPECT_LE(port.rx_descriptors, known.rx_descriptors.max);
    EXPECT_EQ(port.rx_descriptors % std::max<uint16_t>(known.rx_descriptors.align, 1), 0);
    ASSERT_LT(port.mempool, plan.mempools.size());
  }

  // Every RX queue is polled by exactly one lcore, or none where nothing is received.
  std::map<Queue, int> polled;
  std::map<Queue, std::set<unsigned>> users;
  size_t most = 0;
  size_t fewest = SIZE_MAX;
  for (size_t i = 0; i < plan.lcores.size(); ++i) {
    const LcorePlan& lcore = plan.lcores[i];
    EXPECT_EQ(lcore.lcore, world.lcores[i].lcore);
    if (!lcore.Idle()) {
      ASSERT_LT(lcore.mempool, plan.mempools.size());
      EXPECT_EQ(plan.mempools[lcore.mempool].numa_node, world.lcores[i].numa_node);
    }
    std::set<uint16_t> ports_sent_to;
    for (const LcorePlan::Tx& tx : lcore.tx) {
      // The index leads to the very queue, and no lcore has two slots for one port unless it feeds
      // two of its queues.
      ASSERT_LT(tx.shared_queue, plan.tx_queues.size());
      EXPECT_EQ(plan.tx_queues[tx.shared_queue].port, tx.port);
      EXPECT_EQ(plan.tx_queues[tx.shared_queue].queue, tx.queue);
      EXPECT_EQ(tx.source, !receives);
      if (receives) {
        EXPECT_TRUE(ports_sent_to.insert(tx.port).second);
      }
      users[{tx.port, tx.queue}].insert(lcore.lcore);
    }
    std::set<uint16_t> wanted;
    for (const LcorePlan::Rx& rx : lcore.rx) {
      ++polled[{rx.port, rx.queue}];
      const size_t index = static_cast<size_t>(
          std::ranges::find(world.ports, rx.port, &PlannerPort::port) - world.ports.begin());
      ASSERT_LT(index, world.ports.size());
      switch (world.shape.sends) {
        case Destination::kNone:
          EXPECT_EQ(rx.peer, kNoSlot);
          break;
        case Destination::kAny:
          EXPECT_EQ(rx.peer, kNoSlot);
          for (const PlannerPort& port : world.ports) wanted.insert(port.port);
          break;
        default:
          ASSERT_LT(rx.peer, lcore.tx.size());
          EXPECT_EQ(lcore.tx[rx.peer].port, PeerPort(world, index));
          wanted.insert(PeerPort(world, index));
      }
    }
    if (receives) {
      EXPECT_EQ(ports_sent_to, wanted);
    }
    const size_t streams = receives ? lcore.rx.size() : lcore.tx.size();
    most = std::max(most, streams);
    fewest = std::min(fewest, streams);
  }
  EXPECT_LE(most - fewest, 1U) << "unequal runs";
  for (const PortPlan& port : plan.ports) {
    for (uint16_t queue = 0; queue < port.rx_queues; ++queue) {
      EXPECT_EQ((polled[{port.port, queue}]), receives ? 1 : 0) << port.port << "." << queue;
    }
  }

  // Each TX queue stands in the plan once, with its users, and is exclusive iff none shares it.
  std::set<Queue> listed;
  for (const TxQueuePlan& queue : plan.tx_queues) {
    EXPECT_TRUE(listed.insert({queue.port, queue.queue}).second);
    const std::set<unsigned> counted(queue.users.begin(), queue.users.end());
    EXPECT_EQ(counted.size(), queue.users.size()) << "a user twice";
    EXPECT_EQ(counted, (users[{queue.port, queue.queue}]));
    const bool lockfree =
        std::ranges::find(world.ports, queue.port, &PlannerPort::port)->mt_lockfree;
    const Sharing expected = counted.size() < 2 ? Sharing::kExclusive
                             : lockfree         ? Sharing::kMtLockfree
                                                : Sharing::kSpinlock;
    EXPECT_EQ(queue.sharing, expected);
  }
  size_t queues = 0;
  for (const PortPlan& port : plan.ports) queues += port.tx_queues;
  EXPECT_EQ(listed.size(), queues);
  // The driver is asked for it just where the plan counts on it.
  for (const PortPlan& port : plan.ports) {
    EXPECT_EQ(port.mt_lockfree, std::ranges::any_of(plan.tx_queues, [&](const TxQueuePlan& queue) {
                return queue.port == port.port && queue.sharing == Sharing::kMtLockfree;
              }));
  }

  // No queue is shared while another of its port has two users less: the senders are spread evenly.
  if (receives) {
    for (const PortPlan& port : plan.ports) {
      size_t high = 0;
      size_t low = SIZE_MAX;
      for (uint16_t queue = 0; queue < port.tx_queues; ++queue) {
        high = std::max(high, users[{port.port, queue}].size());
        low = std::min(low, users[{port.port, queue}].size());
      }
      EXPECT_LE(high - low, 1U);
    }
  }

  // Every descriptor and every cache of every lcore can be full, and each lcore still has a burst.
  uint64_t everywhere = 0;
  for (size_t i = 0; i < plan.ports.size(); ++i) {
    const PortPlan& port = plan.ports[i];
    everywhere += uint64_t{port.rx_queues} * (port.rx_descriptors + world.ports[i].driver_mbufs);
    everywhere += uint64_t{port.tx_queues} * port.tx_descriptors;
  }
  everywhere += world.lcores.size() * (world.configuration.mbcache * 3 / 2 + kMaxBurst);
  std::set<int> nodes;
  for (const MempoolPlan& pool : plan.mempools) {
    EXPECT_GE(pool.mbufs, everywhere);
    EXPECT_TRUE(nodes.insert(pool.numa_node).second) << "two mempools on one node";
  }
}

TEST(PlannerProperty, EveryPlanKeepsItsPromises) {
  constexpr int kWorlds = 5000;
  int planned = 0;
  int refused = 0;
  for (int seed = 0; seed < kWorlds; ++seed) {
    Dice dice(static_cast<uint32_t>(seed));
    const World world = RandomWorld(dice);
    const auto plan = MakePlan(world.ports, world.lcores, world.shape, world.configuration);
    if (!plan.ok()) {
      // The dice ask only for what each port has; what is left to refuse is unequal numbers.
      EXPECT_THAT(std::string(plan.status().message()),
                  HasSubstr("its driver wants as many TX queues as RX queues"))
          << "seed " << seed;
      ++refused;
      continue;
    }
    ++planned;
    CheckPlan(world, *plan);
    if (HasFailure()) FAIL() << "seed " << seed << "\n" << FormatPlan(*plan);
  }
  // Both outcomes were really looked at.
  EXPECT_GT(planned, kWorlds / 2);
  EXPECT_GT(refused, 0);
}

TEST(PlannerProperty, TheSameQuestionGetsTheSamePlan) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    Dice dice(seed);
    const World world = RandomWorld(dice);
    const auto one = MakePlan(world.ports, world.lcores, world.shape, world.configuration);
    const auto two = MakePlan(world.ports, world.lcores, world.shape, world.configuration);
    ASSERT_EQ(one.ok(), two.ok());
    if (one.ok()) {
      EXPECT_EQ(ToJson(*one), ToJson(*two));
    }
  }
}

}  // namespace
}  // namespace penstock
