// SPDX-License-Identifier: BSD-3-Clause
//
// The tables of extended statistics; see the header. Control thread.

#include "drivers/net/xsk/xstats.h"

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

struct TxField {
  const char* name;
  uint64_t TxTotals::*value;
  bool resets = true;
};

constexpr TxField kTxFields[] = {
    {"stalled_sends", &TxTotals::stalled},
    {"dropped_by_kernel", &TxTotals::dropped},
    {"invalid", &TxTotals::invalid},
    {"too_long", &TxTotals::too_long},
    {"in_flight_twice", &TxTotals::in_flight_twice},
    {"unsent_at_stop", &TxTotals::unsent},
    {"copies", &TxTotals::copies},
    {"copy_no_mbuf", &TxTotals::no_chunk},
    {"reaps", &TxTotals::reaps},
    {"empty_reaps", &TxTotals::empty_reaps},
    {"reaped", &TxTotals::reaped},
    {"bad_completion", &TxTotals::bad_completions},
    {"oldest_pinned_us", &TxTotals::oldest_pinned_us, false},
    {"budget", &TxTotals::budget, false},
};

// In the order of SendResult.
constexpr const char* kSendNames[kSendResults] = {"ok",    "eagain",  "ebusy",  "enetdown",
                                                  "enxio", "enobufs", "einval", "other"};
// In the order of the buckets.
constexpr const char* kSizeNames[kSendSizes] = {
    "0", "1", "2_3", "4_7", "8_15", "16_31", "32_63", "64_127", "128_255", "256_511", "512_up"};

struct KernelField {
  const char* name;
  uint64_t XdpStatistics::*value;
};

constexpr KernelField kRxKernelFields[] = {
    {"xdp_rx_dropped", &XdpStatistics::rx_dropped},
    {"xdp_rx_invalid_descs", &XdpStatistics::rx_invalid_descs},
    {"xdp_rx_ring_full", &XdpStatistics::rx_ring_full},
    {"xdp_rx_fill_ring_empty_descs", &XdpStatistics::rx_fill_ring_empty_descs},
};
constexpr KernelField kTxKernelFields[] = {
    {"xdp_tx_invalid_descs", &XdpStatistics::tx_invalid_descs},
    {"xdp_tx_ring_empty_descs", &XdpStatistics::tx_ring_empty_descs},
};

}  // namespace

void AppendRxXstats(uint16_t queue, const RxCounters& counters, const XdpStatistics& kernel,
                    std::vector<Xstat>& out) {
  const std::string prefix = absl::StrCat("rx_q", queue, "_");
  out.push_back({prefix + "fill_no_mbuf", counters.no_mbuf.value()});
  out.push_back({prefix + "bad_address", counters.bad_address.value()});
  out.push_back({prefix + "too_long", counters.too_long.value()});
  for (const KernelField& field : kRxKernelFields) {
    out.push_back({prefix + field.name, kernel.*field.value});
  }
}

void AppendTxXstats(uint16_t queue, const TxTotals& totals, bool shared,
                    const XdpStatistics& kernel, std::vector<Xstat>& out) {
  const std::string prefix = absl::StrCat("tx_q", queue, "_");
  uint64_t calls = 0;
  for (uint64_t count : totals.sends) calls += count;
  out.push_back({prefix + "sends", calls});
  for (size_t i = 0; i < kSendResults; ++i) {
    out.push_back({absl::StrCat(prefix, "send_", kSendNames[i]), totals.sends[i]});
  }
  for (size_t i = 0; i < kSendSizes; ++i) {
    out.push_back({absl::StrCat(prefix, "send_packets_", kSizeNames[i]), totals.send_sizes[i]});
  }
  for (const TxField& field : kTxFields) {
    out.push_back({prefix + field.name, totals.*field.value, field.resets});
  }
  if (shared) out.push_back({prefix + "lock_waits", totals.lock_waits});
  for (const KernelField& field : kTxKernelFields) {
    out.push_back({prefix + field.name, kernel.*field.value});
  }
}

}  // namespace penstock
