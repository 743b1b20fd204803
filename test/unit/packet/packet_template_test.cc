// SPDX-License-Identifier: BSD-3-Clause
//
// Packet templates, against frames that scapy made. Main lcore, and workers where they share one.

#include "lib/packet/packet_template.h"

#include <gtest/gtest.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"
#include "test/support/eal_main.h"

namespace penstock {
namespace {

using Bytes = std::vector<uint8_t>;

MacAddress Mac(absl::string_view text) { return MacAddress::Parse(text).value(); }
Ipv4Address Ip(absl::string_view text) { return Ipv4Address::Parse(text).value(); }

struct Vector {
  const char* scapy;    // What made the frame, in raw(…).
  uint16_t bytes;       // Its length.
  const char* headers;  // Its beginning; all that follows is zero.
  UdpFrame frame;
};

const std::vector<Vector>& Vectors() {
  static const std::vector<Vector> vectors = {
      {"Ether(src='02:00:00:00:00:0a',dst='02:00:00:00:00:01')"
       "/IP(src='198.18.0.1',dst='198.18.0.2',id=0)/UDP(sport=9,dport=9)",
       42,
       "02000000000102000000000a08004500001c000000004011eea9c6120001c612000200090009000873a4",
       {.segment_bytes = {42},
        .source = Mac("02:00:00:00:00:0a"),
        .destination = Mac("02:00:00:00:00:01"),
        .ip = {Ip("198.18.0.1"), Ip("198.18.0.2")},
        .udp = {9, 9}}},
      {"Ether(src='aa:bb:cc:dd:ee:ff',dst='ff:ff:ff:ff:ff:ff')"
       "/IP(src='192.0.2.255',dst='255.255.255.255',id=0)/UDP(sport=65535,dport=1)/Raw(bytes(1))",
       43,
       "ffffffffffffaabbccddeeff08004500001d000000004011b7d1c00002ffffffffffffff000100093cdc",
       {.segment_bytes = {43},
        .source = Mac("aa:bb:cc:dd:ee:ff"),
        .destination = Mac("ff:ff:ff:ff:ff:ff"),
        .ip = {Ip("192.0.2.255"), Ip("255.255.255.255")},
        .udp = {65535, 1}}},
      {"Ether(src='02:00:00:00:00:0a',dst='02:00:00:00:00:01')"
       "/IP(src='198.18.0.1',dst='198.18.0.2',id=0)/UDP(sport=9,dport=9)/Raw(bytes(22))",
       64,
       "02000000000102000000000a080045000032000000004011ee93c6120001c612000200090009001e7378",
       {.segment_bytes = {64},
        .source = Mac("02:00:00:00:00:0a"),
        .destination = Mac("02:00:00:00:00:01"),
        .ip = {Ip("198.18.0.1"), Ip("198.18.0.2")},
        .udp = {9, 9}}},
      // Its UDP checksum computes to 0, which is sent as ffff: 0 would mean that there is none.
      {"Ether(src='02:00:00:00:00:0a',dst='02:00:00:00:00:01')"
       "/IP(src='198.18.0.1',dst='198.18.0.2',id=0)/UDP(sport=29569,dport=9)/Raw(bytes(22))",
       64,
       "02000000000102000000000a080045000032000000004011ee93c6120001c612000273810009001effff",
       {.segment_bytes = {64},
        .source = Mac("02:00:00:00:00:0a"),
        .destination = Mac("02:00:00:00:00:01"),
        .ip = {Ip("198.18.0.1"), Ip("198.18.0.2")},
        .udp = {29569, 9}}},
      {"Ether(src='02:00:00:00:00:0a',dst='02:00:00:00:00:01')"
       "/IP(src='10.0.0.1',dst='10.255.255.254',id=0)/UDP(sport=1234,dport=4321)/Raw(bytes(1472))",
       1514,
       "02000000000102000000000a0800450005dc00000000401160130a0000010afffffe04d210e105c8c9ac",
       {.segment_bytes = {1514},
        .source = Mac("02:00:00:00:00:0a"),
        .destination = Mac("02:00:00:00:00:01"),
        .ip = {Ip("10.0.0.1"), Ip("10.255.255.254")},
        .udp = {1234, 4321}}},
      {"Ether(src='02:00:00:00:00:0a',dst='02:00:00:00:00:01')"
       "/IP(src='10.0.0.1',dst='10.255.255.254',id=0)/UDP(sport=1234,dport=4321)/Raw(bytes(9686))",
       9728,
       "02000000000102000000000a0800450025f20000000040113ffd0a0000010afffffe04d210e125de8980",
       {.segment_bytes = {9728},
        .source = Mac("02:00:00:00:00:0a"),
        .destination = Mac("02:00:00:00:00:01"),
        .ip = {Ip("10.0.0.1"), Ip("10.255.255.254")},
        .udp = {1234, 4321}}},
  };
  return vectors;
}

Bytes FrameOf(const Vector& vector) {
  const std::string headers = absl::HexStringToBytes(vector.headers);
  Bytes frame(headers.begin(), headers.end());
  frame.resize(vector.bytes);
  return frame;
}

Bytes BytesOf(const PacketTemplate& packet) {
  return Bytes(packet.bytes().begin(), packet.bytes().end());
}

TEST(PacketTemplateTest, UdpIsTheFrameThatScapyMakes) {
  for (const Vector& vector : Vectors()) {
    const PacketTemplate packet = PacketTemplate::Udp(vector.frame);
    EXPECT_EQ(packet.segments(), 1u);
    EXPECT_EQ(BytesOf(packet), FrameOf(vector)) << vector.scapy;
  }
}

// Ways to cut a frame of `bytes` into segments.
std::vector<std::vector<uint16_t>> CutsOf(uint16_t bytes) {
  const auto rest = [&](uint16_t taken) { return static_cast<uint16_t>(bytes - taken); };
  return {
      {bytes},
      {1, rest(1)},
      {rest(1), 1},
      {14, 20, rest(34)},
      {7, 5, 13, 2, rest(27)},
      {1, 1, 1, 1, 1, 1, 1, rest(7)},
  };
}

TEST(PacketTemplateTest, SegmentsDoNotChangeTheFrame) {
  for (const Vector& vector : Vectors()) {
    for (const std::vector<uint16_t>& cut : CutsOf(vector.bytes)) {
      UdpFrame frame = vector.frame;
      frame.segment_bytes = cut;
      const PacketTemplate packet = PacketTemplate::Udp(frame);
      EXPECT_EQ(packet.segments(), cut.size());
      EXPECT_EQ(BytesOf(packet), FrameOf(vector)) << vector.scapy;
    }
  }
}

class StampTest : public testing::Test {
 protected:
  static constexpr unsigned kMbufs = 96;
  static constexpr uint8_t kGarbage = 0xa5;

  void SetUp() override {
    pool_ = rte_pktmbuf_pool_create("stamp", kMbufs, 0, 0, 10240, SOCKET_ID_ANY);
    ASSERT_NE(pool_, nullptr);
  }
  void TearDown() override {
    EXPECT_EQ(rte_mempool_in_use_count(pool_), 0u);
    rte_mempool_free(pool_);
  }

  // As rte_mempool_get_bulk gives them, after a life that left its traces in every field that a
  // free mbuf may keep: whoever had it received, offloaded, and wrote all of its data.
  std::vector<rte_mbuf*> TakeDirty(size_t n) {
    std::vector<rte_mbuf*> mbufs(n);
    void** const objects = reinterpret_cast<void**>(mbufs.data());
    EXPECT_EQ(rte_mempool_get_bulk(pool_, objects, static_cast<unsigned>(n)), 0);
    for (rte_mbuf* mbuf : mbufs) {
      mbuf->data_off = 7;
      mbuf->nb_segs = 5;
      mbuf->port = 3;
      mbuf->ol_flags = ~uint64_t{0};
      mbuf->packet_type = ~uint32_t{0};
      mbuf->pkt_len = 12345;
      mbuf->data_len = 999;
      mbuf->vlan_tci = 0xfff;
      mbuf->hash.rss = 0xdeadbeef;
      std::memset(mbuf->buf_addr, kGarbage, mbuf->buf_len);
    }
    return mbufs;
  }

  static bool Untouched(const rte_mbuf& mbuf, size_t from, size_t to) {
    const uint8_t* const buffer = static_cast<const uint8_t*>(mbuf.buf_addr);
    for (size_t i = from; i < to; ++i) {
      if (buffer[i] != kGarbage) return false;
    }
    return true;
  }

  // Each packet of `mbufs` is `packet`, in every field that somebody might look at.
  static void ExpectStamped(const std::vector<rte_mbuf*>& mbufs, const PacketTemplate& packet,
                            const std::vector<uint16_t>& cut) {
    const size_t total = packet.bytes().size();
    for (size_t first = 0; first < mbufs.size(); first += cut.size()) {
      const char* reason = "";
      EXPECT_EQ(rte_mbuf_check(mbufs[first], 1, &reason), 0) << reason;
      Bytes bytes;
      for (size_t i = 0; i < cut.size(); ++i) {
        const rte_mbuf& mbuf = *mbufs[first + i];
        EXPECT_EQ(mbuf.data_off, RTE_PKTMBUF_HEADROOM);
        EXPECT_EQ(rte_mbuf_refcnt_read(&mbuf), 1);
        EXPECT_EQ(mbuf.nb_segs, i == 0 ? cut.size() : 1u);
        EXPECT_EQ(mbuf.port, RTE_MBUF_PORT_INVALID);
        EXPECT_EQ(mbuf.ol_flags, 0u);
        EXPECT_EQ(mbuf.packet_type, 0u);
        EXPECT_EQ(mbuf.pkt_len, i == 0 ? total : cut[i]);
        EXPECT_EQ(mbuf.data_len, cut[i]);
        EXPECT_EQ(mbuf.vlan_tci, 0u);
        EXPECT_EQ(mbuf.hash.rss, 0u);
        EXPECT_EQ(mbuf.next, i + 1 < cut.size() ? mbufs[first + i + 1] : nullptr);
        const uint8_t* const data = rte_pktmbuf_mtod(&mbuf, const uint8_t*);
        bytes.insert(bytes.end(), data, data + mbuf.data_len);
        // Nothing but the frame is written.
        EXPECT_TRUE(Untouched(mbuf, 0, RTE_PKTMBUF_HEADROOM));
        EXPECT_TRUE(Untouched(mbuf, RTE_PKTMBUF_HEADROOM + cut[i], mbuf.buf_len));
      }
      EXPECT_EQ(bytes, BytesOf(packet));
    }
  }

  static void FreePackets(const std::vector<rte_mbuf*>& mbufs, size_t segments) {
    for (size_t i = 0; i < mbufs.size(); i += segments) rte_pktmbuf_free(mbufs[i]);
  }

  rte_mempool* pool_ = nullptr;
};

TEST_F(StampTest, NothingOfAnMbufsFormerLifeIsLeft) {
  for (const Vector& vector : Vectors()) {
    for (const std::vector<uint16_t>& cut : CutsOf(vector.bytes)) {
      UdpFrame frame = vector.frame;
      frame.segment_bytes = cut;
      const PacketTemplate packet = PacketTemplate::Udp(frame);
      const std::vector<rte_mbuf*> mbufs = TakeDirty(3 * cut.size());
      packet.Stamp(mbufs);
      SCOPED_TRACE(vector.scapy);
      SCOPED_TRACE(cut.size());
      ExpectStamped(mbufs, packet, cut);
      // Every segment goes home with its packet: what TearDown looks at.
      FreePackets(mbufs, cut.size());
      if (HasFailure()) return;
    }
  }
}

TEST_F(StampTest, AsManyAsThereAre) {
  const PacketTemplate packet = PacketTemplate::Udp(Vectors()[2].frame);
  packet.Stamp({});
  for (size_t n : {1, 2, 31, 32, 33, 96}) {
    const std::vector<rte_mbuf*> mbufs = TakeDirty(n);
    packet.Stamp(mbufs);
    ExpectStamped(mbufs, packet, {64});
    FreePackets(mbufs, 1);
  }
}

TEST_F(StampTest, WhatIsNotOfThePacketStays) {
  const PacketTemplate packet = PacketTemplate::Udp(Vectors()[2].frame);
  const std::vector<rte_mbuf*> mbufs = TakeDirty(1);
  const rte_mbuf before = *mbufs[0];
  packet.Stamp(mbufs);
  EXPECT_EQ(mbufs[0]->pool, before.pool);
  EXPECT_EQ(mbufs[0]->buf_addr, before.buf_addr);
  EXPECT_EQ(rte_mbuf_iova_get(mbufs[0]), rte_mbuf_iova_get(&before));
  EXPECT_EQ(mbufs[0]->buf_len, before.buf_len);
  EXPECT_EQ(mbufs[0]->priv_size, before.priv_size);
  FreePackets(mbufs, 1);
}

struct Share {
  const PacketTemplate* packet;
  std::vector<rte_mbuf*> mbufs;
};

TEST_F(StampTest, SeveralLcoresStampFromOne) {
  UdpFrame frame = Vectors()[4].frame;
  frame.segment_bytes = {14, 500, 1000};
  const PacketTemplate packet = PacketTemplate::Udp(frame);
  std::vector<Share> shares(kTestLcores);
  for (unsigned lcore = 1; lcore < kTestLcores; ++lcore) {
    shares[lcore] = {&packet, TakeDirty(30)};
    ASSERT_EQ(rte_eal_remote_launch(
                  [](void* argument) {
                    const Share& share = *static_cast<Share*>(argument);
                    for (int i = 0; i < 200; ++i) share.packet->Stamp(share.mbufs);
                    return 0;
                  },
                  &shares[lcore], lcore),
              0);
  }
  for (unsigned lcore = 1; lcore < kTestLcores; ++lcore) {
    ASSERT_EQ(rte_eal_wait_lcore(lcore), 0);
    ExpectStamped(shares[lcore].mbufs, packet, frame.segment_bytes);
    FreePackets(shares[lcore].mbufs, 3);
  }
}

}  // namespace
}  // namespace penstock
