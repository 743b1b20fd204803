// SPDX-License-Identifier: BSD-3-Clause
//
// AF_XDP sockets that a driver inside this process made, seen from outside the driver: which there
// are, how much they may send, and their rings, read in place through the driver's own mappings.
// Nothing is written to them. Control thread, before the port is closed; rings while the lcores
// that use the sockets are stopped, all else at any time.
//
// For the stock net_af_xdp, which says nothing about its sockets. A driver that can be asked should
// be asked.
//
//   PENSTOCK_ASSIGN_OR_RETURN(const std::vector<int> before, XskSockets());
//   rte_eth_rx_queue_setup(port, queue, descriptors, ...);
//   PENSTOCK_ASSIGN_OR_RETURN(const std::vector<int> after, XskSockets());
//   // The one in `after` only is the queue's.
//   ...
//   PENSTOCK_ASSIGN_OR_RETURN(const XskRings rings, XskRings::OfSocket(fd, descriptors));
//   PENSTOCK_ASSIGN_OR_RETURN(const SocketImage image, rings.Read());

#ifndef PENSTOCK_LIB_PORT_XSK_SOCKET_H_
#define PENSTOCK_LIB_PORT_XSK_SOCKET_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/port/xsk_holdings.h"

namespace penstock {

// The file descriptors of this process's AF_XDP sockets, ascending.
absl::StatusOr<std::vector<int>> XskSockets();

// How many frames the kernel could not hand to a socket because its RX ring was full. The stock
// driver does not count them (its imissed has the kernel's other drops).
absl::StatusOr<uint64_t> XskRxRingFull(int fd);

// How many descriptors of its TX ring one send call may take, in copy mode: 32, which the kernel
// begins with, to the size of the ring. Unimplemented: this kernel has no such option
// (before 6.17). OutOfRange: not within those limits. It cannot be read back.
absl::Status SetXskTxBudget(int fd, uint32_t descriptors);

// Room in the socket's send buffer, which bounds what is on its way: at least `bytes`, or as much
// as the process may have.
void SetXskSendBuffer(int fd, uint32_t bytes);

// Whether the device takes frames out of the TX ring by itself, without a budget.
bool IsXskZeroCopy(int fd);

// Where the rings of one socket are mapped. Valid as long as the driver keeps them mapped.
class XskRings {
 public:
  // `descriptors` is the size of the RX and of the TX ring (net_af_xdp gives both the RX queue's
  // nb_rx_desc); those of the other two follow from the mappings. NotFound if the socket's rings
  // are not mapped in this process, FailedPrecondition if the sizes do not agree with the mappings.
  static absl::StatusOr<XskRings> OfSocket(int fd, uint32_t descriptors);

  // A consistent copy. Frames that arrive meanwhile move the kernel's ends, so it is taken again
  // until nothing moved; Unavailable if that never happens.
  absl::StatusOr<SocketImage> Read() const;

 private:
  struct Ring {
    const uint32_t* producer = nullptr;
    const uint32_t* consumer = nullptr;
    const std::byte* entries = nullptr;
    size_t entry_bytes = 0;
    uint32_t size = 0;

    RingImage Copy() const;
    bool Moved(const RingImage& image) const;
  };

  Ring fill_, rx_, tx_, completion_;
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_PORT_XSK_SOCKET_H_
