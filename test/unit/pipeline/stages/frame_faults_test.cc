// SPDX-License-Identifier: BSD-3-Clause
//
// Counters of faults: each fault but a runt has one of its own name, before the stage's own.

#include "lib/pipeline/stages/frame_faults.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(FrameFaults, EachHasTheCounterOfItsName) {
  constexpr auto kAll = WithFaultCounters<1>({{{"mine", "of the stage"}}});
  static_assert(kAll.size() == kFaultCounters + 1);
  EXPECT_EQ(kAll[FaultCounter(FrameFault::kTruncated)].name, "truncated");
  EXPECT_EQ(kAll[FaultCounter(FrameFault::kBadLength)].name, "bad_length");
  EXPECT_EQ(FaultCounter(FrameFault::kTruncated), 0u);
  for (unsigned fault = 2; fault < kFrameFaults; ++fault) {
    const StageCounter& counter = kAll[FaultCounter(static_cast<FrameFault>(fault))];
    EXPECT_EQ(counter.name, kFrameFaultTexts[fault].name);
    EXPECT_EQ(counter.what, kFrameFaultTexts[fault].what);
  }
  EXPECT_EQ(kAll[kFaultCounters].name, "mine");
  EXPECT_EQ(kRuntDrop.name, "runt");
}

}  // namespace
}  // namespace penstock
