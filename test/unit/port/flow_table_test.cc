// SPDX-License-Identifier: BSD-3-Clause
//
// The flow rules of a port, through rte_flow on real drivers: net_bonding without members takes
// every rule, net_failsafe without a device does not answer queries, net_null has no rules. What no
// driver at hand does, a destruction that fails and rules that are kept, is put between: this
// executable's rte_flow functions pass on to DPDK's, unless a test has ordered a fault. Main lcore.

#include "lib/port/flow_table.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>

#include <cerrno>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lib/base/log.h"
#include "test/unit/pipeline/rig.h"

namespace {

// Ordered for the next call of rte_flow: its error, and what it says of which part of the rule.
struct Fault {
  int error = 0;
  rte_flow_error_type type = RTE_FLOW_ERROR_TYPE_UNSPECIFIED;
  const char* message = nullptr;
  std::function<const void*(const rte_flow_item*, const rte_flow_action*)> cause;
};
std::optional<Fault> ordered;
bool keeps_rules = false;

// Positive, and told, if a fault was ordered.
int TakeFault(rte_flow_error* said, const rte_flow_item* items = nullptr,
              const rte_flow_action* actions = nullptr) {
  if (!ordered) return 0;
  const Fault fault = *std::exchange(ordered, std::nullopt);
  *said = {.type = fault.type,
           .cause = fault.cause ? fault.cause(items, actions) : nullptr,
           .message = fault.message};
  rte_errno = fault.error;
  return fault.error;
}

template <typename Function>
Function* Dpdk(Function*, const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}
#define DPDK(function) Dpdk(&function, #function)

}  // namespace

extern "C" {

int rte_flow_validate(uint16_t port, const rte_flow_attr* attributes, const rte_flow_item items[],
                      const rte_flow_action actions[], rte_flow_error* said) {
  if (const int error = TakeFault(said, items, actions)) return -error;
  return DPDK(rte_flow_validate)(port, attributes, items, actions, said);
}

rte_flow* rte_flow_create(uint16_t port, const rte_flow_attr* attributes,
                          const rte_flow_item items[], const rte_flow_action actions[],
                          rte_flow_error* said) {
  if (TakeFault(said, items, actions) != 0) return nullptr;
  return DPDK(rte_flow_create)(port, attributes, items, actions, said);
}

int rte_flow_destroy(uint16_t port, rte_flow* rule, rte_flow_error* said) {
  if (const int error = TakeFault(said)) return -error;
  return DPDK(rte_flow_destroy)(port, rule, said);
}

int rte_flow_flush(uint16_t port, rte_flow_error* said) {
  if (const int error = TakeFault(said)) return -error;
  return DPDK(rte_flow_flush)(port, said);
}

int rte_eth_dev_info_get(uint16_t port, rte_eth_dev_info* info) {
  const int error = DPDK(rte_eth_dev_info_get)(port, info);
  if (keeps_rules) info->dev_capa |= RTE_ETH_DEV_CAPA_FLOW_RULE_KEEP;
  return error;
}

}  // extern "C"

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Lines : public LogSink {
 public:
  Lines() : former_(SetLogSink(this)) {}
  ~Lines() override { SetLogSink(former_); }
  void Write(Severity, absl::string_view line) override { lines.emplace_back(line); }

  std::vector<std::string> lines;

 private:
  LogSink* const former_;
};

// A rule of the items and actions named, without fields.
FlowRule Rule(const std::vector<const char*>& items, const std::vector<const char*>& actions,
              uint32_t group = 0, uint32_t priority = 0) {
  FlowRule rule;
  rule.group = group;
  rule.priority = priority;
  rule.ingress = true;
  for (const char* item : items) rule.pattern.emplace_back().kind = FindFlowItem(item);
  for (const char* action : actions) rule.actions.emplace_back(*FindFlowAction(action));
  return rule;
}

class FlowTableTest : public testing::Test {
 protected:
  ~FlowTableTest() override {
    ordered.reset();
    keeps_rules = false;
    for (const std::string& name : devices_) rte_eal_hotplug_remove("vdev", name.c_str());
  }

  uint16_t Plug(const char* driver, const char* arguments) {
    const std::string name = UniqueName(absl::StrCat(driver, "_flow").c_str());
    EXPECT_EQ(rte_eal_hotplug_add("vdev", name.c_str(), arguments), 0);
    devices_.push_back(name);
    uint16_t port = RTE_MAX_ETHPORTS;
    EXPECT_EQ(rte_eth_dev_get_port_by_name(name.c_str(), &port), 0);
    return port;
  }

  // Takes every rule.
  FlowTable Bonding() {
    FlowTable table(Plug("net_bonding", "mode=0,socket_id=0"), "bond", "net_bonding");
    table.PortStarted();
    return table;
  }

  static std::vector<uint32_t> Ids(const FlowTable& table) {
    std::vector<uint32_t> ids;
    for (const FlowTable::Entry& entry : table.rules()) ids.push_back(entry.id);
    return ids;
  }

  std::vector<std::string> devices_;
};

TEST_F(FlowTableTest, ValidatesCreatesAndDestroys) {
  FlowTable table = Bonding();
  const FlowRule rule = Rule({"eth", "ipv4"}, {"drop", "count"});
  EXPECT_TRUE(table.Validate(rule).ok());
  EXPECT_THAT(table.rules(), IsEmpty());
  ASSERT_EQ(table.Create(rule).value(), 0U);
  ASSERT_EQ(table.Create(Rule({"eth"}, {"rss"})).value(), 1U);
  ASSERT_NE(table.Find(0), nullptr);
  EXPECT_EQ(table.Find(0)->rule, rule);
  EXPECT_EQ(table.Find(2), nullptr);
  EXPECT_TRUE(table.Destroy(0).ok());
  EXPECT_THAT(Ids(table), ElementsAre(1));
  EXPECT_EQ(table.Destroy(0).code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(table.Flush().ok());
  EXPECT_THAT(table.rules(), IsEmpty());
  EXPECT_TRUE(table.Flush().ok());
}

TEST_F(FlowTableTest, IdsGoOnFromTheHighest) {
  FlowTable table = Bonding();
  const FlowRule rule = Rule({"eth"}, {"drop"});
  for (uint32_t id = 0; id < 4; ++id) ASSERT_EQ(table.Create(rule).value(), id);
  ASSERT_TRUE(table.Destroy(1).ok());
  EXPECT_EQ(table.Create(rule).value(), 4U);
  ASSERT_TRUE(table.Destroy(4).ok());
  EXPECT_EQ(table.Create(rule).value(), 4U);
  ASSERT_TRUE(table.Flush().ok());
  EXPECT_EQ(table.Create(rule).value(), 0U);
}

TEST_F(FlowTableTest, ListIsSortedByGroupPriorityAndId) {
  FlowTable table = Bonding();
  EXPECT_EQ(table.List({}), "");
  ASSERT_TRUE(table.Create(Rule({"eth", "ipv6"}, {"drop", "count"}, 2, 0)).ok());
  ASSERT_TRUE(table.Create(Rule({"eth", "ipv4", "udp"}, {"queue"}, 1, 5)).ok());
  FlowRule out = Rule({"eth"}, {"count"}, 1, 0);
  out.egress = out.transfer = true;
  ASSERT_TRUE(table.Create(out).ok());
  ASSERT_TRUE(table.Create(Rule({"eth", "esp"}, {"rss"}, 1, 0)).ok());
  EXPECT_EQ(table.List({}),
            "ID\tGroup\tPrio\tAttr\tRule\n"
            "2\t1\t0\tiet\tETH => COUNT\n"
            "3\t1\t0\ti--\tETH ESP => RSS\n"
            "1\t1\t5\ti--\tETH IPV4 UDP => QUEUE\n"
            "0\t2\t0\ti--\tETH IPV6 => DROP COUNT\n");
  EXPECT_EQ(table.List(std::vector<uint32_t>{7, 2}),
            "ID\tGroup\tPrio\tAttr\tRule\n"
            "0\t2\t0\ti--\tETH IPV6 => DROP COUNT\n");
}

TEST_F(FlowTableTest, QueriesWhatARuleCounts) {
  FlowTable table = Bonding();
  ASSERT_TRUE(table.Create(Rule({"eth"}, {"count", "drop"})).ok());
  ASSERT_TRUE(table.Create(Rule({"eth"}, {"drop"})).ok());
  const auto count = table.QueryCount(0);
  ASSERT_TRUE(count.ok()) << count.status();
  // A bond without members has nothing that would set them.
  EXPECT_EQ(count->packets, std::nullopt);
  EXPECT_EQ(count->bytes, std::nullopt);
  EXPECT_EQ(table.QueryCount(1).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(table.QueryCount(1).status().message()),
              HasSubstr("flow rule 1 of port"));
  EXPECT_EQ(table.QueryCount(2).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(FlowTableTest, ADriverThatDoesNotAnswer) {
  FlowTable table(Plug("net_failsafe", "exec(true)"), "safe", "net_failsafe");
  table.PortStarted();
  ASSERT_TRUE(table.Create(Rule({"eth"}, {"count"})).ok());
  const absl::Status status = table.QueryCount(0).status();
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("(safe): net_failsafe refuses the query of flow rule 0: Operation not "
                        "permitted"));
  EXPECT_TRUE(table.Flush().ok());
}

TEST_F(FlowTableTest, ADriverWithoutFlowRules) {
  const uint16_t port = Plug("net_null", "");
  FlowTable table(port, "net_null7", "net_null");
  const absl::Status offers_none = absl::UnimplementedError(
      absl::StrCat("port ", port, " (net_null7): net_null offers no flow rules"));
  // Whether the port runs or not: starting it would be in vain.
  for (const bool started : {false, true}) {
    if (started) table.PortStarted();
    EXPECT_EQ(table.Validate(Rule({"eth"}, {"drop"})), offers_none);
    EXPECT_EQ(table.Create(Rule({"eth"}, {"drop"})).status(), offers_none);
  }
  EXPECT_TRUE(table.Flush().ok());
}

TEST_F(FlowTableTest, WhatADriverRefusesIsSaidInOneLine) {
  FlowTable table = Bonding();
  const FlowRule rule = Rule({"eth", "ipv4"}, {"drop", "count"});
  struct {
    Fault fault;
    const char* message;
  } const kRows[] = {
      {{EINVAL, RTE_FLOW_ERROR_TYPE_ITEM_MASK, "mask too wide",
        [](const rte_flow_item* items, const rte_flow_action*) { return &items[1]; }},
       "refuses the flow rule: mask of item 2 (ipv4): mask too wide: Invalid argument"},
      {{ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM, "no support",
        [](const rte_flow_item* items, const rte_flow_action*) { return &items[0]; }},
       "refuses the flow rule: item 1 (eth): no support: Operation not supported"},
      {{ENOTSUP, RTE_FLOW_ERROR_TYPE_ACTION_CONF, nullptr,
        [](const rte_flow_item*, const rte_flow_action* actions) { return actions[1].conf; }},
       "refuses the flow rule: configuration of action 2 (count): Operation not supported"},
      {{ENOTSUP, RTE_FLOW_ERROR_TYPE_ATTR_EGRESS, "ingress only", nullptr},
       "refuses the flow rule: egress: ingress only: Operation not supported"},
      {{ENOTSUP, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, "firmware too old", nullptr},
       "refuses the flow rule: firmware too old: Operation not supported"},
      {{EEXIST, RTE_FLOW_ERROR_TYPE_HANDLE, "overlaps", nullptr},
       "refuses the flow rule: the rule as a whole: overlaps: File exists"},
      {{ENOMEM, RTE_FLOW_ERROR_TYPE_NONE, "Cannot allocate memory", nullptr},
       "refuses the flow rule: Cannot allocate memory"},
      {{ENOTSUP, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, nullptr, nullptr}, "offers no flow rules"},
  };
  for (const auto& row : kRows) {
    ordered = row.fault;
    const absl::Status create = table.Create(rule).status();
    EXPECT_EQ(std::string(create.message()).substr(std::string(create.message()).find("net_b")),
              absl::StrCat("net_bonding ", row.message));
    ordered = row.fault;
    EXPECT_EQ(table.Validate(rule), create);
    EXPECT_THAT(table.rules(), IsEmpty());
  }
  EXPECT_EQ(table.Create(rule).value(), 0U);
}

TEST_F(FlowTableTest, ARuleThatIsNotDestroyedStays) {
  FlowTable table = Bonding();
  ASSERT_TRUE(table.Create(Rule({"eth"}, {"drop"})).ok());
  ordered = Fault{EBUSY, RTE_FLOW_ERROR_TYPE_HANDLE, "in use", nullptr};
  const absl::Status status = table.Destroy(0);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("net_bonding refuses the destruction of flow rule 0: the rule as a whole: "
                        "in use: Device or resource busy"));
  EXPECT_THAT(Ids(table), ElementsAre(0));
  EXPECT_TRUE(table.Destroy(0).ok());
}

TEST_F(FlowTableTest, AFlushThatFailsLeavesNoHandles) {
  FlowTable table = Bonding();
  ASSERT_TRUE(table.Create(Rule({"eth"}, {"drop"})).ok());
  ordered = Fault{EIO, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, "device is gone", nullptr};
  EXPECT_THAT(std::string(table.Flush().message()),
              HasSubstr("refuses the flush of its flow rules: device is gone: Input/output error"));
  EXPECT_THAT(table.rules(), IsEmpty());
}

TEST_F(FlowTableTest, ThereAreNoSecuritySessions) {
  FlowTable table = Bonding();
  FlowRule rule = Rule({"eth"}, {"security"});
  rule.actions[0].session = 3;
  const absl::Status status = table.Create(rule).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), testing::StartsWith("no security session 3 on port "));
  EXPECT_EQ(table.Validate(rule), status);
}

// ---- what happens to the port ----

TEST_F(FlowTableTest, AStopTakesTheRulesWithIt) {
  FlowTable table = Bonding();
  ASSERT_TRUE(table.Create(Rule({"eth", "udp"}, {"drop"}, 3)).ok());
  ASSERT_TRUE(table.Create(Rule({"eth"}, {"count"})).ok());
  Lines log;
  table.PortStops();
  EXPECT_THAT(table.rules(), IsEmpty());
  ASSERT_EQ(log.lines.size(), 2U);
  EXPECT_THAT(log.lines[0], testing::MatchesRegex(
                                "port [0-9]+ \\(bond\\): flow rule 0 is destroyed because the port "
                                "stops; to have it again: flow create [0-9]+ group 3 ingress "
                                "pattern eth / udp / end actions drop / end"));
  EXPECT_THAT(log.lines[1], HasSubstr("flow rule 1 is destroyed"));
  // And no driver without that capability takes one while the port is stopped.
  const absl::Status stopped = table.Create(Rule({"eth"}, {"drop"})).status();
  EXPECT_EQ(stopped.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(stopped.message()),
              HasSubstr("is stopped, and net_bonding takes flow rules only while it runs"));
  table.PortStarted();
  EXPECT_EQ(table.Create(Rule({"eth"}, {"drop"})).value(), 0U);
}

TEST_F(FlowTableTest, ADriverThatKeepsRulesKeepsThemOverAStop) {
  FlowTable table = Bonding();
  keeps_rules = true;
  ASSERT_TRUE(table.Create(Rule({"eth"}, {"drop"})).ok());
  Lines log;
  table.PortStops();
  EXPECT_THAT(Ids(table), ElementsAre(0));
  EXPECT_THAT(log.lines, IsEmpty());
  EXPECT_EQ(table.Create(Rule({"eth"}, {"drop"})).value(), 1U);
  table.PortIsSetUp();
  EXPECT_THAT(table.rules(), IsEmpty());
  ASSERT_EQ(log.lines.size(), 2U);
  EXPECT_THAT(log.lines[0], HasSubstr("flow rule 0 is destroyed because the port is set up anew"));
}

TEST_F(FlowTableTest, ACloseSaysHowManyGo) {
  FlowTable table = Bonding();
  Lines log;
  table.PortCloses();
  EXPECT_THAT(log.lines, IsEmpty());
  ASSERT_TRUE(table.Create(Rule({"eth"}, {"drop"})).ok());
  ASSERT_TRUE(table.Create(Rule({"eth"}, {"drop"})).ok());
  table.PortCloses();
  EXPECT_THAT(table.rules(), IsEmpty());
  EXPECT_THAT(log.lines, ElementsAre(HasSubstr("closes; flow rules destroyed: 2")));
}

TEST_F(FlowTableTest, AFlushThatFailsBeforeAStopIsSaid) {
  FlowTable table = Bonding();
  ASSERT_TRUE(table.Create(Rule({"eth"}, {"drop"})).ok());
  Lines log;
  ordered = Fault{EIO, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, "device is gone", nullptr};
  table.PortStops();
  EXPECT_THAT(log.lines, ElementsAre(HasSubstr("device is gone"), HasSubstr("flow rule 0 is")));
}

}  // namespace
}  // namespace penstock
