// SPDX-License-Identifier: BSD-3-Clause
//
// Mempool: owns a DPDK mempool of mbufs. Control thread; lcores use the rte_mempool itself.
//
// Freed with the object, so it must outlive the ports that fill from it: a port closed after its
// pool writes into freed memory.

#ifndef PENSTOCK_LIB_PORT_MEMPOOL_H_
#define PENSTOCK_LIB_PORT_MEMPOOL_H_

#include <rte_mempool.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "lib/config/configuration.h"

namespace penstock {

// The mempool ops that `wanted` stands for in this process. InvalidArgument: EAL was told others.
// A process that has no driver mempool_deferred has what DPDK has, unless deferred is demanded.
absl::StatusOr<std::string> OpsFor(MempoolOps wanted);

class Mempool {
 public:
  struct Settings {
    std::string name;  // At most 24 characters, unique in the process.
    uint32_t mbufs = 0;
    uint32_t cache = 0;            // mbufs per lcore
    uint16_t data_room_bytes = 0;  // headroom included
    int numa_node = -1;            // -1: any
    // All mbufs behind each other in one piece of memory. DPDK leaves gaps, so that no mbuf crosses
    // a page; a driver that hands the pool to the kernel as one area, and takes its size for that
    // of the mbufs without gaps (net_af_xdp), then silently loses what lies beyond.
    bool without_gaps = false;
    bool dma = false;                // Devices use the mbufs by themselves, so an IOVA is needed.
    std::string ops = "ring_mp_mc";  // rte_mempool's word, such as OpsFor() says.
  };

  // ResourceExhausted when memory does not suffice; the message says how much was wanted.
  static absl::StatusOr<Mempool> Create(const Settings& settings);

  rte_mempool* get() const { return pool_.get(); }
  std::string name() const { return pool_->name; }
  std::string ops() const;
  uint32_t size() const { return pool_->size; }

  // mbufs that are neither in the pool nor in an lcore's cache. Exact at rest.
  uint32_t InUse() const { return rte_mempool_in_use_count(pool_.get()); }

 private:
  struct Free {
    void operator()(rte_mempool* pool) const { rte_mempool_free(pool); }
  };
  explicit Mempool(rte_mempool* pool) : pool_(pool) {}

  std::unique_ptr<rte_mempool, Free> pool_;
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_PORT_MEMPOOL_H_
