// SPDX-License-Identifier: BSD-3-Clause
#include "lib/ring/send_sizes.h"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>
#include <vector>

namespace penstock {
namespace {

TEST(SendSizes, EachSizeIsInTheBucketWhoseEndIsTheNextOne) {
  EXPECT_EQ(SendBucket(0), 0u);
  EXPECT_EQ(SendBucketEnd(0), 0u);
  for (size_t bucket = 1; bucket < kSendBuckets; ++bucket) {
    ASSERT_LT(SendBucketEnd(bucket - 1), SendBucketEnd(bucket));
  }
  EXPECT_EQ(SendBucketEnd(kSendBuckets - 1), 32768u);
  for (uint32_t n = 1; n <= 32768; ++n) {
    const size_t bucket = SendBucket(n);
    ASSERT_LT(bucket, kSendBuckets);
    ASSERT_LE(n, SendBucketEnd(bucket));
    ASSERT_GT(n, SendBucketEnd(bucket - 1));
  }
  EXPECT_EQ(SendBucket(32769), kSendBuckets - 1) << "there is no such ring";
  EXPECT_EQ(SendBucket(UINT32_MAX), kSendBuckets - 1);
}

TEST(SendSizes, BudgetsComeInStepsOf32UpTo512) {
  for (uint32_t step = 32; step <= 512; step += 32) {
    EXPECT_EQ(SendBucketEnd(SendBucket(step)), step);
    EXPECT_EQ(SendBucketEnd(SendBucket(step + 1)), step < 512 ? step + 32 : 1024);
  }
  EXPECT_EQ(SendBucketEnd(SendBucket(1)), 1u);
  EXPECT_EQ(SendBucketEnd(SendBucket(9)), 16u);
}

TEST(SendSizes, ACounterAddsUpWhatItsUsersSent) {
  SendCounter<Shared> sends;
  std::vector<std::thread> users;
  for (int i = 0; i < 4; ++i) {
    users.emplace_back([&] {
      for (uint32_t n = 1; n <= 1000; ++n) sends.Add(n);
    });
  }
  for (std::thread& user : users) user.join();
  SendSizes sum{};
  sends.AddTo(sum);
  sends.AddTo(sum);
  EXPECT_EQ(std::accumulate(sum.begin(), sum.end(), uint64_t{0}), 8000u);
  EXPECT_EQ(sum[SendBucket(1)], 8u);
  EXPECT_EQ(sum[SendBucket(64)], 32u * 8);
  EXPECT_EQ(sum[SendBucket(1000)], 488u * 8);
}

TEST(SendSizes, OneLcoresLinesAreItsOwn) {
  static_assert(alignof(LcoreSends) == kCacheLineBytes &&
                sizeof(LcoreSends) % kCacheLineBytes == 0);
  LcoreSends sends;
  sends.Add(0);
  sends.Add(256);
  SendSizes sum{};
  sends.AddTo(sum);
  EXPECT_EQ(sum[0], 1u);
  EXPECT_EQ(sum[SendBucket(256)], 1u);
}

}  // namespace
}  // namespace penstock
