// SPDX-License-Identifier: BSD-3-Clause
//
// macswap: the two addresses change places and nothing else changes, also where segments divide
// them; what is too short to have them is dropped by name. Main lcore.

#include "lib/pipeline/stages/mac_swap.h"

#include <gtest/gtest.h>

#include <numeric>

#include "test/support/packets.h"
#include "test/unit/pipeline/rig.h"
#include "test/unit/pipeline/stages/bench.h"

namespace penstock {
namespace {

static_assert(Stage<MacSwap>);

std::vector<uint8_t> Frame(size_t bytes) {
  std::vector<uint8_t> frame(bytes);
  std::iota(frame.begin(), frame.end(), uint8_t{1});
  return frame;
}

MacSwap Make() {
  const Configuration configuration;
  auto stage = MacSwap::Create(StageContext{configuration, 1, {{0, 0, 3}}, {}, nullptr});
  EXPECT_TRUE(stage.ok()) << stage.status();
  return *std::move(stage);
}

TEST(MacSwap, ExchangesTheAddressesAndNothingElse) {
  struct Row {
    size_t bytes;
    std::vector<size_t> segments;
  };
  const Row rows[] = {{14, {14}},     {15, {15}},         {60, {60}},         {1514, {1514}},
                      {64, {14, 50}}, {64, {13, 51}},     {64, {12, 52}},     {64, {11, 53}},
                      {64, {6, 58}},  {64, {5, 59}},      {64, {1, 63}},      {64, {7, 57}},
                      {14, {13, 1}},  {14, {6, 6, 2}},    {14, {4, 4, 4, 2}}, {20, {3, 3, 3, 3, 8}},
                      {16, {0, 16}},  {64, {2, 0, 9, 53}}};
  for (const Row& row : rows) {
    Pool pool(10);
    MacSwap stage = Make();
    RecordedOutlets out;
    const std::vector<uint8_t> frame = Frame(row.bytes);
    std::vector<rte_mbuf*> mbufs = {MakePacket(pool.get(), frame, row.segments)};
    stage.Process(Burst{mbufs, 0}, out);
    std::vector<uint8_t> expected(frame.begin() + 6, frame.begin() + 12);
    expected.insert(expected.end(), frame.begin(), frame.begin() + 6);
    expected.insert(expected.end(), frame.begin() + 12, frame.end());
    ASSERT_EQ(out.sent.size(), 1U);
    EXPECT_EQ(out.sent[0].first, 3);
    EXPECT_EQ(BytesOf(out.sent[0].second), expected) << row.bytes << " bytes";
    EXPECT_EQ(out.sent[0].second->nb_segs, row.segments.size());
    EXPECT_TRUE(out.dropped.empty());
  }
}

TEST(MacSwap, DropsARuntByNameAndKeepsTheOrderOfTheRest) {
  Pool pool(100);
  MacSwap stage = Make();
  EXPECT_EQ(MacSwap::kDrops[MacSwap::kRunt].name, "runt");
  RecordedOutlets out;
  std::vector<rte_mbuf*> mbufs;
  for (uint32_t i = 0; i < 20; ++i) mbufs.push_back(pool.Packet({1, i}));
  const auto given = mbufs;
  const std::vector<size_t> runts = {0, 1, 7, 18};  // Of 13, 0, 1 and, in two segments, 12 bytes.
  rte_pktmbuf_trim(mbufs[0], kPacketBytes - 13);
  rte_pktmbuf_trim(mbufs[1], kPacketBytes);
  rte_pktmbuf_trim(mbufs[7], kPacketBytes - 1);
  rte_pktmbuf_free(mbufs[18]);
  mbufs[18] = MakePacket(pool.get(), Frame(12), {6, 6});
  stage.Process(Burst{mbufs, 0}, out);
  EXPECT_EQ(out.dropped, (std::map<unsigned, uint64_t>{{MacSwap::kRunt, 4}}));
  std::vector<rte_mbuf*> expected;
  for (size_t i = 0; i < given.size(); ++i) {
    if (std::find(runts.begin(), runts.end(), i) == runts.end()) expected.push_back(given[i]);
  }
  std::vector<rte_mbuf*> sent;
  for (const auto& [slot, mbuf] : out.sent) sent.push_back(mbuf);
  EXPECT_EQ(sent, expected);
}

}  // namespace
}  // namespace penstock
