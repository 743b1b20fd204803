// SPDX-License-Identifier: BSD-3-Clause
//
// How many descriptors each send was for, counted by size: what a send budget is chosen from, and
// what is shown of it.
//
//   SendCounter<Exclusive> sends;           // of one lcore, or SendCounter<Shared> of several
//   sends.Add(256);                         // an lcore: one increment
//   SendSizes seen{};
//   sends.AddTo(seen);                      // any thread, at any time
//
// Bucket 0 is for sends of nothing, then come 1, 2, 3–4, 5–8, 9–16, 17–32 descriptors, then steps
// of 32 up to 512, then 513–1024 and on by powers of two to 32768, the largest ring. Below 32 there
// is no budget to choose, above it a step of 32 is as fine as one needs.

#ifndef PENSTOCK_LIB_RING_SEND_SIZES_H_
#define PENSTOCK_LIB_RING_SEND_SIZES_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "lib/base/cycles.h"
#include "lib/ring/ownership.h"

namespace penstock {

inline constexpr size_t kSendBuckets = 28;
using SendSizes = std::array<uint64_t, kSendBuckets>;  // How many sends, by bucket.

constexpr size_t SendBucket(uint32_t descriptors) noexcept {
  if (descriptors == 0) return 0;
  const auto power = static_cast<size_t>(std::bit_width(descriptors - 1));
  if (descriptors <= 32) return 1 + power;
  if (descriptors <= 512) return 5 + ((descriptors + 31) >> 5);
  return power < 15 ? 12 + power : kSendBuckets - 1;
}

// The most descriptors of a send in that bucket.
constexpr uint32_t SendBucketEnd(size_t bucket) noexcept {
  if (bucket == 0) return 0;
  if (bucket <= 6) return 1u << (bucket - 1);
  if (bucket <= 21) return static_cast<uint32_t>(bucket - 5) * 32;
  return 1u << (bucket - 12);
}

// Written by the users of a queue, read by any thread.
template <typename Ownership>
class SendCounter {
 public:
  void Add(uint32_t descriptors) noexcept { counts_[SendBucket(descriptors)].Add(1); }

  void AddTo(SendSizes& sum) const noexcept {
    for (size_t i = 0; i < kSendBuckets; ++i) sum[i] += counts_[i].value();
  }

 private:
  std::array<Counter<Ownership>, kSendBuckets> counts_;
};

// One lcore's, on lines of its own: who reads it does not disturb another.
struct PENSTOCK_CACHE_ALIGNED LcoreSends : SendCounter<Exclusive> {};

}  // namespace penstock

#endif  // PENSTOCK_LIB_RING_SEND_SIZES_H_
