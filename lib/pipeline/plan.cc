// SPDX-License-Identifier: BSD-3-Clause
#include "lib/pipeline/plan.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace penstock {
namespace {

std::string QueueList(const auto& queues) {
  if (queues.empty()) return "-";
  return absl::StrJoin(queues, " ", [](std::string* out, const auto& queue) {
    absl::StrAppend(out, queue.port, ".", queue.queue);
  });
}

}  // namespace

absl::string_view SharingName(Sharing sharing) {
  switch (sharing) {
    case Sharing::kExclusive:
      return "exclusive";
    case Sharing::kMtLockfree:
      return "mt-lockfree";
    case Sharing::kSpinlock:
      return "spinlock";
  }
  return "";
}

std::string FormatPlan(const Plan& plan) {
  std::string text = "plan (queues as PORT.QUEUE)\n";
  absl::StrAppendFormat(&text, "  %-6s %-24s %-40s %s\n", "lcore", "rx queues",
                        "tx queues: users, sharing", "mempool");
  for (const LcorePlan& lcore : plan.lcores) {
    std::vector<std::string> tx;
    for (const LcorePlan::Tx& queue : lcore.tx) {
      const TxQueuePlan& planned = plan.tx_queues[queue.shared_queue];
      tx.push_back(absl::StrFormat("%d.%d: %d, %s", queue.port, queue.queue, planned.users.size(),
                                   SharingName(planned.sharing)));
    }
    absl::StrAppendFormat(&text, "  %-6d %-24s %-40s %s\n", lcore.lcore, QueueList(lcore.rx),
                          tx.empty() ? "-" : absl::StrJoin(tx, "; "),
                          lcore.Idle() ? "-" : absl::StrCat(lcore.mempool));
  }
  for (const LcorePlan& lcore : plan.lcores) {
    if (lcore.reaps.empty()) continue;
    absl::StrAppendFormat(&text, "  lcore %d reaps tx queues %s\n", lcore.lcore,
                          QueueList(lcore.reaps));
  }
  for (const PortPlan& port : plan.ports) {
    absl::StrAppendFormat(&text, "  port %d: %d rx queues of %d, %d tx queues of %d, mempool %d\n",
                          port.port, port.rx_queues, port.rx_descriptors, port.tx_queues,
                          port.tx_descriptors, port.mempool);
  }
  for (size_t i = 0; i < plan.mempools.size(); ++i) {
    absl::StrAppendFormat(&text, "  mempool %d: %d mbufs on NUMA node %d\n", i,
                          plan.mempools[i].mbufs, plan.mempools[i].numa_node);
  }
  for (const std::string& note : plan.notes) absl::StrAppend(&text, "  note: ", note, "\n");
  return text;
}

Json ToJson(const Plan& plan) {
  Json json = {{"ports", Json::array()},
               {"lcores", Json::array()},
               {"tx_queues", Json::array()},
               {"mempools", Json::array()},
               {"notes", plan.notes}};
  for (const PortPlan& port : plan.ports) {
    json["ports"].push_back({{"port", port.port},
                             {"rx_queues", port.rx_queues},
                             {"tx_queues", port.tx_queues},
                             {"rx_descriptors", port.rx_descriptors},
                             {"tx_descriptors", port.tx_descriptors},
                             {"mempool", port.mempool}});
  }
  for (const LcorePlan& lcore : plan.lcores) {
    Json row = {{"lcore", lcore.lcore}, {"rx_queues", Json::array()}, {"tx_queues", Json::array()}};
    for (const LcorePlan::Rx& rx : lcore.rx) {
      row["rx_queues"].push_back({{"port", rx.port}, {"queue", rx.queue}});
    }
    for (const LcorePlan::Tx& tx : lcore.tx) {
      row["tx_queues"].push_back({{"port", tx.port}, {"queue", tx.queue}});
    }
    if (!lcore.Idle()) row["mempool"] = lcore.mempool;
    json["lcores"].push_back(row);
  }
  for (const TxQueuePlan& queue : plan.tx_queues) {
    Json row = {{"port", queue.port},
                {"queue", queue.queue},
                {"users", queue.users},
                {"sharing", SharingName(queue.sharing)}};
    if (queue.reaper) row["reaper"] = *queue.reaper;
    json["tx_queues"].push_back(row);
  }
  for (const MempoolPlan& pool : plan.mempools) {
    json["mempools"].push_back({{"numa_node", pool.numa_node}, {"mbufs", pool.mbufs}});
  }
  return json;
}

}  // namespace penstock
