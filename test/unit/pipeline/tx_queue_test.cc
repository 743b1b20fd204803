// SPDX-License-Identifier: BSD-3-Clause
//
// A burst goes to the queue that is named, under its lock where there is one, and through the
// function that was chosen when the lcore was built. Main lcore.

#include "lib/pipeline/tx_queue.h"

#include <gtest/gtest.h>
#include <rte_launch.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <vector>

#include "test/unit/pipeline/rig.h"

namespace penstock {
namespace {

static_assert(sizeof(TxLock) == kCacheLineBytes && alignof(TxLock) == kCacheLineBytes);
static_assert(TxPolicy<false, true>::kChecksSegments && !TxPolicy<true, false>::kChecksSegments);

std::vector<rte_mbuf*> Packets(Pool& pool, uint32_t count) {
  std::vector<rte_mbuf*> mbufs;
  for (uint32_t i = 0; i < count; ++i) mbufs.push_back(pool.Packet({1, i}));
  return mbufs;
}

TEST(TxQueue, BurstsGoToTheQueueThatIsNamedAndSayHowManyWent) {
  for (const bool locked : {false, true}) {
    Pool pool(100);
    RingPort port({.tx_queues = 2, .ring_size = 16});
    port.Start(pool);
    TxLock lock;
    TxQueue queue;
    queue.port = port.port();
    queue.queue = 1;
    queue.lock = locked ? &lock : nullptr;
    queue.burst = locked ? &BurstLocked : &BurstDirect;
    std::vector<rte_mbuf*> mbufs = Packets(pool, 20);
    EXPECT_EQ(queue.burst(queue, mbufs.data(), 20), 15);
    EXPECT_EQ(queue.burst(queue, mbufs.data() + 15, 5), 0);
    EXPECT_EQ(port.Take(0), std::vector<Tag>{});
    EXPECT_EQ(port.Take(1), Tags(1, 0, 15));
    rte_pktmbuf_free_bulk(mbufs.data() + 15, 5);
  }
}

// What the one who reaps the queue goes by.
TEST(TxQueue, WhatAllItsUsersSentIsCountedOnceItWent) {
  for (const auto burst : {&BurstLocked, &BurstPublished}) {
    Pool pool(100);
    RingPort port({.ring_size = 16});
    port.Start(pool);
    TxLock lock;
    TxQueue queue;
    queue.port = port.port();
    queue.lock = &lock;
    std::vector<rte_mbuf*> mbufs = Packets(pool, 20);
    EXPECT_EQ(burst(queue, mbufs.data(), 10), 10);
    EXPECT_EQ(lock.sent, 10u);
    EXPECT_EQ(burst(queue, mbufs.data() + 10, 10), 5);
    EXPECT_EQ(lock.sent, 15u) << "what did not fit was not sent";
    port.Take(0);
    rte_pktmbuf_free_bulk(mbufs.data() + 15, 5);
  }
}

TEST(TxQueue, TheLockIsHeldForTheBurstAndNoLonger) {
  Pool pool(100);
  RingPort port;
  port.Start(pool);
  struct Seen {
    TxLock lock;
    int calls = 0;
    int locked = 0;
  } seen;
  const rte_eth_rxtx_callback* const callback = rte_eth_add_tx_callback(
      port.port(), 0,
      [](uint16_t, uint16_t, rte_mbuf**, uint16_t n, void* user) {
        auto* const seen = static_cast<Seen*>(user);
        ++seen->calls;
        seen->locked += rte_spinlock_is_locked(&seen->lock.lock);
        return n;
      },
      &seen);
  ASSERT_NE(callback, nullptr);
  TxQueue queue;
  queue.port = port.port();
  queue.lock = &seen.lock;
  std::vector<rte_mbuf*> mbufs = Packets(pool, 2);
  EXPECT_EQ(BurstLocked(queue, mbufs.data(), 1), 1);
  EXPECT_EQ(seen.calls, 1);
  EXPECT_EQ(seen.locked, 1);
  EXPECT_FALSE(rte_spinlock_is_locked(&seen.lock.lock));
  EXPECT_EQ(BurstDirect(queue, mbufs.data() + 1, 1), 1);
  EXPECT_EQ(seen.calls, 2);
  EXPECT_EQ(seen.locked, 1);
  EXPECT_EQ(rte_eth_remove_tx_callback(port.port(), 0, callback), 0);
}

// Two lcores send to one queue. Under the lock they are never in the driver at the same time;
// without, a driver that stands it (here, the ring of net_ring) still gets every packet once.
TEST(TxQueue, TwoLcoresSendToOneQueue) {
  struct Shared {
    TxQueue queue;
    TxLock lock;
    Pool* pool;
    std::atomic<uint32_t> started{0};
    std::atomic<int> inside{0};
    std::atomic<int> together{0};
  };
  constexpr uint32_t kBursts = 500;
  constexpr uint16_t kBurst = 4;
  for (const bool locked : {true, false}) {
    Pool pool(8191);
    RingPort port({.ring_size = 8192});
    port.Start(pool);
    Shared shared;
    shared.pool = &pool;
    shared.queue.port = port.port();
    shared.queue.lock = &shared.lock;
    shared.queue.burst = locked ? &BurstLocked : &BurstPublished;
    const rte_eth_rxtx_callback* const callback = rte_eth_add_tx_callback(
        port.port(), 0,
        [](uint16_t, uint16_t, rte_mbuf**, uint16_t n, void* user) {
          auto* const shared = static_cast<Shared*>(user);
          if (shared->inside.fetch_add(1) > 0) shared->together.fetch_add(1);
          sched_yield();  // The other lcore gets the processor here, of all places.
          shared->inside.fetch_sub(1);
          return n;
        },
        &shared);
    for (const unsigned lcore : {1U, 2U}) {
      ASSERT_EQ(rte_eal_remote_launch(
                    [](void* user) {
                      auto* const shared = static_cast<Shared*>(user);
                      const uint32_t flow = shared->started.fetch_add(1);
                      int unsent = 0;
                      for (uint32_t i = 0; i < kBursts; ++i) {
                        rte_mbuf* mbufs[kBurst];
                        for (uint32_t k = 0; k < kBurst; ++k) {
                          mbufs[k] = shared->pool->Packet({flow, i * kBurst + k});
                        }
                        const auto sent = shared->queue.burst(shared->queue, mbufs, kBurst);
                        unsent += kBurst - sent;
                      }
                      return unsent;
                    },
                    &shared, lcore),
                0);
    }
    EXPECT_EQ(rte_eal_wait_lcore(1), 0);
    EXPECT_EQ(rte_eal_wait_lcore(2), 0);
    EXPECT_EQ(rte_eth_remove_tx_callback(port.port(), 0, callback), 0);
    if (locked) {
      EXPECT_EQ(shared.together, 0);
    }
    const std::vector<Tag> sent = port.Take(0);
    for (const uint32_t flow : {0U, 1U}) {
      std::vector<Tag> of_flow;
      std::ranges::copy_if(sent, std::back_inserter(of_flow),
                           [&](const Tag& tag) { return tag.flow == flow; });
      EXPECT_EQ(of_flow, Tags(flow, 0, kBursts * kBurst));
    }
    EXPECT_EQ(sent.size(), 2 * kBursts * kBurst);
    EXPECT_EQ(shared.lock.sent, 2 * kBursts * kBurst);
  }
}

TEST(TxQueue, AQueueWhoseSendsCountHasThemCountedBySizeAndAllElseAsBefore) {
  Pool pool(200);
  RingPort port({.ring_size = 128});
  port.Start(pool);
  TxLock lock;
  LcoreSends sends;
  TxQueue queue;
  queue.port = port.port();
  EXPECT_EQ(BurstFor(queue), &BurstDirect);
  queue.lock = &lock;
  EXPECT_EQ(BurstFor(queue), &BurstLocked);
  queue.sends = &sends;
  EXPECT_EQ(BurstFor(queue), &BurstCountedAndLocked);
  std::vector<rte_mbuf*> mbufs = Packets(pool, 100);
  EXPECT_EQ(BurstFor(queue)(queue, mbufs.data(), 60), 60);
  EXPECT_FALSE(rte_spinlock_is_locked(&lock.lock));
  queue.lock = nullptr;
  EXPECT_EQ(BurstFor(queue), &BurstCounted);
  EXPECT_EQ(BurstFor(queue)(queue, mbufs.data() + 60, 40), 40);
  EXPECT_EQ(port.Take(0), Tags(1, 0, 100));
  SendSizes seen{};
  sends.AddTo(seen);
  SendSizes wanted{};
  wanted[SendBucket(60)] = 2;  // 33 to 64.
  EXPECT_EQ(seen, wanted);
}

// Without a queue that is locked or counts the lcore's code calls the driver, whatever the function
// pointer says.
TEST(TxQueue, OnlyAPolicyByQueueAsksTheQueueHow) {
  Pool pool(100);
  RingPort port;
  port.Start(pool);
  TxQueue queue;
  queue.port = port.port();
  queue.burst = [](const TxQueue&, rte_mbuf**, uint16_t) noexcept -> uint16_t { return 0; };
  std::vector<rte_mbuf*> mbufs = Packets(pool, 1);
  EXPECT_EQ((TxPolicy<true, false>::Burst(queue, mbufs.data(), 1)), 0);
  EXPECT_EQ((TxPolicy<true, true>::Burst(queue, mbufs.data(), 1)), 0);
  EXPECT_EQ(port.Sent(0), 0U);
  EXPECT_EQ((TxPolicy<false, false>::Burst(queue, mbufs.data(), 1)), 1);
  EXPECT_EQ(port.Take(0), Tags(1, 0, 1));
}

}  // namespace
}  // namespace penstock
