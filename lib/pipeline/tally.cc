// SPDX-License-Identifier: BSD-3-Clause
#include "lib/pipeline/tally.h"

#include "absl/strings/string_view.h"
#include "lib/stats/drop_reason.h"

namespace penstock {

Tally::Tally(std::span<const Mode> modes) {
  for (const DropReason& reason : kTxDrops) drops_[std::string(reason.name)] = 0;
  for (const Mode& mode : modes) {
    for (const ModeStage& stage : mode.stages) {
      for (const DropReason& reason : stage.drops) drops_[std::string(reason.name)] = 0;
    }
  }
}

void Tally::Add(const Mode& mode, const LcorePlan& plan, const LcoreCounters& layout,
                const CounterPage::Copy& copy) {
  const std::vector<uint64_t>& values = copy.values;
  LcoreReport& lcore = lcores_[plan.lcore];
  lcore.lcore = plan.lcore;
  lcore.polls += values[LcoreCounters::kPolls];
  lcore.empty_polls += values[LcoreCounters::kEmptyPolls];
  lcore.made += values[LcoreCounters::kMade];
  lcore.held += values[LcoreCounters::kHeld];
  lcore.busy_cycles += values[LcoreCounters::kBusyCycles];
  lcore.fresh &= copy.fresh;
  for (size_t slot = 0; slot < plan.rx.size(); ++slot) {
    const uint64_t packets = values[layout.Rx(slot)];
    lcore.rx_packets += packets;
    ports_[plan.rx[slot].port].rx += packets;
  }
  for (size_t slot = 0; slot < plan.tx.size(); ++slot) {
    const uint64_t packets = values[layout.Tx(slot)];
    lcore.tx_packets += packets;
    ports_[plan.tx[slot].port].tx += packets;
  }
  size_t reason = 0;
  const auto add_drops = [&](std::span<const DropReason> reasons) {
    for (const DropReason& each : reasons) {
      drops_[std::string(each.name)] += values[layout.Drop(reason++)];
    }
  };
  add_drops(kTxDrops);
  size_t counter = 0;
  for (const ModeStage& stage : mode.stages) {
    add_drops(stage.drops);
    StageCounts& sum = stages_[std::string(stage.name)];
    sum.stage = &stage;
    sum.counters.resize(stage.counters.size());
    for (uint64_t& each : sum.counters) each += values[layout.Stage(counter++)];
  }
}

void Tally::Fill(Report& report) const {
  for (const auto& [id, lcore] : lcores_) report.lcores.push_back(lcore);
  for (PortReport& port : report.ports) {
    const auto found = ports_.find(port.port);
    if (found == ports_.end()) continue;
    port.lcores_rx = found->second.rx;
    port.lcores_tx = found->second.tx;
  }
  for (const auto& [name, count] : drops_) report.drops[name] = count;
  for (const auto& [name, sum] : stages_) {
    if (sum.stage->section == nullptr) continue;
    Json section = Json::object();
    sum.stage->section(sum.counters, section);
    report.sections[name] = section;
  }
}

}  // namespace penstock
