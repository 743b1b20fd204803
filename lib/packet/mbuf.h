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

// Calls piece(data, n) for each contiguous piece of `bytes` bytes from `offset` on, in order. The
// caller has checked that the packet is that long.
inline void ForEachPiece(rte_mbuf* packet, uint32_t offset, uint32_t bytes, auto piece) noexcept {
  for (rte_mbuf* segment = packet; bytes > 0; segment = segment->next) {
    if (offset >= segment->data_len) {
      offset -= segment->data_len;
      continue;
    }
    const uint32_t n = std::min<uint32_t>(segment->data_len - offset, bytes);
    piece(rte_pktmbuf_mtod_offset(segment, uint8_t*, offset), n);
    bytes -= n;
    offset = 0;
  }
}

// Copies out of a packet, and into it, however it is cut into segments. The caller has checked that
// it is long enough.
inline void CopyFromPacket(rte_mbuf* packet, uint32_t offset, std::span<uint8_t> to) noexcept {
  ForEachPiece(packet, offset, static_cast<uint32_t>(to.size()),
               [at = to.data()](const uint8_t* data, uint32_t n) mutable {
                 std::memcpy(at, data, n);
                 at += n;
               });
}
inline void CopyToPacket(rte_mbuf* packet, uint32_t offset,
                         std::span<const uint8_t> from) noexcept {
  ForEachPiece(packet, offset, static_cast<uint32_t>(from.size()),
               [at = from.data()](uint8_t* data, uint32_t n) mutable {
                 std::memcpy(data, at, n);
                 at += n;
               });
}

// Takes `bytes` bytes out of a packet at `offset`; what was before moves up to what was behind. The
// caller has checked that the packet is that long, and longer. False, with the packet as it was,
// when the first mbuf has no headroom of `offset` bytes; at most 128 are before what was received.
inline bool RemoveFromPacket(rte_mbuf* packet, uint32_t offset, uint32_t bytes) noexcept {
  uint8_t front[RTE_PKTMBUF_HEADROOM];
  if (offset > sizeof(front) || offset > packet->data_off) return false;
  CopyFromPacket(packet, 0, {front, offset});
  uint32_t left = offset + bytes;
  packet->pkt_len -= left;
  for (rte_mbuf* segment = packet; left > 0; segment = segment->next) {
    const auto n = static_cast<uint16_t>(std::min<uint32_t>(segment->data_len, left));
    segment->data_off = static_cast<uint16_t>(segment->data_off + n);
    segment->data_len = static_cast<uint16_t>(segment->data_len - n);
    left -= n;
  }
  // Some ports cannot send a segment of no bytes.
  while (packet->next != nullptr && packet->next->data_len == 0) {
    rte_mbuf* const empty = packet->next;
    packet->next = empty->next;
    --packet->nb_segs;
    rte_pktmbuf_free_seg(empty);
  }
  packet->data_off = static_cast<uint16_t>(packet->data_off - offset);
  packet->data_len = static_cast<uint16_t>(packet->data_len + offset);
  packet->pkt_len += offset;
  std::memcpy(rte_pktmbuf_mtod(packet, uint8_t*), front, offset);
  return true;
}

// SwapMacPair for a packet whose first segments are shorter than the addresses. The caller has
// checked that the packet as a whole is long enough.
inline void SwapMacPairSegmented(rte_mbuf* packet) noexcept {
  uint8_t header[kMacPairBytes];
  CopyFromPacket(packet, 0, header);
  SwapMacPair(header);
  CopyToPacket(packet, 0, header);
}

}  // namespace penstock

#endif  // PENSTOCK_LIB_PACKET_MBUF_H_
