// SPDX-License-Identifier: BSD-3-Clause
//
// XskPort: what stands behind one ethdev port: its interface, the sockets and the program while it
// is started. Control thread, serialised by ethdev's callers; link events come on EAL's interrupt
// thread and touch only what is atomic here. The queues belong to their lcores between Start and
// Stop.
//
// Sockets exist from Start to Stop: a stopped port holds no queue of the interface, no program and
// no mbuf.

#ifndef PENSTOCK_DRIVERS_NET_XSK_PORT_H_
#define PENSTOCK_DRIVERS_NET_XSK_PORT_H_

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "drivers/net/xsk/devargs.h"
#include "drivers/net/xsk/netdev.h"
#include "drivers/net/xsk/program.h"
#include "drivers/net/xsk/rx_queue.h"
#include "drivers/net/xsk/socket.h"
#include "drivers/net/xsk/tx_queue.h"
#include "drivers/net/xsk/umem.h"

namespace penstock {

// The holders in an InFlight table: TX queues from 1, RX queues from 128.
inline constexpr uint16_t kMaxQueues = 127;
inline constexpr uint16_t kMinDescriptors = 32;
inline constexpr uint16_t kMaxDescriptors = 32768;
inline constexpr uint16_t kDefaultRxDescriptors = 1024;
inline constexpr uint16_t kDefaultTxDescriptors = 1024;
// mbufs inside a TX queue before completions are looked for, by default: few enough to stay in the
// nearest cache, which they do not if all descriptors' are used in turn.
inline constexpr uint16_t kWarmMbufs = 64;
// Ethernet header and one VLAN tag: what the kernel lets through above the MTU.
inline constexpr uint32_t kFrameOverheadBytes = 18;
// With packets of several buffers.
inline constexpr uint32_t kMaxMtu = 9000;

class XskPort {
 public:
  XskPort(uint16_t port, std::string name, XskOptions options, Netdev netdev);

  const XskOptions& options() const { return options_; }
  Netdev& netdev() { return netdev_; }
  const std::string& netdev_name() const { return netdev_.name(); }
  uint32_t ifindex() const { return netdev_.ifindex(); }
  const std::string& name() const { return name_; }
  bool segments() const { return segments_; }

  // How many queues may be configured.
  uint16_t MaxRxQueues() const;
  uint16_t MaxTxQueues() const;

  struct QueueRequest {
    uint16_t queue = 0;
    uint16_t descriptors = 0;
    bool scatter = false;      // RX
    bool mt_lockfree = false;  // TX: of the effective offloads
    // TX: 0 for the driver's own, and for what the devarg completion= says; of all descriptors but
    // one, each burst reaps.
    uint16_t free_threshold = 0;
  };
  absl::StatusOr<std::unique_ptr<RxQueue>> MakeRxQueue(const QueueRequest& request,
                                                       rte_mempool& pool);
  absl::StatusOr<std::unique_ptr<TxQueueBase>> MakeTxQueue(const QueueRequest& request);

  // All queues are set up; ownership stays with the caller until Stop.
  absl::Status Start(std::vector<RxQueue*> rx, std::vector<TxQueueBase*> tx);
  // All mbufs are back in their mempools afterwards.
  void Stop();
  bool started() const { return started_; }

  absl::Status SetMtu(uint32_t mtu);
  absl::Status SetMac(const rte_ether_addr& mac);
  // The interface says what its address is now: the filter's dst-mac means that one.
  absl::Status NoteMac(const rte_ether_addr& mac);
  // The interface says what its MTU is now.
  void NoteMtu(uint32_t mtu) { max_frame_bytes_ = mtu + kFrameOverheadBytes; }
  void NoteRemoved() { removed_ = true; }
  bool removed() const { return removed_; }

  // The file descriptor that gets readable when frames come; −1 unless started.
  int RxFd(uint16_t queue) const;
  // Those of a started queue.
  const QueueSockets& sockets(uint16_t queue) const { return *sockets_[queue]; }
  // So many queues it has had at a time.
  uint16_t MostQueues() const { return static_cast<uint16_t>(kernel_counts_.size()); }
  // The kernel's counts of the sockets of a queue since the port exists.
  XdpStatistics KernelCounts(uint16_t queue) const;
  // "native copy budget auto", of at most 31 characters; "stopped" before.
  std::string Summary() const;
  // Whether all its queues are. While started.
  bool zero_copy() const;

 private:
  absl::StatusOr<std::shared_ptr<Umem>> UmemOf(rte_mempool& pool);
  absl::StatusOr<std::shared_ptr<Umem>> UmemForSending(size_t queue);
  absl::Status OpenQueue(size_t queue);
  absl::StatusOr<std::unique_ptr<QueueSockets>> OpenSockets(QueueSockets::Settings settings,
                                                            bool try_zero_copy);
  absl::Status AttachProgram();
  absl::Status CheckQueues() const;
  absl::Status CheckMtu() const;
  void SayWhatWasChosen() const;

  const uint16_t port_;
  const std::string name_;
  const XskOptions options_;
  Netdev netdev_;
  const bool kernel_has_segments_;

  std::map<rte_mempool*, std::weak_ptr<Umem>> umems_;
  std::atomic<uint32_t> max_frame_bytes_{0};
  std::atomic<bool> removed_{false};

  bool started_ = false;
  bool segments_ = false;
  std::vector<RxQueue*> rx_;
  std::vector<TxQueueBase*> tx_;
  std::vector<std::unique_ptr<QueueSockets>> sockets_;
  std::vector<XdpStatistics> kernel_counts_;  // of sockets that were closed
  std::unique_ptr<XdpProgramLink> program_;
};

}  // namespace penstock

#endif  // PENSTOCK_DRIVERS_NET_XSK_PORT_H_
