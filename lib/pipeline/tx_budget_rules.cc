// SPDX-License-Identifier: BSD-3-Clause
#include "lib/pipeline/tx_budget_rules.h"

#include <algorithm>
#include <bit>

#include "absl/strings/str_format.h"

namespace penstock {
namespace {

// What to type instead, for who asked a budget of a port that has none.
std::string WayOut(std::span<const PlannerPort> ports, uint16_t budget) {
  const auto able = std::ranges::find(ports, true, &PlannerPort::tx_budget);
  if (able == ports.end()) return "leave --tx-budget out";
  return absl::StrFormat("ask it of those alone, such as --tx-budget=%d:%d", able->port, budget);
}

}  // namespace

absl::Status CheckTxBudgets(std::span<const PlannerPort> ports, const Plan& plan,
                            const Configuration& configuration) {
  for (size_t i = 0; i < ports.size(); ++i) {
    const PlannerPort& port = ports[i];
    const uint16_t budget = configuration.tx_budget.For(port.port).value_or(kTxBudgetAuto);
    if (budget == kTxBudgetAuto) continue;
    if (!port.tx_budget) {
      return absl::FailedPreconditionError(
          absl::StrFormat("--tx-budget=%d: port %d (%s) has no budget for its sends, which only "
                          "AF_XDP ports (net_af_xdp, net_xsk) have; %s",
                          budget, port.port, port.name, WayOut(ports, budget)));
    }
    // The kernel's rings are powers of two.
    const uint32_t ring = std::bit_ceil(uint32_t{plan.ports[i].tx_descriptors});
    if (budget > ring) {
      return absl::FailedPreconditionError(absl::StrFormat(
          "--tx-budget=%d: port %d (%s) has TX rings of %d descriptors; accepted: auto%s; --txd "
          "asks "
          "for larger rings",
          budget, port.port, port.name, ring,
          ring < kLeastTxBudget ? "" : absl::StrFormat(", or %d to %d", kLeastTxBudget, ring)));
    }
  }
  return absl::OkStatus();
}

void NoteTxBudgets(std::span<const PlannerPort> ports, const Configuration& configuration,
                   std::vector<std::string>& notes) {
  for (const PlannerPort& port : ports) {
    if (port.tx_budget || configuration.tx_budget.For(port.port) != kTxBudgetAuto) continue;
    notes.push_back(absl::StrFormat(
        "port %d (%s) has no budget for its sends, which only AF_XDP ports have: --tx-budget=auto "
        "changes nothing there",
        port.port, port.name));
  }
}

}  // namespace penstock
