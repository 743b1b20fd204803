// SPDX-License-Identifier: BSD-3-Clause
//
// What goes in comes out, whatever the mbufs are made of; what cannot go is counted. The kernel's
// own list of AF_XDP tests, where it applies to a driver, is the first half.

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <vector>

#include "test/integration/net_xsk/rig.h"

namespace penstock {
namespace {

class XskTraffic : public XskTest {
 protected:
  std::vector<Frame> Frames(uint32_t count, size_t bytes = 60) {
    std::vector<Frame> frames;
    for (uint32_t i = 0; i < count; ++i) frames.push_back(NumberedFrame(i, bytes));
    return frames;
  }
  std::vector<rte_mbuf*> MakeAll(const std::vector<Frame>& frames, rte_mempool* pool = nullptr) {
    std::vector<rte_mbuf*> mbufs;
    for (const Frame& frame : frames) mbufs.push_back(Make(frame, pool));
    return mbufs;
  }
  // A packet of segments of these lengths.
  rte_mbuf* MakeChain(const Frame& frame, size_t segment_bytes) {
    rte_mbuf* head = nullptr;
    for (size_t at = 0; at < frame.size(); at += segment_bytes) {
      const size_t end = std::min(frame.size(), at + segment_bytes);
      rte_mbuf* const part = Make(Frame(frame.begin() + static_cast<ptrdiff_t>(at),
                                        frame.begin() + static_cast<ptrdiff_t>(end)));
      if (head == nullptr) {
        head = part;
      } else {
        EXPECT_EQ(rte_pktmbuf_chain(head, part), 0);
      }
    }
    return head;
  }
};

TEST_F(XskTraffic, SendsOneFrame) {
  MakeWire();
  Peer peer("p1");
  Open({});
  Send({Make(NumberedFrame(7))});
  EXPECT_EQ(peer.Receive(1), std::vector<Frame>{NumberedFrame(7)});
  EXPECT_TRUE(peer.IsQuiet());
}

TEST_F(XskTraffic, BothWaysInOrderAtEveryLength) {
  MakeWire();
  Peer peer("p1");
  Open({});
  for (const size_t bytes : {18, 60, 64, 512, 1513, 1514}) {
    const std::vector<Frame> frames = Frames(100, bytes);
    Send(MakeAll(frames));
    EXPECT_EQ(peer.Receive(frames.size()), frames) << bytes;
    for (const Frame& frame : frames) peer.Send(frame);
    EXPECT_EQ(Receive(frames.size()), frames) << bytes;
  }
  EXPECT_EQ(Xstats()["tx_q0_copies"], 0u);
  EXPECT_EQ(Stats().opackets, 600u);
}

TEST_F(XskTraffic, ManyMoreThanTheRingsHold) {
  MakeWire();
  Peer peer("p1");
  Open({.rx_descriptors = 64, .tx_descriptors = 64});
  uint32_t number = 0;
  for (int round = 0; round < 100; ++round) {
    std::vector<Frame> frames;
    for (int i = 0; i < 50; ++i) frames.push_back(NumberedFrame(number++));
    Send(MakeAll(frames));
    ASSERT_EQ(peer.Receive(frames.size()), frames);
    for (const Frame& frame : frames) peer.Send(frame);
    ASSERT_EQ(Receive(frames.size()), frames);
  }
}

TEST_F(XskTraffic, ReceivedMbufsHaveTheirHeadroom) {
  MakeWire();
  Peer peer("p1");
  Open({});
  peer.Send(NumberedFrame(1));
  rte_mbuf* mbuf = nullptr;
  WaitUntil([&] { return rte_eth_rx_burst(id_, 0, &mbuf, 1) == 1; }, "a frame");
  EXPECT_GE(rte_pktmbuf_headroom(mbuf), RTE_PKTMBUF_HEADROOM);
  EXPECT_EQ(rte_mbuf_refcnt_read(mbuf), 1);
  EXPECT_NE(rte_pktmbuf_prepend(mbuf, RTE_PKTMBUF_HEADROOM), nullptr);
  const char* reason = nullptr;
  EXPECT_EQ(rte_mbuf_check(mbuf, 1, &reason), 0) << reason;
  rte_pktmbuf_free(mbuf);
}

TEST_F(XskTraffic, AFullRxRingIsCountedFrameByFrame) {
  MakeWire();
  Peer peer("p1");
  Open({.rx_descriptors = 64});
  for (const Frame& frame : Frames(200)) peer.Send(frame);
  const std::vector<Frame> first = Receive(64);
  EXPECT_EQ(first, Frames(64)) << "the oldest are kept";
  WaitUntil([&] { return Stats().ipackets + Stats().imissed >= 200; }, "the counts");
  EXPECT_EQ(Stats().imissed, 136u);
}

TEST_F(XskTraffic, AnEmptyMempoolStarvesTheRingAndNothingElse) {
  MakeWire();
  Peer peer("p1");
  Open({.rx_descriptors = 64});
  std::vector<rte_mbuf*> hoard;
  while (rte_mbuf* mbuf = rte_pktmbuf_alloc(pool_)) hoard.push_back(mbuf);
  // As many as FILL had; then it cannot be filled.
  std::array<rte_mbuf*, 64> held{};
  uint16_t got = 0;
  for (const Frame& frame : Frames(100)) peer.Send(frame);
  WaitUntil(
      [&] {
        got = static_cast<uint16_t>(
            got + rte_eth_rx_burst(id_, 0, held.data() + got, static_cast<uint16_t>(64 - got)));
        return got == 64;
      },
      "64 frames");
  rte_mbuf* more = nullptr;
  EXPECT_EQ(rte_eth_rx_burst(id_, 0, &more, 1), 0);
  EXPECT_GT(Xstats()["rx_q0_fill_no_mbuf"], 0u);
  peer.Send(NumberedFrame(1));
  WaitUntil([&] { return Xstats()["rx_q0_xdp_rx_fill_ring_empty_descs"] > 0; },
            "the kernel's count");
  rte_pktmbuf_free_bulk(hoard.data(), static_cast<unsigned>(hoard.size()));
  rte_pktmbuf_free_bulk(held.data(), 64);
  rte_eth_rx_burst(id_, 0, &more, 1);  // fills again
  peer.Send(NumberedFrame(2));
  EXPECT_EQ(Receive(1), std::vector<Frame>{NumberedFrame(2)});
}

TEST_F(XskTraffic, WhatCannotBeSentIsFreedAndCounted) {
  MakeWire();
  Peer peer("p1");
  Open({});
  const Frame good = NumberedFrame(3);
  rte_mbuf* const empty = rte_pktmbuf_alloc(pool_);
  Send({Make(Frame(13)), empty, Make(NumberedFrame(1, 1519)), Make(good)});
  EXPECT_EQ(peer.Receive(1), std::vector<Frame>{good});
  const auto stats = Xstats();
  EXPECT_EQ(stats.at("tx_q0_invalid"), 2u);
  EXPECT_EQ(stats.at("tx_q0_too_long"), 1u);
  EXPECT_EQ(stats.at("tx_q0_xdp_tx_invalid_descs"), 0u) << "the kernel saw none of them";
  EXPECT_EQ(Stats().opackets, 1u);
  EXPECT_EQ(Stats().oerrors, 3u);
}

TEST_F(XskTraffic, ForeignSharedAndClonedMbufsAreCopiedOnce) {
  MakeWire();
  Peer peer("p1");
  Open({});
  const std::vector<Frame> frames = Frames(3, 300);
  rte_mbuf* const foreign = Make(frames[0], other_);
  rte_mbuf* const twice = Make(frames[1]);
  rte_mbuf_refcnt_update(twice, 1);
  rte_mbuf* const origin = Make(frames[2]);
  rte_mbuf* const clone = rte_pktmbuf_clone(origin, pool_);
  Send({foreign, twice, clone});
  EXPECT_EQ(peer.Receive(3), frames);
  EXPECT_EQ(Xstats()["tx_q0_copies"], 3u);
  EXPECT_EQ(rte_mbuf_refcnt_read(twice), 1) << "the queue gave up its reference";
  rte_pktmbuf_free(twice);
  rte_pktmbuf_free(origin);
}

TEST_F(XskTraffic, AnMbufSentTwiceIsFreedOnce) {
  MakeWire();
  Peer peer("p1");
  Open({});
  rte_mbuf* const mbuf = Make(NumberedFrame(1));
  Send({mbuf, mbuf});
  EXPECT_EQ(peer.Receive(1).size(), 1u);
  EXPECT_TRUE(peer.IsQuiet());
  EXPECT_EQ(Xstats()["tx_q0_in_flight_twice"], 1u);
}

TEST_F(XskTraffic, SegmentsGoUncopiedAndTooManyAreJoined) {
  MakeWire();
  Peer peer("p1");
  Open({.tx_offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS});
  const Frame frame = NumberedFrame(5, 1500);
  Send({MakeChain(frame, 500), MakeChain(frame, 84), MakeChain(frame, 60)});  // 3, 18, 25 segments
  EXPECT_EQ(peer.Receive(3), std::vector<Frame>(3, frame));
  EXPECT_EQ(Xstats()["tx_q0_copies"], 1u) << "25 are more than a packet may have";
  EXPECT_EQ(Stats().opackets, 3u);
  EXPECT_EQ(Stats().obytes, 4500u);
}

TEST_F(XskTraffic, NineThousandBytesBothWays) {
  MakeWire(1, 9000);
  Peer peer("p1");
  Open({.tx_offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS, .rx_offloads = RTE_ETH_RX_OFFLOAD_SCATTER});
  for (const size_t bytes : {1792, 1793, 3000, 9014}) {
    std::vector<Frame> frames = Frames(20, bytes);
    std::vector<rte_mbuf*> mbufs;
    for (const Frame& frame : frames) mbufs.push_back(MakeChain(frame, 1800));
    mbufs.back() = (rte_pktmbuf_free(mbufs.back()), Make(frames.back(), other_));  // one piece
    Send(mbufs);
    EXPECT_EQ(peer.Receive(20), frames) << bytes;
    for (const Frame& frame : frames) peer.Send(frame);
    EXPECT_EQ(Receive(20), frames) << bytes;
  }
  EXPECT_EQ(Xstats()["tx_q0_copies"], 4u);
}

TEST_F(XskTraffic, LongFramesAreRefusedWhereChainsAreNotWanted) {
  MakeWire(1, 9000);
  Peer peer("p1");
  Open({});
  peer.Send(NumberedFrame(1, 5000));
  peer.Send(NumberedFrame(2, 100));
  EXPECT_EQ(Receive(1), std::vector<Frame>{NumberedFrame(2, 100)});
  EXPECT_EQ(Xstats()["rx_q0_too_long"], 1u);
}

TEST_F(XskTraffic, EachQueueGetsItsFrames) {
  MakeWire(2);
  Peer peer("p1");
  Open({.rx_queues = 2, .tx_queues = 2});
  for (const uint16_t queue : {0, 1}) {
    const std::vector<Frame> frames = Frames(20, 60 + queue);
    Send(MakeAll(frames), queue);
    EXPECT_EQ(peer.Receive(20), frames);
    EXPECT_EQ(Xstats()[queue == 0 ? "tx_q0_reaped" : "tx_q1_reaped"], 0u);
    ReapAll(queue);
  }
  // One packet socket's frames take one queue of p1 and so one of p0.
  for (const Frame& frame : Frames(20)) peer.Send(frame);
  WaitUntil([&] { return rte_eth_rx_queue_count(id_, 0) + rte_eth_rx_queue_count(id_, 1) == 20; },
            "20 frames");
  const auto on_first = static_cast<size_t>(rte_eth_rx_queue_count(id_, 0));
  EXPECT_EQ(Receive(on_first, 0).size() + Receive(20 - on_first, 1).size(), 20u);
}

TEST_F(XskTraffic, MoreTxThanRxQueuesAndNoRxQueue) {
  MakeWire(2);
  Peer peer("p1");
  for (const uint16_t rx_queues : {1, 0}) {
    Open({.rx_queues = rx_queues, .tx_queues = 2});
    for (const uint16_t queue : {0, 1}) {
      Send(MakeAll(Frames(10)), queue);
      EXPECT_EQ(peer.Receive(10), Frames(10)) << rx_queues << " RX queues, TX queue " << queue;
    }
    Close();
  }
}

TEST_F(XskTraffic, DescriptorStatusFollowsWhatTheKernelIsDoneWith) {
  MakeWire();
  Peer peer("p1");
  Open({.tx_descriptors = 64});
  const auto full = [&](uint16_t offset) {
    return rte_eth_tx_descriptor_status(id_, 0, offset) == RTE_ETH_TX_DESC_FULL;
  };
  EXPECT_FALSE(full(63));
  // Nothing is taken out of the ring meanwhile.
  Shell("ip link set p0 down");
  Send(MakeAll(Frames(10)));
  EXPECT_FALSE(full(53));
  EXPECT_TRUE(full(54)) << "the oldest";
  EXPECT_TRUE(full(63)) << "the youngest";
  Shell("ip link set p0 up");
  WaitUntil(
      [&] {
        Send(MakeAll(Frames(1)));  // which sends what is in the ring
        return !full(54);
      },
      "what was left to be sent");
  EXPECT_GT(Tx().Inside(), 10u) << "done, and not yet taken back";
  EXPECT_FALSE(full(63));
  EXPECT_EQ(rte_eth_tx_done_cleanup(id_, 0, 4), 4);
  EXPECT_FALSE(full(54));
  EXPECT_EQ(rte_eth_tx_descriptor_status(id_, 0, 64), -EINVAL);
  ReapAll();
  EXPECT_EQ(rte_eth_rx_descriptor_status(id_, 0, 0), RTE_ETH_RX_DESC_AVAIL);
  // The peer drops what it sends until the kernel has told it that its link is up again.
  WaitUntil(
      [&] {
        peer.Send(NumberedFrame(1));
        return rte_eth_rx_descriptor_status(id_, 0, 0) == RTE_ETH_RX_DESC_DONE;
      },
      "a frame");
}

}  // namespace
}  // namespace penstock
