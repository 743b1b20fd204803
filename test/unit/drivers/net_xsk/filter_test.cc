// SPDX-License-Identifier: BSD-3-Clause
//
// The words of a filter. What the program does with them is tested on frames, in
// test/integration/net_xsk/life_test.cc.
#include "drivers/net/xsk/filter.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(XskFilter, ReadsRulesInNetworkOrder) {
  const absl::StatusOr<FilterRules> rules =
      ParseFilter("[udp:4789,udp:0x12b5,esp,ether:0x88b5,dst-mac,dst-mac:02:00:00:00:00:0a]");
  ASSERT_TRUE(rules.ok()) << rules.status();
  const xsk_filter_config& config = rules->config;
  EXPECT_EQ(config.everything, 0);
  EXPECT_EQ(config.udp_ports, 2);
  EXPECT_EQ(config.udp_port[1], htons(4789));
  EXPECT_EQ(config.esp, 1);
  EXPECT_EQ(config.ethertypes, 1);
  EXPECT_EQ(config.ethertype[0], htons(0x88b5));
  EXPECT_EQ(config.own_mac, 1);
  EXPECT_EQ(config.macs, 1);
  EXPECT_EQ(config.mac[0][5], 0x0a);
}

TEST(XskFilter, ASingleRuleNeedsNoBrackets) {
  const absl::StatusOr<FilterRules> rules = ParseFilter("esp");
  ASSERT_TRUE(rules.ok()) << rules.status();
  EXPECT_EQ(rules->config.esp, 1);
  EXPECT_EQ(rules->config.udp_ports, 0);
}

TEST(XskFilter, RefusesWhatIsNoRule) {
  for (const char* text : {"", "[]", "[udp]", "udp:0", "udp:65536", "ether:0x5ff", "ether:1g",
                           "esp:1", "dst-mac:1", "[esp", "[esp,,esp]"}) {
    const absl::StatusOr<FilterRules> rules = ParseFilter(text);
    ASSERT_FALSE(rules.ok()) << text;
    EXPECT_THAT(std::string(rules.status().message()), testing::HasSubstr("filter rule")) << text;
    EXPECT_THAT(std::string(rules.status().message()), testing::HasSubstr("as in filter=["))
        << text;
  }
  std::string many = "[";
  for (int i = 1; i <= 17; ++i) many += "udp:" + std::to_string(i) + (i < 17 ? "," : "]");
  EXPECT_THAT(std::string(ParseFilter(many).status().message()),
              testing::HasSubstr("more than 16 ports"));
}

}  // namespace
}  // namespace penstock
