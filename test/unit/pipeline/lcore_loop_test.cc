// SPDX-License-Identifier: BSD-3-Clause
//
// LcoreLoop on a worker lcore over rings that the test fills and empties: books that balance in
// every snapshot, packets held and made, order per flow, stop, heartbeat, quiescent states. The
// test itself runs on the main lcore and lets the worker run by yielding.

#include "lib/pipeline/lcore_loop.h"

#include <gtest/gtest.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <vector>

#include "lib/pipeline/mode.h"
#include "test/unit/pipeline/rig.h"

namespace penstock {
namespace {

constexpr unsigned kLcore = 1;

// ---- stages as later features will have them ----

// Holds what it gets and lets go of it a few packets late, all of it at the end.
class Delay : public StageBase {
 public:
  static constexpr absl::string_view kName = "delay";
  static constexpr StageCounter kCounters[] = {{"released", "packets let go in Poll"}};
  static absl::StatusOr<Delay> Create(const StageContext&) { return Delay(); }

  void Process(Burst burst, auto& out) noexcept {
    for (rte_mbuf* mbuf : burst.mbufs) {
      if (count_ == held_.size()) Release(1, out);
      held_[(first_ + count_++) % held_.size()] = mbuf;
    }
  }
  void Poll(auto& out) noexcept {
    if (!open.load(std::memory_order_relaxed)) return;
    const size_t n = std::min<size_t>(count_, 3);
    out.Count(0, n);
    Release(n, out);
  }
  uint64_t Held() const noexcept { return count_; }
  void Drain(auto& out) noexcept { Release(count_, out); }

  static inline std::atomic<bool> open{true};

 private:
  void Release(size_t n, auto& out) noexcept {
    for (; n > 0; --n, --count_) out.Next(std::exchange(held_[first_++ % held_.size()], nullptr));
  }
  std::array<rte_mbuf*, 1024> held_;
  size_t first_ = 0;
  size_t count_ = 0;
};

// Makes numbered packets, one per iteration, until it has made enough.
class Make : public StageBase {
 public:
  static constexpr absl::string_view kName = "make";
  static absl::StatusOr<Make> Create(const StageContext& context) {
    Make stage;
    stage.pool_ = context.mempool;
    return stage;
  }
  void Process(Burst burst, auto& out) noexcept { out.Next(burst); }
  void Poll(auto& out) noexcept {
    if (made_ == kEnough) return;
    rte_mbuf* const mbuf = rte_pktmbuf_alloc(pool_);
    if (mbuf == nullptr) return;
    rte_pktmbuf_append(mbuf, kPacketBytes);
    SetTag(mbuf, {99, made_++});
    out.Made(1);
    out.Next(mbuf);
  }
  static constexpr uint32_t kEnough = 200;

 private:
  rte_mempool* pool_ = nullptr;
  uint32_t made_ = 0;
};

// Drops each fifth packet of a flow, sends the rest: some one by one, some whole.
class Sort : public StageBase {
 public:
  static constexpr absl::string_view kName = "sort";
  static constexpr DropReason kDrops[] = {{"fifth", "each fifth packet"}};
  static absl::StatusOr<Sort> Create(const StageContext&) { return Sort(); }
  void Process(Burst burst, auto& out) noexcept {
    size_t kept = 0;
    for (rte_mbuf* mbuf : burst.mbufs) {
      if (TagOf(mbuf).number % 5 == 4) {
        out.Drop(0, mbuf);
      } else {
        burst.mbufs[kept++] = mbuf;
      }
    }
    if (++bursts_ % 2 == 0) {
      out.Send(0, burst.mbufs.first(kept));
    } else {
      for (rte_mbuf* mbuf : burst.mbufs.first(kept)) out.Send(0, mbuf);
    }
  }

 private:
  uint64_t bursts_ = 0;
};

constexpr Mode kRow = MakeMode<Make, Delay, Sort>("row", "", {});
constexpr Mode kSortOnly = MakeMode<Sort>("sort", "", {});

struct FreeVariable {
  void operator()(rte_rcu_qsbr* variable) const { std::free(variable); }
};

// One program on worker lcore kLcore, over a port with two RX queues and one TX queue.
class Running {
 public:
  Running(const Mode& mode, Pool& pool, RingPort& port, uint16_t burst = 32, uint32_t retries = 0,
          std::vector<HomeMail> mail = {})
      : quiescence_(static_cast<rte_rcu_qsbr*>(
            std::aligned_alloc(64, RTE_CACHE_LINE_ROUNDUP(rte_rcu_qsbr_get_memsize(8))))) {
    EXPECT_EQ(rte_rcu_qsbr_init(quiescence_.get(), 8), 0);
    EXPECT_EQ(rte_rcu_qsbr_thread_register(quiescence_.get(), kLcore), 0);
    StageContext context{configuration_,
                         kLcore,
                         {{port.port(), 0, 0}, {port.port(), 1, 0}},
                         {{port.port(), 0, {}, false}},
                         pool.get()};
    LcoreResources resources{
        .tx = {}, .burst = burst, .tx_retries = retries, .quiescence = quiescence_.get()};
    resources.tx.resize(1);
    resources.tx[0].port = port.port();
    resources.mail = std::move(mail);
    auto program = mode.create(context, std::move(resources));
    EXPECT_TRUE(program.ok()) << program.status();
    program_ = *std::move(program);
    program_->page().Start();
    EXPECT_EQ(rte_eal_remote_launch(
                  [](void* program) {
                    static_cast<LcoreProgram*>(program)->Run();
                    return 0;
                  },
                  program_.get(), kLcore),
              0);
  }
  ~Running() { Stop(); }

  void Stop() {
    program_->Stop();
    rte_eal_wait_lcore(kLcore);
  }
  LcoreProgram& program() { return *program_; }
  rte_rcu_qsbr* quiescence() { return quiescence_.get(); }

  struct Books {
    uint64_t polls, empty_polls, made, held, rx, tx, dropped;
    uint64_t In() const { return rx + made; }
    uint64_t Out() const { return tx + dropped + held; }
  };
  Books Read() {
    const CounterPage::Copy copy = program_->page().Read();
    const LcoreCounters& layout = program_->layout();
    const std::vector<uint64_t>& v = copy.values;
    Books books{v[LcoreCounters::kPolls],
                v[LcoreCounters::kEmptyPolls],
                v[LcoreCounters::kMade],
                v[LcoreCounters::kHeld],
                0,
                0,
                0};
    for (size_t i = 0; i < layout.rx_slots; ++i) books.rx += v[layout.Rx(i)];
    for (size_t i = 0; i < layout.tx_slots; ++i) books.tx += v[layout.Tx(i)];
    for (size_t i = 0; i < layout.drops; ++i) books.dropped += v[layout.Drop(i)];
    return books;
  }

 private:
  Configuration configuration_;
  std::unique_ptr<rte_rcu_qsbr, FreeVariable> quiescence_;
  std::unique_ptr<LcoreProgram> program_;
};

// The numbers of one flow in the order sent.
std::vector<uint32_t> NumbersOf(const std::vector<Tag>& tags, uint32_t flow) {
  std::vector<uint32_t> numbers;
  for (const Tag& tag : tags) {
    if (tag.flow == flow) numbers.push_back(tag.number);
  }
  return numbers;
}

std::vector<uint32_t> AllButFifth(uint32_t count) {
  std::vector<uint32_t> numbers;
  for (uint32_t i = 0; i < count; ++i) {
    if (i % 5 != 4) numbers.push_back(i);
  }
  return numbers;
}

// Of two mempools, each with a bell that another lcore rings.
TEST(LcoreLoop, TakesHomeWhatOthersFreed) {
  struct Home {
    std::atomic<uint32_t> bell{0};
    uint32_t heard = 0;
    std::atomic<uint32_t> taken{0};
  };
  std::array<Home, 2> homes;
  std::vector<HomeMail> mail;
  for (Home& home : homes) {
    mail.push_back({.bell = &home.bell,
                    .heard = &home.heard,
                    .take =
                        [](void* pool, uint32_t number) noexcept {
                          auto* const mine = static_cast<Home*>(pool);
                          mine->heard = mine->bell;
                          if (number == 7) ++mine->taken;
                        },
                    .pool = &home,
                    .home = 7});
  }
  Pool pool(1000);
  RingPort port({.rx_queues = 2, .ring_size = 64});
  port.Start(pool);
  Running running(kSortOnly, pool, port, 32, 0, mail);
  for (const size_t rung : {0, 1, 1, 0}) {
    const uint32_t before = homes[rung].taken;
    ++homes[rung].bell;
    while (homes[rung].taken == before) std::this_thread::yield();
  }
  running.Stop();
  EXPECT_EQ(homes[0].taken, 2u);
  EXPECT_EQ(homes[1].taken, 2u);
}

TEST(LcoreLoop, HoldsMakesDropsAndSendsInOrderAndBalancesInEverySnapshot) {
  Delay::open = true;
  for (const uint16_t burst : {1, 32, 512}) {
    Pool pool(8000);
    RingPort port({.rx_queues = 2, .ring_size = 4096});
    port.Start(pool);
    constexpr uint32_t kEach = 1500;
    std::vector<Tag> sent;
    {
      Running running(kRow, pool, port, burst);
      uint32_t given[2] = {};
      int snapshots = 0;
      const auto look = [&] {
        const Running::Books books = running.Read();
        EXPECT_EQ(books.In(), books.Out());
        EXPECT_LE(books.empty_polls, books.polls);
        ++snapshots;
        for (const Tag& tag : port.Take(0)) sent.push_back(tag);
        return books;
      };
      while (given[0] + given[1] < 2 * kEach) {
        for (uint16_t queue = 0; queue < 2; ++queue) {
          given[queue] += port.Give(queue, pool, queue,
                                    std::min<uint32_t>(40, kEach - given[queue]), given[queue]);
        }
        look();
      }
      EXPECT_TRUE(Eventually([&] { return look().rx == 2 * kEach; }));
      EXPECT_TRUE(Eventually([&] { return look().made == Make::kEnough; }));
      EXPECT_GT(snapshots, 10);
      running.Stop();
      const Running::Books last = look();
      EXPECT_EQ(last.held, 0U);
      EXPECT_EQ(last.made, Make::kEnough);
      EXPECT_EQ(last.dropped, 2 * kEach / 5 + Make::kEnough / 5);
      EXPECT_EQ(last.tx, sent.size());
    }
    // Nothing overtakes within a flow, nothing is missing, nothing is there twice.
    EXPECT_EQ(NumbersOf(sent, 0), AllButFifth(kEach));
    EXPECT_EQ(NumbersOf(sent, 1), AllButFifth(kEach));
    EXPECT_EQ(NumbersOf(sent, 99), AllButFifth(Make::kEnough));
    EXPECT_EQ(pool.InUse(), 0U);
  }
}

TEST(LcoreLoop, StopLetsGoOfAllThatIsHeldAndHeldIsInTheBooksUntilThen) {
  Delay::open = false;
  Pool pool(2000);
  RingPort port({.rx_queues = 2});
  port.Start(pool);
  Running running(kRow, pool, port);
  port.Give(0, pool, 0, 700);
  EXPECT_TRUE(Eventually([&] { return running.Read().rx == 700; }));
  EXPECT_TRUE(Eventually([&] { return running.Read().made == Make::kEnough; }));
  const Running::Books before = running.Read();
  EXPECT_EQ(before.held, 700U + Make::kEnough);
  EXPECT_EQ(before.tx, 0U);
  EXPECT_EQ(before.In(), before.Out());
  running.Stop();
  const Running::Books after = running.Read();
  EXPECT_EQ(after.held, 0U);
  EXPECT_EQ(after.In(), after.Out());
  EXPECT_EQ(NumbersOf(port.Take(0), 0), AllButFifth(700));
  Delay::open = true;
}

TEST(LcoreLoop, AFullQueueCostsCountedPacketsAndNoMbuf) {
  for (const uint32_t retries : {0U, 3U}) {
    Pool pool(2000);
    RingPort port({.rx_queues = 2, .ring_size = 256});
    port.Start(pool);
    Running running(kSortOnly, pool, port, 32, retries);
    uint32_t given = 0;
    while (given < 1000) {
      given += port.Give(0, pool, 0, std::min(100U, 1000 - given), given);
      std::this_thread::yield();
    }
    EXPECT_TRUE(Eventually([&] { return running.Read().rx == 1000; }));
    running.Stop();
    const CounterPage::Copy copy = running.program().page().Read();
    const LcoreCounters& layout = running.program().layout();
    EXPECT_EQ(copy.values[layout.Tx(0)], 255U);
    EXPECT_EQ(copy.values[layout.Drop(static_cast<size_t>(TxDrop::kFull))], 800U - 255U);
    EXPECT_EQ(copy.values[layout.Drop(std::size(kTxDrops))], 200U);
    EXPECT_EQ(pool.InUse(), 255U);
  }
}

TEST(LcoreLoop, CountsPollsAndBusyTimeOnlyWhereTheyBelong) {
  Pool pool(100);
  RingPort port({.rx_queues = 2});
  port.Start(pool);
  Running running(kSortOnly, pool, port);
  EXPECT_TRUE(Eventually([&] { return running.Read().polls > 5000; }));
  CounterPage::Copy copy = running.program().page().Read();
  EXPECT_EQ(copy.values[LcoreCounters::kPolls] % 2, 0U);  // Both queues in each iteration.
  EXPECT_EQ(copy.values[LcoreCounters::kPolls], copy.values[LcoreCounters::kEmptyPolls]);
  EXPECT_EQ(copy.values[LcoreCounters::kBusyCycles], 0U);
  port.Give(1, pool, 0, 50);
  EXPECT_TRUE(Eventually([&] { return running.Read().rx == 50; }));
  running.Stop();
  copy = running.program().page().Read();
  const LcoreCounters& layout = running.program().layout();
  EXPECT_EQ(copy.values[layout.Rx(0)], 0U);
  EXPECT_EQ(copy.values[layout.Rx(1)], 50U);
  EXPECT_LT(copy.values[LcoreCounters::kEmptyPolls], copy.values[LcoreCounters::kPolls]);
  EXPECT_GT(copy.values[LcoreCounters::kBusyCycles], 0U);
}

TEST(LcoreLoop, BeatsAndReportsQuiescentStatesWhileItRunsAndBlocksNobodyAfterwards) {
  Pool pool(10);
  RingPort port({.rx_queues = 2});
  port.Start(pool);
  Running running(kSortOnly, pool, port);
  const uint64_t beat = running.program().Heartbeat();
  EXPECT_TRUE(Eventually([&] { return running.program().Heartbeat() > beat; }));
  for (int i = 0; i < 100; ++i) {
    const uint64_t token = rte_rcu_qsbr_start(running.quiescence());
    EXPECT_TRUE(Eventually(
        [&] { return rte_rcu_qsbr_check(running.quiescence(), token, /*wait=*/false) == 1; }));
  }
  running.Stop();
  const uint64_t token = rte_rcu_qsbr_start(running.quiescence());
  EXPECT_EQ(rte_rcu_qsbr_check(running.quiescence(), token, /*wait=*/false), 1);
}

TEST(LcoreLoop, StageAtIsTheStageOfTheRow) {
  Pool pool(10);
  RingPort port({.rx_queues = 2});
  port.Start(pool);
  Running running(kRow, pool, port);
  running.Stop();
  EXPECT_NE(running.program().StageAt(0), nullptr);
  EXPECT_NE(running.program().StageAt(1), running.program().StageAt(0));
  EXPECT_EQ(static_cast<Delay*>(running.program().StageAt(1))->Held(), 0U);
  EXPECT_EQ(running.program().StageAt(3), nullptr);
}

}  // namespace
}  // namespace penstock
