// SPDX-License-Identifier: BSD-3-Clause
#include "lib/control/tx_commands.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lib/base/status.h"

namespace penstock {
namespace {

// What a port does not tell is no zero.
std::string Told(const auto& value) { return value ? absl::StrCat(*value) : "-"; }

struct Column {
  absl::string_view heading;
  std::string (*cell)(const TxQueueReport& queue);
};

// In the order of a line; the last takes as much room as it needs.
constexpr Column kColumns[] = {
    {"queue", [](const TxQueueReport& q) { return absl::StrCat(q.port, ".", q.queue); }},
    {"users", [](const TxQueueReport& q) { return absl::StrCat(q.users); }},
    {"sharing", [](const TxQueueReport& q) { return q.sharing; }},
    {"send calls", [](const TxQueueReport& q) { return Told(q.send_calls); }},
    {"EAGAINs", [](const TxQueueReport& q) { return Told(q.eagains); }},
    {"budget", [](const TxQueueReport& q) { return Told(q.budget); }},
    {"why",
     [](const TxQueueReport& q) {
       return q.budget_reason.empty() ? std::string("no AF_XDP port") : q.budget_reason;
     }},
};

// "to 64: 3.0 %, to 256: 97.0 %"
std::string Sizes(const TxQueueReport& queue) {
  const auto& sizes = queue.send_sizes;
  const uint64_t all =
      std::accumulate(sizes.begin(), sizes.end(), uint64_t{0},
                      [](uint64_t sum, const auto& size) { return sum + size.sends; });
  return absl::StrJoin(sizes, ", ", [&](std::string* out, const auto& size) {
    absl::StrAppendFormat(out, "to %d: %.1f %%", size.up_to,
                          100.0 * static_cast<double>(size.sends) / static_cast<double>(all));
  });
}

// "stage: 120 reaps, 1 in vain, 7680 mbufs back, 12 in flight, oldest 34 us"; "stage" alone where
// nobody counted yet.
std::string Completions(const TxQueueReport& queue) {
  if (!queue.reaps) {
    return absl::StrCat(queue.completion,
                        queue.completion == "inline" ? ", by the driver as it sends" : "");
  }
  std::string text = absl::StrCat(queue.completion, ": ", *queue.reaps, " reaps");
  const auto add = [&](absl::string_view before, const auto& value, absl::string_view after) {
    if (value) absl::StrAppend(&text, ", ", before, *value, after);
  };
  add("", queue.empty_reaps, " in vain");
  add("", queue.reaped, " mbufs back");
  add("", queue.in_flight, " in flight");
  add("oldest ", queue.oldest_pinned_us, " us");
  add("", queue.pinned, " pinned until more is sent");
  return text;
}

}  // namespace

std::string FormatTxQueues(std::span<const TxQueueReport> queues) {
  std::vector<std::vector<std::string>> lines;
  std::vector<size_t> widths;
  const auto add = [&](auto cell_of) {
    std::vector<std::string>& line = lines.emplace_back();
    for (const Column& column : kColumns) line.push_back(cell_of(column));
  };
  add([](const Column& column) { return std::string(column.heading); });
  for (const TxQueueReport& queue : queues) {
    add([&](const Column& column) { return column.cell(queue); });
  }
  for (size_t i = 0; i < std::size(kColumns); ++i) {
    size_t& width = widths.emplace_back(0);
    for (const auto& line : lines) width = std::max(width, line[i].size());
  }
  std::string text;
  for (size_t row = 0; row < lines.size(); ++row) {
    for (size_t i = 0; i < widths.size(); ++i) {
      const bool last = i + 1 == widths.size();
      absl::StrAppendFormat(&text, "  %-*s", last ? 0 : static_cast<int>(widths[i]), lines[row][i]);
    }
    text += '\n';
    if (row == 0) continue;
    const TxQueueReport& queue = queues[row - 1];
    if (!queue.send_sizes.empty()) {
      absl::StrAppend(&text, "    descriptors per send, ", Sizes(queue), "\n");
    }
    absl::StrAppend(&text, "    completion ", Completions(queue), "\n");
  }
  return text;
}

absl::Status AddTxCommands(Runtime& runtime, CommandSet& commands) {
  std::vector<std::string> ports = {"all"};
  for (const Port& port : runtime.ports()) ports.push_back(absl::StrCat(port.capabilities().port));
  return commands.Add(
      {absl::StrCat("show tx [(", absl::StrJoin(ports, "|"), ")]"),
       "TX queues: users, send calls, budget and why, descriptors per send, completions",
       [&runtime](std::span<const std::string> arguments, std::string& output) {
         std::vector<TxQueueReport> queues = runtime.Snapshot().tx_queues;
         if (!arguments.empty() && arguments[0] != "all") {
           std::erase_if(queues, [&](const TxQueueReport& queue) {
             return absl::StrCat(queue.port) != arguments[0];
           });
         }
         absl::StrAppend(&output, FormatTxQueues(queues));
         return absl::OkStatus();
       }});
}

}  // namespace penstock
