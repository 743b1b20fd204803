// SPDX-License-Identifier: BSD-3-Clause
#include "lib/config/offloads.h"

#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "lib/text/quantity.h"

namespace penstock {
namespace {

constexpr absl::string_view kNone = "none";

// As testpmd reads it: hexadecimal with or without "0x". No name consists of such digits alone.
absl::StatusOr<uint64_t> ParseHex(absl::string_view text) {
  const bool marked = absl::StartsWith(text, "0x") || absl::StartsWith(text, "0X");
  return ParseUnsigned(marked ? std::string(text) : absl::StrCat("0x", text), 0, kNoLimit);
}

}  // namespace

absl::StatusOr<uint64_t> ParseOffloads(std::span<const Offload> table, absl::string_view text) {
  const absl::Status refused = absl::InvalidArgumentError(
      absl::StrCat("accepted: a hexadecimal mask of known bits, none, or names out of ",
                   FormatOffloads(table, OffloadBits(table))));
  if (const auto mask = ParseHex(text); mask.ok()) {
    if ((*mask & ~OffloadBits(table)) != 0) return refused;
    return *mask;
  }
  uint64_t bits = 0;
  if (text == kNone) return bits;
  for (const absl::string_view name : absl::StrSplit(text, ',')) {
    const auto found = std::ranges::find(table, name, &Offload::name);
    if (found == table.end()) return refused;
    bits |= found->bit;
  }
  return bits;
}

std::string FormatOffloads(std::span<const Offload> table, uint64_t bits) {
  std::vector<absl::string_view> names;
  for (const Offload& offload : table) {
    if ((bits & offload.bit) != 0) names.push_back(offload.name);
  }
  return names.empty() ? std::string(kNone) : absl::StrJoin(names, ",");
}

}  // namespace penstock
