// SPDX-License-Identifier: BSD-3-Clause
#include "lib/control/core_commands.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/status.h"
#include "lib/control/port_commands.h"
#include "lib/control/run_commands.h"
#include "lib/control/set_commands.h"
#include "lib/control/show_commands.h"
#include "lib/control/tx_commands.h"

namespace penstock {
namespace {

using Arguments = std::span<const std::string>;

absl::Status AddStageCommands(Runtime& runtime, CommandSet& commands) {
  std::set<absl::string_view> added;
  for (const Mode& mode : runtime.modes()) {
    for (const ModeCommand& command : mode.commands) {
      if (!added.insert(command.syntax).second) continue;
      const auto run = [&runtime, &mode, &command](Arguments arguments, std::string& output) {
        // Modes may share a stage: what counts is whether the present one has the command.
        for (const ModeCommand& present : runtime.mode().commands) {
          if (present.syntax != command.syntax) continue;
          return runtime.RunStageCommand(present, arguments, output);
        }
        return absl::FailedPreconditionError(
            absl::StrCat("\"", command.syntax, "\" belongs to mode ", mode.name,
                         "; the present mode is ", runtime.mode().name));
      };
      PENSTOCK_RETURN_IF_ERROR(
          commands.Add({std::string(command.syntax), std::string(command.help), run}));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status AddCoreCommands(Runtime& runtime, CommandSet& commands) {
  PENSTOCK_RETURN_IF_ERROR(AddRunCommands(runtime, commands));
  PENSTOCK_RETURN_IF_ERROR(AddShowCommands(runtime, commands));
  PENSTOCK_RETURN_IF_ERROR(AddTxCommands(runtime, commands));
  PENSTOCK_RETURN_IF_ERROR(AddPortCommands(runtime, commands));
  PENSTOCK_RETURN_IF_ERROR(AddSetCommands(runtime, commands));
  return AddStageCommands(runtime, commands);
}

}  // namespace penstock
