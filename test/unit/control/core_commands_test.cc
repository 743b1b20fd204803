// SPDX-License-Identifier: BSD-3-Clause
//
// The commands of every dataplane, on a real one over net_null. Main lcore; workers forward.

#include "lib/control/core_commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/pipeline/stages/io.h"
#include "test/unit/control/dataplane.h"

namespace penstock {
namespace {

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

class CoreCommandsTest : public DataplaneTest {
 protected:
  CoreCommandsTest() : DataplaneTest(&AddCoreCommands, kModes) {}
};

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

TEST_F(CoreCommandsTest, EverySubjectIsThere) {
  EXPECT_EQ(Show("help"), commands_.Help());
  for (const CommandSet::Entry& entry : commands_.entries()) {
    EXPECT_FALSE(entry.command.help.empty()) << entry.command.syntax;
  }
  for (const char* some : {"start", "stop", "show plan", "show fwd stats", "show port info 0",
                           "clear port stats all", "set burst 8", "show config fwd", "help set"}) {
    Show(some);
  }
  for (const char* last : {"sink limit", "show sink"}) {
    EXPECT_THAT(commands_.Help(SplitLine(last)), HasSubstr(last));
  }
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
