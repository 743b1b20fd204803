// SPDX-License-Identifier: BSD-3-Clause
//
// What is shown of ports, what clear does to it, and that the report stays. Main lcore; workers
// forward.

#include "lib/control/port_commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "test/unit/control/dataplane.h"

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

class PortCommandsTest : public DataplaneTest {
 protected:
  PortCommandsTest() : DataplaneTest(&AddPortCommands) {}

  // Some packets, and then rest.
  void Forward() {
    ASSERT_TRUE(SetForwarding(true));
    AwaitTraffic(runtime_->Snapshot().totals.rx_packets);
    ASSERT_TRUE(SetForwarding(false));
  }
  PortReport Counts(int port) { return runtime_->ports()[static_cast<size_t>(port)].Counts(); }
};

std::string StatsOf(const PortReport& counts) {
  const auto padded = [](uint64_t n, size_t width) {
    std::string text = absl::StrCat(n);
    text.resize(std::max(width, text.size()), ' ');
    return text;
  };
  return absl::StrCat(
      "  NIC statistics for port ", counts.port, " (net_null", counts.port, ")\n",
      "  RX-packets: ", padded(counts.rx_packets, 12), " RX-missed: ", padded(counts.rx_missed, 10),
      " RX-bytes: ", counts.rx_bytes, "\n", "  RX-errors:  ", padded(counts.rx_errors, 12),
      " RX-nombuf: ", counts.rx_nombuf, "\n", "  TX-packets: ", padded(counts.tx_packets, 12),
      " TX-errors: ", padded(counts.tx_errors, 10), " TX-bytes: ", counts.tx_bytes, "\n");
}

TEST_F(PortCommandsTest, ShowPortStats) {
  EXPECT_EQ(Show("show port stats 0"), StatsOf(Counts(0)));
  Forward();
  EXPECT_GT(Counts(0).rx_packets + Counts(1).rx_packets, 0u);
  // What moved since it was last shown, which for port 1 it never was.
  EXPECT_THAT(Show("show port stats 0"),
              MatchesRegex(absl::StrCat(
                  ".*TX-bytes: 0\n  in the [0-9.]+ s since the last show: RX [0-9]+ pps 0 bit/s, "
                  "TX [0-9]+ pps 0 bit/s\n")));
  EXPECT_EQ(Show("show port stats 1"), StatsOf(Counts(1)));
  const std::string all = Show("show port stats all");
  EXPECT_THAT(all, StartsWith(StatsOf(Counts(0))));
  EXPECT_THAT(all, HasSubstr(StatsOf(Counts(1)) + "  in the "));
  EXPECT_THAT(all, HasSubstr("RX 0 pps 0 bit/s, TX 0 pps 0 bit/s\n")) << "nothing moved";
}

TEST_F(PortCommandsTest, ClearChangesWhatIsShownAndNoSum) {
  Forward();
  const Report before = runtime_->Snapshot();
  EXPECT_EQ(Show("clear port stats 0"),
            "stats of port 0 shown from 0; the report keeps its sums\n");
  PortReport zero;
  zero.port = 0;
  EXPECT_THAT(Show("show port stats 0"), StartsWith(StatsOf(zero)));
  EXPECT_THAT(Show("show port stats 1"), StartsWith(StatsOf(Counts(1))));
  EXPECT_EQ(FormatReport(runtime_->Snapshot()), FormatReport(before));
  const PortReport cleared = Counts(0);
  Forward();
  EXPECT_THAT(Show("show port stats 0"), StartsWith(StatsOf(Since(cleared, Counts(0)))));
  // The others are shown apart.
  EXPECT_THAT(Show("show port xstats 0"),
              HasSubstr(absl::StrCat("\n  rx_good_packets: ", Counts(0).rx_packets, "\n")));
  Show("clear port xstats all");
  for (const char* port : {"0", "1"}) {
    EXPECT_THAT(Show(absl::StrCat("show port xstats ", port)), HasSubstr("rx_good_packets: 0\n"));
  }
}

TEST_F(PortCommandsTest, ShowPortInfo) {
  const std::string one = Show("show port info 1");
  const PortCapabilities& can = runtime_->ports()[1].capabilities();
  std::vector<std::string> lines = absl::StrSplit(one, '\n', absl::SkipEmpty());
  ASSERT_GE(lines.size(), 4u);
  EXPECT_EQ(lines[0],
            absl::StrCat("port 1: net_null1, driver net_null, no kernel interface, NUMA ", "node ",
                         can.numa_node < 0 ? "none" : absl::StrCat(can.numa_node), ", MAC ",
                         can.mac.Format()));
  EXPECT_EQ(lines[1], "  started, link up 10 Gbps, MTU 1500, promiscuous on");
  EXPECT_THAT(lines[2], HasSubstr(absl::StrCat("rx queues: at most ", can.rx.max_queues, ", of ")));
  EXPECT_THAT(lines[3], HasSubstr(absl::StrCat("tx queues: at most ", can.tx.max_queues, ", of ")));
  const auto table = CapabilityTable(can);
  ASSERT_EQ(lines.size(), 4 + table.size());
  for (size_t i = 0; i < table.size(); ++i) {
    const std::vector<std::string> words = absl::StrSplit(lines[4 + i], ' ', absl::SkipEmpty());
    EXPECT_THAT(words, ElementsAre(table[i].first, table[i].second ? "yes" : "no"));
  }
  EXPECT_EQ(Show("show port info all"), Show("show port info 0") + one);
}

TEST_F(PortCommandsTest, ShowPortSummary) {
  const std::vector<std::string> lines =
      absl::StrSplit(Show("show port summary all"), '\n', absl::SkipEmpty());
  ASSERT_EQ(lines.size(), 3u);
  for (int port : {0, 1}) {
    const std::vector<std::string> words =
        absl::StrSplit(lines[static_cast<size_t>(port) + 1], ' ', absl::SkipEmpty());
    EXPECT_THAT(
        words,
        ElementsAre(absl::StrCat(port),
                    runtime_->ports()[static_cast<size_t>(port)].capabilities().mac.Format(),
                    absl::StrCat("net_null", port), "net_null", "started", "up", "10", "Gbps"));
  }
}

TEST_F(PortCommandsTest, StartAndStopAreTheConfigurations) {
  EXPECT_EQ(Show("port stop 0"), "port 0 stopped\n");
  EXPECT_THAT(runtime_->configuration().stopped_ports, ElementsAre(0));
  EXPECT_EQ(Show("port stop 0"), "port 0 stopped, as it was\n");
  EXPECT_EQ(Show("port stop all"), "port 0, 1 stopped\n");
  EXPECT_THAT(runtime_->configuration().stopped_ports, ElementsAre(0, 1));
  EXPECT_EQ(Show("port start 1"), "port 1 started\n");
  EXPECT_THAT(runtime_->configuration().stopped_ports, ElementsAre(0));
  EXPECT_EQ(Show("port start all"), "port 0, 1 started\n");
  EXPECT_TRUE(runtime_->configuration().stopped_ports.empty());
}

TEST_F(PortCommandsTest, APortThatIsNotThere) {
  for (const std::string what :
       {"show port stats", "show port info", "show port xstats", "show port summary",
        "clear port stats", "clear port xstats", "port start", "port stop"}) {
    for (const std::string port : {"2", "00", "-1", "ALL", "net_null0"}) {
      const absl::Status status = Refusal(absl::StrCat(what, " ", port));
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
      EXPECT_EQ(std::string(status.message()),
                absl::StrCat("\"", port, "\" after \"", what,
                             "\": accepted: all, 0, 1; type help for all commands"));
    }
  }
}

}  // namespace
}  // namespace penstock
