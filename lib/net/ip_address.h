// SPDX-License-Identifier: BSD-3-Clause
//
// Ipv4Address, Ipv6Address: IP addresses as on the wire. Any thread; all but Parse and Format are
// fit for the data path. Part of wire structs: no padding, alignment 1.
//
//   Ipv4Address(0xc0000201)   // 192.0.2.1, from host order
//   Ipv6Address::Parse("2001:db8::1")

#ifndef PENSTOCK_LIB_NET_IP_ADDRESS_H_
#define PENSTOCK_LIB_NET_IP_ADDRESS_H_

#include <array>
#include <cstdint>
#include <string>
#include <type_traits>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/base/endian.h"

namespace penstock {

class Ipv4Address {
 public:
  constexpr Ipv4Address() noexcept = default;  // 0.0.0.0
  constexpr explicit Ipv4Address(uint32_t host_value) noexcept : value_(host_value) {}

  // Four decimal numbers between points, without leading zeros, "192.0.2.1", and nothing else.
  // InvalidArgument says what was read and what is accepted.
  static absl::StatusOr<Ipv4Address> Parse(absl::string_view text);

  std::string Format() const;

  constexpr uint32_t host() const noexcept { return value_.host(); }

  // Whether a host on a link may have it for its own: not of "this network" (0/8), loopback
  // (127/8), multicast (224/4) or the limited broadcast (RFC 1122, 3.2.1.3).
  constexpr bool IsHost() const noexcept {
    const uint32_t first = host() >> 24;
    return first != 0 && first != 127 && first >> 4 != 0xe && host() != 0xffffffff;
  }

  friend constexpr bool operator==(const Ipv4Address&, const Ipv4Address&) noexcept = default;

 private:
  Big32 value_;
};

static_assert(sizeof(Ipv4Address) == 4 && alignof(Ipv4Address) == 1 &&
              std::is_trivially_copyable_v<Ipv4Address>);

struct Ipv6Address {
  // The three forms of RFC 4291, 2.2, such as "2001:db8::1" and "::ffff:192.0.2.1", and nothing
  // else: no zone, no prefix length. InvalidArgument says what was read and what is accepted.
  static absl::StatusOr<Ipv6Address> Parse(absl::string_view text);

  // RFC 5952: lower case, the longest run of zeros as "::", IPv4-mapped addresses with points.
  std::string Format() const;

  constexpr bool IsMulticast() const noexcept { return bytes[0] == 0xff; }

  // Whether a host on a link may have it for its own: not unspecified, loopback or multicast
  // (RFC 4291, 2.5.2, 2.5.3, 2.7).
  constexpr bool IsHost() const noexcept {
    for (size_t i = 0; i + 1 < bytes.size(); ++i) {
      if (bytes[i] != 0) return !IsMulticast();
    }
    return bytes.back() > 1;
  }

  friend constexpr bool operator==(const Ipv6Address&, const Ipv6Address&) noexcept = default;

  std::array<uint8_t, 16> bytes{};
};

static_assert(sizeof(Ipv6Address) == 16 && alignof(Ipv6Address) == 1 &&
              std::is_trivially_copyable_v<Ipv6Address>);

}  // namespace penstock

#endif  // PENSTOCK_LIB_NET_IP_ADDRESS_H_
