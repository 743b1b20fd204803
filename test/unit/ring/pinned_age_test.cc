// SPDX-License-Identifier: BSD-3-Clause
#include "lib/ring/pinned_age.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

struct Queue {
  explicit Queue(uint32_t limit, uint32_t start = 0) : age(limit), sent(start), back(start) {}
  void Send(uint32_t n, uint64_t now) {
    age.Went(sent, n, back, [&] {
      ++looks;
      return now;
    });
    sent += n;
  }
  uint64_t Oldest() const { return age.SinceTsc(sent, back); }

  PinnedAge age;
  uint32_t sent;
  uint32_t back;
  int looks = 0;
};

TEST(PinnedAge, NothingOutHasNoAge) {
  Queue queue(1024);
  EXPECT_EQ(queue.Oldest(), 0u);
  queue.Send(4, 100);
  EXPECT_EQ(queue.Oldest(), 100u);
  queue.back = 4;
  EXPECT_EQ(queue.Oldest(), 0u);
}

TEST(PinnedAge, ComesForwardAsTheOldestReturn) {
  for (const uint32_t start : {0u, 0xffffff00u}) {
    Queue queue(1024, start);  // a sixteenth is 64
    for (uint64_t burst = 0; burst < 16; ++burst) queue.Send(64, 1000 + burst);
    EXPECT_EQ(queue.Oldest(), 1000u);
    queue.back += 64;
    EXPECT_EQ(queue.Oldest(), 1001u);
    queue.back += 64 * 14;
    EXPECT_EQ(queue.Oldest(), 1015u);
  }
}

TEST(PinnedAge, AQueueThatWasEmptyStartsAnew) {
  Queue queue(1024);
  queue.Send(3, 10);
  queue.back = 3;
  queue.Send(1, 5000);  // in the same sixteenth
  EXPECT_EQ(queue.Oldest(), 5000u);
}

TEST(PinnedAge, LooksAtTheClockOnceASixteenth) {
  Queue queue(1024);
  queue.Send(1, 1);
  for (int i = 0; i < 62; ++i) queue.Send(1, 2);
  EXPECT_EQ(queue.looks, 1);
  queue.Send(2, 3);
  EXPECT_EQ(queue.looks, 2);
  queue.Send(512, 4);
  EXPECT_EQ(queue.looks, 3);
  queue.back = 577;
  EXPECT_EQ(queue.Oldest(), 0u);
}

TEST(PinnedAge, WorksForTheSmallestQueue) {
  Queue queue(1);
  queue.Send(1, 7);
  EXPECT_EQ(queue.Oldest(), 7u);
  queue.back = 1;
  queue.Send(1, 8);
  EXPECT_EQ(queue.Oldest(), 8u);
}

}  // namespace
}  // namespace penstock
