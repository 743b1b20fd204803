// SPDX-License-Identifier: BSD-3-Clause
//
// What is shown of the sending side: TX queues with their users, budgets and completions. Control
// thread.

#ifndef PENSTOCK_LIB_CONTROL_TX_COMMANDS_H_
#define PENSTOCK_LIB_CONTROL_TX_COMMANDS_H_

#include <span>
#include <string>

#include "absl/status/status.h"
#include "lib/control/command.h"
#include "lib/pipeline/runtime.h"
#include "lib/stats/report.h"

namespace penstock {

//   show tx [(all|0|…)]     the TX queues of all ports, or of one
//
// Both arguments outlive the command. AlreadyExists for one that `commands` has.
absl::Status AddTxCommands(Runtime& runtime, CommandSet& commands);

// A line for each queue; below it how many descriptors its sends were for, where that is known, and
// who takes back what was sent, with what that came to.
std::string FormatTxQueues(std::span<const TxQueueReport> queues);

}  // namespace penstock

#endif  // PENSTOCK_LIB_CONTROL_TX_COMMANDS_H_
