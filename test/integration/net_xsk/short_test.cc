// SPDX-License-Identifier: BSD-3-Clause
//
// Shortages: few mbufs left in the mempool, for receiving and for copying; a port used up and set
// up again. What there is, is used, and nothing waits for what it holds itself.

#include <rte_epoll.h>
#include <rte_ethdev.h>
#include <rte_interrupts.h>

#include <algorithm>
#include <array>
#include <vector>

#include "test/integration/net_xsk/rig.h"

namespace penstock {
namespace {

class XskShort : public XskTest {
 protected:
  // All mbufs of the mempool but these.
  void HoardAllBut(size_t left) {
    while (rte_mbuf* mbuf = rte_pktmbuf_alloc(pool_)) hoard_.push_back(mbuf);
    ASSERT_GE(hoard_.size(), left);
    for (; left > 0; --left) {
      rte_pktmbuf_free(hoard_.back());
      hoard_.pop_back();
    }
  }
  void GiveBack() {
    rte_pktmbuf_free_bulk(hoard_.data(), static_cast<unsigned>(hoard_.size()));
    hoard_.clear();
  }
  std::vector<rte_mbuf*> hoard_;
};

// Completed and not yet reaped, the mbufs that the copies went into are the only ones left.
TEST_F(XskShort, ACopyTakesBackWhatIsDoneBeforeItWaitsForAnMbuf) {
  MakeWire();
  Peer peer("p1");
  Open({});
  HoardAllBut(4);
  for (uint32_t i = 0; i < 40; ++i) {
    rte_mbuf* mbuf = Make(NumberedFrame(i), other_);
    ASSERT_EQ(rte_eth_tx_burst(id_, 0, &mbuf, 1), 1) << "frame " << i;
    EXPECT_EQ(peer.Receive(1), std::vector<Frame>{NumberedFrame(i)});
  }
  EXPECT_EQ(Xstats()["tx_q0_copies"], 40u);
  EXPECT_EQ(Xstats()["tx_q0_copy_no_mbuf"], 0u);
  GiveBack();
}

// Descriptors are free, and fewer than a packet has segments: what is done has to be taken back,
// though the application that set the threshold to 1 never asks for it.
TEST_F(XskShort, APacketOfMoreSegmentsThanDescriptorsAreFreeIsSent) {
  MakeWire();
  Peer peer("p1");
  Open(
      {.tx_descriptors = 64, .tx_free_threshold = 1, .tx_offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS});
  for (uint32_t i = 0; i < 100; ++i) {
    const Frame frame = NumberedFrame(i, 600);
    rte_mbuf* packet = nullptr;
    for (size_t at = 0; at < frame.size(); at += 100) {
      rte_mbuf* const segment = rte_pktmbuf_alloc(pool_);
      ASSERT_NE(segment, nullptr);
      std::copy_n(&frame[at], 100, rte_pktmbuf_append(segment, 100));
      if (packet == nullptr) {
        packet = segment;
      } else {
        ASSERT_EQ(rte_pktmbuf_chain(packet, segment), 0);
      }
    }
    WaitUntil([&] { return rte_eth_tx_burst(id_, 0, &packet, 1) == 1; }, "room");
    ASSERT_EQ(peer.Receive(1), std::vector<Frame>{frame}) << "packet " << i;
  }
  EXPECT_EQ(Xstats()["tx_q0_copies"], 0u);
}

TEST_F(XskShort, ACopyThatFindsNoMbufStaysTheCallers) {
  MakeWire();
  Peer peer("p1");
  Open({});
  HoardAllBut(0);
  rte_mbuf* mbuf = Make(NumberedFrame(1), other_);
  EXPECT_EQ(rte_eth_tx_burst(id_, 0, &mbuf, 1), 0);
  EXPECT_EQ(Xstats()["tx_q0_copy_no_mbuf"], 1u);
  EXPECT_EQ(rte_mbuf_refcnt_read(mbuf), 1);
  GiveBack();
  EXPECT_EQ(rte_eth_tx_burst(id_, 0, &mbuf, 1), 1);
  EXPECT_EQ(peer.Receive(1), std::vector<Frame>{NumberedFrame(1)});
}

TEST_F(XskShort, TheLastFewMbufsAreReceivedInto) {
  MakeWire();
  Peer peer("p1");
  Open({.rx_descriptors = 64});
  HoardAllBut(0);
  for (uint32_t i = 0; i < 64; ++i) peer.Send(NumberedFrame(i));
  std::array<rte_mbuf*, 64> held{};
  uint16_t got = 0;
  WaitUntil(
      [&] {
        got = static_cast<uint16_t>(
            got + rte_eth_rx_burst(id_, 0, held.data() + got, static_cast<uint16_t>(64 - got)));
        return got == 64;
      },
      "what FILL had");
  // 13 are far from the batches in which FILL is filled.
  rte_pktmbuf_free_bulk(held.data(), 13);
  rte_mbuf* none = nullptr;
  EXPECT_EQ(rte_eth_rx_burst(id_, 0, &none, 1), 0);
  for (uint32_t i = 0; i < 13; ++i) peer.Send(NumberedFrame(100 + i));
  const std::vector<Frame> seen = Receive(13);
  ASSERT_EQ(seen.size(), 13u);
  EXPECT_EQ(NumberOf(seen[12]), 112u);
  rte_pktmbuf_free_bulk(held.data() + 13, 64 - 13);
  GiveBack();
}

TEST_F(XskShort, OpensAgainRightAfterAClose) {
  MakeWire();
  Peer peer("p1");
  for (uint32_t round = 0; round < 30; ++round) {
    ASSERT_EQ(TryOpen({}), 0) << "round " << round;
    Send({Make(NumberedFrame(round))});
    ASSERT_EQ(peer.Receive(1).size(), 1u);
    peer.Send(NumberedFrame(round));
    ASSERT_EQ(Receive(1).size(), 1u);
    Close();
  }
}

// Set up anew, a port goes on counting: a total that got smaller would be taken for an overflow.
TEST_F(XskShort, CountsGoOnWhenQueuesAreSetUpAnew) {
  MakeWire(2);
  Peer peer("p1");
  Open({.tx_queues = 2});
  for (const uint16_t queue : {0, 1}) {
    Send({Make(NumberedFrame(1)), Make(Frame(13))}, queue);
  }
  peer.Send(NumberedFrame(1));
  EXPECT_EQ(Receive(1).size(), 1u);
  ASSERT_EQ(rte_eth_xstats_reset(id_), 0);
  Send({Make(NumberedFrame(2))});
  ASSERT_EQ(rte_eth_dev_stop(id_), 0);
  const rte_eth_conf conf{};
  ASSERT_EQ(rte_eth_dev_configure(id_, 1, 1, &conf), 0);
  ASSERT_EQ(rte_eth_rx_queue_setup(id_, 0, 64, SOCKET_ID_ANY, nullptr, pool_), 0);
  ASSERT_EQ(rte_eth_tx_queue_setup(id_, 0, 64, SOCKET_ID_ANY, nullptr), 0);
  ASSERT_EQ(rte_eth_dev_start(id_), 0);
  EXPECT_EQ(Stats().opackets, 1u);
  EXPECT_EQ(Stats().oerrors, 0u);
  EXPECT_EQ(Stats().ipackets, 0u);
  EXPECT_EQ(Xstats()["tx_q0_sends"], 1u);
  Send({Make(NumberedFrame(3))});
  EXPECT_EQ(Stats().opackets, 2u);
  EXPECT_EQ(Stats().q_opackets[0], 2u);
  EXPECT_EQ(Xstats()["tx_q0_sends"], 2u);
  EXPECT_EQ(peer.Receive(4).size(), 4u);
}

// The queues that were set up on a mempool may outlive it, and another get its address.
TEST_F(XskShort, AMempoolAtTheAddressOfOneThatWasFreedIsAnother) {
  MakeWire(2);
  SendBy("p1", 0);
  Peer peer("p1");
  Open({.rx_queues = 2});
  ASSERT_EQ(rte_eth_dev_stop(id_), 0);
  const rte_mempool* const before = pool_;
  rte_mempool_free(pool_);
  pool_ = rte_pktmbuf_pool_create("umem", 2047, 64, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
  ASSERT_EQ(pool_, before) << "shows nothing elsewhere";
  for (const uint16_t queue : {0, 1}) {
    ASSERT_EQ(rte_eth_rx_queue_setup(id_, queue, 64, SOCKET_ID_ANY, nullptr, pool_), 0);
  }
  ASSERT_EQ(rte_eth_dev_start(id_), 0);
  const auto* const rx = static_cast<RxQueue*>(rte_eth_devices[id_].data->rx_queues[0]);
  EXPECT_TRUE(rx->umem()->IsOf(*pool_));
  Send({Make(NumberedFrame(1))});
  EXPECT_EQ(peer.Receive(1), std::vector<Frame>{NumberedFrame(1)});
  peer.Send(NumberedFrame(2));
  EXPECT_EQ(Receive(1), std::vector<Frame>{NumberedFrame(2)});
}

// Each interrupt stands for one queue, comes though the frame was there before it was enabled, and
// outlives a stop.
TEST_F(XskShort, AnInterruptTellsWhichQueueAndOfFramesThatWereThere) {
  MakeWire(2);
  SendBy("p1", 1);
  Peer peer("p1");
  Open({.rx_queues = 2, .tx_queues = 2, .rx_interrupts = true});
  for (int round = 0; round < 2; ++round) {
    for (const uint16_t queue : {0, 1}) {
      const auto tag = reinterpret_cast<void*>(uintptr_t{queue} + 10);
      ASSERT_EQ(
          rte_eth_dev_rx_intr_ctl_q(id_, queue, RTE_EPOLL_PER_THREAD, RTE_INTR_EVENT_ADD, tag), 0);
    }
    peer.Send(NumberedFrame(1));
    peer.Send(NumberedFrame(2));
    rte_epoll_event event;
    for (size_t frame = 0; frame < 2; ++frame) {
      for (const uint16_t queue : {0, 1}) ASSERT_EQ(rte_eth_dev_rx_intr_enable(id_, queue), 0);
      ASSERT_EQ(rte_epoll_wait(RTE_EPOLL_PER_THREAD, &event, 1, 10000), 1);
      EXPECT_EQ(event.epdata.data, reinterpret_cast<void*>(uintptr_t{11}));
      rte_mbuf* mbuf = nullptr;
      WaitUntil([&] { return rte_eth_rx_burst(id_, 1, &mbuf, 1) == 1; }, "a frame");
      rte_pktmbuf_free(mbuf);
    }
    EXPECT_EQ(rte_epoll_wait(RTE_EPOLL_PER_THREAD, &event, 1, 0), 0);
    ASSERT_EQ(rte_eth_dev_stop(id_), 0);
    ASSERT_EQ(rte_eth_dev_start(id_), 0);
  }
}

}  // namespace
}  // namespace penstock
