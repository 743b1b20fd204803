// SPDX-License-Identifier: BSD-3-Clause
//
// ToPeer: the TX slot of each RX slot, or the port that has none. No EAL needed.

#include "lib/pipeline/stages/to_peer.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(ToPeer, KnowsTheSlotOfEachRxSlot) {
  const Configuration configuration;
  StageContext context{configuration, 1, {{4, 0, 2}, {5, 0, 0}, {4, 1, 2}}, {}, nullptr};
  const auto to_peer = ToPeer::Create(context);
  ASSERT_TRUE(to_peer.ok()) << to_peer.status();
  EXPECT_EQ((*to_peer)[0], 2);
  EXPECT_EQ((*to_peer)[1], 0);
  EXPECT_EQ((*to_peer)[2], 2);
}

TEST(ToPeer, RefusesAPlanWithoutADestination) {
  const Configuration configuration;
  StageContext context{configuration, 1, {{4, 0, 0}, {5, 0, kNoSlot}}, {}, nullptr};
  const auto to_peer = ToPeer::Create(context);
  ASSERT_FALSE(to_peer.ok());
  EXPECT_EQ(to_peer.status().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(std::string(to_peer.status().message()), "port 5 has no peer in the plan");
}

}  // namespace
}  // namespace penstock
