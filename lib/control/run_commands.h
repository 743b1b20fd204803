// SPDX-License-Identifier: BSD-3-Clause
//
// start, stop, the forwarding counts, and help. Control thread.

#ifndef PENSTOCK_LIB_CONTROL_RUN_COMMANDS_H_
#define PENSTOCK_LIB_CONTROL_RUN_COMMANDS_H_

#include "absl/status/status.h"
#include "lib/control/command.h"
#include "lib/pipeline/runtime.h"

namespace penstock {

//   start [tx_first [<bursts>]]    forwards, after so many bursts (1) from each TX queue
//   stop                           and shows what happened
//   show fwd stats [all]           what happened to every packet
//   clear fwd stats [all]          what both show begins at 0; the report does not change
//   help [<words...>]              all commands, or those that begin so
//
// Both arguments outlive the commands. AlreadyExists for one that `commands` has.
absl::Status AddRunCommands(Runtime& runtime, CommandSet& commands);

}  // namespace penstock

#endif  // PENSTOCK_LIB_CONTROL_RUN_COMMANDS_H_
