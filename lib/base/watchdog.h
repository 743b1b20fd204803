// SPDX-License-Identifier: BSD-3-Clause
//
// Watchdog: finds lcores whose loop has stopped turning. Owned by the control thread, which alone
// touches it; the lcores merely count their iterations somewhere the control thread can read.
//
//   Watchdog watchdog(clock, plan.lcores.size(), 1'000'000'000);
//   every 100 ms:  for (const StuckLcore& stuck : watchdog.Observe(heartbeats)) { ... }
//
// Call Observe() at least four times per limit. The time between two calls counts for no more than
// half the limit (and a tick): if the control thread itself did not run (the process was stopped,
// the virtual machine paused), the lcores' silence in that time says nothing about them. So one
// late call never condemns an lcore, and a stuck one is found at the second.
//
// Not for lcores that rest on purpose: watch those that ought to be running. A new plan gets a new
// Watchdog.

#ifndef PENSTOCK_LIB_BASE_WATCHDOG_H_
#define PENSTOCK_LIB_BASE_WATCHDOG_H_

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lib/base/clock.h"

namespace penstock {

struct StuckLcore {
  size_t index;        // position in the heartbeats given to Observe
  uint64_t silent_ns;  // how long its count has stood still, as far as it counts (above)

  friend bool operator==(const StuckLcore&, const StuckLcore&) = default;
};

template <Clock C>
class Watchdog {
 public:
  // Watches `lcores` counts; one is stuck when it has stood still for more than `limit_ns`.
  // `clock` outlives the watchdog. Every lcore has the whole limit from now to beat first.
  Watchdog(const C& clock, size_t lcores, uint64_t limit_ns)
      : clock_(clock),
        limit_tsc_(NsToTsc(limit_ns, clock.Hz())),
        last_tsc_(clock.NowTsc()),
        lcores_(lcores) {}

  // Takes the present counts, one per lcore and always in the same order, and returns those that
  // are stuck now, in that order. A count need not grow: any change is a sign of life.
  std::vector<StuckLcore> Observe(std::span<const uint64_t> heartbeats) {
    assert(heartbeats.size() == lcores_.size());
    const uint64_t now_tsc = clock_.NowTsc();
    const uint64_t credit_tsc = std::min(now_tsc - last_tsc_, limit_tsc_ / 2 + 1);
    last_tsc_ = now_tsc;
    std::vector<StuckLcore> stuck;
    for (size_t i = 0; i < std::min(heartbeats.size(), lcores_.size()); ++i) {
      Lcore& lcore = lcores_[i];
      if (heartbeats[i] != lcore.heartbeat) {
        lcore = {heartbeats[i], 0};
        continue;
      }
      lcore.silent_tsc += credit_tsc;
      if (lcore.silent_tsc > limit_tsc_) {
        stuck.push_back({i, TscToNs(lcore.silent_tsc, clock_.Hz())});
      }
    }
    return stuck;
  }

 private:
  struct Lcore {
    uint64_t heartbeat = 0;
    uint64_t silent_tsc = 0;
  };

  const C& clock_;
  const uint64_t limit_tsc_;
  uint64_t last_tsc_;
  std::vector<Lcore> lcores_;
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_BASE_WATCHDOG_H_
