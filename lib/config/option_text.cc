// SPDX-License-Identifier: BSD-3-Clause
#include "lib/config/option_text.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/base/log.h"
#include "lib/config/offloads.h"
#include "lib/text/quantity.h"

namespace penstock {
namespace {

using C = Configuration;

std::string Switch(bool on) { return on ? "on" : "off"; }

// Nothing where 0 means that penstock decides.
std::string Number(uint64_t value) { return value == 0 ? "" : absl::StrCat(value); }

std::string Text(const PerPort& values) {
  if (values.of_port.empty()) return values.all ? absl::StrCat(*values.all) : "";
  return absl::StrJoin(values.of_port, ",", absl::PairFormatter(":"));
}

std::string TxBudget(const PerPort& values) {
  const auto text = [](uint16_t budget) {
    return budget == kTxBudgetAuto ? std::string("auto") : absl::StrCat(budget);
  };
  if (values.of_port.empty()) return values.all ? text(*values.all) : "";
  return absl::StrJoin(values.of_port, ",", [&](std::string* out, const auto& each) {
    absl::StrAppend(out, each.first, ":", text(each.second));
  });
}

std::string Text(PortTopology topology) {
  switch (topology) {
    case PortTopology::kPaired:
      return "paired";
    case PortTopology::kChained:
      return "chained";
    case PortTopology::kLoop:
      return "loop";
  }
  return "";
}

// Nothing where penstock decides.
std::string Text(MempoolOps ops) {
  switch (ops) {
    case MempoolOps::kWhatIsThere:
      break;
    case MempoolOps::kDeferred:
      return "deferred";
    case MempoolOps::kRing:
      return "ring";
  }
  return "";
}

std::string Text(const std::map<uint16_t, MacAddress>& peers) {
  return absl::StrJoin(peers, " ", [](std::string* out, const auto& peer) {
    absl::StrAppend(out, peer.first, ",", peer.second.Format());
  });
}

std::string Text(Completion completion) {
  switch (completion) {
    case Completion::kDefault:
      return "";
    case Completion::kStage:
      return "stage";
    case Completion::kInline:
      return "inline";
  }
  return "";
}

std::string Text(const std::map<std::pair<uint16_t, uint16_t>, uint16_t>& reapers) {
  return absl::StrJoin(reapers, ",", [](std::string* out, const auto& reaper) {
    const auto& [queue, lcore] = reaper;
    absl::StrAppend(out, queue.first, ".", queue.second, "@", lcore);
  });
}

// As short as it is exact.
std::string Size(uint64_t bytes) {
  if (bytes == 0) return "";
  const std::string text = FormatSize(bytes);
  const auto same = ParseSize(text);
  return same.ok() && *same == bytes ? text : absl::StrCat(bytes);
}

struct Row {
  absl::string_view option;
  std::string (*text)(const Configuration&);
};

constexpr Row kRows[] = {
    {"interactive", [](const C& c) { return Switch(c.interactive); }},
    {"auto-start", [](const C& c) { return Switch(c.auto_start); }},
    {"cmdline-file", [](const C& c) { return c.cmdline_file; }},
    {"tx-first", [](const C& c) { return Switch(c.tx_first > 0); }},
    {"duration", [](const C& c) { return absl::StrCat(c.duration_s); }},
    {"stats-period", [](const C& c) { return absl::StrCat(c.stats_period_s); }},
    {"report", [](const C& c) { return c.report_path; }},
    {"memory", [](const C& c) { return Size(c.memory_bytes); }},
    {"run-dir", [](const C& c) { return c.run_directory; }},
    {"log-level", [](const C& c) { return std::string(SeverityName(c.log_level)); }},
    {"forward-mode", [](const C& c) { return c.forward_mode; }},
    {"port-topology", [](const C& c) { return Text(c.port_topology); }},
    {"portlist", [](const C& c) { return absl::StrJoin(c.portlist, ","); }},
    {"corelist", [](const C& c) { return absl::StrJoin(c.corelist, ","); }},
    {"nb-cores", [](const C& c) { return Number(c.nb_cores); }},
    {"rxq", [](const C& c) { return Text(c.rxq); }},
    {"txq", [](const C& c) { return Text(c.txq); }},
    {"rxd", [](const C& c) { return Text(c.rxd); }},
    {"txd", [](const C& c) { return Text(c.txd); }},
    {"burst", [](const C& c) { return absl::StrCat(c.burst); }},
    {"tx-retries", [](const C& c) { return absl::StrCat(c.tx_retries); }},
    {"completion", [](const C& c) { return Text(c.completion); }},
    {"completion-threshold", [](const C& c) { return absl::StrCat(c.completion_threshold); }},
    {"completion-age",
     [](const C& c) {
       return absl::StrCat(FormatDurationNs(c.completion_age_ns[0]), ",",
                           FormatDurationNs(c.completion_age_ns[1]));
     }},
    {"completion-lcore", [](const C& c) { return Text(c.completion_lcore); }},
    {"tx-budget", [](const C& c) { return TxBudget(c.tx_budget); }},
    {"rss-ip", [](const C& c) { return Switch(c.rss == Rss::kIp); }},
    {"rss-udp", [](const C& c) { return Switch(c.rss == Rss::kUdp); }},
    // The option counts the FCS.
    {"max-pkt-len",
     [](const C& c) {
       return Number(c.max_packet_bytes + (c.max_packet_bytes > 0 ? kFcsBytes : 0u));
     }},
    {"rx-offloads", [](const C& c) { return FormatOffloads(kRxOffloads, c.rx_offloads); }},
    {"tx-offloads", [](const C& c) { return FormatOffloads(kTxOffloads, c.tx_offloads); }},
    {"total-num-mbufs", [](const C& c) { return Number(c.total_num_mbufs); }},
    {"mbuf-size", [](const C& c) { return absl::StrCat(c.mbuf_size); }},
    {"mbcache", [](const C& c) { return absl::StrCat(c.mbcache); }},
    {"mempool", [](const C& c) { return Text(c.mempool); }},
    {"txpkts", [](const C& c) { return absl::StrJoin(c.txpkts, ","); }},
    {"tx-ip",
     [](const C& c) { return absl::StrCat(c.tx_ip[0].Format(), ",", c.tx_ip[1].Format()); }},
    {"tx-udp", [](const C& c) { return absl::StrJoin(c.tx_udp, ","); }},
    {"eth-peer", [](const C& c) { return Text(c.eth_peer); }},
    {"txonly-multi-flow", [](const C& c) { return Switch(c.txonly_multi_flow); }},
    {"flowgen-flows", [](const C& c) { return absl::StrCat(c.flowgen_flows); }},
};

}  // namespace

std::string OptionText(const Configuration& configuration, absl::string_view option) {
  const auto row = std::ranges::find(kRows, option, &Row::option);
  return row != std::end(kRows) ? row->text(configuration) : "";
}

}  // namespace penstock
