// SPDX-License-Identifier: BSD-3-Clause
//
// Settings that change, at rest and while lcores forward. Main lcore; workers forward.

#include "lib/control/set_commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "lib/config/option_text.h"
#include "lib/config/options.h"
#include "test/unit/control/dataplane.h"

namespace penstock {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

class SetCommandsTest : public DataplaneTest {
 protected:
  SetCommandsTest() : DataplaneTest(&AddSetCommands) {}
};

constexpr struct {
  const char* line;
  const char* option;
  const char* value;
} kSettings[] = {
    {"set fwd macswap", "forward-mode", "macswap"},
    {"set burst 16", "burst", "16"},
    {"set tx-retries 3", "tx-retries", "3"},
    {"set txpkts 64,128", "txpkts", "64,128"},
    {"set tx-ip 192.0.2.1,192.0.2.2", "tx-ip", "192.0.2.1,192.0.2.2"},
    {"set tx-udp 7,8", "tx-udp", "7,8"},
    {"set port-topology loop", "port-topology", "loop"},
    {"set eth-peer 1 02:00:00:00:00:05", "eth-peer", "1,02:00:00:00:00:05"},
    {"set eth-peer 1 02:00:00:00:00:06", "eth-peer", "1,02:00:00:00:00:06"},
    {"set duration 9", "duration", "9"},
    {"set log-level error", "log-level", "error"},
    {"set rxq 2", "rxq", "2"},
    {"set portlist 1,0", "portlist", "1,0"},
    {"set corelist 2,1", "corelist", "2,1"},
    {"set nbcore 1", "nb-cores", "1"},
    {"set nb-cores 2", "nb-cores", "2"},
    {"set txonly-multi-flow on", "txonly-multi-flow", "on"},
    {"set rxd 512", "rxd", "512"},
    {"set tx-budget auto", "tx-budget", "auto"},
    {"set tx-budget 0:auto", "tx-budget", "0:auto"},
};

TEST_F(SetCommandsTest, AtRest) {
  for (const auto& row : kSettings) {
    EXPECT_EQ(Show(row.line), absl::StrCat(row.option, " ", row.value, "\n"));
    EXPECT_EQ(OptionText(runtime_->configuration(), row.option), row.value) << row.line;
    EXPECT_EQ(Show(row.line), absl::StrCat(row.option, " ", row.value, ", as it was\n"));
    EXPECT_FALSE(runtime_->forwarding());
  }
}

TEST_F(SetCommandsTest, WhileLcoresForwardItSaysWhatPauseItCost) {
  ASSERT_TRUE(SetForwarding(true));
  for (const auto& row : kSettings) {
    AwaitTraffic(runtime_->Snapshot().totals.rx_packets);
    const std::string answer = Show(row.line);
    const ChangeKind kind = ChangeOf(row.option);
    EXPECT_THAT(answer, MatchesRegex(absl::StrCat(
                            row.option, " ", row.value,
                            kind == ChangeKind::kSettings
                                ? "\n"
                                : "; forwarding paused for [0-9]+\\.[0-9][0-9] ms\n")));
    EXPECT_EQ(OptionText(runtime_->configuration(), row.option), row.value) << row.line;
    EXPECT_TRUE(runtime_->forwarding()) << row.line;
  }
}

TEST_F(SetCommandsTest, AWrongValueIsAnsweredAsOnTheCommandLineAndChangesNothing) {
  ASSERT_TRUE(SetForwarding(true));
  const Configuration before = runtime_->configuration();
  struct {
    const char* line;
    const char* option;
    const char* value;
  } const kRows[] = {
      {"set burst 0", "burst", "0"},           {"set burst many", "burst", "many"},
      {"set txpkts 64,", "txpkts", "64,"},     {"set eth-peer 0 02:00", "eth-peer", "0,02:00"},
      {"set rxq 0:1,0:2", "rxq", "0:1,0:2"},   {"set tx-ip 1.2.3.4", "tx-ip", "1.2.3.4"},
      {"set tx-budget 31", "tx-budget", "31"}, {"set tx-udp 1,70000", "tx-udp", "1,70000"},
  };
  for (const auto& row : kRows) {
    Configuration scratch;
    EXPECT_EQ(Refusal(row.line), SetOption(scratch, row.option, row.value)) << row.line;
    EXPECT_TRUE(runtime_->configuration() == before) << row.line;
    EXPECT_TRUE(runtime_->forwarding());
  }
  // What goes together wrongly, and what the ports cannot do.
  EXPECT_THAT(Fault("set txpkts 20"), HasSubstr("accepted: 42 to"));
  EXPECT_EQ(Fault("set fwd mac"),
            "\"mac\" after \"set fwd\": accepted: io, macswap; type help for all commands");
  EXPECT_THAT(Fault("set tx-budget 64"), HasSubstr("port 0 (net_null0) has no budget"));
  const std::vector<std::string> words = {"set", "tx-budget"};
  const std::vector<Candidate> next = commands_.Complete(words);
  ASSERT_EQ(next.size(), 3u);
  EXPECT_EQ(next[0].word, "auto");
  EXPECT_EQ(next[1].word, "default");
  EXPECT_EQ(next[2].word, "<tx-budget>");
  EXPECT_EQ(Fault("set eth-peer 2 02:00:00:00:00:01"),
            "\"2\" after \"set eth-peer\": accepted: 0, 1; type help for all commands");
  EXPECT_TRUE(runtime_->configuration() == before);
  EXPECT_TRUE(runtime_->forwarding());
}

TEST_F(SetCommandsTest, DefaultTakesBackWhatWasSet) {
  Show("set tx-budget 0:auto");
  EXPECT_EQ(Show("set tx-budget default"), "tx-budget default\n");
  EXPECT_EQ(OptionText(runtime_->configuration(), "tx-budget"), "");
  EXPECT_EQ(Show("set completion-lcore default"), "completion-lcore default, as it was\n");
}

// What is fixed when the process starts is not on offer, and nothing else is missing.
TEST_F(SetCommandsTest, EveryOptionThatCanChangeIsThere) {
  for (const Option& option : Options()) {
    const ChangeKind kind = ChangeOf(FieldOf(option));
    const std::string line = absl::StrCat("set ", option.name);
    const bool there = !commands_.Help(SplitLine(line)).empty();
    const bool own = option.name == "forward-mode" || option.name == "stats-period" ||
                     option.name == "report" || option.name == "tx-first" ||
                     (option.argument.empty() && !option.sets.empty());
    if (kind == ChangeKind::kProcess || own) {
      EXPECT_FALSE(there) << line;
    } else if (kind != ChangeKind::kNone) {
      EXPECT_TRUE(there) << line;
    }
  }
}

}  // namespace
}  // namespace penstock
