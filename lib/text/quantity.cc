// SPDX-License-Identifier: BSD-3-Clause
//
// See quantity.h. Control path, any thread.

#include "lib/text/quantity.h"

#include <cassert>
#include <cstddef>
#include <optional>
#include <span>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/quote.h"

namespace penstock {
namespace {

__extension__ using Uint128 = unsigned __int128;

struct Unit {
  absl::string_view suffix;
  uint64_t factor;
};

constexpr uint64_t kKibi = 1024;
constexpr uint64_t kNsPerUs = 1000;
constexpr uint64_t kNsPerMs = 1000 * kNsPerUs;
constexpr uint64_t kNsPerS = 1000 * kNsPerMs;

// In each table the first row of a factor, from the largest factor down, is how it is written.
constexpr Unit kSizeUnits[] = {
    {"T", kKibi* kKibi* kKibi* kKibi},
    {"t", kKibi* kKibi* kKibi* kKibi},
    {"G", kKibi* kKibi* kKibi},
    {"g", kKibi* kKibi* kKibi},
    {"M", kKibi* kKibi},
    {"m", kKibi* kKibi},
    {"K", kKibi},
    {"k", kKibi},
    {"", 1},
};
constexpr Unit kRateUnits[] = {
    {"Gpps", 1'000'000'000},
    {"G", 1'000'000'000},
    {"Mpps", 1'000'000},
    {"M", 1'000'000},
    {"kpps", 1'000},
    {"Kpps", 1'000},
    {"k", 1'000},
    {"K", 1'000},
    {"pps", 1},
    {"", 1},
};
constexpr Unit kDurationUnits[] = {
    {"s", kNsPerS}, {"ms", kNsPerMs},         {"us", kNsPerUs},      {"ns", 1},
    {"", kNsPerS},  {"h", 60 * 60 * kNsPerS}, {"min", 60 * kNsPerS},
};

// What a kind of quantity is called and shown as in a message.
struct Kind {
  std::span<const Unit> units;
  absl::string_view noun;
  absl::string_view how;
};

constexpr Kind kSize = {kSizeUnits, "a size",
                        "in bytes or with K, M, G or T (powers of 1024), such as 64M"};
constexpr Kind kRate = {
    kRateUnits, "a rate",
    "in packets per second or with k, M or G (powers of 1000), such as 1.5Mpps"};
constexpr Kind kDuration = {kDurationUnits, "a time",
                            "in seconds or with ns, us, ms, s, min or h, such as 10us"};

// The value in the first unit of the table that divides it.
std::string FormatExactly(uint64_t value, std::span<const Unit> units) {
  for (const Unit& unit : units) {
    if (value % unit.factor == 0 && (value != 0 || unit.factor == 1)) {
      return absl::StrCat(value / unit.factor, unit.suffix);
    }
  }
  return absl::StrCat(value);
}

std::string Accepted(const Kind& kind, uint64_t min, uint64_t max) {
  std::string range;
  if (max != kNoLimit) {
    range = absl::StrCat(" from ", FormatExactly(min, kind.units), " to ",
                         FormatExactly(max, kind.units));
  } else if (min != 0) {
    range = absl::StrCat(" of at least ", FormatExactly(min, kind.units));
  }
  return absl::StrCat("; accepted: ", kind.noun, range, ", ", kind.how);
}

// Takes the decimal digits at the front of `text` off it.
absl::string_view TakeDigits(absl::string_view& text) {
  size_t length = 0;
  while (length < text.size() && absl::ascii_isdigit(static_cast<unsigned char>(text[length]))) {
    ++length;
  }
  const absl::string_view digits = text.substr(0, length);
  text.remove_prefix(length);
  return digits;
}

// The digits' value in a base up to 16, or nothing where 64 bits do not hold it.
std::optional<uint64_t> DigitsToInteger(absl::string_view digits, uint64_t base) {
  uint64_t value = 0;
  for (const char c : digits) {
    const uint64_t digit = static_cast<uint64_t>(
        c <= '9' ? c - '0' : absl::ascii_tolower(static_cast<unsigned char>(c)) - 'a' + 10);
    if (__builtin_mul_overflow(value, base, &value)) return std::nullopt;
    if (__builtin_add_overflow(value, digit, &value)) return std::nullopt;
  }
  return value;
}

// DIGITS [ "." DIGITS ] UNIT, with the units of `kind`.
absl::StatusOr<uint64_t> ParseScaled(absl::string_view text, const Kind& kind, uint64_t min,
                                     uint64_t max) {
  assert(min <= max);
  const auto invalid = [&](absl::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat(Quote(text), ": ", why, Accepted(kind, min, max)));
  };
  const auto out_of_range = [&](absl::string_view why) {
    return absl::OutOfRangeError(absl::StrCat(Quote(text), ": ", why, Accepted(kind, min, max)));
  };

  absl::string_view rest = text;
  const absl::string_view whole_digits = TakeDigits(rest);
  if (whole_digits.empty()) return invalid("does not begin with a digit");
  absl::string_view fraction_digits;
  if (!rest.empty() && rest.front() == '.') {
    rest.remove_prefix(1);
    fraction_digits = TakeDigits(rest);
    if (fraction_digits.empty()) return invalid("no digit after the point");
  }
  const Unit* unit = nullptr;
  for (const Unit& candidate : kind.units) {
    if (candidate.suffix == rest) unit = &candidate;
  }
  if (unit == nullptr) return invalid(absl::StrCat(Quote(rest), " is no unit"));

  const std::optional<uint64_t> whole = DigitsToInteger(whole_digits, 10);
  if (!whole.has_value()) return out_of_range("too large");
  Uint128 value = static_cast<Uint128>(*whole) * unit->factor;

  while (!fraction_digits.empty() && fraction_digits.back() == '0')
    fraction_digits.remove_suffix(1);
  // 10^18 is the largest power of ten that a factor can be multiplied with below; a finer fraction
  // could only be whole for units past 2^18, of which nobody writes 19 digits.
  if (fraction_digits.size() > 18) return out_of_range("finer than can be set");
  uint64_t denominator = 1;
  for (size_t i = 0; i < fraction_digits.size(); ++i) denominator *= 10;
  const Uint128 fraction =
      static_cast<Uint128>(*DigitsToInteger(fraction_digits, 10)) * unit->factor;
  if (fraction % denominator != 0) return out_of_range("finer than can be set");
  value += fraction / denominator;

  if (value > max) return out_of_range("too large");
  if (value < min) return out_of_range("too small");
  return static_cast<uint64_t>(value);
}

// Three digits and a suffix, rounded to the nearest, for a value of at least `base`.
std::string FormatThreeDigits(uint64_t value, uint64_t base,
                              std::span<const absl::string_view> suffixes) {
  Uint128 unit = 1;
  for (size_t i = 0; i < suffixes.size(); ++i) {
    unit *= base;
    const bool last = i + 1 == suffixes.size();
    if (value / unit >= base && !last) continue;
    Uint128 power = 100;
    for (int decimals = 2; decimals >= 0; --decimals, power /= 10) {
      const uint64_t rounded = static_cast<uint64_t>((value * power + unit / 2) / unit);
      if (rounded >= 1000 && decimals > 0) continue;
      // 999.7k is 1.00M, not 1000k.
      if (decimals == 0 && rounded >= base && !last) break;
      const uint64_t scale = static_cast<uint64_t>(power);
      if (decimals == 0) return absl::StrCat(rounded, suffixes[i]);
      return absl::StrFormat("%u.%0*u%s", rounded / scale, decimals, rounded % scale, suffixes[i]);
    }
  }
  return absl::StrCat(value);
}

}  // namespace

absl::StatusOr<uint64_t> ParseUnsigned(absl::string_view text, uint64_t min, uint64_t max) {
  assert(min <= max);
  const auto message = [&](absl::string_view why) {
    return absl::StrCat(Quote(text), ": ", why, "; accepted: a whole number from ", min, " to ",
                        max, ", decimal or hexadecimal after 0x");
  };
  absl::string_view digits = text;
  uint64_t base = 10;
  if (digits.size() >= 2 && digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X')) {
    digits.remove_prefix(2);
    base = 16;
  }
  if (digits.empty()) return absl::InvalidArgumentError(message("no digits"));
  for (const char c : digits) {
    const unsigned char byte = static_cast<unsigned char>(c);
    if (!(base == 16 ? absl::ascii_isxdigit(byte) : absl::ascii_isdigit(byte))) {
      return absl::InvalidArgumentError(message("not a whole number"));
    }
  }
  const std::optional<uint64_t> value = DigitsToInteger(digits, base);
  if (!value.has_value() || *value > max) return absl::OutOfRangeError(message("too large"));
  if (*value < min) return absl::OutOfRangeError(message("too small"));
  return *value;
}

absl::StatusOr<uint64_t> ParseSize(absl::string_view text, uint64_t min_bytes, uint64_t max_bytes) {
  return ParseScaled(text, kSize, min_bytes, max_bytes);
}

absl::StatusOr<uint64_t> ParseRatePps(absl::string_view text, uint64_t min_pps, uint64_t max_pps) {
  return ParseScaled(text, kRate, min_pps, max_pps);
}

absl::StatusOr<uint64_t> ParseDurationNs(absl::string_view text, uint64_t min_ns, uint64_t max_ns) {
  return ParseScaled(text, kDuration, min_ns, max_ns);
}

std::string FormatCount(uint64_t count) {
  static constexpr absl::string_view kSuffixes[] = {"k", "M", "G", "T", "P", "E"};
  return count < 1000 ? absl::StrCat(count) : FormatThreeDigits(count, 1000, kSuffixes);
}

std::string FormatSize(uint64_t bytes) {
  static constexpr absl::string_view kSuffixes[] = {"K", "M", "G", "T"};
  if (bytes < kKibi) return absl::StrCat(bytes);
  // The largest unit not above the value; where it divides, "64M" says all that "64.0M" would.
  for (const Unit& unit : kSizeUnits) {
    if (bytes < unit.factor) continue;
    if (bytes % unit.factor == 0) return absl::StrCat(bytes / unit.factor, unit.suffix);
    break;
  }
  return FormatThreeDigits(bytes, kKibi, kSuffixes);
}

std::string FormatDurationNs(uint64_t ns) {
  return ns == 0 ? "0s" : FormatExactly(ns, kDurationUnits);
}

}  // namespace penstock
