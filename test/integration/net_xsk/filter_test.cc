// SPDX-License-Identifier: BSD-3-Clause
//
// filter=: of each frame, whether the port gets it or the kernel, rule by rule and with all of
// them.

#include <rte_ethdev.h>

#include <algorithm>
#include <array>
#include <vector>

#include "absl/strings/str_cat.h"
#include "test/integration/net_xsk/rig.h"

namespace penstock {
namespace {

class XskFilter : public XskTest {};

// An Ethernet frame with this ethertype, behind VLAN tags.
Frame Ethernet(uint16_t ethertype, const Frame& payload, unsigned tags = 0) {
  Frame frame = NumberedFrame(0);
  frame.resize(12);
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

// The first of several: a fragment header (RFC 8200, 4.5) before what `next` says.
Frame Ipv6Fragment(uint8_t next, uint16_t destination_port) {
  Frame packet = Ipv6(44, destination_port);
  packet[5] = 16;
  const uint8_t header[8] = {next, 0, 0, 1, 0, 0, 0, 7};
  packet.insert(packet.begin() + 40, std::begin(header), std::end(header));
  return packet;
}

Frame To(Frame frame, const uint8_t (&mac)[6]) {
  std::copy(std::begin(mac), std::end(mac), frame.begin());
  return frame;
}

// Rules, as bits of what takes a frame.
enum : unsigned { kUdp = 1, kEsp = 2, kEther = 4, kOwnMac = 8, kMac = 16, kRules = 5 };
constexpr const char* kRuleText[kRules] = {"udp:4789", "esp", "ether:0x88b5", "dst-mac",
                                           "dst-mac:02:00:00:00:00:bb"};
constexpr uint8_t kOwn[6] = {2, 0, 0, 0, 0, 0xaa};
constexpr uint8_t kNamed[6] = {2, 0, 0, 0, 0, 0xbb};
constexpr uint8_t kOther[6] = {2, 0, 0, 0, 0, 0xcc};

struct Row {
  Frame frame;
  unsigned taken_by;
  const char* why;
};

std::vector<Row> Rows() {
  return {
      {Ethernet(0x0800, Ipv4(17, 4789)), kUdp, "UDP to the port"},
      {Ethernet(0x0800, Ipv4(17, 4788)), 0, "UDP to another"},
      {Ethernet(0x0800, Ipv4(6, 4789)), 0, "TCP to the same port: ssh lives on"},
      {Ethernet(0x0800, Ipv4(17, 4789, 0x0010)), 0, "a later fragment has no ports"},
      {Ethernet(0x0800, Ipv4(17, 4789, 0x2000)), kUdp, "the first fragment"},
      {Ethernet(0x86dd, Ipv6(17, 4789)), kUdp, "over IPv6"},
      {Ethernet(0x86dd, Ipv6(58, 4789)), 0, "ICMPv6"},
      {Ethernet(0x86dd, Ipv6Fragment(17, 4789)), 0, "an IPv6 fragment, the first as well"},
      {Ethernet(0x0800, Ipv4(50, 0)), kEsp, "ESP"},
      {Ethernet(0x86dd, Ipv6(50, 0)), kEsp, "ESP over IPv6"},
      {Ethernet(0x88b5, {}), kEther, "the ethertype"},
      {Ethernet(0x88b5, {}, 2), kEther, "behind two tags"},
      {Ethernet(0x0800, Ipv4(17, 4789), 1), kUdp, "UDP behind a tag"},
      {Ethernet(0x0806, Frame(28)), 0, "ARP lives on"},
      {To(Ethernet(0x0806, Frame(28)), kOwn), kOwnMac, "to the port"},
      {To(Ethernet(0x0806, Frame(28)), kNamed), kMac, "to the address named"},
      {To(Ethernet(0x0806, Frame(28)), kOther), 0, "to another"},
      {To(Ethernet(0x0800, Ipv4(17, 4789)), kOwn), kUdp | kOwnMac, "what two rules name"},
      {Frame(14), 0, "no more than a header"},
  };
}

TEST_F(XskFilter, EachFrameGoesToThePortOrToTheKernel) {
  MakeWire();
  Shell("ip link set p0 address 02:00:00:00:00:aa");
  Peer peer("p1");
  Peer kernel("p0");  // gets what goes on to the kernel
  for (unsigned rules = 1; rules < 1u << kRules; rules = rules < 16 ? rules * 2 : rules * 2 - 1) {
    std::string text;
    for (unsigned rule = 0; rule < kRules; ++rule) {
      if (rules >> rule & 1) absl::StrAppend(&text, text.empty() ? "" : ",", kRuleText[rule]);
    }
    Open({.devargs = absl::StrCat(",filter=[", text, "]")});
    int taken = 0;
    uint8_t number = 0;
    std::vector<uint8_t> left;  // the numbers that are to go on to the kernel
    std::vector<uint8_t> seen;
    for (Row& row : Rows()) {
      // In the source address: VLAN tags are taken off on the way to a packet socket.
      row.frame[11] = ++number;
      peer.Send(row.frame);
      WaitUntil(
          [&] {
            kernel.TakeAll(11, seen);
            return rte_eth_rx_queue_count(id_, 0) + static_cast<int>(seen.size()) >= number;
          },
          "the one or the other to have it");
      (row.taken_by & rules) != 0 ? void(++taken) : left.push_back(number);
      EXPECT_EQ(rte_eth_rx_queue_count(id_, 0), taken) << text << ": " << row.why;
      EXPECT_EQ(seen, left) << text << ": " << row.why;
    }
    std::array<rte_mbuf*, 32> mbufs;
    const uint16_t n = rte_eth_rx_burst(id_, 0, mbufs.data(), 32);
    EXPECT_EQ(n, taken);
    rte_pktmbuf_free_bulk(mbufs.data(), n);
    Close();
  }
}

TEST_F(XskFilter, DstMacIsTheAddressThatThePortHasNow) {
  MakeWire();
  Shell("ip link set p0 address 02:00:00:00:00:aa");
  Peer peer("p1");
  Open({.devargs = ",filter=[dst-mac]"});
  rte_ether_addr moved = {{2, 0, 0, 0, 0, 0xcc}};
  ASSERT_EQ(rte_eth_dev_default_mac_addr_set(id_, &moved), 0);
  peer.Send(To(NumberedFrame(1), kOwn));
  peer.Send(To(NumberedFrame(2), kOther));
  EXPECT_EQ(Receive(1), std::vector<Frame>{To(NumberedFrame(2), kOther)});
  EXPECT_EQ(rte_eth_rx_queue_count(id_, 0), 0);
}

// `ip link set` may give the interface another address at any time: the filter and ethdev follow,
// and a start puts no older one back.
TEST_F(XskFilter, AnAddressThatSomebodyElseSetIsFollowedAndKept) {
  MakeWire();
  Shell("ip link set p0 address 02:00:00:00:00:aa");
  Peer peer("p1");
  Open({.devargs = ",filter=[dst-mac]"});
  const auto shows = [&](const uint8_t(&wanted)[6]) {
    rte_ether_addr mac;
    return rte_eth_macaddr_get(id_, &mac) == 0 &&
           std::equal(std::begin(wanted), std::end(wanted), mac.addr_bytes);
  };
  const auto takes_what_is_for = [&](const uint8_t(&wanted)[6], const uint8_t(&not_any_more)[6]) {
    peer.Send(To(NumberedFrame(1), not_any_more));
    peer.Send(To(NumberedFrame(2), wanted));
    EXPECT_EQ(Receive(1), std::vector<Frame>{To(NumberedFrame(2), wanted)});
    EXPECT_EQ(rte_eth_rx_queue_count(id_, 0), 0);
  };
  Shell("ip link set p0 address 02:00:00:00:00:cc");
  WaitUntil([&] { return shows(kOther); }, "ethdev to be told");
  // The filter is told right after, before the lock that a reset takes is free.
  ASSERT_EQ(rte_eth_stats_reset(id_), 0);
  takes_what_is_for(kOther, kOwn);
  ASSERT_EQ(rte_eth_dev_stop(id_), 0);
  Shell("ip link set p0 address 02:00:00:00:00:bb");
  ASSERT_EQ(rte_eth_dev_start(id_), 0);
  EXPECT_TRUE(shows(kNamed));
  Shell("ip link show p0 | grep -q 02:00:00:00:00:bb");
  takes_what_is_for(kNamed, kOther);
}

}  // namespace
}  // namespace penstock
