// SPDX-License-Identifier: BSD-3-Clause
//
// The difference of two reports: what is shown after a `clear`.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "lib/stats/report.h"

namespace penstock {
namespace {

using testing::HasSubstr;
using testing::Not;

// One port, one lcore; `n` packets in, a tenth of them dropped, the others out again.
Report After(uint64_t n, double seconds) {
  Report report;
  report.mode = "io";
  report.duration_s = seconds;
  report.ports = {{.port = 3,
                   .name = "net_null3",
                   .driver = "net_null",
                   .rx_packets = n,
                   .rx_bytes = 60 * n,
                   .tx_packets = n - n / 10,
                   .tx_bytes = 54 * n,
                   .rx_missed = n / 100,
                   .rx_errors = n / 20,
                   .tx_errors = 0,
                   .rx_nombuf = n / 50,
                   .xstats = {{"rx_q0_packets", n}},
                   .lcores_rx = n,
                   .lcores_tx = n - n / 10}};
  report.lcores = {{.lcore = 1,
                    .polls = 2 * n,
                    .empty_polls = n,
                    .rx_packets = n,
                    .tx_packets = n - n / 10,
                    .busy_cycles = 100 * n}};
  report.drops = {{"tx_full", n / 10}};
  report.sections["rx_only"] = {{"bytes", 60 * n}, {"by_size", {{"60", n}}}, {"unit", "packets"}};
  Balance(report);
  return report;
}

TEST(SinceTest, EveryCountIsTheDifference) {
  Report since = Since(After(1000, 2), After(3000, 6));
  Report expected = After(2000, 4);
  EXPECT_EQ(FormatJson(ToJson(since)), FormatJson(ToJson(expected)));
  EXPECT_EQ(FormatReport(since), FormatReport(expected));
  EXPECT_EQ(since.ports[0].lcores_rx, 2000u);
  EXPECT_EQ(since.ports[0].lcores_tx, 1800u);
}

TEST(SinceTest, NothingAndItself) {
  const Report now = After(3000, 6);
  EXPECT_EQ(FormatJson(ToJson(Since(Report(), now))), FormatJson(ToJson(now)));
  const Report none = Since(now, now);
  EXPECT_EQ(none.totals.rx_packets, 0u);
  EXPECT_EQ(none.totals.rx_pps, 0);
  EXPECT_EQ(none.drops.at("tx_full"), 0u);
  EXPECT_EQ(none.ports[0].xstats.at("rx_q0_packets"), 0u);
}

TEST(SinceTest, WhatIsWrongStaysWrong) {
  Report now = After(1000, 2);
  now.totals.unaccounted = 7;
  now.totals.held = 5;
  const Report since = Since(now, now);
  EXPECT_EQ(since.totals.unaccounted, 7u);
  EXPECT_EQ(since.totals.held, 5u);
}

TEST(SinceTest, ACounterThatItsOwnerSetToZero) {
  EXPECT_EQ(Since(After(3000, 6).ports[0], After(1000, 8).ports[0]).rx_packets, 1000u);
}

TEST(SinceTest, PortsAndLcoresAreComparedWithThemselves) {
  Report before = After(1000, 2);
  Report now = After(3000, 6);
  now.ports[0].port = 4;
  now.lcores[0].lcore = 2;
  const Report since = Since(before, now);
  EXPECT_EQ(since.ports[0].rx_packets, 3000u);
  EXPECT_EQ(since.lcores[0].rx_packets, 3000u);
}

TEST(SinceTest, CountsTakenWhileLcoresRanAreNoFault) {
  // The port was read a moment after the lcores.
  Report before = After(1000, 2);
  before.at_rest = false;
  before.ports[0].rx_packets = 900;
  EXPECT_THAT(FormatReport(Since(before, After(3000, 6))), Not(HasSubstr("the driver counts")));
}

}  // namespace
}  // namespace penstock
