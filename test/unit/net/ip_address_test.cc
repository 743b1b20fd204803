// SPDX-License-Identifier: BSD-3-Clause
//
// IP addresses. The forms of IPv6 addresses are those of RFC 5952.

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

TEST(Ipv6AddressTest, ParsesAndFormats) {
  struct Row {
    const char* text;
    std::array<uint8_t, 16> bytes;
    const char* formatted;
  };
  const Row kRows[] = {
      {"::", {}, "::"},
      {"::1", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, "::1"},
      {"fe80::", {0xfe, 0x80}, "fe80::"},
      // RFC 5952, 4.1: no leading zeros. 4.3: lower case.
      {"2001:0DB8:0:0:0:0:0:0001",
       {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
       "2001:db8::1"},
      // 4.2.2: one group of zeros is written.
      {"2001:db8::1:1:1:1:1",
       {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1},
       "2001:db8:0:1:1:1:1:1"},
      // 4.2.3: the longest run; of equals the first.
      {"2001:0:0:1:0:0:0:1",
       {0x20, 0x01, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1},
       "2001:0:0:1::1"},
      {"2001:db8:0:0:1:0:0:1",
       {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1},
       "2001:db8::1:0:0:1"},
      {"::192.0.2.1", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xc0, 0, 2, 1}, "::c000:201"},
      // 5: with points under a known prefix.
      {"::ffff:c000:201",
       {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xc0, 0, 2, 1},
       "::ffff:192.0.2.1"},
      {"1:2:3:4:5:6:7:0", {0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 0}, "1:2:3:4:5:6:7:0"},
      {"ffff:ffff:ffff:ffff:ffff:ffff:0:0",
       {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, 0},
       "ffff:ffff:ffff:ffff:ffff:ffff::"},
  };
  for (const Row& row : kRows) {
    const absl::StatusOr<Ipv6Address> address = Ipv6Address::Parse(row.text);
    ASSERT_TRUE(address.ok()) << address.status();
    EXPECT_EQ(address->bytes, row.bytes) << row.text;
    EXPECT_EQ(address->Format(), row.formatted);
    EXPECT_EQ(Ipv6Address::Parse(row.formatted).value(), *address);
  }
  EXPECT_NE(Ipv6Address::Parse("::1").value(), Ipv6Address{});
}

TEST(Ipv6AddressTest, TheFirstByteIsMulticast) {
  EXPECT_TRUE(Ipv6Address::Parse("ff02::1").value().IsMulticast());
  EXPECT_FALSE(Ipv6Address::Parse("fe80::ff").value().IsMulticast());
}

TEST(Ipv4AddressTest, AHostsAddressIsOneHosts) {
  for (const char* host : {"1.0.0.0", "10.0.0.1", "126.255.255.255", "128.0.0.1", "192.0.2.255",
                           "223.255.255.255", "240.0.0.1", "255.255.255.254"}) {
    EXPECT_TRUE(Ipv4Address::Parse(host).value().IsHost()) << host;
  }
  for (const char* other : {"0.0.0.0", "0.255.255.255", "127.0.0.1", "127.255.255.255", "224.0.0.0",
                            "239.255.255.255", "255.255.255.255"}) {
    EXPECT_FALSE(Ipv4Address::Parse(other).value().IsHost()) << other;
  }
}

TEST(Ipv6AddressTest, AHostsAddressIsOneHosts) {
  for (const char* host : {"::2", "::1:1", "1::", "1::1", "fe80::1", "feff::", "2001:db8::"}) {
    EXPECT_TRUE(Ipv6Address::Parse(host).value().IsHost()) << host;
  }
  for (const char* other : {"::", "::1", "ff00::", "ff02::1", "ffff::ffff"}) {
    EXPECT_FALSE(Ipv6Address::Parse(other).value().IsHost()) << other;
  }
}

TEST(Ipv6AddressTest, RefusesAllElse) {
  const std::string kRows[] = {"",           "1",       ":",           ":::",
                               "1::2::3",    "1:2:3",   "::12345",     "::g",
                               "fe80::1%lo", "::1/128", " ::1",        "::1 ",
                               "[::1]",      "1.2.3.4", "::1.2.3.256", "1:2:3:4:5:6:7:8:9",
                               {"::1\0", 4}, "::1\n",   ":1::",        {"\0\xff", 2}};
  for (const std::string& text : kRows) {
    const absl::Status status = Ipv6Address::Parse(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
  }
  EXPECT_EQ(Ipv6Address::Parse("::1\n").status().message(),
            "\"::1\\n\": not an IPv6 address; accepted: eight groups of up to four hexadecimal "
            "digits between colons, zeros shortened once to ::, such as 2001:db8::1");
}

}  // namespace
}  // namespace penstock
