// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/xsk/umem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <unistd.h>

#include <set>
#include <vector>

#include "test/support/eal_main.h"

namespace penstock {
namespace {

using testing::HasSubstr;

class Pool {
 public:
  Pool(unsigned mbufs, uint16_t room, uint16_t priv = 0)
      : pool_(rte_pktmbuf_pool_create("pool", mbufs, 0, priv, room, SOCKET_ID_ANY)) {}
  ~Pool() { rte_mempool_free(pool_); }
  rte_mempool& operator*() { return *pool_; }
  rte_mempool* operator->() { return pool_; }

 private:
  rte_mempool* pool_;
};

std::vector<rte_mbuf*> AllMbufs(rte_mempool& pool) {
  std::vector<rte_mbuf*> mbufs(pool.size);
  EXPECT_EQ(rte_pktmbuf_alloc_bulk(&pool, mbufs.data(), pool.size), 0);
  return mbufs;
}

// Elements of 4 KiB pages with gaps, of larger ones without, with private areas: each mbuf has a
// number of its own, and its chunk and addresses lead back to it.
TEST(XskUmem, EveryMbufHasItsChunkAndComesBackFromIt) {
  const struct {
    uint16_t room;
    uint16_t priv;
  } rows[] = {
      {RTE_MBUF_DEFAULT_BUF_SIZE, 0}, {RTE_MBUF_DEFAULT_BUF_SIZE, 128}, {1902, 0}, {9216, 0}};
  for (const auto& row : rows) {
    Pool pool(999, row.room, row.priv);
    const auto made = Umem::Create(*pool);
    ASSERT_TRUE(made.ok()) << made.status();
    const Umem& umem = **made;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(umem.start()) % static_cast<uintptr_t>(getpagesize()),
              0u);
    std::set<size_t> numbers;
    const std::vector<rte_mbuf*> mbufs = AllMbufs(*pool);
    for (rte_mbuf* mbuf : mbufs) {
      const uint64_t chunk = umem.ChunkOf(mbuf);
      ASSERT_TRUE(umem.IsChunk(chunk));
      EXPECT_FALSE(umem.IsChunk(chunk + 1));
      EXPECT_FALSE(umem.IsChunk(chunk + 64));
      EXPECT_EQ(umem.MbufOf(chunk), mbuf);
      EXPECT_TRUE(numbers.insert(umem.IndexOf(chunk)).second);
      EXPECT_LT(umem.IndexOf(chunk), (*made)->in_flight().size());
      EXPECT_EQ(umem.ChunkAt(umem.IndexOf(chunk)), chunk);
      EXPECT_LE(chunk + umem.chunk_bytes(), umem.bytes());
      // The address of the data, as the kernel adds it up.
      mbuf->data_off = 200;
      const uint64_t address = umem.AddressOf(mbuf, chunk);
      EXPECT_EQ(umem.start() + (address & XSK_UNALIGNED_BUF_ADDR_MASK) +
                    (address >> XSK_UNALIGNED_BUF_OFFSET_SHIFT),
                rte_pktmbuf_mtod(mbuf, char*));
      EXPECT_EQ(umem.DataOffOf(address), 200);
    }
    for (const uint64_t wrong : {umem.bytes(), umem.bytes() + 4096, ~uint64_t{0}}) {
      EXPECT_FALSE(umem.IsChunk(wrong));
    }
    rte_pktmbuf_free_bulk(const_cast<rte_mbuf**>(mbufs.data()), pool->size);
  }
}

TEST(XskUmem, WhatTheKernelWritesStaysInTheMbuf) {
  for (const uint16_t room : {1902, 2176, 9216}) {
    Pool pool(99, room);
    const auto umem = Umem::Create(*pool);
    ASSERT_TRUE(umem.ok()) << umem.status();
    // Headroom for the application, 256 bytes for XDP, a frame of 1518 bytes.
    EXPECT_GE((*umem)->rx_room_bytes(), 1518u) << room;
    const uint32_t end = (*umem)->chunk_bytes();
    EXPECT_LE(end, pool->header_size + pool->elt_size);
    EXPECT_LE(end, static_cast<uint32_t>(getpagesize()));
    EXPECT_GE(end, kMinChunkBytes);
  }
}

TEST(XskUmem, RefusesAPoolThatCannotServeWithTheNumbersThatWould) {
  Pool small(99, 1901);
  EXPECT_THAT(std::string(Umem::Create(*small).status().message()),
              HasSubstr("has a data room of 1901 bytes; AF_XDP needs at least 1902"));
  rte_mempool* const other = rte_mempool_create("other", 99, 64, 0, 0, nullptr, nullptr, nullptr,
                                                nullptr, SOCKET_ID_ANY, 0);
  EXPECT_THAT(std::string(Umem::Create(*other).status().message()),
              HasSubstr("is not a populated mempool of mbufs"));
  rte_mempool_free(other);
}

TEST(XskUmem, RefusesMemoryWithGaps) {
  rte_mempool* const pool = rte_mempool_create_empty(
      "gaps", 20, sizeof(rte_mbuf) + RTE_MBUF_DEFAULT_BUF_SIZE, 0, sizeof(rte_pktmbuf_pool_private),
      SOCKET_ID_ANY, RTE_MEMPOOL_F_NO_IOVA_CONTIG);
  rte_pktmbuf_pool_init(pool, nullptr);
  static char memory[2][65536] __attribute__((aligned(4096)));
  // The first piece is short of ten elements: the pool goes on behind a hole.
  ASSERT_GT(rte_mempool_populate_iova(pool, memory[0], RTE_BAD_IOVA, 30000, nullptr, nullptr), 0);
  ASSERT_GT(rte_mempool_populate_iova(pool, memory[1], RTE_BAD_IOVA, 65536, nullptr, nullptr), 0);
  EXPECT_THAT(std::string(Umem::Create(*pool).status().message()),
              HasSubstr("lies in 2 pieces of memory with gaps"));
  rte_mempool_free(pool);
}

}  // namespace
}  // namespace penstock
