// SPDX-License-Identifier: BSD-3-Clause
//
// See ip_address.h. Control path, any thread.

#include "lib/net/ip_address.h"

#include <arpa/inet.h>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace penstock {

absl::StatusOr<Ipv4Address> Ipv4Address::Parse(absl::string_view text) {
  in_addr address;
  // inet_pton stops at a NUL, which a string_view may hold.
  if (text.find('\0') != absl::string_view::npos ||
      inet_pton(AF_INET, std::string(text).c_str(), &address) != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", absl::CHexEscape(text.substr(0, 40)),
                     "\": not an IPv4 address; accepted: four numbers from 0 to 255 between "
                     "points, such as 192.0.2.1"));
  }
  return Ipv4Address(ntohl(address.s_addr));
}

std::string Ipv4Address::Format() const {
  const uint32_t value = host();
  return absl::StrCat(value >> 24, ".", (value >> 16) & 0xff, ".", (value >> 8) & 0xff, ".",
                      value & 0xff);
}

}  // namespace penstock
