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

// An Ethernet frame with this ethertype, behind VLAN tags.
Frame Ethernet(uint16_t ethertype, const Frame& payload, unsigned tags = 0) {
  Frame frame = NumberedFrame(0, 12);
  const auto put = [&](uint16_t value) {
    frame.push_back(static_cast<uint8_t>(value >> 8));
    frame.push_back(static_cast<uint8_t>(value & 0xff));
  };
  for (unsigned i = 0; i < tags; ++i) {
    put(0x8100);
    put(static_cast<uint16_t>(10 + i));
  }
  put(ethertype);
  frame.insert(frame.end(), payload.begin(), payload.end());
  frame.resize(std::max<size_t>(frame.size(), 60));
  return frame;
}

Frame Ipv4(uint8_t protocol, uint16_t destination_port, uint16_t fragment = 0) {
  Frame packet(28);
  packet[0] = 0x45;
  packet[3] = 28;
  packet[6] = static_cast<uint8_t>(fragment >> 8);
  packet[7] = static_cast<uint8_t>(fragment & 0xff);
  packet[8] = 64;
  packet[9] = protocol;
  packet[22] = static_cast<uint8_t>(destination_port >> 8);
  packet[23] = static_cast<uint8_t>(destination_port & 0xff);
  packet[25] = 8;
  return packet;
}

Frame Ipv6(uint8_t next, uint16_t destination_port) {
  Frame packet(48);
  packet[0] = 0x60;
  packet[5] = 8;
  packet[6] = next;
  packet[7] = 64;
  packet[42] = static_cast<uint8_t>(destination_port >> 8);
  packet[43] = static_cast<uint8_t>(destination_port & 0xff);
  packet[45] = 8;
  return packet;
}

Frame To(Frame frame, const uint8_t (&mac)[6]) {
  std::copy(std::begin(mac), std::end(mac), frame.begin());
  return frame;
}

TEST_F(XskLife, TheFilterTakesWhatItNamesAndLeavesTheRest) {
  MakeWire();
  Shell("ip link set p0 address 02:00:00:00:00:aa");
  Peer peer("p1");
  Open({.devargs = ",filter=[udp:4789,esp,ether:0x88b5,dst-mac,dst-mac:02:00:00:00:00:bb]"});
  const uint8_t own[6] = {2, 0, 0, 0, 0, 0xaa};
  const uint8_t named[6] = {2, 0, 0, 0, 0, 0xbb};
  const uint8_t other[6] = {2, 0, 0, 0, 0, 0xcc};
  struct Row {
    Frame frame;
    bool taken;
    const char* why;
  };
  const Row rows[] = {
      {Ethernet(0x0800, Ipv4(17, 4789)), true, "UDP to the port"},
      {Ethernet(0x0800, Ipv4(17, 4788)), false, "UDP to another"},
      {Ethernet(0x0800, Ipv4(6, 4789)), false, "TCP to the same port: ssh lives on"},
      {Ethernet(0x0800, Ipv4(17, 4789, 0x0010)), false, "a later fragment has no ports"},
      {Ethernet(0x0800, Ipv4(17, 4789, 0x2000)), true, "the first fragment"},
      {Ethernet(0x86dd, Ipv6(17, 4789)), true, "over IPv6"},
      {Ethernet(0x86dd, Ipv6(58, 4789)), false, "ICMPv6"},
      {Ethernet(0x0800, Ipv4(50, 0)), true, "ESP"},
      {Ethernet(0x86dd, Ipv6(50, 0)), true, "ESP over IPv6"},
      {Ethernet(0x88b5, {}), true, "the ethertype"},
      {Ethernet(0x88b5, {}, 2), true, "behind two tags"},
      {Ethernet(0x0800, Ipv4(17, 4789), 1), true, "UDP behind a tag"},
      {Ethernet(0x0806, Frame(28)), false, "ARP lives on"},
      {To(Ethernet(0x0806, Frame(28)), own), true, "to the port"},
      {To(Ethernet(0x0806, Frame(28)), named), true, "to the address named"},
      {To(Ethernet(0x0806, Frame(28)), other), false, "to another"},
      {Frame(14), false, "no more than a header"},
  };
  size_t taken = 0;
  for (const Row& row : rows) {
    peer.Send(row.frame);
    // Received by the socket or by the kernel, each at once: veth delivers while it sends.
    taken += row.taken;
    EXPECT_EQ(rte_eth_rx_queue_count(id_, 0), static_cast<int>(taken)) << row.why;
    if (HasFailure()) break;
  }
  // The rule means the address that the port has now.
  rte_ether_addr moved = {{2, 0, 0, 0, 0, 0xcc}};
  ASSERT_EQ(rte_eth_dev_default_mac_addr_set(id_, &moved), 0);
  peer.Send(To(Ethernet(0x0806, Frame(28)), other));
  EXPECT_EQ(rte_eth_rx_queue_count(id_, 0), static_cast<int>(taken + 1));
  std::array<rte_mbuf*, 32> mbufs;
  rte_pktmbuf_free_bulk(mbufs.data(), rte_eth_rx_burst(id_, 0, mbufs.data(), 32));
}

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
