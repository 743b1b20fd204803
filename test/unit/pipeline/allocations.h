// SPDX-License-Identifier: BSD-3-Clause
//
// Counts what a thread allocates: the test executable's own malloc and its kin stand before the C
// library's, for itself and for every shared library it loads, operator new and DPDK included.
//
//   AllocationsOf::ThisThread(true);    // from here on
//   ...
//   AllocationsOf::ThisThread(false);
//   AllocationsOf::Count();             // of all threads that were ever watched
//
// Under a sanitizer, which brings a malloc of its own, kAvailable is false and nothing is counted.

#ifndef PENSTOCK_TEST_UNIT_PIPELINE_ALLOCATIONS_H_
#define PENSTOCK_TEST_UNIT_PIPELINE_ALLOCATIONS_H_

#include <cstdint>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define PENSTOCK_TEST_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PENSTOCK_TEST_SANITIZED 1
#endif

namespace penstock {

struct AllocationsOf {
#if defined(PENSTOCK_TEST_SANITIZED)
  static constexpr bool kAvailable = false;
#else
  static constexpr bool kAvailable = true;
#endif
  static void ThisThread(bool watched) noexcept;
  static uint64_t Count() noexcept;
  static void Forget() noexcept;
};

}  // namespace penstock

#endif  // PENSTOCK_TEST_UNIT_PIPELINE_ALLOCATIONS_H_
