// SPDX-License-Identifier: BSD-3-Clause
//
// `set`: a setting changes, while lcores forward or while they do not. Control thread.
//
// Every option of lib/config/options.h that a running dataplane can change is a command, `set NAME
// <value>`, and takes and answers what it does on the command line; a few have testpmd's shorter
// name as well. An option that is new in the table is settable without a line here.

#ifndef PENSTOCK_LIB_CONTROL_SET_COMMANDS_H_
#define PENSTOCK_LIB_CONTROL_SET_COMMANDS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "lib/control/command.h"
#include "lib/pipeline/runtime.h"

namespace penstock {

//   set fwd (io|…)          the mode              set nbcore <N>       --nb-cores
//   set eth-peer (0|…) <MAC>                      set NAME <value>     --NAME=value
//
// Both arguments outlive the commands. AlreadyExists for one that `commands` has.
absl::Status AddSetCommands(Runtime& runtime, CommandSet& commands);

// Applies `desired` and says what came of it, one line: `what`, and for how long nothing was
// forwarded. The status is Apply's.
//   "burst 64; forwarding paused for 0.35 ms\n"
absl::Status ApplyAndSay(Runtime& runtime, const Configuration& desired, absl::string_view what,
                         std::string& output);

}  // namespace penstock

#endif  // PENSTOCK_LIB_CONTROL_SET_COMMANDS_H_
