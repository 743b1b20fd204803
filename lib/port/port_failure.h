// SPDX-License-Identifier: BSD-3-Clause
//
// Why a port was not made, set up or started, in one line that says what to type. Control path.
//
// Drivers return a number, EINVAL more often than not, and log the cause; some log nothing. Here is
// a table from what they log to what a user wants to know, the capabilities that each needs, and
// the keys that the common virtual devices take.

#ifndef PENSTOCK_LIB_PORT_PORT_FAILURE_H_
#define PENSTOCK_LIB_PORT_PORT_FAILURE_H_

#include <cstdint>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace penstock {

// The capabilities that this process may use now, a bit for each (CAP_NET_RAW is 13).
uint64_t EffectiveCapabilities();

// `failed` is what is known without the driver: where, and which call with which arguments. `said`
// are the lines logged as errors meanwhile, oldest first. `driver` is "net_af_xdp", or the name of
// a device that begins so. The status keeps its code unless the table knows better.
absl::Status ExplainPortFailure(const absl::Status& failed, absl::string_view driver,
                                std::span<const std::string> said,
                                uint64_t capabilities = EffectiveCapabilities());

}  // namespace penstock

#endif  // PENSTOCK_LIB_PORT_PORT_FAILURE_H_
