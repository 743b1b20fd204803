// SPDX-License-Identifier: BSD-3-Clause
//
// Port: from set-up to close and in between, with counts that survive what drivers do to theirs. On
// net_ring and net_null, which leave nothing outside the process. Main lcore.

#include "lib/port/port.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rte_ethdev.h>

#include <string>

#include "test/unit/pipeline/rig.h"

namespace penstock {
namespace {

using testing::HasSubstr;

Port Open(uint16_t port) {
  auto opened = Port::Open(port, nullptr);
  EXPECT_TRUE(opened.ok()) << opened.status();
  return *std::move(opened);
}

// Takes what waits in RX queue 0 and sends it by TX queue 0; returns how many.
uint16_t Forward(uint16_t port) {
  rte_mbuf* mbufs[64];
  const uint16_t received = rte_eth_rx_burst(port, 0, mbufs, 64);
  EXPECT_EQ(rte_eth_tx_burst(port, 0, mbufs, received), received);
  return received;
}

TEST(Port, OpenKnowsThePortOrSaysThatThereIsNone) {
  RingPort ring;
  const Port port = Open(ring.port());
  EXPECT_EQ(port.capabilities().driver, "net_ring");
  EXPECT_FALSE(port.started());
  const auto none = Port::Open(RTE_MAX_ETHPORTS - 1, nullptr);
  EXPECT_EQ(none.status().code(), absl::StatusCode::kNotFound) << none.status();
}

TEST(Port, RunsFromSetUpToClose) {
  Pool pool(500);
  RingPort ring({.rx_queues = 2, .tx_queues = 2});
  Port port = Open(ring.port());
  ASSERT_TRUE(port.SetUp({.rx_queues = 2, .tx_queues = 2, .mempool = pool.get()}).ok());
  rte_eth_dev_info info;
  ASSERT_EQ(rte_eth_dev_info_get(ring.port(), &info), 0);
  EXPECT_EQ(info.nb_rx_queues, 2);
  EXPECT_EQ(info.nb_tx_queues, 2);
  ASSERT_TRUE(port.Start().ok());
  EXPECT_TRUE(port.started());
  EXPECT_EQ(rte_eth_promiscuous_get(ring.port()), 1);
  EXPECT_TRUE(port.Start().ok());  // Once more changes nothing.
  ring.Give(0, pool, 1, 40);
  EXPECT_EQ(Forward(ring.port()), 40);
  EXPECT_EQ(ring.Take(0), Tags(1, 0, 40));
  ASSERT_TRUE(port.Stop().ok());
  EXPECT_FALSE(port.started());
  EXPECT_EQ(rte_eth_promiscuous_get(ring.port()), 0);  // As it was found.
  EXPECT_TRUE(port.Stop().ok());
  ASSERT_TRUE(port.Close().ok());
  EXPECT_FALSE(ring.Open());
  EXPECT_TRUE(port.Close().ok());
}

TEST(Port, CloseStopsAPortThatRuns) {
  Pool pool(100);
  RingPort ring;
  Port port = Open(ring.port());
  ASSERT_TRUE(port.SetUp({.mempool = pool.get()}).ok());
  ASSERT_TRUE(port.Start().ok());
  ring.Give(0, pool, 1, 10);
  EXPECT_EQ(Forward(ring.port()), 10);
  ASSERT_TRUE(port.Close().ok());
  EXPECT_FALSE(port.started());
  EXPECT_FALSE(ring.Open());
  EXPECT_EQ(port.Counts().rx_packets, 10U);  // Known for good.
  EXPECT_EQ(port.Counts().tx_packets, 10U);
}

TEST(Port, CountsSinceOpenAcrossStopsAndWhateverWasBefore) {
  Pool pool(500);
  RingPort ring;
  ring.Start(pool);
  ring.Give(0, pool, 1, 7);
  ASSERT_EQ(Forward(ring.port()), 7);  // Somebody else's traffic.
  ASSERT_EQ(rte_eth_dev_stop(ring.port()), 0);

  Port port = Open(ring.port());
  EXPECT_EQ(port.Counts().rx_packets, 0U);
  uint64_t sum = 0;
  for (const uint32_t packets : {10U, 20U, 5U}) {
    // Also with other queues than before.
    ASSERT_TRUE(port.SetUp({.rx_descriptors = 64, .mempool = pool.get()}).ok());
    ASSERT_TRUE(port.Start().ok());
    ring.Give(0, pool, 1, packets);
    ASSERT_EQ(Forward(ring.port()), packets);
    sum += packets;
    EXPECT_EQ(port.Counts().rx_packets, sum);
    EXPECT_EQ(port.Counts().tx_packets, sum);
    ASSERT_TRUE(port.Stop().ok());
    EXPECT_EQ(port.Counts().rx_packets, sum);
    EXPECT_EQ(port.Counts().tx_packets, sum);
    // Drivers there are that forget at a stop; and others may use the port in between.
    ASSERT_EQ(rte_eth_stats_reset(ring.port()), 0);
  }
  ASSERT_TRUE(port.Start().ok());
  EXPECT_EQ(port.Counts().rx_packets, sum);
  const PortReport report = port.Counts();
  EXPECT_EQ(report.port, ring.port());
  EXPECT_EQ(report.driver, "net_ring");
  EXPECT_EQ(report.lcores_rx, 0U);  // Of the lcores it knows nothing.
  ASSERT_TRUE(report.xstats.contains("rx_good_packets"));
}

TEST(Port, AsksForTheOffloadsThatThePlanNeedsWhereThePortHasThem) {
  Pool pool(100);
  for (const bool lockfree : {false, true}) {
    for (const bool fast_free : {false, true}) {
      NullPort null;
      RingPort ring;
      for (const uint16_t id : {null.port(), ring.port()}) {
        Port port = Open(id);
        rte_eth_dev_info info;
        ASSERT_EQ(rte_eth_dev_info_get(id, &info), 0);
        ASSERT_TRUE(
            port.SetUp({.mempool = pool.get(), .mt_lockfree = lockfree, .fast_free = fast_free})
                .ok());
        uint64_t expected = RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
        if (lockfree) expected |= RTE_ETH_TX_OFFLOAD_MT_LOCKFREE;
        if (fast_free) expected |= RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
        rte_eth_conf conf;
        ASSERT_EQ(rte_eth_dev_conf_get(id, &conf), 0);
        EXPECT_EQ(conf.txmode.offloads, expected & info.tx_offload_capa);
        EXPECT_EQ(conf.rxmode.offloads, RTE_ETH_RX_OFFLOAD_SCATTER & info.rx_offload_capa);
        ASSERT_TRUE(port.Close().ok());
      }
    }
  }
}

TEST(Port, GivesTheDeviceTheRssThatWasAskedFor) {
  Pool pool(100);
  const struct {
    uint16_t rx_queues;
    Rss rss;
    uint64_t types;
  } rows[] = {
      {1, Rss::kUdp, 0},
      {2, Rss::kIp, RTE_ETH_RSS_IP},
      {2, Rss::kUdp, RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP},
      {2, Rss::kDefault, RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_TCP},
  };
  for (const auto& row : rows) {
    NullPort null;
    Port port = Open(null.port());
    const uint64_t there = port.capabilities().rss_types;
    // Else no row would tell one from the other.
    ASSERT_NE(there & RTE_ETH_RSS_UDP, 0U);
    ASSERT_NE(there & RTE_ETH_RSS_TCP, 0U);
    ASSERT_TRUE(port.SetUp({.rx_queues = row.rx_queues,
                            .tx_queues = row.rx_queues,
                            .mempool = pool.get(),
                            .rss = row.rss})
                    .ok());
    rte_eth_conf conf;
    ASSERT_EQ(rte_eth_dev_conf_get(null.port(), &conf), 0);
    EXPECT_EQ(conf.rxmode.mq_mode, row.types != 0 ? RTE_ETH_MQ_RX_RSS : RTE_ETH_MQ_RX_NONE);
    EXPECT_EQ(conf.rx_adv_conf.rss_conf.rss_hf, row.types & there);
    ASSERT_TRUE(port.Close().ok());
  }
}

TEST(Port, ErrorsNameTheCallItsArgumentAndThePort) {
  Pool pool(100);
  RingPort ring;
  Port port = Open(ring.port());
  const std::string where =
      "port " + std::to_string(ring.port()) + " (" + port.capabilities().name + ")";
  const absl::Status many = port.SetUp({.rx_queues = 2, .mempool = pool.get()});
  ASSERT_FALSE(many.ok());
  EXPECT_THAT(std::string(many.message()),
              HasSubstr("rte_eth_dev_configure(2 rx, 1 tx), " + where));
  const absl::Status early = port.Start();  // Nothing was set up.
  ASSERT_FALSE(early.ok());
  EXPECT_THAT(std::string(early.message()), HasSubstr("rte_eth_dev_start, " + where));
  EXPECT_FALSE(port.started());
  // An mbuf that holds no data.
  Pool tiny(10, RTE_PKTMBUF_HEADROOM - 1);
  const absl::Status small = port.SetUp({.mempool = tiny.get()});
  ASSERT_FALSE(small.ok());
  EXPECT_THAT(std::string(small.message()),
              HasSubstr("rte_eth_rx_queue_setup(queue 0, 1024 descriptors)"));
  EXPECT_THAT(std::string(small.message()), HasSubstr(where));
  // And then it works.
  ASSERT_TRUE(port.SetUp({.mempool = pool.get()}).ok());
  ASSERT_TRUE(port.Start().ok());
  const absl::Status running = port.SetUp({.mempool = pool.get()});
  ASSERT_FALSE(running.ok());
  EXPECT_THAT(std::string(running.message()), HasSubstr("rte_eth_dev_configure(1 rx, 1 tx)"));
}

TEST(Port, StateIsWhatThePortSaysNow) {
  Pool pool(100);
  RingPort ring;
  Port port = Open(ring.port());
  ASSERT_TRUE(port.SetUp({.mempool = pool.get()}).ok());
  EXPECT_FALSE(port.State().link_up);
  ASSERT_TRUE(port.Start().ok());
  PortState state = port.State();
  EXPECT_TRUE(state.link_up);
  EXPECT_EQ(state.link_mbps, 10'000u);  // What net_ring says of itself.
  EXPECT_TRUE(state.promiscuous);
  EXPECT_EQ(state.mtu_bytes, 1500);
  ASSERT_TRUE(port.Stop().ok());
  state = port.State();
  EXPECT_FALSE(state.link_up);
  EXPECT_FALSE(state.promiscuous);
}

// A driver that takes every rule, and keeps none over a stop.
TEST(Port, FlowRulesGoBeforeAStop) {
  const std::string name = UniqueName("net_failsafe_port");
  ASSERT_EQ(rte_eal_hotplug_add("vdev", name.c_str(), "exec(true)"), 0);
  uint16_t id = RTE_MAX_ETHPORTS;
  ASSERT_EQ(rte_eth_dev_get_port_by_name(name.c_str(), &id), 0);
  {
    Pool pool(100);
    Port port = Open(id);
    FlowRule rule;
    rule.actions.emplace_back(*FindFlowAction("drop"));
    EXPECT_EQ(port.flows().Create(rule).status().code(), absl::StatusCode::kFailedPrecondition);
    for (int round = 0; round < 2; ++round) {
      ASSERT_TRUE(port.SetUp({.mempool = pool.get()}).ok());
      EXPECT_FALSE(port.flows().Create(rule).ok()) << "before the start";
      ASSERT_TRUE(port.Start().ok());
      EXPECT_EQ(port.flows().Create(rule).value(), 0U);
      ASSERT_TRUE(port.Stop().ok());
      EXPECT_TRUE(port.flows().rules().empty());
    }
    ASSERT_TRUE(port.Start().ok());
    EXPECT_EQ(port.flows().Create(rule).value(), 0U);
    ASSERT_TRUE(port.Close().ok());
    EXPECT_TRUE(port.flows().rules().empty());
  }
  rte_eal_hotplug_remove("vdev", name.c_str());
}

TEST(Port, APortWithoutHiddenSocketsHoldsNothingBack) {
  Pool pool(100);
  RingPort ring;
  Port port = Open(ring.port());
  ASSERT_TRUE(port.SetUp({.mempool = pool.get()}).ok());
  const auto sockets = port.Sockets();
  ASSERT_TRUE(sockets.ok()) << sockets.status();
  EXPECT_TRUE(sockets->empty());
}

}  // namespace
}  // namespace penstock
