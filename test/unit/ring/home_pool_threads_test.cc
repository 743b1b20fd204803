// SPDX-License-Identifier: BSD-3-Clause
//
// HomePool with a thread for each lcore, and copies, accesses and locks that lose time. Who takes
// an object owns it: an object that two have at once is found by its owner's mark.

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "lib/ring/home_pool.h"
#include "test/unit/ring/slow_words.h"

namespace penstock {
namespace {

// Between threads, as packets between lcores.
template <typename Object>
class Belt {
 public:
  void Put(std::vector<Object> objects) {
    const std::lock_guard lock(mutex_);
    belt_.push_back(std::move(objects));
  }
  std::vector<Object> Get() {
    const std::lock_guard lock(mutex_);
    if (belt_.empty()) return {};
    std::vector<Object> objects = std::move(belt_.front());
    belt_.pop_front();
    return objects;
  }

 private:
  std::mutex mutex_;
  std::deque<std::vector<Object>> belt_;
};

struct Roles {
  const char* name;
  uint32_t objects;
  uint32_t takers;     // Lcores that take and pass on.
  uint32_t freers;     // Lcores that free.
  uint32_t strangers;  // Threads without a number that free.
  bool both;           // Takers free as well.
};

template <typename Words>
void Exercise(const Roles& roles, uint64_t frees) {
  using Object = typename Words::Object;
  const uint32_t homes = roles.takers + roles.freers;
  PoolInMemory<Words> memory(roles.objects, homes);
  HomePool<Words>& pool = *memory.pool;
  std::vector<std::atomic<bool>> out(roles.objects);  // Taken and not yet freed.
  Belt<Object> belt;
  std::atomic<uint64_t> taken{0};
  std::atomic<uint64_t> freed{0};
  std::atomic<uint32_t> faults{0};

  const auto take = [&](uint32_t me, uint32_t n) {
    std::vector<Object> burst(n);
    if (!pool.Take(me, burst.data(), n)) return false;
    for (const Object& object : burst) {
      if (out[PoolInMemory<Words>::IndexOf(object)].exchange(true)) ++faults;
    }
    taken += n;
    belt.Put(std::move(burst));
    return true;
  };
  const auto give = [&](auto free) {
    std::vector<Object> burst = belt.Get();
    if (burst.empty()) return false;
    for (const Object& object : burst) {
      if (!out[PoolInMemory<Words>::IndexOf(object)].exchange(false)) ++faults;
    }
    const auto n = static_cast<uint32_t>(burst.size());
    if (n % 3 == 0) {
      for (const Object& object : burst) free(&object, 1);
    } else {
      free(burst.data(), n);
    }
    freed += n;
    return true;
  };

  std::vector<std::thread> threads;
  std::atomic<uint32_t> taking{roles.takers};
  for (uint32_t me = 0; me < homes; ++me) {
    threads.emplace_back([&, me] {
      const auto mine = [&](const Object* objects, uint32_t n) { pool.Give(me, objects, n); };
      uint32_t turn = me;
      if (me < roles.takers) {
        while (taken < frees) {
          if (!take(me, 1 + turn++ % 40)) std::this_thread::yield();
          if (roles.both) give(mine);
        }
        --taking;
        if (!roles.both) return;
      }
      while (give(mine) || taking > 0) std::this_thread::yield();
    });
  }
  for (uint32_t i = 0; i < roles.strangers; ++i) {
    threads.emplace_back([&] {
      const auto anywhere = [&](const Object* objects, uint32_t n) {
        pool.GiveAnywhere(objects, n);
      };
      while (give(anywhere) || taking > 0) std::this_thread::yield();
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(faults, 0u);
  EXPECT_EQ(taken, freed);
  EXPECT_EQ(pool.Count(), roles.objects);
}

class HomePoolThreads : public testing::TestWithParam<Roles> {};

TEST_P(HomePoolThreads, NothingIsLostOrGivenOutTwice) { Exercise<NumberWords>(GetParam(), 50'000); }
TEST_P(HomePoolThreads, NorWhenEveryStepTakesItsTime) { Exercise<SlowWords>(GetParam(), 2'000); }

INSTANTIATE_TEST_SUITE_P(
    All, HomePoolThreads,
    testing::Values(Roles{"OneHome", 1000, 1, 1, 0, false},
                    Roles{"OneHomeTwoFreers", 1000, 1, 2, 0, false},
                    Roles{"ManyHomes", 1000, 3, 2, 0, false},
                    Roles{"EachBoth", 1000, 3, 0, 0, true},
                    Roles{"Strangers", 1000, 2, 1, 2, false},
                    // Hardly enough: mailboxes of a few slots, and the depot all the time.
                    Roles{"Short", 100, 2, 2, 0, true}, Roles{"OnlyTheDepot", 60, 2, 1, 1, true}),
    [](const auto& info) { return info.param.name; });

// A home that only ever looks at the bell finds all but what nobody rings for.
TEST(HomePoolBell, ARingIsNeverMissed) {
  for (int round = 0; round < 4; ++round) {
    PoolInMemory<SlowWords> memory(2000, 3);
    HomePool<SlowWords>& pool = *memory.pool;
    constexpr uint32_t kEach = 256;
    std::vector<SlowEntry> objects(2 * kEach);
    std::atomic<bool> ready{false};
    std::atomic<uint32_t> freeing{2};
    std::thread home([&] {
      ASSERT_TRUE(pool.Take(0, objects.data(), 2 * kEach));
      ready = true;
      for (;;) {
        const bool last = freeing == 0;
        if (pool.Rung(0)) {
          pool.Collect(0);
        } else if (last) {
          break;
        } else {
          std::this_thread::yield();
        }
      }
    });
    while (!ready) std::this_thread::yield();
    std::vector<std::thread> freers;
    for (const uint32_t freer : {1, 2}) {
      freers.emplace_back([&, freer] {
        for (uint32_t i = 0; i < kEach; i += 16) {
          pool.Give(freer, &objects[(freer - 1) * kEach + i], 16);
        }
        --freeing;
      });
    }
    for (std::thread& freer : freers) freer.join();
    home.join();
    EXPECT_LT(pool.WaitingFor(0), 2 * HomePool<SlowWords>::kBurst);
    EXPECT_EQ(pool.Count(), 2000u);
  }
}

}  // namespace
}  // namespace penstock
