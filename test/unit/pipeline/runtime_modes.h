// SPDX-License-Identifier: BSD-3-Clause
//
// Stages and modes with which the tests of the runtime drive it: sound ones, and ones with a fault
// that the report must show. Their switches are static, for a stage is made inside the runtime.

#ifndef PENSTOCK_TEST_UNIT_PIPELINE_RUNTIME_MODES_H_
#define PENSTOCK_TEST_UNIT_PIPELINE_RUNTIME_MODES_H_

#include <rte_pause.h>
#include <sched.h>

#include <atomic>
#include <span>
#include <string>

#include "lib/base/status.h"
#include "lib/pipeline/mode.h"
#include "lib/pipeline/stages/io.h"
#include "lib/pipeline/stages/mac_swap.h"
#include "lib/pipeline/stages/rx_only.h"
#include "lib/pipeline/stages/tx_only.h"
#include "test/unit/pipeline/allocations.h"

namespace penstock {

// Once armed, does one thing wrong to one packet.
enum class Fault { kNone, kLost, kDoubled, kLeaked };

class Faulty : public StageBase {
 public:
  static constexpr absl::string_view kName = "faulty";
  static absl::StatusOr<Faulty> Create(const StageContext& context) {
    Faulty stage;
    stage.pool_ = context.mempool;
    PENSTOCK_ASSIGN_OR_RETURN(stage.to_peer_, Io::Create(context));
    return stage;
  }
  void Process(Burst burst, auto& out) noexcept {
    switch (armed.exchange(Fault::kNone, std::memory_order_relaxed)) {
      case Fault::kNone:
        break;
      case Fault::kLost:
        burst.mbufs = burst.mbufs.subspan(1);
        done.store(true, std::memory_order_relaxed);
        break;
      case Fault::kDoubled:
        // One reference more, so that the memory survives that both are freed.
        rte_mbuf_refcnt_update(burst.mbufs[0], 1);
        to_peer_->Process({burst.mbufs.first(1), burst.rx}, out);
        done.store(true, std::memory_order_relaxed);
        break;
      case Fault::kLeaked:
        done.store(rte_pktmbuf_alloc(pool_) != nullptr, std::memory_order_relaxed);
        break;
    }
    to_peer_->Process(burst, out);
  }

  static inline std::atomic<Fault> armed{Fault::kNone};
  static inline std::atomic<bool> done{false};

 private:
  rte_mempool* pool_ = nullptr;
  absl::StatusOr<Io> to_peer_ = absl::UnknownError("not made");
};

// Stays in Process until told, as a stage with a bug would.
class Spin : public StageBase {
 public:
  static constexpr absl::string_view kName = "spin";
  static absl::StatusOr<Spin> Create(const StageContext&) { return Spin(); }
  void Process(Burst burst, auto& out) noexcept {
    while (spinning.load(std::memory_order_relaxed)) {
      inside.store(true, std::memory_order_relaxed);
      sched_yield();  // The processor is shared with the test.
    }
    out.Next(burst);
  }
  static inline std::atomic<bool> spinning{false};
  static inline std::atomic<bool> inside{false};
};

// A feature with all there is: it holds, counts, reports and takes a command.
class Parking : public StageBase {
 public:
  static constexpr absl::string_view kName = "parking";
  enum Reason : unsigned { kNoRoom };
  static constexpr DropReason kDrops[] = {{"parking_full", "no place was left"}};
  enum Counter : unsigned { kParked, kLeft };
  static constexpr StageCounter kCounters[] = {{"parked", "packets that came"},
                                               {"left", "packets that left"}};
  static absl::StatusOr<Parking> Create(const StageContext& context) {
    Parking stage;
    PENSTOCK_ASSIGN_OR_RETURN(stage.to_peer_, Io::Create(context));
    return stage;
  }
  Parking(Parking&& other) noexcept
      : to_peer_(std::move(other.to_peer_)), barrier_(other.barrier_.load()) {}

  void Process(Burst burst, auto& out) noexcept {
    for (rte_mbuf* mbuf : burst.mbufs) {
      if (count_ == places_.size()) {
        out.Drop(kNoRoom, mbuf);
      } else {
        places_[count_++] = mbuf;
        rx_ = burst.rx;
        out.Count(kParked, 1);
      }
    }
  }
  void Poll(auto& out) noexcept {
    if (!barrier_.load(std::memory_order_relaxed)) Leave(out);
  }
  uint64_t Held() const noexcept { return count_; }
  void Drain(auto& out) noexcept { Leave(out); }

  static void Write(std::span<const uint64_t> counters, Json& section) {
    section["inside"] = counters[kParked] - counters[kLeft];
    section["parked"] = counters[kParked];
  }
  static constexpr StageSection<Parking> kSection{&Write};

  static absl::Status Barrier(std::span<Parking* const> stages,
                              std::span<const std::string> arguments, std::string& output) {
    for (Parking* stage : stages) stage->barrier_.store(arguments[0] == "down");
    output += "barrier " + arguments[0] + " on " + std::to_string(stages.size()) + " lcores\n";
    return absl::OkStatus();
  }
  static constexpr StageCommand<Parking> kCommands[] = {
      {"barrier (up|down)", "let packets leave, or keep them", &Barrier}};

 private:
  Parking() = default;
  void Leave(auto& out) noexcept {
    out.Count(kLeft, count_);
    to_peer_->Process({std::span<rte_mbuf*>(places_.data(), count_), rx_}, out);
    count_ = 0;
  }
  absl::StatusOr<Io> to_peer_ = absl::UnknownError("not made");
  std::atomic<bool> barrier_{false};
  RxSlot rx_ = 0;
  std::array<rte_mbuf*, 300> places_;
  size_t count_ = 0;
};

// Marks the lcore's thread from its first iteration until it drains.
class Watched : public StageBase {
 public:
  static constexpr absl::string_view kName = "watched";
  static absl::StatusOr<Watched> Create(const StageContext&) { return Watched(); }
  void Process(Burst burst, auto& out) noexcept { out.Next(burst); }
  void Poll(auto&) noexcept { AllocationsOf::ThisThread(true); }
  void Drain(auto&) noexcept { AllocationsOf::ThisThread(false); }
};

// Allocates in the data path, as no stage may.
class Allocates : public StageBase {
 public:
  static constexpr absl::string_view kName = "allocates";
  static absl::StatusOr<Allocates> Create(const StageContext&) { return Allocates(); }
  void Process(Burst burst, auto& out) noexcept { out.Next(burst); }
  void Poll(auto&) noexcept {
    seen = new int(1);  // Seen by others, or the compiler would leave it out.
    delete seen;
  }
  static inline int* volatile seen = nullptr;
};

// Cannot be made while told so.
class Moody : public StageBase {
 public:
  static constexpr absl::string_view kName = "moody";
  static absl::StatusOr<Moody> Create(const StageContext&) {
    if (refuses) return absl::UnavailableError("not in the mood");
    return Moody();
  }
  void Process(Burst burst, auto& out) noexcept { out.Next(burst); }
  static inline bool refuses = false;
};

inline constexpr ModeShape kForwardShape{.sends = Destination::kPeer, .streams = Streams::kReceive};
inline constexpr ModeShape kReceiveShape{.sends = Destination::kNone, .streams = Streams::kReceive};
inline constexpr ModeShape kSourceShape{.sends = Destination::kSelf, .streams = Streams::kTransmit};

inline constexpr Mode kTestModes[] = {
    MakeMode<Io>("io", "", kForwardShape),
    MakeMode<MacSwap>("macswap", "", kForwardShape),
    MakeMode<RxOnly>("rxonly", "", kReceiveShape),
    MakeMode<TxOnly>("txonly", "", kSourceShape),
    MakeMode<Faulty>("faulty", "", kForwardShape),
    MakeMode<Spin, Io>("spin", "", kForwardShape),
    MakeMode<Parking>("parking", "", kForwardShape),
    MakeMode<Moody, Io>("moody", "", kForwardShape),
    MakeMode<Watched, Io>("watched_io", "", kForwardShape),
    MakeMode<Watched, MacSwap>("watched_macswap", "", kForwardShape),
    MakeMode<Watched, RxOnly>("watched_rxonly", "", kReceiveShape),
    MakeMode<Watched, TxOnly>("watched_txonly", "", kSourceShape),
    MakeMode<Watched, Parking>("watched_parking", "", kForwardShape),
    MakeMode<Watched, Allocates, Io>("watched_fault", "", kForwardShape),
};

}  // namespace penstock

#endif  // PENSTOCK_TEST_UNIT_PIPELINE_RUNTIME_MODES_H_
