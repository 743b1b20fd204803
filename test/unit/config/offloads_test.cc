// SPDX-License-Identifier: BSD-3-Clause
//
// Offloads by name and by mask. That the bits are DPDK's, lib/port proves when it is compiled.

#include "lib/config/offloads.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace penstock {
namespace {

TEST(Offloads, EveryNameAndBitStandsOnce) {
  for (const std::span<const Offload> table :
       {std::span<const Offload>(kRxOffloads), std::span<const Offload>(kTxOffloads)}) {
    std::set<std::string> names;
    uint64_t bits = 0;
    for (const Offload& offload : table) {
      EXPECT_TRUE(names.insert(std::string(offload.name)).second) << offload.name;
      EXPECT_EQ(bits & offload.bit, 0u) << offload.name;
      bits |= offload.bit;
      EXPECT_EQ(ParseOffloads(table, offload.name).value(), offload.bit);
      EXPECT_EQ(FormatOffloads(table, offload.bit), offload.name);
      // Or it would be read as a mask.
      EXPECT_NE(std::string(offload.name).find_first_not_of("0123456789abcdefABCDEF"),
                std::string::npos);
    }
    EXPECT_EQ(OffloadBits(table), bits);
    EXPECT_EQ(ParseOffloads(table, FormatOffloads(table, bits)).value(), bits);
  }
}

TEST(Offloads, AMaskIsHexadecimalWithOrWithoutItsMark) {
  for (const char* text : {"e", "E", "0xe", "0XE", "000e"}) {
    EXPECT_EQ(ParseOffloads(kRxOffloads, text).value(), 0xeu) << text;
  }
  EXPECT_EQ(ParseOffloads(kRxOffloads, "10").value(), 0x10u);  // Not ten.
  EXPECT_EQ(ParseOffloads(kRxOffloads, "0").value(), 0u);
  EXPECT_EQ(ParseOffloads(kRxOffloads, "ipv4_cksum,udp_cksum,tcp_cksum").value(), 0xeu);
}

TEST(Offloads, WhatIsRefusedListsTheNames) {
  for (const char* text : {"", "0x", "0x100", "IPV4_CKSUM", "ipv4_cksum,,scatter", "ipv4_cksum,1",
                           "0xfffffffffffffffff", " 1"}) {
    const auto parsed = ParseOffloads(kRxOffloads, text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(std::string(parsed.status().message()),
              "accepted: a hexadecimal mask of known bits, none, or names out of "
              "vlan_strip,ipv4_cksum,udp_cksum,tcp_cksum,tcp_lro,qinq_strip,outer_ipv4_cksum,"
              "macsec_strip,vlan_filter,vlan_extend,scatter,timestamp,security,keep_crc,sctp_cksum,"
              "outer_udp_cksum,rss_hash");
  }
}

TEST(Offloads, NoneHasAWord) {
  EXPECT_EQ(FormatOffloads(kTxOffloads, 0), "none");
  EXPECT_EQ(FormatOffloads(kTxOffloads, uint64_t{1} << 63), "none");
  static_assert(OffloadsNamed(kRxOffloads, {"vlan_strip", "scatter"}) == 0x2001);
}

}  // namespace
}  // namespace penstock
