// SPDX-License-Identifier: BSD-3-Clause
//
// MAC addresses.

#include "lib/net/mac_address.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(MacAddressTest, ParsesAndFormats) {
  struct Row {
    std::string text;
    std::array<uint8_t, 6> bytes;
    std::string formatted;
  };
  const Row kRows[] = {
      {"00:00:00:00:00:00", {0, 0, 0, 0, 0, 0}, "00:00:00:00:00:00"},
      {"02:1a:2B:3c:4D:fF", {0x02, 0x1a, 0x2b, 0x3c, 0x4d, 0xff}, "02:1a:2b:3c:4d:ff"},
      {"ff:ff:ff:ff:ff:ff", {255, 255, 255, 255, 255, 255}, "ff:ff:ff:ff:ff:ff"},
  };
  for (const Row& row : kRows) {
    const absl::StatusOr<MacAddress> address = MacAddress::Parse(row.text);
    ASSERT_TRUE(address.ok()) << address.status();
    EXPECT_EQ(address->bytes, row.bytes);
    EXPECT_EQ(address->Format(), row.formatted);
    EXPECT_EQ(*address, MacAddress{row.bytes});
  }
  EXPECT_NE(MacAddress::Parse("02:00:00:00:00:00").value(), MacAddress{});
}

TEST(MacAddressTest, RefusesAllElse) {
  const std::string kRows[] = {"",
                               "02:00:00:00:00",
                               "02:00:00:00:00:0",
                               "02:00:00:00:00:0a:",
                               "02:00:00:00:00:0a:0b",
                               "02-00-00-00-00-0a",
                               "2:0:0:0:0:a",
                               "0200.0000.000a",
                               "02:00:00:00:00:0g",
                               "0 :00:00:00:00:0a",
                               "+2:00:00:00:00:0a",
                               "02:00:00:00:00:0a ",
                               " 02:00:00:00:00:0",
                               "02:00:00:00:00;0a",
                               std::string(17, '\0'),
                               std::string(17, '\xff'),
                               std::string(100000, ':')};
  for (const std::string& text : kRows) {
    const absl::Status status = MacAddress::Parse(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_LT(status.message().size(), 350u);
  }
  EXPECT_EQ(MacAddress::Parse("02-00").status().message(),
            "\"02-00\": not a MAC address; accepted: six pairs of hexadecimal digits between "
            "colons, such as 02:00:00:00:00:0a");
}

TEST(MacAddressTest, TheGroupBitIsMulticast) {
  EXPECT_FALSE(MacAddress::Parse("02:ff:ff:ff:ff:ff").value().IsMulticast());
  EXPECT_TRUE(MacAddress::Parse("01:00:5e:00:00:01").value().IsMulticast());
  EXPECT_TRUE(MacAddress::Parse("ff:ff:ff:ff:ff:ff").value().IsMulticast());
}

}  // namespace
}  // namespace penstock
