// SPDX-License-Identifier: BSD-3-Clause
//
// What the tests of the planner ask it about: shapes of modes, ports and lcores; and plans as
// pictures. Test process only.

#ifndef PENSTOCK_TEST_UNIT_PIPELINE_PLANNER_WORLDS_H_
#define PENSTOCK_TEST_UNIT_PIPELINE_PLANNER_WORLDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/pipeline/planner.h"

namespace penstock {

inline constexpr ModeShape kForward{.sends = Destination::kPeer, .streams = Streams::kReceive};
inline constexpr ModeShape kSink{.sends = Destination::kNone, .streams = Streams::kReceive};
inline constexpr ModeShape kSource{.sends = Destination::kSelf, .streams = Streams::kTransmit};
inline constexpr ModeShape kRouter{.sends = Destination::kAny, .streams = Streams::kReceive};
inline constexpr ModeShape kEcho{.sends = Destination::kSelf, .streams = Streams::kReceive};

inline PlannerPort Offering(uint16_t rx_queues, uint16_t tx_queues, bool equal_queues = false,
                            bool mt_lockfree = false) {
  PlannerPort port;
  port.rx.max_queues = rx_queues;
  port.tx.max_queues = tx_queues;
  port.equal_queues = equal_queues;
  port.mt_lockfree = mt_lockfree;
  return port;
}

inline std::vector<PlannerPort> Ports(size_t count, const PlannerPort& like = Offering(16, 16)) {
  std::vector<PlannerPort> ports(count, like);
  for (size_t i = 0; i < count; ++i) {
    ports[i].port = static_cast<uint16_t>(i);
    ports[i].name = absl::StrCat("dev", i);
  }
  return ports;
}

// Ids from 1, as worker lcores have.
inline std::vector<PlannerLcore> Lcores(size_t count) {
  std::vector<PlannerLcore> lcores;
  for (size_t i = 0; i < count; ++i) lcores.push_back({static_cast<unsigned>(i + 1), 0});
  return lcores;
}

inline PerPort All(uint16_t value) { return {.all = value, .of_port = {}}; }

// One line per lcore: what it polls and where each goes, or what it feeds.
//   "1: 0.0>1.0 1.0>0.0"   "2: idle"   "3: *0.1"
inline std::string Picture(const Plan& plan) {
  std::vector<std::string> lines;
  for (const LcorePlan& lcore : plan.lcores) {
    std::string line = absl::StrCat(lcore.lcore, ":");
    for (const LcorePlan::Rx& rx : lcore.rx) {
      absl::StrAppend(&line, " ", rx.port, ".", rx.queue);
      if (rx.peer == kNoSlot) continue;
      const LcorePlan::Tx& tx = lcore.tx.at(rx.peer);
      absl::StrAppend(&line, ">", tx.port, ".", tx.queue);
    }
    for (const LcorePlan::Tx& tx : lcore.tx) {
      if (tx.source) absl::StrAppend(&line, " *", tx.port, ".", tx.queue);
    }
    if (lcore.Idle()) line += " idle";
    lines.push_back(line);
  }
  return absl::StrJoin(lines, "\n");
}

// One word per TX queue: "0.0=1+2/spinlock".
inline std::string Users(const Plan& plan) {
  std::vector<std::string> words;
  for (const TxQueuePlan& queue : plan.tx_queues) {
    words.push_back(absl::StrCat(queue.port, ".", queue.queue, "=", absl::StrJoin(queue.users, "+"),
                                 "/", SharingName(queue.sharing)));
  }
  return absl::StrJoin(words, " ");
}

}  // namespace penstock

#endif  // PENSTOCK_TEST_UNIT_PIPELINE_PLANNER_WORLDS_H_
