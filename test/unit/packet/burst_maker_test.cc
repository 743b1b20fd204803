// SPDX-License-Identifier: BSD-3-Clause
//
// How many packets are made, of how many mbufs, and what happens when the pool has few. Main lcore.

#include "lib/packet/burst_maker.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace penstock {
namespace {

constexpr unsigned kMbufs = 2047;

class BurstMakerTest : public testing::Test {
 protected:
  void SetUp() override {
    pool_ =
        rte_pktmbuf_pool_create("maker", kMbufs, 0, 0, RTE_PKTMBUF_HEADROOM + 128, SOCKET_ID_ANY);
    ASSERT_NE(pool_, nullptr);
  }
  void TearDown() override {
    EXPECT_EQ(rte_mempool_in_use_count(pool_), 0u);
    rte_mempool_free(pool_);
  }

  // Leaves `n` mbufs in the pool until Restore().
  void LeaveOnly(unsigned n) {
    taken_.resize(kMbufs - n);
    if (taken_.empty()) return;
    ASSERT_EQ(rte_mempool_get_bulk(pool_, taken_.data(), kMbufs - n), 0);
  }
  void Restore() {
    if (taken_.empty()) return;
    rte_mempool_put_bulk(pool_, taken_.data(), static_cast<unsigned>(taken_.size()));
  }

  static PacketTemplate Udp(std::vector<uint16_t> segment_bytes) {
    UdpFrame frame{};
    frame.segment_bytes = std::move(segment_bytes);
    return PacketTemplate::Udp(frame);
  }

  rte_mempool* pool_ = nullptr;
  std::vector<void*> taken_;
};

struct Row {
  const char* why;
  uint16_t burst;
  std::vector<uint16_t> segment_bytes;
  unsigned in_pool;
  size_t packets;
  bool short_of_mbufs;
};

TEST_F(BurstMakerTest, MakesWholePacketsAsManyAsThereAreMbufsFor) {
  const Row rows[] = {
      {"a burst of one", 1, {64}, kMbufs, 1, false},
      {"the usual", 32, {64}, kMbufs, 32, false},
      {"the largest", kMaxBurst, {64}, kMbufs, kMaxBurst, false},
      {"segments: a burst of packets, not of mbufs", 32, {30, 30, 4}, kMbufs, 32, false},
      {"no more than kMaxBurst mbufs hold", kMaxBurst, {30, 30, 4}, kMbufs, 170, false},
      {"just enough", 32, {64}, 32, 32, false},
      {"one too few for a burst: a single packet", 32, {64}, 31, 1, true},
      {"the last mbuf", 32, {64}, 1, 1, true},
      {"none left", 32, {64}, 0, 0, true},
      {"a whole packet or none", 32, {30, 30, 4}, 2, 0, true},
      {"a whole packet", 32, {30, 30, 4}, 3, 1, true},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.why);
    const PacketTemplate packet = Udp(row.segment_bytes);
    LeaveOnly(row.in_pool);
    // On the heap: where there is dirt, should it be read.
    const auto maker = std::make_unique<BurstMaker>(pool_, row.burst);
    const BurstMaker::Packets made = maker->Make(packet);
    EXPECT_EQ(made.mbufs.size(), row.packets);
    EXPECT_EQ(made.short_of_mbufs, row.short_of_mbufs);
    EXPECT_EQ(rte_mempool_avail_count(pool_), row.in_pool - row.packets * packet.segments());
    for (rte_mbuf* mbuf : made.mbufs) {
      const char* reason = "";
      EXPECT_EQ(rte_mbuf_check(mbuf, 1, &reason), 0) << reason;
      EXPECT_EQ(mbuf->pkt_len, 64u);
      EXPECT_EQ(mbuf->nb_segs, packet.segments());
    }
    for (rte_mbuf* mbuf : made.mbufs) rte_pktmbuf_free(mbuf);
    Restore();
  }
}

}  // namespace
}  // namespace penstock
