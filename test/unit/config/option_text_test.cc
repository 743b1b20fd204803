// SPDX-License-Identifier: BSD-3-Clause
//
// An option's value as text is what sets it.

#include "lib/config/option_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "lib/config/options.h"

namespace penstock {
namespace {

// A value for each option that Difference() knows by its own name, not the default.
const std::map<std::string, std::string>& Values() {
  static const auto* const values = new std::map<std::string, std::string>{
      {"interactive", "on"},
      {"auto-start", "on"},
      {"cmdline-file", "lab.txt"},
      {"tx-first", "on"},
      {"duration", "2.5"},
      {"stats-period", "0.5"},
      {"report", "report.json"},
      {"memory", "256M"},
      {"run-dir", "/run/other"},
      {"log-level", "debug"},
      {"forward-mode", "macswap"},
      {"port-topology", "chained"},
      {"portlist", "2,0"},
      {"corelist", "3,1"},
      {"nb-cores", "2"},
      {"rxq", "4"},
      {"txq", "0:2,1:1"},
      {"rxd", "512"},
      {"txd", "1:256"},
      {"burst", "64"},
      {"tx-retries", "8"},
      {"completion", "inline"},
      {"completion-threshold", "32"},
      {"completion-age", "50us,2ms"},
      {"completion-lcore", "0.0@2,0.1@3"},
      {"tx-budget", "0:64,1:auto"},
      {"rss-ip", "on"},
      {"rss-udp", "on"},
      {"max-pkt-len", "1600"},
      {"rx-offloads", "ipv4_cksum,udp_cksum,tcp_cksum"},
      {"tx-offloads", "multi_segs"},
      {"total-num-mbufs", "32767"},
      {"mbuf-size", "4096"},
      {"mbcache", "512"},
      {"mempool", "ring"},
      {"txpkts", "64,128"},
      {"tx-ip", "192.0.2.1,192.0.2.2"},
      {"tx-udp", "4000,5000"},
      {"eth-peer", "0,02:00:00:00:00:aa 1,02:00:00:00:00:bb"},
      {"txonly-multi-flow", "on"},
      {"flowgen-flows", "7"},
  };
  return *values;
}

TEST(OptionTextTest, WhatWasSetIsShownAsItWasTyped) {
  for (const auto& [name, value] : Values()) {
    const Option* const option = FindOption(name);
    if (option == nullptr) continue;
    Configuration configuration;
    EXPECT_NE(OptionText(configuration, name), value) << name << ": no value but the default";
    for (absl::string_view each : absl::StrSplit(value, ' ')) {
      const absl::Status status = SetOption(configuration, name, each);
      EXPECT_TRUE(status.ok()) << status;
    }
    EXPECT_EQ(OptionText(configuration, name), value) << name;
  }
}

TEST(OptionTextTest, EveryFieldThatAnOptionSetsHasAText) {
  for (const Option& option : Options()) {
    if (ChangeOf(option.name) == ChangeKind::kNone) continue;
    EXPECT_TRUE(Values().contains(std::string(option.name))) << option.name;
  }
}

// Written back, the defaults are the defaults.
TEST(OptionTextTest, DefaultsAreWhatTheyAre) {
  for (const auto& [name, value] : Values()) {
    const std::string text = OptionText(Configuration(), name);
    if (FindOption(name) == nullptr || text.empty()) continue;
    Configuration configuration;
    EXPECT_TRUE(SetOption(configuration, name, text).ok()) << name << " " << text;
    EXPECT_TRUE(configuration == Configuration()) << name << " " << text;
  }
}

TEST(OptionTextTest, ATunedBudgetIsAWord) {
  Configuration configuration;
  EXPECT_EQ(OptionText(configuration, "tx-budget"), "") << "as the port's devargs have it";
  ASSERT_TRUE(SetOption(configuration, "tx-budget", "auto").ok());
  EXPECT_EQ(OptionText(configuration, "tx-budget"), "auto");
  ASSERT_TRUE(SetOption(configuration, "tx-budget", "128").ok());
  EXPECT_EQ(OptionText(configuration, "tx-budget"), "128");
}

TEST(OptionTextTest, SizesAreExact) {
  Configuration configuration;
  configuration.memory_bytes = (uint64_t{100} << 20) + 1;
  EXPECT_EQ(OptionText(configuration, "memory"), "104857601");
  configuration.memory_bytes = 0;
  EXPECT_EQ(OptionText(configuration, "memory"), "");
  EXPECT_EQ(OptionText(configuration, "no such option"), "");
}

}  // namespace
}  // namespace penstock
