// SPDX-License-Identifier: BSD-3-Clause
//
// Tally: sums what lcores counted, whatever plan and mode they counted under, until a report is
// made of it. Control thread.

#ifndef PENSTOCK_LIB_PIPELINE_TALLY_H_
#define PENSTOCK_LIB_PIPELINE_TALLY_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lib/pipeline/lcore_counters.h"
#include "lib/pipeline/mode.h"
#include "lib/pipeline/planner.h"
#include "lib/stats/counter_page.h"
#include "lib/stats/report.h"

namespace penstock {

class Tally {
 public:
  // Every reason of every mode is in the report, at zero until something is dropped for it.
  explicit Tally(std::span<const Mode> modes);

  // Adds one lcore's counters, laid out by `layout`, counted under `mode` and `plan`.
  void Add(const Mode& mode, const LcorePlan& plan, const LcoreCounters& layout,
           const CounterPage::Copy& copy);

  // Fills lcores, drops, sections, and the lcores' side of `report.ports` and `report.tx_queues`,
  // which are there already. At `now_tsc`, `hz` ticks a second.
  void Fill(Report& report, uint64_t now_tsc, uint64_t hz) const;

 private:
  struct PortCounts {
    uint64_t rx = 0;
    uint64_t tx = 0;
  };
  // Of a TX queue, by those who reaped it. The last two are the present reaper's.
  struct ReapCounts {
    uint64_t reaps = 0;
    uint64_t empty_reaps = 0;
    uint64_t reaped = 0;
    uint64_t in_flight = 0;
    uint64_t oldest_tsc = 0;
  };
  // The counters of one stage, by the stage's place in a mode's row.
  struct StageCounts {
    const ModeStage* stage;
    std::vector<uint64_t> counters;
  };

  void FillReaps(Report& report, uint64_t now_tsc, uint64_t hz) const;

  std::map<unsigned, LcoreReport> lcores_;
  std::map<uint16_t, PortCounts> ports_;
  std::map<std::pair<uint16_t, uint16_t>, ReapCounts> reaps_;  // By port and queue.
  std::map<std::string, uint64_t> drops_;
  std::map<std::string, StageCounts> stages_;
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_PIPELINE_TALLY_H_
