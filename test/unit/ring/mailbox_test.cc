// SPDX-License-Identifier: BSD-3-Clause
#include "lib/ring/mailbox.h"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>
#include <vector>

#include "test/unit/ring/slow_words.h"

namespace penstock {
namespace {

using Box = Mailbox<NumberWords>;

std::vector<uint64_t> Numbers(uint64_t from, size_t n) {
  std::vector<uint64_t> numbers(n);
  std::iota(numbers.begin(), numbers.end(), from);
  return numbers;
}

std::vector<uint64_t> TakeAll(Box& box) {
  std::vector<uint64_t> taken(box.Waiting());
  box.Take(taken.data(), static_cast<uint32_t>(taken.size()));
  return taken;
}

TEST(Mailbox, HandsOverInOrderAcrossTheEndOfTheSlots) {
  std::vector<uint64_t> memory(64);
  Box box(memory.data(), 64);
  uint64_t next = 0;
  for (int round = 0; round < 20; ++round) {
    const auto in = Numbers(next, 27);
    ASSERT_EQ(box.Put(in.data(), 27), 27u);
    EXPECT_EQ(box.Count(), 27u);
    ASSERT_EQ(TakeAll(box), in);
    EXPECT_EQ(box.Count(), 0u);
    next += 27;
  }
}

TEST(Mailbox, MayBeTakenInParts) {
  std::vector<uint64_t> memory(64);
  Box box(memory.data(), 64);
  const auto in = Numbers(0, 10);
  ASSERT_EQ(box.Put(in.data(), 10), 10u);
  std::vector<uint64_t> out(4);
  box.Take(out.data(), 4);
  EXPECT_EQ(out, Numbers(0, 4));
  EXPECT_EQ(TakeAll(box), Numbers(4, 6));
}

TEST(Mailbox, AnIdleHomeIsTrustedWithLittle) {
  std::vector<uint64_t> memory(256);
  Box box(memory.data(), 256);
  const auto in = Numbers(0, 256);
  EXPECT_EQ(box.Put(in.data(), 256), Box::kFirstTrust);
  EXPECT_EQ(box.Put(in.data(), 256), 0u);
  EXPECT_EQ(box.Put(in.data(), 1), 0u);
  EXPECT_EQ(box.Count(), Box::kFirstTrust);
}

// Twice as much each time the home has shown life, up to the slots.
TEST(Mailbox, AHomeThatTakesIsTrustedWithMore) {
  std::vector<uint64_t> memory(128);
  Box box(memory.data(), 128);
  const auto in = Numbers(0, 1000);
  for (const uint32_t wanted : {32, 64, 128, 128}) {
    EXPECT_EQ(box.Put(in.data(), 1000), wanted);
    EXPECT_EQ(TakeAll(box), Numbers(0, wanted));
  }
}

TEST(Mailbox, CountsWhatWasNotAnnounced) {
  std::vector<uint64_t> memory(64);
  Box box(memory.data(), 64);
  const auto in = Numbers(0, 20);
  EXPECT_EQ(box.Unannounced(), 0u);
  box.Put(in.data(), 3);
  box.Put(in.data(), 4);
  EXPECT_EQ(box.Unannounced(), 7u);
  TakeAll(box);
  EXPECT_EQ(box.Unannounced(), 7u) << "the home may find it without a ring";
  box.Announced();
  EXPECT_EQ(box.Unannounced(), 0u);
}

TEST(Mailbox, WithoutSlotsTakesNothing) {
  Box box(nullptr, 0);
  const uint64_t object = 1;
  EXPECT_EQ(box.Put(&object, 1), 0u);
  EXPECT_EQ(box.Waiting(), 0u);
}

TEST(Mailbox, BothSidesAtOnceLoseNothing) {
  constexpr uint64_t kObjects = 4000;
  std::vector<SlowEntry> memory(16);
  Mailbox<SlowWords> box(memory.data(), 16);
  std::thread freer([&] {
    for (uint64_t next = 0; next < kObjects;) {
      std::vector<SlowEntry> run;
      for (uint64_t i = 0; i < 1 + next % 9 && next + i < kObjects; ++i) run.emplace_back(next + i);
      const uint32_t put = box.Put(run.data(), static_cast<uint32_t>(run.size()));
      next += put;
      if (put == 0) std::this_thread::yield();
    }
  });
  for (uint64_t wanted = 0; wanted < kObjects;) {
    std::vector<SlowEntry> out(box.Waiting());
    ASSERT_LE(out.size(), 16u);
    box.Take(out.data(), static_cast<uint32_t>(out.size()));
    for (const SlowEntry& entry : out) ASSERT_EQ(entry.value, wanted++);
    if (out.empty()) std::this_thread::yield();
  }
  freer.join();
  EXPECT_EQ(box.Count(), 0u);
}

}  // namespace
}  // namespace penstock
