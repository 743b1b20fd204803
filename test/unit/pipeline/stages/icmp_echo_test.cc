// SPDX-License-Identifier: BSD-3-Clause
//
// icmpecho: answers leave by the port that asked, from its own address, in the order asked; all
// else is dropped under the responder's reasons. What is answered and how is the responder's test.
// Main lcore.

#include "lib/pipeline/stages/icmp_echo.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "absl/strings/escaping.h"
#include "lib/net/headers.h"
#include "test/unit/pipeline/rig.h"
#include "test/unit/pipeline/stages/bench.h"

namespace penstock {
namespace {

static_assert(Stage<IcmpEcho>);

constexpr MacAddress kFirst{{2, 0xaa, 0, 0, 0, 1}};
constexpr MacAddress kSecond{{2, 0xaa, 0, 0, 0, 2}};

// Ether(dst='ff:ff:ff:ff:ff:ff',src='02:bb:00:00:00:01')/ARP(op=1,hwsrc='02:bb:00:00:00:01',
//       psrc='192.0.2.1',pdst='192.0.2.77')
constexpr char kArp[] =
    "ffffffffffff02bb00000001080600010800060400"
    "0102bb00000001c0000201000000000000c000024d";

rte_mbuf* Packet(Pool& pool, const std::string& hex) {
  const std::string bytes = absl::HexStringToBytes(hex);
  rte_mbuf* const mbuf = rte_pktmbuf_alloc(pool.get());
  std::memcpy(rte_pktmbuf_append(mbuf, static_cast<uint16_t>(bytes.size())), bytes.data(),
              bytes.size());
  return mbuf;
}

// Port 4 and 5, each with the other's slot first.
IcmpEcho Make() {
  const Configuration configuration;
  auto stage = IcmpEcho::Create(StageContext{configuration,
                                             1,
                                             {{4, 0, 1}, {5, 0, 0}},
                                             {{5, 0, kSecond, false}, {4, 0, kFirst, false}},
                                             nullptr});
  EXPECT_TRUE(stage.ok()) << stage.status();
  return *std::move(stage);
}

TEST(IcmpEcho, AnswersOutOfThePortThatAsked) {
  Pool pool(63);
  IcmpEcho stage = Make();
  RecordedOutlets out;
  for (const RxSlot rx : {RxSlot{0}, RxSlot{1}}) {
    std::vector<rte_mbuf*> mbufs = {Packet(pool, kArp)};
    stage.Process(Burst{mbufs, rx}, out);
  }
  ASSERT_EQ(out.sent.size(), 2U);
  EXPECT_EQ(out.sent[0].first, 1);
  EXPECT_EQ(out.sent[1].first, 0);
  EXPECT_EQ(rte_pktmbuf_mtod(out.sent[0].second, EthernetHeader*)->source, kFirst);
  EXPECT_EQ(rte_pktmbuf_mtod(out.sent[1].second, EthernetHeader*)->source, kSecond);
  EXPECT_TRUE(out.dropped.empty());
}

TEST(IcmpEcho, DropsTheRestByNameAndKeepsTheOrder) {
  Pool pool(63);
  IcmpEcho stage = Make();
  RecordedOutlets out;
  std::vector<rte_mbuf*> mbufs;
  for (const std::string& hex : {std::string(kArp), std::string(64, '0'), std::string(kArp),
                                 std::string(20, '0'), std::string(kArp), std::string(128, '0')}) {
    mbufs.push_back(Packet(pool, hex));
  }
  const auto given = mbufs;
  stage.Process(Burst{mbufs, 0}, out);
  std::vector<rte_mbuf*> sent;
  for (const auto& [slot, mbuf] : out.sent) sent.push_back(mbuf);
  EXPECT_EQ(sent, (std::vector<rte_mbuf*>{given[0], given[2], given[4]}));
  std::map<std::string, uint64_t> dropped;
  for (const auto& [reason, n] : out.dropped) {
    ASSERT_LT(reason, std::size(IcmpEcho::kDrops));
    dropped[std::string(IcmpEcho::kDrops[reason].name)] = n;
  }
  EXPECT_EQ(dropped, (std::map<std::string, uint64_t>{{"no_request", 2}, {"runt", 1}}));
}

TEST(IcmpEcho, RefusesAPlanWithoutADestination) {
  const Configuration configuration;
  EXPECT_FALSE(
      IcmpEcho::Create(StageContext{configuration, 1, {{0, 0, kNoSlot}}, {}, nullptr}).ok());
}

}  // namespace
}  // namespace penstock
