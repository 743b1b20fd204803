// SPDX-License-Identifier: BSD-3-Clause
//
// The window of RFC 6479 made atomic step by step, as one would at first: raise the top, clear the
// words that come into the window, set the bit. It loses bits that others set between the first two
// steps. Tests of several lcores run it beside ReplayWindow and must catch it; what they do not
// catch there they could not have seen.

#ifndef PENSTOCK_TEST_UNIT_ESP_NAIVE_WINDOW_H_
#define PENSTOCK_TEST_UNIT_ESP_NAIVE_WINDOW_H_

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "lib/esp/replay_window.h"

namespace penstock {

template <typename Between>
class NaiveWindow {
 public:
  static std::unique_ptr<NaiveWindow> Create(uint32_t packets) {
    return std::make_unique<NaiveWindow>(packets);
  }
  explicit NaiveWindow(uint32_t packets)
      : packets_(packets), words_(std::bit_ceil(packets / 64 + 2)) {}

  size_t CheckAndSet(std::span<const uint64_t> sequences,
                     std::span<ReplayVerdict> verdicts) noexcept {
    size_t accepted = 0;
    for (size_t i = 0; i < sequences.size(); ++i) {
      verdicts[i] = One(sequences[i]);
      accepted += verdicts[i] == ReplayVerdict::kOk;
    }
    return accepted;
  }

  uint64_t top() const noexcept { return top_; }
  uint64_t ring_numbers() const noexcept { return words_.size() * 64; }

 private:
  ReplayVerdict One(uint64_t sequence) noexcept {
    uint64_t top = top_;
    while (sequence > top) {
      if (!top_.compare_exchange_weak(top, sequence)) continue;
      Between::Point();
      const uint64_t moved = std::min(sequence / 64 - top / 64, uint64_t{words_.size()});
      for (uint64_t i = 1; i <= moved; ++i) WordOf(top / 64 + i) = 0;
      break;
    }
    if (sequence == 0 || sequence + packets_ <= top) return ReplayVerdict::kLate;
    Between::Point();
    const uint64_t bit = uint64_t{1} << sequence % 64;
    return (WordOf(sequence / 64).fetch_or(bit) & bit) != 0 ? ReplayVerdict::kReplayed
                                                            : ReplayVerdict::kOk;
  }
  std::atomic<uint64_t>& WordOf(uint64_t block) noexcept { return words_[block % words_.size()]; }

  const uint64_t packets_;
  std::vector<std::atomic<uint64_t>> words_;
  std::atomic<uint64_t> top_{0};
};

}  // namespace penstock

#endif  // PENSTOCK_TEST_UNIT_ESP_NAIVE_WINDOW_H_
