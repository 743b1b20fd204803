// SPDX-License-Identifier: BSD-3-Clause
//
// Lifetime: how much one SA may still carry, in packets, bytes and seconds (RFC 4301 4.4.2.1), over
// all lcores that use it.
//
//   PENSTOCK_ASSIGN_OR_RETURN(                                          // control path
//       auto lifetime, Lifetime<TscClock>::Create({.soft = {.packets = 9'000'000},
//                                                  .hard = {.packets = 10'000'000}},
//                                                 lcores, clock));
//   const Admission admission = lifetime->Admit(me, lengths);           // lcore `me`, a burst
//   …the first admission.packets packets go on, the others are dropped and counted…
//   if (admission.events != 0) …tell the control thread…                // each once per SA
//   const uint32_t events = lifetime->CheckTime();                      // for idle SAs
//
// What the bytes of a packet are, the caller decides: by RFC 4301 those that the cipher is applied
// to. Inbound they are counted after authentication: what is forged must not use an SA up.
//
// Each lcore has a quota, taken out of the SA's budget in advance, and counts on a line of its own.
// A burst that the quota covers touches nothing shared. One that it does not cover adds once to the
// packets and once to the bytes taken, whatever its size, and is covered then unless the budget is
// empty. Reading the time is the lcore's own clock.
//
// How exact that is:
//   hard   Never more than the limit, by not one packet or byte: what was not taken out of the
//          budget is not admitted, and more than the limit is not handed out. With bytes, packets
//          are admitted in order until one does not fit. One lcore may see the limit early, by what
//          the others have left: at most (lcores - 1) · quota. A quota is at most 1/(128 · lcores)
//          of the limit, so that is below 1 %; of limits below 128 · lcores there is none, every
//          burst takes exactly what it needs, and the limit is exact on both sides. What an lcore
//          that is done with the SA has left, it gives back by Return.
//   soft   Told when that much was taken out of the budget, so never late, and early by no more
//          than lcores · quota, below 1 % of the soft limit.
//   time   From Create, to a tick of the clock, at the next burst or CheckTime.
//
// Admit for `me` is one lcore's at a time. Everything else may be called by any thread.

#ifndef PENSTOCK_LIB_ESP_LIFETIME_H_
#define PENSTOCK_LIB_ESP_LIFETIME_H_

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/clock.h"
#include "lib/base/cycles.h"
#include "lib/base/status.h"

namespace penstock {

// 0: no limit.
struct LifetimeAmounts {
  uint64_t packets = 0;
  uint64_t bytes = 0;
  uint64_t seconds = 0;
};

struct LifetimeLimits {
  LifetimeAmounts soft{};  // a new SA is due; nothing else happens
  LifetimeAmounts hard{};  // nothing goes on
};

// Bits of Admission::events.
enum LifetimeEvent : uint32_t {
  kSoftPackets = 1,
  kSoftBytes = 2,
  kSoftSeconds = 4,
  kHardPackets = 8,
  kHardBytes = 16,
  kHardSeconds = 32,
};

struct Admission {
  size_t packets;   // of the burst, from its beginning
  uint32_t events;  // of LifetimeEvent: what this burst is the first to reach
};

// One kind of limit, all lcores together: what was handed out, and how much at a time.
class LifetimeBudget {
 public:
  struct Grant {
    uint64_t amount;
    bool soft_reached;  // by this grant
  };

  LifetimeBudget(uint64_t soft, uint64_t hard, size_t lcores) noexcept
      : soft_(soft), hard_(hard == 0 ? kUnlimited : hard), quota_(QuotaOf(soft, hard, lcores)) {}

  bool limited() const noexcept { return soft_ != 0 || hard_ != kUnlimited; }

  // `needed` and a quota on top, or what is left.
  Grant Take(uint64_t needed) noexcept {
    // An empty budget is read by all, and fought for by nobody.
    if (taken_.load(std::memory_order_relaxed) >= hard_) return {0, false};
    const uint64_t wanted = needed + quota_;
    // Relaxed: the order of additions to one location is all that is needed. What goes beyond the
    // limit is handed to nobody; 64 bits do not come round, see `kUnlimited`.
    const uint64_t before = taken_.fetch_add(wanted, std::memory_order_relaxed);
    return {before >= hard_ ? 0 : std::min(wanted, hard_ - before),
            before < soft_ && soft_ <= before + wanted};
  }

  // What was taken and not used. `taken_` never falls below what is out: what was added beyond the
  // limit and given to nobody stays in it.
  void Return(uint64_t amount) noexcept { taken_.fetch_sub(amount, std::memory_order_relaxed); }

  uint64_t quota() const noexcept { return quota_; }

  // Half of what 64 bits hold: beyond it lie only the additions of lcores that race for the rest.
  static constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max() / 2;

 private:
  static uint64_t QuotaOf(uint64_t soft, uint64_t hard, size_t lcores) noexcept {
    constexpr uint64_t kShares = 128;
    constexpr uint64_t kMostQuota = 4 << 20;  // thousands of packets' bytes are far enough apart
    const uint64_t limit = soft != 0 ? soft : hard;
    return std::min(kMostQuota, limit / (kShares * lcores));
  }

  const uint64_t soft_;
  const uint64_t hard_;
  const uint64_t quota_;
  std::atomic<uint64_t> taken_{0};
};

template <Clock C>
class Lifetime {
 public:
  // For lcores 0 … lcores - 1 of the caller's counting, from now on. `clock` outlives it.
  // InvalidArgument where a soft limit is above the hard one, one is too large, or lcores is 0.
  static absl::StatusOr<std::unique_ptr<Lifetime>> Create(const LifetimeLimits& limits,
                                                          size_t lcores, const C& clock) {
    if (lcores == 0) return absl::InvalidArgumentError("a lifetime for no lcore");
    const auto& [soft, hard] = limits;
    constexpr uint64_t kMost = LifetimeBudget::kUnlimited - 1;
    PENSTOCK_RETURN_IF_ERROR(CheckPair("packets", soft.packets, hard.packets, kMost));
    PENSTOCK_RETURN_IF_ERROR(CheckPair("bytes", soft.bytes, hard.bytes, kMost));
    PENSTOCK_RETURN_IF_ERROR(CheckPair("seconds", soft.seconds, hard.seconds, kMost / clock.Hz()));
    return std::unique_ptr<Lifetime>(new Lifetime(limits, lcores, clock));
  }

  // Lets the first packets of a burst of lcore `me` pass, `lengths` being their bytes. All of them,
  // until a hard limit is reached.
  Admission Admit(size_t me, std::span<const uint32_t> lengths) noexcept {
    assert(me < lcores_count_);
    Lcore& lcore = lcores_[me];
    uint32_t reached = TimeReached();
    size_t admitted = 0;
    if ((reached & kHardSeconds) == 0 && !lengths.empty()) {
      const uint64_t bytes = std::accumulate(lengths.begin(), lengths.end(), uint64_t{0});
      reached |= Cover(packets_, lcore.packets_left, lengths.size(), kSoftPackets);
      reached |= Cover(bytes_, lcore.bytes_left, bytes, kSoftBytes);
      admitted = Use(lcore, lengths, bytes, reached);
    }
    return {admitted, Tell(reached, lcore.told)};
  }

  // What time has reached and nobody was told. For SAs that carry nothing: any thread, now and
  // then.
  uint32_t CheckTime() noexcept {
    uint32_t nothing_told = 0;
    return Tell(TimeReached(), nothing_told);
  }

  // Gives back what lcore `me` has taken and not used. By that lcore, or when it has stopped.
  void Return(size_t me) noexcept {
    assert(me < lcores_count_);
    Lcore& lcore = lcores_[me];
    if (packets_.limited()) packets_.Return(std::exchange(lcore.packets_left, 0));
    if (bytes_.limited()) bytes_.Return(std::exchange(lcore.bytes_left, 0));
  }

  // Admitted so far, all lcores together: any thread. The lcores count on while these are summed.
  uint64_t packets() const noexcept { return Sum(&Lcore::packets); }
  uint64_t bytes() const noexcept { return Sum(&Lcore::bytes); }

  uint64_t quota_packets() const noexcept { return packets_.quota(); }
  uint64_t quota_bytes() const noexcept { return bytes_.quota(); }

 private:
  // One lcore's line.
  struct PENSTOCK_CACHE_ALIGNED Lcore {
    uint64_t packets_left = 0;  // of what it took
    uint64_t bytes_left = 0;
    uint32_t told = 0;  // events known to have been told, by whomever
    // Written by the lcore, read by anyone.
    std::atomic<uint64_t> packets{0};
    std::atomic<uint64_t> bytes{0};
  };

  Lifetime(const LifetimeLimits& limits, size_t lcores, const C& clock)
      : clock_(clock),
        begin_tsc_(clock.NowTsc()),
        soft_tsc_(limits.soft.seconds * clock.Hz()),
        hard_tsc_(limits.hard.seconds * clock.Hz()),
        lcores_count_(lcores),
        lcores_(std::make_unique<Lcore[]>(lcores)),
        packets_(limits.soft.packets, limits.hard.packets, lcores),
        bytes_(limits.soft.bytes, limits.hard.bytes, lcores) {
    // What has no limit is not asked for: each lcore has more of it than it will ever use.
    for (size_t i = 0; i < lcores; ++i) {
      if (!packets_.limited()) lcores_[i].packets_left = LifetimeBudget::kUnlimited;
      if (!bytes_.limited()) lcores_[i].bytes_left = LifetimeBudget::kUnlimited;
    }
  }

  static absl::Status CheckPair(absl::string_view what, uint64_t soft, uint64_t hard,
                                uint64_t most) {
    if (std::max(soft, hard) > most) {
      return absl::InvalidArgumentError(absl::StrCat("a lifetime of ", std::max(soft, hard), " ",
                                                     what, ": accepted are 0 to ", most));
    }
    if (hard != 0 && soft > hard) {
      return absl::InvalidArgumentError(absl::StrCat("a soft lifetime of ", soft, " ", what,
                                                     " above the hard one of ", hard,
                                                     ": give one that is not"));
    }
    return absl::OkStatus();
  }

  uint32_t TimeReached() const noexcept {
    if (soft_tsc_ == 0 && hard_tsc_ == 0) return 0;
    const uint64_t age_tsc = clock_.NowTsc() - begin_tsc_;
    uint32_t reached = 0;
    if (soft_tsc_ != 0 && age_tsc >= soft_tsc_) reached |= kSoftSeconds;
    if (hard_tsc_ != 0 && age_tsc >= hard_tsc_) reached |= kHardSeconds;
    return reached;
  }

  // Sees that `left` covers `needed`, as far as the budget goes. `soft` if that limit was passed.
  static uint32_t Cover(LifetimeBudget& budget, uint64_t& left, uint64_t needed,
                        uint32_t soft) noexcept {
    if (needed <= left) return 0;
    const LifetimeBudget::Grant grant = budget.Take(needed - left);
    left += grant.amount;
    return grant.soft_reached ? soft : 0;
  }

  // Takes the burst, or what fits of it, out of the lcore's quota.
  size_t Use(Lcore& lcore, std::span<const uint32_t> lengths, uint64_t bytes,
             uint32_t& reached) noexcept {
    size_t admitted = lengths.size();
    if (lcore.packets_left < admitted) {
      admitted = lcore.packets_left;
      reached |= kHardPackets;
    }
    if (lcore.bytes_left < bytes) {
      // RFC 4301 4.4.2.1: the hard limit in bytes lies within the burst. In order, until one does
      // not fit.
      uint64_t sum = 0;
      size_t fit = 0;
      while (fit < lengths.size() && sum + lengths[fit] <= lcore.bytes_left) sum += lengths[fit++];
      if (fit < lengths.size()) reached |= kHardBytes;
      admitted = std::min(admitted, fit);
    }
    if (admitted < lengths.size()) {
      bytes = std::accumulate(lengths.begin(), lengths.begin() + static_cast<ptrdiff_t>(admitted),
                              uint64_t{0});
    }
    lcore.packets_left -= admitted;
    lcore.bytes_left -= bytes;
    Add(lcore.packets, admitted);
    Add(lcore.bytes, bytes);
    return admitted;
  }

  // Of what was reached, what nobody was told. Touches nothing shared for what `known` has.
  uint32_t Tell(uint32_t reached, uint32_t& known) noexcept {
    const uint32_t news = reached & ~known;
    if (news == 0) [[likely]]
      return 0;
    known |= news;
    // Relaxed: who sets a bit tells; nothing else is published.
    return news & ~told_.fetch_or(news, std::memory_order_relaxed);
  }

  // One writer: no read-modify-write is needed.
  static void Add(std::atomic<uint64_t>& count, uint64_t n) noexcept {
    count.store(count.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }

  uint64_t Sum(std::atomic<uint64_t> Lcore::*count) const noexcept {
    uint64_t sum = 0;
    for (size_t i = 0; i < lcores_count_; ++i) {
      sum += (lcores_[i].*count).load(std::memory_order_relaxed);
    }
    return sum;
  }

  // Constants.
  const C& clock_;
  const uint64_t begin_tsc_;
  const uint64_t soft_tsc_;  // 0: none
  const uint64_t hard_tsc_;
  const size_t lcores_count_;
  const std::unique_ptr<Lcore[]> lcores_;

  // Written when a quota is taken: at most once per burst, seldom once per hundred.
  PENSTOCK_CACHE_ALIGNED LifetimeBudget packets_;
  LifetimeBudget bytes_;
  std::atomic<uint32_t> told_{0};
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_ESP_LIFETIME_H_
