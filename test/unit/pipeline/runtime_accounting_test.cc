// SPDX-License-Identifier: BSD-3-Clause
//
// The report of a real runtime: it balances in every snapshot and at the end, with lcores that
// share a TX queue too, and a packet that is lost, doubled or leaked shows in it, each as what it
// is. And lcores allocate nothing. Main lcore; the runtime uses the workers.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <vector>

#include "lib/pipeline/runtime.h"
#include "test/unit/pipeline/rig.h"
#include "test/unit/pipeline/runtime_modes.h"

namespace penstock {
namespace {

std::unique_ptr<Runtime> Start(const Configuration& configuration) {
  auto runtime = Runtime::Create({.modes = kTestModes, .run_directory = nullptr, .version = ""});
  EXPECT_TRUE(runtime.ok()) << runtime.status();
  const auto applied = (*runtime)->Apply(configuration);
  EXPECT_TRUE(applied.ok()) << applied.status();
  return *std::move(runtime);
}

Configuration Mode_(const char* mode, uint16_t rxq = 1, std::optional<uint16_t> txq = {}) {
  Configuration configuration;
  configuration.forward_mode = mode;
  configuration.rxq.all = rxq;
  configuration.txq.all = txq;
  return configuration;
}

bool Moved(const Runtime& runtime, uint64_t packets) {
  return Eventually([&] {
    const Totals totals = runtime.Snapshot().totals;
    return totals.rx_packets + totals.made >= packets;
  });
}

// ---- faults ----

struct Injected {
  const char* what;
  Fault fault;
  uint64_t unaccounted;
  uint64_t in_use_at_exit;
};
const Injected kInjected[] = {
    {"none", Fault::kNone, 0, 0},
    {"a packet received and never let go of", Fault::kLost, 1, 1},
    {"a packet sent twice", Fault::kDoubled, 1, 0},
    {"an mbuf taken and kept", Fault::kLeaked, 0, 1},
};

TEST(RuntimeAccounting, EachInjectedFaultShowsAsWhatItIs) {
  for (const Injected& row : kInjected) {
    NullPort a;
    NullPort b;
    Faulty::done = false;
    Faulty::armed = Fault::kNone;
    auto runtime = Start(Mode_("faulty"));
    ASSERT_TRUE(Moved(*runtime, 1000));
    EXPECT_EQ(runtime->Snapshot().totals.unaccounted, 0U) << row.what;
    if (row.fault != Fault::kNone) {
      Faulty::armed = row.fault;
      ASSERT_TRUE(Eventually([] { return Faulty::done.load(); })) << row.what;
    }
    // The lcores' own books show it at once, while traffic goes on.
    EXPECT_EQ(runtime->Snapshot().totals.unaccounted, row.unaccounted) << row.what;
    const auto report = runtime->Close();
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->totals.unaccounted, row.unaccounted) << row.what << FormatReport(*report);
    EXPECT_EQ(Imbalances(*report).size(), row.unaccounted) << row.what;
    ASSERT_EQ(report->mempools.size(), 1U);
    EXPECT_EQ(report->mempools[0].in_use_at_exit, row.in_use_at_exit) << row.what;
    EXPECT_EQ(report->mempools[0].held_by_driver, 0U) << row.what;
  }
}

// The same over rings, where the other side counts for itself.
TEST(RuntimeAccounting, ThePeerSeesWhatTheReportSays) {
  for (const Injected& row : kInjected) {
    if (row.fault == Fault::kLeaked) continue;  // Concerns no packet of the peer.
    constexpr uint32_t kPackets = 500;
    Pool pool(1000);
    RingPort a;
    RingPort b;
    a.Give(0, pool, 1, kPackets);
    rte_mbuf* lost = nullptr;
    Faulty::done = false;
    Faulty::armed = row.fault;
    auto runtime = Start(Mode_("faulty"));
    ASSERT_TRUE(Moved(*runtime, kPackets));
    const auto report = runtime->Close();
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->totals.unaccounted, row.unaccounted) << row.what;
    EXPECT_EQ(report->totals.rx_packets, kPackets);
    // The first packet is missing, or there twice.
    std::vector<Tag> expected = Tags(1, 0, kPackets);
    if (row.fault == Fault::kLost) expected.erase(expected.begin());
    if (row.fault == Fault::kDoubled) expected.insert(expected.begin(), {1, 0});
    EXPECT_EQ(b.Take(0), expected) << row.what;
    EXPECT_EQ(report->totals.tx_packets, expected.size());
    EXPECT_EQ(pool.InUse(), row.in_use_at_exit) << row.what;
    if (row.fault == Fault::kLost) {
      // Find it, so that the pool is whole again.
      rte_mempool_obj_iter(
          pool.get(),
          [](rte_mempool*, void* found, void* object, unsigned) {
            auto* const mbuf = static_cast<rte_mbuf*>(object);
            if (mbuf->pkt_len == kPacketBytes && TagOf(mbuf) == Tag{1, 0}) {
              *static_cast<rte_mbuf**>(found) = mbuf;
            }
          },
          &lost);
      ASSERT_NE(lost, nullptr);
      rte_pktmbuf_free(lost);
    }
  }
}

// ---- sharing ----

// Sharing and users of one TX queue as the report has them.
TxQueueReport QueueOf(const Report& report, uint16_t port, uint16_t queue) {
  for (const TxQueueReport& each : report.tx_queues) {
    if (each.port == port && each.queue == queue) return each;
  }
  return {};
}

// Packets of some flows on their way: each arrives at most once and in its order.
class Arrivals {
 public:
  void Note(const std::vector<Tag>& tags) {
    for (const Tag& tag : tags) {
      ++count_;
      const auto last = last_.find(tag.flow);
      if (last != last_.end()) {
        EXPECT_GT(tag.number, last->second) << "flow " << tag.flow;
      }
      last_[tag.flow] = tag.number;
    }
  }
  uint64_t count() const { return count_; }

 private:
  std::map<uint32_t, uint32_t> last_;
  uint64_t count_ = 0;
};

// Two lcores send to the one TX queue of a ring port, which has no MT_LOCKFREE.
TEST(RuntimeAccounting, TwoLcoresShareAQueueUnderALock) {
  constexpr uint32_t kEach = 20000;
  Pool pool(4000);
  RingPort a({.rx_queues = 2, .ring_size = 512});
  RingPort b({.ring_size = 512});
  Configuration configuration;
  configuration.rxq.of_port[a.port()] = 2;
  auto runtime = Start(configuration);
  uint32_t given[2] = {};
  Arrivals arrivals;
  EXPECT_TRUE(Eventually([&] {
    for (uint16_t queue = 0; queue < 2; ++queue) {
      given[queue] += a.Give(queue, pool, queue, std::min(64U, kEach - given[queue]), given[queue]);
    }
    arrivals.Note(b.Take(0));
    return given[0] + given[1] == 2 * kEach;
  }));
  ASSERT_TRUE(Moved(*runtime, 2 * kEach));
  const auto report = runtime->Close();
  ASSERT_TRUE(report.ok()) << report.status();
  arrivals.Note(b.Take(0));
  const TxQueueReport queue = QueueOf(*report, b.port(), 0);
  EXPECT_EQ(queue.sharing, "spinlock");
  EXPECT_EQ(queue.users, 2U);
  ASSERT_EQ(report->lcores.size(), 3U);
  // Both lcores had their part in it.
  EXPECT_EQ(report->lcores[0].rx_packets, kEach);
  EXPECT_EQ(report->lcores[2].rx_packets, kEach);
  EXPECT_EQ(report->totals.unaccounted, 0U) << FormatReport(*report);
  EXPECT_EQ(report->totals.tx_packets, arrivals.count());
  EXPECT_EQ(arrivals.count() + report->drops.at("tx_full"), 2 * kEach);
  EXPECT_EQ(pool.InUse(), 0U);
}

// By the driver's own means where it has them: net_null does in later versions of DPDK.
TEST(RuntimeAccounting, ThreeLcoresShareAQueue) {
  NullPort a;
  auto runtime = Start(Mode_("io", 3, 1));
  const bool lockfree = runtime->ports()[0].capabilities().mt_lockfree;
  ASSERT_TRUE(Moved(*runtime, 100000));
  const auto report = runtime->Close();
  ASSERT_TRUE(report.ok()) << report.status();
  const TxQueueReport queue = QueueOf(*report, a.port(), 0);
  EXPECT_EQ(queue.sharing, lockfree ? "mt-lockfree" : "spinlock");
  EXPECT_EQ(queue.users, 3U);
  ASSERT_EQ(report->lcores.size(), 3U);
  for (const LcoreReport& lcore : report->lcores) EXPECT_GT(lcore.tx_packets, 0U) << lcore.lcore;
  EXPECT_EQ(report->totals.unaccounted, 0U) << FormatReport(*report);
  EXPECT_EQ(report->mempools[0].in_use_at_exit, 0U);
}

TEST(RuntimeAccounting, FourPortsOnFewerLcores) {
  constexpr uint32_t kEach = 5000;
  Pool pool(4000);
  RingPort ports[4];
  auto runtime = Start(Mode_("macswap"));
  uint32_t given[4] = {};
  Arrivals arrivals[4];
  EXPECT_TRUE(Eventually([&] {
    bool all = true;
    for (uint32_t i = 0; i < 4; ++i) {
      given[i] += ports[i].Give(0, pool, i, std::min(64U, kEach - given[i]), given[i]);
      arrivals[i].Note(ports[i].Take(0));
      all &= given[i] == kEach;
    }
    return all;
  }));
  ASSERT_TRUE(Moved(*runtime, 4 * kEach));
  const auto report = runtime->Close();
  ASSERT_TRUE(report.ok()) << report.status();
  uint64_t arrived = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    // What came in by a port left by the other one of its pair, and by no other.
    for (const Tag& tag : ports[i].Take(0)) {
      EXPECT_EQ(tag.flow, i ^ 1);
      arrivals[i].Note({tag});
    }
    arrived += arrivals[i].count();
    EXPECT_EQ(report->ports[i].tx_packets, arrivals[i].count());
  }
  EXPECT_EQ(report->totals.unaccounted, 0U) << FormatReport(*report);
  EXPECT_EQ(arrived + report->drops.at("tx_full"), 4 * kEach);
}

// ---- a peer that does not take ----

TEST(RuntimeAccounting, AFullPeerCostsCountedDrops) {
  for (const uint32_t retries : {0U, 2U}) {
    Pool pool(1000);
    RingPort a;
    RingPort b({.ring_size = 64});
    a.Give(0, pool, 1, 500);
    Configuration configuration;
    configuration.tx_retries = retries;
    auto runtime = Start(configuration);
    ASSERT_TRUE(Moved(*runtime, 500));
    const auto report = runtime->Close();
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->totals.unaccounted, 0U) << FormatReport(*report);
    EXPECT_EQ(report->totals.tx_packets, 63U);
    EXPECT_EQ(report->drops.at("tx_full"), 437U);
    EXPECT_EQ(report->drops.at("tx_error"), 0U);
    EXPECT_EQ(pool.InUse(), 63U);
    EXPECT_EQ(b.Take(0), Tags(1, 0, 63));
  }
}

// ---- while it runs ----

// Takes snapshots, thousands where the machine is quick enough for that.
void ExpectBalancedSnapshots(const Runtime& runtime, int count) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  uint64_t last = 0;
  for (int i = 0; i < count && (i < 20 || std::chrono::steady_clock::now() < deadline); ++i) {
    const Report report = runtime.Snapshot();
    ASSERT_EQ(report.totals.unaccounted, 0U) << FormatReport(report);
    ASSERT_FALSE(report.at_rest);
    const uint64_t moved = report.totals.rx_packets + report.totals.made;
    ASSERT_GE(moved, last);
    last = moved;
  }
  EXPECT_GT(last, 0U);
}

TEST(RuntimeAccounting, EverySnapshotOfRunningLcoresBalances) {
  for (const uint16_t queues : {1, 2}) {
    NullPort a;
    NullPort b;
    auto runtime = Start(Mode_("io", queues, 1));
    // Other modes in between: sums of past lcores and of present ones.
    for (const char* mode : {"io", "parking", "txonly"}) {
      ASSERT_TRUE(runtime->Apply(Mode_(mode, queues, 1)).ok());
      ASSERT_TRUE(Moved(*runtime, 1));
      ExpectBalancedSnapshots(*runtime, queues == 1 ? 3000 : 100);
    }
    const auto report = runtime->Close();
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->totals.unaccounted, 0U) << FormatReport(*report);
    EXPECT_EQ(report->mempools[0].in_use_at_exit, 0U);
  }
}

// ---- no allocation ----

TEST(RuntimeAccounting, LcoresAllocateNothing) {
  if (!AllocationsOf::kAvailable) GTEST_SKIP() << "a sanitizer's malloc is in place";
  for (const char* mode :
       {"watched_io", "watched_macswap", "watched_rxonly", "watched_txonly", "watched_parking"}) {
    NullPort a;
    NullPort b;
    AllocationsOf::Forget();
    // Three lcores; those of a receiving mode share a TX queue.
    auto runtime = Start(Mode_(mode, 2, 1));
    ASSERT_TRUE(Moved(*runtime, 20000)) << mode;
    for (int i = 0; i < 20; ++i) EXPECT_EQ(runtime->Snapshot().totals.unaccounted, 0U);
    ASSERT_TRUE(runtime->Close().ok()) << mode;
    EXPECT_EQ(AllocationsOf::Count(), 0U) << mode;
  }
}

TEST(RuntimeAccounting, AnAllocationWouldBeSeen) {
  if (!AllocationsOf::kAvailable) GTEST_SKIP() << "a sanitizer's malloc is in place";
  NullPort port;
  AllocationsOf::Forget();
  auto runtime = Start(Mode_("watched_fault"));
  ASSERT_TRUE(Moved(*runtime, 1000));
  ASSERT_TRUE(runtime->Close().ok());
  EXPECT_GT(AllocationsOf::Count(), 0U);
}

}  // namespace
}  // namespace penstock
