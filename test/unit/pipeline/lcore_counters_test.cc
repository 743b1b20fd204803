// SPDX-License-Identifier: BSD-3-Clause
//
// Every counter of an lcore has a place of its own and none is wasted. No EAL needed.

#include "lib/pipeline/lcore_counters.h"

#include <gtest/gtest.h>

#include <vector>

namespace penstock {
namespace {

TEST(LcoreCounters, EachPlaceIsUsedOnce) {
  for (const LcoreCounters& layout :
       {LcoreCounters{0, 0, 0, 0}, LcoreCounters{1, 1, 2, 0}, LcoreCounters{3, 2, 5, 4},
        LcoreCounters{0, 7, 2, 1}, LcoreCounters{16, 32, 9, 0}, LcoreCounters{1, 2, 3, 4, 3}}) {
    std::vector<int> used(layout.size(), 0);
    const auto use = [&](size_t place) {
      ASSERT_LT(place, used.size());
      ++used[place];
    };
    for (size_t fixed : {LcoreCounters::kPolls, LcoreCounters::kEmptyPolls, LcoreCounters::kMade,
                         LcoreCounters::kHeld, LcoreCounters::kBusyCycles}) {
      use(fixed);
    }
    for (size_t i = 0; i < layout.rx_slots; ++i) use(layout.Rx(i));
    for (size_t i = 0; i < layout.tx_slots; ++i) use(layout.Tx(i));
    for (size_t i = 0; i < layout.drops; ++i) use(layout.Drop(i));
    for (size_t i = 0; i < layout.stage_counters; ++i) use(layout.Stage(i));
    for (size_t i = 0; i < layout.reaped_queues; ++i) {
      for (size_t each : {LcoreCounters::kReaps, LcoreCounters::kEmptyReaps, LcoreCounters::kReaped,
                          LcoreCounters::kInFlight, LcoreCounters::kOldestTsc}) {
        use(layout.ReapedQueue(i) + each);
      }
    }
    for (size_t place = 0; place < used.size(); ++place) EXPECT_EQ(used[place], 1) << place;
  }
}

}  // namespace
}  // namespace penstock
