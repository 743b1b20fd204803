// SPDX-License-Identifier: BSD-3-Clause
//
// Report: what happened to every packet, as plain data; the one result format of the program.
//
// The pipeline fills a Report from a snapshot; `Balance` computes the totals and how many packets
// the books cannot explain; `ToJson` writes the format of --report; `FormatReport` and
// `FormatRates` say it to a person. No function here has side effects. All counts are packets since
// the runtime began, bytes are frame bytes without FCS as the driver counts them.

#ifndef PENSTOCK_LIB_STATS_REPORT_H_
#define PENSTOCK_LIB_STATS_REPORT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/text/json.h"

namespace penstock {

inline constexpr int kReportSchema = 1;

struct PortReport {
  uint16_t port = 0;
  std::string name;
  std::string driver;
  uint64_t rx_packets = 0;
  uint64_t rx_bytes = 0;
  uint64_t tx_packets = 0;
  uint64_t tx_bytes = 0;
  uint64_t rx_missed = 0;  // Lost before reception: outside the sum.
  uint64_t rx_errors = 0;
  uint64_t tx_errors = 0;
  uint64_t rx_nombuf = 0;
  std::map<std::string, uint64_t> xstats;
  // False: the driver has no counts, or none that last. Balance() puts the lcores' in their place,
  // and what only the driver could know is absent from the report.
  bool counted = true;

  // What the lcores took from and gave to this port: the other side of its books.
  uint64_t lcores_rx = 0;
  uint64_t lcores_tx = 0;

  // Packets that the driver took and then counted as errors, no more than it is short of.
  uint64_t TakenAndFailed() const;
};

struct LcoreReport {
  uint32_t lcore = 0;
  uint64_t polls = 0;
  uint64_t empty_polls = 0;
  uint64_t rx_packets = 0;
  uint64_t tx_packets = 0;
  uint64_t made = 0;
  uint64_t held = 0;
  uint64_t busy_cycles = 0;  // TSC cycles of iterations that moved packets.
  bool fresh = true;         // False: the lcore did not answer, the counts are its last answer's.
};

struct TxQueueReport {
  uint16_t port = 0;
  uint16_t queue = 0;
  uint32_t users = 0;
  std::string sharing;
  std::string completion;  // "stage" or "inline"
  // Looks at completions that took place, those of them in vain, mbufs freed: by the driver's count
  // where it has one, else by the stage's. Absent where neither counts.
  std::optional<uint64_t> reaps = std::nullopt;
  std::optional<uint64_t> empty_reaps = std::nullopt;
  std::optional<uint64_t> reaped = std::nullopt;
  // Since when the oldest mbuf has been in the queue, and how many packets are, as of the last
  // look. The latter while lcores run.
  std::optional<uint64_t> oldest_pinned_us = std::nullopt;
  std::optional<uint64_t> in_flight = std::nullopt;
  // Of those in flight, what nothing takes back until more is sent.
  std::optional<uint64_t> pinned = std::nullopt;

  // Of a port whose sends have a budget: descriptors per send call, whether it follows what is
  // sent, and in a few words why it is what it is.
  std::optional<uint32_t> budget = std::nullopt;
  bool tuned = false;
  std::string budget_reason;
  // How many sends were for up to so many descriptors, and for more than the row before; rows of
  // none are left out. Empty where nobody counts them.
  struct SendSize {
    uint32_t up_to = 0;
    uint64_t sends = 0;
    bool operator==(const SendSize&) const = default;
  };
  std::vector<SendSize> send_sizes;
  // System calls, and those that the kernel answered with EAGAIN, where the driver counts them.
  std::optional<uint64_t> send_calls = std::nullopt;
  std::optional<uint64_t> eagains = std::nullopt;

  // Fills send_calls and eagains from the port's xstats "tx_q0_sends" and "tx_q0_send_eagain",
  // where it has them.
  void FillFrom(const std::map<std::string, uint64_t>& xstats);
};

struct MempoolReport {
  std::string name;
  std::string ops;
  uint64_t size = 0;
  // Known once the ports are closed; absent before.
  std::optional<uint64_t> in_use_at_exit;
  std::optional<uint64_t> held_by_driver;
};

struct Totals {
  uint64_t rx_packets = 0;
  uint64_t tx_packets = 0;
  uint64_t made = 0;
  uint64_t dropped = 0;
  uint64_t held = 0;
  double rx_pps = 0;
  double tx_pps = 0;
  uint64_t unaccounted = 0;
};

struct Report {
  std::string version;
  std::string dpdk;
  std::string kernel;
  std::string mode;
  double duration_s = 0;  // Time in which lcores were forwarding.
  // False while lcores forward: ports and lcores are then read one after the other, so their counts
  // differ by what moved in between, and only the lcores' own books can be compared.
  bool at_rest = true;
  Json plan;  // Null before there is one.
  std::vector<PortReport> ports;
  std::vector<LcoreReport> lcores;
  std::vector<TxQueueReport> tx_queues;
  std::vector<MempoolReport> mempools;
  std::map<std::string, uint64_t> drops;  // Every declared reason, zero included.
  Json sections = Json::object();         // One member per stage that has a section.
  Totals totals;
};

// Adds the drivers' output errors to the drops and computes the totals. `unaccounted` is
//   |(lcores rx + made) - (lcores tx + drops + held)|
//   + sum over ports |port rx - lcores' rx| + |port tx + failed - lcores' tx|,
// the second line only at rest. No term makes up for another. Call once on a filled report.
void Balance(Report& report);

// One line for each term of `unaccounted` that is not zero; empty when the books balance.
std::vector<std::string> Imbalances(const Report& report);

// What `now` has more than `before`, an earlier snapshot: what a person sees after a `clear`. Held
// packets and `unaccounted` are those of `now`: no difference may hide them.
Report Since(const Report& before, const Report& now);
PortReport Since(const PortReport& before, const PortReport& now);

Json ToJson(const Report& report);

// The report for a person, several lines, ends with a newline.
std::string FormatReport(const Report& report);

// Rates since `before`, one line per port and lcore and the drops that moved; `seconds` > 0 is the
// time between the two.
std::string FormatRates(const Report& before, const Report& now, double seconds);

}  // namespace penstock

#endif  // PENSTOCK_LIB_STATS_REPORT_H_
