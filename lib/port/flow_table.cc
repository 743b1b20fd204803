// SPDX-License-Identifier: BSD-3-Clause
#include "lib/port/flow_table.h"

#include <rte_errno.h>
#include <rte_ethdev.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lib/base/log.h"
#include "lib/base/status.h"

namespace penstock {
namespace {

// What of a rule an error is about. `of` says how it goes together with the item or action that the
// driver points to; empty where that is the same.
struct ErrorType {
  rte_flow_error_type type;
  absl::string_view what;
  absl::string_view of;
};

constexpr ErrorType kErrorTypes[] = {
    {RTE_FLOW_ERROR_TYPE_HANDLE, "the rule as a whole", "the rule, "},
    {RTE_FLOW_ERROR_TYPE_ATTR_GROUP, "group", "group, "},
    {RTE_FLOW_ERROR_TYPE_ATTR_PRIORITY, "priority", "priority, "},
    {RTE_FLOW_ERROR_TYPE_ATTR_INGRESS, "ingress", "ingress, "},
    {RTE_FLOW_ERROR_TYPE_ATTR_EGRESS, "egress", "egress, "},
    {RTE_FLOW_ERROR_TYPE_ATTR_TRANSFER, "transfer", "transfer, "},
    {RTE_FLOW_ERROR_TYPE_ATTR, "attributes", ""},
    {RTE_FLOW_ERROR_TYPE_ITEM_NUM, "length of the pattern", "length of the pattern, "},
    {RTE_FLOW_ERROR_TYPE_ITEM_SPEC, "spec of an item", "spec of "},
    {RTE_FLOW_ERROR_TYPE_ITEM_LAST, "last of an item", "last of "},
    {RTE_FLOW_ERROR_TYPE_ITEM_MASK, "mask of an item", "mask of "},
    {RTE_FLOW_ERROR_TYPE_ITEM, "an item", ""},
    {RTE_FLOW_ERROR_TYPE_ACTION_NUM, "number of actions", "number of actions, "},
    {RTE_FLOW_ERROR_TYPE_ACTION_CONF, "configuration of an action", "configuration of "},
    {RTE_FLOW_ERROR_TYPE_ACTION, "an action", ""},
};

std::string DescribeType(rte_flow_error_type type, absl::string_view part) {
  for (const ErrorType& each : kErrorTypes) {
    if (each.type == type)
      return part.empty() ? std::string(each.what) : absl::StrCat(each.of, part);
  }
  return std::string(part);
}

const FlowAction* FindAction(const FlowRule& rule, FlowActionKind::Form form,
                             rte_flow_action_type type) {
  const auto found = std::ranges::find_if(rule.actions, [&](const FlowAction& action) {
    return action.kind->form == form && action.kind->type == type;
  });
  return found == rule.actions.end() ? nullptr : &*found;
}

}  // namespace

FlowTable::FlowTable(uint16_t port, absl::string_view name, absl::string_view driver)
    : port_(port), driver_(driver), where_(absl::StrCat("port ", port, " (", name, ")")) {}

uint16_t FlowTable::RxQueues() const {
  rte_eth_dev_info info{};
  return rte_eth_dev_info_get(port_, &info) == 0 ? info.nb_rx_queues : uint16_t{0};
}

bool FlowTable::KeepsRules() const {
  rte_eth_dev_info info{};
  return rte_eth_dev_info_get(port_, &info) == 0 &&
         (info.dev_capa & RTE_ETH_DEV_CAPA_FLOW_RULE_KEEP) != 0;
}

absl::Status FlowTable::CheckSessions(const FlowRule& rule) const {
  const FlowAction* security =
      FindAction(rule, FlowActionKind::Form::kSecurity, RTE_FLOW_ACTION_TYPE_SECURITY);
  if (security == nullptr) return absl::OkStatus();
  return absl::NotFoundError(
      absl::StrCat("no security session ", security->session, " on ", where_));
}

absl::Status FlowTable::Refusal(absl::string_view asked, absl::string_view kind, int error,
                                const rte_flow_error& said, const FlowArrays* arrays) const {
  error = std::abs(error);
  absl::string_view message = said.message == nullptr ? "" : said.message;
  // What every driver without a message of its own says.
  if (message == rte_strerror(error)) message = "";
  const bool unspecified =
      said.type == RTE_FLOW_ERROR_TYPE_NONE || said.type == RTE_FLOW_ERROR_TYPE_UNSPECIFIED;
  if (unspecified && message.empty() && (error == ENOSYS || error == ENOTSUP)) {
    return absl::UnimplementedError(absl::StrCat(where_, ": ", driver_, " offers no ", kind));
  }
  std::string what = DescribeType(said.type, arrays == nullptr ? "" : arrays->Describe(said.cause));
  if (!message.empty()) absl::StrAppend(&what, what.empty() ? "" : ": ", message);
  return ErrnoStatus(error, absl::StrCat(where_, ": ", driver_, " refuses the ", asked,
                                         what.empty() ? "" : ": ", what));
}

absl::Status FlowTable::NoRule(uint32_t id) const {
  return absl::NotFoundError(absl::StrCat(
      "no flow rule ", id, " on ", where_, "; ",
      rules_.empty() ? "it has none" : absl::StrCat("'flow list ", port_, "' shows its rules")));
}

absl::Status FlowTable::Validate(const FlowRule& rule) const {
  PENSTOCK_RETURN_IF_ERROR(CheckSessions(rule));
  const FlowArrays arrays(rule, RxQueues());
  rte_flow_error said{};  // Some drivers leave it as it is.
  const int error =
      rte_flow_validate(port_, &arrays.attributes(), arrays.items(), arrays.actions(), &said);
  return error == 0 ? absl::OkStatus() : Refusal("flow rule", "flow rules", error, said, &arrays);
}

absl::StatusOr<uint32_t> FlowTable::Create(FlowRule rule) {
  PENSTOCK_RETURN_IF_ERROR(CheckSessions(rule));
  // rte_flow: without RTE_ETH_DEV_CAPA_FLOW_RULE_KEEP no rule before the first start, nor kept
  // while the port is stopped.
  if (!started_ && !KeepsRules()) {
    // Whoever starts the port for a rule is to get one: not where the driver has none at all.
    if (const absl::Status valid = Validate(rule); absl::IsUnimplemented(valid)) return valid;
    return absl::FailedPreconditionError(
        absl::StrCat(where_, " is stopped, and ", driver_,
                     " takes flow rules only while it runs; start the port first"));
  }
  uint32_t id = 0;
  if (!rules_.empty()) {
    if (rules_.back().id == std::numeric_limits<uint32_t>::max()) {
      return absl::ResourceExhaustedError(absl::StrCat(
          where_, ": the highest id of a flow rule is taken; destroy rule ", rules_.back().id));
    }
    id = rules_.back().id + 1;
  }
  const FlowArrays arrays(rule, RxQueues());
  rte_flow_error said{};
  rte_errno = 0;
  rte_flow* const handle =
      rte_flow_create(port_, &arrays.attributes(), arrays.items(), arrays.actions(), &said);
  if (handle == nullptr) return Refusal("flow rule", "flow rules", rte_errno, said, &arrays);
  rules_.push_back({id, std::move(rule), handle});
  return id;
}

const FlowTable::Entry* FlowTable::Find(uint32_t id) const {
  const auto found = std::ranges::find(rules_, id, &Entry::id);
  return found == rules_.end() ? nullptr : &*found;
}

absl::Status FlowTable::Destroy(uint32_t id) {
  const auto found = std::ranges::find(rules_, id, &Entry::id);
  if (found == rules_.end()) return NoRule(id);
  rte_flow_error said{};
  if (const int error = rte_flow_destroy(port_, found->handle, &said); error != 0) {
    return Refusal(absl::StrCat("destruction of flow rule ", id), "destruction of flow rules",
                   error, said, nullptr);
  }
  rules_.erase(found);
  return absl::OkStatus();
}

absl::Status FlowTable::Flush() {
  // Not asked where nothing was made: a driver without flow rules would only complain.
  if (rules_.empty()) return absl::OkStatus();
  rules_.clear();
  rte_flow_error said{};
  const int error = rte_flow_flush(port_, &said);
  return error == 0
             ? absl::OkStatus()
             : Refusal("flush of its flow rules", "flush of flow rules", error, said, nullptr);
}

absl::StatusOr<FlowCount> FlowTable::QueryCount(uint32_t id) const {
  const Entry* const entry = Find(id);
  if (entry == nullptr) return NoRule(id);
  const FlowAction* const count =
      FindAction(entry->rule, FlowActionKind::Form::kFields, RTE_FLOW_ACTION_TYPE_COUNT);
  if (count == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("flow rule ", id, " of ", where_, " does not count; it has no action count"));
  }
  const rte_flow_action action = {.type = count->kind->type, .conf = count->conf.data()};
  rte_flow_query_count counted{};
  rte_flow_error said{};
  const int error = rte_flow_query(port_, entry->handle, &action, &counted, &said);
  if (error != 0) {
    return Refusal(absl::StrCat("query of flow rule ", id), "query of flow rules", error, said,
                   nullptr);
  }
  FlowCount result;
  if (counted.hits_set != 0) result.packets = counted.hits;
  if (counted.bytes_set != 0) result.bytes = counted.bytes;
  return result;
}

std::string FlowTable::List(std::span<const uint32_t> groups) const {
  if (rules_.empty()) return "";
  std::vector<const Entry*> sorted;
  for (const Entry& entry : rules_) {
    const bool wanted =
        groups.empty() || std::ranges::find(groups, entry.rule.group) != groups.end();
    if (wanted) sorted.push_back(&entry);
  }
  std::ranges::sort(sorted, {}, [](const Entry* entry) {
    return std::tuple(entry->rule.group, entry->rule.priority, entry->id);
  });
  std::string text = "ID\tGroup\tPrio\tAttr\tRule\n";
  for (const Entry* entry : sorted) {
    const FlowRule& rule = entry->rule;
    absl::StrAppendFormat(&text, "%d\t%d\t%d\t%c%c%c\t%s\n", entry->id, rule.group, rule.priority,
                          rule.ingress ? 'i' : '-', rule.egress ? 'e' : '-',
                          rule.transfer ? 't' : '-', SummarizeFlowRule(rule));
  }
  return text;
}

// ---- what happens to the port ----

void FlowTable::PortStops() {
  // rte_flow: without RTE_ETH_DEV_CAPA_FLOW_RULE_KEEP the application destroys them before the
  // stop.
  if (!KeepsRules()) DestroyBecause("the port stops");
  started_ = false;
}

// rte_flow: rte_eth_dev_configure() may fail if any rules remain, with that capability or without.
void FlowTable::PortIsSetUp() { DestroyBecause("the port is set up anew"); }

void FlowTable::PortCloses() {
  const size_t rules = rules_.size();
  if (rules == 0) return;
  const absl::Status status = Flush();
  if (!status.ok()) Log(Severity::kWarning, status.message());
  Log(Severity::kInfo, where_, ": closes; flow rules destroyed: ", rules);
}

void FlowTable::DestroyBecause(absl::string_view why) {
  const std::vector<Entry> gone = rules_;
  const absl::Status status = Flush();
  if (!status.ok()) Log(Severity::kWarning, status.message());
  for (const Entry& entry : gone) {
    Log(Severity::kWarning, where_, ": flow rule ", entry.id, " is destroyed because ", why,
        "; to have it again: flow create ", port_, " ", FormatFlowRule(entry.rule));
  }
}

}  // namespace penstock
