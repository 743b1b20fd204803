// SPDX-License-Identifier: BSD-3-Clause
//
// The planner's part about completions: which lcore reaps which TX queue. Pure functions, called by
// MakePlan (planner.h), whose rules they are part of.

#ifndef PENSTOCK_LIB_PIPELINE_COMPLETION_PLAN_H_
#define PENSTOCK_LIB_PIPELINE_COMPLETION_PLAN_H_

#include <span>

#include "absl/status/status.h"
#include "lib/config/configuration.h"
#include "lib/pipeline/plan.h"
#include "lib/pipeline/planner.h"

namespace penstock {

// Gives TX queues their reapers, of which each is then a user, and ports their PortPlan::tx_free.
// `plan` has its ports, queues and senders. FailedPrecondition for a --completion-lcore that names
// what is not there or cannot.
absl::Status AssignReapers(std::span<const PlannerPort> ports, const Configuration& configuration,
                           Plan& plan);

// Says where words meet a port that cannot, or a devarg that says otherwise.
void NoteCompletion(std::span<const PlannerPort> ports, const Configuration& configuration,
                    Plan& plan);

}  // namespace penstock

#endif  // PENSTOCK_LIB_PIPELINE_COMPLETION_PLAN_H_
