// SPDX-License-Identifier: BSD-3-Clause
//
// Commands about ports: what they are, what they counted, start and stop. Control thread.

#ifndef PENSTOCK_LIB_CONTROL_PORT_COMMANDS_H_
#define PENSTOCK_LIB_CONTROL_PORT_COMMANDS_H_

#include "absl/status/status.h"
#include "lib/control/command.h"
#include "lib/pipeline/runtime.h"

namespace penstock {

//   show port (info|stats|xstats|summary) (all|0|…)
//   clear port (stats|xstats) (all|0|…)    what is shown begins at 0; the report does not change
//   port (start|stop) (all|0|…)
//
// Nothing for a runtime without ports. Both arguments outlive the commands. AlreadyExists for one
// that `commands` has.
absl::Status AddPortCommands(Runtime& runtime, CommandSet& commands);

}  // namespace penstock

#endif  // PENSTOCK_LIB_CONTROL_PORT_COMMANDS_H_
