// SPDX-License-Identifier: BSD-3-Clause
#include "lib/stats/report.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/stats/drop_reason.h"

namespace penstock {
namespace {

uint64_t Distance(uint64_t a, uint64_t b) { return a > b ? a - b : b - a; }

double PerSecond(uint64_t count, double seconds) {
  return seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

// A counter never runs backwards; a port whose driver resets it gives no rate for that interval.
double Rate(uint64_t before, uint64_t now, double seconds) {
  return now >= before ? PerSecond(now - before, seconds) : 0;
}

std::string Mpps(double pps) { return absl::StrFormat("%9.3f Mpps", pps / 1e6); }

std::optional<double> CyclesPerPacket(const LcoreReport& lcore) {
  const uint64_t packets = std::max(lcore.rx_packets, lcore.tx_packets);
  if (packets == 0) return std::nullopt;
  return static_cast<double>(lcore.busy_cycles) / static_cast<double>(packets);
}

uint64_t SumOfDrops(const Report& report) {
  uint64_t sum = 0;
  for (const auto& [name, count] : report.drops) sum += count;
  return sum;
}

// The row of that number; where there is none, one that has counted nothing.
template <typename Row, typename Number>
Row EarlierRow(const std::vector<Row>& rows, Number Row::*number, Number wanted) {
  const auto it = std::ranges::find(rows, wanted, number);
  return it != rows.end() ? *it : Row{};
}

// Both sides of the lcores' own books.
struct Books {
  uint64_t in = 0;
  uint64_t out = 0;
};

Books LcoreBooks(const Totals& totals) {
  return {totals.rx_packets + totals.made, totals.tx_packets + totals.dropped + totals.held};
}

// A counter that ran backwards was set to zero by its owner, and shows what it counted since.
uint64_t Counted(uint64_t before, uint64_t now) { return now >= before ? now - before : now; }

// Numbers of a section are counters, whatever it is made of.
Json CountedSection(const Json& before, const Json& now) {
  if (now.is_number_unsigned()) {
    const uint64_t earlier = before.is_number_unsigned() ? before.get<uint64_t>() : 0;
    return Counted(earlier, now.get<uint64_t>());
  }
  if (!now.is_object()) return now;
  Json section = Json::object();
  for (const auto& [name, value] : now.items()) {
    section[name] = CountedSection(before.is_object() ? before.value(name, Json()) : Json(), value);
  }
  return section;
}

void Subtract(const std::map<std::string, uint64_t>& before, std::map<std::string, uint64_t>& now) {
  for (auto& [name, count] : now) {
    const auto earlier = before.find(name);
    if (earlier != before.end()) count = Counted(earlier->second, count);
  }
}

}  // namespace

uint64_t PortReport::TakenAndFailed() const {
  return lcores_tx > tx_packets ? std::min(tx_errors, lcores_tx - tx_packets) : 0;
}

void TxQueueReport::FillFrom(const std::map<std::string, uint64_t>& xstats) {
  const auto value = [&](absl::string_view name) -> std::optional<uint64_t> {
    const auto found = xstats.find(absl::StrCat("tx_q", queue, "_", name));
    return found != xstats.end() ? std::optional(found->second) : std::nullopt;
  };
  send_calls = value("sends");
  eagains = value("send_eagain");
}

void Balance(Report& report) {
  Totals totals;
  for (const LcoreReport& lcore : report.lcores) {
    totals.rx_packets += lcore.rx_packets;
    totals.tx_packets += lcore.tx_packets;
    totals.made += lcore.made;
    totals.held += lcore.held;
  }
  uint64_t failed = 0;
  uint64_t port_distance = 0;
  for (PortReport& port : report.ports) {
    if (!port.counted) {
      port.rx_packets = port.lcores_rx;
      port.tx_packets = port.lcores_tx;
    }
    if (!report.at_rest) continue;
    const uint64_t port_failed = port.TakenAndFailed();
    failed += port_failed;
    port_distance += Distance(port.rx_packets, port.lcores_rx);
    port_distance += Distance(port.tx_packets + port_failed, port.lcores_tx);
  }
  totals.tx_packets -= std::min(failed, totals.tx_packets);
  report.drops[std::string(kTxError.name)] += failed;
  totals.dropped = SumOfDrops(report);
  totals.rx_pps = PerSecond(totals.rx_packets, report.duration_s);
  totals.tx_pps = PerSecond(totals.tx_packets, report.duration_s);
  const Books books = LcoreBooks(totals);
  totals.unaccounted = Distance(books.in, books.out) + port_distance;
  report.totals = totals;
}

std::vector<std::string> Imbalances(const Report& report) {
  std::vector<std::string> lines;
  const Books books = LcoreBooks(report.totals);
  if (books.in != books.out) {
    lines.push_back(absl::StrFormat(
        "lcores took %d packets (received + made) and account for %d (sent + dropped + held)",
        books.in, books.out));
  }
  for (const PortReport& port : report.ports) {
    if (!report.at_rest) break;
    if (port.rx_packets != port.lcores_rx) {
      lines.push_back(absl::StrFormat("port %d (%s): the driver counts %d received, the lcores %d",
                                      port.port, port.name, port.rx_packets, port.lcores_rx));
    }
    const uint64_t taken = port.tx_packets + port.TakenAndFailed();
    if (taken != port.lcores_tx) {
      lines.push_back(
          absl::StrFormat("port %d (%s): the driver counts %d sent or failed, the lcores %d",
                          port.port, port.name, taken, port.lcores_tx));
    }
  }
  return lines;
}

PortReport Since(const PortReport& before, const PortReport& now) {
  PortReport since = now;
  for (const auto member : {&PortReport::rx_packets, &PortReport::rx_bytes, &PortReport::tx_packets,
                            &PortReport::tx_bytes, &PortReport::rx_missed, &PortReport::rx_errors,
                            &PortReport::tx_errors, &PortReport::rx_nombuf, &PortReport::lcores_rx,
                            &PortReport::lcores_tx}) {
    since.*member = Counted(before.*member, now.*member);
  }
  Subtract(before.xstats, since.xstats);
  return since;
}

Report Since(const Report& before, const Report& now) {
  Report since = now;
  since.duration_s = std::max(0.0, now.duration_s - before.duration_s);
  for (PortReport& port : since.ports) {
    port = Since(EarlierRow(before.ports, &PortReport::port, port.port), port);
  }
  for (LcoreReport& lcore : since.lcores) {
    const LcoreReport earlier = EarlierRow(before.lcores, &LcoreReport::lcore, lcore.lcore);
    for (const auto member :
         {&LcoreReport::polls, &LcoreReport::empty_polls, &LcoreReport::rx_packets,
          &LcoreReport::tx_packets, &LcoreReport::made, &LcoreReport::busy_cycles}) {
      lcore.*member = Counted(earlier.*member, lcore.*member);
    }
  }
  Subtract(before.drops, since.drops);
  since.sections = CountedSection(before.sections, now.sections);
  Totals& totals = since.totals;
  for (const auto member :
       {&Totals::rx_packets, &Totals::tx_packets, &Totals::made, &Totals::dropped}) {
    totals.*member = Counted(before.totals.*member, totals.*member);
  }
  totals.rx_pps = PerSecond(totals.rx_packets, since.duration_s);
  totals.tx_pps = PerSecond(totals.tx_packets, since.duration_s);
  return since;
}

Json ToJson(const Report& report) {
  Json json = {
      {"schema", kReportSchema},
      {"penstock", {{"version", report.version}, {"dpdk", report.dpdk}, {"kernel", report.kernel}}},
      {"mode", report.mode},
      {"duration_s", report.duration_s},
  };
  if (!report.plan.is_null()) json["plan"] = report.plan;
  json["ports"] = Json::array();
  for (const PortReport& port : report.ports) {
    Json xstats = Json::object();
    for (const auto& [name, value] : port.xstats) xstats[name] = value;
    Json row = {{"port", port.port}, {"name", port.name}, {"driver", port.driver}};
    if (port.counted) {
      row["rx_packets"] = port.rx_packets;
      row["rx_bytes"] = port.rx_bytes;
      row["tx_packets"] = port.tx_packets;
      row["tx_bytes"] = port.tx_bytes;
      row["rx_missed"] = port.rx_missed;
      row["rx_errors"] = port.rx_errors;
      row["tx_errors"] = port.tx_errors;
      row["rx_nombuf"] = port.rx_nombuf;
    }
    row["xstats"] = std::move(xstats);
    json["ports"].push_back(std::move(row));
  }
  json["lcores"] = Json::array();
  for (const LcoreReport& lcore : report.lcores) {
    Json row = {{"lcore", lcore.lcore},
                {"polls", lcore.polls},
                {"empty_polls", lcore.empty_polls},
                {"rx_packets", lcore.rx_packets},
                {"tx_packets", lcore.tx_packets}};
    if (auto cycles = CyclesPerPacket(lcore)) row["cycles_per_packet"] = *cycles;
    if (!lcore.fresh) row["stale"] = true;
    json["lcores"].push_back(row);
  }
  json["tx_queues"] = Json::array();
  for (const TxQueueReport& queue : report.tx_queues) {
    Json row = {{"port", queue.port},
                {"queue", queue.queue},
                {"users", queue.users},
                {"sharing", queue.sharing},
                {"completion", queue.completion}};
    if (queue.budget) row["budget"] = *queue.budget;
    if (queue.reaps) row["reaps"] = *queue.reaps;
    if (queue.empty_reaps) row["empty_reaps"] = *queue.empty_reaps;
    if (queue.reaped) row["reaped"] = *queue.reaped;
    if (queue.oldest_pinned_us) row["oldest_pinned_us"] = *queue.oldest_pinned_us;
    if (queue.in_flight) row["in_flight"] = *queue.in_flight;
    if (queue.pinned) row["pinned"] = *queue.pinned;
    json["tx_queues"].push_back(std::move(row));
  }
  json["mempools"] = Json::array();
  for (const MempoolReport& pool : report.mempools) {
    Json row = {{"name", pool.name}, {"ops", pool.ops}, {"size", pool.size}};
    if (pool.in_use_at_exit) row["in_use_at_exit"] = *pool.in_use_at_exit;
    if (pool.held_by_driver) row["held_by_driver"] = *pool.held_by_driver;
    json["mempools"].push_back(row);
  }
  json["drops"] = Json::object();
  for (const auto& [name, count] : report.drops) json["drops"][name] = count;
  for (const auto& [name, section] : report.sections.items()) json[name] = section;
  const Totals& totals = report.totals;
  json["totals"] = {{"rx_packets", totals.rx_packets},
                    {"tx_packets", totals.tx_packets},
                    {"made", totals.made},
                    {"dropped", totals.dropped},
                    {"rx_pps", totals.rx_pps},
                    {"tx_pps", totals.tx_pps},
                    {"unaccounted", totals.unaccounted}};
  // Only a snapshot of a running pipeline, or of one that could not be drained, holds packets.
  if (totals.held > 0) json["totals"]["held"] = totals.held;
  return json;
}

std::string FormatReport(const Report& report) {
  std::string text = absl::StrFormat("%s for %.1f s\n", report.mode, report.duration_s);
  for (const PortReport& port : report.ports) {
    if (!port.counted) {
      absl::StrAppendFormat(&text,
                            "  port %d %s (%s): received %d packets, sent %d, as lcores count\n",
                            port.port, port.name, port.driver, port.rx_packets, port.tx_packets);
      continue;
    }
    absl::StrAppendFormat(&text,
                          "  port %d %s (%s): received %d packets %d bytes, sent %d packets %d "
                          "bytes, missed %d, errors rx %d tx %d\n",
                          port.port, port.name, port.driver, port.rx_packets, port.rx_bytes,
                          port.tx_packets, port.tx_bytes, port.rx_missed, port.rx_errors,
                          port.tx_errors);
  }
  for (const LcoreReport& lcore : report.lcores) {
    absl::StrAppendFormat(&text, "  lcore %d: received %d, made %d, sent %d, polls %d (%d empty)",
                          lcore.lcore, lcore.rx_packets, lcore.made, lcore.tx_packets, lcore.polls,
                          lcore.empty_polls);
    if (auto cycles = CyclesPerPacket(lcore)) {
      absl::StrAppendFormat(&text, ", %.0f cycles per packet", *cycles);
    }
    absl::StrAppend(&text, lcore.fresh ? "\n" : " (did not answer: last known counts)\n");
  }
  for (const MempoolReport& pool : report.mempools) {
    absl::StrAppendFormat(&text, "  mempool %s (%s): %d mbufs", pool.name, pool.ops, pool.size);
    if (pool.in_use_at_exit) {
      absl::StrAppendFormat(&text, ", %d in use at exit", *pool.in_use_at_exit);
    }
    if (pool.held_by_driver.value_or(0) > 0) {
      absl::StrAppendFormat(&text, ", %d kept in the driver's rings", *pool.held_by_driver);
    }
    text += '\n';
  }
  text += "  drops:";
  bool any = false;
  for (const auto& [name, count] : report.drops) {
    if (count == 0) continue;
    absl::StrAppend(&text, " ", name, " ", count);
    any = true;
  }
  absl::StrAppend(&text, any ? "\n" : " none\n");
  const Totals& totals = report.totals;
  absl::StrAppendFormat(
      &text, "  total: received %d (%.3f Mpps), made %d, sent %d (%.3f Mpps), dropped %d",
      totals.rx_packets, totals.rx_pps / 1e6, totals.made, totals.tx_packets, totals.tx_pps / 1e6,
      totals.dropped);
  if (totals.held > 0) absl::StrAppendFormat(&text, ", held %d", totals.held);
  absl::StrAppendFormat(&text, ", unaccounted %d\n", totals.unaccounted);
  // Not asked of a difference whose `unaccounted` is 0: snapshots of running lcores and ports were
  // not taken at one moment.
  if (totals.unaccounted == 0) return text;
  for (const std::string& line : Imbalances(report)) absl::StrAppend(&text, "    ", line, "\n");
  return text;
}

std::string FormatRates(const Report& before, const Report& now, double seconds) {
  std::string text = absl::StrFormat(
      "%8.1f s  received %s   sent %s   unaccounted %d\n", now.duration_s,
      Mpps(Rate(before.totals.rx_packets, now.totals.rx_packets, seconds)),
      Mpps(Rate(before.totals.tx_packets, now.totals.tx_packets, seconds)), now.totals.unaccounted);
  const auto row = [&](std::string who, uint64_t rx0, uint64_t rx1, uint64_t tx0, uint64_t tx1) {
    absl::StrAppendFormat(&text, "  %-28s  rx %s   tx %s\n", who, Mpps(Rate(rx0, rx1, seconds)),
                          Mpps(Rate(tx0, tx1, seconds)));
  };
  // By number, not by place: another plan may have brought an lcore in between.
  for (const PortReport& n : now.ports) {
    const PortReport b = EarlierRow(before.ports, &PortReport::port, n.port);
    row(absl::StrCat("port ", n.port, " ", n.name), b.rx_packets, n.rx_packets, b.tx_packets,
        n.tx_packets);
  }
  for (const LcoreReport& n : now.lcores) {
    const LcoreReport b = EarlierRow(before.lcores, &LcoreReport::lcore, n.lcore);
    row(absl::StrCat("lcore ", n.lcore), b.rx_packets, n.rx_packets, b.tx_packets, n.tx_packets);
  }
  for (const auto& [name, count] : now.drops) {
    const auto earlier = before.drops.find(name);
    const uint64_t last = earlier == before.drops.end() ? 0 : earlier->second;
    if (count > last) {
      absl::StrAppendFormat(&text, "  dropped %-20s     %s (%d in all)\n", name,
                            Mpps(Rate(last, count, seconds)), count);
    }
  }
  return text;
}

}  // namespace penstock
