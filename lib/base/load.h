// SPDX-License-Identifier: BSD-3-Clause
//
// LoadAt: a value out of bytes at any offset, aligned or not, as one instruction. Any thread, data
// path included.
//
//   const auto udp = LoadAt<UdpHeader>(frame, offset);
//
// The caller has checked that `offset` and the size of T lie within the bytes. An integer comes in
// the order of the machine; what stands on the wire is Big16, Big32 or a struct of these.

#ifndef PENSTOCK_LIB_BASE_LOAD_H_
#define PENSTOCK_LIB_BASE_LOAD_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace penstock {

template <typename T>
T LoadAt(const uint8_t* data, size_t offset) noexcept {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  std::memcpy(&value, data + offset, sizeof(value));
  return value;
}

}  // namespace penstock

#endif  // PENSTOCK_LIB_BASE_LOAD_H_
