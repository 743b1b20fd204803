// SPDX-License-Identifier: BSD-3-Clause
//
// What somebody typed, in a message. Single thread.

#include "lib/base/quote.h"

#include <gtest/gtest.h>

#include <string>

namespace penstock {
namespace {

TEST(Shown, LeavesPrintableTextAsItIs) {
  EXPECT_EQ(Shown(""), "");
  EXPECT_EQ(Shown("net_af_xdp0,iface=eth1"), "net_af_xdp0,iface=eth1");
}

TEST(Shown, EscapesWhatATerminalWouldActOn) {
  EXPECT_EQ(Shown("a\nb\tc"), "a\\nb\\tc");
  EXPECT_EQ(Shown("\x1b[31m"), "\\x1b[31m");
  EXPECT_EQ(Shown(absl::string_view("\0\x7f\xff", 3)), "\\x00\\x7f\\xff");
}

TEST(Shown, CutsWhatIsLong) {
  const std::string whole(kMaxShownBytes, 'x');
  EXPECT_EQ(Shown(whole), whole);
  EXPECT_EQ(Shown(whole + "y"), whole + "...");
}

TEST(Quote, PutsTheSameBetweenMarks) {
  EXPECT_EQ(Quote("a \"b\""), "\"a \\\"b\\\"\"");
  EXPECT_EQ(Quote(std::string(kMaxShownBytes + 1, 'x')),
            "\"" + std::string(kMaxShownBytes, 'x') + "...\"");
}

}  // namespace
}  // namespace penstock
