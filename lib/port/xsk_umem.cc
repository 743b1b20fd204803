// SPDX-License-Identifier: BSD-3-Clause
//
// How the stock net_af_xdp lays its UMEM over a mempool; see the header. Control thread.

#include "lib/port/xsk_umem.h"

#include <rte_mempool.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

uintptr_t UmemStart(const rte_mempool& pool) {
  const auto first = reinterpret_cast<uintptr_t>(STAILQ_FIRST(&pool.mem_list)->addr);
  return first & ~(static_cast<uintptr_t>(getpagesize()) - 1);
}

}  // namespace

absl::Status CheckPoolFitsUmem(rte_mempool& pool) {
  if (STAILQ_FIRST(&pool.mem_list) == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat("mempool ", pool.name, " has no memory yet"));
  }
  const size_t chunk_bytes = rte_mempool_calc_obj_size(pool.elt_size, pool.flags, nullptr);
  const auto first = reinterpret_cast<uintptr_t>(STAILQ_FIRST(&pool.mem_list)->addr);

  struct Check {
    uintptr_t start;
    uintptr_t end;
    size_t chunk_bytes;
    uint32_t outside;
  } check = {.start = UmemStart(pool),
             .end = first + pool.populated_size * chunk_bytes,
             .chunk_bytes = chunk_bytes,
             .outside = 0};
  rte_mempool_obj_iter(
      &pool,
      [](rte_mempool* mempool, void* argument, void* object, unsigned) {
        auto& c = *static_cast<Check*>(argument);
        const uintptr_t chunk = reinterpret_cast<uintptr_t>(object) - mempool->header_size;
        c.outside += chunk < c.start || chunk + c.chunk_bytes > c.end;
      },
      &check);
  if (check.outside == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("mempool ", pool.name, ": ", check.outside, " of its ", pool.populated_size,
                   " mbufs lie outside the memory that net_af_xdp registers; the pool must be made "
                   "with RTE_MEMPOOL_F_NO_IOVA_CONTIG and in one piece"));
}

rte_mbuf* MbufOfChunk(const rte_mempool& pool, uint64_t chunk) {
  return reinterpret_cast<rte_mbuf*>(UmemStart(pool) + chunk + pool.header_size);
}

}  // namespace penstock
