// SPDX-License-Identifier: BSD-3-Clause
//
// Stage: one step of what an lcore does to packets. This header is the manual for writing one.
//
// A stage is a class; a mode is a row of stages, composed at compile time (lib/pipeline/mode.h).
// Each lcore has its own instance of each stage, made by Create() on the control path, where the
// stage reserves everything it will ever need. Afterwards Process, Poll and Drain run on that lcore
// alone: no allocation, no lock, no system call, no log.
//
//   class DropShort : public StageBase {
//    public:
//     static constexpr absl::string_view kName = "drop_short";
//     enum Reason : unsigned { kShort };
//     static constexpr DropReason kDrops[] = {{"short", "a packet shorter than 60 bytes"}};
//
//     static absl::StatusOr<DropShort> Create(const StageContext& context);
//
//     void Process(Burst burst, auto& out) noexcept {
//       for (rte_mbuf* mbuf : burst.mbufs) {
//         if (mbuf->pkt_len < 60) out.Drop(kShort, mbuf); else out.Next(mbuf);
//       }
//     }
//   };
//
// Every mbuf that Process is given leaves by exactly one outlet, or is held:
//   out.Next(mbuf), out.Next(burst)        to the next stage of the row
//   out.Send(slot, mbuf | mbufs)           to a port; slots come from the StageContext
//   out.Drop(reason, mbuf | mbufs)         to the mempool, counted under the stage's reason
//   keep it, and count it in Held()        to leave later through Poll or Drain
// A stage that makes packets says so with out.Made(n), then sends them by the same outlets; one
// that keeps counters of its own adds to them with out.Count(counter, n).
//
// Send(slot, mbufs) returns how many of them the queue took; the rest was dropped as tx_full.
//
// Giving a whole burst to one outlet is the fast case: the array goes to the next stage or to the
// driver as it is. Packets given one by one are gathered and leave in the same iteration, in the
// order given, whole bursts included. What leaves in Poll or Drain by Next(mbuf) comes from no RX
// queue: a stage that holds packets in front of one that asks where they came from, as io and
// macswap do, keeps their rx and gives them on as Next(Burst{mbufs, rx}).
//
// What a stage may have besides Create and Process (StageBase has the defaults):
//   void Poll(auto& out) noexcept          each iteration: release what was held, make packets
//   uint64_t Held() const noexcept         packets kept at this moment
//   void Drain(auto& out) noexcept         at stop: let go of everything held
//   static constexpr DropReason kDrops[]   its reasons; index them by an enum
//   static constexpr StageCounter kCounters[]       its counters
//   static constexpr StageSection<T> kSection       its own object in the report
//   static constexpr StageCommand<T> kCommands[]    its own commands
//
// An mbuf that is sent has one reference, is direct or has a pinned external buffer, and comes from
// the context's mempool or an RX queue: a port may give it back without a look at any of that
// (RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE).

#ifndef PENSTOCK_LIB_PIPELINE_STAGE_H_
#define PENSTOCK_LIB_PIPELINE_STAGE_H_

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/config/configuration.h"
#include "lib/net/mac_address.h"
#include "lib/stats/drop_reason.h"
#include "lib/text/json.h"

namespace penstock {

// Index into the RX queues or the TX queues of one lcore.
using RxSlot = uint16_t;
using TxSlot = uint16_t;
inline constexpr uint16_t kNoSlot = 0xffff;

// Packets in the order received. `rx` is where they came from; kNoSlot for packets made here.
struct Burst {
  std::span<rte_mbuf*> mbufs;
  RxSlot rx = kNoSlot;
};

// What a stage learns about its lcore when it is made. References are valid while the stage lives.
struct StageContext {
  struct Rx {
    uint16_t port;
    uint16_t queue;
    TxSlot peer;  // Where the mode's destination for this port is; kNoSlot if it sends nowhere.
    uint64_t offloads = 0;  // In effect: RTE_ETH_RX_OFFLOAD_*.
  };
  struct Tx {
    uint16_t port;
    uint16_t queue;
    MacAddress mac;         // The port's own address.
    bool source;            // In a mode of sources: this lcore is to make packets for this queue.
    uint64_t offloads = 0;  // In effect: RTE_ETH_TX_OFFLOAD_*.
  };

  const Configuration& configuration;
  unsigned lcore;
  std::vector<Rx> rx;
  std::vector<Tx> tx;
  rte_mempool* mempool;  // For packets made on this lcore.

  // The slot of this lcore's queue on `port`; kNoSlot when the plan gives it none.
  TxSlot SlotOf(uint16_t port) const {
    for (size_t i = 0; i < tx.size(); ++i) {
      if (tx[i].port == port) return static_cast<TxSlot>(i);
    }
    return kNoSlot;
  }
};

struct StageCounter {
  absl::string_view name;
  absl::string_view what;
};

// The object that a stage adds to the report under its name. Runs on a control thread on one
// snapshot of the stage's counters, in the order of kCounters, summed over lcores. A stage with
// counters and without a section gets one that lists them.
template <class T>
struct StageSection {
  void (*write)(std::span<const uint64_t> counters, Json& section);
};

// A command that a stage brings, in the grammar of lib/control/command.h: words, and <name> for an
// argument ("hold release <count>"). Runs on the control thread while the lcores may be running:
// touch only what the stage made safe for that. What it appends to `output` is shown.
template <class T>
struct StageCommand {
  absl::string_view syntax;
  absl::string_view help;
  absl::Status (*run)(std::span<T* const> stages, std::span<const std::string> arguments,
                      std::string& output);
};

class StageBase {
 public:
  void Poll(auto&) noexcept {}
  uint64_t Held() const noexcept { return 0; }
  void Drain(auto&) noexcept {}
  static constexpr std::span<const DropReason> kDrops{};
  static constexpr std::span<const StageCounter> kCounters{};
};

// Outlets that take anything and do nothing: what the Stage concept checks a stage against.
struct AnyOutlets {
  void Next(rte_mbuf*) noexcept {}
  void Next(Burst) noexcept {}
  void Send(TxSlot, rte_mbuf*) noexcept {}
  uint16_t Send(TxSlot, std::span<rte_mbuf*>) noexcept { return 0; }
  void Drop(unsigned, rte_mbuf*) noexcept {}
  void Drop(unsigned, std::span<rte_mbuf*>) noexcept {}
  void Made(uint64_t) noexcept {}
  void Count(unsigned, uint64_t) noexcept {}
};

template <class T>
concept Stage = std::move_constructible<T> &&
    requires(T& stage, const T& same, const StageContext& context, Burst burst, AnyOutlets& out) {
  { T::kName } -> std::convertible_to<absl::string_view>;
  { T::Create(context) } -> std::same_as<absl::StatusOr<T>>;
  { stage.Process(burst, out) }
  noexcept;
  { stage.Poll(out) }
  noexcept;
  { stage.Drain(out) }
  noexcept;
  { same.Held() }
  noexcept->std::same_as<uint64_t>;
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_PIPELINE_STAGE_H_
