// SPDX-License-Identifier: BSD-3-Clause
//
// Holdings of synthetic sockets: a small simulated driver and kernel pass chunks through the rings,
// and what they hold is known from their own books.

#include "lib/port/xsk_holdings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <set>

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

RingImage Empty(uint32_t size, uint32_t start = 0) {
  return {.producer = start, .consumer = start, .chunks = std::vector<uint64_t>(size)};
}

void Push(RingImage& ring, uint64_t chunk) {
  ring.chunks[ring.producer % ring.chunks.size()] = chunk;
  ++ring.producer;
}

uint64_t Pop(RingImage& ring) { return ring.chunks[ring.consumer++ % ring.chunks.size()]; }

uint32_t Used(const RingImage& ring) { return ring.producer - ring.consumer; }

SocketImage Idle() {
  return {.fill = Empty(16), .rx = Empty(8), .tx = Empty(8), .completion = Empty(16)};
}

Holdings Of(const SocketImage& image) { return HoldingsOf({&image, 1}).value(); }

TEST(HoldingsTest, ChunksInEachRing) {
  SocketImage image = Idle();
  EXPECT_THAT(Of(image).chunks, IsEmpty());
  Push(image.fill, 100);
  Push(image.fill, 101);
  Push(image.rx, Pop(image.fill));
  Push(image.tx, 300);
  Push(image.tx, 301);
  Push(image.completion, Pop(image.tx));
  EXPECT_THAT(Of(image).chunks, ElementsAre(100, 101, 300, 301));
  EXPECT_EQ(Of(image).unplaced, 0u);
  Pop(image.rx);
  Pop(image.completion);
  EXPECT_THAT(Of(image).chunks, ElementsAre(101, 301));
}

TEST(HoldingsTest, ChunksInTheKernelsHands) {
  SocketImage image = Idle();
  for (const uint64_t chunk : {1, 2, 3}) Push(image.fill, chunk);
  for (const uint64_t chunk : {7, 8, 9}) Push(image.tx, chunk);
  Pop(image.fill);  // dropped, the kernel keeps it
  Push(image.rx, Pop(image.fill));
  Pop(image.rx);
  Pop(image.tx);  // on its way
  Push(image.completion, Pop(image.tx));
  Pop(image.completion);
  EXPECT_THAT(Of(image).chunks, ElementsAre(1, 3, 7, 9));
}

TEST(HoldingsTest, ConsumerIndexThatLagsDoesNotMatter) {
  SocketImage image = Idle();
  Push(image.tx, 7);
  Push(image.completion, 7);  // the TX consumer index is not published yet
  EXPECT_THAT(Of(image).chunks, ElementsAre(7));
  Pop(image.completion);
  EXPECT_THAT(Of(image).chunks, IsEmpty());
}

TEST(HoldingsTest, FrameQueuedTwiceIsOneChunk) {
  SocketImage image = Idle();
  Push(image.tx, 7);
  Push(image.tx, 7);
  Push(image.completion, Pop(image.tx));
  EXPECT_THAT(Of(image).chunks, ElementsAre(7));
}

TEST(HoldingsTest, SeveralSocketsOverOnePool) {
  std::vector<SocketImage> images = {Idle(), Idle()};
  Push(images[0].fill, 3);
  Push(images[1].fill, 2);
  Push(images[0].tx, 9);
  Push(images[1].tx, 9);
  EXPECT_THAT(HoldingsOf(images).value().chunks, ElementsAre(2, 3, 9));
}

TEST(HoldingsTest, MoreReturnedThanGivenIsAnError) {
  SocketImage image = Idle();
  Push(image.tx, 7);
  Push(image.completion, 7);
  Push(image.completion, 7);
  EXPECT_EQ(HoldingsOf({&image, 1}).status().message(),
            "TX and COMPLETION: the kernel returned 1 chunks more than it was given");
}

TEST(HoldingsTest, ImpossibleRingsAreErrors) {
  SocketImage image = Idle();
  image.rx = Empty(3);
  EXPECT_TRUE(absl::IsInvalidArgument(HoldingsOf({&image, 1}).status()));
  image = Idle();
  image.fill.producer = 17;
  EXPECT_TRUE(absl::IsDataLoss(HoldingsOf({&image, 1}).status()));
}

TEST(HoldingsTest, WhatCannotBeToldIsCounted) {
  // The kernel keeps chunk 0 while all others pass it, for longer than the rings remember.
  SocketImage image = Idle();
  Push(image.fill, 0);
  Pop(image.fill);
  for (uint64_t chunk = 1; chunk < 100; ++chunk) {
    Push(image.fill, chunk);
    Push(image.rx, Pop(image.fill));
    Pop(image.rx);
  }
  const Holdings holdings = Of(image);
  EXPECT_EQ(holdings.Count(), 1u);
  EXPECT_EQ(holdings.unplaced, 1u);
}

TEST(HoldingsTest, AFullRingIsToldWithoutHistory) {
  SocketImage image = Idle();  // TX of 8
  for (uint64_t chunk = 0; chunk < 100; ++chunk) {
    Push(image.tx, chunk);
    Push(image.completion, Pop(image.tx));
    Pop(image.completion);
  }
  for (uint64_t chunk = 100; chunk < 108; ++chunk) Push(image.tx, chunk);
  EXPECT_THAT(Of(image).chunks, ElementsAre(100, 101, 102, 103, 104, 105, 106, 107));
}

TEST(HoldingsTest, MoreInFlightThanTheRingHasRoomFor) {
  SocketImage image = Idle();  // TX of 8
  for (uint64_t chunk = 0; chunk < 20; ++chunk) {
    Push(image.tx, chunk);
    Pop(image.tx);
  }
  const Holdings holdings = Of(image);
  EXPECT_EQ(holdings.Count(), 20u);
  EXPECT_EQ(holdings.unplaced, 20u);
}

// A driver with a pool and a kernel as the copy mode of Linux is: RX drops go to a hidden list,
// which is used up, last in first out, before FILL is touched again; completions are late, and out
// of order by a little. An `early` kernel, as older ones are, writes a completion when it
// takes the frame and publishes it later, all in order.
class Simulation {
 public:
  Simulation(uint32_t seed, uint32_t start, bool early) : random_(seed), early_(early) {
    image_ = {.fill = Empty(256, start),
              .rx = Empty(64, start),
              .tx = Empty(128, start),
              .completion = Empty(64, start)};
    for (uint64_t chunk = 1; chunk <= 600; ++chunk) pool_.push_back(chunk);
    for (int i = 0; i < 120; ++i) Push(image_.fill, Take());
  }

  void Step() {
    switch (random_() % 6) {
      case 0:
      case 1:
        KernelReceives();
        break;
      case 2:
        DriverReceives();
        break;
      case 3:
        DriverSends();
        break;
      case 4:
        KernelSends();
        break;
      default:
        DriverReaps();
    }
  }

  // What is neither in the pool nor with the application.
  std::vector<uint64_t> Held() const {
    std::set<uint64_t> held;
    for (uint64_t chunk = 1; chunk <= 600; ++chunk) held.insert(chunk);
    for (const uint64_t chunk : pool_) held.erase(chunk);
    for (const uint64_t chunk : application_) held.erase(chunk);
    return {held.begin(), held.end()};
  }

  const SocketImage& image() const { return image_; }
  size_t dropped() const { return dropped_; }

 private:
  uint64_t Take() {
    std::swap(pool_[random_() % pool_.size()], pool_.back());
    const uint64_t chunk = pool_.back();
    pool_.pop_back();
    return chunk;
  }

  void KernelReceives() {
    for (uint32_t i = random_() % 24; i > 0; --i) {
      if (hidden_.empty()) {
        if (Used(image_.fill) == 0) return;
        hidden_.push_back(Pop(image_.fill));
      }
      if (Used(image_.rx) == image_.rx.chunks.size()) {
        ++dropped_;
        return;
      }
      Push(image_.rx, hidden_.back());
      hidden_.pop_back();
    }
  }

  void DriverReceives() {
    for (uint32_t i = random_() % 16; i > 0 && Used(image_.rx) > 0; --i) {
      application_.push_back(Pop(image_.rx));
      Push(image_.fill, Take());
    }
    while (application_.size() > 40) {
      pool_.push_back(application_.front());
      application_.pop_front();
    }
  }

  void DriverSends() {
    for (uint32_t i = random_() % 8; i > 0 && !application_.empty(); --i) {
      if (Used(image_.tx) == image_.tx.chunks.size()) return;
      Push(image_.tx, application_.back());
      application_.pop_back();
    }
  }

  void KernelSends() {
    RingImage& completion = image_.completion;
    while (Used(image_.tx) > 0 && on_the_wire_.size() < 8 &&
           Used(completion) + on_the_wire_.size() < completion.chunks.size()) {
      const uint64_t chunk = Pop(image_.tx);
      if (early_) {
        completion.chunks[(completion.producer + on_the_wire_.size()) % completion.chunks.size()] =
            chunk;
      }
      on_the_wire_.push_back(chunk);
    }
    for (uint32_t i = random_() % 8; i > 0 && !on_the_wire_.empty(); --i) {
      const size_t which = early_ ? 0 : random_() % std::min<size_t>(2, on_the_wire_.size());
      Push(completion, on_the_wire_[which]);
      on_the_wire_.erase(on_the_wire_.begin() + static_cast<ptrdiff_t>(which));
    }
  }

  void DriverReaps() {
    while (Used(image_.completion) > 0) pool_.push_back(Pop(image_.completion));
  }

  std::minstd_rand random_;
  bool early_;
  SocketImage image_;
  std::vector<uint64_t> pool_;
  std::deque<uint64_t> application_;
  std::vector<uint64_t> hidden_;
  std::vector<uint64_t> on_the_wire_;
  size_t dropped_ = 0;
};

TEST(HoldingsTest, AgreeWithASimulatedKernelAtEachStep) {
  // The second start lets every index wrap.
  for (const uint32_t start : {0u, 0xffffff00u}) {
    for (uint32_t seed = 1; seed <= 6; ++seed) {
      Simulation simulation(seed, start, seed % 2 == 0);
      int exact = 0;
      constexpr int kSteps = 600;
      for (int step = 0; step < kSteps; ++step) {
        simulation.Step();
        const Holdings holdings = Of(simulation.image());
        const std::vector<uint64_t> held = simulation.Held();
        ASSERT_EQ(holdings.Count(), held.size()) << "seed " << seed << " step " << step;
        ASSERT_TRUE(std::ranges::includes(held, holdings.chunks))
            << "seed " << seed << " step " << step;
        if (holdings.unplaced == 0) ++exact;
      }
      EXPECT_GT(simulation.dropped(), 0u);
      EXPECT_GT(exact, kSteps / 4);
    }
  }
}

}  // namespace
}  // namespace penstock
