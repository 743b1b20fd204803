// SPDX-License-Identifier: BSD-3-Clause
//
// How the stock net_af_xdp lays its UMEM over a mempool; see the header. Control thread.

#include "lib/port/xsk_umem.h"

#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <unistd.h>

#include <algorithm>
#include <bit>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

uintptr_t UmemStart(const rte_mempool& pool) {
  const auto first = reinterpret_cast<uintptr_t>(STAILQ_FIRST(&pool.mem_list)->addr);
  return first & ~(static_cast<uintptr_t>(getpagesize()) - 1);
}

}  // namespace

absl::Status CheckXskSetUp(rte_mempool& pool, uint16_t rx_queues, uint16_t rx_descriptors) {
  if (!std::has_single_bit(rx_descriptors)) {
    return absl::FailedPreconditionError(
        absl::StrCat("net_af_xdp wants a power of two of RX descriptors, and there are ",
                     rx_descriptors, "; give such as --rxd=",
                     std::min<uint32_t>(std::bit_ceil<uint32_t>(rx_descriptors), 32768)));
  }
  // Of a chunk in unaligned mode: XDP_UMEM_MIN_CHUNK_SIZE and a page, net/xdp/xdp_umem.c.
  constexpr uint32_t kMinChunk = 2048;
  const auto max_chunk = static_cast<uint32_t>(getpagesize());
  const uint32_t chunk = rte_mempool_calc_obj_size(pool.elt_size, pool.flags, nullptr);
  if (chunk < kMinChunk || chunk > max_chunk) {
    const uint32_t room = rte_pktmbuf_data_room_size(&pool);
    // The rest of a chunk, and what rounding may add.
    const uint32_t other = chunk - room + RTE_MEMPOOL_ALIGN;
    return absl::FailedPreconditionError(
        absl::StrCat("net_af_xdp wants mbufs of ", kMinChunk, " to ", max_chunk,
                     " bytes with all that belongs to them, and these have ", chunk,
                     "; give --mbuf-size=", chunk < kMinChunk ? kMinChunk : max_chunk - other));
  }
  // What it puts into FILL at once.
  constexpr uint32_t kFilled = 2048;
  const uint32_t wanted = kFilled * rx_queues;
  const uint32_t free = rte_mempool_avail_count(&pool);
  if (free < wanted) {
    constexpr uint32_t kUsual = 16383;
    return absl::ResourceExhaustedError(
        absl::StrCat("net_af_xdp wants ", wanted, " mbufs at once for its RX queues, and mempool ",
                     pool.name, " of ", pool.size, " has ", free, " left; give --total-num-mbufs=",
                     std::max(kUsual, pool.size + wanted), ", or leave it away"));
  }
  return absl::OkStatus();
}

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
