// SPDX-License-Identifier: BSD-3-Clause
#include "lib/ring/ownership.h"

#include <gtest/gtest.h>

#include <thread>
#include <type_traits>
#include <vector>

namespace penstock {
namespace {

TEST(Ownership, AnExclusiveCursorHasNoLockAndNoGate) {
  static_assert(std::is_empty_v<Exclusive::Lock> && std::is_empty_v<Exclusive::Gate>);
  static_assert(std::is_empty_v<Checked::Lock> && !Checked::kShared);
  static_assert(!std::is_empty_v<Shared::Lock> && Shared::kShared);
}

TEST(OwnerGate, TellsWhoWasFirstToEveryoneElse) {
  OwnerGate gate;
  EXPECT_EQ(gate.Enter(3), 0u);
  EXPECT_EQ(gate.Enter(3), 0u);
  EXPECT_EQ(gate.Enter(4), 3u);
  EXPECT_EQ(gate.Enter(3), 0u) << "the first stays the owner";
  gate.Reset();
  EXPECT_EQ(gate.Enter(4), 0u);
  EXPECT_EQ(gate.Enter(3), 4u);
}

TEST(OwnerGate, LetsOneInWhenTwoComeAtOnce) {
  for (int round = 0; round < 200; ++round) {
    OwnerGate gate;
    uint32_t refused[2] = {};
    std::thread other([&] { refused[0] = gate.Enter(1); });
    refused[1] = gate.Enter(2);
    other.join();
    ASSERT_TRUE((refused[0] == 0 && refused[1] == 1) || (refused[0] == 2 && refused[1] == 0))
        << refused[0] << " " << refused[1];
  }
}

TEST(SpinLock, KeepsOthersOutAndCountsWhoHadToWait) {
  SpinLock lock;
  constexpr int kThreads = 3;
  constexpr int kTurns = 2000;
  int inside = 0;  // Not atomic: the lock has to do.
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < kTurns; ++turn) {
        ScopedLock guard(lock);
        const int before = inside;
        if (turn % 64 == 0) std::this_thread::yield();
        inside = before + 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(inside, kThreads * kTurns);
  EXPECT_LE(lock.waits(), uint64_t{kThreads} * kTurns);
}

TEST(SpinLock, AWaitIsCountedOnce) {
  SpinLock lock;
  lock.Lock();
  std::thread waiter([&] {
    lock.Lock();
    lock.Unlock();
  });
  // The waiter may not have come yet; then it does not wait, so try until one did.
  lock.Unlock();
  waiter.join();
  for (uint64_t before = lock.waits(); lock.waits() == before;) {
    std::atomic<bool> there{false};
    lock.Lock();
    std::thread again([&] {
      there = true;
      lock.Lock();
      lock.Unlock();
    });
    while (!there) std::this_thread::yield();
    for (int i = 0; i < 100; ++i) std::this_thread::yield();
    lock.Unlock();
    again.join();
    ASSERT_LE(lock.waits(), before + 1);
  }
}

TEST(Counter, LosesNothingWhenShared) {
  Counter<Shared> counter;
  std::thread other([&] {
    for (int i = 0; i < 10000; ++i) counter.Add(2);
  });
  for (int i = 0; i < 10000; ++i) counter.Add(1);
  other.join();
  EXPECT_EQ(counter.value(), 30000u);
  Counter<Exclusive> own;
  own.Add(3);
  own.Add(4);
  EXPECT_EQ(own.value(), 7u);
}

}  // namespace
}  // namespace penstock
