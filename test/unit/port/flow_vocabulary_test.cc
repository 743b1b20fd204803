// SPDX-License-Identifier: BSD-3-Clause
//
// The words of flow rules, against the names that rte_flow itself has for its items and actions.
// Main lcore.

#include "lib/port/flow_vocabulary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rte_ethdev.h>

#include <algorithm>
#include <bit>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"

namespace penstock {
namespace {

using testing::ElementsAre;

std::string NameInDpdk(rte_flow_conv_op operation, unsigned type) {
  const char* name = nullptr;
  const int written = rte_flow_conv(operation, static_cast<void*>(&name), sizeof(name),
                                    reinterpret_cast<const void*>(uintptr_t{type}), nullptr);
  return written > 0 ? name : "";
}

template <typename Rows>
std::vector<std::string> Names(const Rows& rows) {
  std::vector<std::string> names;
  for (const auto& row : rows) names.emplace_back(row.name);
  return names;
}

TEST(FlowVocabulary, ItemsAreWhatRteFlowCallsThem) {
  for (const FlowItemKind& item : FlowItems()) {
    EXPECT_EQ(NameInDpdk(RTE_FLOW_CONV_OP_ITEM_NAME_PTR, item.type),
              absl::AsciiStrToUpper(item.name));
    EXPECT_EQ(FindFlowItem(item.name), &item);
    EXPECT_FALSE(item.help.empty());
  }
  EXPECT_EQ(FindFlowItem("end"), nullptr);
}

TEST(FlowVocabulary, ActionsAreWhatRteFlowCallsThem) {
  for (const FlowActionKind& action : FlowActions()) {
    EXPECT_EQ(NameInDpdk(RTE_FLOW_CONV_OP_ACTION_NAME_PTR, action.type),
              absl::AsciiStrToUpper(action.name));
    EXPECT_EQ(FindFlowAction(action.name), &action);
    EXPECT_FALSE(action.help.empty());
  }
  EXPECT_EQ(FindFlowAction("end"), nullptr);
}

// rte_flow copies as many bytes of a spec as its structure has: from a larger buffer, no others.
TEST(FlowVocabulary, StructuresAreAsLongAsRteFlowTakesThem) {
  for (const FlowItemKind& kind : FlowItems()) {
    const std::vector<uint8_t> bytes(kind.bytes + 64U, 0xab);
    const rte_flow_item item = {
        .type = kind.type, .spec = bytes.data(), .last = nullptr, .mask = nullptr};
    EXPECT_EQ(rte_flow_conv(RTE_FLOW_CONV_OP_ITEM, nullptr, 0, &item, nullptr),
              static_cast<int>(sizeof(rte_flow_item)) + kind.bytes)
        << kind.name;
  }
}

TEST(FlowVocabulary, FieldsLieWithinTheirStructure) {
  const auto check = [](absl::string_view of, std::span<const FlowField> fields, size_t bytes) {
    std::set<absl::string_view> names;
    for (const FlowField& field : fields) {
      EXPECT_TRUE(names.insert(field.name).second) << of << " " << field.name << " twice";
      EXPECT_LE(size_t{field.offset} + field.bytes, bytes) << of << " " << field.name;
      const bool number = field.kind == FlowField::Kind::kNetworkNumber ||
                          field.kind == FlowField::Kind::kHostNumber;
      EXPECT_EQ(number, field.bits != 0) << of << " " << field.name;
      // Without a gap.
      if (number) {
        EXPECT_TRUE(std::has_single_bit((field.bits >> std::countr_zero(field.bits)) + 1));
      }
    }
    EXPECT_EQ(fields.empty(), bytes == 0) << of;
  };
  for (const FlowItemKind& item : FlowItems()) check(item.name, item.fields, item.bytes);
  for (const FlowActionKind& action : FlowActions())
    check(action.name, action.fields, action.bytes);
}

TEST(FlowVocabulary, TheWordsOfTheCommonItems) {
  EXPECT_THAT(Names(FlowItems()),
              ElementsAre("void", "any", "eth", "vlan", "ipv4", "ipv6", "udp", "tcp", "esp"));
  EXPECT_THAT(Names(FlowActions()),
              ElementsAre("void", "passthru", "mark", "queue", "drop", "count", "rss", "security"));
  EXPECT_THAT(Names(FindFlowItem("eth")->fields), ElementsAre("dst", "src", "type", "has_vlan"));
  EXPECT_THAT(Names(FindFlowItem("ipv4")->fields),
              ElementsAre("version_ihl", "tos", "packet_id", "fragment_offset", "ttl", "proto",
                          "src", "dst"));
  EXPECT_THAT(Names(FlowRssFunctions()),
              ElementsAre("default", "toeplitz", "simple_xor", "symmetric_toeplitz"));
}

TEST(FlowVocabulary, WhatIsElsewhereIsNotOfferedAndSaysWhatToUse) {
  std::set<absl::string_view> names;
  for (const FlowElsewhere& each : FlowItemsElsewhere()) {
    EXPECT_EQ(FindFlowItem(each.name), nullptr) << each.name;
    EXPECT_GT(each.instead.size(), 5U) << each.name;
    EXPECT_TRUE(names.insert(each.name).second) << each.name;
  }
  EXPECT_TRUE(names.contains("vxlan"));
  names.clear();
  for (const FlowElsewhere& each : FlowActionsElsewhere()) {
    EXPECT_EQ(FindFlowAction(each.name), nullptr) << each.name;
    EXPECT_GT(each.instead.size(), 5U) << each.name;
    EXPECT_TRUE(names.insert(each.name).second) << each.name;
  }
  EXPECT_TRUE(names.contains("jump"));
}

TEST(FlowVocabulary, RssTypesOfAGroupHaveNames) {
  uint64_t single = 0;
  std::set<absl::string_view> names;
  for (const FlowRssType& type : FlowRssTypes()) {
    EXPECT_TRUE(names.insert(type.name).second) << type.name;
    if (std::has_single_bit(type.types)) single |= type.types;
  }
  // So every set that names can give has names that give it.
  for (const FlowRssType& type : FlowRssTypes()) EXPECT_EQ(type.types & ~single, 0U) << type.name;
}

}  // namespace
}  // namespace penstock
