// SPDX-License-Identifier: BSD-3-Clause
//
// MacAddress: an IEEE 802 MAC address, its six bytes as on the wire. Any thread; all but Parse and
// Format are fit for the data path. Part of wire structs: no padding, alignment 1.

#ifndef PENSTOCK_LIB_NET_MAC_ADDRESS_H_
#define PENSTOCK_LIB_NET_MAC_ADDRESS_H_

#include <array>
#include <cstdint>
#include <string>
#include <type_traits>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace penstock {

struct MacAddress {
  // Six pairs of hexadecimal digits of either case between colons, "02:00:00:00:00:0a", and nothing
  // else. InvalidArgument says what was read and what is accepted.
  static absl::StatusOr<MacAddress> Parse(absl::string_view text);

  // Lower case: "02:00:00:00:00:0a".
  std::string Format() const;

  // The group bit: multicast, broadcast included.
  constexpr bool IsMulticast() const noexcept { return (bytes[0] & 1) != 0; }

  friend constexpr bool operator==(const MacAddress&, const MacAddress&) noexcept = default;

  std::array<uint8_t, 6> bytes{};
};

static_assert(sizeof(MacAddress) == 6 && alignof(MacAddress) == 1 &&
              std::is_trivially_copyable_v<MacAddress>);

}  // namespace penstock

#endif  // PENSTOCK_LIB_NET_MAC_ADDRESS_H_
