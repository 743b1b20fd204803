// SPDX-License-Identifier: BSD-3-Clause
//
// FlowRule: a flow rule as plain data, what rte_flow is handed of it, and its text. Control path,
// any thread.
//
//   FlowRule rule;                                   // As a parser fills it, or a program.
//   FlowItem& eth = rule.pattern.emplace_back(FlowItem{.kind = FindFlowItem("eth")});
//   FlowAction& queue = rule.actions.emplace_back(*FindFlowAction("queue"));
//   StoreFlowValue(queue.kind->fields[0], "3", queue.conf);
//   FlowArrays arrays(rule, rx_queues);
//   rte_flow_validate(port, &arrays.attributes(), arrays.items(), arrays.actions(), &error);
//
// An item's spec, last and mask are each empty, which rte_flow takes as absent, or kind->bytes
// long: a field that is not named is zero in all three.

#ifndef PENSTOCK_LIB_PORT_FLOW_RULE_H_
#define PENSTOCK_LIB_PORT_FLOW_RULE_H_

#include <rte_flow.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "lib/port/flow_vocabulary.h"

namespace penstock {

struct FlowItem {
  const FlowItemKind* kind = nullptr;
  std::vector<uint8_t> spec;
  std::vector<uint8_t> last;  // The upper end of a range that begins at spec.
  std::vector<uint8_t> mask;

  friend bool operator==(const FlowItem&, const FlowItem&) = default;
};

// Of an rss action. What is not given is the default: the types of RTE_ETH_RSS_IP, all RX queues of
// the port.
struct FlowRss {
  std::optional<uint64_t> types;
  std::optional<std::vector<uint16_t>> queues;  // At most kMaxFlowRssQueues.
  rte_eth_hash_function function = RTE_ETH_HASH_FUNCTION_DEFAULT;
  uint32_t level = 0;
  std::vector<uint8_t> key;  // At most kMaxFlowRssKeyBytes.
  // Of the key, which is cut or filled up with zeros; without a key, of the driver's own.
  std::optional<uint32_t> key_length;

  friend bool operator==(const FlowRss&, const FlowRss&) = default;
};

struct FlowAction {
  FlowAction() = default;
  explicit FlowAction(const FlowActionKind& action) : kind(&action), conf(action.bytes) {}

  const FlowActionKind* kind = nullptr;
  std::vector<uint8_t> conf;  // kind->bytes.
  FlowRss rss;                // Of form kRss.
  uint32_t session = 0;       // Of form kSecurity.

  friend bool operator==(const FlowAction&, const FlowAction&) = default;
};

struct FlowRule {
  uint32_t group = 0;
  uint32_t priority = 0;
  bool ingress = false;
  bool egress = false;
  bool transfer = false;
  std::vector<FlowItem> pattern;    // Without the end.
  std::vector<FlowAction> actions;  // Without the end.

  friend bool operator==(const FlowRule&, const FlowRule&) = default;
};

// The rule as `flow create PORT` takes it: "ingress pattern eth / end actions drop / end". What is
// read back from it is the same rule.
std::string FormatFlowRule(const FlowRule& rule);

// Its items and actions: "ETH IPV4 => MARK QUEUE".
std::string SummarizeFlowRule(const FlowRule& rule);

// A rule as rte_flow takes it. Points into the rule, which outlives it unchanged. Sessions of
// security actions are null.
class FlowArrays {
 public:
  // `rx_queues` of the port.
  FlowArrays(const FlowRule& rule, uint16_t rx_queues);
  FlowArrays(const FlowArrays&) = delete;
  FlowArrays& operator=(const FlowArrays&) = delete;

  const rte_flow_attr& attributes() const { return attributes_; }
  const rte_flow_item* items() const { return items_.data(); }
  const rte_flow_action* actions() const { return actions_.data(); }

  // What of the rule a driver's complaint points to: "item 2 (ipv4)", "action 1 (queue)",
  // "attributes". Empty when it points to nothing of it.
  std::string Describe(const void* cause) const;

 private:
  // What an rss action points to.
  struct Rss {
    std::vector<uint8_t> key;
    std::vector<uint16_t> queues;
    rte_flow_action_rss conf;
  };
  const void* AddRss(const FlowRss& rss, uint16_t rx_queues);

  const FlowRule& rule_;
  rte_flow_attr attributes_{};
  std::vector<rte_flow_item> items_;
  std::vector<rte_flow_action> actions_;
  std::vector<Rss> rss_;
  rte_flow_action_security security_{};
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_PORT_FLOW_RULE_H_
