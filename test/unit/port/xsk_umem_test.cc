// SPDX-License-Identifier: BSD-3-Clause
//
// Mempools of hand-made memory, so no EAL: only what the functions look at is filled in.

#include "lib/port/xsk_umem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rte_mempool.h>
#include <unistd.h>

#include <cstring>
#include <deque>

namespace penstock {
namespace {

using ::testing::HasSubstr;

constexpr uint32_t kElementBytes = 2304;

// A pool whose elements are where the test puts them. Their memory is never touched but for the
// list that links them, which is the pool's own way of finding them and lies in their headers.
class FakePool {
 public:
  FakePool(const std::vector<size_t>& offsets, size_t start) : memory_(1 << 20) {
    std::memset(&pool_, 0, sizeof(pool_));
    std::strcpy(pool_.name, "fake");
    STAILQ_INIT(&pool_.mem_list);
    STAILQ_INIT(&pool_.elt_list);
    pool_.elt_size = kElementBytes;
    rte_mempool_objsz sizes;
    rte_mempool_calc_obj_size(kElementBytes, 0, &sizes);
    pool_.header_size = sizes.header_size;
    pool_.populated_size = static_cast<uint32_t>(offsets.size());
    const uintptr_t page = static_cast<uintptr_t>(getpagesize());
    page_ = (reinterpret_cast<uintptr_t>(memory_.data()) + page) & ~(page - 1);
    chunk_.addr = reinterpret_cast<void*>(page_ + start);
    STAILQ_INSERT_TAIL(&pool_.mem_list, &chunk_, next);
    for (const size_t offset : offsets) {
      const uintptr_t object = page_ + start + offset + pool_.header_size;
      auto* header =
          new (reinterpret_cast<void*>(object - sizeof(rte_mempool_objhdr))) rte_mempool_objhdr{};
      header->mp = &pool_;
      STAILQ_INSERT_TAIL(&pool_.elt_list, header, next);
    }
  }

  rte_mempool& pool() { return pool_; }
  uintptr_t page() const { return page_; }

 private:
  std::vector<char> memory_;
  rte_mempool pool_;
  rte_mempool_memhdr chunk_ = {};
  uintptr_t page_ = 0;
};

size_t ChunkBytes() { return rte_mempool_calc_obj_size(kElementBytes, 0, nullptr); }

TEST(CheckPoolFitsUmemTest, ElementsSideBySideFit) {
  FakePool fake({0, ChunkBytes(), 2 * ChunkBytes()}, 192);
  EXPECT_TRUE(CheckPoolFitsUmem(fake.pool()).ok());
}

TEST(CheckPoolFitsUmemTest, ElementsWithGapsDoNot) {
  FakePool one_to_a_page({0, 4096, 8192}, 0);
  EXPECT_THAT(CheckPoolFitsUmem(one_to_a_page.pool()).message(), HasSubstr("1 of its 3 mbufs"));
  FakePool one_byte({0, ChunkBytes(), 2 * ChunkBytes() + 64}, 0);
  EXPECT_THAT(CheckPoolFitsUmem(one_byte.pool()).message(), HasSubstr("mempool fake: 1 of its 3"));
}

TEST(CheckPoolFitsUmemTest, APoolWithoutMemoryIsRefused) {
  FakePool fake({}, 0);
  STAILQ_INIT(&fake.pool().mem_list);
  EXPECT_THAT(CheckPoolFitsUmem(fake.pool()).message(), HasSubstr("no memory"));
}

TEST(MbufOfChunkTest, CountsFromThePageOfThePoolsMemory) {
  FakePool fake({0}, 192);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(MbufOfChunk(fake.pool(), 192)),
            fake.page() + 192 + fake.pool().header_size);
}

}  // namespace
}  // namespace penstock
