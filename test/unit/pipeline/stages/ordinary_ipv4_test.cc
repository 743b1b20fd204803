// SPDX-License-Identifier: BSD-3-Clause
//
// OrdinaryIpv4 says yes only where Dissect finds TCP or UDP without a fault at the places it says,
// whatever byte of a frame is changed and wherever the frame or its first segment ends. Main lcore.

#include "lib/pipeline/stages/ordinary_ipv4.h"

#include <gtest/gtest.h>

#include "lib/net/dissect.h"
#include "test/support/packets.h"
#include "test/unit/pipeline/rig.h"

namespace penstock {
namespace {

// scapy 2.5.0: Ether()/IP()/UDP()/b"abc", Ether()/IP()/TCP(options=[("MSS",1460)])/b"x"
constexpr char kUdp[] =
    "02000000000b02000000000a08004500001f0001000040118e96c0000201c633640200010002000b4f3b616263";
constexpr char kTcp[] =
    "02000000000b02000000000a08004500002d0001000040068e93c0000201c633640200010002000000000000"
    "000060022000edf30000020405b478";

// Whether it is ordinary; checked against Dissect.
bool Check(Pool& pool, const PacketBytes& frame, const std::vector<size_t>& lengths,
           const std::string& what) {
  rte_mbuf* const mbuf = MakePacket(pool.get(), frame, lengths);
  const OrdinaryIpv4 ordinary(mbuf);
  const bool is = static_cast<bool>(ordinary);
  if (is) {
    const Dissection d = Dissect(frame, static_cast<uint32_t>(frame.size()));
    EXPECT_EQ(d.fault, FrameFault::kNone) << what;
    EXPECT_EQ(d.transport, ordinary.tcp() ? Transport::kTcp : Transport::kUdp) << what;
    EXPECT_EQ(d.fragment, Fragment::kNone) << what;
    EXPECT_EQ(d.network_offset, OrdinaryIpv4::kIpOffset) << what;
    EXPECT_EQ(d.transport_offset, OrdinaryIpv4::kTransportOffset) << what;
    EXPECT_EQ(d.transport_end - d.transport_offset, ordinary.transport_bytes()) << what;
  }
  rte_pktmbuf_free(mbuf);
  return is;
}

TEST(OrdinaryIpv4, AgreesWithDissectWhateverByteChanges) {
  Pool pool(64);
  for (const char* hex : {kUdp, kTcp}) {
    const PacketBytes frame = FromHex(hex);
    EXPECT_TRUE(Check(pool, frame, {}, hex));
    for (size_t at = 12; at < frame.size(); ++at) {
      for (unsigned value = 0; value < 256; ++value) {
        PacketBytes changed = frame;
        changed[at] = static_cast<uint8_t>(value);
        Check(pool, changed, {}, absl::StrCat(hex, " ", at, " ", value));
      }
    }
  }
}

TEST(OrdinaryIpv4, WantsTheHeadersInTheFirstSegmentAndThePacketInTheFrame) {
  Pool pool(64);
  for (const char* hex : {kUdp, kTcp}) {
    const PacketBytes frame = FromHex(hex);
    const size_t headers = hex == kUdp ? 42 : 54;
    for (size_t first = 0; first <= frame.size(); ++first) {
      EXPECT_EQ(Check(pool, frame, {first}, hex), first >= headers) << first;
    }
    for (size_t length = 0; length < frame.size(); ++length) {
      const PacketBytes cut(frame.begin(), frame.begin() + static_cast<long>(length));
      EXPECT_FALSE(Check(pool, cut, {}, hex)) << length;
    }
    PacketBytes padded = frame;
    padded.resize(64);
    EXPECT_TRUE(Check(pool, padded, {}, hex));
  }
}

TEST(OrdinaryIpv4, DoesNotTakeWhatIsNot) {
  Pool pool(64);
  struct Row {
    size_t at;
    uint8_t value;
    bool ordinary;
  };
  const Row kRows[] = {
      {12, 0x86, false},  // EtherType
      {14, 0x46, false},  // IP options
      {14, 0x65, false},  // version
      {15, 0xff, true},   // type of service
      {20, 0x40, true},   // don't fragment
      {20, 0x20, false},  // more fragments
      {21, 1, false},     // a later fragment
      {22, 1, true},      // time to live
      {23, 1, false},     // ICMP
      {17, 27, false},    // shorter than its headers
      {39, 10, false},    // UDP shorter than the packet
  };
  for (const Row& row : kRows) {
    PacketBytes frame = FromHex(kUdp);
    frame[row.at] = row.value;
    EXPECT_EQ(Check(pool, frame, {}, ""), row.ordinary) << row.at;
  }
}

TEST(OfUnknownProtocol, OnlyWhereDissectFindsNothing) {
  Pool pool(64);
  PacketBytes frame(60);
  unsigned unknown = 0;
  for (unsigned type = 0; type <= 0xffff; ++type) {
    frame[12] = static_cast<uint8_t>(type >> 8);
    frame[13] = static_cast<uint8_t>(type);
    rte_mbuf* const mbuf = MakePacket(pool.get(), frame, {});
    if (OfUnknownProtocol(mbuf)) {
      ++unknown;
      const Dissection d = Dissect(frame, static_cast<uint32_t>(frame.size()));
      EXPECT_EQ(d.fault, FrameFault::kNone) << type;
      EXPECT_EQ(d.network, Network::kNone) << type;
      EXPECT_EQ(d.vlan_tags, 0) << type;
    }
    rte_pktmbuf_free(mbuf);
  }
  // All but IPv4, IPv6, ARP and three kinds of tags.
  EXPECT_EQ(unknown, 0x10000u - 6);

  frame.resize(15);
  rte_mbuf* const mbuf = MakePacket(pool.get(), frame, {});
  EXPECT_FALSE(OfUnknownProtocol(mbuf)) << "no room for a vector";
  rte_pktmbuf_free(mbuf);
}

}  // namespace
}  // namespace penstock
