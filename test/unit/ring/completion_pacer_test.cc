// SPDX-License-Identifier: BSD-3-Clause
//
// The pacer on virtual time, beside a queue that knows the truth: what was sent when, what is done,
// what was freed by whom. Test process only.

#include "lib/ring/completion_pacer.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>

namespace penstock {
namespace {

constexpr uint64_t kUs = 1000;  // of a ManualClock's ticks
constexpr uint64_t kMs = 1000 * kUs;
constexpr uint64_t kBusyNs = 100 * kUs;
constexpr uint64_t kIdleNs = 1 * kMs;
constexpr uint32_t kRing = 1024;

// A TX queue and its device. Packets are done in the order sent, each `latency_ns` after, never
// while it is stuck.
class Device {
 public:
  explicit Device(const ManualClock& clock, bool tells = true) : clock_(clock), tells_(tells) {}

  void Send(uint32_t n) {
    for (uint32_t i = 0; i < n; ++i) inside_.push_back(clock_.NowTsc());
    sent += n;
  }
  // As a burst that would stall does: the driver takes back by itself.
  uint32_t TakeItself() { return Free(); }

  uint32_t Waiting(uint32_t out) noexcept {
    ++asked;
    if (!tells_) return CompletionPacer<ManualClock>::kCannotTell;
    const auto waiting = static_cast<uint32_t>(inside_.size() - Done());
    return std::min(waiting, out);
  }
  int Reap(uint32_t) noexcept {
    ++reaps;
    if (inside_.empty()) ++reaps_of_nothing;
    if (refuses) return -95;
    const uint32_t freed = Free();
    empty_reaps += freed == 0;
    return static_cast<int>(freed);
  }

  size_t inside() const { return inside_.size(); }
  uint64_t OldestNs() const { return inside_.empty() ? 0 : clock_.NowTsc() - inside_.front(); }

  uint64_t latency_ns = 0;
  bool stuck = false;
  bool refuses = false;
  uint64_t sent = 0;
  uint64_t reaps = 0;
  uint64_t reaps_of_nothing = 0;
  uint64_t empty_reaps = 0;
  uint64_t asked = 0;

 private:
  size_t Done() const {
    if (stuck) return 0;
    size_t done = 0;
    while (done < inside_.size() && inside_[done] + latency_ns <= clock_.NowTsc()) ++done;
    return done;
  }
  uint32_t Free() {
    const size_t done = Done();
    inside_.erase(inside_.begin(), inside_.begin() + static_cast<ptrdiff_t>(done));
    return static_cast<uint32_t>(done);
  }

  const ManualClock& clock_;
  bool tells_;
  std::deque<uint64_t> inside_;
};

// An lcore whose every turn takes `turn_ns`.
class World {
 public:
  explicit World(bool tells = true, uint32_t threshold = 64, uint32_t ring = kRing)
      : device(clock, tells),
        pacer(clock, {.limit = ring,
                      .threshold = threshold,
                      .busy_age_ns = kBusyNs,
                      .idle_age_ns = kIdleNs,
                      .exact = tells,
                      .persistent = tells}) {}

  void Turn(uint32_t packets) {
    device.Send(packets);
    credit -= packets + 1;
    if (credit <= 0) {
      credit = pacer.Look(device.sent, device);
      ++looks;
      EXPECT_GE(credit, 1);
      EXPECT_LE(credit, CompletionPacer<ManualClock>::kMostCredit);
    }
    oldest_ns = std::max(oldest_ns, device.OldestNs());
    clock.Advance(turn_ns);
  }
  void IdleFor(uint64_t ns) {
    for (uint64_t until = clock.NowTsc() + ns; clock.NowTsc() < until;) Turn(0);
  }

  ManualClock clock;
  Device device;
  CompletionPacer<ManualClock> pacer;
  uint64_t turn_ns = 50;
  int64_t credit = 1;
  uint64_t looks = 0;
  uint64_t oldest_ns = 0;
};

TEST(CompletionPacer, NeverReapsWithNothingInFlight) {
  for (const bool tells : {false, true}) {
    World world(tells);
    world.IdleFor(20 * kMs);
    EXPECT_GT(world.looks, 0u);
    EXPECT_EQ(world.device.reaps + world.device.asked, 0u);
    world.Turn(10);
    world.IdleFor(20 * kMs);
    EXPECT_EQ(world.device.reaps, 1u) << "and not again once they are back";
    EXPECT_EQ(world.pacer.reaped(), 10u);
    EXPECT_EQ(world.pacer.in_flight(), 0u);
  }
}

TEST(CompletionPacer, ReapsByTheThreshold) {
  for (const uint32_t threshold : {1u, 2u, 64u, 200u, 512u}) {
    World world(true, threshold);
    for (int i = 0; i < 20'000; ++i) world.Turn(1);
    // 20,000 packets in a millisecond: no age is reached, and a look may be up to one turn late.
    EXPECT_NEAR(static_cast<double>(world.device.reaps), 20'000.0 / threshold,
                1.0 + 20'000.0 / threshold / 2)
        << threshold;
    EXPECT_EQ(world.device.empty_reaps, 0u);
    EXPECT_LE(world.device.inside(), threshold + 1);
  }
}

TEST(CompletionPacer, ASmallRingIsLookedAtBeforeItIsFull) {
  for (const uint32_t ring : {1u, 2u, 32u, 64u, 100u}) {
    World world(true, 64, ring);
    for (int i = 0; i < 5000; ++i) {
      world.Turn(1);
      ASSERT_LE(world.device.inside(), ring) << "a ring of " << ring;
    }
  }
}

TEST(CompletionPacer, TakesBackTheTailWithinTheIdleAge) {
  World world;
  for (const uint32_t tail : {1u, 5u, 63u}) {
    world.Turn(tail);
    const uint64_t since = world.clock.NowTsc();
    while (world.device.inside() != 0) world.Turn(0);
    const uint64_t took = world.clock.NowTsc() - since;
    EXPECT_LE(took, kIdleNs) << tail;
    EXPECT_GT(took, kBusyNs * 2) << "it was idle";
    EXPECT_EQ(world.device.empty_reaps, 0u);
  }
}

TEST(CompletionPacer, AThinStreamIsTakenBackWithinTheBusyAge) {
  for (const uint64_t turn_ns : {50u, 700u, 3000u, 9000u}) {
    World world;
    world.turn_ns = turn_ns;
    // A packet every 40 µs at most: 64 of them would take milliseconds.
    const auto idle_turns = static_cast<int>(40 * kUs / turn_ns);
    for (int i = 0; i < 2000; ++i) {
      world.Turn(1);
      for (int j = 1; j < idle_turns; ++j) world.Turn(0);
      // A look sees a packet up to an eighth of an age after it went.
      ASSERT_LE(world.oldest_ns, kBusyNs + kBusyNs / 4 + turn_ns) << turn_ns;
    }
    EXPECT_EQ(world.device.empty_reaps, 0u);
    EXPECT_GT(world.device.reaps, 100u);
  }
}

TEST(CompletionPacer, LateCompletionsCostQuestionsNotReaps) {
  World world;
  world.device.latency_ns = 60 * kUs;
  world.turn_ns = 30 * kUs;
  for (int i = 0; i < 5000; ++i) {
    world.Turn(32);
    ASSERT_LE(world.device.inside(), kRing);
  }
  EXPECT_GT(world.device.reaps, 1000u);
  EXPECT_EQ(world.device.empty_reaps, 0u);
  EXPECT_LE(world.oldest_ns, kBusyNs + 64 * kUs) << "a sixteenth of the ring is 64 packets, 60 us";
}

TEST(CompletionPacer, ReapsInVainGetRarerAndAPushComesAllTheSame) {
  for (const bool tells : {false, true}) {
    World world(tells);
    world.device.stuck = true;
    world.Turn(10);
    uint64_t before = 0;
    // After 1 ms, then 1, 2, 4, 8 and 16 ms later, then every 16.
    world.IdleFor(33 * kMs);
    EXPECT_EQ(world.device.asked, tells ? 6u : 5u);
    EXPECT_EQ(world.device.reaps, tells ? 2u : 5u);
    before = world.device.reaps;
    world.IdleFor(160 * kMs);
    if (tells) {
      EXPECT_NEAR(static_cast<double>(world.device.reaps - before), 10, 1);
    } else {
      EXPECT_EQ(world.device.reaps, before) << "given up";
    }
    world.device.stuck = false;
    world.IdleFor(20 * kMs);
    if (!tells) world.Turn(1), world.IdleFor(20 * kMs);
    EXPECT_EQ(world.device.inside(), 0u);
    EXPECT_EQ(world.pacer.in_flight(), 0u);
  }
}

TEST(CompletionPacer, WhatTheDriverTookItselfIsNotLookedForForEver) {
  for (const bool tells : {false, true}) {
    World world(tells);
    world.Turn(50);
    EXPECT_EQ(world.device.TakeItself(), 50u);
    world.IdleFor(100 * kMs);
    EXPECT_LE(world.device.reaps, tells ? 1u : 6u);
    const uint64_t before = world.device.reaps;
    world.IdleFor(100 * kMs);
    EXPECT_EQ(world.device.reaps, before);
    // And it goes on as before.
    world.Turn(20);
    world.IdleFor(2 * kMs);
    EXPECT_EQ(world.device.inside(), 0u);
    EXPECT_EQ(world.pacer.in_flight(), 0u);
  }
}

TEST(CompletionPacer, AQueueThatRefusesIsLeftAlone) {
  World world(false);
  world.device.refuses = true;
  world.Turn(50);
  world.IdleFor(5 * kMs);
  for (int i = 0; i < 1000; ++i) world.Turn(32);
  EXPECT_EQ(world.device.reaps, 1u);
  EXPECT_EQ(world.pacer.reaps(), 0u);
  EXPECT_EQ(world.pacer.in_flight(), 0u);
}

// Packets of several descriptors: the device frees and counts those, the lcore counted packets.
TEST(CompletionPacer, PacketsOfSeveralDescriptorsAllComeBack) {
  struct Chained {
    Device& device;
    uint64_t packets = 0;
    uint32_t Waiting(uint32_t out) noexcept { return device.Waiting(out); }
    int Reap(uint32_t out) noexcept { return device.Reap(out); }
  };
  std::mt19937 random(7);
  World world;
  Chained chained{world.device};
  for (int round = 0; round < 3000; ++round) {
    world.device.latency_ns = random() % 3 == 0 ? random() % (200 * kUs) : 0;
    const uint32_t packets = random() % 4 == 0 ? random() % 32 : 0;
    world.device.Send(packets * 5);
    chained.packets += packets;
    world.credit -= packets + 1;
    if (world.credit <= 0) world.credit = world.pacer.Look(chained.packets, chained);
    world.clock.Advance(random() % (10 * kUs));
  }
  world.device.latency_ns = 0;
  for (int turn = 0; turn < 2'000'000 && world.device.inside() != 0; ++turn) {
    if (--world.credit <= 0) world.credit = world.pacer.Look(chained.packets, chained);
    world.clock.Advance(50);
  }
  EXPECT_EQ(world.device.inside(), 0u);
  EXPECT_EQ(world.device.reaps_of_nothing, 0u);
}

// More came back than the lcore counts packets, and some are out still: that is not nothing.
TEST(CompletionPacer, WhatWaitsIsNeverTakenForNothing) {
  World world(true, /*threshold=*/10);
  world.device.latency_ns = 10 * kUs;
  uint64_t packets = 9;
  world.device.Send(45);  // five descriptors each
  world.clock.Advance(8 * kUs);
  packets += 1;
  world.device.Send(5);
  world.clock.Advance(4 * kUs);  // the first nine are done, the last is not
  world.pacer.Look(packets, world.device);
  ASSERT_EQ(world.device.inside(), 5u);
  EXPECT_GE(world.pacer.in_flight(), 1u);
  for (int64_t credit = 0, turn = 0; turn < 100'000 && world.device.inside() != 0; ++turn) {
    if (--credit <= 0) credit = world.pacer.Look(packets, world.device);
    world.clock.Advance(50);
  }
  EXPECT_EQ(world.device.inside(), 0u);
}

// Whatever is sent and however late it is done.
TEST(CompletionPacer, AnyTraffic) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const bool tells = seed % 2 == 0;
    World world(tells, 1 + random() % 128);
    uint64_t stalls = 0;
    for (int phase = 0; phase < 40; ++phase) {
      world.turn_ns = 30 + random() % 20'000;
      world.device.latency_ns = random() % 2 == 0 ? 0 : random() % (300 * kUs);
      const uint32_t most = 1 + random() % 64;
      const bool idle = random() % 3 == 0;
      for (int turn = 0; turn < 300; ++turn) {
        uint32_t packets = idle || random() % 4 == 0 ? 0 : random() % most;
        if (world.device.inside() + packets > kRing) {
          ++stalls;
          world.device.TakeItself();
          packets =
              std::min<uint32_t>(packets, kRing - static_cast<uint32_t>(world.device.inside()));
        }
        world.Turn(packets);
        // Never more believed than can be, and nothing believed only where nothing is.
        ASSERT_LE(world.pacer.in_flight(), kRing);
      }
    }
    world.device.latency_ns = 0;
    world.turn_ns = 50;
    if (!tells) world.Turn(1);
    world.IdleFor(40 * kMs);
    EXPECT_EQ(world.device.inside(), 0u) << "seed " << seed;
    EXPECT_EQ(world.pacer.reaped() > 0, true);
    EXPECT_EQ(world.pacer.reaps(), world.device.reaps);
    EXPECT_EQ(world.pacer.empty_reaps(), world.device.empty_reaps);
    if (tells) {
      EXPECT_EQ(world.pacer.in_flight(), 0u) << "seed " << seed;
      EXPECT_LE(world.device.reaps_of_nothing, stalls) << "seed " << seed;
    } else if (stalls == 0) {
      EXPECT_EQ(world.device.reaps_of_nothing, 0u) << "seed " << seed;
    }
  }
}

TEST(CompletionPacer, TheClockIsReadNowAndThen) {
  struct CountedClock {
    const ManualClock* clock;
    mutable uint64_t* reads;
    uint64_t NowTsc() const noexcept {
      ++*reads;
      return clock->NowTsc();
    }
    uint64_t Hz() const noexcept { return clock->Hz(); }
  };
  ManualClock time;
  uint64_t reads = 0;
  const CountedClock clock{&time, &reads};
  Device device(time);
  CompletionPacer<CountedClock> pacer(clock, {.limit = kRing});
  int64_t credit = 1;
  for (int turn = 0; turn < 100'000; ++turn) {
    if (--credit <= 0) credit = pacer.Look(device.sent, device);
    time.Advance(30);
  }
  EXPECT_LE(reads, 100'000u / 60);
  reads = 0;
  device.Send(1);
  for (int turn = 0; turn < 10'000; ++turn) {  // 0.3 ms: not yet taken back
    if (--credit <= 0) credit = pacer.Look(device.sent, device);
    time.Advance(30);
  }
  EXPECT_EQ(device.inside(), 1u);
  EXPECT_LE(reads, 10'000u / 60);
}

TEST(CompletionPacer, SaysHowOldTheOldestIs) {
  World world;
  world.device.stuck = true;
  world.clock.Advance(5000);
  EXPECT_EQ(world.pacer.oldest_tsc(), 0u);
  world.credit = 0;
  world.Turn(3);
  EXPECT_EQ(world.pacer.oldest_tsc(), 5000u);
  EXPECT_EQ(world.pacer.in_flight(), 3u);
  world.IdleFor(kIdleNs / 2);
  EXPECT_EQ(world.pacer.oldest_tsc(), 5000u);
  world.device.stuck = false;
  world.IdleFor(2 * kIdleNs);
  EXPECT_EQ(world.pacer.oldest_tsc(), 0u);
}

}  // namespace
}  // namespace penstock
