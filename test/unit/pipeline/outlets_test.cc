// SPDX-License-Identifier: BSD-3-Clause
//
// Where packets leave an lcore: in the order given, each counted once, none lost or freed twice,
// with queues that take all, some or none. Main lcore.

#include "lib/pipeline/outlets.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <vector>

#include "test/unit/pipeline/rig.h"

namespace penstock {
namespace {

constexpr unsigned kFull = static_cast<unsigned>(TxDrop::kFull);
constexpr unsigned kSegments = static_cast<unsigned>(TxDrop::kSegments);
constexpr unsigned kOwn = 2;  // A stage's reason, behind sending's own two.

// Queues on one net_ring port, one per slot, and the books.
template <bool kLocked = false, bool kSingleSegment = false>
struct Bench {
  explicit Bench(Pool& pool, uint16_t slots = 1, unsigned ring_size = 8192, uint32_t retries = 0)
      : layout{1, slots, 3, 2},
        port({.tx_queues = slots, .ring_size = ring_size}),
        counts(layout.size(), 0),
        outlets(Queues(slots), layout, counts.data(), retries) {
    port.Start(pool);
  }

  std::vector<TxQueue> Queues(uint16_t slots) {
    std::vector<TxQueue> queues(slots);
    for (uint16_t i = 0; i < slots; ++i) {
      queues[i].port = port.port();
      queues[i].queue = i;
      queues[i].single_segment = kSingleSegment;
      queues[i].burst = &BurstDirect;
    }
    return queues;
  }

  uint64_t Sent(size_t slot = 0) const { return counts[layout.Tx(slot)]; }
  uint64_t Dropped(unsigned reason) const { return counts[layout.Drop(reason)]; }

  const LcoreCounters layout;
  RingPort port;
  std::vector<uint64_t> counts;
  LcoreOutlets<TxPolicy<kLocked, kSingleSegment>> outlets;
};

std::vector<rte_mbuf*> Packets(Pool& pool, uint32_t flow, uint32_t count, uint32_t first = 0) {
  std::vector<rte_mbuf*> mbufs;
  for (uint32_t i = 0; i < count; ++i) mbufs.push_back(pool.Packet({flow, first + i}));
  return mbufs;
}

TEST(LcoreOutlets, AWholeBurstLeavesAtOnce) {
  Pool pool(100);
  Bench bench(pool);
  auto mbufs = Packets(pool, 1, 32);
  EXPECT_EQ(bench.outlets.Send(0, std::span(mbufs)), 32);
  EXPECT_EQ(bench.port.Sent(0), 32U);  // Without a Flush.
  EXPECT_EQ(bench.Sent(), 32U);
  bench.outlets.Flush();
  EXPECT_EQ(bench.port.Take(0), Tags(1, 0, 32));
}

TEST(LcoreOutlets, SinglePacketsAreGatheredAndLeaveAtTheFlush) {
  Pool pool(100);
  Bench bench(pool);
  for (rte_mbuf* mbuf : Packets(pool, 1, 32)) bench.outlets.Send(0, mbuf);
  EXPECT_EQ(bench.port.Sent(0), 0U);
  EXPECT_EQ(bench.Sent(), 0U);
  bench.outlets.Flush();
  EXPECT_EQ(bench.port.Take(0), Tags(1, 0, 32));
  EXPECT_EQ(bench.Sent(), 32U);
  bench.outlets.Flush();  // Nothing is left to leave twice.
  EXPECT_EQ(bench.port.Sent(0), 0U);
  EXPECT_EQ(bench.Sent(), 32U);
}

TEST(LcoreOutlets, MoreThanFitIsGatheredInTurns) {
  for (const uint32_t count : {511U, 512U, 513U, 1024U, 1025U, 2000U}) {
    Pool pool(2100);
    Bench bench(pool);
    for (rte_mbuf* mbuf : Packets(pool, 1, count)) bench.outlets.Send(0, mbuf);
    bench.outlets.Flush();
    EXPECT_EQ(bench.port.Take(0), Tags(1, 0, count));
    EXPECT_EQ(bench.Sent(), count);
  }
}

// The order of each TX queue is the order in which packets were given to it, however they were
// given.
TEST(LcoreOutlets, SinglesAndBurstsKeepTheOrderOfEachQueue) {
  for (uint32_t seed = 0; seed < 30; ++seed) {
    std::mt19937 random(seed);
    Pool pool(16000);
    Bench bench(pool, 3);
    uint32_t given[3] = {};
    uint32_t total = 0;
    while (total < 5000) {
      const auto slot = static_cast<TxSlot>(random() % 3);
      const uint32_t n = random() % 4 == 0 ? 1 + random() % 600 : 1 + random() % 40;
      auto mbufs = Packets(pool, slot, n, given[slot]);
      if (random() % 2 == 0) {
        bench.outlets.Send(slot, std::span(mbufs).first(std::min<size_t>(n, kMaxBurst)));
        for (size_t i = kMaxBurst; i < n; ++i) bench.outlets.Send(slot, mbufs[i]);
      } else {
        for (rte_mbuf* mbuf : mbufs) bench.outlets.Send(slot, mbuf);
      }
      given[slot] += n;
      total += n;
      if (random() % 5 == 0) bench.outlets.Flush();
    }
    bench.outlets.Flush();
    for (uint16_t slot = 0; slot < 3; ++slot) {
      EXPECT_EQ(bench.port.Take(slot), Tags(slot, 0, given[slot])) << "seed " << seed;
      EXPECT_EQ(bench.Sent(slot), given[slot]);
    }
    EXPECT_EQ(pool.InUse(), 0U);
  }
}

TEST(LcoreOutlets, WhatAFullQueueDoesNotTakeIsDroppedAndCountedOnce) {
  for (const bool single : {false, true}) {
    Pool pool(200);
    Bench bench(pool, 1, 64);
    auto mbufs = Packets(pool, 1, 100);
    if (single) {
      for (rte_mbuf* mbuf : mbufs) bench.outlets.Send(0, mbuf);
    } else {
      EXPECT_EQ(bench.outlets.Send(0, std::span(mbufs)), 63);
    }
    bench.outlets.Flush();
    EXPECT_EQ(bench.Sent(), 63U);
    EXPECT_EQ(bench.Dropped(kFull), 37U);
    EXPECT_EQ(pool.InUse(), 63U);  // The dropped ones are back, the sent ones are not.
    EXPECT_EQ(bench.port.Take(0), Tags(1, 0, 63));
  }
}

// A queue that takes `taken` packets a call. The first calls take none.
struct Miser {
  static inline uint32_t calls;
  static inline uint32_t refuse;
  static inline uint16_t taken;
  static inline std::vector<rte_mbuf*> sent;

  static uint16_t Burst(const TxQueue&, rte_mbuf** mbufs, uint16_t n) noexcept {
    if (calls++ < refuse) return 0;
    const uint16_t take = std::min(n, taken);
    sent.insert(sent.end(), mbufs, mbufs + take);
    return take;
  }
};

TEST(LcoreOutlets, TriesAgainAsOftenAsConfiguredAndNotOftener) {
  struct Row {
    uint32_t retries;
    uint32_t refuse;
    uint16_t taken;
    uint32_t sent;
    uint32_t calls;
  };
  constexpr uint32_t kGiven = 10;
  for (const Row& row : {Row{0, 0, 10, 10, 1}, Row{0, 0, 4, 4, 1}, Row{0, 1, 10, 0, 1},
                         Row{1, 0, 4, 8, 2}, Row{2, 0, 4, 10, 3}, Row{5, 0, 4, 10, 3},
                         Row{3, 3, 10, 10, 4}, Row{3, 4, 10, 0, 4}, Row{100, 90, 1, 10, 100}}) {
    Pool pool(20);
    Miser::calls = 0;
    Miser::refuse = row.refuse;
    Miser::taken = row.taken;
    Miser::sent.clear();
    std::vector<TxQueue> queues(1);
    queues[0].burst = &Miser::Burst;
    const LcoreCounters layout{0, 1, 2, 0};
    std::vector<uint64_t> counts(layout.size(), 0);
    LcoreOutlets<TxPolicy<true, false>> outlets(std::move(queues), layout, counts.data(),
                                                row.retries);
    auto mbufs = Packets(pool, 1, kGiven);
    const auto given = mbufs;
    outlets.Send(0, std::span(mbufs));
    outlets.Flush();
    EXPECT_EQ(counts[layout.Tx(0)], row.sent);
    EXPECT_EQ(counts[layout.Drop(kFull)], kGiven - row.sent);
    EXPECT_EQ(Miser::calls, row.calls);
    EXPECT_EQ(Miser::sent, std::vector<rte_mbuf*>(given.begin(), given.begin() + row.sent));
    EXPECT_EQ(pool.InUse(), row.sent);
    rte_pktmbuf_free_bulk(Miser::sent.data(), static_cast<unsigned>(Miser::sent.size()));
  }
}

TEST(LcoreOutlets, DropsAreCountedUnderTheirReasonAndFreedOnce) {
  for (const uint32_t count : {1U, 63U, 64U, 65U, 200U}) {
    Pool pool(500);
    Bench bench(pool);
    auto burst = Packets(pool, 1, count);
    bench.outlets.Drop(kOwn, std::span(burst));
    EXPECT_EQ(pool.InUse(), 0U);
    for (rte_mbuf* mbuf : Packets(pool, 2, count)) bench.outlets.Drop(kOwn, mbuf);
    bench.outlets.Flush();
    EXPECT_EQ(bench.Dropped(kOwn), 2 * count);
    EXPECT_EQ(bench.Dropped(kFull), 0U);
    EXPECT_EQ(bench.Dropped(kSegments), 0U);
    EXPECT_EQ(pool.InUse(), 0U);
  }
}

TEST(LcoreOutlets, MadeAndCountAddToTheirOwnCounters) {
  Pool pool(1);
  Bench bench(pool);
  bench.outlets.Made(3);
  bench.outlets.Made(4);
  bench.outlets.Count(0, 5);
  bench.outlets.Count(1, 7);
  bench.outlets.Count(1, 1);
  EXPECT_EQ(bench.counts[LcoreCounters::kMade], 7U);
  EXPECT_EQ(bench.counts[bench.layout.Stage(0)], 5U);
  EXPECT_EQ(bench.counts[bench.layout.Stage(1)], 8U);
  EXPECT_EQ(std::accumulate(bench.counts.begin(), bench.counts.end(), uint64_t{0}), 20U);
}

// ---- segments ----

std::vector<uint8_t> BytesOf(const rte_mbuf* packet) {
  std::vector<uint8_t> bytes;
  for (const rte_mbuf* segment = packet; segment != nullptr; segment = segment->next) {
    const auto* data = rte_pktmbuf_mtod(segment, const uint8_t*);
    bytes.insert(bytes.end(), data, data + segment->data_len);
  }
  return bytes;
}

struct Keep {
  static inline std::vector<rte_mbuf*> sent;
  static uint16_t Burst(const TxQueue&, rte_mbuf** mbufs, uint16_t n) noexcept {
    sent.insert(sent.end(), mbufs, mbufs + n);
    return n;
  }
};

TEST(LcoreOutlets, ForAPortOfSingleSegmentsChainsAreJoinedOrDropped) {
  Pool pool(100, /*data_room_bytes=*/128 + 256);  // A segment takes 256 bytes.
  Keep::sent.clear();
  std::vector<TxQueue> queues(1);
  queues[0].burst = &Keep::Burst;
  queues[0].single_segment = true;
  const LcoreCounters layout{0, 1, 2, 0};
  std::vector<uint64_t> counts(layout.size(), 0);
  LcoreOutlets<TxPolicy<true, true>> outlets(std::move(queues), layout, counts.data(), 0);
  // One segment, joined, too long, one segment, joined from eight, too long by one byte.
  const std::vector<std::vector<uint16_t>> shapes = {
      {64}, {60, 60, 80}, {200, 200}, {256}, {40, 10, 1, 1, 1, 1, 1, 9}, {256, 1}};
  std::vector<rte_mbuf*> mbufs;
  std::vector<std::vector<uint8_t>> bytes;
  for (uint32_t i = 0; i < shapes.size(); ++i) {
    mbufs.push_back(pool.Chain({1, i}, shapes[i]));
    bytes.push_back(BytesOf(mbufs.back()));
  }
  outlets.Send(0, std::span(mbufs).first(3));
  for (size_t i = 3; i < mbufs.size(); ++i) outlets.Send(0, mbufs[i]);
  outlets.Flush();
  EXPECT_EQ(counts[layout.Tx(0)], 4U);
  EXPECT_EQ(counts[layout.Drop(kSegments)], 2U);
  EXPECT_EQ(counts[layout.Drop(kFull)], 0U);
  ASSERT_EQ(Keep::sent.size(), 4U);
  const size_t left[] = {0, 1, 3, 4};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(Keep::sent[i]->nb_segs, 1);
    EXPECT_EQ(TagOf(Keep::sent[i]), (Tag{1, static_cast<uint32_t>(left[i])}));
    EXPECT_EQ(BytesOf(Keep::sent[i]), bytes[left[i]]);
  }
  EXPECT_EQ(pool.InUse(), 4U);  // Neither the dropped chains nor the emptied segments.
  rte_pktmbuf_free_bulk(Keep::sent.data(), 4);
}

TEST(LcoreOutlets, ChainsPassWholeWhereThePortTakesThem) {
  Pool pool(10);
  Keep::sent.clear();
  // One queue of the lcore is on a port of single segments, the other is not.
  std::vector<TxQueue> queues(2);
  for (TxQueue& queue : queues) queue.burst = &Keep::Burst;
  queues[1].single_segment = true;
  const LcoreCounters layout{0, 2, 2, 0};
  std::vector<uint64_t> counts(layout.size(), 0);
  LcoreOutlets<TxPolicy<true, true>> outlets(std::move(queues), layout, counts.data(), 0);
  rte_mbuf* mbufs[] = {pool.Chain({1, 0}, {50, 50}), pool.Chain({1, 1}, {50, 50})};
  outlets.Send(0, std::span<rte_mbuf*>(mbufs, 1));
  outlets.Send(1, std::span<rte_mbuf*>(mbufs + 1, 1));
  ASSERT_EQ(Keep::sent.size(), 2U);
  EXPECT_EQ(Keep::sent[0]->nb_segs, 2);
  EXPECT_EQ(Keep::sent[1]->nb_segs, 1);
  rte_pktmbuf_free_bulk(Keep::sent.data(), 2);
}

// Random traffic into queues that fill up: what went in is sent, dropped or free again, and no mbuf
// is in two places.
TEST(LcoreOutlets, NoMbufIsLostOrDoubled) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    Pool pool(4000);
    Bench bench(pool, 2, 256, /*retries=*/1);
    uint64_t given = 0;
    uint64_t dropped = 0;
    uint64_t received = 0;
    for (int round = 0; round < 200; ++round) {
      const uint32_t n = 1 + random() % 300;
      auto mbufs = Packets(pool, 0, n);
      given += n;
      const auto slot = static_cast<TxSlot>(random() % 2);
      switch (random() % 4) {
        case 0:
          bench.outlets.Send(slot, std::span(mbufs));
          break;
        case 1:
          for (rte_mbuf* mbuf : mbufs) bench.outlets.Send(slot, mbuf);
          break;
        case 2:
          bench.outlets.Drop(kOwn, std::span(mbufs));
          dropped += n;
          break;
        default:
          for (rte_mbuf* mbuf : mbufs) bench.outlets.Drop(kOwn, mbuf);
          dropped += n;
      }
      bench.outlets.Flush();
      if (random() % 3 == 0) received += bench.port.Take(slot).size();
    }
    received += bench.port.Take(0).size() + bench.port.Take(1).size();
    EXPECT_EQ(bench.Sent(0) + bench.Sent(1), received);
    EXPECT_EQ(bench.Dropped(kOwn), dropped);
    EXPECT_EQ(received + dropped + bench.Dropped(kFull), given);
    EXPECT_GT(bench.Dropped(kFull), 0U);
    EXPECT_EQ(pool.InUse(), 0U) << "seed " << seed;
  }
}

}  // namespace
}  // namespace penstock
