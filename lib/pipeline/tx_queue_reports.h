// SPDX-License-Identifier: BSD-3-Clause
//
// What a report says of TX queues: who uses them by the plan, what their drivers count, and their
// budgets. Control thread.

#ifndef PENSTOCK_LIB_PIPELINE_TX_QUEUE_REPORTS_H_
#define PENSTOCK_LIB_PIPELINE_TX_QUEUE_REPORTS_H_

#include <span>
#include <vector>

#include "lib/pipeline/plan.h"
#include "lib/port/tx_budgets.h"
#include "lib/stats/report.h"

namespace penstock {

// One for each queue of the plan, in its order; `ports` have their xstats.
std::vector<TxQueueReport> TxQueueReports(const Plan& plan, std::span<const PortReport> ports,
                                          const TxBudgets& budgets);

}  // namespace penstock

#endif  // PENSTOCK_LIB_PIPELINE_TX_QUEUE_REPORTS_H_
