// SPDX-License-Identifier: BSD-3-Clause
//
// A ring in memory that two sides share, as the kernel lays out those of an AF_XDP socket: two
// free-running 32-bit indices, a power of two of entries, and sometimes a word of flags. This is
// only where things are; producer.h and consumer.h use it. The memory outlives every cursor on it.

#ifndef PENSTOCK_LIB_RING_RING_MEMORY_H_
#define PENSTOCK_LIB_RING_RING_MEMORY_H_

#include <algorithm>
#include <cstdint>

namespace penstock {

template <typename Entry>
struct RingMemory {
  uint32_t* producer = nullptr;
  uint32_t* consumer = nullptr;
  Entry* entries = nullptr;
  uint32_t size = 0;                // a power of two
  const uint32_t* flags = nullptr;  // null where there is none

  // `n` entries from that with index `first` on, at most `size`: into `out`, or from `in`. In two
  // pieces, because they may go round the end; one alone, which is as frequent, is no piece to call
  // for.
  void Read(uint32_t first, Entry* out, uint32_t n) const noexcept {
    const uint32_t at = first & (size - 1);
    if (n == 1) {
      *out = entries[at];
      return;
    }
    const uint32_t to_end = std::min(n, size - at);
    std::copy_n(entries + at, to_end, out);
    std::copy_n(entries, n - to_end, out + to_end);
  }
  void Write(uint32_t first, const Entry* in, uint32_t n) const noexcept {
    const uint32_t at = first & (size - 1);
    if (n == 1) {
      entries[at] = *in;
      return;
    }
    const uint32_t to_end = std::min(n, size - at);
    std::copy_n(in, to_end, entries + at);
    std::copy_n(in + to_end, n - to_end, entries);
  }
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_RING_RING_MEMORY_H_
