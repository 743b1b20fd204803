// SPDX-License-Identifier: BSD-3-Clause
//
// The plan: who polls which RX queue, who sends to which TX queue, what is shared and how, and from
// which mempool each queue fills. Made before start from what the ports and lcores are and what was
// asked for, and not changed while lcores run: another topology is another plan.
//
// MakePlan is a pure function. Its rules:
//  - Work is dealt out in streams: RX queues, or in a mode of sources TX queues. Streams are listed
//    queue by queue (queue 0 of every port, then queue 1 …) and given to the lcores in equal runs,
//    so that the two ports of a pair go to one lcore when there are fewer lcores than streams.
//    Surplus lcores are idle, and a note says so.
//  - Without --rxq a port has one RX queue, or all it has where its devargs fix their number and
//    packets come in on all of them. Fewer are possible, and noted.
//  - Without --txq a port has one TX queue per lcore that sends to it, up to what it offers, and as
//    many as RX queues where its driver demands equal numbers. The k-th sender uses queue k modulo
//    their number.
//  - A TX queue with one user is exclusive; one with more is shared through the driver's own
//    MT_LOCKFREE where the port has it, else through a spinlock per burst. A user is an lcore that
//    sends to the queue.
//  - One mempool per NUMA node that has a port or a working lcore.
// What cannot work is refused with the reason and the way out.

#ifndef PENSTOCK_LIB_PIPELINE_PLANNER_H_
#define PENSTOCK_LIB_PIPELINE_PLANNER_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/config/configuration.h"
#include "lib/pipeline/mode.h"
#include "lib/text/json.h"

namespace penstock {

// How many descriptors a queue may have: min to max in steps of align.
struct DescriptorLimits {
  uint16_t min = 1;
  uint16_t max = kMaxDescriptors;
  uint16_t align = 1;
};

// What the planner needs to know of a port.
struct PlannerPort {
  uint16_t port = 0;
  std::string name;
  int numa_node = 0;
  uint16_t max_rx_queues = 1;
  uint16_t max_tx_queues = 1;
  DescriptorLimits rx_descriptors;
  DescriptorLimits tx_descriptors;
  bool fixed_queues = false;  // Packets come in on max_rx_queues, polled or not.
  bool equal_queues = false;  // As many TX queues as RX queues, or the driver refuses.
  bool mt_lockfree = false;   // RTE_ETH_TX_OFFLOAD_MT_LOCKFREE
  uint32_t driver_mbufs = 0;  // What the driver takes per RX queue beyond its descriptors.
};

struct PlannerLcore {
  unsigned lcore = 0;
  int numa_node = 0;
};

enum class Sharing { kExclusive, kMtLockfree, kSpinlock };
absl::string_view SharingName(Sharing sharing);  // As in the report.

struct PortPlan {
  uint16_t port = 0;
  uint16_t rx_queues = 0;
  uint16_t tx_queues = 0;
  uint16_t rx_descriptors = 0;
  uint16_t tx_descriptors = 0;
  uint16_t mempool = 0;      // Index into Plan::mempools.
  bool mt_lockfree = false;  // Lcores share a TX queue of it through the driver.
  bool operator==(const PortPlan&) const = default;
};

struct TxQueuePlan {
  uint16_t port = 0;
  uint16_t queue = 0;
  std::vector<unsigned> users;  // lcores
  Sharing sharing = Sharing::kExclusive;
};

struct LcorePlan {
  struct Rx {
    uint16_t port;
    uint16_t queue;
    uint16_t peer;  // Index into `tx`, or kNoSlot.
  };
  struct Tx {
    uint16_t port;
    uint16_t queue;
    uint16_t shared_queue;  // Index into Plan::tx_queues.
    bool source;            // The lcore makes packets for it.
  };
  unsigned lcore = 0;
  std::vector<Rx> rx;
  std::vector<Tx> tx;
  uint16_t mempool = 0;  // For packets made here.
  bool Idle() const { return rx.empty() && tx.empty(); }
};

struct MempoolPlan {
  int numa_node = 0;
  uint32_t mbufs = 0;
  bool operator==(const MempoolPlan&) const = default;
};

struct Plan {
  std::vector<PortPlan> ports;
  std::vector<LcorePlan> lcores;
  std::vector<TxQueuePlan> tx_queues;
  std::vector<MempoolPlan> mempools;
  std::vector<std::string> notes;  // What a user may want to know: idle lcores, locks, odd ports.
};

absl::StatusOr<Plan> MakePlan(std::span<const PlannerPort> ports,
                              std::span<const PlannerLcore> lcores, const ModeShape& shape,
                              const Configuration& configuration);

// A table, one line per lcore, then the shared queues, mempools and notes.
std::string FormatPlan(const Plan& plan);

Json ToJson(const Plan& plan);

}  // namespace penstock

#endif  // PENSTOCK_LIB_PIPELINE_PLANNER_H_
