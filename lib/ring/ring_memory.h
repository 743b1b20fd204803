// SPDX-License-Identifier: BSD-3-Clause
//
// A ring in memory that two sides share, as the kernel lays out those of an AF_XDP socket: two
// free-running 32-bit indices, a power of two of entries, and sometimes a word of flags. This is
// only where things are; producer.h and consumer.h use it. The memory outlives every cursor on it.

#ifndef PENSTOCK_LIB_RING_RING_MEMORY_H_
#define PENSTOCK_LIB_RING_RING_MEMORY_H_

#include <cstdint>

namespace penstock {

template <typename Entry>
struct RingMemory {
  uint32_t* producer = nullptr;
  uint32_t* consumer = nullptr;
  Entry* entries = nullptr;
  uint32_t size = 0;                // a power of two
  const uint32_t* flags = nullptr;  // null where there is none
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_RING_RING_MEMORY_H_
