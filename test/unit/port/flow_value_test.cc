// SPDX-License-Identifier: BSD-3-Clause
//
// Values of flow fields: from words to bytes, written from the headers' layout on the wire and
// compared with the C structures, and back. Main lcore.

#include "lib/port/flow_value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

using Bytes = std::vector<uint8_t>;

const FlowField& Field(absl::string_view item, absl::string_view field) {
  for (const FlowField& each : FindFlowItem(item)->fields) {
    if (each.name == field) return each;
  }
  ADD_FAILURE() << item << " has no field " << field;
  return FindFlowItem("eth")->fields.front();
}

std::string Hex(const Bytes& bytes) {
  return absl::BytesToHexString(std::string(bytes.begin(), bytes.end()));
}

// The structure's bytes after the value, from all zeros.
std::string Store(absl::string_view item, absl::string_view field, absl::string_view word) {
  Bytes bytes(FindFlowItem(item)->bytes);
  return StoreFlowValue(Field(item, field), word, bytes) ? Hex(bytes) : "refused";
}

std::string Zeros(size_t bytes) { return std::string(2 * bytes, '0'); }

TEST(FlowValue, NumbersAsTestpmdReadsThem) {
  struct {
    const char* word;
    uint64_t max;
    std::optional<uint64_t> number;
  } const kRows[] = {
      {"0", 10, 0},
      {"10", 10, 10},
      {"11", 10, {}},
      {"0x1f", 100, 31},
      {"0X1F", 100, 31},
      {"010", 100, 8},
      {"00", 100, 0},
      {"08", 100, {}},
      {"", 100, {}},
      {"0x", 100, {}},
      {"-1", kMaxFlowRssQueues, {}},
      {"+1", 100, {}},
      {"1 ", 100, {}},
      {"1e1", 100, {}},
      {"18446744073709551615", ~uint64_t{0}, ~uint64_t{0}},
      {"18446744073709551616", ~uint64_t{0}, {}},
  };
  for (const auto& row : kRows)
    EXPECT_EQ(ParseFlowNumber(row.word, row.max), row.number) << row.word;
}

TEST(FlowValue, Hexadecimal) {
  EXPECT_EQ(ParseFlowHex("0xaabb", 4), (Bytes{0xaa, 0xbb}));
  EXPECT_EQ(ParseFlowHex("AABB", 4), (Bytes{0xaa, 0xbb}));
  EXPECT_EQ(ParseFlowHex("abc", 4), (Bytes{0x0a, 0xbc}));
  EXPECT_EQ(ParseFlowHex("11223344", 4), (Bytes{0x11, 0x22, 0x33, 0x44}));
  for (const char* word : {"", "0x", "112233445", "1122334455", "0xgg", "a b", "0x0xaa", "-1"}) {
    EXPECT_EQ(ParseFlowHex(word, 4), std::nullopt) << word;
  }
}

TEST(FlowValue, StandsWhereTheHeaderHasIt) {
  struct {
    const char* item;
    const char* field;
    const char* word;
    std::string bytes;
  } const kRows[] = {
      // dst, src, type, flags.
      {"eth", "dst", "02:00:5e:00:53:01", "02005e005301" + Zeros(14)},
      {"eth", "src", "02:00:5E:00:53:01", Zeros(6) + "02005e005301" + Zeros(8)},
      {"eth", "src", "0200:5e00:5301", Zeros(6) + "02005e005301" + Zeros(8)},
      {"eth", "type", "0x86dd", Zeros(12) + "86dd" + Zeros(6)},
      // TCI, inner type, flags.
      {"vlan", "tci", "0xe123", "e123" + Zeros(6)},
      {"vlan", "pcp", "5", "a000" + Zeros(6)},
      {"vlan", "dei", "1", "1000" + Zeros(6)},
      {"vlan", "vid", "0xabc", "0abc" + Zeros(6)},
      {"vlan", "inner_type", "2048", "00000800" + Zeros(4)},
      {"ipv4", "version_ihl", "0x45", "45" + Zeros(19)},
      {"ipv4", "tos", "0xb8", "00b8" + Zeros(18)},
      {"ipv4", "packet_id", "0x1234", Zeros(4) + "1234" + Zeros(14)},
      {"ipv4", "fragment_offset", "0x2001", Zeros(6) + "2001" + Zeros(12)},
      {"ipv4", "ttl", "64", Zeros(8) + "40" + Zeros(11)},
      {"ipv4", "proto", "17", Zeros(9) + "11" + Zeros(10)},
      {"ipv4", "src", "192.0.2.1", Zeros(12) + "c0000201" + Zeros(4)},
      {"ipv4", "dst", "0xc0000202", Zeros(16) + "c0000202"},
      {"ipv4", "dst", "3221225986", Zeros(16) + "c0000202"},
      // Version, traffic class, flow label; payload length; next header; hop limit; addresses;
      // flags.
      {"ipv6", "tc", "0xb8", "0b800000" + Zeros(40)},
      {"ipv6", "flow", "0xabcde", "000abcde" + Zeros(40)},
      {"ipv6", "proto", "58", Zeros(6) + "3a" + Zeros(37)},
      {"ipv6", "hop", "255", Zeros(7) + "ff" + Zeros(36)},
      {"ipv6", "src", "2001:db8::1", Zeros(8) + "20010db8000000000000000000000001" + Zeros(16 + 4)},
      {"ipv6", "dst", "::ffff:192.0.2.1", Zeros(24) + Zeros(10) + "ffffc0000201" + Zeros(4)},
      {"udp", "src", "4789", "12b5" + Zeros(6)},
      {"udp", "dst", "53", "00000035" + Zeros(4)},
      {"tcp", "src", "443", "01bb" + Zeros(18)},
      {"tcp", "dst", "443", "000001bb" + Zeros(16)},
      {"tcp", "flags", "0x12", Zeros(13) + "12" + Zeros(6)},
      {"esp", "spi", "0xdeadbeef", "deadbeef" + Zeros(4)},
      {"esp", "seq", "7", Zeros(4) + "00000007"},
  };
  for (const auto& row : kRows) {
    EXPECT_EQ(Store(row.item, row.field, row.word), row.bytes) << row.item << " " << row.field;
  }
}

// The bit-fields and the one number in host order: where the compiler has them.
TEST(FlowValue, StandsWhereTheCompilerHasIt) {
  const auto bytes_of = [](const auto& structure) {
    Bytes bytes(sizeof(structure));
    std::memcpy(bytes.data(), &structure, sizeof(structure));
    return Hex(bytes);
  };
  rte_flow_item_eth eth;
  std::memset(&eth, 0, sizeof(eth));
  eth.has_vlan = 1;
  EXPECT_EQ(Store("eth", "has_vlan", "1"), bytes_of(eth));
  rte_flow_item_vlan vlan;
  std::memset(&vlan, 0, sizeof(vlan));
  vlan.has_more_vlan = 1;
  EXPECT_EQ(Store("vlan", "has_more_vlan", "1"), bytes_of(vlan));
  rte_flow_item_ipv6 ipv6;
  std::memset(&ipv6, 0, sizeof(ipv6));
  ipv6.has_frag_ext = 1;
  EXPECT_EQ(Store("ipv6", "has_frag_ext", "1"), bytes_of(ipv6));
  rte_flow_item_any any;
  std::memset(&any, 0, sizeof(any));
  any.num = 0x01020304;
  EXPECT_EQ(Store("any", "num", "0x01020304"), bytes_of(any));
}

TEST(FlowValue, WhatIsNoValueOfTheField) {
  struct {
    const char* item;
    const char* field;
    std::vector<std::string> words;
  } const kRows[] = {
      {"eth",
       "dst",
       {"", "1", "02:00:5e:00:53", "02:00:5e:00:53:01:02", "2:0:5e:0:53:1", "02-00-5e-00-53-01",
        "02:00:5e:00:53:0g"}},
      {"eth", "type", {"0x10000", "-1", "ipv4", "65536"}},
      {"vlan", "pcp", {"8"}},
      {"vlan", "dei", {"2", "true"}},
      {"vlan", "vid", {"4096", "5000"}},
      {"ipv4", "ttl", {"256"}},
      {"ipv4", "src", {"192.0.2", "192.0.2.256", "192.0.2.1/24", "0x100000000", "::1"}},
      {"ipv6", "src", {"192.0.2.1", "1", ":::", "2001:db8::1/64", "fe80::1%lo"}},
      {"ipv6", "flow", {"0x100000"}},
      {"esp", "spi", {"0x100000000"}},
      {"eth", "has_vlan", {"2", "yes"}},
  };
  for (const auto& row : kRows) {
    for (const std::string& word : row.words) {
      EXPECT_EQ(Store(row.item, row.field, word), "refused")
          << row.item << " " << row.field << " " << word;
    }
  }
  EXPECT_EQ(Store("ipv4", "src", absl::string_view("192.0.2.1\0x", 11)), "refused");
  EXPECT_EQ(Store("eth", "dst", absl::string_view("02:00:5e:00:53:01\0x", 19)), "refused");
}

TEST(FlowValue, LeavesTheOtherBitsAlone) {
  Bytes bytes(FindFlowItem("vlan")->bytes, 0xff);
  ASSERT_TRUE(StoreFlowValue(Field("vlan", "vid"), "0x123", bytes));
  EXPECT_EQ(Hex(bytes), "f123ffffffffffff");
  ASSERT_TRUE(StoreFlowValue(Field("vlan", "pcp"), "0", bytes));
  EXPECT_EQ(Hex(bytes), "1123ffffffffffff");
  ASSERT_FALSE(StoreFlowValue(Field("vlan", "vid"), "4096", bytes));
  EXPECT_EQ(Hex(bytes), "1123ffffffffffff");
}

TEST(FlowValue, Prefixes) {
  struct {
    const char* item;
    const char* field;
    const char* word;
    std::string bytes;
  } const kRows[] = {
      {"ipv4", "src", "24", Zeros(12) + "ffffff00" + Zeros(4)},
      {"ipv4", "src", "0", Zeros(20)},
      {"ipv4", "src", "31", Zeros(12) + "fffffffe" + Zeros(4)},
      {"ipv4", "src", "32", Zeros(12) + "ffffffff" + Zeros(4)},
      {"ipv4", "src", "33", "refused"},
      {"ipv6", "src", "61", Zeros(8) + "fffffffffffffff8" + Zeros(8 + 16 + 4)},
      {"ipv6", "src", "129", "refused"},
      {"eth", "dst", "24", "ffffff" + Zeros(17)},
      {"udp", "src", "4", "f000" + Zeros(6)},
      {"vlan", "vid", "4", "0f00" + Zeros(6)},
      {"vlan", "vid", "12", "0fff" + Zeros(6)},
      {"vlan", "vid", "13", "refused"},
      {"vlan", "pcp", "1", "8000" + Zeros(6)},
      {"ipv6", "tc", "6", "0fc00000" + Zeros(40)},
      {"ipv4", "src", "-1", "refused"},
  };
  for (const auto& row : kRows) {
    Bytes bytes(FindFlowItem(row.item)->bytes);
    const bool stored = StoreFlowPrefix(Field(row.item, row.field), row.word, bytes);
    EXPECT_EQ(stored ? Hex(bytes) : "refused", row.bytes)
        << row.item << " " << row.field << " " << row.word;
  }
}

TEST(FlowValue, APrefixReplacesWhatWasThere) {
  Bytes bytes(FindFlowItem("ipv4")->bytes, 0xff);
  ASSERT_TRUE(StoreFlowPrefix(Field("ipv4", "dst"), "8", bytes));
  EXPECT_EQ(Hex(bytes).substr(24), "ffffffffff000000");
}

TEST(FlowValue, AllOnesAndAllZeros) {
  for (const FlowItemKind& item : FlowItems()) {
    for (const FlowField& field : item.fields) {
      Bytes bytes(item.bytes);
      EXPECT_TRUE(IsZeroFlowField(field, bytes));
      EXPECT_FALSE(IsFullFlowField(field, bytes));
      FillFlowField(field, bytes);
      EXPECT_FALSE(IsZeroFlowField(field, bytes));
      EXPECT_TRUE(IsFullFlowField(field, bytes));
      EXPECT_EQ(std::count(bytes.begin(), bytes.end(), 0) == 0, field.bytes == item.bytes);
    }
  }
  Bytes bytes(FindFlowItem("vlan")->bytes);
  FillFlowField(Field("vlan", "vid"), bytes);
  EXPECT_EQ(Hex(bytes), "0fff000000000000");
}

TEST(FlowValue, WordsThatAreReadBack) {
  struct {
    const char* item;
    const char* field;
    const char* word;
  } const kRows[] = {
      {"eth", "dst", "02:00:5e:00:53:01"},
      {"eth", "type", "2048"},
      {"vlan", "vid", "4095"},
      {"vlan", "pcp", "7"},
      {"ipv4", "src", "192.0.2.1"},
      {"ipv6", "src", "2001:db8::1"},
      {"esp", "spi", "4294967295"},
      {"any", "num", "258"},
      {"eth", "has_vlan", "1"},
  };
  for (const auto& row : kRows) {
    Bytes bytes(FindFlowItem(row.item)->bytes);
    const FlowField& field = Field(row.item, row.field);
    ASSERT_TRUE(StoreFlowValue(field, row.word, bytes)) << row.word;
    EXPECT_EQ(FormatFlowValue(field, bytes), row.word);
  }
}

TEST(FlowValue, WhatIsAccepted) {
  EXPECT_EQ(DescribeFlowValue(Field("vlan", "vid")), "<0..4095>");
  EXPECT_EQ(DescribeFlowValue(Field("esp", "spi")), "<0..4294967295>");
  EXPECT_EQ(DescribeFlowValue(Field("eth", "dst")), "<MAC address>");
  EXPECT_EQ(DescribeFlowValue(Field("ipv4", "dst")), "<IPv4 address>");
  EXPECT_EQ(DescribeFlowValue(Field("ipv6", "dst")), "<IPv6 address>");
  EXPECT_EQ(DescribeFlowPrefix(Field("ipv6", "dst")), "<prefix length 0..128>");
  EXPECT_EQ(DescribeFlowPrefix(Field("vlan", "vid")), "<prefix length 0..12>");
}

}  // namespace
}  // namespace penstock
