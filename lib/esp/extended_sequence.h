// SPDX-License-Identifier: BSD-3-Clause
//
// InferSequence: the 64-bit sequence number of an ESP packet that carries the low half only
// (RFC 4303 2.2.1, extended sequence numbers). Any lcore, data path included: no state.
//
//   const uint64_t top = window.top();                    // once for the burst
//   const uint64_t sequence = InferSequence(top, low32);  // to the cipher, then to the window
//
// The number is a guess that authentication confirms: the high half is part of what is
// authenticated. It is therefore computed from one value of the top, goes with the packet, and is
// the one that the window is given afterwards. Nothing inferred is kept in the SA, where another
// packet would change it in between.
//
// Why not the procedure of RFC 4303 appendix A2.2. That one asks whether the low half lies inside
// the window and takes whatever lies below its edge for a number of the next 2^32. A packet that is
// a little too late is so given a high half that the sender did not use; its authentication fails,
// and the operator sees forgeries where reordering should be seen, after the price of a decryption.
// Here the number nearest to the top is taken, up to 2^31 to either side. Late packets keep their
// number, the window calls them late before anything is decrypted, and what fails authentication is
// forged or damaged. The sender may lose up to 2^31 - 1 packets in a row, which A2.2 allows to be
// 2^32 less the window; after more than that both need a resynchronisation (A3) or a new SA.

#ifndef PENSTOCK_LIB_ESP_EXTENDED_SEQUENCE_H_
#define PENSTOCK_LIB_ESP_EXTENDED_SEQUENCE_H_

#include <cstdint>

namespace penstock {

// The number whose low half is `low32` and which is nearest to `top`; of two that are equally near,
// the lower. Where the nearest would be below 0 or above 2^64 - 1, the one in the 2^32 of `top`.
constexpr uint64_t InferSequence(uint64_t top, uint32_t low32) noexcept {
  const auto ahead = static_cast<int32_t>(low32 - static_cast<uint32_t>(top));
  const uint64_t nearest = top + static_cast<uint64_t>(static_cast<int64_t>(ahead));
  const bool wrapped = ahead < 0 ? nearest > top : nearest < top;
  constexpr uint64_t kHighHalf = ~uint64_t{0xffffffff};
  return wrapped ? (top & kHighHalf) | low32 : nearest;
}

}  // namespace penstock

#endif  // PENSTOCK_LIB_ESP_EXTENDED_SEQUENCE_H_
