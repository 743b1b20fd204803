// SPDX-License-Identifier: BSD-3-Clause
//
// The replay window of lib/esp beside other designs, in turns inside one process.
//
//   window_bench [--pairs=N] [--turn-ms=N]       prints a JSON array of rows
//
// Each lcore takes bursts of 32 packets of one SA, asks the filter, and then decides, as it would
// before and after the cipher, which is left out. Of two lcores each gets half of the numbers,
// drawn at random and in order, as RSS would deal out many flows; they keep within 1024 numbers of
// each other, less than an RX ring. Windows have 8192 packets. Every packet must be accepted.
//
// Rivals, each a window as RFC 6479 has it and a spinlock, or ours used otherwise:
//   lock_twice    lock for the check of each packet, lock for its update: what Linux's xfrm does
//   lock_packet   filter without a lock, lock for the update of each packet
//   lock_burst    filter without a lock, one lock for the updates of the burst
//   per_packet    ours, one packet at a time: two exchanges for each
//
// Of each row: million packets per second, all lcores together, and of the ratio ours ÷ rival of
// neighbouring turns the median and the quartiles.

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "lib/esp/replay_window.h"
#include "lib/ring/ownership.h"

namespace penstock {
namespace {

constexpr uint32_t kPackets = 8192;
constexpr size_t kBurst = 32;
constexpr uint32_t kMostLcores = 2;
constexpr uint64_t kMostApart = 1024;

int pairs = 100;
int turn_ms = 10;

using Sequences = std::span<const uint64_t>;
using Verdicts = std::span<ReplayVerdict>;

// RFC 6479. Whoever sets holds the lock; who filters need not, so the words are atomic, which costs
// nothing by itself.
class LockedWindow {
 public:
  ReplayVerdict Look(uint64_t sequence) const noexcept {
    const uint64_t top = top_.load(std::memory_order_relaxed);
    if (sequence > top) return ReplayVerdict::kOk;
    if (sequence + kPackets <= top) return ReplayVerdict::kLate;
    return (WordOf(sequence / 64).load(std::memory_order_relaxed) >> sequence % 64 & 1) != 0
               ? ReplayVerdict::kReplayed
               : ReplayVerdict::kOk;
  }
  ReplayVerdict Set(uint64_t sequence) noexcept {
    const ReplayVerdict verdict = Look(sequence);
    if (verdict != ReplayVerdict::kOk) return verdict;
    const uint64_t top = top_.load(std::memory_order_relaxed);
    if (sequence > top) {
      const uint64_t moved = std::min<uint64_t>(sequence / 64 - top / 64, kWords);
      for (uint64_t i = 1; i <= moved; ++i) {
        WordOf(top / 64 + i).store(0, std::memory_order_relaxed);
      }
      top_.store(sequence, std::memory_order_relaxed);
    }
    std::atomic<uint64_t>& word = WordOf(sequence / 64);
    word.store(word.load(std::memory_order_relaxed) | uint64_t{1} << sequence % 64,
               std::memory_order_relaxed);
    return verdict;
  }
  SpinLock& lock() noexcept { return lock_; }

 private:
  static constexpr uint64_t kWords = 256;  // twice the window, a power of two

  const std::atomic<uint64_t>& WordOf(uint64_t block) const noexcept {
    return words_[block % kWords];
  }
  std::atomic<uint64_t>& WordOf(uint64_t block) noexcept { return words_[block % kWords]; }

  // As in an SA: the lock on the line of what it guards first.
  PENSTOCK_CACHE_ALIGNED SpinLock lock_;
  std::atomic<uint64_t> top_{0};
  PENSTOCK_CACHE_ALIGNED std::array<std::atomic<uint64_t>, kWords> words_{};
};

// A design: filters and decides a burst, and says how many were accepted.
using Design = std::function<size_t(Sequences, Verdicts)>;

Design LockTwice() {
  return [window = std::make_shared<LockedWindow>()](Sequences sequences, Verdicts verdicts) {
    size_t accepted = 0;
    for (size_t i = 0; i < sequences.size(); ++i) {
      ScopedLock guard(window->lock());
      verdicts[i] = window->Look(sequences[i]);
    }
    for (size_t i = 0; i < sequences.size(); ++i) {
      if (verdicts[i] != ReplayVerdict::kOk) continue;
      ScopedLock guard(window->lock());
      verdicts[i] = window->Set(sequences[i]);
      accepted += verdicts[i] == ReplayVerdict::kOk;
    }
    return accepted;
  };
}

Design LockPacket() {
  return [window = std::make_shared<LockedWindow>()](Sequences sequences, Verdicts verdicts) {
    size_t accepted = 0;
    for (size_t i = 0; i < sequences.size(); ++i) verdicts[i] = window->Look(sequences[i]);
    for (size_t i = 0; i < sequences.size(); ++i) {
      if (verdicts[i] != ReplayVerdict::kOk) continue;
      ScopedLock guard(window->lock());
      verdicts[i] = window->Set(sequences[i]);
      accepted += verdicts[i] == ReplayVerdict::kOk;
    }
    return accepted;
  };
}

Design LockBurst() {
  return [window = std::make_shared<LockedWindow>()](Sequences sequences, Verdicts verdicts) {
    size_t accepted = 0;
    for (size_t i = 0; i < sequences.size(); ++i) verdicts[i] = window->Look(sequences[i]);
    ScopedLock guard(window->lock());
    for (size_t i = 0; i < sequences.size(); ++i) {
      if (verdicts[i] != ReplayVerdict::kOk) continue;
      verdicts[i] = window->Set(sequences[i]);
      accepted += verdicts[i] == ReplayVerdict::kOk;
    }
    return accepted;
  };
}

std::shared_ptr<ReplayWindow> MakeWindow() { return *ReplayWindow::Create(kPackets); }

Design PerPacket() {
  return [window = MakeWindow()](Sequences sequences, Verdicts verdicts) {
    size_t accepted = 0;
    window->Filter(sequences, verdicts);
    for (size_t i = 0; i < sequences.size(); ++i) {
      accepted += window->CheckAndSet(sequences.subspan(i, 1), verdicts.subspan(i, 1));
    }
    return accepted;
  };
}

Design Ours() {
  return [window = MakeWindow()](Sequences sequences, Verdicts verdicts) {
    // Nothing is refused here: what is decided is the whole burst.
    window->Filter(sequences, verdicts);
    return window->CheckAndSet(sequences, verdicts);
  };
}

double WallNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// One lcore's share of the numbers of an SA, over and over the same draw.
class Share {
 public:
  static constexpr uint64_t kPeriod = 4096;
  Share(uint32_t lcores, uint32_t me) {
    std::minstd_rand random(1);
    for (uint64_t number = 0; number < kPeriod; ++number) {
      if (random() / 7 % lcores == me) numbers_.push_back(number);
    }
  }
  void Fill(std::array<uint64_t, kBurst>& sequences) {
    for (uint64_t& sequence : sequences) {
      sequence = base_ + numbers_[next_];
      if (++next_ == numbers_.size()) {
        next_ = 0;
        base_ += kPeriod;
      }
    }
  }
  uint64_t position() const { return base_ + numbers_[next_]; }

 private:
  std::vector<uint64_t> numbers_;
  size_t next_ = 0;
  uint64_t base_ = 1;
};

// A design under load of one or two lcores, which goes on from turn to turn.
class Run {
 public:
  Run(Design design, uint32_t lcores) : design_(std::move(design)), lcores_(lcores) {
    for (uint32_t me = 0; me < lcores; ++me) shares_.emplace_back(lcores, me);
  }

  // Million packets per second of a turn, or 0 if one was refused.
  double Turn() {
    std::atomic<uint32_t> ready{0};
    std::atomic<uint64_t> accepted{0}, offered{0};
    const auto work = [&](uint32_t me) {
      Pin(me);
      ++ready;
      while (ready != lcores_) {
      }
      const double begin_ns = WallNs();
      const auto [mine, good] = Work(me, begin_ns + turn_ms * 1e6);
      offered += mine;
      accepted += good;
    };
    std::vector<std::thread> others;
    for (uint32_t me = 1; me < lcores_; ++me) others.emplace_back(work, me);
    work(0);
    for (std::thread& other : others) other.join();
    return accepted == offered ? static_cast<double>(offered) / (turn_ms * 1e3) : 0;
  }

 private:
  struct PENSTOCK_CACHE_ALIGNED Position {
    std::atomic<uint64_t> number{0};
  };

  std::pair<uint64_t, uint64_t> Work(uint32_t me, double end_ns) {
    std::array<uint64_t, kBurst> sequences;
    std::array<ReplayVerdict, kBurst> verdicts;
    Share& share = shares_[me];
    uint64_t offered = 0, accepted = 0;
    while (WallNs() < end_ns) {
      positions_[me].number.store(share.position(), std::memory_order_relaxed);
      const Position& other = positions_[lcores_ - 1 - me];
      if (share.position() > other.number.load(std::memory_order_relaxed) + kMostApart) {
        SpinPause();
        continue;
      }
      for (int i = 0; i < 8; ++i) {
        share.Fill(sequences);
        accepted += design_(sequences, verdicts);
        offered += kBurst;
      }
    }
    return {offered, accepted};
  }

  static void Pin(uint32_t me) {
    static const std::vector<int> cpus = [] {
      std::vector<int> found;
      cpu_set_t set;
      sched_getaffinity(0, sizeof(set), &set);
      for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(cpu, &set)) found.push_back(cpu);
      }
      return found;
    }();
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpus[me % cpus.size()], &one);
    pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
  }

  Design design_;
  const uint32_t lcores_;
  std::vector<Share> shares_;
  std::array<Position, kMostLcores> positions_;
};

double Quantile(std::vector<double> values, double at) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(at * static_cast<double>(values.size() - 1) + 0.5)];
}

bool Compare(const std::string& name, const Design& rival_design, uint32_t lcores) {
  static bool first = true;
  Run ours(Ours(), lcores), rival(rival_design, lcores);
  ours.Turn();
  rival.Turn();
  std::vector<double> a, b, ratio;
  for (int i = 0; i < pairs; ++i) {
    const bool ours_first = i % 2 == 0;
    double x = ours_first ? ours.Turn() : 0;
    const double y = rival.Turn();
    if (!ours_first) x = ours.Turn();
    if (x == 0 || y == 0) {
      std::fprintf(stderr, "window_bench: %s: %s refused a packet that is new\n", name.c_str(),
                   x == 0 ? "ours" : "the rival");
      return false;
    }
    a.push_back(x);
    b.push_back(y);
    ratio.push_back(x / y);
  }
  std::printf(
      "%s{\"name\": \"%s\", \"ours_mpps\": %.2f, \"rival_mpps\": %.2f, \"q1\": %.3f, \"ratio\": "
      "%.3f, \"q3\": %.3f}",
      first ? "[" : ",\n", name.c_str(), Quantile(a, 0.5), Quantile(b, 0.5), Quantile(ratio, 0.25),
      Quantile(ratio, 0.5), Quantile(ratio, 0.75));
  first = false;
  return true;
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  using namespace penstock;  // NOLINT: a main of its own
  for (int i = 1; i < argc; ++i) {
    absl::string_view argument = argv[i];
    int* const value = absl::ConsumePrefix(&argument, "--pairs=")     ? &pairs
                       : absl::ConsumePrefix(&argument, "--turn-ms=") ? &turn_ms
                                                                      : nullptr;
    if (value == nullptr || !absl::SimpleAtoi(argument, value) || *value < 1) {
      std::fprintf(stderr, "window_bench: %s: accepted are --pairs=N and --turn-ms=N\n", argv[i]);
      return 2;
    }
  }
  const struct {
    const char* name;
    Design (*make)();
  } rivals[] = {{"lock_twice", LockTwice},
                {"lock_packet", LockPacket},
                {"lock_burst", LockBurst},
                {"per_packet", PerPacket}};
  for (const uint32_t lcores : {2, 1}) {
    for (const auto& rival : rivals) {
      if (!Compare(absl::StrCat(rival.name, ".", lcores), rival.make(), lcores)) return 1;
    }
  }
  std::printf("]\n");
  return 0;
}
