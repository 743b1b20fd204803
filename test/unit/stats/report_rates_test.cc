// SPDX-License-Identifier: BSD-3-Clause
//
// What is shown each --stats-period: the rates since the report before.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "lib/stats/report.h"
#include "test/unit/stats/balanced_report.h"

namespace penstock {
namespace {

using testing::ElementsAre;

// The rates' widths are for the eye: compared without them.
std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    std::string words;
    for (absl::string_view word : absl::StrSplit(line, ' ', absl::SkipEmpty())) {
      if (!words.empty()) words += ' ';
      words += std::string(word);
    }
    lines.push_back(words);
  }
  return lines;
}

TEST(RatesTest, SinceTheReportBefore) {
  const Report before = After([](Report&) {});
  const Report now = After([](Report& r) {
    r.duration_s = 12;
    r.ports[0].rx_packets = r.ports[0].lcores_rx = r.lcores[0].rx_packets = 4'001'000;
    r.ports[1].tx_packets = r.ports[1].lcores_tx = 3'000'900;
    r.lcores[0].tx_packets = 3'000'980;
    r.drops["tx_full"] = 1'000'024;
  });
  EXPECT_THAT(Lines(FormatRates(before, now, 2)),
              ElementsAre("12.0 s received 2.000 Mpps sent 1.500 Mpps unaccounted 1",
                          "port 0 net_xsk0 rx 2.000 Mpps tx 0.000 Mpps",
                          "port 1 net_null1 rx 0.000 Mpps tx 1.500 Mpps",
                          "lcore 1 rx 2.000 Mpps tx 1.500 Mpps",  //
                          "lcore 2 rx 0.000 Mpps tx 0.000 Mpps",
                          "dropped tx_full 0.500 Mpps (1000024 in all)"));
}

TEST(RatesTest, PortsAndLcoresAreComparedWithThemselves) {
  Report before = After([](Report&) {});
  // Of now's, before knows port 1 and lcore 2 alone: what was the second is its first.
  before.ports.erase(before.ports.begin());
  before.lcores.erase(before.lcores.begin());
  const Report now = After([](Report& r) {
    r.ports[1].rx_packets += 1'000'000;
    r.lcores[1].rx_packets += 1'000'000;
  });
  const std::vector<std::string> lines = Lines(FormatRates(before, now, 1));
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines[1], "port 0 net_xsk0 rx 0.001 Mpps tx 0.001 Mpps");
  EXPECT_EQ(lines[2], "port 1 net_null1 rx 1.000 Mpps tx 0.000 Mpps");
  EXPECT_EQ(lines[3], "lcore 1 rx 0.001 Mpps tx 0.001 Mpps");
  EXPECT_EQ(lines[4], "lcore 2 rx 1.000 Mpps tx 0.000 Mpps");
}

TEST(RatesTest, ACounterThatRanBackwardsGivesNoRate) {
  const Report before = After([](Report&) {});
  const Report now = After([](Report& r) { r.ports[0].rx_packets = 0; });
  EXPECT_EQ(Lines(FormatRates(before, now, 1))[1], "port 0 net_xsk0 rx 0.000 Mpps tx 0.000 Mpps");
}

TEST(RatesTest, ADropReasonThatIsNew) {
  const Report before = After([](Report&) {});
  const Report now = After([](Report& r) { r.drops["ttl"] = 2'000'000; });
  EXPECT_EQ(Lines(FormatRates(before, now, 1)).back(), "dropped ttl 2.000 Mpps (2000000 in all)");
}

TEST(RatesTest, OneLineEach) {
  const Report now = After([](Report&) {});
  const std::string text = FormatRates(Report(), now, 1);
  EXPECT_EQ(Lines(text).size(), 1 + now.ports.size() + now.lcores.size() + 2);  // two reasons
  EXPECT_EQ(text.back(), '\n');
}

}  // namespace
}  // namespace penstock
