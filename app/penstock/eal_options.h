// SPDX-License-Identifier: BSD-3-Clause
//
// The options that belong before "--", to EAL. Known here so that a mistake in them is one line
// too: EAL answers with several pages.

#ifndef PENSTOCK_APP_PENSTOCK_EAL_OPTIONS_H_
#define PENSTOCK_APP_PENSTOCK_EAL_OPTIONS_H_

#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace penstock {

bool IsEalOption(absl::string_view name);  // Without dashes.

// Whether these are options that EAL knows, each with its value if it takes one, and nothing else.
absl::Status CheckEalArguments(std::span<const std::string> arguments);

}  // namespace penstock

#endif  // PENSTOCK_APP_PENSTOCK_EAL_OPTIONS_H_
