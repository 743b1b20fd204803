// SPDX-License-Identifier: BSD-3-Clause
//
// Big-endian wire types.

#include "lib/base/endian.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace penstock {
namespace {

template <typename T>
std::vector<int> BytesOf(const T& value) {
  uint8_t bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  return {bytes, bytes + sizeof(T)};
}

TEST(EndianTest, StoresTheMostSignificantByteFirst) {
  EXPECT_EQ(BytesOf(Big16(0x0102)), (std::vector<int>{1, 2}));
  EXPECT_EQ(BytesOf(Big32(0x01020304)), (std::vector<int>{1, 2, 3, 4}));
  EXPECT_EQ(BytesOf(Big64(0x0102030405060708)), (std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(EndianTest, ReturnsTheHostValue) {
  for (const uint64_t value : {0x0ull, 0x1ull, 0x80ull, 0xff00ull, 0xfffefdfcfbfaf9f8ull}) {
    EXPECT_EQ(Big16(static_cast<uint16_t>(value)).host(), static_cast<uint16_t>(value));
    EXPECT_EQ(Big32(static_cast<uint32_t>(value)).host(), static_cast<uint32_t>(value));
    EXPECT_EQ(Big64(value).host(), value);
  }
}

TEST(EndianTest, ComparesByValue) {
  EXPECT_EQ(Big32(0x01020304), Big32(0x01020304));
  EXPECT_NE(Big32(0x01020304), Big32(0x04030201));
  EXPECT_EQ(Big16(), Big16(0));
}

TEST(EndianTest, IsConstexprAndExplicit) {
  static_assert(Big16(0x0800).host() == 0x0800);
  static_assert(Big64(1) != Big64(uint64_t{1} << 56));
  static_assert(!std::is_convertible_v<uint16_t, Big16> && !std::is_convertible_v<Big16, uint16_t>);
}

TEST(EndianTest, LiesOverAnyByteOfAFrame) {
  struct Wire {
    uint8_t first;
    Big32 second;
    Big16 third;
  };
  static_assert(sizeof(Wire) == 7);
  const uint8_t frame[8] = {0, 0xaa, 1, 2, 3, 4, 5, 6};
  const auto* wire = reinterpret_cast<const Wire*>(frame + 1);
  EXPECT_EQ(wire->second.host(), 0x01020304u);
  EXPECT_EQ(wire->third.host(), 0x0506u);
}

}  // namespace
}  // namespace penstock
