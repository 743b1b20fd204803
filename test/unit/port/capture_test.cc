// SPDX-License-Identifier: BSD-3-Clause
//
// Where there is nothing to share there is nothing to offer, and no harm: this EAL has no hugepages
// and no files. Captures are in test/integration/capture_test.py. Main lcore.

#include "lib/port/capture.h"

#include <gtest/gtest.h>
#include <rte_memzone.h>
#include <rte_pdump.h>

namespace penstock {
namespace {

TEST(Capture, WithoutSharedMemoryNothingIsReserved) {
  EXPECT_TRUE(OfferCapture().ok());
  EXPECT_EQ(rte_memzone_lookup("rte_pdump_stats"), nullptr);
  EndCapture();
  EndCapture();
}

}  // namespace
}  // namespace penstock
