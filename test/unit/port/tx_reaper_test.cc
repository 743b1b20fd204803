// SPDX-License-Identifier: BSD-3-Clause
//
// TxReaper on a port whose descriptor status the test answers, as net_xsk and as mlx5 would. Main
// lcore.

#include "lib/port/tx_reaper.h"

#include <gtest/gtest.h>
#include <rte_ethdev.h>

#include <algorithm>
#include <cerrno>

#include "test/unit/pipeline/rig.h"

namespace penstock {
namespace {

constexpr uint16_t kDescriptors = 64;

// What the answers are made of.
struct Ring {
  uint32_t waiting = 0;  // not done by the device
  uint32_t unread = 0;   // done, in completions that nobody has read
  uint32_t calls = 0;
  rte_spinlock_t* lock = nullptr;
  uint32_t unlocked = 0;
} ring;

void Count() {
  ++ring.calls;
  if (ring.lock != nullptr && !rte_spinlock_is_locked(ring.lock)) ++ring.unlocked;
}

// From the tail on: free and done ones, then those that wait.
int ExactStatus(void*, uint16_t offset) {
  Count();
  if (offset >= kDescriptors) return -EINVAL;
  return offset + ring.waiting < kDescriptors ? RTE_ETH_TX_DESC_DONE : RTE_ETH_TX_DESC_FULL;
}

// Reads two completions of 32 packets at most, then counts from the oldest.
int ReapingStatus(void*, uint16_t offset) {
  Count();
  ring.unread -= std::min(ring.unread, 64u);
  return offset < ring.waiting + ring.unread ? RTE_ETH_TX_DESC_FULL : RTE_ETH_TX_DESC_DONE;
}

class TxReaperTest : public testing::Test {
 protected:
  TxReaperTest() : pool_(512) {
    ring = {};
    rte_eth_conf conf{};
    EXPECT_EQ(rte_eth_dev_configure(port_.port(), 1, 1, &conf), 0);
    EXPECT_EQ(rte_eth_rx_queue_setup(port_.port(), 0, 64, 0, nullptr, pool_.get()), 0);
    EXPECT_EQ(rte_eth_tx_queue_setup(port_.port(), 0, 64, 0, nullptr), 0);
    EXPECT_EQ(rte_eth_dev_start(port_.port()), 0);
  }
  ~TxReaperTest() override {
    rte_eth_fp_ops[port_.port()].tx_descriptor_status = nullptr;
    rte_eth_dev_stop(port_.port());
  }
  TxReaper Reaper(TxReap way, rte_spinlock_t* lock = nullptr) {
    rte_eth_fp_ops[port_.port()].tx_descriptor_status =
        way == TxReap::kStatus ? ReapingStatus : ExactStatus;
    return TxReaper(port_.port(), 0, kDescriptors, way, lock);
  }

  Pool pool_;
  NullPort port_;
};

TEST_F(TxReaperTest, CountsWhatWaitsByAskingFew) {
  TxReaper reaper = Reaper(TxReap::kCleanupTold);
  for (uint32_t waiting = 0; waiting <= kDescriptors; ++waiting) {
    for (uint32_t out = 0; out <= kDescriptors; ++out) {
      ring = {.waiting = waiting};
      EXPECT_EQ(reaper.Waiting(out), std::min(waiting, out)) << waiting << " of " << out;
      EXPECT_LE(ring.calls, waiting == 0 || out == 0 ? 1u : waiting >= out ? 2u : 8u);
    }
  }
  // More than the ring has is asked for the whole ring.
  ring = {.waiting = kDescriptors};
  EXPECT_EQ(reaper.Waiting(1000), uint32_t{kDescriptors});
}

TEST_F(TxReaperTest, OthersCannotTell) {
  for (const TxReap way : {TxReap::kCleanup, TxReap::kStatus}) {
    EXPECT_EQ(Reaper(way).Waiting(10), CompletionPacer<ManualClock>::kCannotTell);
    EXPECT_EQ(ring.calls, 0u);
  }
}

TEST_F(TxReaperTest, AStatusThatReapsSaysHowManyCameBack) {
  TxReaper reaper = Reaper(TxReap::kStatus);
  ring = {.waiting = 7, .unread = 32};
  EXPECT_EQ(reaper.Reap(39), 32);
  EXPECT_EQ(ring.unread, 0u);
  EXPECT_EQ(reaper.Reap(7), 0) << "a tail without a completion of its own";
  ring.waiting = 0;
  EXPECT_EQ(reaper.Reap(7), 7);
}

TEST_F(TxReaperTest, WhatADriverWithoutTheFunctionAnswersIsPassedOn) {
  EXPECT_EQ(Reaper(TxReap::kCleanup).Reap(10), -ENOTSUP);
}

TEST_F(TxReaperTest, TheLockIsHeldAroundEveryCallAndNoLonger) {
  rte_spinlock_t lock = RTE_SPINLOCK_INITIALIZER;
  for (const TxReap way : {TxReap::kCleanupTold, TxReap::kStatus}) {
    TxReaper reaper = Reaper(way, &lock);
    ring = {.waiting = 5, .lock = &lock};
    reaper.Waiting(10);
    EXPECT_FALSE(rte_spinlock_is_locked(&lock));
    reaper.Reap(10);
    EXPECT_FALSE(rte_spinlock_is_locked(&lock));
    EXPECT_GT(ring.calls, 0u);
    EXPECT_EQ(ring.unlocked, 0u);
  }
}

}  // namespace
}  // namespace penstock
