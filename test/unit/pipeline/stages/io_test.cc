// SPDX-License-Identifier: BSD-3-Clause
//
// io: every packet as it is, whatever it is, to the peer of the port it came from. Main lcore.

#include "lib/pipeline/stages/io.h"

#include <gtest/gtest.h>

#include "test/unit/pipeline/rig.h"
#include "test/unit/pipeline/stages/bench.h"

namespace penstock {
namespace {

static_assert(Stage<Io>);

TEST(Io, SendsEachBurstToThePeerUntouched) {
  Pool pool(20);
  const Configuration configuration;
  const auto stage =
      Io::Create(StageContext{configuration, 1, {{0, 0, 1}, {1, 0, 0}}, {}, nullptr});
  ASSERT_TRUE(stage.ok()) << stage.status();
  Io io = *stage;
  RecordedOutlets out;
  // An empty one, one that is shorter than any header, an ordinary one and a chain.
  std::vector<rte_mbuf*> mbufs = {rte_pktmbuf_alloc(pool.get()), rte_pktmbuf_alloc(pool.get()),
                                  pool.Packet({1, 2}), pool.Chain({1, 3}, {40, 1, 60})};
  *rte_pktmbuf_append(mbufs[1], 1) = 'x';
  const auto given = mbufs;
  io.Process(Burst{std::span(mbufs).first(2), 0}, out);
  io.Process(Burst{std::span(mbufs).subspan(2), 1}, out);
  ASSERT_EQ(out.sent.size(), 4U);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(out.sent[i].first, i < 2 ? 1 : 0);
    EXPECT_EQ(out.sent[i].second, given[i]);
  }
  EXPECT_EQ(given[0]->pkt_len, 0U);
  EXPECT_EQ(*rte_pktmbuf_mtod(given[1], char*), 'x');
  EXPECT_EQ(TagOf(given[2]), (Tag{1, 2}));
  EXPECT_EQ(given[3]->nb_segs, 3);
  EXPECT_EQ(TagOf(given[3]), (Tag{1, 3}));
  EXPECT_TRUE(out.dropped.empty());
  EXPECT_EQ(io.Held(), 0U);
}

TEST(Io, RefusesAPlanWithoutAPeer) {
  const Configuration configuration;
  EXPECT_FALSE(Io::Create(StageContext{configuration, 1, {{0, 0, kNoSlot}}, {}, nullptr}).ok());
}

}  // namespace
}  // namespace penstock
