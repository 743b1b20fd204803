// SPDX-License-Identifier: BSD-3-Clause
//
// What happens to the interface while a port stands on it: down and up, peer and own; renamed,
// resized, short of queues, removed. Nothing spins, nothing is lost uncounted.

#include <net/if.h>
#include <rte_ethdev.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <vector>

#include "absl/strings/str_cat.h"
#include "test/integration/net_xsk/rig.h"

namespace penstock {
namespace {

class XskLink : public XskTest {
 protected:
  // One burst; how many were taken.
  uint16_t Burst(uint32_t first, uint16_t count, uint16_t queue = 0) {
    std::vector<rte_mbuf*> mbufs;
    for (uint32_t i = 0; i < count; ++i) mbufs.push_back(Make(NumberedFrame(first + i)));
    const uint16_t sent = rte_eth_tx_burst(id_, queue, mbufs.data(), count);
    rte_pktmbuf_free_bulk(mbufs.data() + sent, count - sent);
    return sent;
  }
};

uint32_t MtuOf(const std::string& interface) {
  uint32_t mtu = 0;
  std::ifstream("/sys/class/net/" + interface + "/mtu") >> mtu;
  return mtu;
}

TEST_F(XskLink, ARingThatFillsUpWhileTheLinkIsDownIsSentInOrderAfterwards) {
  MakeWire();
  Peer peer("p1");
  Open({.tx_descriptors = 64});
  Shell("ip link set p0 down");
  EXPECT_EQ(Burst(0, 40), 40);
  EXPECT_EQ(Burst(40, 40), 24) << "no more than it has room for";
  const uint64_t calls = Xstats()["tx_q0_sends"];
  EXPECT_EQ(Burst(64, 8), 0);
  EXPECT_LE(Xstats()["tx_q0_sends"], calls + 3) << "it is not tried for ever";
  Shell("ip link set p0 up");
  ReapAll();
  const std::vector<Frame> seen = peer.Receive(64);
  ASSERT_EQ(seen.size(), 64u);
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(NumberOf(seen[i]), i);
  EXPECT_EQ(Stats().opackets, 64u);
}

TEST_F(XskLink, APeerThatIsDownCostsOneFrameACallAndAllAreCounted) {
  MakeWire();
  Peer peer("p1");
  Open({.tx_descriptors = 64});
  Shell("ip link set p1 down");
  EXPECT_EQ(Burst(0, 32), 32);
  const auto stats = Xstats();
  EXPECT_EQ(stats.at("tx_q0_sends"), 1u) << "the next would have been dropped as well";
  EXPECT_EQ(stats.at("tx_q0_dropped_by_kernel"), 1u);
  Shell("ip link set p1 up");
  ReapAll();
  EXPECT_EQ(Stats().opackets + Stats().oerrors, 32u);
  const std::vector<Frame> seen = peer.Receive(Stats().opackets);
  EXPECT_EQ(seen.size(), Stats().opackets);
  EXPECT_TRUE(peer.IsQuiet());
  // What is sent now arrives again.
  Send({Make(NumberedFrame(99))});
  EXPECT_EQ(peer.Receive(1), std::vector<Frame>{NumberedFrame(99)});
}

TEST_F(XskLink, TheMtuIsFollowedWhoeverSetsIt) {
  MakeWire();
  Peer peer("p1");
  Open({.tx_offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS, .rx_offloads = RTE_ETH_RX_OFFLOAD_SCATTER});
  uint16_t mtu = 0;
  Shell("ip link set p0 mtu 600");
  WaitUntil([&] { return rte_eth_dev_get_mtu(id_, &mtu) == 0 && mtu == 600; }, "the MTU");
  Send({Make(NumberedFrame(1, 700)), Make(NumberedFrame(2, 614))});
  EXPECT_EQ(peer.Receive(1), std::vector<Frame>{NumberedFrame(2, 614)});
  EXPECT_EQ(Xstats()["tx_q0_too_long"], 1u);
  Shell("ip link set p1 mtu 9000");
  ASSERT_EQ(rte_eth_dev_set_mtu(id_, 9000), 0);
  EXPECT_EQ(MtuOf("p0"), 9000u);
  Send({Make(NumberedFrame(3, 9014), other_)});
  EXPECT_EQ(peer.Receive(1), std::vector<Frame>{NumberedFrame(3, 9014)});
  peer.Send(NumberedFrame(4, 9014));
  EXPECT_EQ(Receive(1), std::vector<Frame>{NumberedFrame(4, 9014)});
  // A program that knows no frames of several buffers sees a page at most.
  Close();
  testing::internal::CaptureStderr();
  EXPECT_NE(TryOpen({.devargs = ",xdp_mode=native,xdp_prog=" PENSTOCK_TEST_XDP_OBJECT}), 0);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("its MTU be too large for it"),
            std::string::npos);
}

TEST_F(XskLink, TheMtuIsTheInterfacesUnlessOneIsConfigured) {
  MakeWire(1, 9000);
  uint16_t mtu = 0;
  Open({.rx_offloads = RTE_ETH_RX_OFFLOAD_SCATTER});
  ASSERT_EQ(rte_eth_dev_get_mtu(id_, &mtu), 0);
  EXPECT_EQ(mtu, 9000);
  Close();
  Open({.rx_offloads = RTE_ETH_RX_OFFLOAD_SCATTER, .mtu = 4000});
  ASSERT_EQ(rte_eth_dev_get_mtu(id_, &mtu), 0);
  EXPECT_EQ(mtu, 4000);
  EXPECT_EQ(MtuOf("p0"), 4000u);
  // It is there for a start as well, whoever changed it while the port was stopped.
  ASSERT_EQ(rte_eth_dev_stop(id_), 0);
  Shell("ip link set p0 mtu 3000");
  ASSERT_EQ(rte_eth_dev_start(id_), 0);
  ASSERT_EQ(rte_eth_dev_get_mtu(id_, &mtu), 0);
  EXPECT_EQ(mtu, 3000);
}

TEST_F(XskLink, ARenamedInterfaceIsStillTheSameAndItsOldNameIsNot) {
  MakeWire();
  Peer peer("p1");
  Open({});
  Shell("ip link set p0 name q0");
  Shell("ip link add p0 mtu 777 type veth peer name r0");
  rte_eth_link link;
  EXPECT_EQ(rte_eth_link_get_nowait(id_, &link), 0);
  EXPECT_EQ(link.link_status, RTE_ETH_LINK_UP);
  EXPECT_EQ(rte_eth_dev_set_mtu(id_, 1300), 0);
  EXPECT_EQ(MtuOf("q0"), 1300u);
  EXPECT_EQ(MtuOf("p0"), 777u);
  EXPECT_EQ(rte_eth_dev_stop(id_), 0);
  EXPECT_EQ(rte_eth_dev_start(id_), 0);
  Send({Make(NumberedFrame(1))});
  EXPECT_EQ(peer.Receive(1).size(), 1u);
  Shell("ip link del p0 && ip link set q0 name p0");
}

// While a socket is bound the kernel keeps its queue. Between configuration and start it does not.
TEST_F(XskLink, AQueueThatWasTakenAwayIsSaidAtStart) {
  MakeWire(2);
  Peer peer("p1");
  Open({.rx_queues = 1, .tx_queues = 2});
  ASSERT_EQ(rte_eth_dev_stop(id_), 0);
  // It keeps it a moment longer than the socket is there.
  WaitUntil([] { return std::system("ethtool -L p0 tx 1 2>/dev/null") == 0; }, "the queue to go");
  testing::internal::CaptureStderr();
  EXPECT_NE(rte_eth_dev_start(id_), 0);
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("p0 has only 2 and 1 in use now; 'ethtool -L'"), std::string::npos) << log;
  ExpectAllMbufsBack();
  Shell("ethtool -L p0 tx 2");
  ASSERT_EQ(rte_eth_dev_start(id_), 0);
  Send({Make(NumberedFrame(1))}, 1);
  EXPECT_EQ(peer.Receive(1).size(), 1u);
}

// Where a kernel lets it happen all the same: a call answers 0 and takes nothing.
template <typename Ownership>
void StallOnAQueueBeyondThoseInUse(rte_mempool& pool) {
  auto umem = std::shared_ptr<Umem>(Umem::Create(pool).value());
  const auto sockets = QueueSockets::Open({.interface = "p0",
                                           .ifindex = if_nametoindex("p0"),
                                           .queue = 1,
                                           .umem = umem->start(),
                                           .umem_bytes = umem->bytes(),
                                           .chunk_bytes = umem->chunk_bytes(),
                                           .headroom_bytes = umem->headroom_bytes(),
                                           .fill_size = 64,
                                           .completion_size = 64,
                                           .tx_size = 64,
                                           .sndbuf_bytes = 1 << 20});
  ASSERT_TRUE(sockets.ok()) << sockets.status();
  TxQueue<Ownership> queue({.descriptors = 64, .holder = 1});
  const std::atomic<uint32_t> max_frame{1518};
  const std::atomic<bool> removed{false};
  queue.Attach(**sockets, umem, true, max_frame, removed);
  uint32_t taken = 0;
  for (int burst = 0; burst < 10; ++burst) {
    std::array<rte_mbuf*, 16> mbufs;
    ASSERT_EQ(rte_pktmbuf_alloc_bulk(&pool, mbufs.data(), 16), 0);
    for (rte_mbuf* mbuf : mbufs) rte_pktmbuf_append(mbuf, 60);
    const uint16_t n = queue.Burst(mbufs.data(), 16);
    rte_pktmbuf_free_bulk(mbufs.data() + n, 16u - n);
    taken += n;
  }
  EXPECT_EQ(taken, 64u) << "as many as it has room for";
  const TxTotals totals = queue.Totals();
  const uint64_t calls = totals.sends[static_cast<size_t>(SendResult::kOk)];
  EXPECT_EQ(totals.stalled, calls) << "each is counted";
  EXPECT_LE(calls, 20u) << "and none tried for ever";
  queue.Drain();
  EXPECT_EQ(queue.Totals().unsent, 64u);
  queue.Detach();
}

TEST_F(XskLink, AQueueBeyondThoseInUseStallsAndDoesNotSpin) {
  MakeWire(2);
  Shell("ethtool -L p0 tx 1");
  StallOnAQueueBeyondThoseInUse<Exclusive>(*pool_);
  ExpectAllMbufsBack();
  ASSERT_TRUE(WaitUntilReleased(if_nametoindex("p0"), 1));
  StallOnAQueueBeyondThoseInUse<Shared>(*pool_);
  ExpectAllMbufsBack();
}

std::atomic<int> closed;

int CloseIt(uint16_t port, rte_eth_event_type, void*, void*) {
  closed += rte_eth_dev_stop(port) == 0 && rte_eth_dev_close(port) == 0;
  return 0;
}

// Of the removal an application is told on EAL's interrupt thread, and may close the port there.
TEST_F(XskLink, ThePortMayBeClosedByWhoIsToldOfTheRemoval) {
  for (int round = 1; round <= 3; ++round) {
    MakeWire();
    Open({});
    closed = 0;
    // For all ports: to take it from one, the port would have to be there still.
    ASSERT_EQ(rte_eth_dev_callback_register(RTE_ETH_ALL, RTE_ETH_EVENT_INTR_RMV, CloseIt, nullptr),
              0);
    Shell("ip link del p0");
    WaitUntil([] { return closed == 1; }, "the port to be closed");
    ASSERT_EQ(closed, 1);
    rte_eth_dev_callback_unregister(RTE_ETH_ALL, RTE_ETH_EVENT_INTR_RMV, CloseIt, nullptr);
    id_ = RTE_MAX_ETHPORTS;
    Close();
  }
}

TEST_F(XskLink, ARemovedInterfaceCannotBeStartedThoughItsNameIsThereAgain) {
  MakeWire();
  Open({});
  Shell("ip link del p0");
  WaitUntil([&] { return rte_eth_dev_is_removed(id_) == 1; }, "the event");
  EXPECT_EQ(rte_eth_dev_stop(id_), 0);
  ExpectAllMbufsBack();
  MakeWire();
  testing::internal::CaptureStderr();
  EXPECT_NE(rte_eth_dev_start(id_), 0);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("interface p0 was removed"),
            std::string::npos);
  Close();
  Open({});
  Peer peer("p1");
  Send({Make(NumberedFrame(1))});
  EXPECT_EQ(peer.Receive(1).size(), 1u);
}

}  // namespace
}  // namespace penstock
