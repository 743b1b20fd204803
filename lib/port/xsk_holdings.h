// SPDX-License-Identifier: BSD-3-Clause
//
// Which mbufs an AF_XDP socket holds: those in its four rings and those in the kernel's hands. Pure
// functions on copies of the rings. Control thread.
//
// The stock net_af_xdp never returns them, so after a port's close they are missing from the pool
// and must not be taken for mbufs that the application leaked. A chunk of the UMEM is one element
// of the pool; its address is the offset from the UMEM's start (xsk_umem.h has the mbuf).
//
// The rings work in two pairs: what goes in through FILL comes out through RX, what goes in through
// TX comes out through COMPLETION, and in between the kernel has it.
//
//   held      =  put in by the driver  −  taken out by the driver
//   count     =  in.producer − out.consumer: exact at any moment, both indices are the driver's own
//   identity  =  what can be read between out.consumer and out.producer, and what was put in and
//                has not come out: the last entries of the in ring minus the last of the out ring
//
// The in ring's consumer index is not relied on: the kernel publishes it late. The rings keep
// entries long after they were consumed, which is what makes the kernel's share visible, the hidden
// list of buffers that it popped from FILL and could not deliver included.

#ifndef PENSTOCK_LIB_PORT_XSK_HOLDINGS_H_
#define PENSTOCK_LIB_PORT_XSK_HOLDINGS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace penstock {

// Entries by slot; entry i of a ring's history is in slot i modulo the size, a power of two.
// Addresses are those of chunks, without the offset that unaligned mode puts into the upper bits.
struct RingImage {
  uint32_t producer = 0;
  uint32_t consumer = 0;
  std::vector<uint64_t> chunks;
};

struct SocketImage {
  RingImage fill;
  RingImage rx;
  RingImage tx;
  RingImage completion;
};

struct Holdings {
  // Chunks known to be held, ascending, each once (a frame may be queued for sending twice).
  std::vector<uint64_t> chunks;
  // Chunks held by the kernel whose address the rings' history is too short to tell: with frames of
  // one ring overtaking each other, or with more on their way than the ring has entries.
  uint64_t unplaced = 0;

  uint64_t Count() const { return chunks.size() + unplaced; }
};

// What the sockets over one mempool hold together. DataLoss if the kernel gave back more than it
// was given: it completed a frame twice.
absl::StatusOr<Holdings> HoldingsOf(std::span<const SocketImage> sockets);

}  // namespace penstock

#endif  // PENSTOCK_LIB_PORT_XSK_HOLDINGS_H_
