// SPDX-License-Identifier: BSD-3-Clause
#include "lib/port/failure_table.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"

namespace penstock {
namespace {

absl::string_view WithoutFullStop(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  while (!text.empty() && (text.back() == '.' || text.back() == '!')) text.remove_suffix(1);
  return text;
}

}  // namespace

std::optional<std::string> MatchSaid(absl::string_view line, absl::string_view pattern) {
  const size_t star = pattern.find('*');
  const absl::string_view before = pattern.substr(0, star);
  const size_t start = line.find(before);
  if (start == absl::string_view::npos) return std::nullopt;
  if (star == absl::string_view::npos) return "";
  const absl::string_view rest = line.substr(start + before.size());
  const absl::string_view behind = pattern.substr(star + 1);
  if (behind.empty()) return std::string(WithoutFullStop(rest));
  const size_t end = rest.find(behind);
  if (end == absl::string_view::npos) return std::nullopt;
  return std::string(rest.substr(0, end));
}

std::string WithoutOrigin(absl::string_view line) {
  absl::ConsumePrefix(&line, "EAL: ");
  // "function_name(): ", "function_name(123) - "
  const size_t name_end = line.find('(');
  const bool is_function =
      name_end != absl::string_view::npos && name_end > 0 &&
      std::all_of(line.begin(), line.begin() + static_cast<ptrdiff_t>(name_end), [](char c) {
        return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
      });
  if (is_function) {
    for (absl::string_view mark : {"): ", ") - "}) {
      const size_t at = line.find(mark);
      if (at == absl::string_view::npos) continue;
      line.remove_prefix(at + mark.size());
      break;
    }
  }
  return std::string(WithoutFullStop(line));
}

}  // namespace penstock
