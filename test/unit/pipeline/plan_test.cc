// SPDX-License-Identifier: BSD-3-Clause
//
// A plan as text and as JSON. No EAL needed; test process only.

#include "lib/pipeline/plan.h"

#include <gtest/gtest.h>

#include "test/unit/pipeline/planner_worlds.h"

namespace penstock {
namespace {

TEST(Plan, FormatPlanIsATable) {
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
      "  mempool 0: 32767 mbufs on NUMA node 0\n"
      "  note: lcore 4 is idle: there are fewer RX queues than lcores\n"
      "  note: 2 lcores send to queue 0 of port 1 under a lock: more lcores send to the port than "
      "its TX queues, 1, and it has no MT_LOCKFREE\n");
}

TEST(Plan, JsonSaysTheSame) {
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

}  // namespace
}  // namespace penstock
