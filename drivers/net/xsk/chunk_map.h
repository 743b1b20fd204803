// SPDX-License-Identifier: BSD-3-Clause
//
// ChunkMap: where the mbufs of a mempool lie in the packet memory that is made of it; umem.h has
// the picture. A small value without owner: a loop over packets takes a copy, which the compiler
// can keep in registers, where it would have to read members again after each store. Any lcore,
// noexcept; the Umem that it comes from outlives it.

#ifndef PENSTOCK_DRIVERS_NET_XSK_CHUNK_MAP_H_
#define PENSTOCK_DRIVERS_NET_XSK_CHUNK_MAP_H_

#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include <cstddef>
#include <cstdint>

#include "drivers/net/xsk/xdp_compat.h"

namespace penstock {

class ChunkMap {
 public:
  // The chunk of an mbuf of the pool.
  uint64_t ChunkOf(const rte_mbuf* mbuf) const noexcept {
    return static_cast<uint64_t>(reinterpret_cast<const char*>(mbuf) - start_) - header_bytes_;
  }
  rte_mbuf* MbufOf(uint64_t chunk) const noexcept {
    return reinterpret_cast<rte_mbuf*>(start_ + chunk + header_bytes_);
  }
  // Of an mbuf that is about to be written. The address may come from outside: a processor ignores
  // a prefetch of what is not there.
  void Prefetch(uint64_t chunk) const noexcept {
    const uintptr_t mbuf = reinterpret_cast<uintptr_t>(start_) + chunk + header_bytes_;
    rte_prefetch0(reinterpret_cast<const void*>(mbuf));
  }
  // Where the data of an mbuf of the pool is, as a descriptor has it.
  uint64_t AddressOf(const rte_mbuf* mbuf, uint64_t chunk) const noexcept {
    const uint64_t offset = buffer_offset_ + mbuf->data_off;
    return chunk | offset << XSK_UNALIGNED_BUF_OFFSET_SHIFT;
  }
  static uint64_t ChunkOfAddress(uint64_t address) noexcept {
    return address & XSK_UNALIGNED_BUF_ADDR_MASK;
  }
  // The data_off of an address that the kernel received into.
  uint16_t DataOffOf(uint64_t address) const noexcept {
    return static_cast<uint16_t>((address >> XSK_UNALIGNED_BUF_OFFSET_SHIFT) - buffer_offset_);
  }

  // The number of a chunk, which is its byte in InFlight. Any value that is no chunk is told by
  // IsChunk; ask that first of what comes from outside.
  size_t IndexOf(uint64_t chunk) const noexcept {
    return static_cast<size_t>((((chunk - first_) / kUnit) * reciprocal_) >> kReciprocalShift);
  }
  bool IsChunk(uint64_t chunk) const noexcept {
    if (chunk - first_ > last_ - first_) return false;  // Unsigned: less than first_ is far more.
    return starts_[IndexOf(chunk)] * uint64_t{kUnit} == chunk;
  }
  // The chunk with that number, for what InFlight names.
  uint64_t ChunkAt(size_t index) const noexcept { return starts_[index] * uint64_t{kUnit}; }

 protected:
  // Elements begin on cache lines, and so do pages.
  static constexpr uint32_t kUnit = RTE_CACHE_LINE_SIZE;
  static constexpr unsigned kReciprocalShift = 36;

  char* start_ = nullptr;
  uint64_t first_ = 0;  // chunk address of the first element
  uint64_t last_ = 0;
  uint64_t reciprocal_ = 0;           // of the distance of two elements, in units
  const uint32_t* starts_ = nullptr;  // by number, in units
  uint32_t header_bytes_ = 0;
  uint32_t buffer_offset_ = 0;  // from the chunk to buf_addr
};

}  // namespace penstock

#endif  // PENSTOCK_DRIVERS_NET_XSK_CHUNK_MAP_H_
