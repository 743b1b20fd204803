// SPDX-License-Identifier: BSD-3-Clause
#include "lib/control/core_commands.h"

#include <functional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "lib/base/status.h"
#include "lib/stats/report.h"

namespace penstock {
namespace {

using Arguments = std::span<const std::string>;

absl::Status SetForwarding(Runtime& runtime, bool forwarding, std::string& output) {
  Configuration desired = runtime.configuration();
  if (desired.forwarding == forwarding && runtime.forwarding() == forwarding) {
    absl::StrAppend(&output, forwarding ? "already forwarding\n" : "not forwarding\n");
    return absl::OkStatus();
  }
  desired.forwarding = forwarding;
  PENSTOCK_RETURN_IF_ERROR(runtime.Apply(desired).status());
  if (forwarding) {
    absl::StrAppend(&output, "forwarding: ", desired.forward_mode, "\n");
  } else {
    absl::StrAppend(&output, FormatReport(runtime.Snapshot()));
  }
  return absl::OkStatus();
}

// "(all|0|1|…)": what a command about ports takes.
std::string PortChoice(const Runtime& runtime) {
  std::vector<std::string> choices = {"all"};
  for (const Port& port : runtime.ports()) {
    choices.push_back(absl::StrCat(port.capabilities().port));
  }
  return absl::StrCat("(", absl::StrJoin(choices, "|"), ")");
}

absl::Status ForPorts(const Runtime& runtime, const std::string& which,
                      const std::function<void(const Port&)>& show) {
  for (const Port& port : runtime.ports()) {
    if (which == "all" || which == absl::StrCat(port.capabilities().port)) show(port);
  }
  return absl::OkStatus();
}

void ShowPortStats(const Port& port, std::string& output) {
  const PortReport counts = port.Counts();
  absl::StrAppendFormat(&output,
                        "  NIC statistics for port %d (%s)\n"
                        "  RX-packets: %-12d RX-missed: %-10d RX-bytes: %d\n"
                        "  RX-errors:  %-12d RX-nombuf: %d\n"
                        "  TX-packets: %-12d TX-errors: %-10d TX-bytes: %d\n",
                        counts.port, counts.name, counts.rx_packets, counts.rx_missed,
                        counts.rx_bytes, counts.rx_errors, counts.rx_nombuf, counts.tx_packets,
                        counts.tx_errors, counts.tx_bytes);
}

void ShowPortInfo(const Port& port, std::string& output) {
  const PortCapabilities& can = port.capabilities();
  absl::StrAppendFormat(
      &output, "port %d: %s, driver %s, %s, NUMA node %s, MAC %s\n", can.port, can.name, can.driver,
      can.interface.empty() ? "no kernel interface" : absl::StrCat("interface ", can.interface),
      can.numa_node < 0 ? "none" : absl::StrCat(can.numa_node), can.mac.Format());
  const auto queues = [&](absl::string_view name, const QueueLimits& limits) {
    absl::StrAppendFormat(&output, "  %s queues: at most %d, of %d to %d descriptors\n", name,
                          limits.max_queues, limits.min_descriptors, limits.max_descriptors);
  };
  queues("rx", can.rx);
  queues("tx", can.tx);
  for (const auto& [name, yes] : CapabilityTable(can)) {
    absl::StrAppendFormat(&output, "  %-16s %s\n", name, yes ? "yes" : "no");
  }
}

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
  std::vector<Command> core = {
      {"start", "forward packets",
       [&runtime](Arguments, std::string& output) { return SetForwarding(runtime, true, output); }},
      {"stop", "stop forwarding and show what happened; the ports stay up",
       [&runtime](Arguments, std::string& output) {
         return SetForwarding(runtime, false, output);
       }},
      {"show plan", "which lcore works on which queues",
       [&runtime](Arguments, std::string& output) {
         absl::StrAppend(&output, FormatPlan(runtime.plan()));
         return absl::OkStatus();
       }},
      {"show fwd stats", "what happened to every packet until now",
       [&runtime](Arguments, std::string& output) {
         absl::StrAppend(&output, FormatReport(runtime.Snapshot()));
         return absl::OkStatus();
       }},
      {absl::StrCat("show port stats ", PortChoice(runtime)),
       "what the driver counted, of one port or all",
       [&runtime](Arguments arguments, std::string& output) {
         return ForPorts(runtime, arguments[0],
                         [&](const Port& port) { ShowPortStats(port, output); });
       }},
      {absl::StrCat("show port info ", PortChoice(runtime)),
       "what a port is and can do, of one port or all",
       [&runtime](Arguments arguments, std::string& output) {
         return ForPorts(runtime, arguments[0],
                         [&](const Port& port) { ShowPortInfo(port, output); });
       }},
      {"help", "this list",
       [&commands](Arguments, std::string& output) {
         absl::StrAppend(&output, commands.Help());
         return absl::OkStatus();
       }},
  };
  for (Command& command : core) PENSTOCK_RETURN_IF_ERROR(commands.Add(std::move(command)));
  return AddStageCommands(runtime, commands);
}

}  // namespace penstock
