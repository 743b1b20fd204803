// SPDX-License-Identifier: BSD-3-Clause
//
// What stages do to mbufs. Main lcore.

#include "lib/packet/mbuf.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

namespace penstock {
namespace {

// Bytes 1, 2, 3 …, and what they are once the first two six are exchanged.
std::vector<uint8_t> Counted(size_t n) {
  std::vector<uint8_t> bytes(n);
  std::iota(bytes.begin(), bytes.end(), uint8_t{1});
  return bytes;
}
std::vector<uint8_t> CountedAndSwapped(size_t n) {
  std::vector<uint8_t> bytes = Counted(n);
  std::swap_ranges(bytes.begin(), bytes.begin() + 6, bytes.begin() + 6);
  return bytes;
}

TEST(SwapMacPairTest, ExchangesSixBytesWithTheNextSixAtAnyAlignmentAndTouchesNoOther) {
  constexpr uint8_t kGuard = 0xa5;
  for (size_t at = 0; at < 16; ++at) {
    alignas(16) std::array<uint8_t, 48> buffer;
    buffer.fill(kGuard);
    std::ranges::copy(Counted(kMacPairBytes), buffer.begin() + at);
    SwapMacPair(buffer.data() + at);
    std::array<uint8_t, 48> expected;
    expected.fill(kGuard);
    std::ranges::copy(std::to_array<uint8_t>({7, 8, 9, 10, 11, 12, 1, 2, 3, 4, 5, 6}),
                      expected.begin() + at);
    EXPECT_EQ(buffer, expected) << at;
    SwapMacPair(buffer.data() + at);
    std::ranges::copy(Counted(kMacPairBytes), expected.begin() + at);
    EXPECT_EQ(buffer, expected) << at;
  }
}

class SwapSegmentedTest : public testing::Test {
 protected:
  static constexpr unsigned kSegments = 24;
  static constexpr uint8_t kGuard = 0x5a;

  void SetUp() override {
    pool_ =
        rte_pktmbuf_pool_create("swap", kSegments, 0, 0, RTE_PKTMBUF_HEADROOM + 64, SOCKET_ID_ANY);
    ASSERT_NE(pool_, nullptr);
    ASSERT_EQ(rte_pktmbuf_alloc_bulk(pool_, mbufs_.data(), kSegments), 0);
  }
  void TearDown() override {
    if (pool_ == nullptr) return;
    for (rte_mbuf* mbuf : mbufs_) {
      mbuf->next = nullptr;
      mbuf->nb_segs = 1;
      rte_pktmbuf_free_seg(mbuf);
    }
    EXPECT_EQ(rte_mempool_in_use_count(pool_), 0u);
    rte_mempool_free(pool_);
  }

  // A packet of `bytes` cut as `lengths` say, and guards before and after each piece.
  rte_mbuf* Chain(const std::vector<uint8_t>& bytes, const std::vector<uint16_t>& lengths) {
    size_t offset = 0;
    for (size_t i = 0; i < lengths.size(); ++i) {
      rte_mbuf* const mbuf = mbufs_[i];
      // Pieces begin at any alignment.
      mbuf->data_off = static_cast<uint16_t>(RTE_PKTMBUF_HEADROOM + i % 8);
      mbuf->data_len = lengths[i];
      mbuf->next = i + 1 < lengths.size() ? mbufs_[i + 1] : nullptr;
      std::memset(mbuf->buf_addr, kGuard, mbuf->buf_len);
      std::copy_n(bytes.begin() + static_cast<long>(offset), lengths[i],
                  rte_pktmbuf_mtod(mbuf, uint8_t*));
      offset += lengths[i];
    }
    mbufs_[0]->pkt_len = static_cast<uint32_t>(bytes.size());
    mbufs_[0]->nb_segs = static_cast<uint16_t>(lengths.size());
    return mbufs_[0];
  }

  void Check(const std::vector<uint16_t>& lengths) {
    const size_t total = std::accumulate(lengths.begin(), lengths.end(), size_t{0});
    rte_mbuf* const packet = Chain(Counted(total), lengths);
    SwapMacPairSegmented(packet);
    std::vector<uint8_t> bytes;
    size_t i = 0;
    for (rte_mbuf* segment = packet; segment != nullptr; segment = segment->next, ++i) {
      ASSERT_LT(i, lengths.size());
      ASSERT_EQ(segment, mbufs_[i]);
      ASSERT_EQ(segment->data_len, lengths[i]);
      const uint8_t* const data = rte_pktmbuf_mtod(segment, const uint8_t*);
      const uint8_t* const buffer = static_cast<const uint8_t*>(segment->buf_addr);
      bytes.insert(bytes.end(), data, data + segment->data_len);
      const auto guards = [](const uint8_t* from, const uint8_t* to) {
        return std::all_of(from, to, [](uint8_t byte) { return byte == kGuard; });
      };
      EXPECT_TRUE(guards(buffer, data));
      EXPECT_TRUE(guards(data + segment->data_len, buffer + segment->buf_len));
    }
    EXPECT_EQ(i, lengths.size());
    EXPECT_EQ(bytes, CountedAndSwapped(total));
  }

  rte_mempool* pool_ = nullptr;
  std::array<rte_mbuf*, kSegments> mbufs_;
};

TEST_F(SwapSegmentedTest, EveryWayToCutTheAddressesIntoSegments) {
  // Each bit says whether the packet is cut behind that byte: from one segment to one for each
  // byte.
  constexpr uint16_t kBytes = 14;
  for (uint32_t cuts = 0; cuts < 1u << (kBytes - 1); ++cuts) {
    std::vector<uint16_t> lengths = {1};
    for (uint16_t byte = 1; byte < kBytes; ++byte) {
      if ((cuts >> (byte - 1) & 1) != 0) {
        lengths.push_back(1);
      } else {
        ++lengths.back();
      }
    }
    Check(lengths);
    if (HasFatalFailure() || HasNonfatalFailure()) FAIL() << "cuts " << cuts;
  }
}

TEST_F(SwapSegmentedTest, SegmentsWithoutBytes) {
  for (const std::vector<uint16_t>& lengths : std::vector<std::vector<uint16_t>>{{0, 14},
                                                                                 {0, 0, 12},
                                                                                 {6, 0, 6},
                                                                                 {3, 0, 0, 9, 0},
                                                                                 {12, 0},
                                                                                 {0, 1, 0, 11, 2},
                                                                                 {11, 0, 1}}) {
    Check(lengths);
  }
}

TEST_F(SwapSegmentedTest, NotOneByteMoreThanTheAddresses) { Check({5, 7}); }

std::vector<uint8_t> BytesOf(const rte_mbuf* packet) {
  std::vector<uint8_t> bytes;
  for (const rte_mbuf* segment = packet; segment != nullptr; segment = segment->next) {
    const uint8_t* const data = rte_pktmbuf_mtod(segment, const uint8_t*);
    bytes.insert(bytes.end(), data, data + segment->data_len);
  }
  return bytes;
}

TEST(RemoveFromPacketTest, WhatWasBeforeMeetsWhatWasBehind) {
  rte_mempool* const pool =
      rte_pktmbuf_pool_create("remove", 15, 0, 0, RTE_PKTMBUF_HEADROOM + 64, SOCKET_ID_ANY);
  ASSERT_NE(pool, nullptr);
  for (const std::vector<uint16_t>& lengths : std::vector<std::vector<uint16_t>>{
           {12}, {1, 11}, {3, 4, 5}, {5, 1, 1, 1, 4}, {0, 6, 0, 6}}) {
    for (uint32_t offset = 0; offset < 12; ++offset) {
      for (uint32_t n = 0; offset + n < 12; ++n) {
        rte_mbuf* packet = nullptr;
        const std::vector<uint8_t> all = Counted(12);
        size_t at = 0;
        for (const uint16_t length : lengths) {
          rte_mbuf* const mbuf = rte_pktmbuf_alloc(pool);
          std::copy_n(all.begin() + static_cast<long>(at), length,
                      reinterpret_cast<uint8_t*>(rte_pktmbuf_append(mbuf, length)));
          at += length;
          if (packet == nullptr) {
            packet = mbuf;
          } else {
            rte_pktmbuf_chain(packet, mbuf);
          }
        }
        EXPECT_TRUE(RemoveFromPacket(packet, offset, n));
        std::vector<uint8_t> wanted = all;
        wanted.erase(wanted.begin() + offset, wanted.begin() + offset + n);
        EXPECT_EQ(BytesOf(packet), wanted) << n << " at " << offset << " of " << lengths.size();
        const char* reason = "";
        EXPECT_EQ(rte_mbuf_check(packet, 1, &reason), 0) << reason;
        rte_pktmbuf_free(packet);
        EXPECT_EQ(rte_mempool_in_use_count(pool), 0u);
      }
    }
  }
  rte_mempool_free(pool);
}

TEST(RemoveFromPacketTest, IsRefusedWithoutHeadroomAndChangesNothing) {
  rte_mempool* const pool =
      rte_pktmbuf_pool_create("remove", 15, 0, 0, RTE_PKTMBUF_HEADROOM + 64, SOCKET_ID_ANY);
  ASSERT_NE(pool, nullptr);
  rte_mbuf* const packet = rte_pktmbuf_alloc(pool);
  packet->data_off = 7;
  std::ranges::copy(Counted(40), reinterpret_cast<uint8_t*>(rte_pktmbuf_append(packet, 40)));
  EXPECT_FALSE(RemoveFromPacket(packet, 8, 1));
  EXPECT_EQ(BytesOf(packet), Counted(40));
  EXPECT_TRUE(RemoveFromPacket(packet, 7, 1));
  rte_pktmbuf_free(packet);
  rte_mempool_free(pool);
}

}  // namespace
}  // namespace penstock
