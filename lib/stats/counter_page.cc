// SPDX-License-Identifier: BSD-3-Clause
#include "lib/stats/counter_page.h"

#include <chrono>
#include <thread>

namespace penstock {

CounterPage::CounterPage(size_t counters)
    : local_(counters, 0),
      published_{std::vector<std::atomic<uint64_t>>(counters),
                 std::vector<std::atomic<uint64_t>>(counters)} {}

void CounterPage::Start() {
  // A reader that found the writer gone may still be reading the counters themselves.
  std::lock_guard<std::mutex> no_reader(readers_);
  // What readers fall back on until the first answer. Not an answer of an earlier run: some reader
  // may have seen the counters themselves since.
  CopyLocalTo(answered_.load(std::memory_order_relaxed));
  running_.store(true, std::memory_order_release);
}

void CounterPage::CopyLocalTo(uint64_t ticket) noexcept {
  std::vector<std::atomic<uint64_t>>& copy = published_[ticket % 2];
  for (size_t i = 0; i < local_.size(); ++i) {
    copy[i].store(local_[i], std::memory_order_relaxed);
  }
}

void CounterPage::Publish(uint64_t ticket) noexcept {
  CopyLocalTo(ticket);
  // Pairs with the acquire in Read(): who sees the ticket answered sees the copy behind it.
  answered_.store(ticket, std::memory_order_release);
}

CounterPage::Copy CounterPage::CopyOf(uint64_t ticket, bool fresh) const {
  const std::vector<std::atomic<uint64_t>>& published = published_[ticket % 2];
  Copy copy{std::vector<uint64_t>(published.size()), fresh};
  for (size_t i = 0; i < published.size(); ++i) {
    copy.values[i] = published[i].load(std::memory_order_relaxed);
  }
  return copy;
}

CounterPage::Copy CounterPage::Read(uint64_t patience_ns) const {
  std::lock_guard<std::mutex> one_reader(readers_);
  // A new ticket is drawn only when the last one is answered; one that an impatient reader left
  // open is waited for again. So the open ticket is always the answered one plus 1, and the copy
  // being written is never the copy that the answered ticket names.
  uint64_t ticket = requested_.load(std::memory_order_relaxed);
  if (answered_.load(std::memory_order_acquire) == ticket) {
    requested_.store(++ticket, std::memory_order_release);  // Pairs with the acquire in Answer().
  }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::nanoseconds(patience_ns);
  for (;;) {
    // Before the answer: a writer that answers and stops in between has answered.
    const bool running = running_.load(std::memory_order_acquire);  // Pairs with Stop().
    if (!running) return Copy{local_, true};
    if (answered_.load(std::memory_order_acquire) == ticket) return CopyOf(ticket, true);
    if (std::chrono::steady_clock::now() >= deadline) return CopyOf(ticket - 1, false);
    std::this_thread::yield();
  }
}

}  // namespace penstock
