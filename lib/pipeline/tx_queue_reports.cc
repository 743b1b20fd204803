// SPDX-License-Identifier: BSD-3-Clause
#include "lib/pipeline/tx_queue_reports.h"

#include <algorithm>
#include <optional>
#include <string>

namespace penstock {
namespace {

void Fill(const TxBudgetState& state, TxQueueReport& report) {
  report.budget = state.budget;
  report.tuned = state.tuned;
  report.budget_reason = state.reason;
  for (size_t i = 1; i < kSendBuckets; ++i) {
    if (state.sends[i] != 0) report.send_sizes.push_back({SendBucketEnd(i), state.sends[i]});
  }
}

}  // namespace

std::vector<TxQueueReport> TxQueueReports(const Plan& plan, std::span<const PortReport> ports,
                                          const TxBudgets& budgets) {
  std::vector<TxQueueReport> reports;
  for (const TxQueuePlan& queue : plan.tx_queues) {
    TxQueueReport& report = reports.emplace_back();
    report.port = queue.port;
    report.queue = queue.queue;
    report.users = static_cast<uint32_t>(queue.users.size());
    report.sharing = std::string(SharingName(queue.sharing));
    report.completion = queue.reaper ? "stage" : "inline";
    const auto port = std::ranges::find(ports, queue.port, &PortReport::port);
    if (port != ports.end()) report.FillFrom(port->xstats);
    const std::optional<TxBudgetState> state = budgets.StateOf(queue.port, queue.queue);
    if (state) Fill(*state, report);
  }
  return reports;
}

}  // namespace penstock
