// SPDX-License-Identifier: BSD-3-Clause
//
// A plan: who polls which RX queue, who sends to which TX queue, what is shared and how, and from
// which mempool each queue fills. Plain data, made by MakePlan (planner.h), and how it is shown.

#ifndef PENSTOCK_LIB_PIPELINE_PLAN_H_
#define PENSTOCK_LIB_PIPELINE_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "lib/port/port_setup.h"
#include "lib/text/json.h"

namespace penstock {

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
  TxFree tx_free = TxFree::kDriver;
  bool operator==(const PortPlan&) const = default;
};

struct TxQueuePlan {
  uint16_t port = 0;
  uint16_t queue = 0;
  std::vector<unsigned> users;  // lcores: those that send, then the one that only reaps.
  Sharing sharing = Sharing::kExclusive;
  size_t senders = 0;                             // So many of the users send.
  std::optional<unsigned> reaper = std::nullopt;  // The lcore; none: the driver, in its tx_burst.
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
  struct Reap {
    uint16_t port;
    uint16_t queue;
    uint16_t shared_queue;  // Index into Plan::tx_queues.
    uint16_t slot;          // Index into `tx`, or kNoSlot where it only reaps.
  };
  unsigned lcore = 0;
  std::vector<Rx> rx;
  std::vector<Tx> tx;
  std::vector<Reap> reaps;
  uint16_t mempool = 0;  // For packets made here.
  bool Idle() const { return rx.empty() && tx.empty() && reaps.empty(); }
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

// A table, one line per lcore, then the shared queues, mempools and notes.
std::string FormatPlan(const Plan& plan);

Json ToJson(const Plan& plan);

}  // namespace penstock

#endif  // PENSTOCK_LIB_PIPELINE_PLAN_H_
