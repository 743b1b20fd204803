// SPDX-License-Identifier: BSD-3-Clause
//
// The planner's choices: which ports forward, which lcores work, and what becomes of a port that
// can be set up only once. No EAL needed; test process only.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "lib/pipeline/planner.h"
#include "test/unit/pipeline/planner_worlds.h"

namespace penstock {
namespace {

using testing::ElementsAre;

// ---- which ports forward, which lcores work ----

struct ChoiceCase {
  const char* what;
  size_t ports;
  size_t lcores;
  void (*ask)(Configuration&);
  const char* picture;
  ModeShape shape = kForward;
};

const ChoiceCase kChoices[] = {
    {"two of four ports", 4, 1,
     [](Configuration& c) {
       c.portlist = {1, 3};
     },
     "1: 1.0>3.0 3.0>1.0"},
    {"the list's order is the topology's", 3, 1,
     [](Configuration& c) {
       c.portlist = {2, 0, 1};
       c.port_topology = PortTopology::kChained;
     },
     "1: 2.0>0.0 0.0>1.0 1.0>2.0"},
    {"pairs as listed", 4, 2,
     [](Configuration& c) {
       c.portlist = {0, 3, 2, 1};
     },
     "1: 0.0>3.0 3.0>0.0\n2: 2.0>1.0 1.0>2.0"},
    {"one port answers itself", 2, 1, [](Configuration& c) { c.portlist = {1}; }, "1: 1.0>1.0"},
    {"sources on listed ports only", 3, 2,
     [](Configuration& c) {
       c.portlist = {2, 1};
     },
     "1: *2.0\n2: *1.0", kSource},
    {"a router sends to listed ports only", 3, 1,
     [](Configuration& c) {
       c.portlist = {0, 2};
     },
     "1: 0.0 2.0", kRouter},
    {"a stopped port that does not forward", 3, 1,
     [](Configuration& c) {
       c.portlist = {0, 1};
       c.stopped_ports = {2};
     },
     "1: 0.0>1.0 1.0>0.0"},
    {"a stopped port while nothing forwards", 2, 1,
     [](Configuration& c) {
       c.forwarding = false;
       c.stopped_ports = {0, 1};
     },
     "1: 0.0>1.0 1.0>0.0"},
    {"listed lcores in their order", 2, 3,
     [](Configuration& c) {
       c.corelist = {3, 1};
     },
     "3: 0.0>1.0\n1: 1.0>0.0"},
    {"the first of all lcores", 2, 3, [](Configuration& c) { c.nb_cores = 1; },
     "1: 0.0>1.0 1.0>0.0"},
    {"the first of the listed lcores", 2, 3,
     [](Configuration& c) {
       c.corelist = {2, 3};
       c.nb_cores = 1;
     },
     "2: 0.0>1.0 1.0>0.0"}};

TEST(Planner, PortsAndLcoresAreChosen) {
  for (const ChoiceCase& c : kChoices) {
    Configuration configuration;
    c.ask(configuration);
    const auto plan = MakePlan(Ports(c.ports), Lcores(c.lcores), c.shape, configuration);
    ASSERT_TRUE(plan.ok()) << c.what << ": " << plan.status();
    EXPECT_EQ(Picture(*plan), c.picture) << c.what << "\n" << FormatPlan(*plan);
    EXPECT_EQ(plan->ports.size(), c.ports) << c.what;  // All are set up.
  }
}

TEST(Planner, APortThatDoesNotForwardHasQueuesThatNobodyUses) {
  Configuration configuration;
  configuration.portlist = {0};
  const auto plan = MakePlan(Ports(2), Lcores(2), kForward, configuration);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->ports[1].rx_queues, 1);
  EXPECT_EQ(plan->ports[1].tx_queues, 1);
  EXPECT_EQ(Users(*plan), "0.0=1/exclusive 1.0=/exclusive");
  EXPECT_THAT(plan->notes,
              ElementsAre("port 1 (dev1) does not forward: it is not in --portlist",
                          "an odd number of ports: port 0 (dev0) sends back what it receives",
                          "lcore 2 is idle: there are fewer RX queues than lcores"));
}

TEST(Planner, MempoolsHoldEnoughForAllLcoresWhicheverAreChosen) {
  Configuration configuration;
  configuration.mbcache = 512;
  const auto all = MakePlan(Ports(2), Lcores(20), kForward, configuration);
  configuration.nb_cores = 1;
  const auto one = MakePlan(Ports(2), Lcores(20), kForward, configuration);
  ASSERT_TRUE(all.ok() && one.ok());
  EXPECT_EQ(all->mempools, one->mempools);
}

// ---- a port whose queues are fixed once they are set up ----

TEST(Planner, APortThatSetsUpOnceKeepsItsQueues) {
  std::vector<PlannerPort> ports = Ports(2, Offering(4, 4, /*equal_queues=*/true));
  for (PlannerPort& port : ports) {
    port.fixed_queues = true;
    port.fixed = PortPlan{port.port, 2, 2, 1024, 1024, 0, false};
  }
  const auto expect_kept = [&](const ModeShape& shape, const Configuration& configuration,
                               size_t lcores) {
    const auto plan = MakePlan(ports, Lcores(lcores), shape, configuration);
    ASSERT_TRUE(plan.ok()) << plan.status();
    for (const PortPlan& port : plan->ports) EXPECT_EQ(port, *ports[port.port].fixed);
  };
  Configuration configuration;
  for (const size_t lcores : {1, 2, 4}) {
    for (const ModeShape& shape : {kForward, kSink, kSource, kRouter, kEcho}) {
      expect_kept(shape, configuration, lcores);
    }
  }
  configuration.portlist = {1};
  expect_kept(kForward, configuration, 3);
  // More senders than it has queues share them.
  const auto shared = MakePlan(ports, Lcores(4), kRouter, Configuration{});
  ASSERT_TRUE(shared.ok()) << shared.status();
  EXPECT_EQ(Users(*shared), "0.0=1+3/spinlock 0.1=2+4/spinlock 1.0=1+3/spinlock 1.1=2+4/spinlock");
  // What is asked for is planned all the same: the port itself says that it cannot.
  configuration.rxq = configuration.txq = All(3);
  const auto asked = MakePlan(ports, Lcores(1), kForward, configuration);
  ASSERT_TRUE(asked.ok()) << asked.status();
  EXPECT_EQ(asked->ports[0].rx_queues, 3);
}

TEST(Planner, MtLockfreeOfAPortThatSetsUpOnceIsWhatItWasSetUpWith) {
  for (const bool was : {false, true}) {
    std::vector<PlannerPort> ports = Ports(1, Offering(4, 4, false, /*mt_lockfree=*/true));
    ports[0].fixed = PortPlan{0, 2, 1, 1024, 1024, 0, was};
    const auto plan = MakePlan(ports, Lcores(2), kForward, Configuration{});
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(Users(*plan), was ? "0.0=1+2/mt-lockfree" : "0.0=1+2/spinlock");
    EXPECT_EQ(plan->ports[0], *ports[0].fixed);
  }
}

}  // namespace
}  // namespace penstock
