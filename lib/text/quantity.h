// SPDX-License-Identifier: BSD-3-Clause
//
// Quantities as people type and read them: "64M" bytes, "1.5Mpps", "10us". Control path, any
// thread.
//
// Parsing is exact: integer arithmetic only, a fraction is accepted where the result is whole
// ("1.5K" is 1536, "0.3K" is refused), and nothing is rounded, clamped or ignored. Whatever bytes
// come in, the answer is a value within [min, max] or one line of the form
//   "64X": "X" is no unit; accepted: a size from 4K to 2G, in bytes or with K, M, G or T ...
// to which the caller prefixes where it stood (WithContext in lib/base/status.h):
//
//   PENSTOCK_ASSIGN_OR_RETURN(const uint64_t bytes, ParseSize(text, 4096, uint64_t{2} << 30));
//
// The code is InvalidArgument for what cannot be read and OutOfRange for what lies outside the
// range or is no whole multiple of the unit. `min` is at most `max`. Text is taken as it is: no
// sign, no space, no locale, no thousands separator.

#ifndef PENSTOCK_LIB_TEXT_QUANTITY_H_
#define PENSTOCK_LIB_TEXT_QUANTITY_H_

#include <cstdint>
#include <limits>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace penstock {

inline constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();

// A whole number: decimal ("10", and "010" is ten as well) or hexadecimal ("0x1f").
absl::StatusOr<uint64_t> ParseUnsigned(absl::string_view text, uint64_t min, uint64_t max);

// Bytes: "4096", or with K, M, G or T of either case, which are powers of 1024.
absl::StatusOr<uint64_t> ParseSize(absl::string_view text, uint64_t min_bytes = 0,
                                   uint64_t max_bytes = kNoLimit);

// Packets per second: "1000", "500k", "1.488Mpps"; k (or K), M and G are powers of 1000, and "pps"
// may follow. "1m" is refused: it could be meant as either.
absl::StatusOr<uint64_t> ParseRatePps(absl::string_view text, uint64_t min_pps = 0,
                                      uint64_t max_pps = kNoLimit);

// A time in nanoseconds: "250ns", "10us", "1.5ms", "2s", "5min", "1h"; without a unit, seconds.
absl::StatusOr<uint64_t> ParseDurationNs(absl::string_view text, uint64_t min_ns = 0,
                                         uint64_t max_ns = kNoLimit);

// A count or rate for a person, to three digits and the nearest: 999, "1.23k", "12.3M", "123G".
// For reading, not for parsing back: a report keeps the number itself.
std::string FormatCount(uint64_t count);

// Bytes for a person: "64M" where that is exact, else three digits and the nearest: "1.50G". Below
// 1024, the number.
std::string FormatSize(uint64_t bytes);

// A time, exact, in the largest unit of s, ms, us and ns that keeps it whole: "10s", "1500ms".
std::string FormatDurationNs(uint64_t ns);

}  // namespace penstock

#endif  // PENSTOCK_LIB_TEXT_QUANTITY_H_
