// SPDX-License-Identifier: BSD-3-Clause
//
// rxonly: everything is let go of, under a name of its own. Main lcore.

#include "lib/pipeline/stages/rx_only.h"

#include <gtest/gtest.h>

#include "test/unit/pipeline/rig.h"
#include "test/unit/pipeline/stages/bench.h"

namespace penstock {
namespace {

static_assert(Stage<RxOnly>);

TEST(RxOnly, LetsEverythingGo) {
  Pool pool(40);
  const Configuration configuration;
  auto stage = RxOnly::Create(StageContext{configuration, 1, {{0, 0, kNoSlot}}, {}, nullptr});
  ASSERT_TRUE(stage.ok());
  RecordedOutlets out;
  std::vector<rte_mbuf*> mbufs;
  for (uint32_t i = 0; i < 30; ++i) mbufs.push_back(pool.Packet({1, i}));
  mbufs.push_back(pool.Chain({1, 30}, {50, 50, 50}));
  stage->Process(Burst{mbufs, 0}, out);
  EXPECT_TRUE(out.sent.empty());
  EXPECT_EQ(RxOnly::kDrops[RxOnly::kReceived].name, "rxonly");
  EXPECT_EQ(out.dropped, (std::map<unsigned, uint64_t>{{RxOnly::kReceived, 31}}));
  EXPECT_EQ(pool.InUse(), 0U);
}

}  // namespace
}  // namespace penstock
