// SPDX-License-Identifier: BSD-3-Clause
//
// ReplayWindow: tells packets of one inbound SA that came before or come too late (RFC 4303 3.4.3).
// Any number of lcores use it at once, a burst at a time; no lock, no allocation, no system call.
//
//   PENSTOCK_ASSIGN_OR_RETURN(auto window, ReplayWindow::Create(8192));   // control path
//   window->Filter(sequences, verdicts);             // before the cipher: a filter
//   …decrypt what it calls kOk, drop what does not authenticate…
//   window->CheckAndSet(authenticated, verdicts);    // the decision
//
// A sequence is the whole 64-bit number: of an SA with extended numbers what InferSequence said and
// the cipher authenticated, of any other the 32 bits of the packet. Only authenticated numbers may
// be given to CheckAndSet: it moves the top. That a packet is forged is the cipher's verdict, never
// the window's. Filter changes nothing, and its kOk promises nothing.
//
// Inside the window are the numbers from top - packets() + 1 to the top, and every number above it.
// 0 is below every window: RFC 4303 2.2 begins with 1, and no number comes round again. A burst is
// judged as if its packets came one after the other, each against the largest number before it.
//
// How it works. The window is a ring of words of 64 bits, in each a lap and a mask:
//
//          number =  lap · ring  +  word · 32  +  bit
//
//   word   | lap, its low 32 bits | which of the 32 numbers of this lap were accepted |
//
// One compare-and-exchange per word decides over all packets of the burst that fall into it: it
// adds their bits where the lap is theirs, and takes the word over, bits and all, where the lap is
// older. Nothing is ever cleared, so there is no moment between moving the top and clearing, in
// which a bit can be lost: that is what breaks the windows that clear (RFC 6479) when several
// lcores share them. The ring has at least packets() + 32 numbers: two numbers that share a word
// and not a lap are more than packets() apart.
//
// The top is raised once per burst, to the largest number in it, before the words are touched. So
// no word is ever of a lap beyond that of the top, and this completes the lap: the true lap of a
// word is the largest that ends in its 32 bits and is not beyond the top's.
//
// Why a number is accepted at most once. Accepting s sets its bit in a word whose lap is then that
// of s. The lap of a word only grows, and while it stays, bits are only added: each change is one
// compare-and-exchange from a value that was looked at. Whoever comes with s again finds the bit,
// or finds a later lap and calls it late. One location decides, so any order that the lcores see is
// the same. Across locations only this is needed: who sees a word's lap, sees the top that was
// raised for it. The release of the exchange and the acquire of the load of the word give that; the
// top itself is relaxed.
//
// Why no number inside the window is refused. Late is said where a number at least packets() larger
// is the top, or stands in the word: that one was raised to before, so the window had moved on.
// Replayed is said where the bit is set, and only accepting s sets it.
//
// The limit of both: 32 bits of a lap. An lcore would have to stand still inside a call while
// others accept 2^32 - 1 laps, or the sender leave all 32 numbers of a word unused in 2^32 - 1
// laps; one number in 2^44 at the least. The word would pass for one of this lap or the one before.
//
// test/model/replay_window.pml has all interleavings of a small ring, and twins that must be
// caught.
//
// Cache lines. A burst touches the line of the top once, and a line for each word. Words that
// follow each other lie on lines that follow each other, since lcores that share an SA work at the
// same place: one at the next word does not take away the line that the other is using. They are
// asked for, to be written, while the burst is being sorted, so that waits for them overlap.

#ifndef PENSTOCK_LIB_ESP_REPLAY_WINDOW_H_
#define PENSTOCK_LIB_ESP_REPLAY_WINDOW_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/base/cycles.h"

namespace penstock {

enum class ReplayVerdict : uint8_t {
  kOk = 0,        // first of its number, inside the window
  kReplayed = 1,  // its number was accepted before
  kLate = 2,      // below the window: too old to tell
};

// Between the steps of an operation nothing happens. Tests put delays there.
struct Undisturbed {
  static void Point() noexcept {}
};

template <typename Between = Undisturbed>
class PENSTOCK_CACHE_ALIGNED BasicReplayWindow {
 public:
  static constexpr uint32_t kMinPackets = 64;
  static constexpr uint32_t kMaxPackets = 65536;
  static constexpr uint32_t kDefaultPackets = 8192;

  // A window of `packets` numbers, any from kMinPackets to kMaxPackets. It takes 8 bytes for 32
  // numbers of a ring that is the next power of two: 4 KiB for 8192. InvalidArgument if out of
  // range.
  static absl::StatusOr<std::unique_ptr<BasicReplayWindow>> Create(uint32_t packets) {
    if (packets < kMinPackets || packets > kMaxPackets) {
      return absl::InvalidArgumentError(absl::StrCat("a replay window of ", packets,
                                                     " packets: accepted are ", kMinPackets, " to ",
                                                     kMaxPackets));
    }
    return std::unique_ptr<BasicReplayWindow>(new BasicReplayWindow(packets));
  }
  BasicReplayWindow(const BasicReplayWindow&) = delete;
  BasicReplayWindow& operator=(const BasicReplayWindow&) = delete;

  // The decision over packets that were authenticated. Writes the verdict of each and returns how
  // many are kOk. `verdicts` is at least as long as `sequences`. Two packets of one number in a
  // burst: the first may be kOk. Any lcore, several at once.
  size_t CheckAndSet(std::span<const uint64_t> sequences,
                     std::span<ReplayVerdict> verdicts) noexcept {
    assert(verdicts.size() >= sequences.size());
    if (sequences.empty()) return 0;
    // RFC 4303 3.4.3: the top moves after authentication only, which is the caller's promise.
    uint64_t largest = 0;
    for (const uint64_t sequence : sequences) largest = std::max(largest, sequence);
    Progress so_far{.top = RaiseTop(largest)};
    size_t accepted = 0;
    for (size_t at = 0; at < sequences.size(); at += kPart) {
      const size_t n = std::min(kPart, sequences.size() - at);
      accepted += CheckPart(sequences.data() + at, verdicts.data() + at, n, so_far);
    }
    NoteLag(so_far.lag);
    return accepted;
  }

  // What can be said before authentication: a packet that is not kOk need not be decrypted. Writes
  // nothing but `verdicts`; returns how many are kOk. Any lcore.
  size_t Filter(std::span<const uint64_t> sequences,
                std::span<ReplayVerdict> verdicts) const noexcept {
    assert(verdicts.size() >= sequences.size());
    const uint64_t top = this->top();
    size_t good = 0;
    for (size_t i = 0; i < sequences.size(); ++i) {
      const uint64_t sequence = sequences[i];
      ReplayVerdict verdict = ReplayVerdict::kOk;
      if (sequence == 0 || (sequence <= top && top - sequence >= packets_)) [[unlikely]] {
        verdict = ReplayVerdict::kLate;
      } else if (sequence <= top) {
        const uint64_t block = sequence / kNumbers;
        // Relaxed: a word that changes meanwhile is CheckAndSet's to judge.
        const uint64_t seen = WordOf(block).load(std::memory_order_relaxed);
        if (LapIn(seen) == LapOf(block) && (seen & BitOf(sequence)) != 0) {
          verdict = ReplayVerdict::kReplayed;
        }
      }
      verdicts[i] = verdict;
      good += verdict == ReplayVerdict::kOk;
    }
    return good;
  }

  // The largest authenticated number so far, 0 before the first. Any thread.
  uint64_t top() const noexcept { return top_.load(std::memory_order_relaxed); }
  uint32_t packets() const noexcept { return packets_; }

  // How far behind the top the latest packet inside the window came: how much of the window is
  // needed. Near packets(), with late packets counted, the window is too small. Any thread.
  uint64_t largest_lag() const noexcept { return largest_lag_.load(std::memory_order_relaxed); }

  // Numbers in the ring: at least packets() + 32, a power of two. For tests.
  uint64_t ring_numbers() const noexcept { return uint64_t{kNumbers} << words_log2_; }

 private:
  static constexpr uint32_t kNumbers = 32;      // in a word
  static constexpr uint32_t kWordsPerLine = 8;  // 64 bytes
  static constexpr uint32_t kMinWords = 128;    // two lcores seldom meet on one of 16 lines
  static constexpr size_t kPart = 64;           // packets sorted at a time

  struct alignas(kCacheLineBytes) Line {
    std::array<std::atomic<uint64_t>, kWordsPerLine> words{};
  };

  // The packets of a part that share a word and a lap.
  struct Group {
    uint64_t block;     // number / kNumbers
    uint32_t wanted;    // their bits
    uint32_t accepted;  // of these, once decided
    bool late;
  };
  struct Progress {
    uint64_t top;      // the largest number before the next packet
    uint64_t lag = 0;  // the largest of the burst
  };

  explicit BasicReplayWindow(uint32_t packets)
      : packets_(packets),
        words_log2_(static_cast<uint32_t>(std::countr_zero(
            std::max(kMinWords, std::bit_ceil((packets + 2 * kNumbers - 1) / kNumbers))))),
        lines_(std::make_unique<Line[]>((size_t{1} << words_log2_) / kWordsPerLine)) {}

  // The top before; `largest` or more is the top afterwards.
  uint64_t RaiseTop(uint64_t largest) noexcept {
    uint64_t top = top_.load(std::memory_order_relaxed);
    // Relaxed: who must see it, sees it through a word (Claim).
    while (top < largest && !top_.compare_exchange_weak(top, largest, std::memory_order_relaxed)) {
      Between::Point();
    }
    return top;
  }

  size_t CheckPart(const uint64_t* sequences, ReplayVerdict* verdicts, size_t n,
                   Progress& so_far) noexcept {
    std::array<Group, kPart> groups;
    std::array<uint8_t, kPart> group_of;
    const size_t count = Sort(sequences, verdicts, n, so_far, groups.data(), group_of.data());
    size_t accepted = 0;
    bool whole = true;
    for (size_t g = 0; g < count; ++g) {
      // In the order in which they began: of two laps of one word the earlier is then the lower, or
      // its packets were late already.
      Claim(groups[g]);
      accepted += static_cast<size_t>(std::popcount(groups[g].accepted));
      whole &= groups[g].accepted == groups[g].wanted;
    }
    if (whole) [[likely]]
      return accepted;
    for (size_t i = 0; i < n; ++i) {
      if (verdicts[i] != ReplayVerdict::kOk) continue;
      const Group& group = groups[group_of[i]];
      if ((group.accepted & BitOf(sequences[i])) != 0) continue;
      verdicts[i] = group.late ? ReplayVerdict::kLate : ReplayVerdict::kReplayed;
    }
    return accepted;
  }

  // Puts packets into groups and calls those kOk that their group will claim; returns how many
  // groups. A group is looked for among the last few, which is where it is when packets are
  // somewhat out of order; elsewhere it is begun a second time, which costs an exchange and is not
  // wrong.
  size_t Sort(const uint64_t* sequences, ReplayVerdict* verdicts, size_t n, Progress& so_far,
              Group* groups, uint8_t* group_of) const noexcept {
    size_t count = 0;
    size_t current = 0;
    // Of the current group, in registers.
    uint64_t block = ~uint64_t{0};  // of no number
    uint32_t wanted = 0;
    Progress progress = so_far;
    for (size_t i = 0; i < n; ++i) {
      const uint64_t sequence = sequences[i];
      progress.top = std::max(progress.top, sequence);
      const uint64_t lag = progress.top - sequence;
      // RFC 4303 3.4.3: left of the window, and 0 with it.
      if (lag >= packets_ || sequence == 0) [[unlikely]] {
        verdicts[i] = ReplayVerdict::kLate;
        continue;
      }
      progress.lag = std::max(progress.lag, lag);
      if (sequence / kNumbers != block) {
        if (count != 0) groups[current].wanted = wanted;
        block = sequence / kNumbers;
        current = Find(groups, count, block);
        if (current == count) {
          groups[count++] = {.block = block, .wanted = 0, .accepted = 0, .late = false};
          AskForLine(WordOf(block));
        }
        wanted = groups[current].wanted;
      }
      // kReplayed if within this burst.
      verdicts[i] = static_cast<ReplayVerdict>(wanted >> sequence % kNumbers & 1);
      wanted |= BitOf(sequence);
      group_of[i] = static_cast<uint8_t>(current);
    }
    if (count != 0) groups[current].wanted = wanted;
    so_far = progress;
    return count;
  }

  static size_t Find(const Group* groups, size_t count, uint64_t block) noexcept {
    constexpr size_t kLookBack = 4;
    for (size_t back = 1; back <= std::min(kLookBack, count); ++back) {
      if (groups[count - back].block == block) return count - back;
    }
    return count;
  }

  // The one place where a number is accepted.
  void Claim(Group& group) noexcept {
    std::atomic<uint64_t>& word = WordOf(group.block);
    const uint32_t lap = LapOf(group.block);
    // Acquire: partner of the release below. With a lap comes the top that was raised for it.
    uint64_t seen = word.load(std::memory_order_acquire);
    for (;;) {
      Between::Point();
      const uint32_t ahead = LapIn(seen) - lap;
      // Nearly always the word is of this lap (0) or of the one before (-1).
      if (ahead != 0 && ahead != ~uint32_t{0} && IsBeyond(group.block, ahead)) {
        group.late = true;
        return;
      }
      const uint32_t had = ahead == 0 ? static_cast<uint32_t>(seen) : 0;
      const uint32_t added = group.wanted & ~had;
      if (added == 0) return;  // Replays leave the line where it is.
      const uint64_t next = (uint64_t{lap} << 32) | had | added;
      Between::Point();
      // Release: partner of the acquire above, and of this one where it fails. The top was raised
      // before, by this lcore or by one whose top it read.
      if (word.compare_exchange_weak(seen, next, std::memory_order_acq_rel,
                                     std::memory_order_acquire)) {
        group.accepted = added;
        return;
      }
    }
  }

  // Whether a word whose lap is `ahead` of this block's, modulo 2^32, is of a later lap and not of
  // an earlier one: no word is beyond the top. Reads the top after the word, hence at least the one
  // that was raised for the word, and at least this block.
  bool IsBeyond(uint64_t block, uint32_t ahead) const noexcept {
    const uint64_t top_lap = top() / kNumbers >> words_log2_;
    return top_lap - (block >> words_log2_) >= ahead;
  }

  void NoteLag(uint64_t lag) noexcept {
    uint64_t largest = largest_lag_.load(std::memory_order_relaxed);
    while (lag > largest &&
           !largest_lag_.compare_exchange_weak(largest, lag, std::memory_order_relaxed)) {
    }
  }

  static uint32_t BitOf(uint64_t sequence) noexcept { return uint32_t{1} << (sequence % kNumbers); }
  static uint32_t LapIn(uint64_t word) noexcept { return static_cast<uint32_t>(word >> 32); }
  uint32_t LapOf(uint64_t block) const noexcept {
    return static_cast<uint32_t>(block >> words_log2_);
  }

  std::atomic<uint64_t>& WordOf(uint64_t block) const noexcept {
    const uint32_t lines_log2 = words_log2_ - std::countr_zero(kWordsPerLine);
    const uint64_t line = block & ((uint64_t{1} << lines_log2) - 1);
    return lines_[line].words[(block >> lines_log2) % kWordsPerLine];
  }

  static void AskForLine(const std::atomic<uint64_t>& word) noexcept {
#if defined(__x86_64__)
    // For writing, also where the compiler may not assume the instruction: to a processor without
    // it this is no operation.
    asm volatile("prefetchw %0" : : "m"(word));
#else
    __builtin_prefetch(&word, 1);
#endif
  }

  // Read by every burst, and written only when a packet came later than any before it.
  const uint32_t packets_;
  const uint32_t words_log2_;
  const std::unique_ptr<Line[]> lines_;
  std::atomic<uint64_t> largest_lag_{0};

  // Written by most bursts.
  PENSTOCK_CACHE_ALIGNED std::atomic<uint64_t> top_{0};
};

using ReplayWindow = BasicReplayWindow<>;

}  // namespace penstock

#endif  // PENSTOCK_LIB_ESP_REPLAY_WINDOW_H_
