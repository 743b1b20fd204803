// SPDX-License-Identifier: BSD-3-Clause
//
// The planner's rules, by tables and by the exact reasons of its refusals. No EAL needed; test
// process only.

#include "lib/pipeline/planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "test/unit/pipeline/planner_worlds.h"

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

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
    QueueLimits limits;
    std::optional<uint16_t> asked;
    uint16_t planned;
  };
  const Row rows[] = {
      {{4, 1, 32768, 1}, std::nullopt, 1024},
      {{4, 1, 512, 1}, std::nullopt, 512},
      {{4, 2048, 4096, 1}, std::nullopt, 2048},
      {{4, 1, 1000, 64}, std::nullopt, 960},
      {{4, 64, 4096, 32}, 96, 96},
      {{4, 1, 32768, 0}, 77, 77},
      {{4, 100, 120, 64}, std::nullopt, 0},  // No multiple in between: refused, see below.
  };
  for (const Row& row : rows) {
    PlannerPort port = Offering(4, 4);
    port.rx = row.limits;
    port.tx = row.limits;
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
  port.rx = {2, 64, 4096, 32};
  port.tx = {2, 128, 2048, 1};
  return port;
}();
const PlannerPort kEqualFewTx = Offering(8, 2, true);
const PlannerPort kGap = [] {
  PlannerPort port = Offering(1, 1);
  port.rx = {1, 100, 120, 64};
  return port;
}();

const PlannerPort kEqualRings = [] {
  PlannerPort port = Offering(1, 1);
  port.equal_descriptors = true;
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
    {1, kEqualRings, 1, [](Configuration& c) { c.txd = All(65); },
     "--txd=65: port 0 (dev0): its driver makes TX rings as long as RX rings, which have 1024 "
     "descriptors; leave --txd out, or give the same to both"},
    {1, kEqualRings, 1,
     [](Configuration& c) {
       c.rxd = All(512);
       c.txd.of_port[0] = 1024;
     },
     "--txd=1024: port 0 (dev0): its driver makes TX rings as long as RX rings, which have 512 "
     "descriptors; leave --txd out, or give the same to both"},
    {1, kEqual, 1, [](Configuration& c) { c.txq = All(2); },
     "port 0 (dev0): its driver wants as many TX queues as RX queues, and the plan "
     "has 2 and 1; give both, such as --rxq=0:1 --txq=0:1"},
    {1, kEqualFewTx, 1, [](Configuration& c) { c.rxq = All(4); },
     "port 0 (dev0): its driver wants as many TX queues as RX queues, and the plan "
     "has 2 and 4; give both, such as --rxq=0:2 --txq=0:2"},
    {2, kTwo, 1,
     [](Configuration& c) {
       c.portlist = {1, 2};
     },
     "--portlist names port 2, which is not there; ports are 0, 1"},
    {2, kTwo, 1, [](Configuration& c) { c.stopped_ports = {3}; },
     "port stop names port 3, which is not there; ports are 0, 1"},
    {2, kTwo, 1, [](Configuration& c) { c.stopped_ports = {1}; },
     "port 1 (dev1) is stopped and is to forward: type port start 1, or leave it out with set "
     "portlist"},
    {2, kTwo, 2,
     [](Configuration& c) {
       c.corelist = {1, 0};
     },
     "--corelist names lcore 0, which may not work; those that may are 1, 2 (EAL's first lcore "
     "runs "
     "commands)"},
    {2, kTwo, 2, [](Configuration& c) { c.nb_cores = 3; },
     "--nb-cores=3: 2 lcores may work: 1, 2; ask for 1 to 2"},
    {2, kTwo, 2,
     [](Configuration& c) {
       c.corelist = {2};
       c.nb_cores = 2;
     },
     "--nb-cores=2: 1 lcores may work: 2; ask for 1 to 1"},
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

TEST(Planner, TxRingsThatFollowRxRingsArePlannedAsLongAsThose) {
  Configuration configuration;
  for (const uint16_t both : {1024, 512, 16384}) {
    if (both != 1024) configuration.rxd = All(both);
    for (const bool said : {false, true}) {
      configuration.txd = said ? All(both) : PerPort{};
      const auto plan = MakePlan(Ports(1, kEqualRings), Lcores(1), kEcho, configuration);
      ASSERT_TRUE(plan.ok()) << plan.status();
      EXPECT_EQ(plan->ports[0].rx_descriptors, both);
      EXPECT_EQ(plan->ports[0].tx_descriptors, both);
    }
  }
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

}  // namespace
}  // namespace penstock
