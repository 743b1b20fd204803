// SPDX-License-Identifier: BSD-3-Clause
//
// See ip_address.h. Control path, any thread.

#include "lib/net/ip_address.h"

#include <arpa/inet.h>

#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/base/quote.h"

namespace penstock {
namespace {

// A run of groups that are zero: [begin, begin + groups).
struct ZeroRun {
  size_t begin = 0;
  size_t groups = 0;
};

constexpr size_t kGroups = 8;

// RFC 5952, 4.2.2 and 4.2.3: no "::" for one group alone; the longest run, of equals the first.
ZeroRun LongestZeroRun(const std::array<uint16_t, kGroups>& groups) {
  ZeroRun longest;
  ZeroRun run;
  for (size_t i = 0; i < kGroups; ++i) {
    if (groups[i] != 0) {
      run = {};
      continue;
    }
    if (run.groups == 0) run.begin = i;
    ++run.groups;
    if (run.groups > longest.groups) longest = run;
  }
  return longest.groups > 1 ? longest : ZeroRun{};
}

}  // namespace

absl::StatusOr<Ipv4Address> Ipv4Address::Parse(absl::string_view text) {
  in_addr address;
  // inet_pton stops at a NUL, which a string_view may hold.
  if (text.find('\0') != absl::string_view::npos ||
      inet_pton(AF_INET, std::string(text).c_str(), &address) != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(Quote(text),
                     ": not an IPv4 address; accepted: four numbers from 0 to 255 between "
                     "points, such as 192.0.2.1"));
  }
  return Ipv4Address(ntohl(address.s_addr));
}

std::string Ipv4Address::Format() const {
  const uint32_t value = host();
  return absl::StrCat(value >> 24, ".", (value >> 16) & 0xff, ".", (value >> 8) & 0xff, ".",
                      value & 0xff);
}

absl::StatusOr<Ipv6Address> Ipv6Address::Parse(absl::string_view text) {
  Ipv6Address address;
  // inet_pton stops at a NUL, which a string_view may hold.
  if (text.find('\0') != absl::string_view::npos ||
      inet_pton(AF_INET6, std::string(text).c_str(), address.bytes.data()) != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(Quote(text),
                     ": not an IPv6 address; accepted: eight groups of up to four hexadecimal "
                     "digits between colons, zeros shortened once to ::, such as 2001:db8::1"));
  }
  return address;
}

std::string Ipv6Address::Format() const {
  // RFC 5952, 5: with points where the address is known to hold an IPv4 address by its prefix.
  constexpr uint8_t kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (std::memcmp(bytes.data(), kMapped, sizeof(kMapped)) == 0) {
    return absl::StrCat("::ffff:", bytes[12], ".", bytes[13], ".", bytes[14], ".", bytes[15]);
  }
  std::array<uint16_t, kGroups> groups;
  for (size_t i = 0; i < kGroups; ++i) {
    groups[i] = static_cast<uint16_t>(bytes[2 * i] << 8 | bytes[2 * i + 1]);
  }
  const ZeroRun zeros = LongestZeroRun(groups);
  std::string text;
  for (size_t i = 0; i < kGroups; ++i) {
    if (zeros.groups > 0 && i == zeros.begin) {
      text += "::";
      i += zeros.groups - 1;
      continue;
    }
    if (!text.empty() && text.back() != ':') text += ':';
    absl::StrAppend(&text, absl::Hex(groups[i]));
  }
  return text;
}

}  // namespace penstock
