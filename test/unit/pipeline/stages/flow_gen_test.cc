// SPDX-License-Identifier: BSD-3-Clause
//
// flowgen: what comes in is let go of; a burst for each RX queue goes to its peer, one flow after
// the other, also when the queue takes only some. Main lcore.

#include "lib/pipeline/stages/flow_gen.h"

#include <gtest/gtest.h>

#include "lib/net/checksum.h"
#include "lib/net/headers.h"
#include "test/unit/pipeline/rig.h"
#include "test/unit/pipeline/stages/bench.h"

namespace penstock {
namespace {

static_assert(Stage<FlowGen>);

constexpr MacAddress kMac{{2, 1, 1, 1, 1, 1}};
constexpr uint32_t kFirst = 0x0a000100;  // 10.0.1.0

Configuration Asked(uint16_t burst, uint32_t flows) {
  Configuration configuration;
  configuration.burst = burst;
  configuration.flowgen_flows = flows;
  configuration.tx_ip = {Ipv4Address(0xc0000201), Ipv4Address(kFirst)};
  configuration.tx_udp = {1234, 4321};
  return configuration;
}

FlowGen Make(const Configuration& configuration, Pool& pool, std::vector<StageContext::Rx> rx) {
  auto stage = FlowGen::Create(StageContext{
      configuration, 1, std::move(rx), {{4, 0, kMac, false}, {5, 0, kMac, false}}, pool.get()});
  EXPECT_TRUE(stage.ok()) << stage.status();
  return *std::move(stage);
}

const Ipv4Header& IpOf(const rte_mbuf* mbuf) {
  return *rte_pktmbuf_mtod_offset(mbuf, const Ipv4Header*, sizeof(EthernetHeader));
}

// The flows sent to a slot, in order: how far the destination address is from the first one.
std::vector<uint32_t> FlowsTo(const RecordedOutlets& out, TxSlot slot) {
  std::vector<uint32_t> flows;
  for (const auto& [to, mbuf] : out.sent) {
    if (to == slot) flows.push_back(IpOf(mbuf).destination.host() - kFirst);
  }
  return flows;
}

std::vector<uint32_t> Cycle(uint32_t flows, size_t packets) {
  std::vector<uint32_t> cycle(packets);
  for (size_t i = 0; i < packets; ++i) cycle[i] = static_cast<uint32_t>(i % flows);
  return cycle;
}

TEST(FlowGen, GoesThroughItsFlowsAgainAndAgain) {
  struct Row {
    uint16_t burst;
    uint32_t flows;
  };
  for (const Row& row : {Row{1, 1}, Row{32, 1}, Row{1, 3}, Row{32, 32}, Row{32, 33}, Row{32, 31},
                         Row{32, 5}, Row{5, 32}, Row{512, 1024}}) {
    Pool pool(4095);
    FlowGen stage = Make(Asked(row.burst, row.flows), pool, {{5, 0, 0}});
    RecordedOutlets out;
    for (int i = 0; i < 6; ++i) stage.Poll(out);
    EXPECT_EQ(out.made, 6U * row.burst);
    EXPECT_EQ(FlowsTo(out, 0), Cycle(row.flows, 6 * row.burst))
        << row.burst << " of " << row.flows << " flows";
  }
}

TEST(FlowGen, SendsABurstForEachOfItsRxQueuesToTheirPeers) {
  Pool pool(1023);
  // Two queues of one port, one of the other: each has a cycle of its own.
  FlowGen stage = Make(Asked(8, 20), pool, {{4, 0, 1}, {4, 1, 1}, {5, 0, 0}});
  RecordedOutlets out;
  for (int i = 0; i < 4; ++i) stage.Poll(out);
  EXPECT_EQ(out.made, 4U * 3 * 8);
  EXPECT_EQ(FlowsTo(out, 0), Cycle(20, 32));
  const std::vector<uint32_t> to_first = FlowsTo(out, 1);
  ASSERT_EQ(to_first.size(), 64U);
  for (size_t i = 0; i < to_first.size(); ++i) {
    EXPECT_EQ(to_first[i], (i / 16 * 8 + i % 8) % 20) << "packet " << i;
  }
}

TEST(FlowGen, StandsStillForWhatTheQueueDoesNotTake) {
  Pool pool(1023);
  // A queue that always takes the first half of a burst that is as long as the cycle: the second
  // half of the flows must be seen nevertheless.
  FlowGen stage = Make(Asked(32, 32), pool, {{5, 0, 0}});
  RecordedOutlets out;
  for (const uint16_t room : {16, 16, 0, 7, 32, 1, 16}) {
    out.room = room;
    stage.Poll(out);
  }
  EXPECT_EQ(out.made, 7U * 32);
  EXPECT_EQ(FlowsTo(out, 0), Cycle(32, 88));
}

TEST(FlowGen, WritesTheFrameThatWasAskedFor) {
  Pool pool(1023);
  for (const std::vector<uint16_t>& segments :
       std::vector<std::vector<uint16_t>>{{42}, {64}, {100}, {1514}, {30, 20, 50}}) {
    Configuration configuration = Asked(4, 3);
    configuration.txpkts = segments;
    configuration.eth_peer[4] = MacAddress{{2, 9, 9, 9, 9, 9}};
    FlowGen stage = Make(configuration, pool, {{5, 0, 0}, {4, 0, 1}});
    RecordedOutlets out;
    stage.Poll(out);
    ASSERT_EQ(out.sent.size(), 8U);
    for (const auto& [slot, mbuf] : out.sent) {
      const uint32_t bytes = mbuf->pkt_len;
      EXPECT_EQ(mbuf->nb_segs, segments.size());
      ASSERT_EQ(rte_pktmbuf_linearize(mbuf), 0);
      EXPECT_EQ(bytes, segments.size() == 1 ? segments[0] : 100);
      EXPECT_EQ(mbuf->data_len, bytes);
      const auto* ethernet = rte_pktmbuf_mtod(mbuf, const EthernetHeader*);
      EXPECT_EQ(ethernet->source, kMac);
      EXPECT_EQ(ethernet->destination,
                slot == 0 ? (MacAddress{{2, 9, 9, 9, 9, 9}}) : (MacAddress{{2, 0, 0, 0, 0, 5}}));
      const Ipv4Header& ip = IpOf(mbuf);
      EXPECT_EQ(ip.source, Ipv4Address(0xc0000201));
      EXPECT_EQ(ip.total_length.host(), bytes - 14);
      EXPECT_EQ(ip.checksum, Ipv4HeaderChecksum(ip));
      const auto* udp = reinterpret_cast<const UdpHeader*>(&ip + 1);
      EXPECT_EQ(udp->source_port, Big16(1234));
      EXPECT_EQ(udp->destination_port, Big16(4321));
      EXPECT_EQ(udp->length.host(), bytes - 34);
      EXPECT_EQ(udp->checksum,
                UdpIpv4Checksum(ip.source, ip.destination,
                                {reinterpret_cast<const uint8_t*>(udp), bytes - 34}));
    }
  }
}

TEST(FlowGen, LetsGoOfWhatItReceives) {
  Pool pool(100);
  FlowGen stage = Make(Asked(1, 1), pool, {{5, 0, 0}});
  EXPECT_EQ(FlowGen::kDrops[FlowGen::kReceived].name, "flowgen");
  RecordedOutlets out;
  std::vector<rte_mbuf*> mbufs;
  for (uint32_t i = 0; i < 30; ++i) mbufs.push_back(pool.Packet({1, i}));
  mbufs.push_back(pool.Chain({1, 30}, {50, 50, 50}));
  stage.Process(Burst{mbufs, 0}, out);
  EXPECT_TRUE(out.sent.empty());
  EXPECT_EQ(out.dropped, (std::map<unsigned, uint64_t>{{FlowGen::kReceived, 31}}));
  EXPECT_EQ(pool.InUse(), 0U);
}

TEST(FlowGen, SaysWhenTheMempoolIsShort) {
  Pool pool(40);
  FlowGen stage = Make(Asked(32, 100), pool, {{5, 0, 0}});
  RecordedOutlets out;
  for (int i = 0; i < 11; ++i) stage.Poll(out);
  // A whole burst, then the eight that are left one by one, then none.
  EXPECT_EQ(out.made, 40U);
  EXPECT_EQ(out.counts[FlowGen::kNoMbuf], 10U);
  EXPECT_EQ(FlowsTo(out, 0), Cycle(100, 40));
}

TEST(FlowGen, RefusesAPlanWithoutAPeer) {
  const Configuration configuration;
  EXPECT_FALSE(
      FlowGen::Create(StageContext{configuration, 1, {{0, 0, kNoSlot}}, {}, nullptr}).ok());
}

}  // namespace
}  // namespace penstock
