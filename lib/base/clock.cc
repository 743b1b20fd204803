// SPDX-License-Identifier: BSD-3-Clause
//
// See clock.h. Control path: measures the time stamp counter once, before lcores start.

#include "lib/base/clock.h"

#include <time.h>

#include <cerrno>

#include "lib/base/status.h"

namespace penstock {
namespace {

struct Moment {
  uint64_t tsc;
  uint64_t ns;
};

// Reads both clocks as nearly at once as can be: of several tries the one whose clock_gettime took
// the fewest ticks, since the others were interrupted between the two reads.
absl::StatusOr<Moment> ReadMoment() {
  Moment best{0, 0};
  uint64_t best_width_tsc = std::numeric_limits<uint64_t>::max();
  for (int i = 0; i < 8; ++i) {
    timespec now;
    const uint64_t before_tsc = ReadTsc();
    if (clock_gettime(CLOCK_MONOTONIC_RAW, &now) != 0) {
      return ErrnoStatus(errno, "clock_gettime(CLOCK_MONOTONIC_RAW)");
    }
    const uint64_t width_tsc = ReadTsc() - before_tsc;
    if (width_tsc < best_width_tsc) {
      best_width_tsc = width_tsc;
      best.tsc = before_tsc + width_tsc / 2;
      best.ns =
          static_cast<uint64_t>(now.tv_sec) * kNsPerSecond + static_cast<uint64_t>(now.tv_nsec);
    }
  }
  return best;
}

}  // namespace

absl::StatusOr<TscClock> TscClock::Measure() {
  constexpr long kIntervalNs = 50'000'000;
  PENSTOCK_ASSIGN_OR_RETURN(const Moment begin, ReadMoment());
  timespec left{0, kIntervalNs};
  int err;
  do {
    err = clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left);
  } while (err == EINTR);
  if (err != 0) return ErrnoStatus(err, "clock_nanosleep(CLOCK_MONOTONIC)");
  PENSTOCK_ASSIGN_OR_RETURN(const Moment end, ReadMoment());
  if (end.tsc <= begin.tsc || end.ns <= begin.ns) {
    return absl::FailedPreconditionError(
        "the time stamp counter of this machine does not advance steadily");
  }
  const uint64_t hz = clock_internal::MulDiv(end.tsc - begin.tsc, kNsPerSecond, end.ns - begin.ns);
  if (hz == 0) {
    return absl::FailedPreconditionError("the time stamp counter ticks less than once a second");
  }
  return TscClock(hz);
}

}  // namespace penstock
