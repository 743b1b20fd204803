// SPDX-License-Identifier: BSD-3-Clause
//
// LoadAt: at every alignment, what stands there and nothing beside it.

#include "lib/base/load.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <memory>

#include "lib/base/endian.h"

namespace penstock {
namespace {

TEST(LoadTest, AtEveryOffset) {
  // Memory of its own, so that a sanitizer sees a read behind it.
  constexpr size_t kBytes = 16;
  const auto data = std::make_unique<uint8_t[]>(kBytes);
  for (size_t i = 0; i < kBytes; ++i) data[i] = static_cast<uint8_t>(0x10 + i);
  for (size_t at = 0; at + sizeof(uint32_t) <= kBytes; ++at) {
    const auto first = static_cast<uint32_t>(0x10 + at);
    EXPECT_EQ(LoadAt<Big32>(data.get(), at).host(),
              first << 24 | (first + 1) << 16 | (first + 2) << 8 | (first + 3));
    EXPECT_EQ(LoadAt<uint32_t>(data.get(), at),
              std::bit_cast<uint32_t>(LoadAt<Big32>(data.get(), at)));
  }
  EXPECT_EQ(LoadAt<uint8_t>(data.get(), kBytes - 1), 0x1f);
}

TEST(LoadTest, Struct) {
  struct Pair {
    Big16 first;
    Big16 second;
  };
  constexpr std::array<uint8_t, 5> kData = {0xff, 0x12, 0x34, 0x56, 0x78};
  const auto pair = LoadAt<Pair>(kData.data(), 1);
  EXPECT_EQ(pair.first, Big16(0x1234));
  EXPECT_EQ(pair.second, Big16(0x5678));
}

}  // namespace
}  // namespace penstock
