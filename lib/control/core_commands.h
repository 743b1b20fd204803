// SPDX-License-Identifier: BSD-3-Clause
//
// The commands that every dataplane has, whatever its mode, and those that its stages bring.

#ifndef PENSTOCK_LIB_CONTROL_CORE_COMMANDS_H_
#define PENSTOCK_LIB_CONTROL_CORE_COMMANDS_H_

#include "absl/status/status.h"
#include "lib/control/command.h"
#include "lib/pipeline/runtime.h"

namespace penstock {

// What run_commands.h, show_commands.h, port_commands.h and set_commands.h add, and the commands of
// the stages of every mode (answered with the mode's name while another one runs). AlreadyExists
// for one that `commands` has, or a stage's that is one of these. Both arguments outlive the
// commands; `runtime` has had a configuration applied before one is run.
absl::Status AddCoreCommands(Runtime& runtime, CommandSet& commands);

}  // namespace penstock

#endif  // PENSTOCK_LIB_CONTROL_CORE_COMMANDS_H_
