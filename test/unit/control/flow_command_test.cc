// SPDX-License-Identifier: BSD-3-Clause
//
// The `flow` command on a dataplane over net_failsafe without a device, which takes every rule, and
// net_null, which takes none. Main lcore; workers forward.

#include "lib/control/flow_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rte_dev.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lib/base/log.h"
#include "lib/pipeline/mode.h"
#include "lib/pipeline/stages/io.h"

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr Mode kModes[] = {MakeMode<Io>("io", "forward", {.sends = Destination::kPeer})};

class Lines : public LogSink {
 public:
  Lines() : former_(SetLogSink(this)) {}
  ~Lines() override { SetLogSink(former_); }
  void Write(Severity, absl::string_view line) override { lines.emplace_back(line); }

  std::vector<std::string> lines;

 private:
  LogSink* const former_;
};

class FlowCommandTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(rte_eal_hotplug_add("vdev", "net_failsafe0", "exec(true)"), 0);
    ASSERT_EQ(rte_eal_hotplug_add("vdev", "net_null0", ""), 0);
    auto runtime = Runtime::Create({.modes = kModes, .run_directory = nullptr, .version = "test"});
    ASSERT_TRUE(runtime.ok()) << runtime.status();
    runtime_ = std::move(*runtime);
    takes_ = runtime_->ports()[0].capabilities().driver == "net_failsafe" ? 0 : 1;
    configuration_.forwarding = false;
    configuration_.total_num_mbufs = 8192;
    Apply();
    ASSERT_TRUE(AddFlowCommands(*runtime_, commands_).ok());
  }

  void TearDown() override {
    if (runtime_ != nullptr) {
      EXPECT_TRUE(runtime_->Close().ok());
    }
    runtime_.reset();
    rte_eal_hotplug_remove("vdev", "net_null0");
    rte_eal_hotplug_remove("vdev", "net_failsafe0");
  }

  void Apply() {
    const auto applied = runtime_->Apply(configuration_);
    ASSERT_TRUE(applied.ok()) << applied.status();
  }

  // "flow VERB" on the port that takes rules, and what stands behind it.
  std::string Show(absl::string_view verb, absl::string_view rest = "") {
    std::string output;
    const absl::Status status = Run(verb, takes_, rest, output);
    EXPECT_TRUE(status.ok()) << status;
    return output;
  }
  std::string Refusal(absl::string_view verb, uint16_t port, absl::string_view rest = "") {
    std::string output;
    const absl::Status status = Run(verb, port, rest, output);
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(output, "");
    return std::string(status.message());
  }
  absl::Status Run(absl::string_view verb, uint16_t port, absl::string_view rest,
                   std::string& output) {
    return commands_.Run(absl::StrCat("flow ", verb, " ", port, " ", rest), output);
  }

  std::vector<std::string> Next(absl::string_view line) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    std::vector<std::string> next;
    for (const Candidate& candidate : commands_.Complete(words)) next.push_back(candidate.word);
    return next;
  }

  static constexpr const char* kRule =
      "ingress pattern eth / ipv4 / end actions drop / count / end";

  Configuration configuration_;
  std::unique_ptr<Runtime> runtime_;
  CommandSet commands_;
  uint16_t takes_ = 0;
};

TEST_F(FlowCommandTest, FromValidateToDestroy) {
  EXPECT_EQ(Show("list"), "");
  EXPECT_EQ(Show("validate", kRule), "Flow rule validated\n");
  EXPECT_EQ(Show("list"), "");
  EXPECT_EQ(Show("create", kRule), "Flow rule #0 created\n");
  EXPECT_EQ(Show("create", "group 3 pattern eth / end actions queue index 0 / end"),
            "Flow rule #1 created\n");
  EXPECT_EQ(Show("list"),
            "ID\tGroup\tPrio\tAttr\tRule\n"
            "0\t0\t0\ti--\tETH IPV4 => DROP COUNT\n"
            "1\t3\t0\t---\tETH => QUEUE\n");
  EXPECT_EQ(Show("list", "group 3"), "ID\tGroup\tPrio\tAttr\tRule\n1\t3\t0\t---\tETH => QUEUE\n");
  EXPECT_EQ(Show("destroy", "rule 0 rule 1"), "Flow rule #0 destroyed\nFlow rule #1 destroyed\n");
  EXPECT_EQ(Show("list"), "");
  EXPECT_EQ(Show("create", kRule), "Flow rule #0 created\n");
  EXPECT_EQ(Show("flush"), "");
  EXPECT_EQ(Show("list"), "");
}

TEST_F(FlowCommandTest, WhatIsRefused) {
  const uint16_t none = 1 - takes_;
  EXPECT_EQ(Refusal("create", none, kRule),
            absl::StrCat("port ", none, " (net_null0): net_null offers no flow rules"));
  EXPECT_THAT(Refusal("destroy", takes_, "rule 4"), HasSubstr("no flow rule 4 on port "));
  EXPECT_THAT(
      Refusal("create", takes_, "pattern eth / end actions security security_session 2 / end"),
      HasSubstr("no security session 2 on port "));
  EXPECT_THAT(Refusal("create", 9, kRule),
              HasSubstr("\"9\" after \"flow create\": accepted: 0, 1"));
}

TEST_F(FlowCommandTest, WhatWasDestroyedBeforeAnErrorIsShown) {
  Show("create", kRule);
  std::string output;
  EXPECT_FALSE(Run("destroy", takes_, "rule 0 rule 5", output).ok());
  EXPECT_EQ(output, "Flow rule #0 destroyed\n");
}

TEST_F(FlowCommandTest, ACountThatTheDriverDoesNotGive) {
  Show("create", kRule);
  EXPECT_THAT(Refusal("query", takes_, "0 count"), HasSubstr("refuses the query of flow rule 0"));
}

TEST_F(FlowCommandTest, Completion) {
  EXPECT_THAT(Next("flow"), ElementsAre("validate", "create", "list", "query", "destroy", "flush"));
  EXPECT_THAT(Next("flow list"), ElementsAre("0", "1"));
  Show("create", kRule);
  Show("create", kRule);
  EXPECT_THAT(Next(absl::StrCat("flow query ", takes_)), ElementsAre("0", "1"));
}

TEST_F(FlowCommandTest, RulesOutliveForwardingButNotANewSetUp) {
  Show("create", kRule);
  const std::string list = Show("list");
  for (const bool forwarding : {true, false, true}) {
    configuration_.forwarding = forwarding;
    Apply();
    EXPECT_EQ(Show("list"), list);
  }
  configuration_.rxd.all = 512;
  Lines log;
  Apply();
  EXPECT_EQ(Show("list"), "");
  EXPECT_THAT(log.lines, testing::Contains(HasSubstr(absl::StrCat(
                             "flow rule 0 is destroyed because the port stops; to have it again: "
                             "flow create ",
                             takes_, " ", kRule))));
  EXPECT_EQ(Show("create", kRule), "Flow rule #0 created\n");
}

TEST_F(FlowCommandTest, TheEndSaysHowManyWentWithIt) {
  Show("create", kRule);
  Lines log;
  ASSERT_TRUE(runtime_->Close().ok());
  EXPECT_THAT(log.lines, ElementsAre(HasSubstr("closes; flow rules destroyed: 1")));
  runtime_.reset();
}

TEST_F(FlowCommandTest, OnlyOnce) {
  EXPECT_EQ(AddFlowCommands(*runtime_, commands_).code(), absl::StatusCode::kAlreadyExists);
}

}  // namespace
}  // namespace penstock
