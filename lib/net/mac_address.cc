// SPDX-License-Identifier: BSD-3-Clause
//
// See mac_address.h. Control path, any thread.

#include "lib/net/mac_address.h"

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/quote.h"

namespace penstock {
namespace {

// The value of a hexadecimal digit, or -1.
int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = absl::ascii_tolower(static_cast<unsigned char>(c));
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

}  // namespace

absl::StatusOr<MacAddress> MacAddress::Parse(absl::string_view text) {
  constexpr size_t kLength = 17;
  MacAddress address;
  bool good = text.size() == kLength;
  for (size_t i = 0; good && i < address.bytes.size(); ++i) {
    const int high = HexDigit(text[3 * i]);
    const int low = HexDigit(text[3 * i + 1]);
    good = high >= 0 && low >= 0 && (3 * i + 2 == kLength || text[3 * i + 2] == ':');
    address.bytes[i] = static_cast<uint8_t>(high * 16 + low);
  }
  if (!good) {
    return absl::InvalidArgumentError(
        absl::StrCat(Quote(text),
                     ": not a MAC address; accepted: six pairs of hexadecimal digits between "
                     "colons, such as 02:00:00:00:00:0a"));
  }
  return address;
}

std::string MacAddress::Format() const {
  return absl::StrFormat("%02x:%02x:%02x:%02x:%02x:%02x", bytes[0], bytes[1], bytes[2], bytes[3],
                         bytes[4], bytes[5]);
}

}  // namespace penstock
