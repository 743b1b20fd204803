// SPDX-License-Identifier: BSD-3-Clause
//
// What somebody typed, as it may stand in a message: one line, printable, not endless. Control
// path, any thread.
//
//   absl::StrCat(Quote(word), ": not a MAC address")   "02:0": not a MAC address
//   absl::StrCat("--", name, "=", Shown(value))        --burst=many
//
// Bytes that are not printable ASCII become escapes ("\x1b", "\n"), so that no message can move the
// cursor of a terminal or forge a line of a log; what is longer than kMaxShownBytes ends in "...".

#ifndef PENSTOCK_LIB_BASE_QUOTE_H_
#define PENSTOCK_LIB_BASE_QUOTE_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace penstock {

inline constexpr size_t kMaxShownBytes = 80;

std::string Shown(absl::string_view text);

// The same between quotation marks, for a word in the middle of a sentence.
std::string Quote(absl::string_view text);

}  // namespace penstock

#endif  // PENSTOCK_LIB_BASE_QUOTE_H_
