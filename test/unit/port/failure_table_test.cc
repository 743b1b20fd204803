// SPDX-License-Identifier: BSD-3-Clause
//
// Patterns against lines as DPDK writes them. Single thread.

#include "lib/port/failure_table.h"

#include <gtest/gtest.h>

#include <optional>

namespace penstock {
namespace {

TEST(MatchSaid, FindsThePatternAnywhere) {
  EXPECT_EQ(MatchSaid("EAL: invalid channel number", "channel number"), "");
  EXPECT_EQ(MatchSaid("EAL: invalid channel number", "rank number"), std::nullopt);
}

TEST(MatchSaid, TakesWhatTheStarStandsFor) {
  EXPECT_EQ(MatchSaid("EAL: core 77 unavailable", "core * unavailable"), "77");
  EXPECT_EQ(MatchSaid("EAL: core 77 is there", "core * unavailable"), std::nullopt);
  EXPECT_EQ(MatchSaid("load custom program /tmp/a.o", "program *"), "/tmp/a.o");
  // To the end of the sentence, not with its full stop; within, points belong to it.
  EXPECT_EQ(MatchSaid("Failed to connect socket: /run/m.sock.", "socket: *"), "/run/m.sock");
  EXPECT_EQ(MatchSaid("socket: ", "socket: *"), "");
}

TEST(WithoutOrigin, LeavesWhatIsSaid) {
  EXPECT_EQ(WithoutOrigin("EAL: Cannot init plugins"), "Cannot init plugins");
  EXPECT_EQ(WithoutOrigin("memif_set_role(): Unknown role: boss."), "Unknown role: boss");
  EXPECT_EQ(WithoutOrigin("bond_probe(3573) - Mode must be set"), "Mode must be set");
  EXPECT_EQ(WithoutOrigin("eth_dev_tap_create():  Disabling flows!"), "Disabling flows");
  EXPECT_EQ(WithoutOrigin("Error - no queues (2): none"), "Error - no queues (2): none");
  EXPECT_EQ(WithoutOrigin(""), "");
}

}  // namespace
}  // namespace penstock
