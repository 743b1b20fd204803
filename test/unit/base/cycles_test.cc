// SPDX-License-Identifier: BSD-3-Clause
//
// The time stamp counter and the cache line.

#include "lib/base/cycles.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(CyclesTest, TheCounterRuns) {
  const uint64_t first = ReadTsc();
  uint64_t later = first;
  // Ends at the first tick: a counter that stands still would be found by the test's time limit.
  while (later == first) later = ReadTsc();
  EXPECT_GT(later, first);
}

TEST(CyclesTest, AlignedTypesShareNoLine) {
  struct PENSTOCK_CACHE_ALIGNED Counter {
    uint64_t value;
  };
  static_assert(alignof(Counter) == kCacheLineBytes && sizeof(Counter) == kCacheLineBytes);
  Counter counters[2] = {};
  const auto address = [](const Counter& c) { return reinterpret_cast<uintptr_t>(&c.value); };
  EXPECT_EQ(address(counters[0]) % kCacheLineBytes, 0u);
  EXPECT_EQ(address(counters[1]) - address(counters[0]), kCacheLineBytes);
}

}  // namespace
}  // namespace penstock
