// SPDX-License-Identifier: BSD-3-Clause
//
// The words of flow rules and what each stands for in rte_flow: pattern items and actions with
// their fields, RSS types and hash functions. One table for everybody: the parser, the completer
// and the formatter of rules all read it, so an item or a field is added here and nowhere else. The
// words are those of dpdk-testpmd. Constant data, any thread.
//
// A field says where its value stands in the item's (or action's) structure: `bytes` bytes from
// `offset` on. A number has `bits` of the integer that those bytes are, so VLAN's `vid` is
// bits 0x0fff of a 2-byte integer in network order. An address has whole bytes as on the wire.

#ifndef PENSTOCK_LIB_PORT_FLOW_VOCABULARY_H_
#define PENSTOCK_LIB_PORT_FLOW_VOCABULARY_H_

#include <rte_flow.h>

#include <cstdint>
#include <span>

#include "absl/strings/string_view.h"

namespace penstock {

struct FlowField {
  enum class Kind { kNetworkNumber, kHostNumber, kMac, kIpv4, kIpv6 };
  absl::string_view name;
  absl::string_view help;
  Kind kind;
  uint16_t offset;
  uint16_t bytes;
  uint64_t bits;  // Of a number: which of the integer are the field's, without a gap.
};

struct FlowItemKind {
  absl::string_view name;
  absl::string_view help;
  rte_flow_item_type type;
  uint16_t bytes;  // Of spec, last and mask each. 0: the item has none.
  std::span<const FlowField> fields;
};

struct FlowActionKind {
  // kFields: the configuration is `bytes` of `fields`, or there is none.
  enum class Form { kFields, kRss, kSecurity };
  absl::string_view name;
  absl::string_view help;
  rte_flow_action_type type;
  Form form;
  uint16_t bytes;
  std::span<const FlowField> fields;
};

struct FlowRssType {
  absl::string_view name;
  uint64_t types;  // RTE_ETH_RSS_*
};

struct FlowRssFunction {
  absl::string_view name;
  rte_eth_hash_function function;
};

std::span<const FlowItemKind> FlowItems();
std::span<const FlowActionKind> FlowActions();
std::span<const FlowRssType> FlowRssTypes();
std::span<const FlowRssFunction> FlowRssFunctions();

// A word of dpdk-testpmd beyond these, to be answered as known and not offered.
struct FlowElsewhere {
  absl::string_view name;
  absl::string_view instead;  // What to use, or why there is nothing.
};
std::span<const FlowElsewhere> FlowItemsElsewhere();
std::span<const FlowElsewhere> FlowActionsElsewhere();

// Null when there is none of that name.
const FlowItemKind* FindFlowItem(absl::string_view name);
const FlowActionKind* FindFlowAction(absl::string_view name);

// As dpdk-testpmd has them, and what an rte_flow driver may be handed.
inline constexpr size_t kMaxFlowRssKeyBytes = 64;
inline constexpr size_t kMaxFlowRssQueues = 128;

}  // namespace penstock

#endif  // PENSTOCK_LIB_PORT_FLOW_VOCABULARY_H_
