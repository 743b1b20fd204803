// SPDX-License-Identifier: BSD-3-Clause
//
// csum: over the frames of checksum_rows.h, built by scapy, the checksums are put right, the MAC
// addresses set and nothing else changed, whether the fast path takes a packet or not. Main lcore.

#include "lib/pipeline/stages/csum.h"

#include <gtest/gtest.h>
#include <rte_ethdev.h>

#include "test/support/packets.h"
#include "test/unit/packet/checksum_rows.h"
#include "test/unit/pipeline/rig.h"
#include "test/unit/pipeline/stages/bench.h"

namespace penstock {
namespace {

static_assert(Stage<Csum>);

constexpr char kOwnMac[] = "060102030405";
constexpr char kPeerMac[] = "0a0b0c0d0e0f";

class CsumTest : public testing::Test {
 protected:
  Csum Make(uint64_t rx_offloads = 0, uint64_t tx_offloads = 0) {
    configuration_.eth_peer[5] = {{0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f}};
    auto stage = Csum::Create(
        StageContext{.configuration = configuration_,
                     .lcore = 1,
                     .rx = {{.port = 4, .queue = 0, .peer = 1, .offloads = rx_offloads}},
                     .tx = {{.port = 4, .queue = 0, .mac = {}, .source = false},
                            {.port = 5,
                             .queue = 0,
                             .mac = {{6, 1, 2, 3, 4, 5}},
                             .source = false,
                             .offloads = tx_offloads}},
                     .mempool = nullptr});
    EXPECT_TRUE(stage.ok()) << stage.status();
    return *std::move(stage);
  }

  Configuration configuration_;
  Pool pool_{512};
};

std::map<unsigned, uint64_t> CountsOf(const ChecksumFindings& found) {
  std::map<unsigned, uint64_t> counts;
  if (found.fault != FrameFault::kNone) counts[FaultCounter(found.fault)] = 1;
  if (found.bad_ip) counts[Csum::kBadIp] = 1;
  if (found.bad_transport) counts[Csum::kBadTransport] = 1;
  if (found.udp_without) counts[Csum::kUdpWithout] = 1;
  if (found.fragment) counts[Csum::kFragments] = 1;
  if (found.unknown_route) counts[Csum::kUnknownRoute] = 1;
  return counts;
}

std::map<unsigned, uint64_t> WithoutZeros(std::map<unsigned, uint64_t> counts) {
  std::erase_if(counts, [](const auto& entry) { return entry.second == 0; });
  return counts;
}

TEST_F(CsumTest, PutsRightAndCountsWhatIsWrong) {
  for (const ChecksumRow& row : kChecksumRows) {
    const PacketBytes frame = FromHex(row.frame);
    const std::string expected = std::string(kPeerMac) + kOwnMac + ToHex(frame).substr(24);
    for (const bool bad_ip : {false, true}) {
      for (const bool bad_transport : {false, true}) {
        if ((bad_ip && row.ip_field == 0) || (bad_transport && row.transport_field == 0)) continue;
        PacketBytes given = frame;
        if (bad_ip) given[row.ip_field] ^= 0x81;
        if (bad_transport) given[row.transport_field] ^= 0x81;
        ChecksumFindings found = row.found;
        found.bad_ip = bad_ip;
        found.bad_transport = bad_transport;
        for (const std::vector<size_t>& lengths :
             {std::vector<size_t>{}, OneByOne(given), {42}, {54}, {14, 0, 21}}) {
          Csum stage = Make();
          RecordedOutlets out;
          std::vector<rte_mbuf*> mbufs = {MakePacket(pool_.get(), given, lengths)};
          stage.Process(Burst{mbufs, 0}, out);
          ASSERT_EQ(out.sent.size(), 1U) << row.what;
          EXPECT_EQ(out.sent[0].first, 1);
          EXPECT_EQ(ToHex(BytesOf(out.sent[0].second)), expected) << row.what;
          EXPECT_TRUE(GuardsHold(out.sent[0].second)) << row.what;
          EXPECT_EQ(WithoutZeros(out.counts), CountsOf(found)) << row.what;
        }
      }
    }
  }
}

TEST_F(CsumTest, PayloadsOfEveryLengthAndContent) {
  // Against the definition, word by word.
  for (const bool tcp : {false, true}) {
    const size_t header = tcp ? 20 : 8;
    for (size_t payload = 0; payload < 300; ++payload) {
      PacketBytes frame =
          FromHex("02000000000b02000000000a08004500000000010000400600000a0000010a000002");
      const size_t l4 = header + payload;
      frame[16] = static_cast<uint8_t>((l4 + 20) >> 8);
      frame[17] = static_cast<uint8_t>(l4 + 20);
      frame[23] = tcp ? 6 : 17;
      for (size_t i = 0; i < l4; ++i) frame.push_back(static_cast<uint8_t>(i * 37 + payload));
      if (tcp) frame[46] = 0x50;
      if (!tcp) frame[38] = static_cast<uint8_t>(l4 >> 8);
      if (!tcp) frame[39] = static_cast<uint8_t>(l4);
      const size_t field = tcp ? 50 : 40;
      const auto sum = [&frame](size_t from, size_t to, size_t without, uint32_t start) {
        uint32_t total = start;
        for (size_t i = from; i < to; i += 2) {
          if (i == without) continue;
          total += frame[i] * 256u + (i + 1 < to ? frame[i + 1] : 0u);
          if (total > 0xffff) total -= 0xffff;
        }
        return total;
      };
      frame.push_back(0x99);  // Padding, not covered.
      PacketBytes expected = FromHex(std::string(kPeerMac) + kOwnMac);
      expected.insert(expected.end(), frame.begin() + 12, frame.end());
      const uint32_t ip = ~sum(14, 34, 24, 0);
      uint32_t transport =
          ~sum(34, 34 + l4, field, sum(26, 34, 0, frame[23] + static_cast<uint32_t>(l4)));
      if (!tcp && (transport & 0xffff) == 0) transport = 0xffff;
      expected[24] = static_cast<uint8_t>(ip >> 8);
      expected[25] = static_cast<uint8_t>(ip);
      expected[field] = static_cast<uint8_t>(transport >> 8);
      expected[field + 1] = static_cast<uint8_t>(transport);
      Csum stage = Make();
      RecordedOutlets out;
      std::vector<rte_mbuf*> mbufs = {MakePacket(pool_.get(), frame),
                                      MakePacket(pool_.get(), expected)};
      stage.Process(Burst{mbufs, 0}, out);
      ASSERT_EQ(out.sent.size(), 2U);
      EXPECT_EQ(ToHex(BytesOf(out.sent[0].second)), ToHex(expected)) << tcp << ", " << payload;
      EXPECT_EQ(ToHex(BytesOf(out.sent[1].second)), ToHex(expected)) << tcp << ", " << payload;
      EXPECT_EQ(out.counts[Csum::kBadIp], 1U);
      EXPECT_EQ(out.counts[Csum::kBadTransport], 1U);
    }
  }
}

TEST_F(CsumTest, BelievesThePortAndAsksIt) {
  constexpr uint64_t kRx = RTE_ETH_RX_OFFLOAD_CHECKSUM;
  constexpr uint64_t kTx =
      RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM;
  constexpr uint64_t kGood = RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD;
  constexpr uint64_t kBad = RTE_MBUF_F_RX_IP_CKSUM_BAD | RTE_MBUF_F_RX_L4_CKSUM_BAD;
  constexpr uint64_t kAsked = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_UDP_CKSUM;
  struct Row {
    uint64_t rx, tx, given_flags, sent_flags;
    bool counted;
  };
  const Row kRows[] = {{kRx, 0, kGood, 0, false},
                       {kRx, kTx, kGood, 0, false},
                       {kRx, kTx, kBad, kAsked, true},
                       {0, kTx, 0, kAsked, false},
                       {0, 0, kBad, 0, false}};
  for (const Row& row : kRows) {
    Csum stage = Make(row.rx, row.tx);
    RecordedOutlets out;
    std::vector<rte_mbuf*> mbufs = {MakePacket(pool_.get(), FromHex(kChecksumRows[0].frame))};
    mbufs[0]->ol_flags = row.given_flags;
    stage.Process(Burst{mbufs, 0}, out);
    ASSERT_EQ(out.sent.size(), 1U);
    EXPECT_EQ(out.sent[0].second->ol_flags & RTE_MBUF_F_TX_OFFLOAD_MASK, row.sent_flags);
    EXPECT_EQ(ToHex(BytesOf(out.sent[0].second)).substr(0, 24), std::string(kPeerMac) + kOwnMac);
    EXPECT_EQ(out.counts[Csum::kBadIp], row.counted ? 1U : 0U);
    EXPECT_EQ(out.counts[Csum::kBadTransport], row.counted ? 1U : 0U);
  }
}

TEST_F(CsumTest, DropsARuntByNameAndKeepsTheOrderOfTheRest) {
  EXPECT_EQ(Csum::kDrops[Csum::kRunt].name, "runt");
  Csum stage = Make();
  RecordedOutlets out;
  std::vector<rte_mbuf*> mbufs;
  std::vector<rte_mbuf*> expected;
  const PacketBytes frame = FromHex(kChecksumRows[0].frame);
  for (uint32_t i = 0; i < 20; ++i) {
    const bool runt = i == 0 || i == 7 || i == 19;
    mbufs.push_back(MakePacket(pool_.get(),
                               runt ? PacketBytes(frame.begin(), frame.begin() + 13) : frame,
                               i == 7 ? std::vector<size_t>{6} : std::vector<size_t>{}));
    if (!runt) expected.push_back(mbufs.back());
  }
  stage.Process(Burst{mbufs, 0}, out);
  EXPECT_EQ(out.dropped, (std::map<unsigned, uint64_t>{{Csum::kRunt, 3}}));
  std::vector<rte_mbuf*> sent;
  for (const auto& [slot, mbuf] : out.sent) sent.push_back(mbuf);
  EXPECT_EQ(sent, expected);
}

}  // namespace
}  // namespace penstock
