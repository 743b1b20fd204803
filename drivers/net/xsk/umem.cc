// SPDX-License-Identifier: BSD-3-Clause
//
// Lays a UMEM over a mempool; see the header. Control thread.

#include "drivers/net/xsk/umem.h"

#include <rte_ether.h>
#include <rte_memory.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "lib/base/status.h"

namespace penstock {
namespace {

absl::Status Refuse(const rte_mempool& pool, absl::string_view why) {
  return absl::FailedPreconditionError(absl::StrCat("mempool ", pool.name, " ", why));
}

uint32_t StrideOf(const rte_mempool& pool) {
  return pool.header_size + pool.elt_size + pool.trailer_size;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Umem>> Umem::Create(rte_mempool& pool) {
  if (pool.private_data_size < sizeof(rte_pktmbuf_pool_private) || pool.populated_size == 0) {
    return Refuse(pool, "is not a populated mempool of mbufs");
  }
  if ((rte_pktmbuf_priv_flags(&pool) & RTE_PKTMBUF_POOL_F_PINNED_EXT_BUF) != 0) {
    return Refuse(pool, "keeps its data outside of its mbufs; use rte_pktmbuf_pool_create()");
  }
  std::unique_ptr<Umem> umem(new Umem);
  umem->pool_ = &pool;
  umem->first_memory_ = STAILQ_FIRST(&pool.mem_list)->addr;
  umem->populated_ = pool.populated_size;
  umem->stride_bytes_ = StrideOf(pool);
  umem->header_bytes_ = pool.header_size;
  umem->buffer_offset_ =
      pool.header_size + static_cast<uint32_t>(sizeof(rte_mbuf)) + rte_pktmbuf_priv_size(&pool);
  const auto page = static_cast<uint32_t>(getpagesize());
  const uint32_t element = pool.header_size + pool.elt_size;
  umem->chunk_bytes_ = std::min(element, page);
  // Smallest data room: of a chunk the kernel takes, and of one that holds a frame of 1518 bytes.
  const uint32_t least =
      std::max(kMinChunkBytes - std::min(kMinChunkBytes, umem->buffer_offset_),
               RTE_PKTMBUF_HEADROOM + kXdpHeadroomBytes + uint32_t{RTE_ETHER_MAX_LEN});
  if (rte_pktmbuf_data_room_size(&pool) < least) {
    return Refuse(pool, absl::StrCat("has a data room of ", rte_pktmbuf_data_room_size(&pool),
                                     " bytes; AF_XDP needs at least ", least,
                                     " (testpmd, penstock: --mbuf-size=", least, ")"));
  }
  if (StrideOf(pool) % kUnit != 0 || pool.header_size % kUnit != 0) {
    return Refuse(pool, absl::StrCat("has elements ", StrideOf(pool),
                                     " bytes apart; they must be "
                                     "multiples of ",
                                     kUnit, " (no RTE_MEMPOOL_F_NO_CACHE_ALIGN)"));
  }
  umem->tx_room_bytes_ = std::min<uint32_t>(
      rte_pktmbuf_data_room_size(&pool) - RTE_PKTMBUF_HEADROOM, umem->chunk_bytes_);
  PENSTOCK_RETURN_IF_ERROR(umem->FindRegion());
  PENSTOCK_RETURN_IF_ERROR(umem->NumberChunks());
  return umem;
}

bool Umem::IsOf(const rte_mempool& pool) const noexcept {
  const rte_mempool_memhdr* const first = STAILQ_FIRST(&pool.mem_list);
  return &pool == pool_ && first != nullptr && first->addr == first_memory_ &&
         pool.populated_size == populated_ && StrideOf(pool) == stride_bytes_;
}

// The kernel takes one area. Pieces that touch are one, whatever DPDK thinks of their IOVAs.
absl::Status Umem::FindRegion() {
  std::vector<std::pair<char*, size_t>> pieces;
  const rte_mempool_memhdr* piece;
  STAILQ_FOREACH(piece, &pool_->mem_list, next) {
    pieces.emplace_back(static_cast<char*>(piece->addr), piece->len);
  }
  std::sort(pieces.begin(), pieces.end());
  char* const begin = pieces.front().first;
  char* end = begin;
  for (const auto& [address, bytes] : pieces) {
    if (address != begin && address != end) {
      return Refuse(*pool_, absl::StrCat("lies in ", pieces.size(),
                                         " pieces of memory with gaps; "
                                         "AF_XDP needs one: use larger hugepages, or fewer mbufs "
                                         "than the present ",
                                         pool_->populated_size));
    }
    end = address + bytes;
  }
  const auto page = static_cast<uintptr_t>(getpagesize());
  const uintptr_t start = reinterpret_cast<uintptr_t>(begin) & ~(page - 1);
  start_ = reinterpret_cast<char*>(start);
  bytes_ = static_cast<uint64_t>(end - start_);
  const rte_memseg_list* const list = rte_mem_virt2memseg_list(begin);
  hugepages_ = list != nullptr && list->page_sz > page;
  return absl::OkStatus();
}

absl::Status Umem::NumberChunks() {
  std::vector<uint64_t> chunks;
  chunks.reserve(pool_->populated_size);
  rte_mempool_objhdr* header;
  STAILQ_FOREACH(header, &pool_->elt_list, next) {
    // The header stands at the end of what is reserved before the element.
    const char* const element = reinterpret_cast<const char*>(header) + sizeof(*header);
    chunks.push_back(static_cast<uint64_t>(element - start_) - header_bytes_);
  }
  std::sort(chunks.begin(), chunks.end());
  first_ = chunks.front();
  last_ = chunks.back();
  // Elements are at least so far apart; where DPDK left a gap, numbers are left out.
  const uint64_t stride_units = StrideOf(*pool_) / kUnit;
  if ((last_ - first_) / kUnit * stride_units >= uint64_t{1} << kReciprocalShift ||
      last_ / kUnit > UINT32_MAX) {
    return Refuse(*pool_, absl::StrCat("is too large with ", bytes_, " bytes; 16 GiB are not"));
  }
  reciprocal_ = ((uint64_t{1} << kReciprocalShift) + stride_units - 1) / stride_units;
  starts_of_all_.assign(IndexOf(last_) + 1, UINT32_MAX);
  starts_ = starts_of_all_.data();
  for (uint64_t chunk : chunks) {
    uint32_t& start = starts_of_all_[IndexOf(chunk)];
    if (chunk % kUnit != 0 || start != UINT32_MAX) {
      return Refuse(*pool_, "has elements that do not begin on cache lines of their own");
    }
    start = static_cast<uint32_t>(chunk / kUnit);
  }
  in_flight_ = std::make_unique<InFlight>(starts_of_all_.size());
  return absl::OkStatus();
}

}  // namespace penstock
