// SPDX-License-Identifier: BSD-3-Clause
#include "lib/ring/consumer.h"

#include <gtest/gtest.h>

#include <array>
#include <thread>
#include <vector>

#include "test/unit/ring/fake_kernel.h"

namespace penstock {
namespace {

constexpr uint32_t kNearTheEnd = 0xfffffffd;

template <typename Ownership>
class ConsumerTest : public testing::Test {};
using Policies = testing::Types<Exclusive, Checked, Shared, SlowShared>;
TYPED_TEST_SUITE(ConsumerTest, Policies);

TYPED_TEST(ConsumerTest, TakesTheOldestFirstAcrossTheWrapAndGivesSlotsBack) {
  RingBuffer<uint64_t> ring(4, kNearTheEnd);
  Consumer<uint64_t, TypeParam> consumer(ring.memory());
  std::array<uint64_t, 8> out{};
  EXPECT_EQ(consumer.Take(out.data(), 8), 0u);
  for (uint64_t value : {7, 8, 9, 10}) ASSERT_TRUE(ring.Post(value));
  ASSERT_FALSE(ring.Post(11));
  EXPECT_EQ(consumer.Ready(), 4u);
  EXPECT_EQ(consumer.Take(out.data(), 3), 3u);
  EXPECT_EQ(out[0], 7u);
  EXPECT_EQ(out[2], 9u);
  EXPECT_EQ(consumer.Ready(), 1u);
  EXPECT_EQ(ring.consumer, kNearTheEnd + 3);
  ASSERT_TRUE(ring.Post(11));
  EXPECT_EQ(consumer.Take(out.data(), 8), 2u);
  EXPECT_EQ(out[0], 10u);
  EXPECT_EQ(out[1], 11u);
  EXPECT_EQ(consumer.Ready(), 0u);
}

// Several lcores reap what one other side posts: each entry goes to one of them, whole.
void Stress(uint32_t readers, uint64_t entries) {
  RingBuffer<SlowEntry> ring(16, kNearTheEnd);
  Consumer<SlowEntry, SlowShared> consumer(ring.memory());
  std::vector<std::atomic<uint32_t>> times(entries);
  std::atomic<uint64_t> taken{0};
  std::vector<std::thread> threads;
  for (uint32_t reader = 0; reader < readers; ++reader) {
    threads.emplace_back([&, reader] {
      std::array<SlowEntry, 5> out;
      uint64_t last = 0;
      bool any = false;
      while (taken.load() < entries) {
        const uint32_t n = consumer.Take(out.data(), 1 + reader % 5);
        for (uint32_t i = 0; i < n; ++i) {
          ASSERT_LT(out[i].value, entries);
          ASSERT_TRUE(!any || out[i].value > last) << "one lcore sees them in order";
          last = out[i].value;
          any = true;
          ++times[out[i].value];
        }
        taken += n;
        if (n == 0) std::this_thread::yield();
      }
    });
  }
  for (uint64_t value = 0; value < entries;) {
    if (ring.Post(SlowEntry(value))) {
      ++value;
    } else {
      std::this_thread::yield();
    }
  }
  for (std::thread& thread : threads) thread.join();
  for (uint64_t value = 0; value < entries; ++value) {
    ASSERT_EQ(times[value].load(), 1u) << "entry " << value;
  }
}

TEST(SharedConsumer, TwoReapersTakeEachEntryOnce) { Stress(2, 6000); }
TEST(SharedConsumer, FourReapersTakeEachEntryOnce) { Stress(4, 3000); }

TEST(ExclusiveConsumer, SeesWholeEntries) {
  RingBuffer<SlowEntry> ring(8);
  Consumer<SlowEntry, Exclusive> consumer(ring.memory());
  constexpr uint64_t kEntries = 20000;
  std::thread other([&] {
    for (uint64_t value = 0; value < kEntries;) {
      if (ring.Post(SlowEntry(value))) {
        ++value;
      } else {
        std::this_thread::yield();
      }
    }
  });
  std::array<SlowEntry, 3> out;
  for (uint64_t wanted = 0; wanted < kEntries;) {
    const uint32_t n = consumer.Take(out.data(), 3);
    for (uint32_t i = 0; i < n; ++i) ASSERT_EQ(out[i].value, wanted++);
    if (n == 0) std::this_thread::yield();
  }
  other.join();
}

}  // namespace
}  // namespace penstock
