// SPDX-License-Identifier: BSD-3-Clause
#include "app/penstock/session.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "app/penstock/signals.h"
#include "app/penstock/testpmd_commands.h"
#include "lib/base/status.h"
#include "lib/control/command.h"
#include "lib/control/command_file.h"
#include "lib/control/core_commands.h"
#include "lib/control/flow_command.h"
#include "lib/control/prompt.h"
#include "lib/stats/report.h"

namespace penstock {
namespace {

using Steady = std::chrono::steady_clock;

// How often the lcores and ports are looked after, and TX budgets tuned.
constexpr std::chrono::milliseconds kWatch{200};

Steady::duration Seconds(double seconds) {
  return std::chrono::duration_cast<Steady::duration>(std::chrono::duration<double>(seconds));
}

// Shows rates every so often; on a terminal, over the ones before.
class RateDisplay {
 public:
  explicit RateDisplay(const Runtime& runtime)
      : runtime_(runtime),
        in_place_(isatty(STDOUT_FILENO) != 0),
        last_(runtime.Snapshot()),
        last_at_(Steady::now()) {}

  bool Wanted() const { return runtime_.configuration().stats_period_s > 0; }
  Steady::time_point Next() const {
    return Wanted() ? last_at_ + Seconds(runtime_.configuration().stats_period_s)
                    : Steady::time_point::max();
  }

  void Show() {
    const Steady::time_point now = Steady::now();
    if (now < Next()) return;
    const double seconds = std::chrono::duration<double>(now - last_at_).count();
    Report report = runtime_.Snapshot();
    const std::string text = FormatRates(last_, report, seconds);
    if (in_place_ && lines_ > 0) std::cout << "\033[" << lines_ << "A\033[J";
    std::cout << text << std::flush;
    lines_ = std::ranges::count(text, '\n');
    last_ = std::move(report);
    last_at_ = now;
  }

 private:
  const Runtime& runtime_;
  const bool in_place_;
  long lines_ = 0;
  Report last_;
  Steady::time_point last_at_;
};

absl::Status Watch(Runtime& runtime) {
  if (const std::vector<unsigned> stuck = runtime.StuckLcores(); !stuck.empty()) {
    return absl::DeadlineExceededError(absl::StrCat("lcore ", absl::StrJoin(stuck, ", "),
                                                    " has not moved for ",
                                                    Runtime::kStuckNs / kNsPerSecond, " s"));
  }
  if (const std::optional<uint16_t> port = runtime.LostPort()) {
    return absl::UnavailableError(absl::StrCat("port ", *port, ": the device was removed"));
  }
  return absl::OkStatus();
}

absl::Status AddCommands(Runtime& runtime, CommandFiles& files, CommandSet& commands) {
  PENSTOCK_RETURN_IF_ERROR(AddCoreCommands(runtime, commands));
  PENSTOCK_RETURN_IF_ERROR(AddFlowCommands(runtime, commands));
  PENSTOCK_RETURN_IF_ERROR(files.AddCommand(commands));
  commands.SetElsewhere(InsteadOfTestpmdCommand);
  return commands.Add({"quit", "stop, close the ports and report",
                       [](auto, std::string&) { return absl::CancelledError("quit"); }});
}

// Runs the file of commands, and then begins to forward where nobody is there to say start. True
// when the file ends the session.
absl::StatusOr<bool> Begin(Runtime& runtime, CommandFiles& files) {
  if (const std::string path = runtime.configuration().cmdline_file; !path.empty()) {
    std::string output;
    const absl::Status status = files.Run(path, output);
    std::cout << output << std::flush;
    if (absl::IsCancelled(status)) return true;
    if (absl::IsDeadlineExceeded(status)) return status;
    if (!status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("--cmdline-file: ", status.message()));
    }
  }
  Configuration desired = runtime.configuration();
  if (desired.forwarding || (desired.interactive && !desired.auto_start)) return false;
  desired.forwarding = true;
  PENSTOCK_RETURN_IF_ERROR(runtime.Apply(desired).status());
  return false;
}

}  // namespace

absl::Status RunSession(Runtime& runtime) {
  const Configuration& configuration = runtime.configuration();
  CommandSet commands;
  CommandFiles files(commands);
  PENSTOCK_RETURN_IF_ERROR(AddCommands(runtime, files, commands));
  PENSTOCK_ASSIGN_OR_RETURN(const bool over, Begin(runtime, files));
  if (over) return absl::OkStatus();
  std::unique_ptr<Prompt> prompt;
  if (configuration.interactive) {
    PENSTOCK_ASSIGN_OR_RETURN(prompt, Prompt::Create(commands));
  }
  RateDisplay rates(runtime);
  const Steady::time_point begin = Steady::now();
  while (!Signals::Stopped()) {
    const Steady::time_point now = Steady::now();
    // Asked each time: a setting may change while it runs.
    const Steady::time_point end = configuration.duration_s > 0
                                       ? begin + Seconds(configuration.duration_s)
                                       : Steady::time_point::max();
    if (now >= end) break;
    const Steady::time_point wake = std::min({now + kWatch, end, rates.Next()});
    // Rounded up, so that the wake-up is never a moment too early and then busy.
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(wake - now).count();
    std::array<pollfd, 2> sources = {pollfd{Signals::fd(), POLLIN, 0},
                                     pollfd{prompt ? STDIN_FILENO : -1, POLLIN, 0}};
    if (poll(sources.data(), sources.size(), static_cast<int>(std::max<long>(wait, 0))) < 0 &&
        errno != EINTR) {
      return ErrnoStatus(errno, "poll");
    }
    if (sources[1].revents != 0 && !prompt->Read()) break;
    if (rates.Wanted()) rates.Show();
    PENSTOCK_RETURN_IF_ERROR(Watch(runtime));
    runtime.TuneTxBudgets();
  }
  if (prompt != nullptr) std::cout << "\n";  // Off the line of the last prompt.
  return absl::OkStatus();
}

}  // namespace penstock
