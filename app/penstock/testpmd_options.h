// SPDX-License-Identifier: BSD-3-Clause
//
// testpmd's options and modes that penstock does not have, and what to use instead: a user who
// comes from there is told, not left to guess.

#ifndef PENSTOCK_APP_PENSTOCK_TESTPMD_OPTIONS_H_
#define PENSTOCK_APP_PENSTOCK_TESTPMD_OPTIONS_H_

#include "absl/strings/string_view.h"

namespace penstock {

// What to use instead of testpmd's option `name`; empty if testpmd has no such option either.
absl::string_view InsteadOfTestpmd(absl::string_view name);

// The same of testpmd's forwarding mode `name`.
absl::string_view InsteadOfTestpmdMode(absl::string_view name);

}  // namespace penstock

#endif  // PENSTOCK_APP_PENSTOCK_TESTPMD_OPTIONS_H_
