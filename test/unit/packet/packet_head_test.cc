// SPDX-License-Identifier: BSD-3-Clause
//
// The first bytes of a packet in one piece, changed and put back. Main lcore.

#include "lib/packet/packet_head.h"

#include <gtest/gtest.h>

#include <numeric>

#include "test/support/packets.h"

namespace penstock {
namespace {

PacketBytes Counted(size_t n) {
  PacketBytes bytes(n);
  std::iota(bytes.begin(), bytes.end(), uint8_t{1});
  return bytes;
}

TEST(PacketHeadTest, IsInOnePieceAndIsPutBackHoweverThePacketIsCut) {
  rte_mempool* const pool = rte_pktmbuf_pool_create("head", 1023, 0, 0, 1200, SOCKET_ID_ANY);
  struct Row {
    size_t packet_bytes;
    std::vector<size_t> lengths;
    size_t head_bytes;
    bool copied;
  };
  const Row kRows[] = {
      {60, {}, 60, false},
      {900, {}, 900, false},
      {900, {512}, 512, false},
      {900, {700}, 700, false},
      {900, {511}, 512, true},
      {60, {1, 1, 1, 0, 20}, 60, true},
      {700, std::vector<size_t>(700, 1), 512, true},
      {0, {}, 0, false},
  };
  for (const Row& row : kRows) {
    PacketBytes bytes = Counted(row.packet_bytes);
    rte_mbuf* const packet = MakePacket(pool, bytes, row.lengths);
    PacketHead head(packet);
    ASSERT_EQ(head.bytes().size(), row.head_bytes);
    EXPECT_EQ(head.data() == rte_pktmbuf_mtod(packet, uint8_t*), !row.copied);
    EXPECT_TRUE(std::equal(head.bytes().begin(), head.bytes().end(), bytes.begin()));
    EXPECT_EQ(head.dissection().packet_end, row.packet_bytes);
    for (size_t i = 0; i < row.head_bytes; ++i) head.data()[i] = bytes[i] ^= 0xff;
    head.Store();
    EXPECT_EQ(ToHex(BytesOf(packet)), ToHex(bytes));
    EXPECT_TRUE(GuardsHold(packet));
    rte_pktmbuf_free(packet);
  }
  EXPECT_EQ(rte_mempool_in_use_count(pool), 0u);
  rte_mempool_free(pool);
}

}  // namespace
}  // namespace penstock
