// SPDX-License-Identifier: BSD-3-Clause
//
// FlowTable: the flow rules of one port, made and unmade through rte_flow. Control thread only.
//
//   FlowTable table(0, "net_tap0", "net_tap");
//   PENSTOCK_ASSIGN_OR_RETURN(const uint32_t id, table.Create(rule));
//   …
//   PENSTOCK_RETURN_IF_ERROR(table.Destroy(id));
//
// Rules are numbered per port as dpdk-testpmd does: the next is one more than the highest there is.
// A refusal is one line with what the driver says: which part of the rule, its message, the error.
// Unimplemented: the driver has no flow rules at all.
//
// Rules live as long as the driver lets them. Most drivers take them only while the port runs, and
// none promises to keep them over a new set-up; so the port tells its table what it is about to do,
// and what then has to go is destroyed beforehand and named in the log with the command that makes
// it again. Forwarding that starts and stops leaves the port running, and its rules alone.

#ifndef PENSTOCK_LIB_PORT_FLOW_TABLE_H_
#define PENSTOCK_LIB_PORT_FLOW_TABLE_H_

#include <rte_flow.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/port/flow_rule.h"

namespace penstock {

// What a rule counted; a driver may know only one of them.
struct FlowCount {
  std::optional<uint64_t> packets;
  std::optional<uint64_t> bytes;
};

class FlowTable {
 public:
  struct Entry {
    uint32_t id;
    FlowRule rule;
    rte_flow* handle;  // The driver's.
  };

  FlowTable(uint16_t port, absl::string_view name, absl::string_view driver);

  // Whether the port would create the rule; nothing is changed.
  absl::Status Validate(const FlowRule& rule) const;

  // The rule's id. FailedPrecondition when the port does not run and its driver does not take rules
  // then.
  absl::StatusOr<uint32_t> Create(FlowRule rule);

  // NotFound for an id that no rule has. A rule that the driver does not destroy stays in the
  // table.
  absl::Status Destroy(uint32_t id);

  // Destroys all. On an error they are gone as well: rte_flow says of a flush that fails that the
  // handles are no longer valid and the port's state is unknown.
  absl::Status Flush();

  // FailedPrecondition for a rule without a count action.
  absl::StatusOr<FlowCount> QueryCount(uint32_t id) const;

  // By id.
  std::span<const Entry> rules() const { return rules_; }
  const Entry* Find(uint32_t id) const;

  // As dpdk-testpmd shows them, by group, priority and id: of the groups named, or of all. Empty
  // when there is no rule at all.
  std::string List(std::span<const uint32_t> groups) const;

  // ---- What happens to the port, told by it: the last three before it happens. ----
  void PortStarted() { started_ = true; }
  void PortStops();
  void PortIsSetUp();
  void PortCloses();

 private:
  uint16_t RxQueues() const;
  bool KeepsRules() const;  // While the port is stopped.
  absl::Status CheckSessions(const FlowRule& rule) const;
  // Of something asked of the driver, one of a kind. `error` is what the call gave, in either sign.
  absl::Status Refusal(absl::string_view asked, absl::string_view kind, int error,
                       const rte_flow_error& said, const FlowArrays* arrays) const;
  absl::Status NoRule(uint32_t id) const;
  void DestroyBecause(absl::string_view why);

  uint16_t port_;
  std::string driver_;
  std::string where_;  // "port 0 (net_tap0)"
  bool started_ = false;
  std::vector<Entry> rules_;
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_PORT_FLOW_TABLE_H_
