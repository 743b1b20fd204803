// SPDX-License-Identifier: BSD-3-Clause
#include "lib/pipeline/completion_plan.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lib/base/status.h"
#include "lib/pipeline/stage.h"

namespace penstock {
namespace {

constexpr absl::string_view kOwnTxBurst =
    "has no tx_done_cleanup: its driver takes back what it sent in its own tx_burst";

template <class Rows, class Member>
std::string ListOf(const Rows& rows, Member number) {
  return absl::StrJoin(rows, ", ", [number](std::string* out, const auto& row) {
    absl::StrAppend(out, row.*number);
  });
}

// Whether --completion-lcore names a queue of the port.
bool Named(const PlannerPort& port, const Configuration& configuration) {
  return std::ranges::any_of(configuration.completion_lcore,
                             [&](const auto& reaper) { return reaper.first.first == port.port; });
}

// Whether lcores reap the port's queues. Explicit words go over a devarg, for all of its queues: a
// driver leaves completions to others on all of them, or on none.
bool InStage(const PlannerPort& port, const Configuration& configuration) {
  if (port.reap == TxReap::kNone || port.reap == TxReap::kUnknown) return false;
  if (configuration.completion != Completion::kDefault) {
    return configuration.completion == Completion::kStage;
  }
  return port.completion_devarg != "inline" || Named(port, configuration);
}

// Who is to take completions, where the driver goes by what it is told.
TxFree TxFreeOf(const PlannerPort& port, Completion asked, const Plan& plan) {
  if (!port.reaps_by_threshold) return TxFree::kDriver;
  if (asked == Completion::kInline) return TxFree::kAlways;
  const bool reaped = std::ranges::any_of(plan.tx_queues, [&](const TxQueuePlan& queue) {
    return queue.port == port.port && queue.reaper.has_value();
  });
  return reaped ? TxFree::kIfStalls : TxFree::kDriver;
}

absl::Status CheckReaper(std::span<const PlannerPort> ports, const Plan& plan, uint16_t port,
                         uint16_t queue, uint16_t lcore) {
  const auto refuse = [&](const std::string& why) {
    return absl::FailedPreconditionError(
        absl::StrCat("--completion-lcore=", port, ".", queue, "@", lcore, ": ", why));
  };
  const auto known = std::ranges::find(ports, port, &PlannerPort::port);
  if (known == ports.end()) {
    return refuse(absl::StrFormat("port %d is not there; ports are %s", port,
                                  ListOf(ports, &PlannerPort::port)));
  }
  const uint16_t queues = plan.ports[static_cast<size_t>(known - ports.begin())].tx_queues;
  if (queue >= queues) {
    return refuse(absl::StrFormat("port %d (%s) has %d TX queues in this plan, numbered from 0",
                                  port, known->name, queues));
  }
  if (std::ranges::find(plan.lcores, lcore, &LcorePlan::lcore) == plan.lcores.end()) {
    return refuse(absl::StrFormat("lcore %d does not work here; those that do are %s", lcore,
                                  ListOf(plan.lcores, &LcorePlan::lcore)));
  }
  if (known->reap == TxReap::kNone) {
    return refuse(
        absl::StrFormat("port %d (%s) %s; leave the queue out", port, known->name, kOwnTxBurst));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status AssignReapers(std::span<const PlannerPort> ports, const Configuration& configuration,
                           Plan& plan) {
  for (const auto& [queue, lcore] : configuration.completion_lcore) {
    PENSTOCK_RETURN_IF_ERROR(CheckReaper(ports, plan, queue.first, queue.second, lcore));
  }
  for (size_t index = 0; index < plan.tx_queues.size(); ++index) {
    TxQueuePlan& queue = plan.tx_queues[index];
    // What nobody sends to is nobody's to reap.
    if (queue.users.empty()) continue;
    const auto asked = configuration.completion_lcore.find({queue.port, queue.queue});
    if (asked != configuration.completion_lcore.end()) {
      queue.reaper = asked->second;
    } else if (InStage(*std::ranges::find(ports, queue.port, &PlannerPort::port), configuration)) {
      queue.reaper = queue.users[0];
    } else {
      continue;
    }
    LcorePlan& lcore = *std::ranges::find(plan.lcores, *queue.reaper, &LcorePlan::lcore);
    const auto tx = std::ranges::find(lcore.tx, index, &LcorePlan::Tx::shared_queue);
    const bool sends = tx != lcore.tx.end();
    if (!sends) queue.users.push_back(lcore.lcore);
    lcore.reaps.push_back({queue.port, queue.queue, static_cast<uint16_t>(index),
                           sends ? static_cast<uint16_t>(tx - lcore.tx.begin()) : kNoSlot});
  }
  for (size_t i = 0; i < ports.size(); ++i) {
    plan.ports[i].tx_free = TxFreeOf(ports[i], configuration.completion, plan);
  }
  return absl::OkStatus();
}

void NoteCompletion(std::span<const PlannerPort> ports, const Configuration& configuration,
                    Plan& plan) {
  for (const TxQueuePlan& queue : plan.tx_queues) {
    const auto asked = configuration.completion_lcore.find({queue.port, queue.queue});
    if (asked == configuration.completion_lcore.end() || !queue.users.empty()) continue;
    plan.notes.push_back(
        absl::StrFormat("--completion-lcore=%d.%d@%d has nothing to do: no lcore sends to queue "
                        "%d of port %d",
                        queue.port, queue.queue, asked->second, queue.queue, queue.port));
  }
  const Completion asked = configuration.completion;
  const absl::string_view word = asked == Completion::kStage ? "stage" : "inline";
  for (const PlannerPort& port : ports) {
    const bool sends = std::ranges::any_of(plan.tx_queues, [&](const TxQueuePlan& queue) {
      return queue.port == port.port && !queue.users.empty();
    });
    if (!sends) continue;
    if (asked == Completion::kStage && port.reap == TxReap::kNone) {
      plan.notes.push_back(absl::StrFormat("--completion=stage: port %d (%s) %s", port.port,
                                           port.name, kOwnTxBurst));
    }
    if (asked != Completion::kDefault && !port.completion_devarg.empty() &&
        port.completion_devarg != word) {
      plan.notes.push_back(
          absl::StrFormat("--completion=%s goes over completion=%s of port %d (%s)", word,
                          port.completion_devarg, port.port, port.name));
    }
    if (asked == Completion::kDefault && port.completion_devarg == "inline") {
      if (Named(port, configuration)) {
        plan.notes.push_back(
            absl::StrFormat("--completion-lcore goes over completion=inline of port %d (%s)",
                            port.port, port.name));
        continue;
      }
      plan.notes.push_back(absl::StrFormat(
          "port %d (%s) reaps in its own tx_burst: its devargs say completion=inline", port.port,
          port.name));
    }
  }
}

}  // namespace penstock
