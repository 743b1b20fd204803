// SPDX-License-Identifier: BSD-3-Clause
//
// The processor's time stamp counter and its cache line. Any lcore, data path included.
//
// The unit of ReadTsc() is a tick of the counter: of the TSC on x86 (constant rate on every
// processor of the last fifteen years, whatever the core's present frequency), of the generic timer
// on ARM. lib/base/clock.h says how many ticks there are to a second. The read is not ordered with
// the instructions around it: right for measuring bursts, wrong for timing a few instructions.

#ifndef PENSTOCK_LIB_BASE_CYCLES_H_
#define PENSTOCK_LIB_BASE_CYCLES_H_

#include <cstddef>
#include <cstdint>

#if defined(__x86_64__) || defined(__i386__)
#include <x86intrin.h>
#endif

namespace penstock {

inline uint64_t ReadTsc() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  return __rdtsc();
#elif defined(__aarch64__)
  uint64_t ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
#error "no time stamp counter is known for this architecture"
#endif
}

// The unit in which two lcores take memory away from each other. Whatever one lcore writes while
// another reads or writes its neighbour starts on a line of its own:
//   struct PENSTOCK_CACHE_ALIGNED LcoreCounters { ... };
inline constexpr size_t kCacheLineBytes = 64;

#define PENSTOCK_CACHE_ALIGNED alignas(::penstock::kCacheLineBytes)

}  // namespace penstock

#endif  // PENSTOCK_LIB_BASE_CYCLES_H_
