// SPDX-License-Identifier: BSD-3-Clause
//
// See json_file.h. Control path, any thread.

#include "lib/text/json_file.h"

#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/base/file.h"
#include "lib/base/status.h"

namespace penstock {

absl::Status WriteJsonFile(const std::string& path, const Json& value) {
  return WriteFileAtomically(path, FormatJson(value));
}

absl::StatusOr<Json> ReadJsonFile(const std::string& path) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxJsonFileBytes));
  // The parser needs no stack for nesting, but those who walk the value do. What is too deep is
  // thrown away while it is parsed.
  bool too_deep = false;
  const auto keep = [&too_deep](int depth, Json::parse_event_t event, Json&) {
    const bool opens =
        event == Json::parse_event_t::array_start || event == Json::parse_event_t::object_start;
    // `depth` counts the levels around what opens here.
    if (opens && depth >= kMaxJsonDepth) too_deep = true;
    return !too_deep;
  };
  try {
    Json value = Json::parse(text, keep);
    if (too_deep) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": nested deeper than the ", kMaxJsonDepth, " levels accepted"));
    }
    return value;
  } catch (const std::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ...": the reader of the
    // message has no use for the class of the exception.
    absl::string_view what = error.what();
    if (const size_t end = what.find("] "); end != absl::string_view::npos) {
      what.remove_prefix(end + 2);
    }
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", what));
  }
}

}  // namespace penstock
