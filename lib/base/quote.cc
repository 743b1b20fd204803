// SPDX-License-Identifier: BSD-3-Clause
//
// See quote.h. Control path, any thread.

#include "lib/base/quote.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace penstock {

std::string Shown(absl::string_view text) {
  return absl::StrCat(absl::CHexEscape(text.substr(0, kMaxShownBytes)),
                      text.size() > kMaxShownBytes ? "..." : "");
}

std::string Quote(absl::string_view text) { return absl::StrCat("\"", Shown(text), "\""); }

}  // namespace penstock
