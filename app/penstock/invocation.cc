// SPDX-License-Identifier: BSD-3-Clause
#include "app/penstock/invocation.h"

#include <gflags/gflags.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "app/penstock/eal_options.h"
#include "app/penstock/modes.h"
#include "app/penstock/testpmd_options.h"
#include "lib/base/quote.h"
#include "lib/base/status.h"
#include "lib/config/options.h"

namespace penstock {
namespace {

constexpr char kFlagFile[] = "penstock";  // What marks a gflags flag as one of ours.

// Makes a gflags flag of every option of the table: gflags then knows their names, in either
// spelling, and which take a value. What values mean is the table's own affair.
class Flags {
 public:
  static const Flags& Get() {
    static const Flags* const flags = new Flags;  // gflags keeps pointers into it.
    return *flags;
  }

 private:
  Flags() {
    for (const Option& option : Options()) {
      if (option.argument.empty()) {
        bool* const value = &switches_.emplace_back(false);
        Register(option, value, &switches_.emplace_back(false));
      } else {
        std::string* const value = &texts_.emplace_back();
        Register(option, value, &texts_.emplace_back());
      }
    }
    static constexpr Option kConfig{
        .area = "run", .name = "config", .argument = "FILE", .help = "", .set = nullptr};
    std::string* const value = &texts_.emplace_back();
    Register(kConfig, value, &texts_.emplace_back());
  }

  template <typename T>
  void Register(const Option& option, T* value, T* standard) {
    // gflags writes names with underscores and takes dashes for them.
    names_.push_back(absl::StrReplaceAll(option.name, {{"-", "_"}}));
    gflags::FlagRegisterer(names_.back().c_str(), "", kFlagFile, value, standard);
  }

  std::deque<std::string> names_;
  std::deque<std::string> texts_;
  std::deque<bool> switches_;
};

struct Given {
  std::string name;  // With dashes.
  std::string value;
};

absl::Status Unknown(absl::string_view argument, absl::string_view name) {
  if (const absl::string_view instead = InsteadOfTestpmd(name); !instead.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(Shown(argument), ": known from testpmd, not offered: ", instead));
  }
  if (IsEalOption(name)) {
    return absl::InvalidArgumentError(
        absl::StrCat(Shown(argument), ": an option of EAL, which belongs before \"--\": penstock ",
                     Shown(argument), " -- [options]"));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      Shown(argument), ": no such option; accepted: those that penstock --help lists"));
}

// Walks the words after "--".
absl::StatusOr<std::vector<Given>> Walk(std::span<const std::string> arguments) {
  Flags::Get();
  std::vector<Given> given;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "-i" || argument == "-a") {
      given.push_back({argument == "-i" ? "interactive" : "auto-start", "on"});
      continue;
    }
    if (!absl::StartsWith(argument, "--") || argument.size() == 2) {
      return absl::InvalidArgumentError(
          absl::StrCat(Shown(argument),
                       ": a stray word; accepted: options such as --forward-mode=io or -i, "
                       "which penstock --help lists"));
    }
    const size_t equals = argument.find('=');
    const std::string name = argument.substr(2, equals == std::string::npos ? equals : equals - 2);
    gflags::CommandLineFlagInfo info;
    // Only the spelling with dashes: one name for one thing.
    if (absl::StrContains(name, '_') || !gflags::GetCommandLineFlagInfo(name.c_str(), &info) ||
        info.filename != kFlagFile) {
      return Unknown(argument, name);
    }
    if (equals != std::string::npos) {
      given.push_back({name, argument.substr(equals + 1)});
    } else if (info.type == "bool") {
      given.push_back({name, "on"});
    } else if (i + 1 < arguments.size()) {
      given.push_back({name, arguments[++i]});
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat(argument, ": wants a value: ", argument, "=",
                       name == "config" ? absl::string_view("FILE") : FindOption(name)->argument));
    }
  }
  return given;
}

absl::Status CheckMode(const Configuration& configuration) {
  std::vector<absl::string_view> names;
  for (const Mode& mode : Modes()) {
    if (mode.name == configuration.forward_mode) return absl::OkStatus();
    names.push_back(mode.name);
  }
  const absl::string_view instead = InsteadOfTestpmdMode(configuration.forward_mode);
  return absl::InvalidArgumentError(absl::StrCat(
      "--forward-mode=", Shown(configuration.forward_mode), ": ",
      instead.empty() ? "" : absl::StrCat("known from testpmd, not offered: ", instead, "; "),
      "accepted: ", absl::StrJoin(names, ", ")));
}

// Nothing is given twice, nor are two options for one thing.
absl::Status CheckOnce(const std::vector<Given>& given) {
  std::map<absl::string_view, absl::string_view> setter_of;
  for (const Given& each : given) {
    const Option* option = FindOption(each.name);
    if (option != nullptr && option->repeatable) continue;
    const absl::string_view field =
        option == nullptr || option->adds ? absl::string_view(each.name) : FieldOf(*option);
    const auto [first, fresh] = setter_of.emplace(field, each.name);
    if (fresh) continue;
    const std::string what =
        first->second == each.name
            ? "given twice; accepted: once"
            : absl::StrCat("given beside --", first->second, "; accepted: one of them");
    return absl::InvalidArgumentError(
        absl::StrCat("--", each.name, "=", Shown(each.value), ": ", what));
  }
  return absl::OkStatus();
}

absl::StatusOr<Configuration> Configure(const std::vector<Given>& given) {
  PENSTOCK_RETURN_IF_ERROR(CheckOnce(given));
  Configuration configuration;
  // The file first, wherever it stands: what the command line says goes over it.
  for (const Given& each : given) {
    if (FindOption(each.name) != nullptr) continue;
    PENSTOCK_RETURN_IF_ERROR(WithContext(LoadConfigurationFile(each.value, configuration),
                                         absl::StrCat("--config=", Shown(each.value))));
  }
  // A list on the command line replaces the file's, it does not add to it.
  for (const Given& each : given) {
    const Option* option = FindOption(each.name);
    if (option != nullptr && option->clear != nullptr) option->clear(configuration);
  }
  for (const Given& each : given) {
    if (FindOption(each.name) == nullptr) continue;
    PENSTOCK_RETURN_IF_ERROR(SetOption(configuration, each.name, each.value));
  }
  PENSTOCK_RETURN_IF_ERROR(CheckMode(configuration));
  PENSTOCK_RETURN_IF_ERROR(Validate(configuration));
  // Better known before the start than after it.
  if (const std::string& file = configuration.cmdline_file;
      !file.empty() && access(file.c_str(), R_OK) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--cmdline-file=", Shown(file), ": accepted: a file that can be read"));
  }
  // At the prompt it is `start` that begins, and it takes the word itself.
  if (configuration.tx_first > 0 && configuration.interactive && !configuration.auto_start) {
    return absl::InvalidArgumentError(
        "--tx-first: accepted: without -i, or with --auto-start; at the prompt, type start "
        "tx_first");
  }
  return configuration;
}

}  // namespace

absl::StatusOr<Invocation> ParseInvocation(std::span<const std::string> arguments) {
  Invocation invocation;
  const auto dashes = std::ranges::find(arguments, "--");
  const auto ours = dashes == arguments.end() ? dashes : dashes + 1;
  for (const std::string& argument : arguments) {
    if (argument == "--help" || argument == "-h") invocation.action = Invocation::Action::kHelp;
    if (argument == "--version") invocation.action = Invocation::Action::kVersion;
  }
  if (invocation.action != Invocation::Action::kRun) return invocation;
  invocation.eal.assign(arguments.begin(), dashes);
  PENSTOCK_RETURN_IF_ERROR(CheckEalArguments(invocation.eal));
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<Given> given,
                            Walk(std::span<const std::string>(ours, arguments.end())));
  PENSTOCK_ASSIGN_OR_RETURN(invocation.configuration, Configure(given));
  return invocation;
}

std::string HelpText() {
  std::string text =
      "penstock [EAL options] -- [options]\n"
      "Moves Ethernet frames between ports and accounts for every one of them.\n"
      "\n"
      "  penstock -l 0,1 --no-pci --vdev=net_af_xdp0,iface=eth1 --vdev=net_af_xdp1,iface=eth2 --\n"
      "      --forward-mode=macswap --stats-period=1\n"
      "\n"
      "Before \"--\": EAL's options (-l, -a, --vdev, --no-huge, …). --help and --version answer at "
      "once.\n"
      "Without -i it forwards until SIGINT, SIGTERM or --duration, then reports. A second signal "
      "ends\n"
      "it at once.\n";
  absl::string_view area;
  for (const Option& option : Options()) {
    if (option.area != area) {
      area = option.area;
      absl::StrAppend(&text, "\n", area, "\n");
      if (area == "run") {
        absl::StrAppendFormat(&text, "  %-30s %s\n", "--config=FILE",
                              "options from a YAML file; what the command line gives goes over it");
      }
    }
    const std::string spelled =
        absl::StrCat("--", option.name, option.argument.empty() ? "" : "=", option.argument);
    absl::StrAppendFormat(&text, "  %-30s %s\n", spelled, option.help);
  }
  absl::StrAppend(&text, "\nmodes\n");
  for (const Mode& mode : Modes()) {
    absl::StrAppendFormat(&text, "  %-30s %s\n", mode.name, mode.help);
  }
  absl::StrAppend(&text,
                  "\nexit codes\n"
                  "  0 good   1 start failed   2 wrong invocation or configuration   3 run failed\n"
                  "  4 device lost or lcore stuck   130 ended by a second signal\n");
  return text;
}

}  // namespace penstock
