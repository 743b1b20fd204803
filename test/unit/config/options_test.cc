// SPDX-License-Identifier: BSD-3-Clause
//
// Options by name, as the command line gives them.

#include "lib/config/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "lib/config/offloads.h"
#include "lib/text/quantity.h"
#include "test/unit/config/accepted_rows.h"

namespace penstock {
namespace {

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
      EXPECT_EQ(option, FieldOf(*FindOption(row.name)));
    }
  }
  for (const Option& option : Options()) {
    EXPECT_TRUE(changed.contains(std::string(option.name))) << option.name << " has no row";
  }
}

TEST(SetOptionTest, DefaultTakesBackWhatWasGiven) {
  for (const auto& [name, value] : {std::pair{"tx-budget", "0:64,1:auto"},
                                    {"tx-budget", "auto"},
                                    {"completion-lcore", "0.0@2"}}) {
    Configuration configuration;
    ASSERT_TRUE(SetOption(configuration, name, value).ok());
    ASSERT_FALSE(configuration == Configuration()) << name;
    ASSERT_TRUE(SetOption(configuration, name, "default").ok()) << name;
    EXPECT_TRUE(configuration == Configuration()) << name;
  }
}

constexpr char kSwitch[] = "on, off, true, false";
constexpr char kPorts[] =
    "numbers of 0 to 31 and ranges of them, each number once, such as 0,1 or 2-4,0";
constexpr char kLcores[] =
    "numbers of 0 to 127 and ranges of them, each number once, such as 0,1 or 2-4,0";
constexpr char kPortMask[] =
    "a hexadecimal mask with a bit for each of 0 to 31, such as 0x6 for 1 and 2";
constexpr char kLcoreMask[] =
    "a hexadecimal mask with a bit for each of 0 to 63, such as 0x6 for 1 and 2";
const std::string kRxNames =
    absl::StrCat("a hexadecimal mask of known bits, none, or names out of ",
                 FormatOffloads(kRxOffloads, kNoLimit));
const std::string kTxNames =
    absl::StrCat("a hexadecimal mask of known bits, none, or names out of ",
                 FormatOffloads(kTxOffloads, kNoLimit));
constexpr char kPerQueue[] = "1 to 1024, or by port, such as 0:2,1:1 (each port once)";
constexpr char kPerDescriptor[] = "1 to 32768, or by port, such as 0:2,1:1 (each port once)";
constexpr char kTxBudget[] =
    "auto, default, 32 to 32768, or by port, such as 0:auto,1:64 (each port once)";
constexpr char kSeconds[] = "seconds, 0 to 31536000, such as 10 or 0.5";
constexpr char kSegments[] =
    "1 to 8 segment lengths in bytes, 42 to 9728 in all, such as 64 or 256,1024";
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
      {"interactive", {"", "1", "yes", "TRUE", "true "}, "on, off, true, false"},
      {"auto-start", {"", "1", "ON"}, kSwitch},
      {"cmdline-file", {"", "a\nb"}, "a file name"},
      {"tx-first", {"", "32", "yes"}, kSwitch},
      {"portlist",
       {"", "32", "-1", "0,0", "1-0", "0-1-2", "0,", "0x", "a", "0-31,5", "0 1"},
       kPorts},
      {"portmask", {"", "0", "0x0", "100000000", "0x", "1,2", "g", "-1"}, kPortMask},
      {"corelist", {"", "128", "3-1", "1,1"}, kLcores},
      {"coremask", {"", "0", "10000000000000000", "0xg"}, kLcoreMask},
      {"nb-cores", {"", "0", "129", "-1", "65537"}, "1 to 128"},
      {"rss-ip", {"", "1"}, kSwitch},
      {"rss-udp", {"", "tcp"}, kSwitch},
      {"max-pkt-len", {"", "0", "63", "9733", "1518B", "65600"}, "64 to 9732"},
      {"rx-offloads", {"", "ipv4", "ipv4_cksum,", "0x100", "0x100000", "multi_segs"}, kRxNames},
      {"tx-offloads", {"", "scatter", "0x400000", "-1", "multi_segs multi_segs"}, kTxNames},
      {"enable-rx-cksum", {"", "1"}, kSwitch},
      {"enable-scatter", {"", "1"}, kSwitch},
      {"enable-lro", {"", "1"}, kSwitch},
      {"enable-rx-timestamp", {"", "1"}, kSwitch},
      {"enable-hw-vlan", {"", "1"}, kSwitch},
      {"enable-hw-vlan-strip", {"", "1"}, kSwitch},
      {"enable-hw-vlan-filter", {"", "1"}, kSwitch},
      {"enable-hw-vlan-extend", {"", "1"}, kSwitch},
      {"enable-hw-qinq-strip", {"", "1"}, kSwitch},
      {"txonly-multi-flow", {"", "2"}, kSwitch},
      {"flowgen-flows", {"", "0", "-1", "1073741825"}, "1 to 1073741824"},
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
      {"completion", {"", "Stage", "both", "stage,inline"}, "stage, inline"},
      {"completion-threshold", {"", "0", "32769", "auto"}, "1 to 32768"},
      {"completion-age",
       {"", "100us", "1ms,100us", "100,1ms", "999ns,1ms", "1us,11s", "1us,1ms,1s", "-1us,1ms"},
       "BUSY,IDLE, times of 1us to 10s, the first no longer, such as 100us,1ms"},
      {"completion-lcore",
       {"", "2", "0@2", "0.0", "0.0@", "0.0@128", "32.0@1", "0.1024@1", "0.0@1@2", "0.0.0@1",
        "0.0@1,", "0.0@1,0.0@2", "a.0@1"},
       "default, or PORT.QUEUE@LCORE,..., each queue once, such as 0.0@2"},
      {"tx-budget",
       {"", "0", "31", "32769", "Auto", "0:auto,0:64", "0:31", "32:64", "auto,64", "0:", ":64",
        "0:default", "Default"},
       kTxBudget},
      {"total-num-mbufs", {"", "0", "1023", "268435457", "4294968320"}, "1024 to 268435456"},
      {"mbuf-size", {"", "255", "65536", "65792"}, "256 to 65535"},
      {"mbcache", {"", "513", "-1", "65536"}, "0 to 512"},
      {"mempool", {"", "Ring", "ring_mp_mc", "stack"}, "deferred, ring"},
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
      EXPECT_LT(message.size(), 1000u) << option.name;
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

TEST(SetOptionTest, OffloadsAddUpInAnyOrder) {
  const char* const kGiven[][2] = {
      {"enable-scatter", "true"}, {"rx-offloads", "ipv4_cksum"}, {"enable-hw-vlan-strip", "true"}};
  for (const auto& [first, second, third] : {std::array{0, 1, 2}, std::array{2, 1, 0}}) {
    Configuration c;
    for (const int i : {first, second, third}) {
      ASSERT_TRUE(SetOption(c, kGiven[i][0], kGiven[i][1]).ok());
    }
    EXPECT_EQ(c.rx_offloads, 0x2003u);
    ASSERT_TRUE(SetOption(c, "enable-scatter", "false").ok());  // Takes back its own alone.
    EXPECT_EQ(c.rx_offloads, 3u);
    FindOption("rx-offloads")->clear(c);
    EXPECT_EQ(c.rx_offloads, 0u);
  }
}

TEST(OptionsTest, WhatSetsAnothersFieldNamesIt) {
  EXPECT_EQ(FieldOf(*FindOption("portmask")), "portlist");
  EXPECT_EQ(FieldOf(*FindOption("portlist")), "portlist");
  EXPECT_EQ(FieldOf(*FindOption("rss-udp")), "rss");
  EXPECT_EQ(FieldOf(*FindOption("enable-scatter")), "rx-offloads");
}

TEST(OptionsTest, OnlyWhatIsRepeatableOrAddsCanBeCleared) {
  for (const Option& option : Options()) {
    EXPECT_EQ(option.repeatable || (option.adds && option.sets.empty()), option.clear != nullptr)
        << option.name;
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

}  // namespace
}  // namespace penstock
