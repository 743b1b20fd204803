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
#include <string>

#include "test/unit/pipeline/rig.h"

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

TEST(CheckXskSetUp, NamesTheOptionThatMakesItPossible) {
  const auto check = [](uint32_t mbufs, uint16_t room, uint16_t queues, uint16_t descriptors) {
    Pool pool(mbufs, room);
    return std::string(CheckXskSetUp(*pool.get(), queues, descriptors).message());
  };
  EXPECT_EQ(check(4096, 2176, 2, 1024), "");
  EXPECT_EQ(check(2048, 2176, 1, 1), "");
  EXPECT_THAT(check(2047, 2176, 1, 1024), HasSubstr("wants 2048 mbufs at once"));
  EXPECT_THAT(check(2047, 2176, 1, 1024), HasSubstr("--total-num-mbufs=16383"));
  EXPECT_THAT(check(4095, 2176, 2, 1024), HasSubstr("wants 4096 mbufs at once"));
  EXPECT_THAT(check(4096, 2176, 1, 1000), HasSubstr("--rxd=1024"));
  EXPECT_THAT(check(4096, 2176, 1, 32769), HasSubstr("--rxd=32768"));
  // A chunk is the mbuf, its header and its room, of 2048 to 4096 bytes.
  EXPECT_THAT(check(4096, 1024, 1, 1024), HasSubstr("--mbuf-size=2048"));
  EXPECT_THAT(check(4096, 8192, 1, 1024), HasSubstr("wants mbufs of 2048 to 4096 bytes"));
}

TEST(CheckXskSetUp, TheSizesThatItNamesAreAccepted) {
  for (const uint16_t room : {1024, 3841, 8192}) {
    Pool pool(2048, room);
    const std::string message(CheckXskSetUp(*pool.get(), 1, 1024).message());
    const size_t at = message.find("--mbuf-size=");
    ASSERT_NE(at, std::string::npos) << message;
    Pool better(2048, static_cast<uint16_t>(std::stoi(message.substr(at + 12))));
    EXPECT_TRUE(CheckXskSetUp(*better.get(), 1, 1024).ok()) << message;
  }
}

}  // namespace
}  // namespace penstock
