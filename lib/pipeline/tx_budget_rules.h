// SPDX-License-Identifier: BSD-3-Clause
//
// The planner's rules about TX budgets. Pure functions; control thread.

#ifndef PENSTOCK_LIB_PIPELINE_TX_BUDGET_RULES_H_
#define PENSTOCK_LIB_PIPELINE_TX_BUDGET_RULES_H_

#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "lib/config/configuration.h"
#include "lib/pipeline/planner.h"

namespace penstock {

// FailedPrecondition for a number that was asked of a port without budgets, or that is more than
// its TX ring. `plan.ports` is as `ports`.
absl::Status CheckTxBudgets(std::span<const PlannerPort> ports, const Plan& plan,
                            const Configuration& configuration);

// A note for each port of which `auto` was asked in so many words, and which has no budgets.
void NoteTxBudgets(std::span<const PlannerPort> ports, const Configuration& configuration,
                   std::vector<std::string>& notes);

}  // namespace penstock

#endif  // PENSTOCK_LIB_PIPELINE_TX_BUDGET_RULES_H_
