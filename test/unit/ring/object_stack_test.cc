// SPDX-License-Identifier: BSD-3-Clause
#include "lib/ring/object_stack.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace penstock {
namespace {

TEST(ObjectStack, TheLastInAreTheFirstOut) {
  std::array<int, 8> memory;
  ObjectStack<int> stack(memory.data(), 8);
  const std::array<int, 5> in = {1, 2, 3, 4, 5};
  stack.Push(in.data(), 5);
  EXPECT_EQ(stack.Count(), 5u);
  EXPECT_EQ(stack.Room(), 3u);
  std::vector<int> out(2);
  stack.Pop(out.data(), 2);
  EXPECT_EQ(out, (std::vector<int>{4, 5})) << "the uppermost last";
  stack.Push(in.data(), 1);
  out.resize(4);
  stack.Pop(out.data(), 4);
  EXPECT_EQ(out, (std::vector<int>{1, 2, 3, 1}));
  EXPECT_EQ(stack.Count(), 0u);
}

TEST(ObjectStack, ExtendIsAPushThatTheCallerStores) {
  std::array<int, 4> memory;
  ObjectStack<int> stack(memory.data(), 4);
  const int first = 7;
  stack.Push(&first, 1);
  int* const top = stack.Extend(2);
  top[0] = 8;
  top[1] = 9;
  std::vector<int> out(3);
  stack.Pop(out.data(), 3);
  EXPECT_EQ(out, (std::vector<int>{7, 8, 9}));
}

TEST(ObjectStack, ForgetsTheOldest) {
  std::array<int, 8> memory;
  ObjectStack<int> stack(memory.data(), 8);
  const std::array<int, 6> in = {1, 2, 3, 4, 5, 6};
  stack.Push(in.data(), 6);
  EXPECT_EQ(std::vector<int>(stack.Oldest(), stack.Oldest() + 4), (std::vector<int>{1, 2, 3, 4}));
  stack.Forget(4);
  std::vector<int> out(2);
  stack.Pop(out.data(), 2);
  EXPECT_EQ(out, (std::vector<int>{5, 6}));
}

TEST(ObjectStack, WithoutSlotsHasNoRoom) {
  ObjectStack<int> stack(nullptr, 0);
  EXPECT_EQ(stack.Room(), 0u);
  stack.Push(nullptr, 0);
  stack.Forget(0);
  EXPECT_EQ(stack.Count(), 0u);
}

}  // namespace
}  // namespace penstock
