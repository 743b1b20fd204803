// SPDX-License-Identifier: BSD-3-Clause
#include "lib/control/run_commands.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/base/quote.h"
#include "lib/base/status.h"
#include "lib/stats/report.h"
#include "lib/text/quantity.h"

namespace penstock {
namespace {

using Arguments = std::span<const std::string>;

constexpr uint32_t kMaxBursts = 1'000'000;

absl::Status Start(Runtime& runtime, Arguments arguments, std::string& output) {
  Configuration desired = runtime.configuration();
  // Said anew at each start, whatever the command line had.
  desired.tx_first = arguments.empty() ? 0 : 1;
  if (arguments.size() == 2) {
    const auto bursts = ParseUnsigned(arguments[1], 1, kMaxBursts);
    if (!bursts.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("start tx_first ", Shown(arguments[1]), ": accepted: 1 to ", kMaxBursts));
    }
    desired.tx_first = static_cast<uint32_t>(*bursts);
  }
  if (runtime.forwarding() && desired.tx_first > 0) {
    return absl::FailedPreconditionError(
        "already forwarding; type stop, and then start tx_first again");
  }
  if (runtime.forwarding()) {
    absl::StrAppend(&output, "already forwarding\n");
    return absl::OkStatus();
  }
  desired.forwarding = true;
  PENSTOCK_RETURN_IF_ERROR(runtime.Apply(desired).status());
  absl::StrAppend(&output, "forwarding: ", desired.forward_mode, "\n");
  return absl::OkStatus();
}

absl::Status Stop(Runtime& runtime, const Report& zero, std::string& output) {
  Configuration desired = runtime.configuration();
  if (!desired.forwarding && !runtime.forwarding()) {
    absl::StrAppend(&output, "not forwarding\n");
    return absl::OkStatus();
  }
  desired.forwarding = false;
  PENSTOCK_RETURN_IF_ERROR(runtime.Apply(desired).status());
  absl::StrAppend(&output, FormatReport(Since(zero, runtime.Snapshot())));
  return absl::OkStatus();
}

absl::Status Help(const CommandSet& commands, Arguments words, std::string& output) {
  // testpmd's sections are not needed for as many commands as these; its word for all of them is.
  const bool all = words.size() == 1 && words[0] == "all";
  const std::string text = commands.Help(all ? Arguments() : words);
  if (text.empty()) {
    return absl::NotFoundError(absl::StrCat("no command begins with ",
                                            Quote(absl::StrJoin(words, " ")),
                                            "; type help for all commands"));
  }
  absl::StrAppend(&output, text);
  return absl::OkStatus();
}

}  // namespace

absl::Status AddRunCommands(Runtime& runtime, CommandSet& commands) {
  const auto zero = std::make_shared<Report>();  // What the forwarding counts are shown from.
  Command all[] = {
      {"start [tx_first [<bursts>]]", "forward packets, or send so many bursts (1) first",
       [&runtime](Arguments arguments, std::string& output) {
         return Start(runtime, arguments, output);
       }},
      {"stop", "stop forwarding and show what happened; the ports stay up",
       [&runtime, zero](Arguments, std::string& output) { return Stop(runtime, *zero, output); }},
      {"help [<words...>]", "all commands, or those that begin with the words",
       [&commands](Arguments words, std::string& output) { return Help(commands, words, output); },
       [&commands](Arguments words) {
         std::vector<Candidate> next = commands.Complete(words);
         std::erase_if(next, [](const Candidate& candidate) { return candidate.word.empty(); });
         next.push_back({"", "their help"});
         return next;
       }},
      {"show fwd stats [all]", "what happened to every packet until now",
       [&runtime, zero](Arguments, std::string& output) {
         absl::StrAppend(&output, FormatReport(Since(*zero, runtime.Snapshot())));
         return absl::OkStatus();
       }},
      {"clear fwd stats [all]", "show fwd stats and stop begin at 0; the report does not change",
       [&runtime, zero](Arguments, std::string& output) {
         *zero = runtime.Snapshot();
         absl::StrAppend(&output, "fwd stats shown from 0; the report keeps its sums\n");
         return absl::OkStatus();
       }},
  };
  for (Command& command : all) PENSTOCK_RETURN_IF_ERROR(commands.Add(std::move(command)));
  return absl::OkStatus();
}

}  // namespace penstock
