// SPDX-License-Identifier: BSD-3-Clause
#include "lib/control/port_commands.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lib/base/status.h"
#include "lib/control/set_commands.h"
#include "lib/stats/report.h"

namespace penstock {
namespace {

using Arguments = std::span<const std::string>;
using Steady = std::chrono::steady_clock;

// What a person has seen and cleared, by port.
struct Shown {
  std::map<uint16_t, PortReport> stats_zero;
  std::map<uint16_t, PortReport> xstats_zero;
  // Of the last `show port stats`, for its rates.
  std::map<uint16_t, std::pair<Steady::time_point, PortReport>> last;
};

std::string SpeedText(const PortState& state) {
  if (state.link_mbps == 0) return "speed unknown";
  const bool giga = state.link_mbps % 1000 == 0;
  return absl::StrCat(giga ? state.link_mbps / 1000 : state.link_mbps, giga ? " Gbps" : " Mbps");
}

std::vector<const Port*> PortsNamed(const Runtime& runtime, const std::string& which) {
  std::vector<const Port*> ports;
  for (const Port& port : runtime.ports()) {
    if (which == "all" || which == absl::StrCat(port.capabilities().port)) ports.push_back(&port);
  }
  return ports;
}

void ShowStats(const Port& port, Shown& shown, std::string& output) {
  const PortReport now = port.Counts();
  const PortReport counts = Since(shown.stats_zero[now.port], now);
  absl::StrAppendFormat(&output,
                        "  NIC statistics for port %d (%s)\n"
                        "  RX-packets: %-12d RX-missed: %-10d RX-bytes: %d\n"
                        "  RX-errors:  %-12d RX-nombuf: %d\n"
                        "  TX-packets: %-12d TX-errors: %-10d TX-bytes: %d\n",
                        counts.port, counts.name, counts.rx_packets, counts.rx_missed,
                        counts.rx_bytes, counts.rx_errors, counts.rx_nombuf, counts.tx_packets,
                        counts.tx_errors, counts.tx_bytes);
  const Steady::time_point at = Steady::now();
  const auto last = shown.last.find(now.port);
  if (last != shown.last.end()) {
    const double seconds =
        std::max(std::chrono::duration<double>(at - last->second.first).count(), 1e-9);
    const PortReport moved = Since(last->second.second, now);
    const auto rate = [&](uint64_t count) { return static_cast<double>(count) / seconds; };
    absl::StrAppendFormat(&output,
                          "  in the %.3f s since the last show: RX %.0f pps %.0f bit/s, "
                          "TX %.0f pps %.0f bit/s\n",
                          seconds, rate(moved.rx_packets), rate(8 * moved.rx_bytes),
                          rate(moved.tx_packets), rate(8 * moved.tx_bytes));
  }
  shown.last[now.port] = {at, now};
}

void ShowXstats(const Port& port, Shown& shown, std::string& output) {
  const PortReport now = port.Counts();
  const PortReport counts = Since(shown.xstats_zero[now.port], now);
  absl::StrAppendFormat(&output, "  NIC extended statistics for port %d (%s)\n", counts.port,
                        counts.name);
  for (const auto& [name, value] : counts.xstats) {
    absl::StrAppendFormat(&output, "  %s: %d\n", name, value);
  }
}

void ShowSummary(const Port& port, bool first, std::string& output) {
  const PortCapabilities& can = port.capabilities();
  const PortState state = port.State();
  if (first) {
    absl::StrAppendFormat(&output, "  %-4s %-17s %-20s %-16s %-7s %-4s %s\n", "port", "MAC", "name",
                          "driver", "state", "link", "speed");
  }
  absl::StrAppendFormat(&output, "  %-4d %-17s %-20s %-16s %-7s %-4s %s\n", can.port,
                        can.mac.Format(), can.name, can.driver,
                        port.started() ? "started" : "stopped", state.link_up ? "up" : "down",
                        SpeedText(state));
}

void ShowInfo(const Port& port, std::string& output) {
  const PortCapabilities& can = port.capabilities();
  const PortState state = port.State();
  absl::StrAppendFormat(
      &output, "port %d: %s, driver %s, %s, NUMA node %s, MAC %s\n", can.port, can.name, can.driver,
      can.interface.empty() ? "no kernel interface" : absl::StrCat("interface ", can.interface),
      can.numa_node < 0 ? "none" : absl::StrCat(can.numa_node), can.mac.Format());
  absl::StrAppendFormat(&output, "  %s, link %s%s, MTU %d, promiscuous %s\n",
                        port.started() ? "started" : "stopped", state.link_up ? "up " : "down",
                        state.link_up ? SpeedText(state) : "", state.mtu_bytes,
                        state.promiscuous ? "on" : "off");
  if (!state.firmware.empty()) absl::StrAppend(&output, "  firmware: ", state.firmware, "\n");
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

absl::Status Clear(const Runtime& runtime, const std::string& which, absl::string_view what,
                   std::map<uint16_t, PortReport>& zero, std::string& output) {
  for (const Port* port : PortsNamed(runtime, which)) {
    const PortReport counts = port->Counts();
    zero[counts.port] = counts;
    absl::StrAppend(&output, what, " of port ", counts.port,
                    " shown from 0; the report keeps its sums\n");
  }
  return absl::OkStatus();
}

absl::Status StartOrStop(Runtime& runtime, bool start, const std::string& which,
                         std::string& output) {
  Configuration desired = runtime.configuration();
  std::vector<uint16_t> ports;
  for (const Port* port : PortsNamed(runtime, which)) {
    const uint16_t id = port->capabilities().port;
    ports.push_back(id);
    if (start) {
      desired.stopped_ports.erase(id);
    } else {
      desired.stopped_ports.insert(id);
    }
  }
  return ApplyAndSay(
      runtime, desired,
      absl::StrCat("port ", absl::StrJoin(ports, ", "), " ", start ? "started" : "stopped"),
      output);
}

}  // namespace

absl::Status AddPortCommands(Runtime& runtime, CommandSet& commands) {
  if (runtime.ports().empty()) return absl::OkStatus();
  std::vector<std::string> choices = {"all"};
  for (const Port& port : runtime.ports()) {
    choices.push_back(absl::StrCat(port.capabilities().port));
  }
  const std::string which = absl::StrCat(" (", absl::StrJoin(choices, "|"), ")");
  const auto shown = std::make_shared<Shown>();
  const auto each = [&runtime](auto show) {
    return [&runtime, show](Arguments arguments, std::string& output) {
      for (const Port* port : PortsNamed(runtime, arguments[0])) show(*port, output);
      return absl::OkStatus();
    };
  };
  Command all[] = {
      {"show port stats" + which, "what the driver counted, and rates since the last time",
       each([shown](const Port& port, std::string& out) { ShowStats(port, *shown, out); })},
      {"show port xstats" + which, "the driver's own counters",
       each([shown](const Port& port, std::string& out) { ShowXstats(port, *shown, out); })},
      {"show port info" + which, "what a port is and can do", each(&ShowInfo)},
      {"show port summary" + which, "a line for each port: state and link",
       [&runtime](Arguments arguments, std::string& output) {
         bool first = true;
         for (const Port* port : PortsNamed(runtime, arguments[0])) {
           ShowSummary(*port, std::exchange(first, false), output);
         }
         return absl::OkStatus();
       }},
      {"clear port stats" + which, "show port stats begins at 0; the report does not change",
       [&runtime, shown](Arguments arguments, std::string& output) {
         return Clear(runtime, arguments[0], "stats", shown->stats_zero, output);
       }},
      {"clear port xstats" + which, "show port xstats begins at 0; the report does not change",
       [&runtime, shown](Arguments arguments, std::string& output) {
         return Clear(runtime, arguments[0], "xstats", shown->xstats_zero, output);
       }},
      {"port start" + which, "start what port stop stopped",
       [&runtime](Arguments arguments, std::string& output) {
         return StartOrStop(runtime, true, arguments[0], output);
       }},
      {"port stop" + which, "stop a port; it does not forward until it is started",
       [&runtime](Arguments arguments, std::string& output) {
         return StartOrStop(runtime, false, arguments[0], output);
       }},
  };
  for (Command& command : all) PENSTOCK_RETURN_IF_ERROR(commands.Add(std::move(command)));
  return absl::OkStatus();
}

}  // namespace penstock
