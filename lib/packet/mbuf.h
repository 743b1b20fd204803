// SPDX-License-Identifier: BSD-3-Clause
//
// What stages do to mbufs that DPDK has no function for. Runs on lcores: no allocation, no locks.

#ifndef PENSTOCK_LIB_PACKET_MBUF_H_
#define PENSTOCK_LIB_PACKET_MBUF_H_

#include <rte_mbuf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

namespace penstock {

inline constexpr uint16_t kEthernetHeaderBytes = 14;
inline constexpr uint16_t kMacPairBytes = 12;  // Destination and source.

// Exchanges the two MAC addresses at `header`.
inline void SwapMacPair(uint8_t* header) noexcept {
  // Loads before stores, whole: two registers, no dependence on how the compiler orders byte
  // copies.
  uint64_t destination = 0;
  uint64_t source = 0;
  std::memcpy(&destination, header, 6);
  std::memcpy(&source, header + 6, 6);
  std::memcpy(header, &source, 6);
  std::memcpy(header + 6, &destination, 6);
}

// The same where at least kMacVectorBytes are there: one load, one shuffle, one store, which writes
// the bytes behind the addresses as they were.
inline constexpr uint16_t kMacVectorBytes = 16;
inline void SwapMacPairVector(uint8_t* header) noexcept {
  typedef uint8_t Vector __attribute__((vector_size(kMacVectorBytes)));
  Vector bytes;
  std::memcpy(&bytes, header, sizeof(bytes));
  bytes =
      __builtin_shufflevector(bytes, bytes, 6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 12, 13, 14, 15);
  std::memcpy(header, &bytes, sizeof(bytes));
}

// The same for a packet whose first segments are shorter than the addresses. The caller has checked
// that the packet as a whole is long enough.
inline void SwapMacPairSegmented(rte_mbuf* packet) noexcept {
  uint8_t header[kMacPairBytes];
  const auto walk = [packet](auto copy) {
    uint32_t done = 0;
    for (rte_mbuf* segment = packet; done < kMacPairBytes; segment = segment->next) {
      const uint32_t n = std::min<uint32_t>(segment->data_len, kMacPairBytes - done);
      copy(rte_pktmbuf_mtod(segment, uint8_t*), done, n);
      done += n;
    }
  };
  walk([&](uint8_t* data, uint32_t at, uint32_t n) { std::memcpy(header + at, data, n); });
  SwapMacPair(header);
  walk([&](uint8_t* data, uint32_t at, uint32_t n) { std::memcpy(data, header + at, n); });
}

}  // namespace penstock

#endif  // PENSTOCK_LIB_PACKET_MBUF_H_
