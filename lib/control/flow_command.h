// SPDX-License-Identifier: BSD-3-Clause
//
// The `flow` command: dpdk-testpmd's for the rules of ports, bound to a runtime. Its answers read
// as testpmd's do. Control thread.
//
//   PENSTOCK_RETURN_IF_ERROR(AddFlowCommands(*runtime, commands));
//   commands.Run("flow create 0 ingress pattern eth / ipv4 / end actions drop / end", output);
//   // "Flow rule #0 created\n"

#ifndef PENSTOCK_LIB_CONTROL_FLOW_COMMAND_H_
#define PENSTOCK_LIB_CONTROL_FLOW_COMMAND_H_

#include "absl/status/status.h"
#include "lib/control/command.h"
#include "lib/pipeline/runtime.h"

namespace penstock {

// Adds `flow`; AlreadyExists when `commands` has it. Both arguments outlive the command.
absl::Status AddFlowCommands(Runtime& runtime, CommandSet& commands);

}  // namespace penstock

#endif  // PENSTOCK_LIB_CONTROL_FLOW_COMMAND_H_
