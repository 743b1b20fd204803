// SPDX-License-Identifier: BSD-3-Clause
#include "lib/esp/extended_sequence.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>

namespace penstock {
namespace {

__extension__ using Wide = __int128;

constexpr uint64_t k2To32 = uint64_t{1} << 32;
constexpr uint64_t k2To31 = uint64_t{1} << 31;
constexpr uint64_t kMost = ~uint64_t{0};

// All high halves that could be meant, with numbers wide enough not to wrap.
uint64_t NearestByTrying(uint64_t top, uint32_t low32) {
  Wide best = 0;
  Wide best_distance = -1;
  for (int step = -1; step <= 1; ++step) {
    const Wide candidate = static_cast<Wide>((top >> 32) + 0) * k2To32 +
                           static_cast<Wide>(step) * static_cast<Wide>(k2To32) + low32;
    if (candidate < 0 || candidate > static_cast<Wide>(kMost)) continue;
    const Wide from_top = candidate - static_cast<Wide>(top);
    const Wide distance = from_top < 0 ? -from_top : from_top;
    if (best_distance < 0 || distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return static_cast<uint64_t>(best);
}

// RFC 4303 A2.2, as it stands there.
uint64_t ByAppendixA2(uint64_t top, uint32_t low32, uint32_t window) {
  const auto top_low = static_cast<uint32_t>(top);
  uint64_t high = top >> 32;
  const uint32_t bottom = top_low - window + 1;
  if (top_low >= window - 1) {
    if (low32 < bottom) ++high;
  } else if (low32 >= bottom) {
    --high;
  }
  return high << 32 | low32;
}

struct Row {
  uint64_t top;
  uint32_t low32;
  uint64_t sequence;
  const char* why;
};

constexpr Row kRows[] = {
    {0, 1, 1, "the first packet of an SA"},
    {0, 0x8000'0000, k2To31, "nothing is below 0"},
    {5, 0xffff'fff0, 0xffff'fff0, "nothing is below 0"},
    {0xffff'ffff, 0, k2To32, "the step over 2^32"},
    {0xffff'fff0, 5, k2To32 + 5, "the step over 2^32, with a gap"},
    {k2To32 + 5, 0xffff'fff0, 0xffff'fff0, "late, from before 2^32"},
    {k2To32, 0xffff'ffff, 0xffff'ffff, "late by one, from before 2^32"},
    {7 * k2To32 + 1, 0xffff'ffff, 7 * k2To32 - 1, "late, from before 7 · 2^32"},
    {7 * k2To32 - 1, 2, 7 * k2To32 + 2, "on to 7 · 2^32"},
    {k2To32, 0x7fff'ffff, k2To32 + 0x7fff'ffff, "as far ahead as can be followed"},
    {k2To32, 0x8000'0000, k2To31, "equally near: the lower"},
    {kMost, 0xffff'fffe, kMost - 1, "late, at the end"},
    {kMost, 3, kMost - 0xffff'ffff + 3, "nothing is above 2^64 - 1"},
};

TEST(InferSequence, TakesTheNearestNumber) {
  for (const Row& row : kRows) {
    EXPECT_EQ(InferSequence(row.top, row.low32), row.sequence) << row.why;
    EXPECT_EQ(NearestByTrying(row.top, row.low32), row.sequence) << row.why;
  }
}

TEST(InferSequence, AgreesWithTryingEveryHighHalf) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 300'000; ++i) {
    // Around multiples of 2^32, of 2^31, at both ends, and anywhere.
    uint64_t top = random();
    const uint64_t near = random() % 20'000 - 10'000;
    switch (i % 4) {
      case 0:
        top = (random() % 1000 + 1) * k2To32 + near;
        break;
      case 1:
        top = (random() % 1000 + 1) * k2To31 + near;
        break;
      case 2:
        top = near;
        break;
    }
    const auto low32 =
        static_cast<uint32_t>(i % 8 < 4 ? random() : top + random() % 40'000 - 20'000);
    ASSERT_EQ(InferSequence(top, low32), NearestByTrying(top, low32)) << top << " " << low32;
  }
}

TEST(InferSequence, FollowsASenderAcrossEvery2To32) {
  std::mt19937_64 random(2);
  for (uint64_t high = 1; high < 50; ++high) {
    uint64_t top = high * k2To32 - 5000;
    while (top < high * k2To32 + 5000) {
      // Out of order by up to 60,000, lost up to 100.
      const uint64_t sent = top - 60'000 + random() % 60'100;
      ASSERT_EQ(InferSequence(top, static_cast<uint32_t>(sent)), sent) << "with the top " << top;
      top = std::max(top, sent);
    }
  }
}

TEST(InferSequence, KeepsTheNumberOfALatePacketWhereAppendixA2GivesItAnother) {
  constexpr uint32_t kWindow = 64;
  const uint64_t top = 3 * k2To32 + 1000;
  for (const uint64_t lag : {0, 1, 63}) {
    EXPECT_EQ(ByAppendixA2(top, static_cast<uint32_t>(top - lag), kWindow), top - lag);
    EXPECT_EQ(InferSequence(top, static_cast<uint32_t>(top - lag)), top - lag);
  }
  for (const uint64_t lag : {64, 65, 900}) {
    EXPECT_EQ(ByAppendixA2(top, static_cast<uint32_t>(top - lag), kWindow), top - lag + k2To32);
    EXPECT_EQ(InferSequence(top, static_cast<uint32_t>(top - lag)), top - lag);
  }
}

}  // namespace
}  // namespace penstock
