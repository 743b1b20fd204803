// SPDX-License-Identifier: BSD-3-Clause
//
// Fuzz target of the flow grammar: whatever words stand behind `flow`, the answer is a request or
// one line. A rule's text is read back as that rule. What the completer offers anywhere along the
// words is accepted, and what is accepted was offered. Single thread.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/control/command.h"
#include "lib/control/flow_grammar.h"

namespace {

using penstock::Candidate;
using penstock::FlowPort;
using penstock::FlowRequest;
using Words = std::vector<std::string>;

const std::vector<FlowPort> kPorts = {{0, "net_a", {0, 1}}, {2, "net_b", {}}};

void Require(bool condition) {
  if (!condition) std::abort();
}

void CheckLine(absl::string_view message) {
  Require(absl::StrContains(message, " after \"flow") && absl::StrContains(message, "accepted: "));
  for (const char c : message) Require(c >= 0x20 && c < 0x7f);
}

bool IsHint(const Candidate& candidate) { return absl::StartsWith(candidate.word, "<"); }

// Where the walk along `words` gives up: their number if it is only that they end.
size_t Accepted(Words words) {
  while (!words.empty() && !penstock::ParseFlow(words, kPorts).ok() &&
         penstock::CompleteFlow(words, kPorts).empty()) {
    words.pop_back();
  }
  return words.size();
}

void CheckCandidates(const Words& words) {
  for (const Candidate& candidate : penstock::CompleteFlow(words, kPorts)) {
    if (IsHint(candidate)) continue;
    if (candidate.word.empty()) {
      Require(penstock::ParseFlow(words, kPorts).ok());
      continue;
    }
    Words longer = words;
    longer.push_back(candidate.word);
    Require(Accepted(longer) == longer.size());
  }
}

// Every word that was accepted was offered, by name or by a hint.
void CheckOffered(const Words& words, size_t accepted) {
  for (size_t n = 0; n < accepted; ++n) {
    bool offered = false;
    for (const Candidate& candidate : penstock::CompleteFlow(std::span(words).first(n), kPorts)) {
      // A port or an id may be written otherwise than it is offered.
      offered = offered || candidate.word == words[n] || IsHint(candidate) || n == 1 || n == 2 ||
                words[0] == "destroy";
    }
    Require(offered);
  }
}

void CheckText(const FlowRequest& request) {
  const std::string text = penstock::FormatFlowRule(request.rule);
  const absl::StatusOr<FlowRequest> again =
      penstock::ParseFlow(penstock::SplitLine(absl::StrCat("create 0 ", text)), kPorts);
  Require(again.ok());
  Require(again->rule == request.rule);
  Require(penstock::FormatFlowRule(again->rule) == text);
  Require(!penstock::SummarizeFlowRule(request.rule).empty());
  // What rte_flow would be handed.
  const penstock::FlowArrays arrays(request.rule, 4);
  size_t n = 0;
  while (arrays.items()[n].type != RTE_FLOW_ITEM_TYPE_END) ++n;
  Require(n == request.rule.pattern.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Words words =
      penstock::SplitLine(absl::string_view(reinterpret_cast<const char*>(data), size));
  const absl::StatusOr<FlowRequest> request = penstock::ParseFlow(words, kPorts);
  if (request.ok()) {
    CheckText(*request);
  } else {
    CheckLine(request.status().message());
  }
  const size_t accepted = Accepted(words);
  Require(!request.ok() || accepted == words.size());
  CheckOffered(words, accepted);
  CheckCandidates(Words(words.begin(), words.begin() + static_cast<long>(accepted)));
  return 0;
}
