// SPDX-License-Identifier: BSD-3-Clause
//
// HomePool on one thread that plays every lcore; home_pool_threads_test.cc has several.

#include "lib/ring/home_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>
#include <vector>

#include "test/unit/ring/slow_words.h"

namespace penstock {
namespace {

using Memory = PoolInMemory<NumberWords>;
using Pool = HomePool<NumberWords>;
using Objects = std::vector<uint64_t>;

Objects Take(Pool& pool, uint32_t me, uint32_t n) {
  Objects objects(n);
  if (!pool.Take(me, objects.data(), n)) objects.clear();
  return objects;
}

void Give(Pool& pool, uint32_t me, const Objects& objects) {
  pool.Give(me, objects.data(), static_cast<uint32_t>(objects.size()));
}

// Everything that can be taken, as several lcores and then by a thread without a number.
std::multiset<uint64_t> TakeAllOf(Pool& pool, uint32_t homes) {
  std::multiset<uint64_t> all;
  uint64_t object;
  for (uint32_t home = 0; home < homes; ++home) {
    while (pool.Take(home, &object, 1)) all.insert(object);
  }
  while (pool.TakeAnywhere(&object, 1)) all.insert(object);
  return all;
}

std::multiset<uint64_t> AllObjects(uint32_t n) {
  std::multiset<uint64_t> all;
  for (uint32_t i = 0; i < n; ++i) all.insert(Memory::ObjectAt(i));
  return all;
}

TEST(HomePool, GivesAllOrNothing) {
  Memory memory(1000, 2);
  EXPECT_EQ(memory.pool->Count(), 1000u);
  EXPECT_TRUE(Take(*memory.pool, 0, 1001).empty());
  EXPECT_EQ(memory.pool->Count(), 1000u);
  const Objects some = Take(*memory.pool, 0, 700);
  EXPECT_EQ(some.size(), 700u);
  EXPECT_TRUE(Take(*memory.pool, 1, 301).empty());
  EXPECT_EQ(memory.pool->Count(), 300u);
  EXPECT_EQ(Take(*memory.pool, 1, 300).size(), 300u);
  EXPECT_EQ(memory.pool->Count(), 0u);
}

TEST(HomePool, WhatTheHomeFreesItGetsAgainFirst) {
  Memory memory(1000, 2);
  const Objects burst = Take(*memory.pool, 0, 32);
  Give(*memory.pool, 0, burst);
  EXPECT_EQ(Take(*memory.pool, 0, 32), burst);
}

TEST(HomePool, WhatAnotherFreesGoesHome) {
  Memory memory(1000, 3);
  Pool& pool = *memory.pool;
  const Objects burst = Take(pool, 0, 64);
  Give(pool, 1, burst);
  EXPECT_EQ(pool.Count(), 1000u);
  Objects again = Take(pool, 0, 32);
  EXPECT_EQ(again, Objects(burst.begin(), burst.begin() + 32)) << "32 came by the mailbox";
  // The other 32 had no room: the home had never shown life. They are the depot's uppermost.
  again = Take(pool, 0, 32);
  EXPECT_EQ(std::set(again.begin(), again.end()), std::set(burst.begin() + 32, burst.end()));
}

TEST(HomePool, ABurstGivenAtOnceRingsAndSingleObjectsDoNot) {
  Memory memory(1000, 2);
  Pool& pool = *memory.pool;
  const HomeMail mail = pool.MailOf(0);
  const Objects burst = Take(pool, 0, 32);
  for (int i = 0; i < 31; ++i) Give(pool, 1, {burst[static_cast<size_t>(i)]});
  EXPECT_EQ(mail.bell->load(), *mail.heard);
  // Not announced, but there: nothing else is left.
  Objects rest = Take(pool, 0, 968);
  ASSERT_EQ(rest.size(), 968u);
  EXPECT_EQ(Take(pool, 0, 31).size(), 31u);
  EXPECT_EQ(pool.Count(), 0u);
  Give(pool, 1, {burst[31]});
  EXPECT_NE(mail.bell->load(), *mail.heard) << "the 32nd since the last ring";
  mail.TakeHome();
  EXPECT_EQ(mail.bell->load(), *mail.heard);
  EXPECT_EQ(Take(pool, 0, 1), Objects{burst[31]});
}

// The second ring replaces the first before the home looks.
TEST(HomePool, TwoRingsAtOnceAreBothHeard) {
  Memory memory(1000, 3);
  Pool& pool = *memory.pool;
  const Objects burst = Take(pool, 0, 64);
  Give(pool, 1, Objects(burst.begin(), burst.begin() + 32));
  Give(pool, 2, Objects(burst.begin() + 32, burst.end()));
  pool.MailOf(0).TakeHome();
  const Objects again = Take(pool, 0, 64);
  EXPECT_EQ(std::set(again.begin(), again.end()), std::set(burst.begin(), burst.end()));
}

TEST(HomePool, FewObjectsAreInCirculation) {
  Memory memory(16383, 2);
  Pool& pool = *memory.pool;
  std::set<uint64_t> seen;
  std::vector<Objects> flying;
  for (int i = 0; i < 10000; ++i) {
    flying.push_back(Take(pool, 0, 32));
    ASSERT_EQ(flying.back().size(), 32u);
    seen.insert(flying.back().begin(), flying.back().end());
    if (flying.size() > 8) {
      Give(pool, 1, flying.front());
      flying.erase(flying.begin());
    }
  }
  EXPECT_LE(seen.size(), 9u * 32 + 2 * 32);
}

TEST(HomePool, AnIdleHomeKeepsLittleOutOfUse) {
  for (const uint32_t burst : {32, 64, 375, 768}) {
    Memory memory(16383, 4, burst);
    Pool& pool = *memory.pool;
    // Home 0 has everything at home and does nothing any more; three others free it.
    const Objects all = Take(pool, 0, 16383);
    ASSERT_EQ(all.size(), 16383u);
    for (size_t i = 0; i < all.size(); i += 32) {
      const size_t end = std::min(i + 32, all.size());
      Give(pool, 1 + static_cast<uint32_t>(i / 32 % 3),
           Objects(all.begin() + static_cast<long>(i), all.begin() + static_cast<long>(end)));
    }
    EXPECT_EQ(pool.Count(), 16383u);
    uint32_t got = 0;
    uint64_t object;
    while (pool.Take(1, &object, 1)) ++got;
    EXPECT_GE(got, 16383u - 3 * 32) << "a home that never took";

    // One that took again and again, and then stopped.
    const Pool::Slots slots(memory.shape);
    EXPECT_LE(slots.mailbox, 8 * burst);
    Memory other(16383, 4, burst);
    for (int i = 0; i < 100; ++i) {
      for (uint32_t freer : {1, 2, 3}) Give(*other.pool, freer, Take(*other.pool, 0, burst));
    }
    const Objects again = Take(*other.pool, 0, 16383);
    ASSERT_EQ(again.size(), 16383u);
    for (size_t i = 0; i < again.size(); ++i) Give(*other.pool, 1 + i % 3, {again[i]});
    EXPECT_EQ(other.pool->Count(), 16383u);
    got = 0;
    while (other.pool->Take(1, &object, 1)) ++got;
    EXPECT_GE(got, 16383u - 3 * slots.mailbox);
    EXPECT_EQ(other.pool->Count(), 16383u - got);
  }
}

TEST(HomePool, ExhaustionRecovers) {
  Memory memory(512, 2);
  Pool& pool = *memory.pool;
  for (int round = 0; round < 50; ++round) {
    const Objects all = Take(pool, 0, 512);
    ASSERT_EQ(all.size(), 512u) << round;
    EXPECT_TRUE(Take(pool, 0, 1).empty());
    EXPECT_TRUE(Take(pool, 1, 1).empty());
    for (const uint64_t object : all) Give(pool, 1, {object});
    EXPECT_EQ(pool.Count(), 512u);
  }
  EXPECT_EQ(TakeAllOf(pool, 2), AllObjects(512));
}

TEST(HomePool, AFullStoreGivesToTheDepot) {
  Memory memory(16383, 2);
  Pool& pool = *memory.pool;
  const Objects all = Take(pool, 0, 16383);
  Give(pool, 0, all);  // More than the store has room for, in one call.
  EXPECT_EQ(pool.Count(), 16383u);
  const uint32_t store = Pool::Slots(memory.shape).store;
  EXPECT_EQ(Take(pool, 1, 16383 - store).size(), 16383u - store);
  EXPECT_EQ(pool.Count(), store);
  EXPECT_EQ(Take(pool, 0, store), Objects(all.end() - store, all.end())) << "the last stay";
  // By bursts: half of what lies there makes room.
  for (size_t i = 0; i + 32 <= store + 32; i += 32) {
    Give(pool, 0,
         Objects(all.begin() + static_cast<long>(i), all.begin() + static_cast<long>(i) + 32));
  }
  EXPECT_EQ(Take(pool, 1, store / 2).size(), store / 2);
}

TEST(HomePool, HomesThatAlternateGetTheirOwn) {
  Memory memory(1000, 3);
  Pool& pool = *memory.pool;
  const Objects a = Take(pool, 0, 16);
  const Objects b = Take(pool, 1, 16);
  Objects mixed;
  for (size_t i = 0; i < 16; ++i) mixed.insert(mixed.end(), {a[i], b[i]});
  Give(pool, 2, mixed);
  // 16 more of each were brought along from the depot.
  for (const auto& [me, wanted] : {std::pair(0u, a), std::pair(1u, b)}) {
    const Objects mine = Take(pool, me, 33);  // Forces a look into the mailboxes.
    ASSERT_EQ(mine.size(), 33u);
    for (const uint64_t object : wanted) EXPECT_EQ(std::ranges::count(mine, object), 1);
  }
}

TEST(HomePool, ThreadsWithoutANumberTakeAndFree) {
  Memory memory(1000, 2);
  Pool& pool = *memory.pool;
  Objects objects(100);
  ASSERT_TRUE(pool.TakeAnywhere(objects.data(), 100));
  EXPECT_EQ(pool.Count(), 900u);
  // Freed by an lcore: it becomes their home.
  Give(pool, 1, objects);
  EXPECT_EQ(Take(pool, 1, 100), objects);
  // Freed by such a thread, while they are at home with lcore 1.
  pool.GiveAnywhere(objects.data(), 100);
  EXPECT_EQ(pool.Count(), 1000u);
  EXPECT_EQ(TakeAllOf(pool, 2), AllObjects(1000));
}

// Sizes from where nothing but the depot holds anything.
TEST(HomePool, EverySizeConservesItsObjects) {
  for (const uint32_t objects : {1, 2, 7, 8, 63, 64, 65, 100, 255, 256, 1023, 5000}) {
    for (const uint32_t homes : {1, 2, 3, 16}) {
      Memory memory(objects, homes);
      Pool& pool = *memory.pool;
      uint32_t state = objects * 31 + homes;
      std::vector<Objects> out;
      size_t outside = 0;
      for (int step = 0; step < 2000; ++step) {
        state = state * 1664525 + 1013904223;
        const uint32_t me = (state >> 8) % homes;
        const uint32_t n = 1 + (state >> 16) % std::min(objects, 100u);
        if (state >> 31 != 0) {
          if (Objects burst = Take(pool, me, n); !burst.empty()) {
            outside += burst.size();
            out.push_back(std::move(burst));
          }
        } else if (!out.empty()) {
          Give(pool, me, out.back());
          outside -= out.back().size();
          out.pop_back();
        }
        ASSERT_EQ(pool.Count() + outside, objects);
      }
      for (const Objects& burst : out) Give(pool, 0, burst);
      EXPECT_EQ(TakeAllOf(pool, homes), AllObjects(objects));
    }
  }
}

TEST(HomePool, AnObjectFreedTwiceSpoilsNothingElse) {
  Memory memory(100, 1);
  const Objects all = Take(*memory.pool, 0, 100);
  Give(*memory.pool, 0, all);
  Give(*memory.pool, 0, all);
  Give(*memory.pool, 0, all);
  EXPECT_LE(memory.pool->Count(), 100u + HomePool<NumberWords>::Slots(memory.shape).store);
}

TEST(HomePool, ManyLcoresDoNotTakeManyTimesTheMemory) {
  for (const uint32_t homes : {1, 2, 8, 32, 128}) {
    const HomeShape shape{.objects = 65535, .object_bytes = 2368, .homes = homes, .burst = 375};
    EXPECT_LE(Pool::Bytes(shape), size_t{65535} * 2368 / 5) << homes;
    EXPECT_GE(Pool::Slots(shape).mailbox, 32u) << homes;
  }
}

TEST(HomePoolDeathTest, AThreadThatDrainsWhatIsNotAtHomeWithItIsTrapped) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  PoolInMemory<SlowWords> memory(100, 2);
  SlowEntry entry;
  ASSERT_TRUE(memory.pool->Take(0, &entry, 1));
  std::thread([&] {
    SlowEntry own;
    ASSERT_TRUE(memory.pool->Take(1, &own, 1)) << "its own home";
  }).join();
  EXPECT_DEATH(std::thread([&] { memory.pool->Collect(0); }).join(), "");
  EXPECT_DEATH(std::thread([&] { memory.pool->Take(0, &entry, 1); }).join(), "");
  EXPECT_DEATH(std::thread([&] { memory.pool->Give(0, &entry, 1); }).join(), "");
}

}  // namespace
}  // namespace penstock
