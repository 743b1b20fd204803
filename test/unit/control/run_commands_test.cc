// SPDX-License-Identifier: BSD-3-Clause
//
// start, stop and help. Main lcore; workers forward.

#include "lib/control/run_commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "test/unit/control/dataplane.h"

namespace penstock {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

class RunCommandsTest : public DataplaneTest {
 protected:
  RunCommandsTest() : DataplaneTest(&AddRunCommands) {}
};

TEST_F(RunCommandsTest, StartAndStop) {
  EXPECT_EQ(Show("stop"), "not forwarding\n");
  EXPECT_FALSE(runtime_->forwarding());
  EXPECT_EQ(Show("start"), "forwarding: io\n");
  EXPECT_TRUE(runtime_->forwarding());
  EXPECT_TRUE(runtime_->configuration().forwarding);
  EXPECT_EQ(Show("start"), "already forwarding\n");
  EXPECT_TRUE(runtime_->forwarding());
  AwaitTraffic();
  const std::string report = Show("stop");
  EXPECT_FALSE(runtime_->forwarding());
  EXPECT_TRUE(absl::StartsWith(report, "io for ")) << report;
  EXPECT_THAT(report, HasSubstr("unaccounted 0\n"));
  EXPECT_EQ(report, FormatReport(runtime_->Snapshot()));
  EXPECT_EQ(Show("stop"), "not forwarding\n");
  EXPECT_EQ(Show("start"), "forwarding: io\n");
  EXPECT_TRUE(runtime_->forwarding());
}

TEST_F(RunCommandsTest, ShowFwdStats) {
  EXPECT_EQ(Show("show fwd stats"), FormatReport(runtime_->Snapshot()));
  ASSERT_TRUE(SetForwarding(true));
  AwaitTraffic();
  const std::string text = Show("show fwd stats all");
  EXPECT_TRUE(runtime_->forwarding()) << "looking stops nothing";
  EXPECT_TRUE(absl::StartsWith(text, "io for ")) << text;
  EXPECT_THAT(text, Not(HasSubstr("total: received 0 ")));
}

TEST_F(RunCommandsTest, ClearChangesWhatIsShownAndNoSum) {
  ASSERT_TRUE(SetForwarding(true));
  AwaitTraffic();
  Show("clear fwd stats");
  const std::string stopped = Show("stop");
  const Report at_rest = runtime_->Snapshot();
  EXPECT_EQ(stopped, Show("show fwd stats"));
  // Cleared while it ran: less than all of it, and no fault of it.
  EXPECT_NE(Show("show fwd stats"), FormatReport(at_rest));
  EXPECT_THAT(Show("show fwd stats"), EndsWith("unaccounted 0\n"));
  EXPECT_EQ(Show("clear fwd stats all"), "fwd stats shown from 0; the report keeps its sums\n");
  EXPECT_THAT(Show("show fwd stats"), HasSubstr("total: received 0 "));
  EXPECT_EQ(FormatReport(runtime_->Snapshot()), FormatReport(at_rest));
  EXPECT_GT(at_rest.totals.rx_packets, 0u);
}

TEST_F(RunCommandsTest, TxFirst) {
  struct {
    const char* line;
    uint32_t bursts;
  } const kRows[] = {{"start tx_first", 1}, {"start tx_first 32", 32}, {"start", 0}};
  for (const auto& row : kRows) {
    const uint64_t before = runtime_->Snapshot().totals.made;
    EXPECT_EQ(Show(row.line), "forwarding: io\n");
    const uint64_t wanted =
        row.bursts * runtime_->plan().tx_queues.size() * runtime_->configuration().burst;
    // A stop ends the first bursts as it ends everything else: not before they are made. Which of
    // the lcores is behind, the machine decides; a burst too few waits until the test's limit.
    while (runtime_->Snapshot().totals.made - before < wanted) {
    }
    Show("stop");
    EXPECT_EQ(runtime_->Snapshot().totals.made - before, wanted) << row.line;
  }
  for (const char* bursts : {"0", "-1", "x", "1000001", "\x1b"}) {
    const absl::Status status = Refusal(absl::StrCat("start tx_first ", bursts));
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(": accepted: 1 to 1000000"));
    EXPECT_FALSE(runtime_->forwarding());
  }
  Show("start");
  EXPECT_EQ(Fault("start tx_first"),
            "already forwarding; type stop, and then start tx_first again");
  EXPECT_EQ(runtime_->configuration().tx_first, 0u);
}

TEST_F(RunCommandsTest, StartAndStopChangeNothingElse) {
  configuration_.burst = 7;
  ASSERT_TRUE(Apply());
  Show("start");
  Show("stop");
  EXPECT_TRUE(runtime_->configuration() == configuration_);
}

TEST_F(RunCommandsTest, Help) {
  EXPECT_EQ(Show("help"), commands_.Help());
  EXPECT_EQ(Show("help all"), commands_.Help());
  EXPECT_THAT(Show("help start"), testing::StartsWith("  start [tx_first [<bursts>]] "));
  EXPECT_EQ(Show("help start tx_first"), Show("help start"));
  EXPECT_EQ(Fault("help nothing here"),
            "no command begins with \"nothing here\"; type help for all commands");
  const std::vector<Candidate> next = commands_.Complete(SplitLine("help"));
  std::string words;
  for (const Candidate& candidate : next) absl::StrAppend(&words, candidate.word, ",");
  EXPECT_EQ(words, "start,stop,help,show,clear,,");
}

}  // namespace
}  // namespace penstock
