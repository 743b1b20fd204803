// SPDX-License-Identifier: BSD-3-Clause
//
// Starting and stopping a port; see the header. Control thread.

#include "drivers/net/xsk/port.h"

#include <rte_mempool.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "drivers/net/xsk/log.h"
#include "lib/base/status.h"

namespace penstock {
namespace {

constexpr uint8_t kFirstTxHolder = 1;
constexpr uint8_t kFirstRxHolder = 128;
// A ring that has to exist though nothing goes through it.
constexpr uint32_t kIdleRing = 64;
// What an skb costs the send buffer beyond its frame.
constexpr uint32_t kSkbOverheadBytes = 1024;
// mbufs that a mempool needs beside what FILL keeps: those in the hands of a lcore.
constexpr uint32_t kSpareMbufs = 64;

uint16_t QueuesFrom(uint32_t start, uint32_t there, uint32_t wanted) {
  if (start >= there) return 0;
  const uint32_t left = there - start;
  return static_cast<uint16_t>(
      std::min<uint32_t>(kMaxQueues, wanted == 0 ? left : std::min(left, wanted)));
}

}  // namespace

XskPort::XskPort(uint16_t port, std::string name, XskOptions options, Netdev netdev)
    : port_(port),
      name_(std::move(name)),
      options_(std::move(options)),
      netdev_(std::move(netdev)),
      kernel_has_segments_(KernelHasSegments()),
      segments_(kernel_has_segments_) {
  NoteMtu(netdev_.Mtu().value_or(RTE_ETHER_MTU));
}

uint16_t XskPort::MaxRxQueues() const {
  return QueuesFrom(options_.start_queue, netdev_.Channels().rx, options_.queue_count);
}

// A socket on a queue beyond those that send is answered with 0 and never sends.
uint16_t XskPort::MaxTxQueues() const {
  return QueuesFrom(options_.start_queue, netdev_.Channels().tx, options_.queue_count);
}

absl::StatusOr<std::shared_ptr<Umem>> XskPort::UmemOf(rte_mempool& pool) {
  std::shared_ptr<Umem> known = umems_[&pool].lock();
  if (known != nullptr && known->IsOf(pool)) return known;
  PENSTOCK_ASSIGN_OR_RETURN(std::shared_ptr<Umem> umem, Umem::Create(pool));
  umems_[&pool] = umem;
  return umem;
}

absl::StatusOr<std::unique_ptr<RxQueue>> XskPort::MakeRxQueue(const QueueRequest& request,
                                                              rte_mempool& pool) {
  if (pool.size < request.descriptors + kSpareMbufs) {
    return absl::FailedPreconditionError(absl::StrCat(
        "mempool ", pool.name, " has ", pool.size, " mbufs; an RX queue of ", request.descriptors,
        " descriptors needs at least ", request.descriptors + kSpareMbufs,
        ": give more (--total-num-mbufs), or ask for fewer descriptors (--rxd)"));
  }
  PENSTOCK_ASSIGN_OR_RETURN(std::shared_ptr<Umem> umem, UmemOf(pool));
  const RxQueue::Settings settings = {
      .port = port_,
      .queue = request.queue,
      .descriptors = request.descriptors,
      .holder = static_cast<uint8_t>(kFirstRxHolder + request.queue),
      .scatter = request.scatter,
      .busy_poll = options_.busy_budget != 0};
  return std::make_unique<RxQueue>(settings, std::move(umem));
}

absl::StatusOr<std::unique_ptr<TxQueueBase>> XskPort::MakeTxQueue(const QueueRequest& request) {
  if (options_.budget > std::bit_ceil(uint32_t{request.descriptors})) {
    return absl::InvalidArgumentError(absl::StrCat(
        "devarg budget=", options_.budget, ": a TX queue of ", request.descriptors,
        " descriptors takes 32…", std::bit_ceil(uint32_t{request.descriptors}), ", or auto"));
  }
  if (request.free_threshold >= request.descriptors) {
    return absl::InvalidArgumentError(absl::StrCat(
        "tx_free_thresh ", request.free_threshold, ": a TX queue of ", request.descriptors,
        " descriptors takes 1…", request.descriptors - 1, ", or 0 for the driver's own"));
  }
  const auto warm =
      static_cast<uint16_t>(request.descriptors - std::min(request.descriptors, kWarmMbufs));
  const TxSettings settings = {
      .port = port_,
      .queue = request.queue,
      .descriptors = request.descriptors,
      .free_threshold = request.free_threshold != 0 ? request.free_threshold : warm,
      .holder = static_cast<uint8_t>(kFirstTxHolder + request.queue),
      .inline_completion = request.free_threshold == 0
                               ? options_.inline_completion
                               : request.free_threshold + 1 == request.descriptors,
      .budget = options_.budget};
  if (request.mt_lockfree) return std::make_unique<TxQueue<Shared>>(settings);
  if (options_.check_owner) return std::make_unique<TxQueue<Checked>>(settings);
  return std::make_unique<TxQueue<Exclusive>>(settings);
}

// A queue that only sends has no mempool of its own in ethdev. It takes that of an RX queue; on a
// port without any, the largest mempool that can serve, which is the one packets are likely to come
// from.
absl::StatusOr<std::shared_ptr<Umem>> XskPort::UmemForSending(size_t queue) {
  if (!rx_.empty()) return rx_[queue % rx_.size()]->umem();
  struct Search {
    XskPort* port;
    std::shared_ptr<Umem> best;
  } search{this, nullptr};
  rte_mempool_walk(
      [](rte_mempool* pool, void* argument) {
        auto& found = *static_cast<Search*>(argument);
        absl::StatusOr<std::shared_ptr<Umem>> umem = found.port->UmemOf(*pool);
        if (umem.ok() && (found.best == nullptr || pool->size > found.best->pool()->size)) {
          found.best = *std::move(umem);
        }
      },
      &search);
  if (search.best != nullptr) return search.best;
  return absl::FailedPreconditionError(
      "no mempool can serve as packet memory: a port without RX queues takes one that exists");
}

absl::Status XskPort::CheckMtu() const {
  for (const RxQueue* queue : rx_) {
    const uint32_t room = queue->umem()->rx_room_bytes();
    const uint32_t frame = max_frame_bytes_;
    if (frame <= room || segments_) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "MTU ", frame - kFrameOverheadBytes, " of ", netdev_.name(), " needs ", frame,
        " bytes in an mbuf, and mempool ", queue->umem()->pool()->name, " leaves ", room,
        ": make mbufs larger (--mbuf-size), or the MTU smaller; kernels from 6.6 on can do "
        "without"));
  }
  return absl::OkStatus();
}

// Queues may have been taken away since the port was configured (ethtool -L); the kernel lets a
// socket on a queue beyond those that send be opened, and never sends from it.
absl::Status XskPort::CheckQueues() const {
  if (removed_ || !netdev_.Exists()) {
    return absl::NotFoundError(absl::StrCat("interface ", netdev_.name(), " was removed"));
  }
  const NetdevChannels there = netdev_.Channels();
  if (options_.start_queue + rx_.size() <= there.rx &&
      options_.start_queue + tx_.size() <= there.tx) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat(rx_.size(), " RX and ", tx_.size(), " TX queues from ", options_.start_queue,
                   " on: ", netdev_.name(), " has only ", there.rx, " and ", there.tx,
                   " in use now; 'ethtool -L' gives it more, or configure fewer (--rxq, --txq)"));
}

absl::Status XskPort::Start(std::vector<RxQueue*> rx, std::vector<TxQueueBase*> tx) {
  rx_ = std::move(rx);
  tx_ = std::move(tx);
  started_ = true;
  absl::Cleanup undo = [this] { Stop(); };
  segments_ = kernel_has_segments_;
  PENSTOCK_RETURN_IF_ERROR(CheckQueues());
  PENSTOCK_ASSIGN_OR_RETURN(const uint32_t mtu, netdev_.Mtu());
  NoteMtu(mtu);
  sockets_.resize(std::max(rx_.size(), tx_.size()));
  kernel_counts_.resize(std::max(kernel_counts_.size(), sockets_.size()));
  for (size_t queue = 0; queue < sockets_.size(); ++queue) {
    PENSTOCK_RETURN_IF_ERROR(OpenQueue(queue));
  }
  PENSTOCK_RETURN_IF_ERROR(CheckMtu());
  if (!rx_.empty()) PENSTOCK_RETURN_IF_ERROR(AttachProgram());
  SayWhatWasChosen();
  std::move(undo).Cancel();
  return absl::OkStatus();
}

absl::Status XskPort::OpenQueue(size_t queue) {
  RxQueue* const rx = queue < rx_.size() ? rx_[queue] : nullptr;
  TxQueueBase* const tx = queue < tx_.size() ? tx_[queue] : nullptr;
  std::shared_ptr<Umem> umem;
  if (rx != nullptr) {
    umem = rx->umem();
  } else {
    PENSTOCK_ASSIGN_OR_RETURN(umem, UmemForSending(queue));
  }
  const uint32_t rx_size = rx ? std::bit_ceil(uint32_t{rx->settings().descriptors}) : 0;
  const uint32_t tx_size = tx ? std::bit_ceil(uint32_t{tx->settings().descriptors}) : 0;
  const uint32_t sndbuf = options_.sndbuf_bytes != 0
                              ? options_.sndbuf_bytes
                              : tx_size * (max_frame_bytes_ + kSkbOverheadBytes);
  QueueSockets::Settings settings = {.interface = netdev_.name(),
                                     .ifindex = netdev_.ifindex(),
                                     .queue = options_.start_queue + static_cast<uint32_t>(queue),
                                     .umem = umem->start(),
                                     .umem_bytes = umem->bytes(),
                                     .chunk_bytes = umem->chunk_bytes(),
                                     .headroom_bytes = umem->headroom_bytes(),
                                     .fill_size = rx_size != 0 ? rx_size : kIdleRing,
                                     .completion_size = tx_size != 0 ? tx_size : kIdleRing,
                                     .rx_size = rx_size,
                                     .tx_size = tx_size,
                                     .busy_budget = options_.busy_budget,
                                     .sndbuf_bytes = std::min(sndbuf, 1u << 30)};
  PENSTOCK_ASSIGN_OR_RETURN(sockets_[queue], OpenSockets(settings, umem->hugepages()));
  if (tx != nullptr) {
    tx->Attach(*sockets_[queue], umem, segments_, max_frame_bytes_, removed_);
  }
  return rx != nullptr ? rx->Attach(*sockets_[queue]) : absl::OkStatus();
}

// Zero-copy where it was asked for, or where it may help and the device has it: binding is the one
// way to find out. Devices that have it may lack packets of several buffers.
absl::StatusOr<std::unique_ptr<QueueSockets>> XskPort::OpenSockets(QueueSockets::Settings settings,
                                                                   bool try_zero_copy) {
  const bool only = options_.bind == BindMode::kZeroCopy;
  absl::Status refused;
  if (only || (options_.bind == BindMode::kAuto && try_zero_copy)) {
    for (const bool segments : {true, false}) {
      if (segments && !segments_) continue;
      settings.zero_copy = true;
      settings.segments = segments;
      absl::StatusOr<std::unique_ptr<QueueSockets>> sockets = QueueSockets::Open(settings);
      if (sockets.ok()) {
        segments_ = segments;
        return sockets;
      }
      refused = sockets.status();
    }
    if (only) {
      return WithContext(refused, absl::StrCat("bind=zerocopy (bind=copy works everywhere)"));
    }
  }
  settings.zero_copy = false;
  settings.segments = segments_;
  return QueueSockets::Open(settings);
}

absl::Status XskPort::AttachProgram() {
  PENSTOCK_ASSIGN_OR_RETURN(const rte_ether_addr mac, netdev_.Mac());
  const uint32_t queues = options_.start_queue + static_cast<uint32_t>(rx_.size());
  PENSTOCK_ASSIGN_OR_RETURN(program_, XdpProgramLink::Load({.interface = netdev_.name(),
                                                            .ifindex = netdev_.ifindex(),
                                                            .mode = options_.attach,
                                                            .filter = &options_.filter,
                                                            .file = options_.program_file,
                                                            .mac = mac,
                                                            .queues = queues}));
  for (size_t queue = 0; queue < rx_.size(); ++queue) {
    PENSTOCK_RETURN_IF_ERROR(program_->SetSocket(
        options_.start_queue + static_cast<uint32_t>(queue), sockets_[queue]->rx_fd()));
  }
  return program_->Attach();
}

void XskPort::Stop() {
  if (!started_) return;
  started_ = false;
  // In this order: no new frames, then what is to be sent, then the sockets, then what was in them.
  if (program_ != nullptr) program_->Detach();
  for (TxQueueBase* queue : tx_) {
    if (queue->attached()) queue->Drain();
  }
  for (size_t queue = 0; queue < sockets_.size(); ++queue) {
    if (sockets_[queue] == nullptr) continue;
    kernel_counts_[queue].Add(sockets_[queue]->Statistics());
    const bool zero_copy = sockets_[queue]->zero_copy();
    sockets_[queue].reset();
    // A device may still write into chunks until the kernel has taken the queue from it.
    if (zero_copy) {
      WaitUntilReleased(netdev_.ifindex(), options_.start_queue + static_cast<uint32_t>(queue));
    }
  }
  program_.reset();
  for (TxQueueBase* queue : tx_) {
    if (queue->attached()) queue->Detach();
  }
  for (RxQueue* queue : rx_) {
    if (queue->attached()) queue->Detach();
  }
  sockets_.clear();
  rx_.clear();
  tx_.clear();
}

absl::Status XskPort::SetMtu(uint32_t mtu) {
  PENSTOCK_RETURN_IF_ERROR(netdev_.SetMtu(mtu));
  NoteMtu(mtu);
  return absl::OkStatus();
}

absl::Status XskPort::SetMac(const rte_ether_addr& mac) {
  PENSTOCK_RETURN_IF_ERROR(netdev_.SetMac(mac));
  return NoteMac(mac);
}

absl::Status XskPort::NoteMac(const rte_ether_addr& mac) {
  return program_ != nullptr ? program_->SetMac(mac) : absl::OkStatus();
}

int XskPort::RxFd(uint16_t queue) const {
  return queue < sockets_.size() && sockets_[queue] != nullptr ? sockets_[queue]->rx_fd() : -1;
}

XdpStatistics XskPort::KernelCounts(uint16_t queue) const {
  XdpStatistics counts;
  if (queue < kernel_counts_.size()) counts = kernel_counts_[queue];
  if (queue < sockets_.size() && sockets_[queue] != nullptr) {
    counts.Add(sockets_[queue]->Statistics());
  }
  return counts;
}

bool XskPort::zero_copy() const {
  return std::ranges::all_of(sockets_, [](const auto& sockets) { return sockets->zero_copy(); });
}

std::string XskPort::Summary() const {
  if (!started_) return "stopped";
  std::string text(program_ == nullptr ? "no-rx" : program_->native() ? "native" : "skb");
  absl::StrAppend(&text, zero_copy() ? " zerocopy" : " copy");
  if (tx_.empty()) return text;
  if (!tx_.front()->has_budget()) return text + (zero_copy() ? "" : " budget 32");
  const uint32_t fixed = tx_.front()->fixed_budget();
  return text + (fixed == 0 ? " budget auto" : absl::StrCat(" budget ", fixed));
}

void XskPort::SayWhatWasChosen() const {
  XskLog(RTE_LOG_NOTICE, name_, " on ", netdev_.name(), ": ", Summary(), ", ", rx_.size(),
         " RX and ", tx_.size(), " TX queues from ", options_.start_queue, ", packets of ",
         segments_ ? "several buffers" : "one buffer", ", takes ",
         options_.program_file.empty() ? options_.filter.text : options_.program_file);
  static std::atomic<bool> said_budget{false};  // of the kernel, not of a port
  if (!tx_.empty() && !zero_copy() && !tx_.front()->has_budget() && !said_budget.exchange(true)) {
    XskLog(RTE_LOG_NOTICE, name_,
           ": this kernel has no XDP_MAX_TX_SKB_BUDGET (6.17): 32 packets per "
           "send call");
  }
  const uint32_t there = netdev_.Channels().rx;
  if (!rx_.empty() && rx_.size() < there) {
    XskLog(RTE_LOG_NOTICE, name_, ": frames on the other ", there - rx_.size(), " RX queues of ",
           netdev_.name(), " go to the kernel; 'ethtool -L' changes how many it has");
  }
}

}  // namespace penstock
