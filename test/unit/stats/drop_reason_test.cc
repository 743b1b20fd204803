// SPDX-License-Identifier: BSD-3-Clause
//
// The drop reasons of sending itself.

#include "lib/stats/drop_reason.h"

#include <gtest/gtest.h>

#include <iterator>
#include <set>
#include <string>
#include <vector>

namespace penstock {
namespace {

std::vector<DropReason> AllReasons() {
  std::vector<DropReason> all(std::begin(kTxDrops), std::end(kTxDrops));
  all.push_back(kTxError);
  return all;
}

TEST(DropReasonTest, TheEnumIndexesTheTable) {
  ASSERT_EQ(std::size(kTxDrops), 2u);
  EXPECT_EQ(kTxDrops[static_cast<unsigned>(TxDrop::kFull)].name, "tx_full");
  EXPECT_EQ(kTxDrops[static_cast<unsigned>(TxDrop::kSegments)].name, "tx_segments");
  EXPECT_EQ(kTxError.name, "tx_error");
}

TEST(DropReasonTest, NamesAreKeysOfTheReportAndEachIsSaidOnce) {
  std::set<std::string> names;
  for (const DropReason& reason : AllReasons()) {
    EXPECT_TRUE(names.insert(std::string(reason.name)).second) << reason.name;
    EXPECT_FALSE(reason.name.empty());
    for (const char c : reason.name) {
      EXPECT_TRUE((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_') << reason.name;
    }
  }
}

TEST(DropReasonTest, EachTellsTheOperatorWhyInOneLine) {
  for (const DropReason& reason : AllReasons()) {
    EXPECT_GT(reason.what.size(), 10u) << reason.name;
    for (const char c : reason.what) EXPECT_TRUE(c >= 0x20 && c < 0x7f) << reason.what;
  }
}

}  // namespace
}  // namespace penstock
