// SPDX-License-Identifier: BSD-3-Clause
//
// QueueSockets: the AF_XDP sockets on one queue of an interface, with their rings mapped. Control
// thread opens and closes; the rings belong to the lcores of the queue, the file descriptors of the
// data path are read only.
//
// Receiving and sending have a socket each, on the same UMEM: poll and epoll on a socket with a TX
// ring send what is in it, whoever polls, so that an RX interrupt on a common socket would make the
// waiting lcore a second user of the TX ring. The first socket owns UMEM, FILL and COMPLETION; the
// second, if there are both, shares them.

#ifndef PENSTOCK_DRIVERS_NET_XSK_SOCKET_H_
#define PENSTOCK_DRIVERS_NET_XSK_SOCKET_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "drivers/net/xsk/xdp_compat.h"
#include "lib/ring/ring_memory.h"

namespace penstock {

// The kernel's own counts of the sockets of a queue (xdp_statistics).
struct XdpStatistics {
  uint64_t rx_dropped = 0;
  uint64_t rx_invalid_descs = 0;
  uint64_t tx_invalid_descs = 0;
  uint64_t rx_ring_full = 0;
  uint64_t rx_fill_ring_empty_descs = 0;
  uint64_t tx_ring_empty_descs = 0;

  void Add(const XdpStatistics& other);
};

class QueueSockets {
 public:
  struct Settings {
    std::string interface;
    uint32_t ifindex = 0;
    uint32_t queue = 0;
    char* umem = nullptr;
    uint64_t umem_bytes = 0;
    uint32_t chunk_bytes = 0;
    uint32_t headroom_bytes = 0;
    uint32_t fill_size = 0;  // sizes of rings: powers of two
    uint32_t completion_size = 0;
    uint32_t rx_size = 0;  // 0: does not receive
    uint32_t tx_size = 0;  // 0: does not send
    bool zero_copy = false;
    bool segments = false;  // packets of several descriptors, kernel 6.6
    uint32_t busy_budget = 0;
    uint32_t sndbuf_bytes = 0;
  };

  // The error names the failing call, and the missing capability where that is the reason. A queue
  // whose last user has just closed it is busy for a moment, and is waited for (a second at most).
  static absl::StatusOr<std::unique_ptr<QueueSockets>> Open(const Settings& settings);
  ~QueueSockets();
  QueueSockets(const QueueSockets&) = delete;
  QueueSockets& operator=(const QueueSockets&) = delete;

  int rx_fd() const noexcept { return rx_fd_; }  // -1 where there is none
  int tx_fd() const noexcept { return tx_fd_; }
  bool zero_copy() const noexcept { return zero_copy_; }
  const RingMemory<xdp_desc>& rx() const noexcept { return rx_; }
  const RingMemory<xdp_desc>& tx() const noexcept { return tx_; }
  const RingMemory<uint64_t>& fill() const noexcept { return fill_; }
  const RingMemory<uint64_t>& completion() const noexcept { return completion_; }

  // False where the kernel has no budget to set (before 6.17, or zero-copy). May be called from the
  // lcore that sends: one setsockopt.
  bool SetBudget(uint32_t descriptors) const noexcept;
  XdpStatistics Statistics() const;

 private:
  QueueSockets() = default;
  absl::Status OpenOwner(const Settings& settings);
  absl::Status OpenSharer(const Settings& settings);
  absl::Status MapRings(int fd, const Settings& settings, bool owner, bool rx, bool tx);
  template <typename Entry>
  absl::Status Map(int fd, uint64_t page_offset, uint32_t size, const void* offsets,
                   RingMemory<Entry>& ring);

  struct Mapping {
    void* address;
    size_t bytes;
  };

  int owner_fd_ = -1;
  int sharer_fd_ = -1;
  int rx_fd_ = -1;
  int tx_fd_ = -1;
  bool zero_copy_ = false;
  bool busy_ = false;  // bind failed because the queue is in use
  std::vector<Mapping> mappings_;
  RingMemory<xdp_desc> rx_, tx_;
  RingMemory<uint64_t> fill_, completion_;
};

// Whether the kernel takes packets of several descriptors (6.6 and later).
bool KernelHasSegments();

// Waits, a second at most, until the kernel has let go of a queue that was closed: it does so after
// close() has returned. For zero-copy, where the device may write into chunks until then. False if
// it has not, or the queue is gone.
bool WaitUntilReleased(uint32_t ifindex, uint32_t queue);

}  // namespace penstock

#endif  // PENSTOCK_DRIVERS_NET_XSK_SOCKET_H_
