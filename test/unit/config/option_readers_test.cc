// SPDX-License-Identifier: BSD-3-Clause
//
// Readers of one value: what they leave as it was, and what the options' own tests do not reach.

#include "lib/config/option_readers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock {
namespace {

using testing::ElementsAre;

TEST(OptionReaders, WhatIsRefusedLeavesTheValue) {
  std::vector<uint16_t> list = {7};
  EXPECT_FALSE(ReadList("1,2,2", 32, list).ok());
  EXPECT_FALSE(ReadMask("0x100000000", 32, list).ok());
  EXPECT_THAT(list, ElementsAre(7));
  uint16_t bytes = 5;
  EXPECT_FALSE(ReadMaxPacket("63", bytes).ok());
  EXPECT_EQ(bytes, 5);
  Rss rss = Rss::kIp;
  EXPECT_FALSE(ReadRss("udp", Rss::kUdp, rss).ok());
  EXPECT_EQ(rss, Rss::kIp);
  uint64_t bits = 1;
  EXPECT_FALSE(ReadOffloadSwitch("yes", 2, bits).ok());
  EXPECT_FALSE(AddOffloads("nothing", kRxOffloads, bits).ok());
  EXPECT_EQ(bits, 1u);
}

TEST(OptionReaders, ListsKeepTheirOrderAndMasksGrow) {
  std::vector<uint16_t> list;
  ASSERT_TRUE(ReadList("5,0-2,4", 32, list).ok());
  EXPECT_THAT(list, ElementsAre(5, 0, 1, 2, 4));
  ASSERT_TRUE(ReadMask("A", 32, list).ok());
  EXPECT_THAT(list, ElementsAre(1, 3));
  ASSERT_TRUE(ReadMask("0x8000000000000001", 128, list).ok());  // A mask ends at 64.
  EXPECT_THAT(list, ElementsAre(0, 63));
}

TEST(OptionReaders, ASwitchTakesBackItsOwnAlone) {
  Rss rss = Rss::kUdp;
  ASSERT_TRUE(ReadRss("false", Rss::kIp, rss).ok());
  EXPECT_EQ(rss, Rss::kUdp);
  ASSERT_TRUE(ReadRss("false", Rss::kUdp, rss).ok());
  EXPECT_EQ(rss, Rss::kDefault);
}

TEST(OptionReaders, OneWordOfSeveral) {
  constexpr Word<int> kWords[] = {{"one", 1}, {"two", 2}};
  int value = 0;
  ASSERT_TRUE(ReadWord("two", kWords, value).ok());
  EXPECT_EQ(value, 2);
  EXPECT_EQ(ReadWord("three", kWords, value).message(), "accepted: one, two");
  EXPECT_EQ(value, 2);
}

}  // namespace
}  // namespace penstock
