// SPDX-License-Identifier: BSD-3-Clause
//
// The commands of every dataplane, on a real one over net_null. Main lcore; workers forward.

#include "lib/control/core_commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rte_dev.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "lib/pipeline/mode.h"
#include "lib/pipeline/stages/io.h"

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Drops everything, and brings commands.
class Sink : public StageBase {
 public:
  static constexpr absl::string_view kName = "sink";
  enum Reason : unsigned { kSunk };
  static constexpr DropReason kDrops[] = {{"sunk", "as the stage is meant to"}};

  static absl::Status Limit(std::span<Sink* const> stages, std::span<const std::string> arguments,
                            std::string& output) {
    absl::StrAppend(&output, stages.size(), " sinks, limit ", absl::StrJoin(arguments, ","), "\n");
    return arguments[0] == "0" ? absl::InvalidArgumentError("limit 0: accepted: 1 or more")
                               : absl::OkStatus();
  }
  static absl::Status Show(std::span<Sink* const> stages, std::span<const std::string>,
                           std::string& output) {
    absl::StrAppend(&output, stages.size(), " sinks\n");
    return absl::OkStatus();
  }
  static constexpr StageCommand<Sink> kCommands[] = {
      {"sink limit <packets>", "how many it takes", &Limit}, {"show sink", "what it has", &Show}};

  static absl::StatusOr<Sink> Create(const StageContext&) { return Sink(); }
  void Process(Burst burst, auto& out) noexcept { out.Drop(kSunk, burst.mbufs); }
};

// Its command is one of the core's.
class Usurper : public StageBase {
 public:
  static constexpr absl::string_view kName = "usurper";
  enum Reason : unsigned { kSunk };
  static constexpr DropReason kDrops[] = {{"sunk", "as the stage is meant to"}};
  static absl::Status Stop(std::span<Usurper* const>, std::span<const std::string>, std::string&) {
    return absl::OkStatus();
  }
  static constexpr StageCommand<Usurper> kCommands[] = {{"stop", "something else", &Stop}};

  static absl::StatusOr<Usurper> Create(const StageContext&) { return Usurper(); }
  void Process(Burst burst, auto& out) noexcept { out.Drop(kSunk, burst.mbufs); }
};

constexpr Mode kModes[] = {
    MakeMode<Io>("io", "forward", {.sends = Destination::kPeer}),
    MakeMode<Sink>("sink", "drop", {.sends = Destination::kNone}),
    MakeMode<Sink>("sink2", "drop, under another name", {.sends = Destination::kNone}),
};

constexpr Mode kModesOfUsurper[] = {
    MakeMode<Usurper>("usurper", "drop", {.sends = Destination::kNone})};

class CoreCommandsTest : public testing::Test {
 protected:
  static constexpr const char* kPorts[] = {"net_null0", "net_null1"};

  void SetUp() override {
    for (const char* port : kPorts) ASSERT_EQ(rte_eal_hotplug_add("vdev", port, ""), 0);
    auto runtime = Runtime::Create({.modes = kModes, .run_directory = nullptr, .version = "test"});
    ASSERT_TRUE(runtime.ok()) << runtime.status();
    runtime_ = std::move(*runtime);
    configuration_.forwarding = false;
    configuration_.total_num_mbufs = 8192;
    ASSERT_TRUE(Apply());
    const absl::Status added = AddCoreCommands(*runtime_, commands_);
    ASSERT_TRUE(added.ok()) << added;
  }

  void TearDown() override {
    if (runtime_ != nullptr) {
      const auto report = runtime_->Close();
      EXPECT_TRUE(report.ok()) << report.status();
      if (report.ok()) {
        EXPECT_EQ(report->totals.unaccounted, 0u);
      }
      runtime_.reset();
    }
    for (const char* port : kPorts) rte_eal_hotplug_remove("vdev", port);
  }

  bool Apply() {
    const auto applied = runtime_->Apply(configuration_);
    EXPECT_TRUE(applied.ok()) << applied.status();
    return applied.ok();
  }

  // What a command shows; a failure of the test when it fails.
  std::string Show(const std::string& line) {
    std::string output;
    const absl::Status status = commands_.Run(line, output);
    EXPECT_TRUE(status.ok()) << line << ": " << status;
    return output;
  }
  absl::Status Refusal(const std::string& line) {
    std::string output;
    const absl::Status status = commands_.Run(line, output);
    EXPECT_FALSE(status.ok()) << line << ": " << output;
    return status;
  }

  // Until lcores have moved packets.
  void AwaitTraffic() {
    while (runtime_->Snapshot().totals.rx_packets == 0) {
    }
  }

  Configuration configuration_;
  std::unique_ptr<Runtime> runtime_;
  CommandSet commands_;
};

TEST_F(CoreCommandsTest, StartAndStop) {
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

TEST_F(CoreCommandsTest, StartAndStopChangeNothingElse) {
  configuration_.burst = 7;
  ASSERT_TRUE(Apply());
  Show("start");
  Show("stop");
  EXPECT_TRUE(runtime_->configuration() == configuration_);
}

TEST_F(CoreCommandsTest, ShowPlan) {
  EXPECT_EQ(Show("show plan"), FormatPlan(runtime_->plan()));
  configuration_.rxq.all = 2;
  // net_null has a single queue: refused, and the plan is the one before.
  if (!runtime_->Apply(configuration_).ok()) configuration_.rxq.all.reset();
  EXPECT_EQ(Show("show plan"), FormatPlan(runtime_->plan()));
}

TEST_F(CoreCommandsTest, ShowFwdStats) {
  EXPECT_EQ(Show("show fwd stats"), FormatReport(runtime_->Snapshot()));
  Show("start");
  AwaitTraffic();
  const std::string text = Show("show fwd stats");
  EXPECT_TRUE(runtime_->forwarding()) << "looking stops nothing";
  EXPECT_TRUE(absl::StartsWith(text, "io for ")) << text;
  EXPECT_THAT(text, testing::Not(HasSubstr("total: received 0 ")));
}

TEST_F(CoreCommandsTest, ShowPortStats) {
  const auto expected = [](int port, const PortReport& counts) {
    const auto padded = [](uint64_t n, size_t width) {
      std::string text = absl::StrCat(n);
      text.resize(std::max(width, text.size()), ' ');
      return text;
    };
    return absl::StrCat(
        "  NIC statistics for port ", port, " (net_null", port, ")\n",
        "  RX-packets: ", padded(counts.rx_packets, 12),
        " RX-missed: ", padded(counts.rx_missed, 10), " RX-bytes: ", counts.rx_bytes, "\n",
        "  RX-errors:  ", padded(counts.rx_errors, 12), " RX-nombuf: ", counts.rx_nombuf, "\n",
        "  TX-packets: ", padded(counts.tx_packets, 12),
        " TX-errors: ", padded(counts.tx_errors, 10), " TX-bytes: ", counts.tx_bytes, "\n");
  };
  EXPECT_EQ(Show("show port stats 0"), expected(0, PortReport()));
  Show("start");
  AwaitTraffic();
  Show("stop");
  const Report report = runtime_->Snapshot();
  ASSERT_EQ(report.ports.size(), 2u);
  EXPECT_GT(report.ports[0].rx_packets + report.ports[1].rx_packets, 0u);
  EXPECT_EQ(Show("show port stats 0"), expected(0, report.ports[0]));
  EXPECT_EQ(Show("show port stats 1"), expected(1, report.ports[1]));
  EXPECT_EQ(Show("show port stats all"),
            expected(0, report.ports[0]) + expected(1, report.ports[1]));
}

TEST_F(CoreCommandsTest, ShowPortInfo) {
  const std::string one = Show("show port info 1");
  const PortCapabilities& can = runtime_->ports()[1].capabilities();
  std::vector<std::string> lines = absl::StrSplit(one, '\n', absl::SkipEmpty());
  ASSERT_GE(lines.size(), 3u);
  EXPECT_EQ(lines[0],
            absl::StrCat("port 1: net_null1, driver net_null, no kernel interface, NUMA ", "node ",
                         can.numa_node < 0 ? "none" : absl::StrCat(can.numa_node), ", MAC ",
                         can.mac.Format()));
  EXPECT_THAT(lines[1], HasSubstr(absl::StrCat("rx queues: at most ", can.rx.max_queues, ", of ")));
  EXPECT_THAT(lines[2], HasSubstr(absl::StrCat("tx queues: at most ", can.tx.max_queues, ", of ")));
  const auto table = CapabilityTable(can);
  ASSERT_EQ(lines.size(), 3 + table.size());
  for (size_t i = 0; i < table.size(); ++i) {
    const std::vector<std::string> words = absl::StrSplit(lines[3 + i], ' ', absl::SkipEmpty());
    EXPECT_THAT(words, ElementsAre(table[i].first, table[i].second ? "yes" : "no"));
  }
  EXPECT_EQ(Show("show port info all"), Show("show port info 0") + one);
}

TEST_F(CoreCommandsTest, APortThatIsNotThere) {
  for (const std::string what : {"stats", "info"}) {
    for (const std::string port : {"2", "00", "-1", "ALL", "net_null0"}) {
      const absl::Status status = Refusal(absl::StrCat("show port ", what, " ", port));
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
      EXPECT_EQ(std::string(status.message()),
                absl::StrCat("\"", port, "\" after \"show port ", what,
                             "\": accepted: all, 0, 1; type help for all commands"));
    }
  }
}

TEST_F(CoreCommandsTest, ACommandOfAStageBelongsToItsModes) {
  const absl::Status elsewhere = Refusal("sink limit 9");
  EXPECT_EQ(elsewhere.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(std::string(elsewhere.message()),
            "\"sink limit <packets>\" belongs to mode sink; the present mode is io");
  for (const char* mode : {"sink", "sink2"}) {
    configuration_.forward_mode = mode;
    ASSERT_TRUE(Apply());
    // One stage for each lcore that works: net_null's two queues on two lcores.
    EXPECT_EQ(Show("sink limit 9"), "2 sinks, limit 9\n") << mode;
    EXPECT_EQ(Show("show sink"), "2 sinks\n") << mode;
    EXPECT_EQ(std::string(Refusal("sink limit 0").message()), "limit 0: accepted: 1 or more");
  }
  Show("start");
  EXPECT_EQ(Show("show sink"), "2 sinks\n") << "while lcores run";
  Show("stop");
  configuration_.forward_mode = "io";
  ASSERT_TRUE(Apply());
  EXPECT_EQ(Refusal("show sink").code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(CoreCommandsTest, HelpListsThemAll) {
  EXPECT_EQ(Show("help"), commands_.Help());
  std::vector<std::string> syntaxes;
  for (const CommandSet::Entry& entry : commands_.entries()) {
    syntaxes.push_back(entry.command.syntax);
    EXPECT_FALSE(entry.command.help.empty());
  }
  EXPECT_THAT(syntaxes, ElementsAre("start", "stop", "show plan", "show fwd stats",
                                    "show port stats (all|0|1)", "show port info (all|0|1)", "help",
                                    "sink limit <packets>", "show sink"));
}

TEST_F(CoreCommandsTest, ACommandThatIsThereAlready) {
  EXPECT_EQ(AddCoreCommands(*runtime_, commands_).code(), absl::StatusCode::kAlreadyExists);
  // The ports belong to the fixture's; its modes are all that is asked of this one.
  Show("stop");
  ASSERT_TRUE(runtime_->Close().ok());
  auto other =
      Runtime::Create({.modes = kModesOfUsurper, .run_directory = nullptr, .version = "test"});
  ASSERT_TRUE(other.ok()) << other.status();
  CommandSet commands;
  EXPECT_EQ(AddCoreCommands(**other, commands), absl::AlreadyExistsError("command \"stop\""));
}

}  // namespace
}  // namespace penstock
