// SPDX-License-Identifier: BSD-3-Clause
//
// Ipv4Address: an IPv4 address as on the wire. Any thread; all but Parse and Format are fit for the
// data path. Part of wire structs: no padding, alignment 1.
//
//   Ipv4Address(0xc0000201)   // 192.0.2.1, from host order

#ifndef PENSTOCK_LIB_NET_IP_ADDRESS_H_
#define PENSTOCK_LIB_NET_IP_ADDRESS_H_

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

  friend constexpr bool operator==(const Ipv4Address&, const Ipv4Address&) noexcept = default;

 private:
  Big32 value_;
};

static_assert(sizeof(Ipv4Address) == 4 && alignof(Ipv4Address) == 1 &&
              std::is_trivially_copyable_v<Ipv4Address>);

}  // namespace penstock

#endif  // PENSTOCK_LIB_NET_IP_ADDRESS_H_
