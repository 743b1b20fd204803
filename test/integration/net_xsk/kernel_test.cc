// SPDX-License-Identifier: BSD-3-Clause
//
// What the kernel answers to sending, and what becomes of the frames then: budgets, stalls, drops,
// late and wrong completions. After each, every frame is sent, dropped or unsent, and every mbuf is
// back.

#include <net/if.h>
#include <rte_ethdev.h>

#include <atomic>
#include <fstream>
#include <numeric>
#include <vector>

#include "drivers/net/xsk/tx_budget.h"
#include "lib/ring/burst_budget.h"
#include "test/integration/net_xsk/rig.h"

namespace penstock {
namespace {

class XskKernel : public XskTest {
 protected:
  std::vector<rte_mbuf*> MakeMany(uint32_t count, size_t bytes = 60) {
    std::vector<rte_mbuf*> mbufs;
    for (uint32_t i = 0; i < count; ++i) mbufs.push_back(Make(NumberedFrame(next_++, bytes)));
    return mbufs;
  }
  // With it the peer's receiving, and with that completion, happens on a thread of its own.
  static void SetThreadedNapi(const char* interface) {
    Shell(absl::StrCat("ethtool -K ", interface, " gro on"));
    std::ofstream("/sys/class/net/" + std::string(interface) + "/threaded") << "1";
  }
  uint32_t next_ = 0;
};

TEST_F(XskKernel, BudgetOfTheKernelCutsABurstAndItsOwnDoesNot) {
  MakeWire();
  Peer peer("p1");
  for (const auto& [budget, calls] : {std::pair{"32", 8u}, std::pair{"256", 1u}}) {
    Open({.devargs = absl::StrCat(",budget=", budget)});
    if (!Tx().has_budget()) GTEST_SKIP() << "this kernel has no XDP_MAX_TX_SKB_BUDGET (6.17)";
    Send(MakeMany(256));
    EXPECT_EQ(peer.Receive(256).size(), 256u);
    const auto stats = Xstats();
    EXPECT_EQ(stats.at("tx_q0_sends"), calls) << budget;
    EXPECT_EQ(stats.at("tx_q0_send_eagain"), calls - 1);
    EXPECT_EQ(stats.at(calls == 1 ? "tx_q0_send_packets_256_511" : "tx_q0_send_packets_32_63"),
              calls);
    Close();
  }
}

TEST_F(XskKernel, BudgetFollowsTheBursts) {
  MakeWire();
  Peer peer("p1");
  Open({.tx_descriptors = 512});
  if (!Tx().has_budget()) GTEST_SKIP() << "this kernel has no XDP_MAX_TX_SKB_BUDGET (6.17)";
  EXPECT_EQ(Xstats()["tx_q0_budget"], kMinTxBudget);
  Send(MakeMany(200));
  EXPECT_EQ(Xstats()["tx_q0_budget"], 224u);
  EXPECT_EQ(Xstats()["tx_q0_send_eagain"], 0u) << "it was set before the call";
}

TEST_F(XskKernel, TheBudgetIsAskedForAndSetWhileItSends) {
  MakeWire(2);
  Peer peer("p1");
  Open({.devargs = ",budget=64", .rx_queues = 2, .tx_queues = 2});
  if (!Tx().has_budget()) GTEST_SKIP() << "this kernel has no XDP_MAX_TX_SKB_BUDGET (6.17)";
  const auto get = [&](uint16_t queue = 0) {
    XskTxBudget now;
    EXPECT_EQ(XskGetTxBudget(id_, queue, now), 0);
    return now;
  };
  EXPECT_EQ(get().budget, 64u);
  EXPECT_EQ(get().of_devargs, 64u);
  EXPECT_EQ(get().most, 256u);
  const auto calls_for_256 = [&] {
    const uint64_t before = Xstats().at("tx_q0_sends");
    Send(MakeMany(256));
    EXPECT_EQ(peer.Receive(256).size(), 256u);
    return Xstats().at("tx_q0_sends") - before;
  };
  EXPECT_EQ(calls_for_256(), 4u);
  ASSERT_EQ(XskSetTxBudget(id_, 0, 256), 0);
  EXPECT_EQ(calls_for_256(), 1u);
  EXPECT_EQ(get().fixed, 256u);
  EXPECT_EQ(get(1).fixed, 64u) << "another queue's is its own";
  ASSERT_EQ(XskSetTxBudget(id_, 0, 32), 0);
  EXPECT_EQ(calls_for_256(), 8u);
  EXPECT_EQ(get().budget, 32u);
  ASSERT_EQ(XskSetTxBudget(id_, 0, 0), 0);
  EXPECT_EQ(calls_for_256(), 1u) << "it went on learning";
  EXPECT_EQ(get().fixed, 0u);
  EXPECT_EQ(get().budget, 256u);
  EXPECT_EQ(get().pending[SendBucket(256)], 4u);
  // It outlives a stop, in which nothing can be told to the kernel.
  EXPECT_EQ(rte_eth_dev_stop(id_), 0);
  ASSERT_EQ(XskSetTxBudget(id_, 0, 128), 0);
  EXPECT_EQ(rte_eth_dev_start(id_), 0);
  EXPECT_EQ(calls_for_256(), 2u);
}

TEST_F(XskKernel, ABudgetThatCannotBeIsRefused) {
  MakeWire();
  Open({});
  XskTxBudget now;
  for (const uint32_t wrong : {1u, 31u, 257u, UINT32_MAX}) {
    EXPECT_EQ(XskSetTxBudget(id_, 0, wrong), -EINVAL) << wrong;
  }
  EXPECT_EQ(XskSetTxBudget(id_, 1, 64), -EINVAL);
  EXPECT_EQ(XskGetTxBudget(id_, 1, now), -EINVAL);
  EXPECT_EQ(XskSetTxBudget(RTE_MAX_ETHPORTS - 1, 0, 64), -ENODEV);
  EXPECT_EQ(XskGetTxBudget(UINT16_MAX, 0, now), -ENODEV);
}

TEST_F(XskKernel, BudgetsBeyondTheRingAreRefused) {
  MakeWire();
  EXPECT_EQ(TryOpen({.devargs = ",budget=512", .tx_descriptors = 256}), -EINVAL);
}

TEST_F(XskKernel, LateCompletionsAreAllTaken) {
  MakeWire();
  SetThreadedNapi("p1");
  Peer peer("p1");
  Open({.tx_descriptors = 64});
  for (int round = 0; round < 50; ++round) {
    Send(MakeMany(64));
    ASSERT_EQ(peer.Receive(64).size(), 64u);
  }
  ReapAll();
  const auto stats = Xstats();
  EXPECT_EQ(stats.at("tx_q0_reaped"), 3200u);
  EXPECT_EQ(stats.at("tx_q0_bad_completion"), 0u);
  EXPECT_EQ(Stats().opackets, 3200u);
}

TEST_F(XskKernel, InlineCompletionReapsEachBurst) {
  MakeWire();
  Peer peer("p1");
  Open({.devargs = ",completion=inline"});
  for (int i = 0; i < 5; ++i) Send(MakeMany(8));
  EXPECT_EQ(peer.Receive(40).size(), 40u);
  EXPECT_EQ(Xstats()["tx_q0_reaps"], 5u);
  EXPECT_EQ(Xstats()["tx_q0_reaped"], 32u) << "all but the last burst's";
}

TEST_F(XskKernel, WithoutInlineCompletionsAreTakenInBulk) {
  MakeWire();
  Peer peer("p1");
  Open({.tx_descriptors = 128});
  for (int i = 0; i < 8; ++i) Send(MakeMany(8));
  EXPECT_EQ(Xstats()["tx_q0_reaps"], 0u) << "as many as stay in a near cache";
  EXPECT_EQ(Tx().Inside(), 64u);
  EXPECT_GT(Xstats()["tx_q0_oldest_pinned_us"], 0u);
  Send(MakeMany(8));
  EXPECT_EQ(Xstats()["tx_q0_reaps"], 1u);
  EXPECT_EQ(Xstats()["tx_q0_reaped"], 64u);
  EXPECT_EQ(peer.Receive(72).size(), 72u);
}

TEST_F(XskKernel, FreeThresholdSaysWhenCompletionsAreTaken) {
  MakeWire();
  Peer peer("p1");
  ASSERT_EQ(rte_eal_hotplug_add("vdev", "net_xsk0", "iface=p0"), 0);
  ASSERT_EQ(rte_eth_dev_get_port_by_name("net_xsk0", &id_), 0);
  const rte_eth_conf conf{};
  ASSERT_EQ(rte_eth_dev_configure(id_, 1, 1, &conf), 0);
  ASSERT_EQ(rte_eth_rx_queue_setup(id_, 0, 64, SOCKET_ID_ANY, nullptr, pool_), 0);
  rte_eth_dev_info info;
  ASSERT_EQ(rte_eth_dev_info_get(id_, &info), 0);
  rte_eth_txconf tx = info.default_txconf;
  tx.tx_free_thresh = 128;
  EXPECT_EQ(rte_eth_tx_queue_setup(id_, 0, 128, SOCKET_ID_ANY, &tx), -EINVAL);
  tx.tx_free_thresh = 1;  // only when none is free
  ASSERT_EQ(rte_eth_tx_queue_setup(id_, 0, 128, SOCKET_ID_ANY, &tx), 0);
  ASSERT_EQ(rte_eth_dev_start(id_), 0);
  for (int i = 0; i < 16; ++i) Send(MakeMany(8));
  EXPECT_EQ(Xstats()["tx_q0_reaps"], 0u);
  EXPECT_EQ(Tx().Inside(), 128u);
  Send(MakeMany(8));
  EXPECT_EQ(Xstats()["tx_q0_reaps"], 1u);
  EXPECT_EQ(peer.Receive(136).size(), 136u);
}

TEST_F(XskKernel, ASmallSendBufferStallsAndLosesNothing) {
  MakeWire();
  SetThreadedNapi("p1");
  Peer peer("p1");
  Open({.devargs = ",sndbuf=4096"});
  Send(MakeMany(200, 1000));
  WaitUntil(
      [&] {
        rte_eth_tx_done_cleanup(id_, 0, 0);  // sends what was left behind
        return Tx().Inside() == 0;
      },
      "all to be sent");
  const std::vector<Frame> seen = peer.Receive(200);
  ASSERT_EQ(seen.size(), 200u);
  for (uint32_t i = 0; i < 200; ++i) EXPECT_EQ(NumberOf(seen[i]), i);
}

TEST_F(XskKernel, AFrameThatThePeerRefusesIsADropAndStopsTheCall) {
  MakeWire();
  Peer peer("p1");
  Open({});
  // Longer than p1 takes, not longer than p0 may send.
  Shell("ip link set p1 mtu 1000");
  Send(MakeMany(3, 1400));
  EXPECT_EQ(Xstats()["tx_q0_sends"], 1u);
  EXPECT_EQ(Xstats()["tx_q0_dropped_by_kernel"], 1u)
      << "the other two would have been lost as well";
  Send(MakeMany(4, 100));
  ReapAll();
  const auto stats = Xstats();
  EXPECT_EQ(stats.at("tx_q0_send_ebusy"), stats.at("tx_q0_dropped_by_kernel"));
  EXPECT_EQ(stats.at("tx_q0_dropped_by_kernel"), 3u);
  EXPECT_EQ(Stats().opackets, 4u);
  EXPECT_EQ(Stats().oerrors, 3u);
  EXPECT_EQ(peer.Receive(4).size(), 4u);
}

TEST_F(XskKernel, ALinkThatIsDownKeepsTheRing) {
  MakeWire();
  Peer peer("p1");
  Open({.tx_descriptors = 64});
  Shell("ip link set p0 down");
  const std::vector<rte_mbuf*> mbufs = MakeMany(32);
  std::vector<rte_mbuf*> burst = mbufs;
  EXPECT_EQ(rte_eth_tx_burst(id_, 0, burst.data(), 32), 32);
  EXPECT_EQ(Xstats()["tx_q0_sends"], 1u) << "one call tells it";
  EXPECT_EQ(Xstats()["tx_q0_send_enetdown"], 1u);
  Shell("ip link set p0 up");
  ReapAll();
  EXPECT_EQ(Stats().opackets, 32u);
}

TEST_F(XskKernel, WhatIsUnsentAtStopIsNotCountedAsSent) {
  MakeWire();
  Open({});
  Shell("ip link set p0 down");
  std::vector<rte_mbuf*> burst = MakeMany(32);
  EXPECT_EQ(rte_eth_tx_burst(id_, 0, burst.data(), 32), 32);
  EXPECT_EQ(rte_eth_dev_stop(id_), 0);
  ExpectAllMbufsBack();
  EXPECT_EQ(Stats().opackets, 0u);
  EXPECT_EQ(Stats().obytes, 0u);
  EXPECT_EQ(Stats().oerrors, 32u);
  EXPECT_EQ(Xstats()["tx_q0_unsent_at_stop"], 32u);
}

// The ring is larger than what may be inside: the kernel stops for want of COMPLETION, and reaping
// sets it going again. A driver that reaps elsewhere only would wait for ever.
TEST_F(XskKernel, ACompletionRingSmallerThanTheTxRing) {
  MakeWire();
  Peer peer("p1");
  auto umem = std::shared_ptr<Umem>(Umem::Create(*pool_).value());
  const auto sockets = QueueSockets::Open({.interface = "p0",
                                           .ifindex = if_nametoindex("p0"),
                                           .umem = umem->start(),
                                           .umem_bytes = umem->bytes(),
                                           .chunk_bytes = umem->chunk_bytes(),
                                           .headroom_bytes = umem->headroom_bytes(),
                                           .fill_size = 64,
                                           .completion_size = 64,
                                           .tx_size = 256,
                                           .sndbuf_bytes = 1 << 20});
  ASSERT_TRUE(sockets.ok()) << sockets.status();
  TxQueue<Exclusive> queue({.descriptors = 256, .holder = 1, .budget = 256});
  const std::atomic<uint32_t> max_frame{1518};
  const std::atomic<bool> removed{false};
  queue.Attach(**sockets, umem, true, max_frame, removed);
  std::vector<rte_mbuf*> mbufs = MakeMany(256);
  EXPECT_EQ(queue.Burst(mbufs.data(), 256), 256);
  EXPECT_EQ(peer.Receive(64).size(), 64u);
  EXPECT_TRUE(peer.IsQuiet()) << "COMPLETION is full";
  EXPECT_EQ(queue.Totals().sends[static_cast<size_t>(SendResult::kEagain)] > 0, true);
  std::vector<rte_mbuf*> more = MakeMany(32);
  EXPECT_EQ(queue.Burst(more.data(), 32), 32) << "sending reaps when it would stall";
  WaitUntil(
      [&] {
        queue.Cleanup(UINT32_MAX);
        return queue.Inside() == 0;
      },
      "all to be sent");
  EXPECT_EQ(peer.Receive(224).size(), 224u);
  queue.Drain();
  queue.Detach();
}

}  // namespace
}  // namespace penstock
