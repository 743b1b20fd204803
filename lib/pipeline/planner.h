// SPDX-License-Identifier: BSD-3-Clause
//
// MakePlan makes the plan (plan.h) before start, from what the ports and lcores are and what was
// asked for. It is not changed while lcores run: another topology is another plan.
//
// MakePlan is a pure function. Its rules:
//  - The ports of --portlist forward, in that order, which is the one that the topology goes by;
//    without it all do. Any other port is set up as well, and nobody polls it or sends to it.
//  - The lcores of --corelist may work, in that order, --nb-cores of them; without it all workers.
//  - Work is dealt out in streams: RX queues, or in a mode of sources TX queues. Streams are listed
//    queue by queue (queue 0 of every port, then queue 1 …) and given to the lcores in equal runs,
//    so that the two ports of a pair go to one lcore when there are fewer lcores than streams.
//    Surplus lcores are idle, and a note says so.
//  - Without --rxq a port has one RX queue, or all it has where its devargs fix their number and
//    packets come in on all of them. Fewer are possible, and noted.
//  - Without --txq a port has one TX queue per lcore that sends to it, up to what it offers, and as
//    many as RX queues where its driver demands equal numbers. The k-th sender uses queue k modulo
//    their number.
//  - A port that is set up and whose driver sets up once keeps its queues: what is not asked for
//    otherwise is made to do with them.
//  - A TX queue with one user is exclusive; one with more is shared through the driver's own
//    MT_LOCKFREE where the port has it, else through a spinlock per burst. A user is an lcore that
//    sends to the queue or reaps it.
//  - A queue that somebody sends to is reaped by its first sender, where the port lets an lcore do
//    that and --completion is not inline; by the lcore that --completion-lcore names for it.
//  - One mempool per NUMA node that has a port or a working lcore.
//  - A TX budget that was asked for is one that the port can have, and is no more than its TX ring.
// What cannot work is refused with the reason and the way out.

#ifndef PENSTOCK_LIB_PIPELINE_PLANNER_H_
#define PENSTOCK_LIB_PIPELINE_PLANNER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/config/configuration.h"
#include "lib/pipeline/mode.h"
#include "lib/pipeline/plan.h"
#include "lib/port/capabilities.h"

namespace penstock {

// What the planner needs to know of a port.
struct PlannerPort {
  uint16_t port = 0;
  std::string name;
  int numa_node = 0;
  QueueLimits rx;
  QueueLimits tx;
  bool fixed_queues = false;       // Packets come in on all RX queues, polled or not.
  bool equal_queues = false;       // As many TX queues as RX queues, or the driver refuses.
  bool equal_descriptors = false;  // TX rings are as long as RX rings, whatever is asked.
  bool mt_lockfree = false;        // RTE_ETH_TX_OFFLOAD_MT_LOCKFREE
  uint32_t driver_mbufs = 0;       // What the driver takes per RX queue beyond its descriptors.
  TxReap reap = TxReap::kUnknown;
  uint16_t tx_pinned = 0;              // mbufs that an idle TX queue keeps.
  std::string completion_devarg = "";  // What its devargs say: "stage", "inline" or nothing.
  bool reaps_by_threshold = false;     // tx_free_thresh says when its tx_burst reaps.
  bool tx_budget = false;              // The packets of a send call can be limited.
  // How it is set up, if that cannot be changed any more.
  std::optional<PortPlan> fixed = std::nullopt;
};

struct PlannerLcore {
  unsigned lcore = 0;
  int numa_node = 0;
};

absl::StatusOr<Plan> MakePlan(std::span<const PlannerPort> ports,
                              std::span<const PlannerLcore> lcores, const ModeShape& shape,
                              const Configuration& configuration);

}  // namespace penstock

#endif  // PENSTOCK_LIB_PIPELINE_PLANNER_H_
