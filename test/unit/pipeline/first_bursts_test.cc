// SPDX-License-Identifier: BSD-3-Clause
//
// FirstBursts: how many packets go where, and that what a full queue does not take is dropped and
// counted. On net_ring. Main lcore.

#include "lib/pipeline/first_bursts.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

#include "lib/pipeline/outlets.h"
#include "test/unit/pipeline/rig.h"

namespace penstock {
namespace {

using Policy = TxPolicy<false, false>;

struct Lcore {
  explicit Lcore(const std::vector<uint16_t>& ports) {
    std::vector<TxQueue> queues(ports.size());
    for (size_t i = 0; i < ports.size(); ++i) queues[i].port = ports[i];
    layout = {0, ports.size(), std::size(kTxDrops), 0};
    counts.resize(layout.size());
    outlets.emplace(std::move(queues), layout, counts.data(), 0u);
  }
  LcoreCounters layout{};
  std::vector<uint64_t> counts;
  std::optional<LcoreOutlets<Policy>> outlets;
};

TEST(FirstBursts, SendsSoManyBurstsToEachQueueOfWhichItIsTheSource) {
  Pool pool(1000);
  RingPort a;
  RingPort b;
  a.Start(pool);
  b.Start(pool);
  Configuration configuration;
  configuration.burst = 8;
  StageContext context{
      .configuration = configuration,
      .lcore = 1,
      .rx = {},
      .tx = {{a.port(), 0, MacAddress{}, true}, {b.port(), 0, MacAddress{}, false}},
      .mempool = pool.get()};
  auto first = FirstBursts::Create(context, 3);
  ASSERT_TRUE(first.ok()) << first.status();
  Lcore lcore({a.port(), b.port()});
  int turns = 0;
  while ((*first)->Next(*lcore.outlets)) ++turns;
  EXPECT_EQ(turns, 3);
  EXPECT_FALSE((*first)->Next(*lcore.outlets));
  EXPECT_EQ(lcore.counts[LcoreCounters::kMade], 24U);
  EXPECT_EQ(lcore.counts[lcore.layout.Tx(0)], 24U);
  EXPECT_EQ(lcore.counts[lcore.layout.Tx(1)], 0U);
  EXPECT_EQ(a.Take(0).size(), 24U);
  EXPECT_EQ(b.Take(0).size(), 0U);
}

TEST(FirstBursts, WhatAFullQueueDoesNotTakeIsDropped) {
  Pool pool(1000);
  RingPort port({.ring_size = 16});  // 15 fit.
  port.Start(pool);
  Configuration configuration;
  StageContext context{.configuration = configuration,
                       .lcore = 1,
                       .rx = {},
                       .tx = {{port.port(), 0, MacAddress{}, true}},
                       .mempool = pool.get()};
  auto first = FirstBursts::Create(context, 2);
  ASSERT_TRUE(first.ok()) << first.status();
  Lcore lcore({port.port()});
  while ((*first)->Next(*lcore.outlets)) {
  }
  EXPECT_EQ(lcore.counts[LcoreCounters::kMade], 64U);
  EXPECT_EQ(lcore.counts[lcore.layout.Tx(0)], 15U);
  EXPECT_EQ(lcore.counts[lcore.layout.Drop(static_cast<size_t>(TxDrop::kFull))], 49U);
  EXPECT_EQ(port.Take(0).size(), 15U);
}

}  // namespace
}  // namespace penstock
