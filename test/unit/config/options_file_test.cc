// SPDX-License-Identifier: BSD-3-Clause
//
// Options in a configuration file.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lib/config/options.h"
#include "test/unit/config/accepted_rows.h"

namespace penstock {
namespace {

using testing::HasSubstr;

class ConfigurationFileTest : public testing::Test {
 protected:
  ConfigurationFileTest() {
    std::string path = absl::StrCat(testing::TempDir(), "penstock-options-XXXXXX");
    const int fd = mkstemp(path.data());
    EXPECT_GE(fd, 0) << path;
    close(fd);
    path_ = path;
  }
  ~ConfigurationFileTest() override { unlink(path_.c_str()); }

  absl::Status Load(absl::string_view text, Configuration& configuration) {
    std::ofstream(path_, std::ios::binary) << text;
    return LoadConfigurationFile(path_, configuration);
  }

  std::string path_;
};

TEST_F(ConfigurationFileTest, TheExampleOfTheHeader) {
  Configuration c;
  const absl::Status status = Load(
      "forward-mode: macswap\n"
      "rxq: 2\n"
      "eth-peer: [\"0,02:00:00:00:00:01\", \"1,02:00:00:00:00:02\"]\n",
      c);
  ASSERT_TRUE(status.ok()) << status;
  Configuration expected;
  expected.forward_mode = "macswap";
  expected.rxq.all = 2;
  expected.eth_peer = {{0, Mac("02:00:00:00:00:01")}, {1, Mac("02:00:00:00:00:02")}};
  EXPECT_TRUE(c == expected);
}

TEST_F(ConfigurationFileTest, EveryValueThatTheCommandLineAcceptsUnlessItIsForOneInvocation) {
  for (const AcceptedRow& row : AcceptedRows()) {
    Configuration c;
    const absl::Status status = Load(absl::StrCat(row.name, ": '", row.value, "'\n"), c);
    Configuration expected;
    row.expected(expected);
    if (!FindOption(row.name)->in_file) {
      EXPECT_THAT(std::string(status.message()), HasSubstr("is no option of a file"));
      EXPECT_TRUE(c == Configuration());
      continue;
    }
    EXPECT_TRUE(status.ok()) << row.name << ": " << status;
    EXPECT_TRUE(c == expected) << row.name << "=" << row.value;
  }
}

TEST_F(ConfigurationFileTest, OtherWaysToWriteIt) {
  struct {
    const char* text;
    std::function<void(Configuration&)> expected;
  } const kRows[] = {
      {"", [](auto&) {}},
      {"# nothing but a comment\n", [](auto&) {}},
      {"{burst: 8, rxq: 0:2}\n",
       [](auto& c) {
         c.burst = 8;
         c.rxq.of_port = {{0, 2}};
       }},
      {"burst: 0x10 # sixteen\n", [](auto& c) { c.burst = 16; }},
      {"eth-peer: 0,02:00:00:00:00:01\n",
       [](auto& c) { c.eth_peer[0] = Mac("02:00:00:00:00:01"); }},
      {"eth-peer:\n  - 0,02:00:00:00:00:01\n  - 5,02:00:00:00:00:02\n",
       [](auto& c) {
         c.eth_peer = {{0, Mac("02:00:00:00:00:01")}, {5, Mac("02:00:00:00:00:02")}};
       }},
      {"eth-peer: []\n", [](auto&) {}},
      {"tx-udp: &ports 7,8\nreport: out.json\n",
       [](auto& c) {
         c.tx_udp = {7, 8};
         c.report_path = "out.json";
       }},
  };
  for (const auto& row : kRows) {
    Configuration c;
    Configuration expected;
    row.expected(expected);
    const absl::Status status = Load(row.text, c);
    EXPECT_TRUE(status.ok()) << row.text << ": " << status;
    EXPECT_TRUE(c == expected) << row.text;
  }
}

TEST_F(ConfigurationFileTest, RefusedWholeWithThePlaceOfTheFirstFault) {
  const std::string names =
      "; accepted: the options that penstock --help lists, without dashes in front";
  struct {
    std::string text;
    std::string place;
    std::string what;
  } const kRows[] = {
      {"burst: 8\nmbcache: 1000\nrxq: 0\n", "2:10", "mbcache: 1000: accepted: 0 to 512"},
      {"burst: 8\nno-such: 1\n", "2:1", "\"no-such\" is no option of a file" + names},
      {"burst: 8\n\n  # comment\n--rxq: 1\n", "4:1", "\"--rxq\" is no option of a file" + names},
      {"interactive: true\n", "1:1", "\"interactive\" is no option of a file" + names},
      {"{ burst: 8, rxq: 4096 }", "1:18",
       "rxq: 4096: accepted: 1 to 1024, or by port, such as 0:2,1:1 (each port once)"},
      {"report:\nburst: 8\n", "", "report is not one value; accepted: a value"},
      {"burst: [1, 2]\n", "1:8", "burst is not one value; accepted: a value"},
      {"burst: {a: 1}\n", "1:8", "burst is not one value; accepted: a value"},
      {"eth-peer: {0: 1}\n", "1:11",
       "eth-peer is not one value; accepted: a value or a list of values"},
      {"eth-peer:\n  - 0,02:00:00:00:00:01\n  - [1, 2]\n", "3:5",
       "eth-peer is not one value; accepted: a value or a list of values"},
      {"eth-peer:\n  - 0,02:00:00:00:00:01\n  - 0,02:00:00:00:00:02\n", "3:5",
       "eth-peer: 0,02:00:00:00:00:02: accepted: each port once"},
      {"eth-peer:\n  - 0,02:00:00:00:00:01\n  - 1,zz\n", "3:5",
       "eth-peer: 1,zz: accepted: PORT,MAC, such as 0,02:00:00:00:00:01"},
      {"report: \"a\\nb\"\n", "1:9", "report: a\\nb: accepted: a file name"},
      {"\"x\\ny\": 1\n", "1:1", "\"x\\ny\" is no option of a file" + names},
      {"- burst\n", "1:1", "not a map; accepted: lines such as \"forward-mode: macswap\""},
      {"burst\n", "1:1", "not a map; accepted: lines such as \"forward-mode: macswap\""},
      {"portlist: 0,1\nportmask: 0x3\n", "2:11", "portmask beside portlist; accepted: one of them"},
      {"rss-ip: true\nrss-udp: true\n", "2:10", "rss-udp beside rss-ip; accepted: one of them"},
      {"burst: 8\nburst: 9\n", "2:1",
       "the key \"burst\" stands twice in this map; accepted: each key once"},
  };
  for (const auto& row : kRows) {
    Configuration c;
    c.burst = 77;
    c.eth_peer[9] = MacAddress{};
    const Configuration before = c;
    const absl::Status status = Load(row.text, c);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << row.text;
    const std::string message(status.message());
    EXPECT_TRUE(absl::StartsWith(message, absl::StrCat(path_, ":", row.place))) << message;
    EXPECT_TRUE(absl::EndsWith(message, absl::StrCat(": ", row.what))) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos);
    EXPECT_TRUE(c == before) << row.text;
  }
}

TEST_F(ConfigurationFileTest, ItAddsToWhatIsThere) {
  Configuration c;
  c.burst = 77;
  c.mbcache = 3;
  c.eth_peer[9] = MacAddress{};
  ASSERT_TRUE(Load("burst: 8\neth-peer: 0,02:00:00:00:00:01\n", c).ok());
  EXPECT_EQ(c.burst, 8);
  EXPECT_EQ(c.mbcache, 3);
  EXPECT_EQ(c.eth_peer.size(), 2u);
}

TEST_F(ConfigurationFileTest, AFileThatCannotBeRead) {
  Configuration c;
  const std::string missing = path_ + ".missing";
  const absl::Status status = LoadConfigurationFile(missing, c);
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr(missing));
  EXPECT_FALSE(LoadConfigurationFile(testing::TempDir(), c).ok());
  EXPECT_TRUE(c == Configuration());
}

}  // namespace
}  // namespace penstock
