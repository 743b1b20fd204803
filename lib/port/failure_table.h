// SPDX-License-Identifier: BSD-3-Clause
//
// How a line that DPDK logged becomes an explanation: what eal_failure and port_failure share. No
// state; control path.

#ifndef PENSTOCK_LIB_PORT_FAILURE_TABLE_H_
#define PENSTOCK_LIB_PORT_FAILURE_TABLE_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace penstock {

// Whether `pattern` is found in `line`; the value is what stands for the pattern's '*', if it has
// one: everything up to the text behind the '*', or to the end of the sentence. "" without one.
//   MatchSaid("EAL: lcore 99 unavailable", "lcore * unavailable") == "99"
std::optional<std::string> MatchSaid(absl::string_view line, absl::string_view pattern);

// A line without what DPDK puts in front ("EAL: ", "set_role(): ") and without its full stop.
std::string WithoutOrigin(absl::string_view line);

}  // namespace penstock

#endif  // PENSTOCK_LIB_PORT_FAILURE_TABLE_H_
