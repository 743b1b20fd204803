// SPDX-License-Identifier: BSD-3-Clause
//
// The present value of an option, as it would be typed: what `show config` shows. Pure functions.
//
//   OptionText(configuration, "burst")      "32"
//   OptionText(configuration, "txpkts")     "64,128"
//   OptionText(configuration, "eth-peer")   "0,02:00:00:00:00:aa 1,02:00:00:00:00:bb"

#ifndef PENSTOCK_LIB_CONFIG_OPTION_TEXT_H_
#define PENSTOCK_LIB_CONFIG_OPTION_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "lib/config/configuration.h"

namespace penstock {

// What SetOption would take to make the field so; several values, of an option that is repeatable,
// with spaces between them. Empty when nothing is set and penstock decides, and for a name that is
// no field's.
std::string OptionText(const Configuration& configuration, absl::string_view option);

}  // namespace penstock

#endif  // PENSTOCK_LIB_CONFIG_OPTION_TEXT_H_
