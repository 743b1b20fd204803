// SPDX-License-Identifier: BSD-3-Clause
//
// Options: the names by which people set a Configuration, on the command line and in a file.
//
// One table: name, what it takes, what it is for, and the function that reads its text into the
// Configuration. A feature that brings an option adds a field to Configuration and a row here; the
// command line, `--help` and the configuration file follow.

#ifndef PENSTOCK_LIB_CONFIG_OPTIONS_H_
#define PENSTOCK_LIB_CONFIG_OPTIONS_H_

#include <span>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "lib/config/configuration.h"

namespace penstock {

struct Option {
  absl::string_view area;      // Heading in the help.
  absl::string_view name;      // Without dashes; testpmd's name where testpmd has it.
  absl::string_view argument;  // "N", "FILE.json"; empty for a switch.
  absl::string_view help;
  // The option under whose name Difference() knows the field, where it is another: --portmask sets
  // what --portlist sets. Of such options only one may be given, unless they add.
  absl::string_view sets = {};
  bool adds = false;        // Adds to the field what others may have added.
  bool repeatable = false;  // Given again, it adds to what was given before.
  bool in_file = true;      // False for what belongs to one invocation only.
  // The error says what is accepted; who calls adds the option and the value.
  absl::Status (*set)(Configuration& configuration, absl::string_view value);
  // Of an option that adds or is repeatable: forgets what was given before.
  void (*clear)(Configuration& configuration) = nullptr;
};

// The name of the field that an option sets; it is `sets` or its own.
inline absl::string_view FieldOf(const Option& option) {
  return option.sets.empty() ? option.name : option.sets;
}

std::span<const Option> Options();

// Null when there is no such option.
const Option* FindOption(absl::string_view name);

// Sets one option from its text. A switch takes "on" or "off". InvalidArgument, in one line of
// which the value is shown escaped and cut; `configuration` is then unchanged:
//   "--burst=0: accepted: 1 to 512"
absl::Status SetOption(Configuration& configuration, absl::string_view name,
                       absl::string_view value);

// Reads `path`, YAML: a map from option names to values, a sequence for an option given repeatedly.
//   forward-mode: macswap
//   rxq: 2
//   eth-peer: ["0,02:00:00:00:00:01", "1,02:00:00:00:00:02"]
// Refused whole at the first fault, with file, line and column: `configuration` is then unchanged.
absl::Status LoadConfigurationFile(const std::string& path, Configuration& configuration);

}  // namespace penstock

#endif  // PENSTOCK_LIB_CONFIG_OPTIONS_H_
