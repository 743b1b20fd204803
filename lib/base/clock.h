// SPDX-License-Identifier: BSD-3-Clause
//
// Time as the dataplane knows it: ticks of the time stamp counter, and how many make a second. What
// depends on time takes its clock as a template parameter, so that its test runs on virtual time:
//
//   template <Clock C>
//   class Pacer {
//    public:
//     explicit Pacer(const C& clock) : clock_(clock) {}
//     bool Due() const noexcept { return clock_.NowTsc() >= next_tsc_; }
//     ...
//   };
//
//   TscClock clock(rte_get_tsc_hz());   // in the application
//   ManualClock clock(2'000'000'000);   // in a test: stands still until Advance()
//
// A clock is read through a const reference and outlives what reads it. TscClock may be shared by
// any number of lcores; ManualClock belongs to one thread.
//
// Not for dates, and not for intervals across a suspended machine: ticks may stop then.

#ifndef PENSTOCK_LIB_BASE_CLOCK_H_
#define PENSTOCK_LIB_BASE_CLOCK_H_

#include <concepts>
#include <cstdint>
#include <limits>

#include "absl/status/statusor.h"
#include "lib/base/cycles.h"

namespace penstock {

template <typename C>
concept Clock = requires(const C& clock) {
  { clock.NowTsc() }
  noexcept->std::same_as<uint64_t>;  // ticks since an unspecified moment
  { clock.Hz() }
  noexcept->std::same_as<uint64_t>;  // ticks per second, never 0
};

// The hardware counter. Where EAL runs, give it rte_get_tsc_hz(); else Measure().
class TscClock {
 public:
  // `hz` is not 0.
  constexpr explicit TscClock(uint64_t hz) noexcept : hz_(hz) {}

  // Compares the counter with CLOCK_MONOTONIC_RAW for 50 ms, during which the calling thread
  // sleeps; good to some parts in a million. Control path. Fails when the clock cannot be read or
  // the counter does not advance.
  static absl::StatusOr<TscClock> Measure();

  uint64_t NowTsc() const noexcept { return ReadTsc(); }
  uint64_t Hz() const noexcept { return hz_; }

 private:
  uint64_t hz_;
};

// Virtual time for tests: starts at 0 and moves only by Advance.
class ManualClock {
 public:
  // `hz` is not 0. The default makes a tick a nanosecond.
  constexpr explicit ManualClock(uint64_t hz = 1'000'000'000) noexcept : hz_(hz) {}

  uint64_t NowTsc() const noexcept { return now_tsc_; }
  uint64_t Hz() const noexcept { return hz_; }

  void Advance(uint64_t tsc) noexcept { now_tsc_ += tsc; }

 private:
  uint64_t now_tsc_ = 0;
  uint64_t hz_;
};

static_assert(Clock<TscClock> && Clock<ManualClock>);

namespace clock_internal {

__extension__ using Uint128 = unsigned __int128;

constexpr uint64_t MulDiv(uint64_t value, uint64_t numerator, uint64_t denominator) noexcept {
  const Uint128 result = static_cast<Uint128>(value) * numerator / denominator;
  constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
  return result > kMax ? kMax : static_cast<uint64_t>(result);
}

}  // namespace clock_internal

inline constexpr uint64_t kNsPerSecond = 1'000'000'000;

// Ticks to nanoseconds and back: exact, rounded down, and held at the largest value rather than
// wrapped. `hz` is not 0. Each costs a 128-bit division: convert a limit once at start, or a sum
// when it is reported, not every packet's stamp.
constexpr uint64_t TscToNs(uint64_t tsc, uint64_t hz) noexcept {
  return clock_internal::MulDiv(tsc, kNsPerSecond, hz);
}
constexpr uint64_t NsToTsc(uint64_t ns, uint64_t hz) noexcept {
  return clock_internal::MulDiv(ns, hz, kNsPerSecond);
}

}  // namespace penstock

#endif  // PENSTOCK_LIB_BASE_CLOCK_H_
