// SPDX-License-Identifier: BSD-3-Clause
//
// Which counter of an lcore stands where in its CounterPage. Fixed when the lcore is built.

#ifndef PENSTOCK_LIB_PIPELINE_LCORE_COUNTERS_H_
#define PENSTOCK_LIB_PIPELINE_LCORE_COUNTERS_H_

#include <cstddef>

namespace penstock {

struct LcoreCounters {
  // One of each lcore.
  static constexpr size_t kPolls = 0;
  static constexpr size_t kEmptyPolls = 1;
  static constexpr size_t kMade = 2;
  static constexpr size_t kHeld = 3;
  static constexpr size_t kBusyCycles = 4;
  static constexpr size_t kFirstRx = 5;

  // Of each TX queue that the lcore reaps. The last two say what is, not what was.
  static constexpr size_t kReaps = 0;
  static constexpr size_t kEmptyReaps = 1;
  static constexpr size_t kReaped = 2;
  static constexpr size_t kInFlight = 3;
  static constexpr size_t kOldestTsc = 4;  // When it went out; 0: nothing is in flight.
  static constexpr size_t kPerReapedQueue = 5;

  // Packets by RX slot, by TX slot, by drop reason, then the stages' own, then the reaped queues'.
  size_t rx_slots;
  size_t tx_slots;
  size_t drops;
  size_t stage_counters;
  size_t reaped_queues = 0;

  constexpr size_t Rx(size_t slot) const { return kFirstRx + slot; }
  constexpr size_t Tx(size_t slot) const { return Rx(rx_slots) + slot; }
  constexpr size_t Drop(size_t reason) const { return Tx(tx_slots) + reason; }
  constexpr size_t Stage(size_t counter) const { return Drop(drops) + counter; }
  constexpr size_t ReapedQueue(size_t i) const {
    return Stage(stage_counters) + i * kPerReapedQueue;
  }
  constexpr size_t size() const { return ReapedQueue(reaped_queues); }
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_PIPELINE_LCORE_COUNTERS_H_
