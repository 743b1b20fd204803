// SPDX-License-Identifier: BSD-3-Clause
#include "lib/control/flow_command.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lib/base/status.h"
#include "lib/control/flow_grammar.h"
#include "lib/port/flow_table.h"

namespace penstock {
namespace {

using Verb = FlowRequest::Verb;

std::vector<FlowPort> FlowPorts(const Runtime& runtime) {
  std::vector<FlowPort> ports;
  for (const Port& port : runtime.ports()) {
    FlowPort& each = ports.emplace_back();
    each.port = port.capabilities().port;
    each.name = port.capabilities().name;
    for (const FlowTable::Entry& entry : port.flows().rules()) each.rules.push_back(entry.id);
  }
  return ports;
}

// What a driver does not count is absent.
void ShowCount(const FlowCount& count, std::string& output) {
  absl::StrAppend(&output, "COUNT:\n hits_set: ", count.packets ? 1 : 0,
                  "\n bytes_set: ", count.bytes ? 1 : 0, "\n hits: ", count.packets.value_or(0),
                  "\n bytes: ", count.bytes.value_or(0), "\n");
}

absl::Status Destroy(FlowTable& table, const std::vector<uint32_t>& ids, std::string& output) {
  for (const uint32_t id : ids) {
    PENSTOCK_RETURN_IF_ERROR(table.Destroy(id));
    absl::StrAppend(&output, "Flow rule #", id, " destroyed\n");
  }
  return absl::OkStatus();
}

absl::Status Do(FlowRequest request, FlowTable& table, std::string& output) {
  switch (request.verb) {
    case Verb::kValidate:
      PENSTOCK_RETURN_IF_ERROR(table.Validate(request.rule));
      absl::StrAppend(&output, "Flow rule validated\n");
      return absl::OkStatus();
    case Verb::kCreate: {
      PENSTOCK_ASSIGN_OR_RETURN(const uint32_t id, table.Create(std::move(request.rule)));
      absl::StrAppend(&output, "Flow rule #", id, " created\n");
      return absl::OkStatus();
    }
    case Verb::kList:
      absl::StrAppend(&output, table.List(request.groups));
      return absl::OkStatus();
    case Verb::kQuery: {
      PENSTOCK_ASSIGN_OR_RETURN(const FlowCount count, table.QueryCount(request.ids.front()));
      ShowCount(count, output);
      return absl::OkStatus();
    }
    case Verb::kDestroy:
      return Destroy(table, request.ids, output);
    case Verb::kFlush:
      return table.Flush();
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status AddFlowCommands(Runtime& runtime, CommandSet& commands) {
  return commands.Add(
      {"flow <rule...>", "validate, create, list, query, destroy or flush flow rules of a port",
       [&runtime](std::span<const std::string> words, std::string& output) -> absl::Status {
         PENSTOCK_ASSIGN_OR_RETURN(FlowRequest request, ParseFlow(words, FlowPorts(runtime)));
         FlowTable& table = *runtime.FlowsOf(request.port);  // One of those it was parsed with.
         return Do(std::move(request), table, output);
       },
       [&runtime](std::span<const std::string> words) {
         return CompleteFlow(words, FlowPorts(runtime));
       }});
}

}  // namespace penstock
