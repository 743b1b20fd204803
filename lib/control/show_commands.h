// SPDX-License-Identifier: BSD-3-Clause
//
// Commands that show the dataplane as a whole: plan, configuration, mempools, packets. Control
// thread.

#ifndef PENSTOCK_LIB_CONTROL_SHOW_COMMANDS_H_
#define PENSTOCK_LIB_CONTROL_SHOW_COMMANDS_H_

#include "absl/status/status.h"
#include "lib/control/command.h"
#include "lib/pipeline/runtime.h"

namespace penstock {

//   show plan
//   show config [(fwd|cores|rxtx|txpkts)]   every option with its value, or those of one subject
//   show mempool
//
// Both arguments outlive the commands; the runtime has had a configuration applied before one is
// run. AlreadyExists for one that `commands` has.
absl::Status AddShowCommands(Runtime& runtime, CommandSet& commands);

}  // namespace penstock

#endif  // PENSTOCK_LIB_CONTROL_SHOW_COMMANDS_H_
