// SPDX-License-Identifier: BSD-3-Clause
#include "lib/port/flow_rule.h"

#include <rte_ethdev.h>

#include <algorithm>
#include <numeric>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/port/flow_value.h"

namespace penstock {
namespace {

using Words = std::vector<std::string>;

void FormatItem(const FlowItem& item, Words& words) {
  words.emplace_back(item.kind->name);
  bool spec = item.spec.empty();  // Nothing of it is left to be said.
  bool last = item.last.empty();
  bool mask = item.mask.empty();
  const auto say = [&](const FlowField& field, absl::string_view parameter, std::string value) {
    words.emplace_back(field.name);
    words.emplace_back(parameter);
    words.push_back(std::move(value));
  };
  for (const FlowField& field : item.kind->fields) {
    // What the parts have said already.
    if (field.name == "tci") continue;
    const bool full = !item.mask.empty() && IsFullFlowField(field, item.mask);
    if (full && !item.spec.empty()) {
      say(field, "is", FormatFlowValue(field, item.spec));
      spec = mask = true;
    } else {
      if (!item.spec.empty() && !IsZeroFlowField(field, item.spec)) {
        say(field, "spec", FormatFlowValue(field, item.spec));
        spec = true;
      }
      if (!item.mask.empty() && !IsZeroFlowField(field, item.mask)) {
        say(field, "mask", FormatFlowValue(field, item.mask));
        mask = true;
      }
    }
    if (!item.last.empty() && !IsZeroFlowField(field, item.last)) {
      say(field, "last", FormatFlowValue(field, item.last));
      last = true;
    }
  }
  // There, and zero in every field: said of any field.
  if (item.kind->fields.empty()) return;
  const FlowField& any = item.kind->fields.front();
  if (!spec) say(any, "spec", FormatFlowValue(any, item.spec));
  if (!mask) say(any, "mask", FormatFlowValue(any, item.mask));
  if (!last) say(any, "last", FormatFlowValue(any, item.last));
}

void FormatRss(const FlowRss& rss, Words& words) {
  if (rss.function != RTE_ETH_HASH_FUNCTION_DEFAULT) {
    for (const FlowRssFunction& each : FlowRssFunctions()) {
      if (each.function == rss.function) words.push_back(absl::StrCat("func ", each.name));
    }
  }
  if (rss.level != 0) words.push_back(absl::StrCat("level ", rss.level));
  if (rss.types) {
    words.emplace_back("types");
    uint64_t left = *rss.types;
    for (const FlowRssType& each : FlowRssTypes()) {
      if (each.types == 0 || (each.types & ~*rss.types) != 0 || (each.types & left) == 0) continue;
      words.emplace_back(each.name);
      left &= ~each.types;
    }
    words.emplace_back("end");
  }
  // After a key, which sets it.
  if (!rss.key.empty()) {
    const std::string bytes(rss.key.begin(), rss.key.end());
    words.push_back(absl::StrCat("key ", absl::BytesToHexString(bytes)));
  }
  if (rss.key_length) words.push_back(absl::StrCat("key_len ", *rss.key_length));
  if (rss.queues) {
    words.emplace_back("queues");
    for (const uint16_t queue : *rss.queues) words.push_back(absl::StrCat(queue));
    words.emplace_back("end");
  }
}

void FormatAction(const FlowAction& action, Words& words) {
  words.emplace_back(action.kind->name);
  switch (action.kind->form) {
    case FlowActionKind::Form::kFields:
      for (const FlowField& field : action.kind->fields) {
        if (IsZeroFlowField(field, action.conf)) continue;  // As if it were not said.
        words.emplace_back(field.name);
        words.push_back(FormatFlowValue(field, action.conf));
      }
      break;
    case FlowActionKind::Form::kRss:
      FormatRss(action.rss, words);
      break;
    case FlowActionKind::Form::kSecurity:
      words.push_back(absl::StrCat("security_session ", action.session));
      break;
  }
}

}  // namespace

std::string FormatFlowRule(const FlowRule& rule) {
  Words words;
  if (rule.group != 0) words.push_back(absl::StrCat("group ", rule.group));
  if (rule.priority != 0) words.push_back(absl::StrCat("priority ", rule.priority));
  if (rule.ingress) words.emplace_back("ingress");
  if (rule.egress) words.emplace_back("egress");
  if (rule.transfer) words.emplace_back("transfer");
  words.emplace_back("pattern");
  for (const FlowItem& item : rule.pattern) {
    FormatItem(item, words);
    words.emplace_back("/");
  }
  words.emplace_back("end actions");
  for (const FlowAction& action : rule.actions) {
    FormatAction(action, words);
    words.emplace_back("/");
  }
  words.emplace_back("end");
  return absl::StrJoin(words, " ");
}

std::string SummarizeFlowRule(const FlowRule& rule) {
  std::string text;
  for (const FlowItem& item : rule.pattern) {
    if (item.kind->type == RTE_FLOW_ITEM_TYPE_VOID) continue;
    absl::StrAppend(&text, absl::AsciiStrToUpper(item.kind->name), " ");
  }
  absl::StrAppend(&text, "=>");
  for (const FlowAction& action : rule.actions) {
    if (action.kind->type == RTE_FLOW_ACTION_TYPE_VOID) continue;
    absl::StrAppend(&text, " ", absl::AsciiStrToUpper(action.kind->name));
  }
  return text;
}

FlowArrays::FlowArrays(const FlowRule& rule, uint16_t rx_queues) : rule_(rule) {
  attributes_.group = rule.group;
  attributes_.priority = rule.priority;
  attributes_.ingress = rule.ingress ? 1 : 0;
  attributes_.egress = rule.egress ? 1 : 0;
  attributes_.transfer = rule.transfer ? 1 : 0;
  const auto pointer = [](const std::vector<uint8_t>& bytes) -> const void* {
    return bytes.empty() ? nullptr : bytes.data();
  };
  for (const FlowItem& item : rule.pattern) {
    items_.push_back({.type = item.kind->type,
                      .spec = pointer(item.spec),
                      .last = pointer(item.last),
                      .mask = pointer(item.mask)});
  }
  items_.push_back(
      {.type = RTE_FLOW_ITEM_TYPE_END, .spec = nullptr, .last = nullptr, .mask = nullptr});
  rss_.reserve(rule.actions.size());  // Its elements are pointed to.
  for (const FlowAction& action : rule.actions) {
    const void* conf = pointer(action.conf);
    if (action.kind->form == FlowActionKind::Form::kRss) conf = AddRss(action.rss, rx_queues);
    if (action.kind->form == FlowActionKind::Form::kSecurity) conf = &security_;
    actions_.push_back({.type = action.kind->type, .conf = conf});
  }
  actions_.push_back({.type = RTE_FLOW_ACTION_TYPE_END, .conf = nullptr});
}

const void* FlowArrays::AddRss(const FlowRss& rss, uint16_t rx_queues) {
  Rss& made = rss_.emplace_back();
  made.key = rss.key;
  if (!rss.key.empty()) made.key.resize(rss.key_length.value_or(rss.key.size()));
  if (rss.queues) {
    made.queues = *rss.queues;
  } else {
    made.queues.resize(std::min<size_t>(rx_queues, kMaxFlowRssQueues));
    std::iota(made.queues.begin(), made.queues.end(), uint16_t{0});
  }
  made.conf = {.func = rss.function,
               .level = rss.level,
               .types = rss.types.value_or(RTE_ETH_RSS_IP),
               .key_len = rss.key_length.value_or(static_cast<uint32_t>(rss.key.size())),
               .queue_num = static_cast<uint32_t>(made.queues.size()),
               .key = made.key.empty() ? nullptr : made.key.data(),
               .queue = made.queues.empty() ? nullptr : made.queues.data()};
  return &made.conf;
}

std::string FlowArrays::Describe(const void* cause) const {
  if (cause == nullptr) return "";
  if (cause == &attributes_) return "attributes";
  if (cause == items_.data() + rule_.pattern.size()) return "end of the pattern";
  for (size_t i = 0; i < rule_.pattern.size(); ++i) {
    const rte_flow_item& item = items_[i];
    if (cause == &item || cause == item.spec || cause == item.last || cause == item.mask) {
      return absl::StrCat("item ", i + 1, " (", rule_.pattern[i].kind->name, ")");
    }
  }
  if (cause == actions_.data() + rule_.actions.size()) return "end of the actions";
  for (size_t i = 0; i < rule_.actions.size(); ++i) {
    if (cause == &actions_[i] || cause == actions_[i].conf) {
      return absl::StrCat("action ", i + 1, " (", rule_.actions[i].kind->name, ")");
    }
  }
  return "";
}

}  // namespace penstock
