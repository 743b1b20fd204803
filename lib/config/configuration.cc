// SPDX-License-Identifier: BSD-3-Clause
#include "lib/config/configuration.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "lib/base/status.h"
#include "lib/config/offloads.h"
#include "lib/text/quantity.h"

namespace penstock {
namespace {

absl::Status Refuse(absl::string_view option, const std::string& value,
                    absl::string_view accepted) {
  return absl::InvalidArgumentError(
      absl::StrCat("--", option, "=", value, ": accepted: ", accepted));
}

absl::Status CheckRange(absl::string_view option, uint64_t value, uint64_t min, uint64_t max) {
  if (value >= min && value <= max) return absl::OkStatus();
  return Refuse(option, absl::StrCat(value), absl::StrCat(min, " to ", max));
}

absl::Status CheckSeconds(absl::string_view option, double seconds) {
  // Written so that NaN is refused as well.
  if (seconds >= 0 && seconds <= kMaxSeconds) return absl::OkStatus();
  return Refuse(option, absl::StrCat(seconds), absl::StrCat("0 to ", kMaxSeconds, " seconds"));
}

absl::Status CheckPort(absl::string_view option, uint16_t port) {
  if (port < kMaxPorts) return absl::OkStatus();
  return Refuse(option, absl::StrCat("port ", port), absl::StrCat("ports 0 to ", kMaxPorts - 1));
}

absl::Status CheckList(absl::string_view option, const std::vector<uint16_t>& list,
                       uint16_t numbers) {
  for (size_t i = 0; i < list.size(); ++i) {
    PENSTOCK_RETURN_IF_ERROR(CheckRange(option, list[i], 0, numbers - 1u));
    if (std::find(list.begin(), list.begin() + static_cast<ptrdiff_t>(i), list[i]) !=
        list.begin() + static_cast<ptrdiff_t>(i)) {
      return Refuse(option, absl::StrCat(list[i], " twice"), "each number once");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckOffloads(absl::string_view option, uint64_t bits,
                           std::span<const Offload> table) {
  if ((bits & ~OffloadBits(table)) == 0) return absl::OkStatus();
  return Refuse(option, absl::StrCat("0x", absl::Hex(bits)),
                absl::StrCat("bits of ", FormatOffloads(table, OffloadBits(table))));
}

absl::Status CheckPerPort(absl::string_view option, const PerPort& values, uint16_t min,
                          uint16_t max) {
  if (values.all) PENSTOCK_RETURN_IF_ERROR(CheckRange(option, *values.all, min, max));
  for (const auto& [port, value] : values.of_port) {
    PENSTOCK_RETURN_IF_ERROR(CheckPort(option, port));
    if (value < min || value > max) {
      return Refuse(option, absl::StrCat(port, ":", value), absl::StrCat(min, " to ", max));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckCompletion(const Configuration& c) {
  PENSTOCK_RETURN_IF_ERROR(
      CheckRange("completion-threshold", c.completion_threshold, 1, kMaxDescriptors));
  const auto [busy, idle] = c.completion_age_ns;
  if (busy < kMinCompletionAgeNs || idle > kMaxCompletionAgeNs || busy > idle) {
    return Refuse("completion-age",
                  absl::StrCat(FormatDurationNs(busy), ",", FormatDurationNs(idle)),
                  "1us to 10s, the first no longer than the second");
  }
  if (!c.completion_lcore.empty() && c.completion == Completion::kInline) {
    return absl::InvalidArgumentError(
        "--completion-lcore: accepted: without --completion=inline, which leaves it to the lcores "
        "that send");
  }
  for (const auto& [queue, lcore] : c.completion_lcore) {
    PENSTOCK_RETURN_IF_ERROR(CheckPort("completion-lcore", queue.first));
    PENSTOCK_RETURN_IF_ERROR(CheckRange("completion-lcore", queue.second, 0, kMaxQueues - 1u));
    PENSTOCK_RETURN_IF_ERROR(CheckRange("completion-lcore", lcore, 0, kMaxLcores - 1u));
  }
  return absl::OkStatus();
}

absl::Status CheckTxBudget(const PerPort& values) {
  PerPort numbers = values;
  if (numbers.all == kTxBudgetAuto) numbers.all = std::nullopt;
  std::erase_if(numbers.of_port, [](const auto& each) {
    return each.first < kMaxPorts && each.second == kTxBudgetAuto;
  });
  return CheckPerPort("tx-budget", numbers, kLeastTxBudget, kMaxDescriptors);
}

// One row per field: the option's name, what a change of it needs, and how to tell.
struct Field {
  absl::string_view option;
  ChangeKind kind;
  bool (*same)(const Configuration&, const Configuration&);
};

#define PENSTOCK_FIELD(option, kind, member)                                                \
  Field {                                                                                   \
    option, ChangeKind::kind,                                                               \
        [](const Configuration& a, const Configuration& b) { return a.member == b.member; } \
  }

constexpr Field kFields[] = {
    PENSTOCK_FIELD("start/stop", kPipeline, forwarding),
    PENSTOCK_FIELD("interactive", kProcess, interactive),
    PENSTOCK_FIELD("cmdline-file", kProcess, cmdline_file),
    PENSTOCK_FIELD("auto-start", kProcess, auto_start),
    PENSTOCK_FIELD("tx-first", kSettings, tx_first),
    PENSTOCK_FIELD("duration", kSettings, duration_s),
    PENSTOCK_FIELD("stats-period", kSettings, stats_period_s),
    PENSTOCK_FIELD("report", kSettings, report_path),
    PENSTOCK_FIELD("memory", kProcess, memory_bytes),
    PENSTOCK_FIELD("run-dir", kProcess, run_directory),
    PENSTOCK_FIELD("log-level", kSettings, log_level),
    PENSTOCK_FIELD("forward-mode", kPipeline, forward_mode),
    PENSTOCK_FIELD("port-topology", kPipeline, port_topology),
    PENSTOCK_FIELD("portlist", kPipeline, portlist),
    PENSTOCK_FIELD("corelist", kPipeline, corelist),
    PENSTOCK_FIELD("nb-cores", kPipeline, nb_cores),
    PENSTOCK_FIELD("port start/stop", kPorts, stopped_ports),
    PENSTOCK_FIELD("rxq", kPorts, rxq),
    PENSTOCK_FIELD("txq", kPorts, txq),
    PENSTOCK_FIELD("rxd", kPorts, rxd),
    PENSTOCK_FIELD("txd", kPorts, txd),
    PENSTOCK_FIELD("burst", kPipeline, burst),
    PENSTOCK_FIELD("tx-retries", kPipeline, tx_retries),
    PENSTOCK_FIELD("completion", kPorts, completion),
    PENSTOCK_FIELD("completion-threshold", kPipeline, completion_threshold),
    PENSTOCK_FIELD("completion-age", kPipeline, completion_age_ns),
    PENSTOCK_FIELD("completion-lcore", kPorts, completion_lcore),
    PENSTOCK_FIELD("tx-budget", kSettings, tx_budget),
    PENSTOCK_FIELD("rss", kPorts, rss),
    PENSTOCK_FIELD("max-pkt-len", kPorts, max_packet_bytes),
    PENSTOCK_FIELD("rx-offloads", kPorts, rx_offloads),
    PENSTOCK_FIELD("tx-offloads", kPorts, tx_offloads),
    PENSTOCK_FIELD("total-num-mbufs", kProcess, total_num_mbufs),
    PENSTOCK_FIELD("mbuf-size", kProcess, mbuf_size),
    PENSTOCK_FIELD("mbcache", kProcess, mbcache),
    PENSTOCK_FIELD("mempool", kProcess, mempool),
    PENSTOCK_FIELD("txpkts", kPipeline, txpkts),
    PENSTOCK_FIELD("tx-ip", kPipeline, tx_ip),
    PENSTOCK_FIELD("tx-udp", kPipeline, tx_udp),
    PENSTOCK_FIELD("eth-peer", kPipeline, eth_peer),
    PENSTOCK_FIELD("txonly-multi-flow", kPipeline, txonly_multi_flow),
    PENSTOCK_FIELD("flowgen-flows", kPipeline, flowgen_flows),
};

#undef PENSTOCK_FIELD

}  // namespace

std::optional<uint16_t> PerPort::For(uint16_t port) const {
  const auto it = of_port.find(port);
  return it != of_port.end() ? std::optional<uint16_t>(it->second) : all;
}

MacAddress Configuration::EthPeer(uint16_t port) const {
  const auto it = eth_peer.find(port);
  if (it != eth_peer.end()) return it->second;
  return MacAddress{{0x02, 0, 0, 0, 0, static_cast<uint8_t>(port)}};
}

absl::Status Validate(const Configuration& c) {
  PENSTOCK_RETURN_IF_ERROR(CheckSeconds("duration", c.duration_s));
  PENSTOCK_RETURN_IF_ERROR(CheckSeconds("stats-period", c.stats_period_s));
  if (c.memory_bytes != 0 &&
      (c.memory_bytes < kMinMemoryBytes || c.memory_bytes > kMaxMemoryBytes)) {
    return Refuse("memory", absl::StrCat(c.memory_bytes), "64M to 1T");
  }
  if (c.run_directory.empty()) return Refuse("run-dir", "", "a folder");
  if (c.forward_mode.empty()) return Refuse("forward-mode", "", "a mode");
  PENSTOCK_RETURN_IF_ERROR(CheckList("portlist", c.portlist, kMaxPorts));
  PENSTOCK_RETURN_IF_ERROR(CheckList("corelist", c.corelist, kMaxLcores));
  if (c.nb_cores != 0) {
    PENSTOCK_RETURN_IF_ERROR(CheckRange("nb-cores", c.nb_cores, 1, kMaxLcores));
  }
  for (uint16_t port : c.stopped_ports) PENSTOCK_RETURN_IF_ERROR(CheckPort("port stop", port));
  PENSTOCK_RETURN_IF_ERROR(CheckRange("burst", c.burst, 1, kMaxBurst));
  PENSTOCK_RETURN_IF_ERROR(CheckRange("tx-retries", c.tx_retries, 0, kMaxTxRetries));
  PENSTOCK_RETURN_IF_ERROR(CheckCompletion(c));
  PENSTOCK_RETURN_IF_ERROR(CheckPerPort("rxq", c.rxq, 1, kMaxQueues));
  PENSTOCK_RETURN_IF_ERROR(CheckPerPort("txq", c.txq, 1, kMaxQueues));
  PENSTOCK_RETURN_IF_ERROR(CheckPerPort("rxd", c.rxd, 1, kMaxDescriptors));
  PENSTOCK_RETURN_IF_ERROR(CheckPerPort("txd", c.txd, 1, kMaxDescriptors));
  PENSTOCK_RETURN_IF_ERROR(CheckTxBudget(c.tx_budget));
  if (c.max_packet_bytes != 0) {
    PENSTOCK_RETURN_IF_ERROR(CheckRange("max-pkt-len", c.max_packet_bytes + uint64_t{kFcsBytes},
                                        kMinMaxPacketBytes + kFcsBytes,
                                        kMaxPacketBytes + kFcsBytes));
  }
  PENSTOCK_RETURN_IF_ERROR(CheckOffloads("rx-offloads", c.rx_offloads, kRxOffloads));
  PENSTOCK_RETURN_IF_ERROR(CheckOffloads("tx-offloads", c.tx_offloads, kTxOffloads));
  PENSTOCK_RETURN_IF_ERROR(CheckRange("mbcache", c.mbcache, 0, kMaxMbufCache));
  PENSTOCK_RETURN_IF_ERROR(CheckRange("mbuf-size", c.mbuf_size, kMinMbufBytes, 65535));
  if (c.total_num_mbufs != 0) {
    PENSTOCK_RETURN_IF_ERROR(
        CheckRange("total-num-mbufs", c.total_num_mbufs, kMinMbufs, kMaxMbufs));
  }
  if (c.txpkts.empty() || c.txpkts.size() > kMaxSegments) {
    return Refuse("txpkts", absl::StrCat(c.txpkts.size(), " segments"),
                  absl::StrCat("1 to ", kMaxSegments, " segments"));
  }
  for (uint16_t length : c.txpkts) {
    // A segment is one mbuf.
    PENSTOCK_RETURN_IF_ERROR(CheckRange("txpkts", length, 1, c.mbuf_size - kHeadroomBytes));
  }
  const uint64_t total = std::accumulate(c.txpkts.begin(), c.txpkts.end(), uint64_t{0});
  PENSTOCK_RETURN_IF_ERROR(CheckRange("txpkts", total, kMinTxPacketBytes, kMaxPacketBytes));
  if (c.interactive && c.stats_period_s > 0) {
    return absl::InvalidArgumentError(
        "--stats-period: accepted: without -i; at the prompt, type show fwd stats");
  }
  for (uint16_t port : c.tx_udp) PENSTOCK_RETURN_IF_ERROR(CheckRange("tx-udp", port, 1, 65535));
  for (const auto& [port, mac] : c.eth_peer) {
    PENSTOCK_RETURN_IF_ERROR(CheckPort("eth-peer", port));
  }
  PENSTOCK_RETURN_IF_ERROR(CheckRange("flowgen-flows", c.flowgen_flows, 1, kMaxFlows));
  return absl::OkStatus();
}

ChangeKind ChangeOf(absl::string_view option) {
  const auto field = std::ranges::find(kFields, option, &Field::option);
  return field != std::end(kFields) ? field->kind : ChangeKind::kNone;
}

Change Difference(const Configuration& from, const Configuration& to) {
  Change change;
  for (const Field& field : kFields) {
    if (field.same(from, to)) continue;
    change.options.emplace_back(field.option);
    change.kind = std::max(change.kind, field.kind);
  }
  return change;
}

}  // namespace penstock
