/* SPDX-License-Identifier: BSD-3-Clause
 *
 * mempool_deferred: mempool ops "deferred" for any DPDK application.
 *
 * An object freed by an lcore that is not its home goes back there in batches, through a mailbox
 * between the two, without a lock and without an atomic per object. Its home is the lcore that
 * allocated it. An application needs nothing of this header: `-d librte_mempool_deferred.so
 * --mbuf-pool-ops-name=deferred` and the ordinary rte_mempool calls are enough, because a home
 * looks into its mailboxes when it allocates. One that runs in turns may look there once per turn,
 * so that mailboxes stay short while it allocates nothing:
 *
 *   for (;;) {
 *     rte_mempool_deferred_take_home(pool);
 *     n = rte_eth_rx_burst(...);
 *     ...
 *   }
 *
 * Threads: every lcore that EAL had when the pool was made has a home in it, workers, main and
 * service lcores. All other threads, registered ones among them, use a depot under a spinlock, as
 * do the lcores of secondary processes that the primary does not have.
 */

#ifndef PENSTOCK_DRIVERS_MEMPOOL_DEFERRED_RTE_MEMPOOL_DEFERRED_H_
#define PENSTOCK_DRIVERS_MEMPOOL_DEFERRED_RTE_MEMPOOL_DEFERRED_H_

#include <rte_mempool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Takes what other lcores freed that is at home with the calling one. Nothing happens for a pool
 * with other ops, or on a thread without a home in it. */
void rte_mempool_deferred_take_home(struct rte_mempool* pool);

#ifdef __cplusplus
}
#endif

#endif /* PENSTOCK_DRIVERS_MEMPOOL_DEFERRED_RTE_MEMPOOL_DEFERRED_H_ */
