// SPDX-License-Identifier: BSD-3-Clause
//
// How the stock net_af_xdp lays its UMEM over a mempool: it registers one region with the kernel,
// from the page in which the pool's first memory chunk begins, of as many bytes as the pool's
// elements would take if they lay side by side. Control thread.
//
// They often do not: rte_pktmbuf_pool_create() lets no element cross a page, so without hugepages
// there is one to a page of 4 KiB, and even with hugepages a rest of each page is left out.
// Elements at the pool's far end are then outside the UMEM. The kernel takes their addresses from
// the FILL ring and forgets them, and sends nothing from there; after a few thousand packets
// reception ends for good, without an error. So: make the pool with RTE_MEMPOOL_F_NO_IOVA_CONTIG
// (rte_mempool_create_empty(), rte_pktmbuf_pool_init(), rte_mempool_populate_default(),
// rte_mempool_obj_iter() with rte_pktmbuf_init()), and check it before the port is set up:
//
//   PENSTOCK_RETURN_IF_ERROR(CheckPoolFitsUmem(*pool));

#ifndef PENSTOCK_LIB_PORT_XSK_UMEM_H_
#define PENSTOCK_LIB_PORT_XSK_UMEM_H_

#include <cstdint>

#include "absl/status/status.h"

struct rte_mbuf;
struct rte_mempool;

namespace penstock {

// Whether the driver can set up RX queues of so many descriptors from this pool; it and the kernel
// refuse others as EINVAL, without a word. The error names the option that changes it.
absl::Status CheckXskSetUp(rte_mempool& pool, uint16_t rx_queues, uint16_t rx_descriptors);

// FailedPrecondition if an mbuf of the pool would be outside the UMEM. Looks at each mbuf.
absl::Status CheckPoolFitsUmem(rte_mempool& pool);

// The mbuf of a chunk address (xsk_holdings.h).
rte_mbuf* MbufOfChunk(const rte_mempool& pool, uint64_t chunk);

}  // namespace penstock

#endif  // PENSTOCK_LIB_PORT_XSK_UMEM_H_
