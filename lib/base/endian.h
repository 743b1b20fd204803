// SPDX-License-Identifier: BSD-3-Clause
//
// Big16, Big32, Big64: unsigned integers as they stand on the wire, most significant byte first.
// Any thread, data path included: no state, one byte-swap instruction each way.
//
// A wire struct built of them has neither padding nor alignment, so it may be laid over any byte of
// a frame, and the compiler refuses to mix a wire value with a host value:
//
//   struct UdpHeader { Big16 source_port; ... };
//   header.source_port = Big16(53);              // from host order: explicit
//   if (header.source_port == Big16(53)) ...     // compares without swapping
//   uint16_t port = header.source_port.host();   // to host order: named
//
// Not for arithmetic (take host() first) and not for values that never meet the wire.

#ifndef PENSTOCK_LIB_BASE_ENDIAN_H_
#define PENSTOCK_LIB_BASE_ENDIAN_H_

#include <array>
#include <bit>
#include <cstdint>
#include <type_traits>

namespace penstock {

template <typename T>
class BigEndian {
  static_assert(std::is_same_v<T, uint16_t> || std::is_same_v<T, uint32_t> ||
                std::is_same_v<T, uint64_t>);
  static_assert(std::endian::native == std::endian::little ||
                std::endian::native == std::endian::big);

 public:
  constexpr BigEndian() noexcept = default;  // zero
  constexpr explicit BigEndian(T host_value) noexcept
      : bytes_(std::bit_cast<Bytes>(Swap(host_value))) {}

  constexpr T host() const noexcept { return Swap(std::bit_cast<T>(bytes_)); }

  friend constexpr bool operator==(const BigEndian& a, const BigEndian& b) noexcept {
    return std::bit_cast<T>(a.bytes_) == std::bit_cast<T>(b.bytes_);
  }

 private:
  // An array of bytes, not a T: that is what makes the alignment 1.
  using Bytes = std::array<uint8_t, sizeof(T)>;

  // Its own inverse.
  static constexpr T Swap(T value) noexcept {
    if constexpr (std::endian::native == std::endian::big) {
      return value;
    } else if constexpr (sizeof(T) == 2) {
      return __builtin_bswap16(value);
    } else if constexpr (sizeof(T) == 4) {
      return __builtin_bswap32(value);
    } else {
      return __builtin_bswap64(value);
    }
  }

  Bytes bytes_{};
};

using Big16 = BigEndian<uint16_t>;
using Big32 = BigEndian<uint32_t>;
using Big64 = BigEndian<uint64_t>;

static_assert(sizeof(Big16) == 2 && alignof(Big16) == 1 && std::is_trivially_copyable_v<Big16>);
static_assert(sizeof(Big32) == 4 && alignof(Big32) == 1 && std::is_trivially_copyable_v<Big32>);
static_assert(sizeof(Big64) == 8 && alignof(Big64) == 1 && std::is_trivially_copyable_v<Big64>);

}  // namespace penstock

#endif  // PENSTOCK_LIB_BASE_ENDIAN_H_
