// SPDX-License-Identifier: BSD-3-Clause
//
// The ops "deferred" through rte_mempool, as any application uses them: with rte_mempool's own
// cache and without, in bulk and one by one, from lcores, from other threads, from memory in
// several pieces. The protocol is tested in test/unit/ring. Lcores share CPUs, so what waits
// yields.

#include <gtest/gtest.h>
#include <rte_errno.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "drivers/mempool/deferred/mail.h"
#include "drivers/mempool/deferred/rte_mempool_deferred.h"
#include "lib/ring/home_pool.h"
#include "test/support/eal_main.h"

namespace penstock {

void OnTestEalStarted() { ASSERT_EQ(RegisterDeferredOps(), 0); }

namespace {

struct FreePool {
  void operator()(rte_mempool* pool) const { rte_mempool_free(pool); }
};
using Pool = std::unique_ptr<rte_mempool, FreePool>;

Pool Make(unsigned mbufs, unsigned cache) {
  Pool pool(rte_pktmbuf_pool_create_by_ops("deferred_test", mbufs, cache, 0, 512, SOCKET_ID_ANY,
                                           "deferred"));
  EXPECT_NE(pool, nullptr) << rte_strerror(rte_errno);
  return pool;
}

// `work` outlives what runs there.
void Launch(std::function<void()>& work, unsigned lcore) {
  ASSERT_EQ(rte_eal_remote_launch(
                [](void* argument) {
                  (*static_cast<std::function<void()>*>(argument))();
                  return 0;
                },
                &work, lcore),
            0);
}

// Runs on worker lcore number `which` and returns when it has.
void On(unsigned which, std::function<void()> work) {
  unsigned lcore = rte_get_main_lcore();
  for (unsigned i = 0; i <= which; ++i) lcore = rte_get_next_lcore(lcore, 1, 0);
  Launch(work, lcore);
  rte_eal_wait_lcore(lcore);
}

// Every mbuf once, from wherever this thread finds it.
std::set<void*> TakeAll(rte_mempool* pool) {
  std::set<void*> all;
  void* object;
  while (rte_mempool_get(pool, &object) == 0) EXPECT_TRUE(all.insert(object).second);
  return all;
}

// A mempool names its ops by their place: EAL's plugins have those that they have in a process
// without this driver.
TEST(MempoolDeferred, TakesOneSlotBehindThoseOfEalsPlugins) {
  std::vector<std::string> names;
  for (unsigned i = 0; i < rte_mempool_ops_table.num_ops; ++i) {
    names.push_back(rte_mempool_ops_table.ops[i].name);
  }
  ASSERT_GT(names.size(), 1u);
  EXPECT_EQ(std::ranges::count(names, "deferred"), 1);
  EXPECT_EQ(names.back(), "deferred");
  EXPECT_EQ(RegisterDeferredOps(), 0) << "again";
  EXPECT_EQ(rte_mempool_ops_table.num_ops, names.size());
}

class Sizes : public testing::TestWithParam<std::pair<unsigned, unsigned>> {};

TEST_P(Sizes, EveryMbufIsThereOnceAndCounted) {
  const auto [mbufs, cache] = GetParam();
  const Pool pool = Make(mbufs, cache);
  ASSERT_NE(pool, nullptr);
  EXPECT_EQ(rte_mempool_avail_count(pool.get()), mbufs);
  for (int round = 0; round < 3; ++round) {
    const std::set<void*> all = TakeAll(pool.get());
    EXPECT_EQ(all.size(), mbufs);
    EXPECT_EQ(rte_mempool_avail_count(pool.get()), 0u);
    for (void* object : all) rte_mempool_put(pool.get(), object);
    EXPECT_EQ(rte_mempool_avail_count(pool.get()), mbufs);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Sizes,
                         testing::Values(std::pair(1u, 0u), std::pair(63u, 0u), std::pair(64u, 0u),
                                         std::pair(100u, 64u), std::pair(1023u, 0u),
                                         std::pair(1024u, 250u), std::pair(4095u, 512u),
                                         std::pair(8191u, 0u), std::pair(8191u, 512u)));

class Caches : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(All, Caches, testing::Values(0u, 1u, 32u, 256u, 512u));

// One lcore allocates, another frees; then the whole pool is with the first again, as far as caches
// let it.
TEST_P(Caches, FreesOnAnotherLcoreComeHome) {
  const unsigned cache = GetParam();
  constexpr unsigned kMbufs = 4095;
  const Pool pool = Make(kMbufs, cache);
  ASSERT_NE(pool, nullptr);
  std::set<rte_mbuf*> seen;
  for (int round = 0; round < 500; ++round) {
    std::vector<rte_mbuf*> burst(32);
    On(0, [&] { ASSERT_EQ(rte_pktmbuf_alloc_bulk(pool.get(), burst.data(), 32), 0); });
    seen.insert(burst.begin(), burst.end());
    On(1, [&] {
      if (round % 2 == 0) {
        rte_pktmbuf_free_bulk(burst.data(), 32);
      } else {
        for (rte_mbuf* mbuf : burst) rte_pktmbuf_free(mbuf);
      }
    });
    ASSERT_EQ(rte_mempool_avail_count(pool.get()), kMbufs);
  }
  EXPECT_LE(seen.size(), 32 + cache * 5 / 2 + 2 * 32) << "the same mbufs again and again";
}

TEST_P(Caches, ExhaustionRecovers) {
  const unsigned cache = GetParam();
  constexpr unsigned kMbufs = 2047;
  const Pool pool = Make(kMbufs, cache);
  ASSERT_NE(pool, nullptr);
  for (int round = 0; round < 20; ++round) {
    std::vector<rte_mbuf*> all;
    On(0, [&] {
      while (rte_mbuf* const mbuf = rte_pktmbuf_alloc(pool.get())) all.push_back(mbuf);
    });
    // What is not here is in caches, and in the store of lcores that freed their own.
    EXPECT_EQ(all.size() + rte_mempool_avail_count(pool.get()), kMbufs);
    EXPECT_GE(all.size(), kMbufs - cache * 3 / 2);
    On(1, [&] {
      for (rte_mbuf* const mbuf : all) rte_pktmbuf_free(mbuf);
    });
    EXPECT_EQ(rte_mempool_avail_count(pool.get()), kMbufs);
  }
}

// The main lcore filled rings once and never comes again.
TEST_P(Caches, AnIdleHomeKeepsLittleOutOfUse) {
  const unsigned cache = GetParam();
  constexpr unsigned kMbufs = 4095;
  const Pool pool = Make(kMbufs, cache);
  ASSERT_NE(pool, nullptr);
  std::vector<void*> all(kMbufs);
  ASSERT_EQ(rte_mempool_get_bulk(pool.get(), all.data(), kMbufs), 0);
  for (unsigned worker : {0, 1, 2}) {
    On(worker, [&] {
      for (size_t i = worker; i < kMbufs; i += 3) rte_mempool_put(pool.get(), all[i]);
    });
  }
  EXPECT_EQ(rte_mempool_avail_count(pool.get()), kMbufs);
  size_t taken = 0;
  On(0, [&] { taken = TakeAll(pool.get()).size(); });
  EXPECT_GE(taken, kMbufs - 3 * 32 - 2 * (cache * 3 / 2));
}

TEST_P(Caches, ThreadsThatAreNoLcoresAllocateAndFree) {
  constexpr unsigned kMbufs = 1023;
  const Pool pool = Make(kMbufs, std::min(GetParam(), 256u));
  ASSERT_NE(pool, nullptr);
  std::vector<rte_mbuf*> mbufs(200);
  ASSERT_EQ(rte_pktmbuf_alloc_bulk(pool.get(), mbufs.data(), 200), 0);
  std::thread([&] {
    ASSERT_EQ(rte_lcore_id(), LCORE_ID_ANY);
    rte_pktmbuf_free_bulk(mbufs.data(), 200);
    ASSERT_EQ(rte_pktmbuf_alloc_bulk(pool.get(), mbufs.data(), 200), 0);
  }).join();
  rte_pktmbuf_free_bulk(mbufs.data(), 200);
  EXPECT_EQ(rte_mempool_avail_count(pool.get()), kMbufs);
  std::thread([&] {
    ASSERT_EQ(rte_thread_register(), 0);
    ASSERT_NE(rte_lcore_id(), LCORE_ID_ANY);
    ASSERT_EQ(rte_pktmbuf_alloc_bulk(pool.get(), mbufs.data(), 200), 0);
    rte_pktmbuf_free_bulk(mbufs.data(), 200);
    // Its cache would stay with the number.
    rte_mempool_cache_flush(rte_mempool_default_cache(pool.get(), rte_lcore_id()), pool.get());
    rte_thread_unregister();
  }).join();
  EXPECT_EQ(rte_mempool_avail_count(pool.get()), kMbufs);
}

// Packets on their way from lcore to lcore. A mutex, because lcores share CPUs here.
class Belt {
 public:
  void Put(std::vector<rte_mbuf*> burst) {
    const std::lock_guard lock(mutex_);
    belt_.push_back(std::move(burst));
  }
  std::vector<rte_mbuf*> Get() {
    const std::lock_guard lock(mutex_);
    if (belt_.empty()) return {};
    std::vector<rte_mbuf*> burst = std::move(belt_.front());
    belt_.pop_front();
    return burst;
  }

 private:
  std::mutex mutex_;
  std::deque<std::vector<rte_mbuf*>> belt_;
};

// Of each mbuf, in its packet: who took it must find 0.
uint64_t& Out(rte_mbuf* mbuf) { return *rte_pktmbuf_mtod(mbuf, uint64_t*); }

// All lcores allocate, pass on and free at once, and so does a thread that is none.
TEST_P(Caches, ManyHomesAtOnceLoseNothing) {
  constexpr unsigned kMbufs = 2047;
  const Pool pool = Make(kMbufs, GetParam());
  ASSERT_NE(pool, nullptr);
  rte_mempool_obj_iter(
      pool.get(),
      [](rte_mempool*, void*, void* object, unsigned) { Out(static_cast<rte_mbuf*>(object)) = 0; },
      nullptr);
  Belt belt;
  std::atomic<uint64_t> faults{0};
  std::atomic<unsigned> making{kTestLcores};
  const auto free_some = [&](unsigned turn) {
    std::vector<rte_mbuf*> burst = belt.Get();
    for (rte_mbuf* const mbuf : burst) {
      if (std::exchange(Out(mbuf), 0) != 1) ++faults;
    }
    if (turn % 3 == 0) {
      for (rte_mbuf* const mbuf : burst) rte_pktmbuf_free(mbuf);
    } else {
      rte_pktmbuf_free_bulk(burst.data(), static_cast<unsigned>(burst.size()));
    }
    return !burst.empty();
  };
  std::function<void()> work = [&] {
    for (unsigned turn = rte_lcore_id(); turn < 4000; ++turn) {
      std::vector<rte_mbuf*> burst(1 + turn % 32);
      const auto n = static_cast<unsigned>(burst.size());
      if (rte_pktmbuf_alloc_bulk(pool.get(), burst.data(), n) == 0) {
        for (rte_mbuf* const mbuf : burst) {
          if (std::exchange(Out(mbuf), 1) != 0) ++faults;
        }
        belt.Put(std::move(burst));
      }
      rte_mempool_deferred_take_home(pool.get());
      free_some(turn);
    }
    --making;
  };
  unsigned lcore;
  RTE_LCORE_FOREACH_WORKER(lcore) { Launch(work, lcore); }
  std::thread stranger([&] {
    while (making > 0) {
      if (!free_some(1)) sched_yield();
    }
  });
  work();
  stranger.join();
  rte_eal_mp_wait_lcore();
  while (free_some(1)) {
  }
  EXPECT_EQ(faults, 0u);
  EXPECT_EQ(rte_mempool_avail_count(pool.get()), kMbufs);
}

TEST(MempoolDeferred, WorksOnMemoryInSeveralPieces) {
  constexpr unsigned kObjects = 1024;
  std::vector<std::unique_ptr<char[]>> pieces;
  const Pool pool(
      rte_mempool_create_empty("deferred_test", kObjects, 2048, 0, 0, SOCKET_ID_ANY, 0));
  ASSERT_NE(pool, nullptr);
  ASSERT_EQ(rte_mempool_set_ops_byname(pool.get(), "deferred", nullptr), 0);
  const size_t bytes = kObjects / 4 * (pool->header_size + pool->elt_size + pool->trailer_size);
  while (pool->populated_size < kObjects) {
    pieces.push_back(std::make_unique<char[]>(bytes + 64 * 1024));
    ASSERT_GT(rte_mempool_populate_iova(pool.get(), pieces.back().get(), RTE_BAD_IOVA, bytes,
                                        nullptr, nullptr),
              0);
  }
  EXPECT_GT(pool->nb_mem_chunks, 1u);
  for (int round = 0; round < 20; ++round) {
    std::vector<void*> some(300);
    On(0, [&] { ASSERT_EQ(rte_mempool_get_bulk(pool.get(), some.data(), 300), 0); });
    On(1, [&] { rte_mempool_put_bulk(pool.get(), some.data(), 300); });
    ASSERT_EQ(rte_mempool_avail_count(pool.get()), kObjects);
  }
}

TEST(MempoolDeferred, TakeHomeEmptiesTheMailbox) {
  const Pool pool = Make(1023, 0);
  ASSERT_NE(pool, nullptr);
  std::vector<rte_mbuf*> burst(32);
  ASSERT_EQ(rte_pktmbuf_alloc_bulk(pool.get(), burst.data(), 32), 0);
  On(0, [&] { rte_pktmbuf_free_bulk(burst.data(), 32); });
  const auto mail = DeferredMailOf(pool.get(), rte_lcore_id());
  ASSERT_TRUE(mail.has_value());
  EXPECT_NE(mail->bell->load(), *mail->heard);
  rte_mempool_deferred_take_home(pool.get());
  EXPECT_EQ(mail->bell->load(), *mail->heard);
  // Nothing of it is left to another lcore.
  std::vector<rte_mbuf*> rest(1023 - 32);
  On(0, [&] { ASSERT_EQ(rte_pktmbuf_alloc_bulk(pool.get(), rest.data(), 1023 - 32), 0); });
  EXPECT_EQ(rte_mempool_avail_count(pool.get()), 32u);
  rte_pktmbuf_free_bulk(rest.data(), 1023 - 32);
}

TEST(MempoolDeferred, OtherPoolsHaveNoMail) {
  const Pool pool(
      rte_pktmbuf_pool_create_by_ops("ring_test", 100, 0, 0, 512, SOCKET_ID_ANY, "ring_mp_mc"));
  ASSERT_NE(pool, nullptr);
  EXPECT_FALSE(DeferredMailOf(pool.get(), rte_lcore_id()).has_value());
  rte_mempool_deferred_take_home(pool.get());
  const Pool deferred = Make(100, 0);
  EXPECT_FALSE(DeferredMailOf(deferred.get(), RTE_MAX_LCORE).has_value());
  EXPECT_FALSE(DeferredMailOf(deferred.get(), kTestLcores).has_value()) << "EAL has it not";
}

TEST(MempoolDeferred, SaysThatMemoryIsShort) {
  const Pool pool(
      rte_mempool_create_empty("deferred_test", 200'000'000, 64, 0, 0, SOCKET_ID_ANY, 0));
  ASSERT_NE(pool, nullptr);
  ASSERT_EQ(rte_mempool_set_ops_byname(pool.get(), "deferred", nullptr), 0);
  alignas(64) static char memory[4096];
  EXPECT_EQ(
      rte_mempool_populate_iova(pool.get(), memory, RTE_BAD_IOVA, sizeof(memory), nullptr, nullptr),
      -ENOMEM);
}

}  // namespace
}  // namespace penstock
