// SPDX-License-Identifier: BSD-3-Clause
//
// Mempool: what was asked for is there, counted, freed with the object, and refused in one line.
// Main lcore.

#include "lib/port/mempool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rte_mbuf.h>

#include <string>
#include <utility>

namespace penstock {
namespace {

using testing::HasSubstr;

Mempool::Settings Settings(const char* name, uint32_t mbufs, uint32_t cache) {
  return {.name = name, .mbufs = mbufs, .cache = cache, .data_room_bytes = 2176, .numa_node = -1};
}

TEST(Mempool, HasWhatWasAskedFor) {
  const auto pool = Mempool::Create(Settings("mempool_test", 1023, 64));
  ASSERT_TRUE(pool.ok()) << pool.status();
  EXPECT_EQ(pool->name(), "mempool_test");
  EXPECT_EQ(pool->size(), 1023U);
  EXPECT_FALSE(pool->ops().empty());
  EXPECT_EQ(pool->get()->cache_size, 64U);
  EXPECT_EQ(rte_pktmbuf_data_room_size(pool->get()), 2176);
}

TEST(Mempool, CountsWhatIsOutAndNotWhatLiesInACache) {
  const auto pool = Mempool::Create(Settings("mempool_test", 1023, 64));
  ASSERT_TRUE(pool.ok()) << pool.status();
  EXPECT_EQ(pool->InUse(), 0U);
  rte_mbuf* mbufs[100];
  ASSERT_EQ(rte_pktmbuf_alloc_bulk(pool->get(), mbufs, 100), 0);
  EXPECT_EQ(pool->InUse(), 100U);
  rte_pktmbuf_free_bulk(mbufs, 60);  // Into this lcore's cache.
  EXPECT_EQ(pool->InUse(), 40U);
  rte_pktmbuf_free_bulk(mbufs + 60, 40);
  EXPECT_EQ(pool->InUse(), 0U);
}

// DPDK refuses a cache of more than two thirds of the pool.
TEST(Mempool, ASmallPoolGetsASmallerCache) {
  for (const uint32_t mbufs : {1U, 2U, 10U, 255U, 374U, 375U}) {
    const auto pool = Mempool::Create(Settings("mempool_test", mbufs, 250));
    ASSERT_TRUE(pool.ok()) << mbufs << ": " << pool.status();
    EXPECT_EQ(pool->size(), mbufs);
    EXPECT_LE(pool->get()->cache_size, 250U);
    EXPECT_LE(pool->get()->cache_size * 3 / 2, mbufs);
  }
}

TEST(Mempool, IsFreedWithTheObjectOnce) {
  {
    auto pool = Mempool::Create(Settings("mempool_test", 100, 0));
    ASSERT_TRUE(pool.ok());
    ASSERT_NE(rte_mempool_lookup("mempool_test"), nullptr);
    Mempool moved = *std::move(pool);
    EXPECT_EQ(rte_mempool_lookup("mempool_test"), moved.get());
  }
  EXPECT_EQ(rte_mempool_lookup("mempool_test"), nullptr);
}

TEST(Mempool, SaysHowMuchWasWantedWhenMemoryIsShort) {
  const auto pool = Mempool::Create(Settings("mempool_test", 10'000'000, 250));
  ASSERT_FALSE(pool.ok());
  EXPECT_EQ(pool.status().code(), absl::StatusCode::kResourceExhausted);
  const std::string message(pool.status().message());
  EXPECT_THAT(message, HasSubstr("rte_pktmbuf_pool_create(mempool_test, 10000000 mbufs of 2176 "
                                 "bytes): not enough memory for about "));
  EXPECT_THAT(message,
              HasSubstr("; give more with --memory, or fewer mbufs with --total-num-mbufs"));
}

// Neither EAL's words nor a driver of our own are in this process.
TEST(Mempool, WithoutTheDriverHasWhatDpdkHasUnlessDeferredIsDemanded) {
  for (const MempoolOps wanted : {MempoolOps::kWhatIsThere, MempoolOps::kRing}) {
    const auto ops = OpsFor(wanted);
    ASSERT_TRUE(ops.ok()) << ops.status();
    EXPECT_EQ(*ops, "ring_mp_mc");
  }
  const auto ops = OpsFor(MempoolOps::kDeferred);
  ASSERT_TRUE(ops.ok()) << ops.status();
  EXPECT_EQ(*ops, "deferred");
  for (const bool without_gaps : {false, true}) {
    Mempool::Settings settings = Settings("mempool_test", 100, 0);
    settings.ops = *ops;
    settings.without_gaps = without_gaps;
    const auto pool = Mempool::Create(settings);
    ASSERT_EQ(pool.status().code(), absl::StatusCode::kNotFound) << pool.status();
    EXPECT_THAT(std::string(pool.status().message()), HasSubstr("deferred: no such mempool"));
  }
}

TEST(Mempool, IsOfTheOpsThatWereAskedFor) {
  for (const char* ops : {"ring_mp_mc", "ring_sp_sc"}) {
    for (const bool without_gaps : {false, true}) {
      Mempool::Settings settings = Settings("mempool_test", 100, 0);
      settings.ops = ops;
      settings.without_gaps = without_gaps;
      const auto pool = Mempool::Create(settings);
      ASSERT_TRUE(pool.ok()) << pool.status();
      EXPECT_EQ(pool->ops(), ops);
    }
  }
}

TEST(Mempool, RefusesANameThatIsTaken) {
  const auto one = Mempool::Create(Settings("mempool_test", 100, 0));
  ASSERT_TRUE(one.ok());
  const auto two = Mempool::Create(Settings("mempool_test", 100, 0));
  ASSERT_FALSE(two.ok());
  EXPECT_EQ(two.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(two.status().message()),
              HasSubstr("rte_pktmbuf_pool_create(mempool_test, 100 mbufs of 2176 bytes)"));
}

}  // namespace
}  // namespace penstock
