// SPDX-License-Identifier: BSD-3-Clause
//
// Flow rules as data: what rte_flow is handed of them, and their text. Main lcore.

#include "lib/port/flow_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rte_ethdev.h>

#include <string>
#include <vector>

#include "lib/port/flow_value.h"

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

FlowItem& AddItem(FlowRule& rule, absl::string_view name) {
  FlowItem& item = rule.pattern.emplace_back();
  item.kind = FindFlowItem(name);
  return item;
}

FlowAction& AddAction(FlowRule& rule, absl::string_view name) {
  return rule.actions.emplace_back(*FindFlowAction(name));
}

const FlowField& Field(std::span<const FlowField> fields, absl::string_view name) {
  for (const FlowField& each : fields) {
    if (each.name == name) return each;
  }
  ADD_FAILURE() << name;
  return fields.front();
}

// As if `field word` had been said of one part of the item.
void Set(const FlowItem& item, std::vector<uint8_t>& part, absl::string_view field,
         absl::string_view word) {
  part.resize(item.kind->bytes);
  EXPECT_TRUE(StoreFlowValue(Field(item.kind->fields, field), word, part));
}

// Ingress packets of 192.0.2.0/24 of VLAN 100, marked with 7 and to queue 3.
FlowRule Example() {
  FlowRule rule;
  rule.group = 1;
  rule.priority = 2;
  rule.ingress = true;
  AddItem(rule, "eth");
  FlowItem& vlan = AddItem(rule, "vlan");
  Set(vlan, vlan.spec, "vid", "100");
  Set(vlan, vlan.mask, "vid", "4095");
  FlowItem& ipv4 = AddItem(rule, "ipv4");
  Set(ipv4, ipv4.spec, "src", "192.0.2.0");
  Set(ipv4, ipv4.last, "src", "192.0.2.9");
  Set(ipv4, ipv4.mask, "src", "255.255.255.0");
  FlowAction& mark = AddAction(rule, "mark");
  EXPECT_TRUE(StoreFlowValue(Field(mark.kind->fields, "id"), "7", mark.conf));
  FlowAction& queue = AddAction(rule, "queue");
  EXPECT_TRUE(StoreFlowValue(Field(queue.kind->fields, "index"), "3", queue.conf));
  return rule;
}

TEST(FlowArrays, AttributesItemsAndActions) {
  const FlowRule rule = Example();
  const FlowArrays arrays(rule, 4);
  EXPECT_EQ(arrays.attributes().group, 1U);
  EXPECT_EQ(arrays.attributes().priority, 2U);
  EXPECT_EQ(arrays.attributes().ingress, 1U);
  EXPECT_EQ(arrays.attributes().egress, 0U);
  EXPECT_EQ(arrays.attributes().transfer, 0U);
  const rte_flow_item* items = arrays.items();
  EXPECT_EQ(items[0].type, RTE_FLOW_ITEM_TYPE_ETH);
  EXPECT_EQ(items[0].spec, nullptr);
  EXPECT_EQ(items[0].last, nullptr);
  EXPECT_EQ(items[0].mask, nullptr);
  EXPECT_EQ(items[1].type, RTE_FLOW_ITEM_TYPE_VLAN);
  EXPECT_EQ(static_cast<const rte_flow_item_vlan*>(items[1].spec)->tci, rte_cpu_to_be_16(100));
  EXPECT_EQ(static_cast<const rte_flow_item_vlan*>(items[1].mask)->tci, rte_cpu_to_be_16(0xfff));
  EXPECT_EQ(items[1].last, nullptr);
  EXPECT_EQ(items[2].type, RTE_FLOW_ITEM_TYPE_IPV4);
  EXPECT_EQ(static_cast<const rte_flow_item_ipv4*>(items[2].last)->hdr.src_addr,
            rte_cpu_to_be_32(0xc0000209));
  EXPECT_EQ(items[3].type, RTE_FLOW_ITEM_TYPE_END);
  const rte_flow_action* actions = arrays.actions();
  EXPECT_EQ(actions[0].type, RTE_FLOW_ACTION_TYPE_MARK);
  EXPECT_EQ(static_cast<const rte_flow_action_mark*>(actions[0].conf)->id, 7U);
  EXPECT_EQ(actions[1].type, RTE_FLOW_ACTION_TYPE_QUEUE);
  EXPECT_EQ(static_cast<const rte_flow_action_queue*>(actions[1].conf)->index, 3);
  EXPECT_EQ(actions[2].type, RTE_FLOW_ACTION_TYPE_END);
}

TEST(FlowArrays, AnEmptyRule) {
  const FlowRule rule;
  const FlowArrays arrays(rule, 1);
  EXPECT_EQ(arrays.items()[0].type, RTE_FLOW_ITEM_TYPE_END);
  EXPECT_EQ(arrays.actions()[0].type, RTE_FLOW_ACTION_TYPE_END);
}

const rte_flow_action_rss& Rss(const FlowArrays& arrays, size_t action = 0) {
  EXPECT_EQ(arrays.actions()[action].type, RTE_FLOW_ACTION_TYPE_RSS);
  return *static_cast<const rte_flow_action_rss*>(arrays.actions()[action].conf);
}

std::vector<uint16_t> Queues(const rte_flow_action_rss& rss) {
  return {rss.queue, rss.queue + rss.queue_num};
}

TEST(FlowArrays, RssThatIsNotSaid) {
  FlowRule rule;
  AddAction(rule, "rss");
  const FlowArrays arrays(rule, 3);
  const rte_flow_action_rss& rss = Rss(arrays);
  EXPECT_EQ(rss.func, RTE_ETH_HASH_FUNCTION_DEFAULT);
  EXPECT_EQ(rss.types, RTE_ETH_RSS_IP);
  EXPECT_EQ(rss.level, 0U);
  EXPECT_EQ(rss.key, nullptr);
  EXPECT_EQ(rss.key_len, 0U);
  EXPECT_THAT(Queues(rss), ElementsAre(0, 1, 2));
  EXPECT_EQ(Rss(FlowArrays(rule, 1000)).queue_num, kMaxFlowRssQueues);
}

TEST(FlowArrays, RssThatIsSaid) {
  FlowRule rule;
  AddAction(rule, "drop");
  AddAction(rule, "rss").rss = {.types = RTE_ETH_RSS_ESP,
                                .queues = std::vector<uint16_t>{6, 2},
                                .function = RTE_ETH_HASH_FUNCTION_TOEPLITZ,
                                .level = 2,
                                .key = {0xaa, 0xbb, 0xcc},
                                .key_length = std::nullopt};
  AddAction(rule, "rss").rss.queues.emplace();
  const FlowArrays arrays(rule, 3);
  const rte_flow_action_rss& rss = Rss(arrays, 1);
  EXPECT_EQ(rss.func, RTE_ETH_HASH_FUNCTION_TOEPLITZ);
  EXPECT_EQ(rss.types, RTE_ETH_RSS_ESP);
  EXPECT_EQ(rss.level, 2U);
  EXPECT_THAT(std::vector<uint8_t>(rss.key, rss.key + rss.key_len), ElementsAre(0xaa, 0xbb, 0xcc));
  EXPECT_THAT(Queues(rss), ElementsAre(6, 2));
  EXPECT_EQ(Rss(arrays, 2).queue_num, 0U);
  EXPECT_EQ(Rss(arrays, 2).queue, nullptr);
}

TEST(FlowArrays, ARssKeyIsCutOrFilledUp) {
  struct {
    std::vector<uint8_t> key;
    std::optional<uint32_t> length;
    std::vector<uint8_t> given;  // Empty: no key.
  } const kRows[] = {
      {{1, 2, 3}, 5, {1, 2, 3, 0, 0}}, {{1, 2, 3}, 2, {1, 2}}, {{1, 2, 3}, 0, {}}, {{}, 40, {}}};
  for (const auto& row : kRows) {
    FlowRule rule;
    FlowRss& said = AddAction(rule, "rss").rss;
    said.key = row.key;
    said.key_length = row.length;
    const FlowArrays arrays(rule, 1);
    const rte_flow_action_rss& rss = Rss(arrays);
    EXPECT_EQ(rss.key_len, *row.length);
    EXPECT_EQ(rss.key != nullptr, !row.given.empty());
    if (rss.key != nullptr) {
      EXPECT_EQ(std::vector<uint8_t>(rss.key, rss.key + rss.key_len), row.given);
    }
  }
}

TEST(FlowArrays, WhatADriverPointsTo) {
  const FlowRule rule = Example();
  const FlowArrays arrays(rule, 4);
  EXPECT_EQ(arrays.Describe(&arrays.attributes()), "attributes");
  EXPECT_EQ(arrays.Describe(&arrays.items()[0]), "item 1 (eth)");
  EXPECT_EQ(arrays.Describe(arrays.items()[1].spec), "item 2 (vlan)");
  EXPECT_EQ(arrays.Describe(arrays.items()[2].last), "item 3 (ipv4)");
  EXPECT_EQ(arrays.Describe(arrays.items()[2].mask), "item 3 (ipv4)");
  EXPECT_EQ(arrays.Describe(&arrays.items()[3]), "end of the pattern");
  EXPECT_EQ(arrays.Describe(&arrays.actions()[0]), "action 1 (mark)");
  EXPECT_EQ(arrays.Describe(arrays.actions()[1].conf), "action 2 (queue)");
  EXPECT_EQ(arrays.Describe(&arrays.actions()[2]), "end of the actions");
  EXPECT_EQ(arrays.Describe(nullptr), "");
  EXPECT_EQ(arrays.Describe(&rule), "");
}

TEST(FlowRule, Text) {
  EXPECT_EQ(FormatFlowRule(Example()),
            "group 1 priority 2 ingress pattern eth / vlan vid is 100 / "
            "ipv4 src spec 192.0.2.0 src mask 255.255.255.0 src last 192.0.2.9 / end "
            "actions mark id 7 / queue index 3 / end");
  EXPECT_EQ(FormatFlowRule(FlowRule()), "pattern end actions end");
}

TEST(FlowRule, TextOfWhatIsThereAndZero) {
  FlowRule rule;
  rule.egress = true;
  rule.transfer = true;
  FlowItem& udp = AddItem(rule, "udp");
  udp.spec.resize(udp.kind->bytes);
  udp.last.resize(udp.kind->bytes);
  FlowItem& vlan = AddItem(rule, "vlan");
  vlan.mask.resize(vlan.kind->bytes);
  EXPECT_EQ(
      FormatFlowRule(rule),
      "egress transfer pattern udp src spec 0 src last 0 / vlan pcp mask 0 / end actions end");
}

TEST(FlowRule, TextOfRssAndSecurity) {
  FlowRule rule;
  AddAction(rule, "rss").rss = {.types = RTE_ETH_RSS_IP | RTE_ETH_RSS_NONFRAG_IPV4_UDP,
                                .queues = std::vector<uint16_t>{1, 2},
                                .function = RTE_ETH_HASH_FUNCTION_SYMMETRIC_TOEPLITZ,
                                .level = 1,
                                .key = {0x0a, 0xbb},
                                .key_length = 40};
  FlowAction& none = AddAction(rule, "rss");
  none.rss.types = 0;
  none.rss.queues.emplace();
  AddAction(rule, "rss");
  AddAction(rule, "security").session = 5;
  EXPECT_EQ(FormatFlowRule(rule),
            "pattern end actions rss func symmetric_toeplitz level 1 types ip ipv4-udp end "
            "key 0abb key_len 40 queues 1 2 end / rss types end queues end / rss / "
            "security security_session 5 / end");
}

TEST(FlowRule, Summary) {
  FlowRule rule = Example();
  AddItem(rule, "void");
  AddAction(rule, "void");
  EXPECT_EQ(SummarizeFlowRule(rule), "ETH VLAN IPV4 => MARK QUEUE");
  EXPECT_EQ(SummarizeFlowRule(FlowRule()), "=>");
}

}  // namespace
}  // namespace penstock
