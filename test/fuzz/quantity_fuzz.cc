// SPDX-License-Identifier: BSD-3-Clause
//
// Fuzz target of the quantities: any bytes give a value within the range or one line of error, and
// what the formatters write of a value is read back as that value where they promise it. Single
// thread.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/text/quantity.h"

namespace {

constexpr uint64_t kMin = 3;
constexpr uint64_t kMax = uint64_t{1} << 50;

void Require(bool condition) {
  if (!condition) std::abort();
}

void Check(const absl::StatusOr<uint64_t>& value) {
  if (value.ok()) {
    Require(*value >= kMin && *value <= kMax);
    Require(penstock::ParseUnsigned(absl::StrCat(*value), kMin, kMax).value() == *value);
    Require(penstock::ParseDurationNs(penstock::FormatDurationNs(*value)).value() == *value);
    Require(!penstock::FormatCount(*value).empty());
    Require(!penstock::FormatSize(*value).empty());
  } else {
    const absl::string_view message = value.status().message();
    Require(absl::StrContains(message, "; accepted: ") && message.size() < 500);
    for (const char c : message) Require(c >= 0x20 && c < 0x7f);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  Check(penstock::ParseUnsigned(text, kMin, kMax));
  Check(penstock::ParseSize(text, kMin, kMax));
  Check(penstock::ParseRatePps(text, kMin, kMax));
  Check(penstock::ParseDurationNs(text, kMin, kMax));
  return 0;
}
