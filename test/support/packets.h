// SPDX-License-Identifier: BSD-3-Clause
//
// Packets in mbufs from bytes and back, in any segments, for tests of what is done to packets. Main
// lcore of a test process with EAL.

#ifndef PENSTOCK_TEST_SUPPORT_PACKETS_H_
#define PENSTOCK_TEST_SUPPORT_PACKETS_H_

#include <gtest/gtest.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"

namespace penstock {

using PacketBytes = std::vector<uint8_t>;

inline PacketBytes FromHex(absl::string_view hex) {
  const std::string text = absl::HexStringToBytes(hex);
  return PacketBytes(text.begin(), text.end());
}

inline std::string ToHex(const PacketBytes& bytes) {
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

// `lengths` of the segments; the last one takes what is left. Around the bytes of each stand
// guards, which GuardsHold looks at.
inline constexpr uint8_t kGuard = 0x5a;
inline rte_mbuf* MakePacket(rte_mempool* pool, const PacketBytes& bytes,
                            const std::vector<size_t>& lengths = {}) {
  rte_mbuf* head = nullptr;
  size_t at = 0;
  for (size_t i = 0; i < lengths.size() + 1; ++i) {
    const size_t left = bytes.size() - at;
    const size_t n = i < lengths.size() ? std::min(lengths[i], left) : left;
    if (head != nullptr && i >= lengths.size() && n == 0) break;
    rte_mbuf* const mbuf = rte_pktmbuf_alloc(pool);
    EXPECT_NE(mbuf, nullptr);
    std::fill_n(static_cast<uint8_t*>(mbuf->buf_addr), mbuf->buf_len, kGuard);
    std::copy_n(bytes.begin() + static_cast<long>(at), n,
                reinterpret_cast<uint8_t*>(rte_pktmbuf_append(mbuf, static_cast<uint16_t>(n))));
    at += n;
    if (head == nullptr) {
      head = mbuf;
    } else {
      EXPECT_EQ(rte_pktmbuf_chain(head, mbuf), 0);
    }
  }
  return head;
}

// A segment for each of the bytes.
inline std::vector<size_t> OneByOne(const PacketBytes& bytes) {
  return std::vector<size_t>(bytes.size(), 1);
}

inline PacketBytes BytesOf(const rte_mbuf* packet) {
  PacketBytes bytes;
  for (const rte_mbuf* segment = packet; segment != nullptr; segment = segment->next) {
    const auto* data = rte_pktmbuf_mtod(segment, const uint8_t*);
    bytes.insert(bytes.end(), data, data + segment->data_len);
  }
  return bytes;
}

// Whether nothing was written beside the bytes of the segments.
inline bool GuardsHold(const rte_mbuf* packet) {
  for (const rte_mbuf* segment = packet; segment != nullptr; segment = segment->next) {
    const auto* buffer = static_cast<const uint8_t*>(segment->buf_addr);
    const auto* data = rte_pktmbuf_mtod(segment, const uint8_t*);
    const auto is_guard = [](uint8_t byte) { return byte == kGuard; };
    if (!std::all_of(buffer, data, is_guard) ||
        !std::all_of(data + segment->data_len, buffer + segment->buf_len, is_guard)) {
      return false;
    }
  }
  return true;
}

}  // namespace penstock

#endif  // PENSTOCK_TEST_SUPPORT_PACKETS_H_
