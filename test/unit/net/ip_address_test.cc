// SPDX-License-Identifier: BSD-3-Clause
//
// IPv4 addresses.

#include "lib/net/ip_address.h"

#include <gtest/gtest.h>

#include <cstring>

namespace penstock {
namespace {

TEST(Ipv4AddressTest, ParsesAndFormats) {
  struct Row {
    std::string text;
    uint32_t host;
  };
  const Row kRows[] = {{"0.0.0.0", 0},
                       {"192.0.2.1", 0xc0000201},
                       {"255.255.255.255", 0xffffffff},
                       {"1.20.255.4", 0x0114ff04}};
  for (const Row& row : kRows) {
    const absl::StatusOr<Ipv4Address> address = Ipv4Address::Parse(row.text);
    ASSERT_TRUE(address.ok()) << address.status();
    EXPECT_EQ(address->host(), row.host);
    EXPECT_EQ(*address, Ipv4Address(row.host));
    EXPECT_EQ(address->Format(), row.text);
  }
  EXPECT_NE(Ipv4Address(1), Ipv4Address(2));
}

TEST(Ipv4AddressTest, StandsOnTheWireAsItIsWritten) {
  const Ipv4Address address = Ipv4Address::Parse("192.0.2.1").value();
  EXPECT_EQ(std::memcmp(&address, "\xc0\x00\x02\x01", 4), 0);
}

TEST(Ipv4AddressTest, RefusesAllElse) {
  const std::string kRows[] = {
      "",         "1",         "1.2.3",      "1.2.3.4.5",      "1.2.3.256",   "01.2.3.4",
      " 1.2.3.4", "1.2.3.4 ",  "1.2.3.4/24", "0x1.2.3.4",      "1..3.4",      "::1",
      "-1.2.3.4", "1.2.3.4\n", "localhost",  {"1.2.3.4\0", 8}, {"\0\xff", 2}, "1.2.3.",
      ".1.2.3"};
  for (const std::string& text : kRows) {
    const absl::Status status = Ipv4Address::Parse(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
  }
  EXPECT_EQ(Ipv4Address::Parse("1.2.3\n").status().message(),
            "\"1.2.3\\n\": not an IPv4 address; accepted: four numbers from 0 to 255 between "
            "points, such as 192.0.2.1");
}

}  // namespace
}  // namespace penstock
