// SPDX-License-Identifier: BSD-3-Clause
#include "lib/ring/producer.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <thread>
#include <vector>

#include "test/unit/ring/fake_kernel.h"

namespace penstock {
namespace {

constexpr uint32_t kNearTheEnd = 0xfffffffa;

template <typename Ownership>
class ProducerTest : public testing::Test {};
using Policies = testing::Types<Exclusive, Checked, Shared, SlowShared>;
TYPED_TEST_SUITE(ProducerTest, Policies);

TYPED_TEST(ProducerTest, PublishesInOrderAndCountsFromZeroAcrossTheWrap) {
  RingBuffer<uint64_t> ring(8, kNearTheEnd);
  Producer<uint64_t, TypeParam> producer(ring.memory(), 8);
  const std::array<uint64_t, 5> first = {10, 11, 12, 13, 14};
  ASSERT_EQ(producer.Reserve(5, 0), 5u);
  EXPECT_EQ(ring.producer, kNearTheEnd) << "a reservation shows nothing";
  EXPECT_EQ(producer.Publish(first.data(), 5), 0u);
  EXPECT_EQ(ring.producer, kNearTheEnd + 5);
  ASSERT_EQ(producer.Reserve(3, 0), 3u);
  EXPECT_EQ(producer.Publish(first.data(), 3), 5u);
  EXPECT_EQ(producer.published(), 8u);
  EXPECT_EQ(producer.Unconsumed(), 8u);
  EXPECT_EQ(producer.consumed(), 0u);
  for (uint64_t wanted : {10, 11, 12, 13, 14, 10, 11, 12}) {
    uint64_t seen = 0;
    ASSERT_TRUE(ring.Take(seen));
    EXPECT_EQ(seen, wanted);
  }
  EXPECT_EQ(producer.Unconsumed(), 0u);
  EXPECT_EQ(producer.consumed(), 8u) << "across the wrap";
}

TYPED_TEST(ProducerTest, ReservesNoMoreThanTheRingHolds) {
  RingBuffer<uint64_t> ring(8, kNearTheEnd);
  Producer<uint64_t, TypeParam> producer(ring.memory(), 8);
  const std::array<uint64_t, 8> entries{};
  EXPECT_EQ(producer.Reserve(20, 0), 8u);
  EXPECT_EQ(producer.Reserve(1, 0), 0u);
  producer.Publish(entries.data(), 8);
  // What came back is not yet a free slot: the other side has to say that it took it.
  EXPECT_EQ(producer.Reserve(1, 8), 0u);
  uint64_t taken;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(ring.Take(taken));
  EXPECT_EQ(producer.Reserve(20, 8), 3u);
}

TYPED_TEST(ProducerTest, KeepsToItsLimitUntilEntriesComeBack) {
  RingBuffer<uint64_t> ring(8);
  Producer<uint64_t, TypeParam> producer(ring.memory(), 4);
  const std::array<uint64_t, 4> entries{};
  EXPECT_EQ(producer.Reserve(8, 0), 4u);
  producer.Publish(entries.data(), 4);
  uint64_t taken;
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(ring.Take(taken));
  EXPECT_EQ(producer.Reserve(8, 0), 0u) << "taken by the other side, but not back";
  EXPECT_EQ(producer.Reserve(8, 3), 3u);
}

TYPED_TEST(ProducerTest, ACancelledReservationCanBeMadeAgain) {
  RingBuffer<uint64_t> ring(8);
  Producer<uint64_t, TypeParam> producer(ring.memory(), 8);
  const std::array<uint64_t, 8> entries = {1, 2, 3, 4, 5, 6, 7, 8};
  ASSERT_EQ(producer.Reserve(3, 0), 3u);
  ASSERT_EQ(producer.Reserve(5, 0), 5u);
  // The later one is published first, and takes the first slots.
  EXPECT_EQ(producer.Publish(entries.data(), 5), 0u);
  producer.Cancel(2);
  EXPECT_EQ(producer.Publish(entries.data() + 5, 1), 5u);
  EXPECT_EQ(producer.claimed(), 6u);
  EXPECT_EQ(producer.Reserve(8, 0), 2u);
  EXPECT_EQ(ring.producer, 6u);
  EXPECT_EQ(ring.entries[5], 6u);
}

TYPED_TEST(ProducerTest, TellsWhetherTheOtherSideSleeps) {
  RingBuffer<uint64_t> ring(8);
  Producer<uint64_t, TypeParam> producer(ring.memory(), 8);
  EXPECT_FALSE(producer.NeedsWakeup(1));
  ring.flags = 1;
  EXPECT_TRUE(producer.NeedsWakeup(1));
  RingMemory<uint64_t> without = ring.memory();
  without.flags = nullptr;
  EXPECT_TRUE((Producer<uint64_t, TypeParam>(without, 8).NeedsWakeup(1)));
}

// Several lcores send, each its own numbers, some of which it decides not to send; the other side
// takes them. Nothing lost, nothing twice, each lcore's in order, and what is published by one call
// side by side.
void Stress(uint32_t writers, uint32_t rounds) {
  RingBuffer<SlowEntry> ring(16, kNearTheEnd);
  Producer<SlowEntry, SlowShared> producer(ring.memory(), 16);
  std::atomic<uint32_t> returned{0};
  std::atomic<uint32_t> writing{writers};
  std::vector<uint64_t> sent(writers);
  std::vector<std::thread> threads;
  for (uint32_t writer = 0; writer < writers; ++writer) {
    threads.emplace_back([&, writer] {
      for (uint32_t round = 0; round < rounds; ++round) {
        const uint32_t want = 1 + round % 5;
        const uint32_t room = producer.Reserve(want, returned.load(std::memory_order_relaxed));
        const uint32_t use = round % 7 == 0 ? room / 2 : room;
        std::vector<SlowEntry> entries;
        for (uint32_t i = 0; i < use; ++i) {
          entries.emplace_back((uint64_t{writer} << 32) | (sent[writer]++ << 4) |
                               (use - 1 - i));  // how many of this call follow
        }
        LoseTime();
        producer.Cancel(room - use);
        if (use > 0) producer.Publish(entries.data(), use);
      }
      --writing;
    });
  }
  std::vector<uint64_t> seen(writers);
  uint64_t follow = 0;
  uint64_t last_writer = 0;
  SlowEntry entry;
  for (;;) {
    const bool done = writing == 0;
    if (!ring.Take(entry)) {
      if (done) break;
      std::this_thread::yield();
      continue;
    }
    const uint64_t writer = entry.value >> 32;
    ASSERT_LT(writer, writers);
    ASSERT_EQ((entry.value & 0xffffffff) >> 4, seen[writer]++) << "writer " << writer;
    if (follow > 0) {
      ASSERT_EQ(writer, last_writer) << "two calls are mixed";
      ASSERT_EQ(entry.value & 15, follow - 1);
    }
    follow = entry.value & 15;
    last_writer = writer;
    returned.fetch_add(1, std::memory_order_relaxed);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(seen, sent);
  EXPECT_EQ(producer.claimed(), producer.published());
  EXPECT_EQ(std::accumulate(sent.begin(), sent.end(), uint64_t{0}), producer.published());
}

TEST(SharedProducer, TwoWritersLoseNothing) { Stress(2, 1500); }
TEST(SharedProducer, FourWritersLoseNothing) { Stress(4, 600); }

TEST(ExclusiveProducer, TheOtherSideSeesWholeEntries) {
  RingBuffer<SlowEntry> ring(8);
  Producer<SlowEntry, Exclusive> producer(ring.memory(), 8);
  constexpr uint64_t kEntries = 20000;
  std::thread writer([&] {
    for (uint64_t next = 0; next < kEntries;) {
      // Everything taken counts as back.
      const uint32_t room = producer.Reserve(3, producer.claimed());
      std::array<SlowEntry, 3> entries;
      for (uint32_t i = 0; i < room; ++i) entries[i].value = next++;
      producer.Publish(entries.data(), room);
      if (room == 0) std::this_thread::yield();
    }
  });
  SlowEntry entry;
  for (uint64_t wanted = 0; wanted < kEntries;) {
    if (!ring.Take(entry)) {
      std::this_thread::yield();
      continue;
    }
    ASSERT_EQ(entry.value, wanted++);
  }
  writer.join();
}

}  // namespace
}  // namespace penstock
