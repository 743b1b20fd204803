// SPDX-License-Identifier: BSD-3-Clause
//
// Why EAL did not start, in one line that says what to type. No EAL is needed; control path.
//
// rte_eal_init returns that it failed, and logs the cause among others. Here is a table from what
// it logs to what a user wants to know, and with it whether the words were wrong in themselves
// (InvalidArgument: exit code 2 of the application) or the machine could not (any other code).

#ifndef PENSTOCK_LIB_PORT_EAL_FAILURE_H_
#define PENSTOCK_LIB_PORT_EAL_FAILURE_H_

#include <span>
#include <string>

#include "absl/status/status.h"

namespace penstock {

// `error` is rte_errno; `said` the lines that EAL logged as errors, oldest first; `arguments` what
// it was started with. A cause that is not in the table is shown as EAL gave it.
absl::Status ExplainEalFailure(int error, std::span<const std::string> said,
                               std::span<const std::string> arguments);

}  // namespace penstock

#endif  // PENSTOCK_LIB_PORT_EAL_FAILURE_H_
