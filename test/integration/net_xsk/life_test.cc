// SPDX-License-Identifier: BSD-3-Clause
//
// The life of a port: starting, stopping, what it leaves, what it is told, and the XDP program with
// its filter.

#include <arpa/inet.h>
#include <net/if.h>
#include <rte_epoll.h>
#include <rte_ethdev.h>
#include <rte_interrupts.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <vector>

#include "test/integration/net_xsk/rig.h"

namespace penstock {
namespace {

class XskLife : public XskTest {};

int System(const char* command) { return std::system(command); }

bool HasProgram() { return System("ip link show p0 | grep -q prog/xdp") == 0; }

TEST_F(XskLife, StartsAgainRightAfterAStop) {
  MakeWire();
  Peer peer("p1");
  Open({});
  for (uint32_t round = 0; round < 100; ++round) {
    Send({Make(NumberedFrame(round))});
    ASSERT_EQ(peer.Receive(1).size(), 1u);
    peer.Send(NumberedFrame(round));
    ASSERT_EQ(rte_eth_dev_stop(id_), 0);
    ExpectAllMbufsBack();
    ASSERT_EQ(rte_eth_dev_start(id_), 0) << "round " << round;
  }
}

TEST_F(XskLife, AStoppedPortHoldsNothing) {
  MakeWire();
  Open({});
  EXPECT_TRUE(HasProgram());
  EXPECT_EQ(rte_eth_dev_stop(id_), 0);
  EXPECT_FALSE(HasProgram());
  ExpectAllMbufsBack();
  // Anybody else may have the queue now.
  EXPECT_TRUE(WaitUntilReleased(if_nametoindex("p0"), 0));
  EXPECT_EQ(rte_eth_tx_done_cleanup(id_, 0, 0), 0) << "harmless on a stopped port";
  EXPECT_EQ(rte_eth_dev_start(id_), 0);
}

TEST_F(XskLife, AQueueThatWasNotSetUpIsSaidAtStart) {
  MakeWire();
  ASSERT_EQ(rte_eal_hotplug_add("vdev", "net_xsk0", "iface=p0"), 0);
  ASSERT_EQ(rte_eth_dev_get_port_by_name("net_xsk0", &id_), 0);
  const rte_eth_conf conf{};
  ASSERT_EQ(rte_eth_dev_configure(id_, 1, 1, &conf), 0);
  const auto start = [&] {
    testing::internal::CaptureStderr();
    EXPECT_EQ(rte_eth_dev_start(id_), -EINVAL);
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_NE(start().find("RX queue 0 was not set up"), std::string::npos);
  ASSERT_EQ(rte_eth_rx_queue_setup(id_, 0, 64, SOCKET_ID_ANY, nullptr, pool_), 0);
  EXPECT_NE(start().find("TX queue 0 was not set up"), std::string::npos);
  ASSERT_EQ(rte_eth_tx_queue_setup(id_, 0, 64, SOCKET_ID_ANY, nullptr), 0);
  EXPECT_EQ(rte_eth_dev_start(id_), 0);
}

TEST_F(XskLife, AStartedPortMayBeUnplugged) {
  MakeWire();
  Open({});
  EXPECT_EQ(rte_eal_hotplug_remove("vdev", "net_xsk0"), 0);
  EXPECT_EQ(rte_eth_dev_is_valid_port(id_), 0);
  EXPECT_FALSE(HasProgram());
  id_ = RTE_MAX_ETHPORTS;
  ExpectAllMbufsBack();
}

TEST_F(XskLife, AProgramInTheWayIsNamedAndLeft) {
  MakeWire();
  Shell("ip link set dev p0 xdp obj " PENSTOCK_TEST_XDP_OBJECT " sec xdp");
  testing::internal::CaptureStderr();
  EXPECT_NE(TryOpen({}), 0);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("carries XDP program"), std::string::npos);
  EXPECT_TRUE(HasProgram());
}

TEST_F(XskLife, CountsAreKeptOverAStopAndResetWhenAsked) {
  MakeWire();
  Peer peer("p1");
  Open({});
  Send({Make(NumberedFrame(1))});
  EXPECT_EQ(rte_eth_dev_stop(id_), 0);
  EXPECT_EQ(rte_eth_dev_start(id_), 0);
  Send({Make(NumberedFrame(2))});
  EXPECT_EQ(Stats().opackets, 2u);
  EXPECT_EQ(Xstats()["tx_q0_sends"], 2u);
  EXPECT_EQ(rte_eth_xstats_reset(id_), 0);
  EXPECT_EQ(Stats().opackets, 0u);
  EXPECT_EQ(Xstats()["tx_q0_sends"], 0u);
  EXPECT_EQ(Xstats()["tx_q0_budget"], 32u) << "a measurement is not reset";
}

std::atomic<int> removals;
std::atomic<int> link_changes;

int OnEvent(uint16_t, rte_eth_event_type type, void*, void*) {
  ++(type == RTE_ETH_EVENT_INTR_RMV ? removals : link_changes);
  return 0;
}

TEST_F(XskLife, ARemovedInterfaceIsToldOnceAndNothingSpins) {
  MakeWire();
  Open({});
  removals = 0;
  ASSERT_EQ(rte_eth_dev_callback_register(id_, RTE_ETH_EVENT_INTR_RMV, OnEvent, nullptr), 0);
  Shell("ip link del p0");
  WaitUntil([] { return removals == 1; }, "the event");
  EXPECT_EQ(rte_eth_dev_is_removed(id_), 1);
  rte_eth_link link;
  EXPECT_EQ(rte_eth_link_get_nowait(id_, &link), 0);
  EXPECT_EQ(link.link_status, RTE_ETH_LINK_DOWN);
  std::vector<rte_mbuf*> mbufs;
  for (uint32_t i = 0; i < 10; ++i) mbufs.push_back(Make(NumberedFrame(i)));
  for (rte_mbuf*& mbuf : mbufs) EXPECT_EQ(rte_eth_tx_burst(id_, 0, &mbuf, 1), 1);
  EXPECT_LE(Xstats()["tx_q0_sends"], 1u) << "after ENXIO no call is made";
  rte_mbuf* received;
  EXPECT_EQ(rte_eth_rx_burst(id_, 0, &received, 1), 0);
  rte_eth_dev_callback_unregister(id_, RTE_ETH_EVENT_INTR_RMV, OnEvent, nullptr);
}

TEST_F(XskLife, TheLinkIsToldAsItChanges) {
  MakeWire();
  ASSERT_EQ(rte_eal_hotplug_add("vdev", "net_xsk0", "iface=p0"), 0);
  ASSERT_EQ(rte_eth_dev_get_port_by_name("net_xsk0", &id_), 0);
  rte_eth_conf conf{};
  conf.intr_conf.lsc = 1;
  ASSERT_EQ(rte_eth_dev_configure(id_, 1, 1, &conf), 0);
  ASSERT_EQ(rte_eth_rx_queue_setup(id_, 0, 64, SOCKET_ID_ANY, nullptr, pool_), 0);
  ASSERT_EQ(rte_eth_tx_queue_setup(id_, 0, 64, SOCKET_ID_ANY, nullptr), 0);
  ASSERT_EQ(rte_eth_dev_start(id_), 0);
  link_changes = 0;
  ASSERT_EQ(rte_eth_dev_callback_register(id_, RTE_ETH_EVENT_INTR_LSC, OnEvent, nullptr), 0);
  Shell("ip link set p1 down");
  WaitUntil([] { return link_changes == 1; }, "link down");
  rte_eth_link link;
  EXPECT_EQ(rte_eth_link_get_nowait(id_, &link), 0);
  EXPECT_EQ(link.link_status, RTE_ETH_LINK_DOWN);
  Shell("ip link set p1 up");
  WaitUntil([] { return link_changes == 2; }, "link up");
  rte_eth_dev_callback_unregister(id_, RTE_ETH_EVENT_INTR_LSC, OnEvent, nullptr);
}

TEST_F(XskLife, AnInterruptWakesAndSendsNothing) {
  MakeWire();
  Peer peer("p1");
  Open({.rx_interrupts = true});
  ASSERT_EQ(rte_eth_dev_rx_intr_ctl_q(id_, 0, RTE_EPOLL_PER_THREAD, RTE_INTR_EVENT_ADD, nullptr),
            0);
  rte_epoll_event event;
  EXPECT_EQ(rte_epoll_wait(RTE_EPOLL_PER_THREAD, &event, 1, 0), 0) << "nothing came";
  // A frame that a stalled call left in TX must not go because somebody waits for others.
  Shell("ip link set p0 down");
  rte_mbuf* mbuf = Make(NumberedFrame(1));
  ASSERT_EQ(rte_eth_tx_burst(id_, 0, &mbuf, 1), 1);
  Shell("ip link set p0 up");
  ASSERT_EQ(rte_eth_dev_rx_intr_enable(id_, 0), 0);
  EXPECT_EQ(rte_epoll_wait(RTE_EPOLL_PER_THREAD, &event, 1, 50), 0);
  EXPECT_TRUE(peer.IsQuiet()) << "the wait sent it";
  peer.Send(NumberedFrame(2));
  EXPECT_EQ(rte_epoll_wait(RTE_EPOLL_PER_THREAD, &event, 1, 5000), 1);
  EXPECT_EQ(Receive(1), std::vector<Frame>{NumberedFrame(2)});
  ReapAll();
  EXPECT_EQ(peer.Receive(1).size(), 1u);
  EXPECT_EQ(rte_eth_dev_rx_intr_ctl_q(id_, 0, RTE_EPOLL_PER_THREAD, RTE_INTR_EVENT_DEL, nullptr),
            0);
}

// ---- the program ----

TEST_F(XskLife, AProgramOfOnesOwn) {
  MakeWire();
  Peer peer("p1");
  Open({.devargs = ",xdp_prog=" PENSTOCK_TEST_XDP_OBJECT});
  peer.Send(NumberedFrame(4));
  EXPECT_EQ(Receive(1), std::vector<Frame>{NumberedFrame(4)});
}

TEST_F(XskLife, OnTheGenericPath) {
  MakeWire();
  Peer peer("p1");
  Open({.devargs = ",xdp_mode=skb,bind=copy"});
  EXPECT_EQ(System("ip link show p0 | grep -q xdpgeneric"), 0);
  char text[32];
  EXPECT_EQ(rte_eth_dev_fw_version_get(id_, text, sizeof(text)), 0);
  EXPECT_EQ(std::string(text).substr(0, 8), "skb copy");
  peer.Send(NumberedFrame(5));
  EXPECT_EQ(Receive(1), std::vector<Frame>{NumberedFrame(5)});
}

TEST_F(XskLife, ZeroCopyIsRefusedWhereTheDeviceHasNone) {
  MakeWire();
  testing::internal::CaptureStderr();
  EXPECT_NE(TryOpen({.devargs = ",bind=zerocopy"}), 0);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("bind=copy works everywhere"),
            std::string::npos);
}

TEST_F(XskLife, BusyPollingReceives) {
  MakeWire();
  Peer peer("p1");
  Open({.devargs = ",busy_budget=64"});
  for (uint32_t i = 0; i < 50; ++i) {
    peer.Send(NumberedFrame(i));
    EXPECT_EQ(Receive(1), std::vector<Frame>{NumberedFrame(i)});
  }
}

}  // namespace
}  // namespace penstock
