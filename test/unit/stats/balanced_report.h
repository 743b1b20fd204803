// SPDX-License-Identifier: BSD-3-Clause
//
// A report whose books balance, for tests to change.

#ifndef PENSTOCK_TEST_UNIT_STATS_BALANCED_REPORT_H_
#define PENSTOCK_TEST_UNIT_STATS_BALANCED_REPORT_H_

#include <functional>

#include "lib/stats/report.h"

namespace penstock {

// Two ports, two lcores. 1000 packets in by port 0 and 500 by port 1; 40 made; 1500 out in all, 30
// dropped, 10 held.
inline Report Balanced() {
  Report report;
  report.version = "0.1.0";
  report.dpdk = "DPDK 22.11.11";
  report.kernel = "6.1.0";
  report.mode = "macswap";
  report.duration_s = 10;
  report.plan = {{"notes", Json::array()}};
  report.ports.resize(2);
  report.ports[0] = {.port = 0,
                     .name = "net_xsk0",
                     .driver = "net_xsk",
                     .rx_packets = 1000,
                     .rx_bytes = 64000,
                     .tx_packets = 600,
                     .tx_bytes = 38400,
                     .rx_missed = 7,
                     .rx_errors = 2,
                     .tx_errors = 0,
                     .rx_nombuf = 3,
                     .xstats = {{"rx_q0_packets", 1000}, {"a_last", 1}},
                     .lcores_rx = 1000,
                     .lcores_tx = 600};
  report.ports[1] = {.port = 1,
                     .name = "net_null1",
                     .driver = "net_null",
                     .rx_packets = 500,
                     .rx_bytes = 32000,
                     .tx_packets = 900,
                     .tx_bytes = 57600,
                     .xstats = {},
                     .lcores_rx = 500,
                     .lcores_tx = 900};
  report.lcores.resize(2);
  report.lcores[0] = {.lcore = 1,
                      .polls = 100,
                      .empty_polls = 60,
                      .rx_packets = 1000,
                      .tx_packets = 980,
                      .made = 0,
                      .held = 10,
                      .busy_cycles = 50000};
  report.lcores[1] = {.lcore = 2,
                      .polls = 50,
                      .empty_polls = 20,
                      .rx_packets = 500,
                      .tx_packets = 520,
                      .made = 40,
                      .held = 0,
                      .busy_cycles = 10400};
  report.tx_queues.resize(2);
  report.tx_queues[0].users = 1;
  report.tx_queues[0].sharing = "exclusive";
  report.tx_queues[0].completion = "inline";
  report.tx_queues[1].port = 1;
  report.tx_queues[1].users = 2;
  report.tx_queues[1].sharing = "spinlock";
  report.tx_queues[1].completion = "stage";
  report.mempools = {{.name = "penstock_0",
                      .ops = "ring_mp_mc",
                      .size = 8191,
                      .in_use_at_exit = {},
                      .held_by_driver = {}}};
  report.drops = {{"tx_full", 25}, {"tx_segments", 0}, {"no_route", 5}};
  return report;
}

inline Report After(const std::function<void(Report&)>& change) {
  Report report = Balanced();
  change(report);
  Balance(report);
  return report;
}

}  // namespace penstock

#endif  // PENSTOCK_TEST_UNIT_STATS_BALANCED_REPORT_H_
