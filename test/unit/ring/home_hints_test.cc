// SPDX-License-Identifier: BSD-3-Clause
#include "lib/ring/home_hints.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace penstock {
namespace {

struct Row {
  size_t objects;
  size_t object_bytes;
  size_t gap_every;  // Objects to a page, behind which the rest of the page is left free; 0: none.
  uintptr_t start;
};

class OnePiece : public testing::TestWithParam<Row> {};

// The table has a byte of its own for each object of one piece of memory, gaps or none.
TEST_P(OnePiece, EachObjectHasAHintOfItsOwn) {
  const auto [objects, object_bytes, gap_every, start] = GetParam();
  std::vector<HomeHints::Byte> table(HomeHints::TableBytes(objects, object_bytes));
  HomeHints hints(table.data(), objects, object_bytes);
  std::vector<uintptr_t> addresses;
  uintptr_t at = start;
  for (size_t i = 0; i < objects; ++i) {
    addresses.push_back(at);
    at += object_bytes;
    if (gap_every != 0 && (i + 1) % gap_every == 0) at = (at + 4095) / 4096 * 4096;
  }
  for (size_t i = 0; i < objects; ++i) {
    EXPECT_EQ(hints.Of(addresses[i]), 0) << i;
    hints.Set(addresses[i], static_cast<uint8_t>(1 + i % 255));
  }
  for (size_t i = 0; i < objects; ++i) EXPECT_EQ(hints.Of(addresses[i]), 1 + i % 255) << i;
}

INSTANTIATE_TEST_SUITE_P(
    All, OnePiece,
    testing::Values(Row{1, 2368, 0, 0x7f0000000000}, Row{16383, 2368, 0, 0x7f0000000fc0},
                    Row{16383, 2368, 1, 0x100000000},  // 4096 each
                    Row{1000, 64, 63, 0x7f1234567000}, Row{1000, 4096, 0, 0x7f1234567000},
                    Row{1000, 4095, 0, 0x7f1234567001}, Row{777, 9216, 0, 0x555500000040},
                    Row{4096, 1, 0, 0xffffffffff000000}, Row{100000, 320, 12, 0x1000}));

TEST(HomeHints, ObjectsOfSeveralPiecesMayShareAByteAndNothingElseHappens) {
  std::vector<HomeHints::Byte> table(HomeHints::TableBytes(8, 64));
  HomeHints hints(table.data(), 8, 64);
  const uintptr_t far = uintptr_t{1} << 40;
  std::set<uint8_t> values;
  for (uintptr_t i = 0; i < 1000; ++i) {
    const uintptr_t object = far * i + 64 * i;
    const auto value = static_cast<uint8_t>(i);
    hints.Set(object, value);
    EXPECT_EQ(hints.Of(object), value) << "set last";
    values.insert(value);
  }
  // Whoever shares a byte finds the hint of another, and never what nobody set.
  for (uintptr_t i = 0; i < 1000; ++i) EXPECT_TRUE(values.contains(hints.Of(far * i + 64 * i)));
}

TEST(HomeHints, TheTableIsSmallBesideTheObjects) {
  for (const size_t bytes : {64, 100, 2048, 2368, 4095, 9000}) {
    EXPECT_LE(HomeHints::TableBytes(100000, bytes), 100000u * 8) << bytes;
  }
}

}  // namespace
}  // namespace penstock
