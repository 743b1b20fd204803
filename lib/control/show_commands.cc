// SPDX-License-Identifier: BSD-3-Clause
#include "lib/control/show_commands.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lib/base/status.h"
#include "lib/config/option_text.h"
#include "lib/config/options.h"

namespace penstock {
namespace {

using Arguments = std::span<const std::string>;

// testpmd's subjects, as the options that belong to them; they need not be ours.
struct Subject {
  absl::string_view name;
  std::vector<absl::string_view> options;
};

const std::vector<Subject>& Subjects() {
  static const auto* const subjects = new std::vector<Subject>{
      {"fwd", {"forward-mode", "port-topology", "portlist", "burst", "tx-retries", "eth-peer"}},
      {"cores", {"corelist", "nb-cores"}},
      {"rxtx",
       {"rxq", "txq", "rxd", "txd", "burst", "rss-ip", "rss-udp", "max-pkt-len", "rx-offloads",
        "tx-offloads", "tx-budget", "mbuf-size"}},
      {"txpkts", {"txpkts", "tx-ip", "tx-udp", "txonly-multi-flow", "flowgen-flows"}},
  };
  return *subjects;
}

// A field of the configuration that several options set stands once, under its own name.
void ShowOption(const Configuration& now, const Option& option, std::string& output) {
  static const Configuration defaults;
  const auto shown = [](std::string text) { return text.empty() ? std::string("-") : text; };
  absl::StrAppendFormat(&output, "  %-18s %-28s %s\n", option.name,
                        shown(OptionText(now, option.name)),
                        shown(OptionText(defaults, option.name)));
}

absl::Status ShowConfig(const Runtime& runtime, Arguments arguments, std::string& output) {
  const auto subject = arguments.empty()
                           ? Subjects().end()
                           : std::ranges::find(Subjects(), arguments[0], &Subject::name);
  absl::StrAppendFormat(&output, "  %-18s %-28s %s\n", "option", "value (-: penstock decides)",
                        "default");
  for (const Option& option : Options()) {
    if (ChangeOf(option.name) == ChangeKind::kNone &&
        OptionText(runtime.configuration(), option.name).empty()) {
      continue;
    }
    if (subject != Subjects().end() &&
        std::ranges::find(subject->options, option.name) == subject->options.end()) {
      continue;
    }
    ShowOption(runtime.configuration(), option, output);
  }
  if (subject != Subjects().end() && subject->name != "txpkts") {
    absl::StrAppend(&output, FormatPlan(runtime.plan()));
  }
  return absl::OkStatus();
}

absl::Status ShowMempool(const Runtime& runtime, std::string& output) {
  absl::StrAppendFormat(&output, "  %-24s %-16s %9s %9s %9s %6s %s\n", "mempool", "ops", "mbufs",
                        "in use", "available", "cache", "bytes each");
  for (const Mempool& pool : runtime.mempools()) {
    absl::StrAppendFormat(&output, "  %-24s %-16s %9d %9d %9d %6d %d\n", pool.name(), pool.ops(),
                          pool.size(), pool.InUse(), rte_mempool_avail_count(pool.get()),
                          pool.get()->cache_size, pool.get()->elt_size);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status AddShowCommands(Runtime& runtime, CommandSet& commands) {
  std::vector<absl::string_view> subjects;
  for (const Subject& subject : Subjects()) subjects.push_back(subject.name);
  Command all[] = {
      {"show plan", "which lcore works on which queues",
       [&runtime](Arguments, std::string& output) {
         absl::StrAppend(&output, FormatPlan(runtime.plan()));
         return absl::OkStatus();
       }},
      {absl::StrCat("show config [(", absl::StrJoin(subjects, "|"), ")]"),
       "every option with its value and its default, or those of one subject",
       [&runtime](Arguments arguments, std::string& output) {
         return ShowConfig(runtime, arguments, output);
       }},
      {"show mempool", "mbufs of each mempool: in use (exact at rest), available",
       [&runtime](Arguments, std::string& output) { return ShowMempool(runtime, output); }},
  };
  for (Command& command : all) PENSTOCK_RETURN_IF_ERROR(commands.Add(std::move(command)));
  return absl::OkStatus();
}

}  // namespace penstock
