// SPDX-License-Identifier: BSD-3-Clause
//
// In librte_mempool_deferred.so only: the ops register themselves when EAL loads it. What has them
// linked in registers them after EAL's plugins (mail.h).

#include <rte_mempool.h>

#include "drivers/mempool/deferred/mail.h"

namespace penstock {

RTE_MEMPOOL_REGISTER_OPS(kDeferredOps)

}  // namespace penstock
