// SPDX-License-Identifier: BSD-3-Clause
//
// LcoreProgram: what one lcore runs, as the runtime sees it; LcoreLoop: the loop itself.
//
// One iteration: take home what other lcores freed, receive a burst from each RX queue and pass it
// down the row of stages, let the stages release or make packets, send what was gathered, take back
// what was sent when that is due, then balance the books: counters, the answer to who asked for
// them, heartbeat, quiescent state.
// Nothing is allocated, logged or locked in it but the lock of a queue that the plan shares.

#ifndef PENSTOCK_LIB_PIPELINE_LCORE_LOOP_H_
#define PENSTOCK_LIB_PIPELINE_LCORE_LOOP_H_

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_rcu_qsbr.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/cycles.h"
#include "lib/pipeline/completion_stage.h"
#include "lib/pipeline/first_bursts.h"
#include "lib/pipeline/lcore_counters.h"
#include "lib/pipeline/outlets.h"
#include "lib/pipeline/pipeline.h"
#include "lib/pipeline/stage.h"
#include "lib/port/tx_reaper.h"
#include "lib/ring/home_mail.h"
#include "lib/stats/counter_page.h"

namespace penstock {

class LcoreProgram {
 public:
  explicit LcoreProgram(LcoreCounters layout) : layout_(layout), page_(layout.size()) {}
  virtual ~LcoreProgram() = default;

  // On the lcore: runs until Stop(), then lets go of every packet held.
  virtual void Run() noexcept = 0;

  // The lcore's instance of stage `i` of the row, for a command of that stage.
  virtual void* StageAt(size_t i) noexcept = 0;

  // ---- Control threads. ----
  void Stop() noexcept { stop_.store(true, std::memory_order_relaxed); }
  CounterPage& page() noexcept { return page_; }
  const LcoreCounters& layout() const noexcept { return layout_; }
  // Whether bursts are left of those that it sends before anything else.
  bool SendingFirst() const noexcept { return sending_first_.load(std::memory_order_relaxed); }
  // Grows while the lcore runs; only that it moves means something.
  uint64_t Heartbeat() const noexcept { return heartbeat_.load(std::memory_order_relaxed); }

 protected:
  const LcoreCounters layout_;
  CounterPage page_;
  // Read each iteration, written once, by another thread: not on a line that the lcore writes.
  PENSTOCK_CACHE_ALIGNED std::atomic<bool> stop_{false};
  std::atomic<bool> sending_first_{false};
  // Written each iteration by the lcore, read now and then by others.
  PENSTOCK_CACHE_ALIGNED std::atomic<uint64_t> heartbeat_{0};
};

// What the runtime gives to a program besides the stages' context.
struct LcoreResources {
  std::vector<TxQueue> tx;
  uint16_t burst;
  uint32_t tx_retries;
  rte_rcu_qsbr* quiescence;                      // The lcore reports under its own lcore id.
  std::unique_ptr<FirstBursts> first = nullptr;  // What it sends before anything else.
  std::vector<HomeMail> mail = {};               // Of each mempool that has a home here.
  // The TX queues that it reaps.
  struct Reaped {
    TxReaper queue;
    CompletionPace pace;
    // How many packets the queue was given: in its own slot, or by all its users together.
    TxSlot slot = kNoSlot;
    const std::atomic<uint64_t>* sent = nullptr;
  };
  std::vector<Reaped> reaped = {};
};

using LcoreCompletion = CompletionStage<TxReaper, TscClock>;

template <class Row, class Policy, class Completion>
class LcoreLoop final : public LcoreProgram {
 public:
  LcoreLoop(const StageContext& context, LcoreResources resources, LcoreCounters layout,
            std::unique_ptr<Row> row)
      : LcoreProgram(layout),
        lcore_(context.lcore),
        burst_(resources.burst),
        quiescence_(resources.quiescence),
        row_(std::move(row)),
        outlets_(std::move(resources.tx), layout, page_.local().data(), resources.tx_retries),
        completion_(MakeCompletion(resources.reaped)),
        first_(std::move(resources.first)),
        mail_(std::move(resources.mail)) {
    sending_first_.store(first_ != nullptr, std::memory_order_relaxed);
    for (const StageContext::Rx& rx : context.rx) rx_.push_back({rx.port, rx.queue});
  }

  void Run() noexcept override {
    rte_rcu_qsbr_thread_online(quiescence_, lcore_);
    bool busy = false;
    uint64_t since_tsc = ReadTsc();
    uint64_t beat = Heartbeat();
    if (first_ != nullptr) beat = SendFirst(beat);
    while (!stop_.load(std::memory_order_relaxed)) {
      const bool moved = Iterate();
      // Time is read only where the lcore turns from busy to idle or back, and now and then in
      // between so that a snapshot is not far behind.
      if (moved != busy || (beat & kClockMask) == 0) [[unlikely]] {
        const uint64_t now_tsc = ReadTsc();
        if (busy) page_.local()[LcoreCounters::kBusyCycles] += now_tsc - since_tsc;
        since_tsc = now_tsc;
        busy = moved;
      }
      heartbeat_.store(++beat, std::memory_order_relaxed);
      EndIteration();
    }
    if (busy) page_.local()[LcoreCounters::kBusyCycles] += ReadTsc() - since_tsc;
    row_->Drain(outlets_);
    outlets_.Flush();
    completion_.Finish();
    EndIteration();
    rte_rcu_qsbr_thread_offline(quiescence_, lcore_);
    page_.Stop();
  }

  void* StageAt(size_t wanted) noexcept override {
    void* found = nullptr;
    [&]<size_t... i>(std::index_sequence<i...>) {
      ((i == wanted ? void(found = &row_->template stage<i>()) : void()), ...);
    }
    (std::make_index_sequence<Row::kStages>());
    return found;
  }

 private:
  static constexpr uint64_t kClockMask = 1023;

  // Returns the heartbeat that it came to.
  uint64_t SendFirst(uint64_t beat) noexcept {
    const uint64_t since_tsc = ReadTsc();
    while (!stop_.load(std::memory_order_relaxed) && first_->Next(outlets_)) {
      heartbeat_.store(++beat, std::memory_order_relaxed);
      EndIteration();
    }
    page_.local()[LcoreCounters::kBusyCycles] += ReadTsc() - since_tsc;
    sending_first_.store(false, std::memory_order_relaxed);
    return beat;
  }

  struct RxQueue {
    uint16_t port;
    uint16_t queue;
  };

  // Returns whether a packet was received or made.
  bool Iterate() noexcept {
    for (const HomeMail& mail : mail_) mail.TakeHome();
    uint64_t* const counts = page_.local().data();
    uint64_t moved = 0;
    for (size_t slot = 0; slot < rx_.size(); ++slot) {
      const uint16_t n = rte_eth_rx_burst(rx_[slot].port, rx_[slot].queue, mbufs_.data(), burst_);
      ++counts[LcoreCounters::kPolls];
      if (n == 0) {
        ++counts[LcoreCounters::kEmptyPolls];
        continue;
      }
      counts[layout_.Rx(slot)] += n;
      moved += n;
      row_->Process(outlets_, Burst{{mbufs_.data(), n}, static_cast<RxSlot>(slot)});
    }
    const uint64_t made = counts[LcoreCounters::kMade];
    row_->Poll(outlets_);
    outlets_.Flush();
    const uint64_t work = moved + (counts[LcoreCounters::kMade] - made);
    completion_.Pace(work);
    return work > 0;
  }

  Completion MakeCompletion(const std::vector<LcoreResources::Reaped>& reaped) {
    if constexpr (std::is_same_v<Completion, NoCompletion>) {
      return {};
    } else {
      uint64_t* const counts = page_.local().data();
      std::vector<LcoreCompletion::Reaped> queues;
      for (const LcoreResources::Reaped& each : reaped) {
        const SentCount sent =
            each.sent != nullptr ? SentCount(each.sent) : SentCount(counts + layout_.Tx(each.slot));
        queues.push_back({each.queue, sent, each.pace});
      }
      return Completion(TscClock(rte_get_tsc_hz()), queues, counts + layout_.ReapedQueue(0));
    }
  }

  // The books balance here.
  void EndIteration() noexcept {
    page_.local()[LcoreCounters::kHeld] = row_->Held();
    page_.Answer();
    rte_rcu_qsbr_quiescent(quiescence_, lcore_);
  }

  const unsigned lcore_;
  const uint16_t burst_;
  rte_rcu_qsbr* const quiescence_;
  std::vector<RxQueue> rx_;
  std::unique_ptr<Row> row_;
  LcoreOutlets<Policy> outlets_;
  [[no_unique_address]] Completion completion_;
  std::unique_ptr<FirstBursts> first_;  // Null but at a start with tx_first.
  std::vector<HomeMail> mail_;          // Empty where mempools have no homes.
  PENSTOCK_CACHE_ALIGNED std::array<rte_mbuf*, kMaxBurst> mbufs_;
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_PIPELINE_LCORE_LOOP_H_
