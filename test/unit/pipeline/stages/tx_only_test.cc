// SPDX-License-Identifier: BSD-3-Clause
//
// txonly: a burst to each of its queues per iteration, the frame that the configuration says, no
// more mbufs than it takes, and one packet when the mempool is nearly empty. Main lcore.

#include "lib/pipeline/stages/tx_only.h"

#include <gtest/gtest.h>

#include "lib/net/checksum.h"
#include "lib/net/headers.h"
#include "test/unit/pipeline/rig.h"
#include "test/unit/pipeline/stages/bench.h"

namespace penstock {
namespace {

static_assert(Stage<TxOnly>);

constexpr MacAddress kMac{{2, 1, 1, 1, 1, 1}};

TxOnly Make(const Configuration& configuration, Pool& pool, std::vector<StageContext::Tx> tx) {
  auto stage = TxOnly::Create(StageContext{configuration, 1, {}, std::move(tx), pool.get()});
  EXPECT_TRUE(stage.ok()) << stage.status();
  return *std::move(stage);
}

TEST(TxOnly, SendsABurstToEachQueueThatItFeedsInEachIteration) {
  for (const uint16_t burst : {1, 32, 512}) {
    Pool pool(2100);
    Configuration configuration;
    configuration.burst = burst;
    TxOnly stage =
        Make(configuration, pool, {{0, 0, kMac, true}, {1, 0, kMac, false}, {1, 1, kMac, true}});
    RecordedOutlets out;
    stage.Poll(out);
    stage.Poll(out);
    EXPECT_EQ(out.made, 4U * burst);
    ASSERT_EQ(out.sent.size(), 4U * burst);
    std::map<TxSlot, uint64_t> by_slot;
    for (const auto& [slot, mbuf] : out.sent) ++by_slot[slot];
    EXPECT_EQ(by_slot, (std::map<TxSlot, uint64_t>{{0, 2U * burst}, {2, 2U * burst}}));
    EXPECT_EQ(pool.InUse(), 4U * burst);
    EXPECT_TRUE(out.counts.empty());
  }
}

TEST(TxOnly, WritesTheFrameThatWasAskedFor) {
  Pool pool(100);
  Configuration configuration;
  configuration.burst = 2;
  configuration.txpkts = {100};
  configuration.tx_ip = {Ipv4Address(0x0a000001), Ipv4Address(0x0a000002)};
  configuration.tx_udp = {1234, 4321};
  configuration.eth_peer[7] = MacAddress{{2, 9, 9, 9, 9, 9}};
  TxOnly stage = Make(configuration, pool, {{7, 0, kMac, true}, {3, 0, kMac, true}});
  RecordedOutlets out;
  stage.Poll(out);
  ASSERT_EQ(out.sent.size(), 4U);
  for (const auto& [slot, mbuf] : out.sent) {
    EXPECT_EQ(mbuf->pkt_len, 100U);
    EXPECT_EQ(mbuf->data_len, 100U);
    EXPECT_EQ(mbuf->nb_segs, 1);
    EXPECT_EQ(rte_mbuf_refcnt_read(mbuf), 1);
    const auto* ethernet = rte_pktmbuf_mtod(mbuf, const EthernetHeader*);
    EXPECT_EQ(ethernet->source, kMac);
    // As asked for port 7, testpmd's default for port 3.
    EXPECT_EQ(ethernet->destination,
              slot == 0 ? (MacAddress{{2, 9, 9, 9, 9, 9}}) : (MacAddress{{2, 0, 0, 0, 0, 3}}));
    const auto* ip = rte_pktmbuf_mtod_offset(mbuf, const Ipv4Header*, sizeof(EthernetHeader));
    EXPECT_EQ(ip->source, Ipv4Address(0x0a000001));
    EXPECT_EQ(ip->destination, Ipv4Address(0x0a000002));
    EXPECT_EQ(ip->total_length, Big16(86));
    const auto* udp = rte_pktmbuf_mtod_offset(mbuf, const UdpHeader*,
                                              sizeof(EthernetHeader) + sizeof(Ipv4Header));
    EXPECT_EQ(udp->source_port, Big16(1234));
    EXPECT_EQ(udp->destination_port, Big16(4321));
    EXPECT_EQ(udp->length, Big16(66));
  }
}

std::vector<uint32_t> SourcesTo(const RecordedOutlets& out, TxSlot slot) {
  std::vector<uint32_t> sources;
  for (const auto& [to, mbuf] : out.sent) {
    if (to != slot) continue;
    const auto* ip = rte_pktmbuf_mtod_offset(mbuf, const Ipv4Header*, sizeof(EthernetHeader));
    EXPECT_EQ(ip->checksum, Ipv4HeaderChecksum(*ip));
    const auto* udp = reinterpret_cast<const UdpHeader*>(ip + 1);
    EXPECT_EQ(udp->checksum, UdpIpv4Checksum(ip->source, ip->destination,
                                             {reinterpret_cast<const uint8_t*>(udp), 30}));
    EXPECT_EQ(ip->destination, Ipv4Address(0xc6120002));
    sources.push_back(ip->source.host());
  }
  return sources;
}

// 198.18.0.2 is the destination; lcore 1 sends from 198.18.0.3, 198.18.1.3 … 198.18.255.3.
TEST(TxOnly, SendsFromManyAddressesWhenAskedTo) {
  Pool pool(2047);
  Configuration configuration;
  configuration.txonly_multi_flow = true;
  configuration.burst = 100;
  TxOnly stage = Make(configuration, pool, {{0, 0, kMac, true}, {1, 0, kMac, true}});
  RecordedOutlets out;
  for (int i = 0; i < 6; ++i) stage.Poll(out);
  std::vector<uint32_t> cycle;
  for (uint32_t i = 0; i < 600; ++i) cycle.push_back(0xc6120003 + (i % 256 << 8));
  EXPECT_EQ(SourcesTo(out, 0), cycle);
  EXPECT_EQ(SourcesTo(out, 1), cycle);
}

TEST(TxOnly, TheFlowsOfTheLcoresDiffer) {
  Pool pool(63);
  Configuration configuration;
  configuration.txonly_multi_flow = true;
  configuration.burst = 1;
  for (const unsigned lcore : {0u, 5u, 127u}) {
    auto stage =
        TxOnly::Create(StageContext{configuration, lcore, {}, {{0, 0, kMac, true}}, pool.get()});
    ASSERT_TRUE(stage.ok()) << stage.status();
    RecordedOutlets out;
    stage->Poll(out);
    EXPECT_EQ(SourcesTo(out, 0), std::vector<uint32_t>{0xc6120002 + lcore});
  }
}

TEST(TxOnly, NoFlowIsLostToAQueueThatTakesHalfOfABurst) {
  Pool pool(2047);
  Configuration configuration;
  configuration.txonly_multi_flow = true;
  configuration.burst = 256;
  TxOnly stage = Make(configuration, pool, {{0, 0, kMac, true}});
  RecordedOutlets out;
  for (const uint16_t room : {128, 128, 0, 256}) {
    out.room = room;
    stage.Poll(out);
  }
  std::vector<uint32_t> cycle;
  for (uint32_t i = 0; i < 512; ++i) cycle.push_back(0xc6120003 + (i % 256 << 8));
  EXPECT_EQ(SourcesTo(out, 0), cycle);
}

TEST(TxOnly, MakesPacketsOfSeveralSegments) {
  Pool pool(2000);
  Configuration configuration;
  configuration.burst = 512;
  configuration.txpkts = {50, 20, 30};
  TxOnly stage = Make(configuration, pool, {{0, 0, kMac, true}});
  {
    RecordedOutlets out;
    stage.Poll(out);
    // As many as a burst's array has segments for.
    EXPECT_EQ(out.made, 170U);
    ASSERT_EQ(out.sent.size(), 170U);
    EXPECT_EQ(pool.InUse(), 510U);
    for (const auto& [slot, mbuf] : out.sent) {
      ASSERT_EQ(mbuf->nb_segs, 3);
      EXPECT_EQ(mbuf->pkt_len, 100U);
      EXPECT_EQ(mbuf->data_len, 50U);
      EXPECT_EQ(mbuf->next->data_len, 20U);
      EXPECT_EQ(mbuf->next->next->data_len, 30U);
      EXPECT_EQ(mbuf->next->next->next, nullptr);
    }
  }
  EXPECT_EQ(pool.InUse(), 0U);
}

// Sending must go on when the driver sits on all mbufs but a few, or it would never give them back.
TEST(TxOnly, SendsOneWhenTheMempoolRunsLowAndNoneWhenItIsEmpty) {
  Pool pool(63);
  Configuration configuration;
  configuration.burst = 32;
  TxOnly stage = Make(configuration, pool, {{0, 0, kMac, true}});
  RecordedOutlets out;
  stage.Poll(out);
  EXPECT_EQ(out.made, 32U);
  EXPECT_TRUE(out.counts.empty());
  for (uint64_t i = 1; i <= 31; ++i) {
    stage.Poll(out);
    EXPECT_EQ(out.made, 32 + i);
    EXPECT_EQ(out.counts[TxOnly::kNoMbuf], i);
  }
  EXPECT_EQ(pool.InUse(), 63U);
  stage.Poll(out);
  EXPECT_EQ(out.made, 63U);
  EXPECT_EQ(out.counts[TxOnly::kNoMbuf], 32U);
  EXPECT_EQ(out.sent.size(), 63U);
  EXPECT_TRUE(out.dropped.empty());
}

}  // namespace
}  // namespace penstock
