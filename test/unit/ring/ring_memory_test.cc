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

}  // namespace
}  // namespace penstock
