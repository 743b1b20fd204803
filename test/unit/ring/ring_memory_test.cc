// SPDX-License-Identifier: BSD-3-Clause
#include "lib/ring/ring_memory.h"

#include <gtest/gtest.h>
#include <linux/if_xdp.h>

namespace penstock {
namespace {

// It is used on the kernel's rings: indices of 32 bits, entries as they are.
TEST(RingMemory, FitsTheKernelsRings) {
  RingMemory<xdp_desc> ring;
  EXPECT_EQ(sizeof(*ring.producer), 4u);
  EXPECT_EQ(sizeof(*ring.entries), 16u);
  EXPECT_EQ(ring.size, 0u);
  EXPECT_EQ(ring.flags, nullptr) << "a ring without flags is the default";
}

// Against what "round" means, an entry at a time, from every place of a ring of 8.
TEST(RingMemory, CopiesRoundTheEnd) {
  constexpr uint32_t kSize = 8;
  for (uint32_t first : {0u, 5u, 7u, 8u, 0xfffffffeu}) {
    for (uint32_t n = 0; n <= kSize; ++n) {
      uint64_t entries[kSize] = {};
      uint64_t in[kSize] = {1, 2, 3, 4, 5, 6, 7, 8};
      uint64_t out[kSize] = {};
      const RingMemory<uint64_t> ring = {.entries = entries, .size = kSize};
      ring.Write(first, in, n);
      for (uint32_t i = 0; i < kSize; ++i) {
        EXPECT_EQ(entries[(first + i) % kSize], i < n ? in[i] : 0) << first << ' ' << n << ' ' << i;
      }
      ring.Read(first, out, n);
      for (uint32_t i = 0; i < kSize; ++i) {
        EXPECT_EQ(out[i], i < n ? in[i] : 0) << first << ' ' << n << ' ' << i;
      }
    }
  }
}

}  // namespace
}  // namespace penstock
