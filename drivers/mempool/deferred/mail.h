// SPDX-License-Identifier: BSD-3-Clause
//
// What an application that has mempool_deferred linked in asks of it beyond the mempool ops: their
// place in DPDK's table, and where an lcore looks once per burst, resolved beforehand so that the
// look is inline. Control thread; that answer belongs to the lcore.

#ifndef PENSTOCK_DRIVERS_MEMPOOL_DEFERRED_MAIL_H_
#define PENSTOCK_DRIVERS_MEMPOOL_DEFERRED_MAIL_H_

#include <rte_mempool.h>

#include <optional>

#include "lib/ring/home_mail.h"

namespace penstock {

// The ops themselves; for RegisterDeferredOps and the plugin (plugin.cc).
extern const rte_mempool_ops kDeferredOps;

// Registers them behind those that are there, unless EAL's -d brought some of that name. Call it
// after rte_eal_init: a mempool names its ops by their place in a table that each process fills for
// itself, and secondary processes, dpdk-dumpcap for one, have EAL's plugins in theirs, in EAL's
// order. An errno; ENOSPC if the table is full.
int RegisterDeferredOps();

// None if the pool has other ops, or `lcore` no home in it. Holds as long as the pool.
std::optional<HomeMail> DeferredMailOf(rte_mempool* pool, unsigned lcore);

}  // namespace penstock

#endif  // PENSTOCK_DRIVERS_MEMPOOL_DEFERRED_MAIL_H_
