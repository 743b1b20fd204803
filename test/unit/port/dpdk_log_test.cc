// SPDX-License-Identifier: BSD-3-Clause
//
// DPDK's lines: logged as they come, or kept until it is known what they were worth. Main lcore.

#include "lib/port/dpdk_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rte_log.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "lib/base/log.h"

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Takes the process's log for as long as it lives.
class Lines : public LogSink {
 public:
  Lines() : before_(SetLogSink(this)), level_(LogLevel()) { SetLogLevel(Severity::kDebug); }
  ~Lines() override {
    SetLogSink(before_);
    SetLogLevel(level_);
  }
  void Write(Severity severity, absl::string_view line) override {
    lines.push_back(absl::StrCat(SeverityName(severity), ": ", line));
  }
  std::vector<std::string> lines;

 private:
  LogSink* const before_;
  const Severity level_;
};

class DpdkLogTest : public testing::Test {
 protected:
  void SetUp() override {
    rte_log_set_global_level(RTE_LOG_NOTICE);
    rte_log_set_level(RTE_LOGTYPE_EAL, RTE_LOG_NOTICE);
    ASSERT_TRUE(RedirectDpdkLog().ok());
    ASSERT_TRUE(RedirectDpdkLog().ok());
  }
  static void Say(uint32_t level, const char* text) { rte_log(level, RTE_LOGTYPE_EAL, "%s", text); }

  Lines log_;
};

TEST_F(DpdkLogTest, ALineIsLoggedOnceItIsWhole) {
  Say(RTE_LOG_ERR, "half ");
  EXPECT_THAT(log_.lines, IsEmpty());
  Say(RTE_LOG_ERR, "a line\n");
  Say(RTE_LOG_WARNING, "two\nlines\n");
  Say(RTE_LOG_NOTICE, "chatter\n\n");
  EXPECT_THAT(log_.lines, ElementsAre("error: half a line", "warning: two", "warning: lines",
                                      "debug: chatter"));
}

TEST_F(DpdkLogTest, KeptLinesAreLoggedWhenNothingFailed) {
  {
    DpdkLogCapture said;
    Say(RTE_LOG_ERR, "kept\n");
    EXPECT_THAT(log_.lines, IsEmpty());
    EXPECT_THAT(said.Causes(), ElementsAre("kept"));
  }
  EXPECT_THAT(log_.lines, ElementsAre("error: kept"));
}

TEST_F(DpdkLogTest, OfAFailureTheErrorsAreReturnedAndAllIsDebug) {
  {
    DpdkLogCapture said;
    Say(RTE_LOG_WARNING, "odd\n");
    Say(RTE_LOG_ERR, "cause\n");
    EXPECT_THAT(said.Failed(), ElementsAre("cause"));
    EXPECT_THAT(said.Failed(), IsEmpty());
    Say(RTE_LOG_ERR, "later\n");
  }
  EXPECT_THAT(log_.lines, ElementsAre("debug: odd", "debug: cause", "error: later"));
}

// What net_tap says on a kernel without the qdisc multiq: no fault of a port that works, and
// perhaps the cause where it does not (remote= demands it).
TEST_F(DpdkLogTest, WhatADriverDoesWithoutIsNoErrorUntilItFails) {
  constexpr const char* kSaid =
      "tap_nl_dump_ext_ack(): Specified qdisc kind is unknown\n"
      "qdisc_create_multiq(): Could not add multiq qdisc (2): No such file or directory\n"
      "eth_dev_tap_create(): dtap0: failed to create multiq qdisc.\n"
      "eth_dev_tap_create():  Disabling rte flow support: No such file or directory(2)\n";
  Say(RTE_LOG_ERR, kSaid);
  EXPECT_THAT(log_.lines, testing::SizeIs(4));
  EXPECT_THAT(log_.lines, testing::Each(testing::StartsWith("debug: ")));
  DpdkLogCapture said;
  Say(RTE_LOG_ERR, kSaid);
  Say(RTE_LOG_ERR, "eth_dev_tap_create(): Remote feature requires flow support.\n");
  EXPECT_THAT(said.Failed(), testing::SizeIs(5));
}

TEST_F(DpdkLogTest, AnInnerOneThatDidNotFailLeavesItsLinesToTheOuter) {
  {
    DpdkLogCapture outer;
    Say(RTE_LOG_ERR, "first\n");
    {
      DpdkLogCapture inner;
      Say(RTE_LOG_ERR, "inner\n");
      EXPECT_THAT(inner.Causes(), ElementsAre("inner"));
    }
    EXPECT_THAT(log_.lines, IsEmpty());
    {
      DpdkLogCapture inner;
      Say(RTE_LOG_ERR, "failed\n");
      EXPECT_THAT(inner.Failed(), ElementsAre("failed"));
    }
    EXPECT_THAT(outer.Causes(), ElementsAre("first", "inner"));
  }
  EXPECT_THAT(log_.lines, ElementsAre("debug: failed", "error: first", "error: inner"));
}

TEST_F(DpdkLogTest, WhatGoesToStandardOutputAndErrorIsDebug) {
  {
    const CapturedOutput captured;
    ASSERT_EQ(write(STDOUT_FILENO, "out\n", 4), 4);
    ASSERT_EQ(write(STDERR_FILENO, "err\n", 4), 4);
  }
  EXPECT_THAT(log_.lines, ElementsAre("debug: out", "debug: err"));
}

}  // namespace
}  // namespace penstock
