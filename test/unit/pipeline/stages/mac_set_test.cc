// SPDX-License-Identifier: BSD-3-Clause
//
// mac: the addresses are those of the TX port and its peer and nothing else changes, also where
// segments divide them; what is too short to have them is dropped by name. Main lcore.

#include "lib/pipeline/stages/mac_set.h"

#include <gtest/gtest.h>

#include <numeric>

#include "test/support/packets.h"
#include "test/unit/pipeline/rig.h"
#include "test/unit/pipeline/stages/bench.h"

namespace penstock {
namespace {

static_assert(Stage<MacSet>);

MacSet Make() {
  Configuration configuration;
  configuration.eth_peer[5] = {{0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f}};
  auto stage =
      MacSet::Create(StageContext{.configuration = configuration,
                                  .lcore = 1,
                                  .rx = {{4, 0, 1}},
                                  .tx = {{4, 0, {}, false}, {5, 0, {{6, 1, 2, 3, 4, 5}}, false}},
                                  .mempool = nullptr});
  EXPECT_TRUE(stage.ok()) << stage.status();
  return *std::move(stage);
}

PacketBytes Counted(size_t n) {
  PacketBytes bytes(n);
  std::iota(bytes.begin(), bytes.end(), uint8_t{1});
  return bytes;
}

TEST(MacSet, SetsTheAddressesAndNothingElse) {
  Pool pool(64);
  for (const size_t bytes : {14, 15, 60, 1514}) {
    for (const std::vector<size_t>& lengths : std::vector<std::vector<size_t>>{
             {}, {14}, {13}, {12}, {11}, {6}, {5, 1, 0, 4}, std::vector<size_t>(14, 1), {0}}) {
      MacSet stage = Make();
      RecordedOutlets out;
      PacketBytes expected = Counted(bytes);
      std::vector<rte_mbuf*> mbufs = {MakePacket(pool.get(), expected, lengths)};
      stage.Process(Burst{mbufs, 0}, out);
      const PacketBytes pair = FromHex("0a0b0c0d0e0f060102030405");
      std::copy(pair.begin(), pair.end(), expected.begin());
      ASSERT_EQ(out.sent.size(), 1U);
      EXPECT_EQ(out.sent[0].first, 1);
      EXPECT_EQ(ToHex(BytesOf(out.sent[0].second)), ToHex(expected));
      EXPECT_TRUE(GuardsHold(out.sent[0].second));
    }
  }
}

TEST(MacSet, DropsARuntByNameAndKeepsTheOrderOfTheRest) {
  Pool pool(100);
  MacSet stage = Make();
  EXPECT_EQ(MacSet::kDrops[MacSet::kRunt].name, "runt");
  RecordedOutlets out;
  std::vector<rte_mbuf*> mbufs;
  std::vector<rte_mbuf*> expected;
  for (uint32_t i = 0; i < 20; ++i) {
    const bool runt = i == 0 || i == 1 || i == 7 || i == 18;
    const PacketBytes bytes = Counted(runt ? (i == 1 ? 0 : 13) : 60);
    mbufs.push_back(MakePacket(pool.get(), bytes,
                               i == 7 || i == 9 ? std::vector<size_t>{6} : std::vector<size_t>{}));
    if (!runt) expected.push_back(mbufs.back());
  }
  stage.Process(Burst{mbufs, 0}, out);
  EXPECT_EQ(out.dropped, (std::map<unsigned, uint64_t>{{MacSet::kRunt, 4}}));
  std::vector<rte_mbuf*> sent;
  for (const auto& [slot, mbuf] : out.sent) sent.push_back(mbuf);
  EXPECT_EQ(sent, expected);
}

}  // namespace
}  // namespace penstock
