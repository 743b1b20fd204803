// SPDX-License-Identifier: BSD-3-Clause
//
// What the drivers of this project offer beyond ethdev, in the words of lib/port: libraries know no
// driver, so the application that links both brings them together. A driver is a row.

#ifndef PENSTOCK_APP_PENSTOCK_DRIVERS_H_
#define PENSTOCK_APP_PENSTOCK_DRIVERS_H_

#include <rte_mempool.h>

#include <optional>
#include <span>

#include "absl/status/status.h"
#include "lib/port/tx_budgets.h"
#include "lib/ring/home_mail.h"

namespace penstock {

// Empty where penstock was built without its drivers.
std::span<const TxBudgetDriver> TxBudgetDrivers();

// Makes the mempool ops that are linked in known to DPDK, behind those that EAL loads: secondary
// processes have these, and the places in both tables are to agree. After EAL's start, before the
// first mempool.
absl::Status RegisterMempoolOps();

// Runtime::Settings::home_mail.
std::optional<HomeMail> HomeMailOf(rte_mempool* pool, unsigned lcore);

}  // namespace penstock

#endif  // PENSTOCK_APP_PENSTOCK_DRIVERS_H_
