// SPDX-License-Identifier: BSD-3-Clause
//
// The grammar of the `flow` command, which is dpdk-testpmd's: from words to what is asked for, and
// to what may come next. One walk over the tables of lib/port/flow_vocabulary.h does both: what it
// would have accepted where the words end is the completion, and where a word is wrong, the answer.
//
//   validate PORT RULE, create PORT RULE
//   list PORT [group N]…
//   query PORT ID count
//   destroy PORT rule ID [rule ID]…
//   flush PORT
//   RULE: [group N | priority N | ingress | egress | transfer]… pattern ITEMS actions ACTIONS
//   ITEMS: [ITEM [FIELD (is|spec|last|mask|prefix) VALUE]… /]… end
//   ACTIONS: [ACTION [FIELD VALUE]… /]… end
//
// Beyond testpmd of DPDK 22.11: `esp seq`, and `security security_session N`. What testpmd has and
// penstock has not is answered as known and not offered, with what to use instead. Control path,
// any thread: no state.

#ifndef PENSTOCK_LIB_CONTROL_FLOW_GRAMMAR_H_
#define PENSTOCK_LIB_CONTROL_FLOW_GRAMMAR_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/control/command.h"
#include "lib/port/flow_rule.h"

namespace penstock {

struct FlowRequest {
  enum class Verb { kValidate, kCreate, kList, kQuery, kDestroy, kFlush };
  Verb verb = Verb::kValidate;
  uint16_t port = 0;
  FlowRule rule;                 // Of kValidate and kCreate.
  std::vector<uint32_t> ids;     // Of kQuery one, of kDestroy one or more; they need not be there.
  std::vector<uint32_t> groups;  // Of kList; empty: all.
};

// The ports that a request may name.
struct FlowPort {
  uint16_t port = 0;
  std::string name;
  std::vector<uint32_t> rules;  // Ids to be offered.
};

// `words` behind "flow", none of them empty. InvalidArgument names, in one line, the first word
// that does not fit and what is accepted there.
absl::StatusOr<FlowRequest> ParseFlow(std::span<const std::string> words,
                                      std::span<const FlowPort> ports);

// What may follow `words`; empty when they begin no request.
std::vector<Candidate> CompleteFlow(std::span<const std::string> words,
                                    std::span<const FlowPort> ports);

}  // namespace penstock

#endif  // PENSTOCK_LIB_CONTROL_FLOW_GRAMMAR_H_
