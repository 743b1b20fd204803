// SPDX-License-Identifier: BSD-3-Clause
//
// Umem: a mempool as the packet memory of AF_XDP sockets. The mempool of the lcore that fills or
// sends is the UMEM, so that a packet that goes from one interface to another is copied nowhere in
// user space. A chunk is an element of the mempool, in the kernel's unaligned mode:
//
//   | mempool header | rte_mbuf | private | headroom | 256 bytes | frame … |
//   ^ chunk address, an offset from start                        ^ where the kernel receives to
//
// What comes before the 256 bytes is registered as headroom. These the kernel leaves free for
// itself, so that an XDP program may write metadata there and touches no mbuf.
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
#include "drivers/net/xsk/chunk_map.h"
#include "drivers/net/xsk/xdp_compat.h"
#include "lib/ring/in_flight.h"

namespace penstock {

class Umem : public ChunkMap {
 public:
  // FailedPrecondition if the mempool cannot serve, with the numbers that would.
  static absl::StatusOr<std::unique_ptr<Umem>> Create(rte_mempool& pool);

  // Whether a mempool at the address of pool() is that mempool still: one that was made after the
  // other was freed may have got its address.
  bool IsOf(const rte_mempool& pool) const noexcept;

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

 private:
  Umem() = default;
  absl::Status FindRegion();
  absl::Status NumberChunks();

  rte_mempool* pool_ = nullptr;
  const void* first_memory_ = nullptr;  // of the mempool, and how many mbufs of which size
  uint32_t populated_ = 0;
  uint32_t stride_bytes_ = 0;
  uint64_t bytes_ = 0;
  uint32_t chunk_bytes_ = 0;
  uint32_t tx_room_bytes_ = 0;
  bool hugepages_ = false;
  std::vector<uint32_t> starts_of_all_;  // what starts_ points to
  std::unique_ptr<InFlight> in_flight_;
};

}  // namespace penstock

#endif  // PENSTOCK_DRIVERS_NET_XSK_UMEM_H_
