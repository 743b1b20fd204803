// SPDX-License-Identifier: BSD-3-Clause
#include "lib/esp/lifetime.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace penstock {
namespace {

using Subject = Lifetime<ManualClock>;

std::unique_ptr<Subject> Make(const LifetimeLimits& limits, size_t lcores,
                              const ManualClock& clock) {
  auto lifetime = Subject::Create(limits, lcores, clock);
  EXPECT_TRUE(lifetime.ok()) << lifetime.status();
  return *std::move(lifetime);
}

Admission Admit(Subject& lifetime, size_t me, size_t packets, uint32_t bytes = 100) {
  return lifetime.Admit(me, std::vector<uint32_t>(packets, bytes));
}

TEST(Lifetime, RefusesLimitsThatContradict) {
  const ManualClock clock;
  const auto message = [&](const LifetimeLimits& limits, size_t lcores = 1) {
    return std::string(Subject::Create(limits, lcores, clock).status().message());
  };
  EXPECT_EQ(message({}, 0), "a lifetime for no lcore");
  EXPECT_EQ(message({.soft = {.packets = 11}, .hard = {.packets = 10}}),
            "a soft lifetime of 11 packets above the hard one of 10: give one that is not");
  EXPECT_EQ(message({.soft = {.bytes = 2}, .hard = {.bytes = 1}}),
            "a soft lifetime of 2 bytes above the hard one of 1: give one that is not");
  EXPECT_EQ(message({.hard = {.packets = ~uint64_t{0}}}),
            "a lifetime of 18446744073709551615 packets: accepted are 0 to 9223372036854775806");
  EXPECT_EQ(message({.soft = {.seconds = 10'000'000'000}}),
            "a lifetime of 10000000000 seconds: accepted are 0 to 9223372036");
  EXPECT_TRUE(Subject::Create({.soft = {.packets = 5}}, 1, clock).ok()) << "soft alone is a limit";
}

TEST(Lifetime, WithoutLimitsEverythingGoesOnAndIsCounted) {
  const ManualClock clock;
  const auto lifetime = Make({}, 2, clock);
  for (int i = 0; i < 1000; ++i) {
    const Admission admission = Admit(*lifetime, i % 2, 32, 1000);
    EXPECT_EQ(admission.packets, 32u);
    EXPECT_EQ(admission.events, 0u);
    if (i == 500) lifetime->Return(0);
  }
  EXPECT_EQ(lifetime->packets(), 32'000u);
  EXPECT_EQ(lifetime->bytes(), 32'000'000u);
}

TEST(Lifetime, ASmallLimitOfPacketsIsExact) {
  const ManualClock clock;
  const auto lifetime = Make({.soft = {.packets = 60}, .hard = {.packets = 100}}, 2, clock);
  EXPECT_EQ(lifetime->quota_packets(), 0u);
  EXPECT_EQ(Admit(*lifetime, 0, 59).events, 0u);
  EXPECT_EQ(Admit(*lifetime, 1, 1).events, uint32_t{kSoftPackets});
  EXPECT_EQ(Admit(*lifetime, 1, 30).events, 0u);
  const Admission last = Admit(*lifetime, 0, 32);
  EXPECT_EQ(last.packets, 10u);
  EXPECT_EQ(last.events, uint32_t{kHardPackets});
  const Admission none = Admit(*lifetime, 1, 32);
  EXPECT_EQ(none.packets, 0u);
  EXPECT_EQ(none.events, 0u) << "told once";
  EXPECT_EQ(lifetime->packets(), 100u);
  EXPECT_EQ(lifetime->bytes(), 10'000u);
}

TEST(Lifetime, BytesAdmitPacketsInOrderUntilOneDoesNotFit) {
  const ManualClock clock;
  const auto lifetime = Make({.soft = {.bytes = 1000}, .hard = {.bytes = 3000}}, 1, clock);
  const std::vector<uint32_t> first = {600, 600};
  Admission admission = lifetime->Admit(0, first);
  EXPECT_EQ(admission.packets, 2u);
  EXPECT_EQ(admission.events, uint32_t{kSoftBytes});
  const std::vector<uint32_t> second = {600, 600, 601, 10};
  admission = lifetime->Admit(0, second);
  EXPECT_EQ(admission.packets, 2u);
  EXPECT_EQ(admission.events, uint32_t{kHardBytes});
  EXPECT_EQ(lifetime->bytes(), 2400u);
  const std::vector<uint32_t> third = {600};
  EXPECT_EQ(lifetime->Admit(0, third).packets, 1u) << "the last byte may be used";
  EXPECT_EQ(lifetime->Admit(0, {}).packets, 0u);
  EXPECT_EQ(lifetime->bytes(), 3000u);
  EXPECT_EQ(lifetime->packets(), 5u);
}

TEST(Lifetime, BothLimitsInOneBurstAreBothTold) {
  const ManualClock clock;
  const auto lifetime =
      Make({.soft = {.packets = 1, .bytes = 1}, .hard = {.packets = 5, .bytes = 500}}, 1, clock);
  const Admission admission = Admit(*lifetime, 0, 8);
  EXPECT_EQ(admission.packets, 5u);
  EXPECT_EQ(admission.events, uint32_t{kSoftPackets | kSoftBytes | kHardPackets | kHardBytes});
}

TEST(Lifetime, SecondsAreOfTheClock) {
  ManualClock clock(1000);  // ticks a second
  clock.Advance(123'456);
  const auto lifetime = Make({.soft = {.seconds = 8}, .hard = {.seconds = 10}}, 2, clock);
  EXPECT_EQ(Admit(*lifetime, 0, 4).packets, 4u);
  clock.Advance(7'999);
  EXPECT_EQ(Admit(*lifetime, 0, 4).events, 0u);
  clock.Advance(1);
  Admission admission = Admit(*lifetime, 0, 4);
  EXPECT_EQ(admission.packets, 4u) << "soft: only told";
  EXPECT_EQ(admission.events, uint32_t{kSoftSeconds});
  EXPECT_EQ(Admit(*lifetime, 1, 4).events, 0u) << "told once, over all lcores";
  EXPECT_EQ(lifetime->CheckTime(), 0u);
  clock.Advance(1'999);
  EXPECT_EQ(Admit(*lifetime, 1, 4).packets, 4u);
  clock.Advance(1);
  admission = Admit(*lifetime, 1, 4);
  EXPECT_EQ(admission.packets, 0u);
  EXPECT_EQ(admission.events, uint32_t{kHardSeconds});
  admission = Admit(*lifetime, 0, 4);
  EXPECT_EQ(admission.packets, 0u);
  EXPECT_EQ(admission.events, 0u);
  EXPECT_EQ(lifetime->packets(), 20u);
}

TEST(Lifetime, AnIdleSaEndsAsWell) {
  ManualClock clock(1000);
  const auto lifetime = Make({.soft = {.seconds = 1}, .hard = {.seconds = 2}}, 1, clock);
  EXPECT_EQ(lifetime->CheckTime(), 0u);
  clock.Advance(5000);
  EXPECT_EQ(lifetime->CheckTime(), uint32_t{kSoftSeconds | kHardSeconds});
  EXPECT_EQ(lifetime->CheckTime(), 0u);
  const Admission admission = Admit(*lifetime, 0, 1);
  EXPECT_EQ(admission.packets, 0u);
  EXPECT_EQ(admission.events, 0u);
}

TEST(Lifetime, ABurstThatTheQuotaCoversTakesNothing) {
  constexpr uint64_t kHard = 128 * 2 * 1000;
  const ManualClock clock;
  const auto lifetime = Make({.soft = {.packets = kHard}, .hard = {.packets = kHard}}, 2, clock);
  ASSERT_EQ(lifetime->quota_packets(), 1000u);
  // The first burst takes 32 and a quota: so lcore 1 sees the soft limit a quota before it.
  Admit(*lifetime, 0, 32);
  uint64_t admitted = 32;
  uint32_t events = 0;
  while (events == 0) {
    const Admission admission = Admit(*lifetime, 1, 8);
    admitted += admission.packets;
    events |= admission.events;
  }
  EXPECT_EQ(events, uint32_t{kSoftPackets});
  EXPECT_LE(admitted, kHard);
  EXPECT_GE(admitted, kHard - 2 * 1000 - 32);
}

TEST(Lifetime, WhatAnLcoreGivesBackOthersMayUse) {
  constexpr uint64_t kHard = 128 * 2 * 100;
  const ManualClock clock;
  const auto lifetime = Make({.hard = {.packets = kHard}}, 2, clock);
  Admit(*lifetime, 0, 1);
  lifetime->Return(0);
  uint64_t admitted = 1;
  for (size_t n; (n = Admit(*lifetime, 1, 7).packets) != 0;) admitted += n;
  EXPECT_EQ(admitted, kHard);
  lifetime->Return(0);
  lifetime->Return(1);
  EXPECT_EQ(Admit(*lifetime, 0, 1).packets, 0u) << "nothing comes back from nothing";
  EXPECT_EQ(lifetime->packets(), kHard);
}

// Several lcores until nothing goes on any more.
struct Totals {
  uint64_t packets = 0, bytes = 0;
  uint64_t told[6] = {};
};

Totals RunDown(Subject& lifetime, size_t lcores, bool give_back) {
  std::vector<Totals> each(lcores);
  std::vector<std::thread> threads;
  for (size_t me = 0; me < lcores; ++me) {
    threads.emplace_back([&, me] {
      std::minstd_rand random(static_cast<uint32_t>(me + 1));
      Totals& mine = each[me];
      std::vector<uint32_t> lengths;
      for (int dry = 0; dry < 20;) {
        lengths.assign(random() % 48 + 1, static_cast<uint32_t>(random() % 1400 + 64));
        const Admission admission = lifetime.Admit(me, lengths);
        dry += admission.packets == 0;
        mine.packets += admission.packets;
        mine.bytes += admission.packets * lengths[0];
        for (int bit = 0; bit < 6; ++bit) mine.told[bit] += admission.events >> bit & 1;
        if (give_back && random() % 16 == 0) lifetime.Return(me);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  Totals sum;
  for (const Totals& one : each) {
    sum.packets += one.packets;
    sum.bytes += one.bytes;
    for (int bit = 0; bit < 6; ++bit) sum.told[bit] += one.told[bit];
  }
  return sum;
}

TEST(Lifetime, LcoresTogetherUseAllPacketsAndNotOneMore) {
  constexpr size_t kLcores = 3;
  const ManualClock clock;
  for (const uint64_t hard : {100, 5'000, 400'000}) {
    const auto lifetime =
        Make({.soft = {.packets = hard / 2}, .hard = {.packets = hard}}, kLcores, clock);
    const Totals totals = RunDown(*lifetime, kLcores, false);
    EXPECT_LE(totals.packets, hard);
    // All ran dry, so nobody has anything left.
    EXPECT_EQ(totals.packets, hard);
    EXPECT_EQ(lifetime->packets(), totals.packets);
    EXPECT_EQ(lifetime->bytes(), totals.bytes);
    EXPECT_EQ(totals.told[0], 1u) << "soft packets";
    EXPECT_EQ(totals.told[3], 1u) << "hard packets";
    EXPECT_EQ(totals.told[1] + totals.told[2] + totals.told[4] + totals.told[5], 0u);
  }
}

TEST(Lifetime, LcoresTogetherUseNoByteTooMany) {
  constexpr size_t kLcores = 3;
  const ManualClock clock;
  for (const uint64_t hard : {100'000, 300'000'000}) {
    const auto lifetime =
        Make({.soft = {.bytes = hard / 2}, .hard = {.bytes = hard}}, kLcores, clock);
    const Totals totals = RunDown(*lifetime, kLcores, false);
    EXPECT_LE(totals.bytes, hard);
    // Each may end with less than a packet.
    EXPECT_GE(totals.bytes, hard - kLcores * 1464);
    EXPECT_EQ(lifetime->bytes(), totals.bytes);
    EXPECT_EQ(totals.told[1], 1u);
    EXPECT_EQ(totals.told[4], 1u);
  }
}

TEST(Lifetime, GivingBackWhileOthersTakeHandsNothingOutTwice) {
  constexpr size_t kLcores = 3;
  constexpr uint64_t kHard = 300'000;
  const ManualClock clock;
  for (int round = 0; round < 5; ++round) {
    const auto lifetime =
        Make({.soft = {.packets = kHard / 2}, .hard = {.packets = kHard}}, kLcores, clock);
    const Totals totals = RunDown(*lifetime, kLcores, true);
    EXPECT_LE(totals.packets, kHard);
    EXPECT_GE(totals.packets, kHard - kLcores * (lifetime->quota_packets() + 48));
    EXPECT_EQ(totals.told[0], 1u);
    EXPECT_EQ(totals.told[3], 1u);
  }
}

}  // namespace
}  // namespace penstock
