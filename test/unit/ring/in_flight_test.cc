// SPDX-License-Identifier: BSD-3-Clause
#include "lib/ring/in_flight.h"

#include <gtest/gtest.h>

#include <array>
#include <thread>
#include <vector>

#include "lib/ring/consumer.h"
#include "lib/ring/ownership.h"
#include "lib/ring/producer.h"
#include "test/unit/ring/fake_kernel.h"

namespace penstock {
namespace {

TEST(InFlight, BelievesOnlyTheHolder) {
  InFlight chunks(4);
  EXPECT_TRUE(chunks.Mark(2, 7));
  EXPECT_FALSE(chunks.Mark(2, 7)) << "it is out already";
  EXPECT_FALSE(chunks.Mark(2, 8));
  EXPECT_FALSE(chunks.Clear<Exclusive>(1, 7));
  EXPECT_FALSE(chunks.Clear<Exclusive>(2, 8));
  EXPECT_TRUE(chunks.Clear<Exclusive>(2, 7));
  EXPECT_FALSE(chunks.Clear<Exclusive>(2, 7)) << "posted twice";
  EXPECT_TRUE(chunks.Mark(2, 8));
  EXPECT_FALSE(chunks.Clear<Shared>(2, 7));
  EXPECT_TRUE(chunks.Clear<Shared>(2, 8));
}

TEST(InFlight, HandsOutWhatIsStillThere) {
  InFlight chunks(6);
  for (size_t chunk : {1, 3, 5}) chunks.Mark(chunk, 2);
  chunks.Mark(4, 9);
  EXPECT_EQ(chunks.Count(2), 3u);
  std::vector<size_t> taken;
  chunks.TakeAll(2, [&](size_t chunk) { taken.push_back(chunk); });
  EXPECT_EQ(taken, (std::vector<size_t>{1, 3, 5}));
  EXPECT_EQ(chunks.Count(2), 0u);
  EXPECT_EQ(chunks.Count(9), 1u);
}

// Two lcores go through the same chunks side by side: each chunk belongs to one of them.
TEST(InFlight, OneOfTwoGetsAChunk) {
  constexpr size_t kChunks = 1 << 20;
  InFlight chunks(kChunks);
  for (size_t chunk = 0; chunk < kChunks; ++chunk) chunks.Mark(chunk, 1);
  std::atomic<size_t> got{0};
  std::atomic<size_t> place[2] = {};
  auto clear = [&](int me) {
    size_t mine = 0;
    for (size_t chunk = 0; chunk < kChunks; ++chunk) {
      place[me].store(chunk, std::memory_order_relaxed);
      // Not further apart than the time that a clear takes, unless the other has no processor.
      for (int i = 0; i < 50 && place[1 - me].load(std::memory_order_relaxed) < chunk; ++i) {
        SpinPause();
      }
      mine += chunks.Clear<Shared>(chunk, 1);
    }
    got += mine;
  };
  std::thread other([&] { clear(1); });
  clear(0);
  other.join();
  EXPECT_EQ(got, kChunks);
}

// The whole way of a chunk, with a kernel that posts each completion twice: two lcores send and
// reap one queue; a chunk is freed once per time it was sent.
TEST(InFlight, TwoReapersFreeADoublyPostedChunkOnce) {
  constexpr uint32_t kChunks = 64;
  constexpr uint32_t kRounds = 1000;
  RingBuffer<SlowEntry> tx(16);
  RingBuffer<SlowEntry> done(64);
  Producer<SlowEntry, SlowShared> producer(tx.memory(), 16);
  Consumer<SlowEntry, SlowShared> completions(done.memory());
  InFlight in_flight(kChunks);
  std::array<std::atomic<int>, kChunks> used{};  // 1 while out of the free list
  std::atomic<uint32_t> returned{0};
  std::atomic<uint32_t> bad{0};
  std::atomic<int> working{2};

  auto reap = [&] {
    std::array<SlowEntry, 8> out;
    const uint32_t n = completions.Take(out.data(), 8);
    for (uint32_t i = 0; i < n; ++i) {
      if (!in_flight.Clear<SlowShared>(out[i].value, 1)) {
        ++bad;
        continue;
      }
      ASSERT_EQ(used[out[i].value].exchange(0), 1);
      ++returned;
    }
  };
  std::vector<std::thread> threads;
  for (uint32_t lcore = 0; lcore < 2; ++lcore) {
    threads.emplace_back([&, lcore] {
      uint32_t next = lcore;
      for (uint32_t round = 0; round < kRounds; ++round) {
        reap();
        if (producer.Reserve(1, returned.load()) == 0) continue;
        // Chunks in turn, so that one is out again only long after its second completion was
        // reaped.
        const uint32_t chunk = next % kChunks;
        next += 2;
        int free = 0;
        if (!used[chunk].compare_exchange_strong(free, 1)) {
          producer.Cancel(1);
          continue;
        }
        ASSERT_TRUE(in_flight.Mark(chunk, 1));
        const SlowEntry entry(chunk);
        producer.Publish(&entry, 1);
      }
      --working;
    });
  }
  std::thread kernel([&] {
    SlowEntry entry;
    for (;;) {
      const bool last = working == 0;
      if (!tx.Take(entry)) {
        if (last) break;
        std::this_thread::yield();
        continue;
      }
      for (int times = 0; times < 2; ++times) {
        while (!done.Post(entry)) {
          if (working == 0) return;
          std::this_thread::yield();
        }
      }
    }
  });
  for (std::thread& thread : threads) thread.join();
  kernel.join();
  while (completions.Ready() > 0) reap();
  EXPECT_GT(bad, 0u);
  EXPECT_LE(returned, producer.published());
}

}  // namespace
}  // namespace penstock
