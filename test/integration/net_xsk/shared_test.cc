// SPDX-License-Identifier: BSD-3-Clause
//
// Several lcores on one TX queue that was set up with MT_LOCKFREE, some of them reaping; and what
// happens to a queue that was not.

#include <rte_ethdev.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_per_lcore.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <vector>

#include "test/integration/net_xsk/rig.h"

namespace penstock {
namespace {

struct Sender {
  uint16_t port;
  rte_mempool* pool;
  uint32_t frames;
  uint32_t in_bursts_of;
  std::atomic<uint32_t>* working;
};

// Frames numbered lcore · 2^24 + place. Some bursts are made of mbufs that have to be copied.
int SendMany(void* argument) {
  const Sender& job = *static_cast<Sender*>(argument);
  const unsigned lcore = rte_lcore_id();
  for (uint32_t sent = 0; sent < job.frames;) {
    std::vector<rte_mbuf*> burst;
    for (uint32_t i = 0; i < job.in_bursts_of && sent + i < job.frames; ++i) {
      rte_mbuf* const mbuf = rte_pktmbuf_alloc(job.pool);
      if (mbuf == nullptr) break;
      const Frame frame = NumberedFrame(lcore << 24 | (sent + i));
      std::memcpy(rte_pktmbuf_append(mbuf, static_cast<uint16_t>(frame.size())), frame.data(),
                  frame.size());
      if (sent % 5 == 0) rte_mbuf_refcnt_update(mbuf, 1);
      burst.push_back(mbuf);
    }
    const uint16_t n =
        rte_eth_tx_burst(job.port, 0, burst.data(), static_cast<uint16_t>(burst.size()));
    for (size_t i = 0; i < burst.size(); ++i) {
      // Our own second reference, then what was not taken.
      if (sent % 5 == 0) rte_pktmbuf_free(burst[i]);
      if (i >= n) rte_pktmbuf_free(burst[i]);
    }
    sent += n;
    if (n == 0) rte_eth_tx_done_cleanup(job.port, 0, 0);
  }
  --*job.working;
  return 0;
}

class XskShared : public XskTest {
 protected:
  void Race(unsigned lcores, uint32_t in_bursts_of, const char* devargs) {
    MakeWire();
    Peer peer("p1");
    Open(
        {.devargs = devargs, .tx_descriptors = 128, .tx_offloads = RTE_ETH_TX_OFFLOAD_MT_LOCKFREE});
    ASSERT_TRUE(Tx().shared());
    constexpr uint32_t kFrames = 4000;
    std::atomic<uint32_t> working{lcores};
    Sender job{id_, pool_, kFrames, in_bursts_of, &working};
    for (unsigned lcore = 1; lcore <= lcores; ++lcore) {
      ASSERT_EQ(rte_eal_remote_launch(SendMany, &job, lcore), 0);
    }
    // This lcore never sends, and reaps beside those that do.
    std::array<uint32_t, 8> seen{};
    uint32_t total = 0;
    while (total < lcores * kFrames) {
      rte_eth_tx_done_cleanup(id_, 0, 64);
      const std::vector<Frame> frames = peer.Receive(std::min(100u, lcores * kFrames - total));
      for (const Frame& frame : frames) {
        const uint32_t lcore = NumberOf(frame) >> 24;
        ASSERT_LT(lcore, seen.size());
        ASSERT_EQ(NumberOf(frame) & 0xffffff, seen[lcore]++) << "lcore " << lcore;
        ++total;
      }
      if (frames.empty()) break;  // They stay out.
    }
    rte_eal_mp_wait_lcore();
    EXPECT_EQ(total, lcores * kFrames) << "nothing lost";
    EXPECT_TRUE(peer.IsQuiet()) << "nothing twice";
    ReapAll();
    const auto stats = Xstats();
    EXPECT_EQ(stats.at("tx_q0_bad_completion"), 0u);
    EXPECT_EQ(stats.at("tx_q0_in_flight_twice"), 0u);
    EXPECT_EQ(stats.at("tx_q0_dropped_by_kernel"), 0u);
    EXPECT_EQ(stats.at("tx_q0_stalled_sends"), 0u) << "what others publish is no stall";
    EXPECT_EQ(Stats().opackets, lcores * kFrames);
  }
};

TEST_F(XskShared, TwoLcores) { Race(2, 32, ""); }
TEST_F(XskShared, ThreeLcoresSinglePackets) { Race(3, 1, ""); }
TEST_F(XskShared, FourLcores) { Race(4, 8, ""); }
TEST_F(XskShared, TwoLcoresInlineCompletion) { Race(2, 16, ",completion=inline"); }

TEST_F(XskShared, OneQueueOfThePortIsSharedAndTheOtherIsNot) {
  MakeWire(2);
  Peer peer("p1");
  ASSERT_EQ(rte_eal_hotplug_add("vdev", "net_xsk0", "iface=p0"), 0);
  ASSERT_EQ(rte_eth_dev_get_port_by_name("net_xsk0", &id_), 0);
  const rte_eth_conf conf{};
  ASSERT_EQ(rte_eth_dev_configure(id_, 1, 2, &conf), 0);
  ASSERT_EQ(rte_eth_rx_queue_setup(id_, 0, 64, SOCKET_ID_ANY, nullptr, pool_), 0);
  rte_eth_dev_info info;
  ASSERT_EQ(rte_eth_dev_info_get(id_, &info), 0);
  rte_eth_txconf tx = info.default_txconf;
  tx.offloads = RTE_ETH_TX_OFFLOAD_MT_LOCKFREE;  // the queue's own, not the port's
  ASSERT_EQ(rte_eth_tx_queue_setup(id_, 0, 64, SOCKET_ID_ANY, &tx), 0);
  ASSERT_EQ(rte_eth_tx_queue_setup(id_, 1, 64, SOCKET_ID_ANY, nullptr), 0);
  ASSERT_EQ(rte_eth_dev_start(id_), 0);
  EXPECT_TRUE(Tx(0).shared());
  EXPECT_FALSE(Tx(1).shared());
  EXPECT_EQ(Xstats().count("tx_q0_lock_waits"), 1u);
  EXPECT_EQ(Xstats().count("tx_q1_lock_waits"), 0u);
  for (const uint16_t queue : {0, 1}) {
    Send({Make(NumberedFrame(queue))}, queue);
    EXPECT_EQ(peer.Receive(1), std::vector<Frame>{NumberedFrame(queue)});
  }
}

using XskOwnerDeathTest = XskShared;

TEST_F(XskOwnerDeathTest, ASecondLcoreInAnExclusiveQueueIsCaught) {
  MakeWire();
  Open({.devargs = ",check_owner=1"});
  Send({Make(NumberedFrame(1))});
  Send({Make(NumberedFrame(2))});
  const auto as_lcore_one = [&](auto action) {
    // Which lcore calls is what the thread says.
    RTE_PER_LCORE(_lcore_id) = 1;
    action();
  };
  testing::FLAGS_gtest_death_test_style = "fast";
  // Made here: the child shares the mempool's memory.
  rte_mbuf* third = Make(NumberedFrame(3));
  EXPECT_DEATH(as_lcore_one([&] { rte_eth_tx_burst(id_, 0, &third, 1); }),
               "TX queue 0 belongs to lcore 0, and lcore 1 came in");
  EXPECT_DEATH(as_lcore_one([&] { rte_eth_tx_done_cleanup(id_, 0, 0); }),
               "TX queue 0 belongs to lcore 0, and lcore 1 came in");
  rte_pktmbuf_free(third);
  // Once stopped and started, another may be the one.
  EXPECT_EQ(rte_eth_dev_stop(id_), 0);
  EXPECT_EQ(rte_eth_dev_start(id_), 0);
  EXPECT_EXIT(
      {
        RTE_PER_LCORE(_lcore_id) = 1;
        rte_eth_tx_done_cleanup(id_, 0, 0);
        _exit(0);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace penstock
