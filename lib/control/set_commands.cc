// SPDX-License-Identifier: BSD-3-Clause
#include "lib/control/set_commands.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "lib/base/status.h"
#include "lib/config/option_text.h"
#include "lib/config/options.h"

namespace penstock {
namespace {

using Arguments = std::span<const std::string>;

// Those that mean nothing to a running dataplane, or have a command of their own.
constexpr absl::string_view kNotSet[] = {"stats-period", "report", "tx-first", "forward-mode",
                                         "eth-peer"};

// Sets one option by its text, and applies. `value` is what the command line would have.
absl::Status Set(Runtime& runtime, const Option& option, const std::string& value,
                 std::string& output) {
  Configuration desired = runtime.configuration();
  // What is typed replaces what was there, it does not add to it.
  if (option.clear != nullptr) option.clear(desired);
  PENSTOCK_RETURN_IF_ERROR(SetOption(desired, option.name, value));
  return ApplyAndSay(runtime, desired, absl::StrCat(option.name, " ", value), output);
}

absl::Status SetEthPeer(Runtime& runtime, Arguments arguments, std::string& output) {
  Configuration desired = runtime.configuration();
  for (const Port& port : runtime.ports()) {
    const uint16_t id = port.capabilities().port;
    if (arguments[0] == absl::StrCat(id)) desired.eth_peer.erase(id);
  }
  PENSTOCK_RETURN_IF_ERROR(
      SetOption(desired, "eth-peer", absl::StrCat(arguments[0], ",", arguments[1])));
  return ApplyAndSay(runtime, desired, absl::StrCat("eth-peer ", absl::StrJoin(arguments, ",")),
                     output);
}

// What few words an option takes, for completion.
struct Choices {
  absl::string_view option;
  absl::string_view words;
};
constexpr Choices kChoices[] = {{"port-topology", "(paired|chained|loop)"},
                                {"completion", "(stage|inline)"},
                                {"log-level", "(debug|info|warning|error)"}};

// Words that stand beside numbers are offered as well: "auto|default" of "N|auto|default|PORT:N".
std::string WordsOf(const Option& option) {
  std::vector<absl::string_view> words = absl::StrSplit(option.argument, '|');
  std::erase_if(words, [](absl::string_view word) {
    return word.empty() || !std::ranges::all_of(word, absl::ascii_islower);
  });
  return absl::StrJoin(words, "|");
}

std::string SyntaxOf(const Option& option) {
  const auto choices = std::ranges::find(kChoices, option.name, &Choices::option);
  if (choices != std::end(kChoices)) {
    return absl::StrCat("set ", option.name, " ", choices->words);
  }
  if (option.argument.empty()) return absl::StrCat("set ", option.name, " (on|off)");
  // "N[,N...]" would be a syntax of its own.
  const bool plain = std::ranges::all_of(option.argument, absl::ascii_isalnum);
  return absl::StrCat("set ", option.name, " <",
                      plain ? absl::AsciiStrToLower(option.argument) : option.name, ">");
}

}  // namespace

absl::Status ApplyAndSay(Runtime& runtime, const Configuration& desired, absl::string_view what,
                         std::string& output) {
  PENSTOCK_ASSIGN_OR_RETURN(const Applied applied, runtime.Apply(desired));
  absl::StrAppend(&output, what);
  if (applied.change.kind == ChangeKind::kNone) absl::StrAppend(&output, ", as it was");
  if (applied.paused_ns > 0) {
    absl::StrAppendFormat(&output, "; forwarding paused for %.2f ms",
                          static_cast<double>(applied.paused_ns) / 1e6);
  }
  absl::StrAppend(&output, "\n");
  return absl::OkStatus();
}

absl::Status AddSetCommands(Runtime& runtime, CommandSet& commands) {
  const auto add = [&](std::string syntax, absl::string_view help, absl::string_view name) {
    const Option* const option = FindOption(name);
    if (option == nullptr) return absl::NotFoundError(absl::StrCat("no option --", name));
    return commands.Add({std::move(syntax), std::string(help),
                         [&runtime, option](Arguments arguments, std::string& output) {
                           return Set(runtime, *option, arguments[0], output);
                         }});
  };
  std::vector<absl::string_view> modes;
  for (const Mode& mode : runtime.modes()) modes.push_back(mode.name);
  PENSTOCK_RETURN_IF_ERROR(add(absl::StrCat("set fwd (", absl::StrJoin(modes, "|"), ")"),
                               "what to do with packets", "forward-mode"));
  std::vector<uint16_t> ports;
  for (const Port& port : runtime.ports()) ports.push_back(port.capabilities().port);
  if (!ports.empty()) {
    PENSTOCK_RETURN_IF_ERROR(
        commands.Add({absl::StrCat("set eth-peer (", absl::StrJoin(ports, "|"), ") <mac>"),
                      "destination address of what the port sends",
                      [&runtime](Arguments arguments, std::string& output) {
                        return SetEthPeer(runtime, arguments, output);
                      }}));
  }
  PENSTOCK_RETURN_IF_ERROR(add("set nbcore <n>", "how many lcores work", "nb-cores"));
  for (const Option& option : Options()) {
    // A switch for what another option sets as well: that one is enough.
    if (option.argument.empty() && !option.sets.empty()) continue;
    if (std::ranges::find(kNotSet, option.name) != std::end(kNotSet)) continue;
    const ChangeKind kind = ChangeOf(FieldOf(option));
    if (kind == ChangeKind::kNone || kind == ChangeKind::kProcess) continue;
    if (const std::string words = WordsOf(option); !words.empty()) {
      PENSTOCK_RETURN_IF_ERROR(
          add(absl::StrCat("set ", option.name, " (", words, ")"), option.help, option.name));
    }
    PENSTOCK_RETURN_IF_ERROR(add(SyntaxOf(option), option.help, option.name));
  }
  return absl::OkStatus();
}

}  // namespace penstock
