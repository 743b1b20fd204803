// SPDX-License-Identifier: BSD-3-Clause
#include "lib/pipeline/tally.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/clock.h"
#include "lib/stats/drop_reason.h"

namespace penstock {

namespace {

// Where the driver counts its reaps, by whomever, that is the better count.
void TakeDriversCounts(std::span<const PortReport> ports, TxQueueReport& queue) {
  const auto port = std::ranges::find(ports, queue.port, &PortReport::port);
  if (port == ports.end()) return;
  const auto take = [&](absl::string_view name, std::optional<uint64_t>& value) {
    const auto found = port->xstats.find(absl::StrCat("tx_q", queue.queue, "_", name));
    if (found != port->xstats.end()) value = found->second;
  };
  take("reaps", queue.reaps);
  take("empty_reaps", queue.empty_reaps);
  take("reaped", queue.reaped);
  take("oldest_pinned_us", queue.oldest_pinned_us);
}

}  // namespace

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
  for (size_t i = 0; i < plan.reaps.size(); ++i) {
    const uint64_t* const counts = values.data() + layout.ReapedQueue(i);
    ReapCounts& sum = reaps_[{plan.reaps[i].port, plan.reaps[i].queue}];
    sum.reaps += counts[LcoreCounters::kReaps];
    sum.empty_reaps += counts[LcoreCounters::kEmptyReaps];
    sum.reaped += counts[LcoreCounters::kReaped];
    sum.in_flight = counts[LcoreCounters::kInFlight];
    sum.oldest_tsc = counts[LcoreCounters::kOldestTsc];
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

void Tally::Fill(Report& report, uint64_t now_tsc, uint64_t hz) const {
  for (const auto& [id, lcore] : lcores_) report.lcores.push_back(lcore);
  for (PortReport& port : report.ports) {
    const auto found = ports_.find(port.port);
    if (found == ports_.end()) continue;
    port.lcores_rx = found->second.rx;
    port.lcores_tx = found->second.tx;
  }
  FillReaps(report, now_tsc, hz);
  for (const auto& [name, count] : drops_) report.drops[name] = count;
  for (const auto& [name, sum] : stages_) {
    if (sum.stage->section == nullptr) continue;
    Json section = Json::object();
    sum.stage->section(sum.counters, section);
    report.sections[name] = section;
  }
}

void Tally::FillReaps(Report& report, uint64_t now_tsc, uint64_t hz) const {
  for (TxQueueReport& queue : report.tx_queues) {
    const auto found = reaps_.find({queue.port, queue.queue});
    if (found == reaps_.end()) continue;
    const ReapCounts& counts = found->second;
    queue.reaps = counts.reaps;
    queue.empty_reaps = counts.empty_reaps;
    queue.reaped = counts.reaped;
    // When the lcores have stopped, what is in the ring is the driver's to know.
    if (report.at_rest || queue.completion != "stage") continue;
    queue.in_flight = counts.in_flight;
    const bool any = counts.oldest_tsc != 0 && counts.oldest_tsc < now_tsc;
    queue.oldest_pinned_us = any ? TscToNs(now_tsc - counts.oldest_tsc, hz) / 1000 : 0;
  }
  for (TxQueueReport& queue : report.tx_queues) TakeDriversCounts(report.ports, queue);
}

}  // namespace penstock
