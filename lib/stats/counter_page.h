// SPDX-License-Identifier: BSD-3-Clause
//
// CounterPage: the counters of one lcore, written by that lcore alone, read whole by others.
//
// The writer counts in plain memory that nobody else looks at while it runs, so a count costs one
// addition. A reader asks for a copy; the writer answers at the end of an iteration, where its
// books balance: every packet that came in was sent, dropped or is held. A snapshot is therefore
// not only free of torn values but consistent as a whole, and while nobody asks, publishing costs
// the writer one load of a line that stays in its cache.
//
//   CounterPage page(8);
//   page.Start();                         // control thread, before the lcore runs
//   page.local()[kRx] += n;               // lcore
//   page.Answer();                        // lcore, once per iteration
//   page.Stop();                          // lcore, as its last act
//   CounterPage::Copy copy = page.Read(); // any control thread, at any time
//
// Not for counters that several threads write.

#ifndef PENSTOCK_LIB_STATS_COUNTER_PAGE_H_
#define PENSTOCK_LIB_STATS_COUNTER_PAGE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "lib/base/cycles.h"

namespace penstock {

class CounterPage {
 public:
  struct Copy {
    std::vector<uint64_t> values;
    // False when the writer did not answer within the patience of Read(): the values are then those
    // of its last answer, or of Start() where that was later: consistent but old. A counter that
    // only grows is never seen to shrink.
    bool fresh = true;
  };

  explicit CounterPage(size_t counters);
  CounterPage(const CounterPage&) = delete;
  CounterPage& operator=(const CounterPage&) = delete;

  // ---- The writer's side. ----

  // The counters themselves. Only the writer touches them between Start() and Stop().
  std::span<uint64_t> local() noexcept { return local_; }

  // Gives a waiting reader its copy. Call where the counters are consistent.
  void Answer() noexcept {
    // Pairs with the release in Read(): nothing needs ordering but the ticket itself.
    const uint64_t ticket = requested_.load(std::memory_order_acquire);
    if (ticket != answered_.load(std::memory_order_relaxed)) [[unlikely]] {
      Publish(ticket);
    }
  }

  // From here on readers read the counters directly.
  void Stop() noexcept {
    // Pairs with the acquire loads in Read(): a reader that sees the writer gone sees all its
    // counts.
    running_.store(false, std::memory_order_release);
  }

  // ---- The control side. ----

  // Before the writer runs; the writer's thread is started after this call.
  void Start();

  // Waits for the writer's answer for at most `patience_ns`. Blocks; never call it on an lcore.
  Copy Read(uint64_t patience_ns = kPatienceNs) const;

  static constexpr uint64_t kPatienceNs = 200'000'000;

 private:
  void CopyLocalTo(uint64_t ticket) noexcept;
  void Publish(uint64_t ticket) noexcept;
  Copy CopyOf(uint64_t ticket, bool fresh) const;

  // Read and answered once per iteration; changed only when somebody asks.
  PENSTOCK_CACHE_ALIGNED mutable std::atomic<uint64_t> requested_{0};
  std::atomic<uint64_t> answered_{0};
  std::atomic<bool> running_{false};

  PENSTOCK_CACHE_ALIGNED std::vector<uint64_t> local_;  // The writer's while it runs.
  // Two copies, taken in turn: a late answer never overwrites the one that a reader falls back on.
  std::vector<std::atomic<uint64_t>> published_[2];  // Written by the writer, on request only.
  mutable std::mutex readers_;                       // One request at a time.
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_STATS_COUNTER_PAGE_H_
