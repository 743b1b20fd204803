// SPDX-License-Identifier: BSD-3-Clause
//
// Umem: a mempool as the packet memory of AF_XDP sockets. The mempool of the lcore that fills or
// sends is the UMEM, so that a packet that goes from one interface to another is copied nowhere in
// user space. A chunk is an element of the mempool, in the kernel's unaligned mode:
//
//   | mempool header | rte_mbuf | private | headroom | data …            |
//   ^ chunk address (offset from start)              ^ written by the kernel 256 bytes after what
//   is
//                                                      registered as headroom, so an XDP program
//                                                      may write metadata without touching the mbuf
//
// Made in queue set-up on the control thread; used by any lcore afterwards, noexcept. Each socket
// registers the memory for itself. `in_flight` belongs to the port: one Umem per port and mempool.

#ifndef PENSTOCK_DRIVERS_NET_XSK_UMEM_H_
#define PENSTOCK_DRIVERS_NET_XSK_UMEM_H_

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "drivers/net/xsk/xdp_compat.h"
#include "lib/ring/in_flight.h"

namespace penstock {

class Umem {
 public:
  // FailedPrecondition if the mempool cannot serve, with the numbers that would.
  static absl::StatusOr<std::unique_ptr<Umem>> Create(rte_mempool& pool);

  rte_mempool* pool() const noexcept { return pool_; }
  InFlight& in_flight() noexcept { return *in_flight_; }

  // What is registered.
  char* start() const noexcept { return start_; }
  uint64_t bytes() const noexcept { return bytes_; }
  uint32_t chunk_bytes() const noexcept { return chunk_bytes_; }
  uint32_t headroom_bytes() const noexcept { return buffer_offset_ + RTE_PKTMBUF_HEADROOM; }
  bool hugepages() const noexcept { return hugepages_; }

  // The largest frame that is received into one mbuf, and the largest sent from one of ours.
  uint32_t rx_room_bytes() const noexcept {
    return chunk_bytes_ - headroom_bytes() - kXdpHeadroomBytes;
  }
  uint32_t tx_room_bytes() const noexcept { return tx_room_bytes_; }

  // The chunk of an mbuf of the pool.
  uint64_t ChunkOf(const rte_mbuf* mbuf) const noexcept {
    return static_cast<uint64_t>(reinterpret_cast<const char*>(mbuf) - start_) - header_bytes_;
  }
  rte_mbuf* MbufOf(uint64_t chunk) const noexcept {
    return reinterpret_cast<rte_mbuf*>(start_ + chunk + header_bytes_);
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

  // The number of a chunk, which is its byte in `in_flight`. Any value that is no chunk is told by
  // IsChunk; ask that first of what comes from outside.
  size_t IndexOf(uint64_t chunk) const noexcept {
    return static_cast<size_t>((((chunk - first_) / kUnit) * reciprocal_) >> kReciprocalShift);
  }
  bool IsChunk(uint64_t chunk) const noexcept {
    if (chunk < first_ || chunk > last_) return false;
    return starts_[IndexOf(chunk)] * uint64_t{kUnit} == chunk;
  }
  // The chunk with that number, for what in_flight names.
  uint64_t ChunkAt(size_t index) const noexcept { return starts_[index] * uint64_t{kUnit}; }

 private:
  // Elements begin on cache lines, and so do pages.
  static constexpr uint32_t kUnit = RTE_CACHE_LINE_SIZE;
  static constexpr unsigned kReciprocalShift = 36;

  Umem() = default;
  absl::Status FindRegion();
  absl::Status NumberChunks();

  rte_mempool* pool_ = nullptr;
  char* start_ = nullptr;
  uint64_t bytes_ = 0;
  uint64_t first_ = 0;  // chunk address of the first element
  uint64_t last_ = 0;
  uint64_t reciprocal_ = 0;  // of the distance of two elements, in units
  uint32_t header_bytes_ = 0;
  uint32_t buffer_offset_ = 0;  // from the chunk to buf_addr
  uint32_t chunk_bytes_ = 0;
  uint32_t tx_room_bytes_ = 0;
  bool hugepages_ = false;
  std::vector<uint32_t> starts_;  // by number, in units
  std::unique_ptr<InFlight> in_flight_;
};

}  // namespace penstock

#endif  // PENSTOCK_DRIVERS_NET_XSK_UMEM_H_
