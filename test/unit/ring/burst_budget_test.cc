// SPDX-License-Identifier: BSD-3-Clause
#include "lib/ring/burst_budget.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace penstock {
namespace {

constexpr uint32_t kWindow = BurstBudget::kWindow;

// How often the budget changed.
uint32_t Feed(BurstBudget& budget, uint32_t sends, const std::function<uint32_t()>& next) {
  uint32_t changes = 0;
  for (uint32_t i = 0; i < sends; ++i) {
    const uint32_t before = budget.budget();
    const uint32_t set = budget.Observe(next());
    EXPECT_EQ(set, budget.budget() != before ? budget.budget() : 0);
    changes += set != 0;
  }
  return changes;
}
uint32_t Feed(BurstBudget& budget, uint32_t sends, uint32_t pending) {
  return Feed(budget, sends, [=] { return pending; });
}

TEST(BurstBudget, BeginsWhereTheKernelDoesAndFollowsTheFirstBurstAtOnce) {
  BurstBudget budget(2048);
  EXPECT_EQ(budget.budget(), 32u);
  EXPECT_EQ(budget.Observe(256), 256u);
  EXPECT_EQ(budget.Observe(256), 0u);
  BurstBudget odd(2048);
  EXPECT_EQ(odd.Observe(33), 64u);
  EXPECT_EQ(odd.Observe(200), 224u) << "in steps of 32";
}

TEST(BurstBudget, StaysWithinWhatTheKernelTakes) {
  for (const uint32_t ring : {16u, 32u, 64u, 512u, 32768u}) {
    BurstBudget budget(ring);
    std::minstd_rand random(ring);
    const auto any = [&] { return static_cast<uint32_t>(random() % 40000); };
    for (int i = 0; i < 100000; ++i) {
      budget.Observe(any());
      ASSERT_GE(budget.budget(), 32u);
      ASSERT_LE(budget.budget(), std::max(ring, 32u));
    }
    Feed(budget, 100 * kWindow, 40000);
    EXPECT_EQ(budget.budget(), std::max(ring, 32u));
  }
}

TEST(BurstBudget, LargerBurstsAreFollowedAsSoonAsTheyAreMoreThanOneInAHundred) {
  BurstBudget budget(2048);
  Feed(budget, 100 * kWindow, 20);
  ASSERT_EQ(budget.budget(), 32u);
  // 1 in 100 of a window is 10; the 11th is one too many.
  EXPECT_EQ(Feed(budget, kWindow / 100, 300), 0u);
  EXPECT_EQ(budget.Observe(300), 320u);
}

TEST(BurstBudget, WhatIsRareIsNotFollowed) {
  BurstBudget budget(2048);
  uint32_t n = 0;
  Feed(budget, 50 * kWindow, 64);
  EXPECT_EQ(Feed(budget, 100 * kWindow, [&] { return ++n % 128 == 0 ? 512u : 64u; }), 0u);
  EXPECT_EQ(budget.budget(), 64u);
}

TEST(BurstBudget, ShrinksOnlyAfterWindowsInARowThatAllAllowIt) {
  BurstBudget budget(2048);
  Feed(budget, 20 * kWindow, 512);
  ASSERT_EQ(budget.budget(), 512u);
  EXPECT_EQ(Feed(budget, (BurstBudget::kPatience - 1) * kWindow, 20), 0u);
  // One window in between that needs it, and it begins anew.
  Feed(budget, kWindow, 512);
  EXPECT_EQ(Feed(budget, (BurstBudget::kPatience - 1) * kWindow, 20), 0u);
  EXPECT_EQ(Feed(budget, kWindow, 100), 1u);
  EXPECT_EQ(budget.budget(), 128u) << "the largest that any of these windows needed";
}

// What is over 64 is 7 in 1000: too little to grow for, too much to shrink for.
TEST(BurstBudget, BetweenOneIn200AndOneIn100ItStaysWhereItIs) {
  for (const auto& [before, stays] : {std::pair{64u, 64u}, {400u, 416u}, {512u, 416u}}) {
    BurstBudget budget(2048);
    Feed(budget, 20 * kWindow, before);
    uint32_t n = 0;
    Feed(budget, 100 * kWindow, [&] { return ++n % 143 == 0 ? 400u : 64u; });
    EXPECT_EQ(budget.budget(), stays) << before;
  }
}

TEST(BurstBudget, BurstsThatComeAndGoMakeItPatient) {
  BurstBudget budget(2048);
  uint32_t changes = 0;
  for (int i = 0; i < 200; ++i) {
    changes += Feed(budget, 2 * kWindow, 512);
    changes += Feed(budget, (BurstBudget::kPatience + 2) * kWindow, 20);
  }
  // Without the patience 400.
  EXPECT_LE(changes, 5u);
  EXPECT_EQ(budget.budget(), 512u);
  // It does shrink in the end.
  EXPECT_EQ(Feed(budget, (BurstBudget::kMostPatience + 1) * kWindow, 20), 1u);
  EXPECT_EQ(budget.budget(), 32u);
}

TEST(BurstBudget, SendsOfNothingSayNothing) {
  BurstBudget budget(2048);
  Feed(budget, 256, 256);
  EXPECT_EQ(Feed(budget, 1'000'000, 0), 0u);
  EXPECT_EQ(budget.budget(), 256u);
}

// What a source of bursts sends: numbers by chance.
struct Source {
  std::string name;
  std::function<uint32_t(std::mt19937&)> next;
};

std::vector<Source> Sources() {
  const auto one_of = [](std::vector<uint32_t> sizes, std::vector<double> weights) {
    return [=](std::mt19937& random) mutable {
      return sizes[std::discrete_distribution<size_t>(weights.begin(), weights.end())(random)];
    };
  };
  std::vector<Source> sources = {
      {"even to 512", [](std::mt19937& r) { return 1 + static_cast<uint32_t>(r() % 512); }},
      {"even to 100", [](std::mt19937& r) { return 1 + static_cast<uint32_t>(r() % 100); }},
      {"geometric",
       [](std::mt19937& r) {
         return 1 + static_cast<uint32_t>(std::geometric_distribution<int>(1.0 / 60)(r));
       }},
      {"half small", one_of({8, 512}, {1, 1})},
  };
  // Around the borders: what is over a budget of 64 is this many per thousand.
  for (const double over : {1.0, 3.0, 4.5, 5.0, 5.5, 7.0, 9.0, 10.0, 11.0, 15.0, 30.0}) {
    sources.push_back({"64, over it 0.1 % times " + std::to_string(over),
                       one_of({64, 400}, {1000 - over, over})});
  }
  return sources;
}

// Whatever comes, as long as it comes as before: nearly nothing is cut, no budget that is clearly
// smaller would do, and it does not go back and forth.
TEST(BurstBudget, CoversWhatIsSentWithLittleAndWithoutFlapping) {
  constexpr uint32_t kWindows = 500;
  for (const Source& source : Sources()) {
    for (uint32_t seed = 1; seed <= 2; ++seed) {
      std::mt19937 random(seed);
      BurstBudget budget(2048);
      const auto next = [&] { return source.next(random); };
      Feed(budget, 50 * kWindow, next);
      uint64_t cut = 0;
      const uint32_t changes = Feed(budget, kWindows * kWindow, [&] {
        const uint32_t pending = next();
        cut += pending > budget.budget();
        return pending;
      });
      EXPECT_LE(changes, 2 * std::log2(BurstBudget::kMostPatience) + 16)
          << source.name << ", seed " << seed;
      EXPECT_LE(cut * 100, uint64_t{kWindows} * kWindow) << source.name << ", seed " << seed;
      // The next smaller step would cut more than one in 200, or just about.
      uint64_t beyond = 0;
      const uint32_t now = budget.budget();
      if (now == 32) continue;
      const uint32_t smaller = SendBucketEnd(SendBucket(now) - 1);
      for (uint32_t i = 0; i < 100 * kWindow; ++i) beyond += next() > smaller;
      EXPECT_GE(static_cast<double>(beyond) / (100 * kWindow), 0.0035)
          << source.name << ", seed " << seed << ", budget " << now;
    }
  }
}

TEST(BurstBudget, ManyAtOnceAreAsGoodAsOneByOne) {
  for (const Source& source : Sources()) {
    // Where a border is near, windows of other lengths fall on its other side.
    if (source.name.starts_with("64, over")) continue;
    std::mt19937 random(7);
    BurstBudget one(2048);
    BurstBudget many(2048);
    for (int tick = 0; tick < 400; ++tick) {
      SendSizes sizes{};
      for (uint32_t i = 0; i < 5 * kWindow; ++i) {
        const uint32_t pending = source.next(random);
        one.Observe(pending);
        ++sizes[SendBucket(pending)];
      }
      many.ObserveMany(sizes);
    }
    const auto bucket = [](const BurstBudget& budget) {
      return static_cast<int>(SendBucket(budget.budget()));
    };
    EXPECT_LE(std::abs(bucket(one) - bucket(many)), 1) << source.name;
    EXPECT_EQ(many.ObserveMany(SendSizes{}), 0u);
  }
}

}  // namespace
}  // namespace penstock
