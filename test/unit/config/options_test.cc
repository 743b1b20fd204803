// SPDX-License-Identifier: BSD-3-Clause
//
// Options by name, on the command line and in a file.

#include "lib/config/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace penstock {
namespace {

using testing::HasSubstr;

MacAddress Mac(absl::string_view text) { return MacAddress::Parse(text).value(); }
Ipv4Address Ip(absl::string_view text) { return Ipv4Address::Parse(text).value(); }

struct AcceptedRow {
  std::string name;
  std::string value;
  std::function<void(Configuration&)> expected;  // What it does to the defaults.
};

const std::vector<AcceptedRow>& AcceptedRows() {
  static const std::vector<AcceptedRow> rows = {
      {"interactive", "true", [](auto& c) { c.interactive = true; }},
      {"interactive", "false", [](auto&) {}},
      {"duration", "10", [](auto& c) { c.duration_s = 10; }},
      {"duration", "0.25", [](auto& c) { c.duration_s = 0.25; }},
      {"duration", "0", [](auto&) {}},
      {"duration", "31536000", [](auto& c) { c.duration_s = 31536000; }},
      {"stats-period", "1", [](auto& c) { c.stats_period_s = 1; }},
      {"stats-period", ".5", [](auto& c) { c.stats_period_s = 0.5; }},
      {"report", "out/report.json", [](auto& c) { c.report_path = "out/report.json"; }},
      {"report", "with space.json", [](auto& c) { c.report_path = "with space.json"; }},
      {"report", "bericht-\xc3\xa4.json", [](auto& c) { c.report_path = "bericht-\xc3\xa4.json"; }},
      {"memory", "64M", [](auto& c) { c.memory_bytes = uint64_t{64} << 20; }},
      {"memory", "1.5g", [](auto& c) { c.memory_bytes = uint64_t{1536} << 20; }},
      {"memory", "1T", [](auto& c) { c.memory_bytes = uint64_t{1} << 40; }},
      {"memory", "67108864", [](auto& c) { c.memory_bytes = uint64_t{64} << 20; }},
      {"run-dir", "/tmp/x", [](auto& c) { c.run_directory = "/tmp/x"; }},
      {"log-level", "debug", [](auto& c) { c.log_level = Severity::kDebug; }},
      {"log-level", "info", [](auto& c) { c.log_level = Severity::kInfo; }},
      {"log-level", "warning", [](auto& c) { c.log_level = Severity::kWarning; }},
      {"log-level", "error", [](auto& c) { c.log_level = Severity::kError; }},
      {"forward-mode", "macswap", [](auto& c) { c.forward_mode = "macswap"; }},
      {"port-topology", "paired", [](auto& c) { c.port_topology = PortTopology::kPaired; }},
      {"port-topology", "chained", [](auto& c) { c.port_topology = PortTopology::kChained; }},
      {"port-topology", "loop", [](auto& c) { c.port_topology = PortTopology::kLoop; }},
      {"rxq", "4", [](auto& c) { c.rxq.all = 4; }},
      {"rxq", "1024", [](auto& c) { c.rxq.all = 1024; }},
      {"rxq", "0x10", [](auto& c) { c.rxq.all = 16; }},
      {"rxq", "0:4,1:2",
       [](auto& c) {
         c.rxq.of_port = {{0, 4}, {1, 2}};
       }},
      {"txq", "31:1",
       [](auto& c) {
         c.txq.of_port = {{31, 1}};
       }},
      {"rxd", "32768", [](auto& c) { c.rxd.all = 32768; }},
      {"txd", "0:512",
       [](auto& c) {
         c.txd.of_port = {{0, 512}};
       }},
      {"burst", "1", [](auto& c) { c.burst = 1; }},
      {"burst", "512", [](auto& c) { c.burst = 512; }},
      {"tx-retries", "0", [](auto&) {}},
      {"tx-retries", "1000000", [](auto& c) { c.tx_retries = 1'000'000; }},
      {"total-num-mbufs", "1024", [](auto& c) { c.total_num_mbufs = 1024; }},
      {"total-num-mbufs", "268435456", [](auto& c) { c.total_num_mbufs = 268435456; }},
      {"mbuf-size", "256", [](auto& c) { c.mbuf_size = 256; }},
      {"mbuf-size", "65535", [](auto& c) { c.mbuf_size = 65535; }},
      {"mbcache", "0", [](auto& c) { c.mbcache = 0; }},
      {"mbcache", "512", [](auto& c) { c.mbcache = 512; }},
      {"txpkts", "1514", [](auto& c) { c.txpkts = {1514}; }},
      {"txpkts", "1,2,3,4,5,6,7,8", [](auto& c) { c.txpkts = {1, 2, 3, 4, 5, 6, 7, 8}; }},
      {"tx-ip", "192.0.2.1,192.0.2.255",
       [](auto& c) {
         c.tx_ip = {Ip("192.0.2.1"), Ip("192.0.2.255")};
       }},
      {"tx-udp", "1000",
       [](auto& c) {
         c.tx_udp = {1000, 1000};
       }},
      {"tx-udp", "1,65535",
       [](auto& c) {
         c.tx_udp = {1, 65535};
       }},
      {"eth-peer", "3,02:00:00:00:00:Ff",
       [](auto& c) { c.eth_peer[3] = Mac("02:00:00:00:00:ff"); }},
  };
  return rows;
}

TEST(SetOptionTest, WhatIsAcceptedSetsItsFieldAndNoOther) {
  for (const AcceptedRow& row : AcceptedRows()) {
    Configuration configuration;
    Configuration expected;
    row.expected(expected);
    const absl::Status status = SetOption(configuration, row.name, row.value);
    EXPECT_TRUE(status.ok()) << row.name << "=" << row.value << ": " << status;
    EXPECT_TRUE(configuration == expected) << row.name << "=" << row.value;
  }
}

TEST(SetOptionTest, EveryOptionHasARowThatChangesTheDefaults) {
  std::set<std::string> changed;
  for (const AcceptedRow& row : AcceptedRows()) {
    Configuration configuration;
    ASSERT_TRUE(SetOption(configuration, row.name, row.value).ok());
    if (!(configuration == Configuration())) changed.insert(row.name);
    // What differs is told under the name that set it.
    for (const std::string& option : Difference(Configuration(), configuration).options) {
      EXPECT_EQ(option, row.name);
    }
  }
  for (const Option& option : Options()) {
    EXPECT_TRUE(changed.contains(std::string(option.name))) << option.name << " has no row";
  }
}

constexpr char kPerQueue[] = "1 to 1024, or by port, such as 0:2,1:1 (each port once)";
constexpr char kPerDescriptor[] = "1 to 32768, or by port, such as 0:2,1:1 (each port once)";
constexpr char kSeconds[] = "seconds, 0 to 31536000, such as 10 or 0.5";
constexpr char kSegments[] = "1 to 8 segment lengths in bytes, such as 64 or 256,1024";
constexpr char kAddresses[] = "SOURCE,DESTINATION as IPv4 addresses, such as 198.18.0.1,198.18.0.2";
constexpr char kUdpPorts[] = "SOURCE or SOURCE,DESTINATION, UDP ports of 1 to 65535";
constexpr char kPeer[] = "PORT,MAC, such as 0,02:00:00:00:00:01";

struct RefusedRow {
  std::string name;
  std::vector<std::string> values;
  std::string accepted;
};

const std::vector<RefusedRow>& RefusedRows() {
  static const std::vector<RefusedRow> rows = {
      {"interactive", {"", "1", "yes", "TRUE", "true "}, "true or false"},
      {"duration",
       {"", "-1", "-0", "1s", "inf", "nan", "0x10", "1e3", " 1", "1 ", "31536000.5", ".", "1.2.3"},
       kSeconds},
      {"stats-period", {"", "-0.5", "99999999999999999999999"}, kSeconds},
      {"report", {"", std::string("a\0z", 3), "a\nb"}, "a file name"},
      {"memory",
       {"", "63M", "2T", "1X", "-1", "67108863", "1.3K"},
       "64M to 1T, such as 512M or 2G"},
      {"run-dir", {"", "a\tb"}, "a folder"},
      {"log-level", {"", "INFO", "warn", "debug,info"}, "debug, info, warning, error"},
      {"forward-mode", {"", "io\n"}, "a mode"},
      {"port-topology", {"", "pair", "Loop"}, "paired, chained, loop"},
      {"rxq",
       {"", "0", "1025", "-1", "a", "1,2", "0:1,0:2", "0:1,", ":1", "0:", "32:1", "0:0", "0:1025",
        "0:1:2", "0:1,2", "65536:1"},
       kPerQueue},
      {"txq", {"0", "0:0"}, kPerQueue},
      {"rxd", {"0", "32769", "1:32769"}, kPerDescriptor},
      {"txd", {"0", "32769", "1:0"}, kPerDescriptor},
      {"burst", {"", "0", "513", "+1", "1.5", " 1", "65568"}, "1 to 512"},
      {"tx-retries", {"", "-1", "1000001", "4294967296"}, "0 to 1000000"},
      {"total-num-mbufs", {"", "0", "1023", "268435457", "4294968320"}, "1024 to 268435456"},
      {"mbuf-size", {"", "255", "65536", "65792"}, "256 to 65535"},
      {"mbcache", {"", "513", "-1", "65536"}, "0 to 512"},
      {"txpkts", {"", "0", "9729", "64,", ",64", "64,0", "1,2,3,4,5,6,7,8,9", "64;64"}, kSegments},
      {"tx-ip",
       {"", "192.0.2.1", "192.0.2.1,", "192.0.2.1,192.0.2.256", "192.0.2.1,192.0.2.2,192.0.2.3",
        "::1,::2"},
       kAddresses},
      {"tx-udp", {"", "0", "65536", "1,", ",1", "1,2,3", "1,0", "a,b"}, kUdpPorts},
      {"eth-peer",
       {"", "0", "02:00:00:00:00:01", "32,02:00:00:00:00:01", "0,02:00:00:00:00",
        "-1,02:00:00:00:00:01", "0,02:00:00:00:00:01,1"},
       kPeer},
  };
  return rows;
}

TEST(SetOptionTest, WhatIsRefusedSaysWhatIsAcceptedAndChangesNothing) {
  for (const RefusedRow& row : RefusedRows()) {
    for (const std::string& value : row.values) {
      Configuration configuration;
      const absl::Status status = SetOption(configuration, row.name, value);
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << row.name << "=" << value;
      const std::string shown = absl::StrReplaceAll(
          value, {{"\n", "\\n"}, {"\t", "\\t"}, {absl::string_view("\0", 1), "\\x00"}});
      EXPECT_EQ(std::string(status.message()),
                absl::StrCat("--", row.name, "=", shown, ": accepted: ", row.accepted));
      EXPECT_TRUE(configuration == Configuration()) << row.name << "=" << value;
    }
  }
}

TEST(SetOptionTest, EveryOptionRefusesSomething) {
  std::set<std::string> refusing;
  for (const RefusedRow& row : RefusedRows()) refusing.insert(row.name);
  for (const Option& option : Options()) {
    EXPECT_TRUE(refusing.contains(std::string(option.name))) << option.name << " has no row";
  }
}

TEST(SetOptionTest, ANameThatIsNoOption) {
  for (const char* name : {"", "no-such-option", "Burst", "--burst", "burst ", "tx_retries"}) {
    Configuration configuration;
    const absl::Status status = SetOption(configuration, name, "1");
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << name;
    EXPECT_EQ(
        status.message(),
        absl::StrCat("--", name, ": no such option; accepted: those that penstock --help lists"));
    EXPECT_TRUE(configuration == Configuration());
  }
}

TEST(SetOptionTest, WhateverIsGivenTheErrorIsOneLine) {
  for (const std::string& value :
       {std::string(100'000, '9'), std::string("1\n2\r\x1b[31m\0", 9), std::string(300, '\n')}) {
    for (const Option& option : Options()) {
      Configuration configuration;
      const absl::Status status = SetOption(configuration, option.name, value);
      const std::string message(status.message());
      EXPECT_LT(message.size(), 500u) << option.name;
      for (const char c : message) EXPECT_TRUE(c >= 0x20 && c < 0x7f) << option.name;
    }
    Configuration configuration;
    const std::string message(SetOption(configuration, value, "1").message());
    EXPECT_LT(message.size(), 500u);
    for (const char c : message) EXPECT_TRUE(c >= 0x20 && c < 0x7f);
  }
}

TEST(SetOptionTest, ARepeatableOptionAddsAndTheOthersReplace) {
  Configuration c;
  ASSERT_TRUE(SetOption(c, "eth-peer", "0,02:00:00:00:00:01").ok());
  ASSERT_TRUE(SetOption(c, "eth-peer", "1,02:00:00:00:00:02").ok());
  EXPECT_EQ(c.eth_peer.size(), 2u);
  EXPECT_EQ(SetOption(c, "eth-peer", "1,02:00:00:00:00:03").message(),
            "--eth-peer=1,02:00:00:00:00:03: accepted: each port once");
  EXPECT_EQ(c.eth_peer[1], Mac("02:00:00:00:00:02"));

  ASSERT_TRUE(SetOption(c, "rxq", "0:4,1:2").ok());
  ASSERT_TRUE(SetOption(c, "rxq", "1:3").ok());
  EXPECT_EQ(c.rxq, (PerPort{.all = {}, .of_port = {{1, 3}}}));
  ASSERT_TRUE(SetOption(c, "rxq", "2").ok());
  EXPECT_EQ(c.rxq, (PerPort{.all = 2, .of_port = {}}));
  ASSERT_TRUE(SetOption(c, "txpkts", "64,64").ok());
  ASSERT_TRUE(SetOption(c, "txpkts", "128").ok());
  EXPECT_EQ(c.txpkts, std::vector<uint16_t>({128}));
}

TEST(OptionsTest, OnlyWhatIsRepeatableCanBeCleared) {
  for (const Option& option : Options()) {
    EXPECT_EQ(option.repeatable, option.clear != nullptr) << option.name;
  }
  Configuration c;
  ASSERT_TRUE(SetOption(c, "eth-peer", "0,02:00:00:00:00:01").ok());
  FindOption("eth-peer")->clear(c);
  EXPECT_TRUE(c == Configuration());
}

TEST(OptionsTest, TheTable) {
  std::set<std::string> names;
  std::vector<std::string> areas;
  for (const Option& option : Options()) {
    const std::string name(option.name);
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_EQ(FindOption(name), &option);
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"), std::string::npos)
        << name;
    EXPECT_FALSE(option.help.empty()) << name;
    // One heading each in the help.
    if (areas.empty() || areas.back() != option.area) {
      EXPECT_THAT(areas, testing::Not(testing::Contains(std::string(option.area))));
      areas.emplace_back(option.area);
    }
  }
  EXPECT_EQ(FindOption("interactive")->argument, "");
  EXPECT_FALSE(FindOption("interactive")->in_file);
  EXPECT_EQ(FindOption("no-such-option"), nullptr);
  EXPECT_EQ(FindOption(""), nullptr);
}

// ---- files ----

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
