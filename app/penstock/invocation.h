// SPDX-License-Identifier: BSD-3-Clause
//
// Invocation: one command line, taken apart and checked before anything of the machine is touched.
//
//   penstock [EAL options] -- [options]
//
// Everything that can be known to be wrong from the words alone is refused here, in one line,
// without EAL and without root.

#ifndef PENSTOCK_APP_PENSTOCK_INVOCATION_H_
#define PENSTOCK_APP_PENSTOCK_INVOCATION_H_

#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/config/configuration.h"

namespace penstock {

struct Invocation {
  enum class Action { kRun, kHelp, kVersion };
  Action action = Action::kRun;
  std::vector<std::string> eal;  // The user's EAL arguments, without the program's name.
  Configuration configuration;
};

// `arguments` without the program's name. The error's message is the line to show.
absl::StatusOr<Invocation> ParseInvocation(std::span<const std::string> arguments);

// What --help prints.
std::string HelpText();

}  // namespace penstock

#endif  // PENSTOCK_APP_PENSTOCK_INVOCATION_H_
