// SPDX-License-Identifier: BSD-3-Clause
//
// RxQueue: receiving from one AF_XDP socket. One lcore polls it (ethdev asks that of every driver),
// so its cursors are Exclusive; the control thread attaches and detaches it while no lcore does.
//
// At most `descriptors` mbufs are inside at a time, in FILL, in the kernel and in RX together. Each
// has its byte in the port's InFlight table; what comes out of RX without it is counted and left
// alone, and what is still marked when the queue stops goes back to the mempool, wherever it was.

#ifndef PENSTOCK_DRIVERS_NET_XSK_RX_QUEUE_H_
#define PENSTOCK_DRIVERS_NET_XSK_RX_QUEUE_H_

#include <rte_branch_prediction.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>

#include "drivers/net/xsk/socket.h"
#include "drivers/net/xsk/umem.h"
#include "lib/ring/consumer.h"
#include "lib/ring/ownership.h"
#include "lib/ring/producer.h"

namespace penstock {

struct RxCounters {
  Counter<Exclusive> packets;
  Counter<Exclusive> bytes;
  Counter<Exclusive> no_mbuf;      // times that the mempool had too few for FILL
  Counter<Exclusive> bad_address;  // out of RX, but not ours to have
  Counter<Exclusive> too_long;     // of several buffers, and the application did not ask for those
};

class PENSTOCK_CACHE_ALIGNED RxQueue {
 public:
  struct Settings {
    uint16_t port = 0;
    uint16_t queue = 0;
    uint16_t descriptors = 0;
    uint8_t holder = 0;    // its name in the InFlight table
    bool scatter = false;  // packets of several mbufs are delivered
    bool busy_poll = false;
  };

  RxQueue(const Settings& settings, std::shared_ptr<Umem> umem)
      : settings_(settings),
        umem_(std::move(umem)),
        refill_at_(std::min<uint32_t>(32, settings.descriptors / 8)) {}

  const Settings& settings() const noexcept { return settings_; }
  const std::shared_ptr<Umem>& umem() const noexcept { return umem_; }
  const RxCounters& counters() const noexcept { return counters_; }

  // Fills FILL. ResourceExhausted if the mempool has not got so many. The sockets outlive Detach.
  absl::Status Attach(const QueueSockets& sockets);
  // After the sockets are closed: all mbufs go back to the mempool.
  void Detach();
  bool attached() const noexcept { return rx_.has_value(); }

  uint16_t Burst(rte_mbuf** mbufs, uint16_t n) noexcept {
    // Most polls find nothing, and are all that an lcore does when nothing comes: no call, no
    // stack.
    if (rx_->Ready() == 0 && !needs_wake_) {
      if (unlikely(Missing() >= refill_at_)) Refill(refill_at_);
      return 0;
    }
    return Receive(mbufs, n);
  }
  // Frames that are there. Any thread, as far as a number goes.
  uint32_t Ready() const noexcept { return rx_ ? rx_->Ready() : 0; }

 private:
  static constexpr uint32_t kBatch = 64;

  uint16_t Receive(rte_mbuf** mbufs, uint16_t n) noexcept;
  rte_mbuf* Accept(const xdp_desc& descriptor, const ChunkMap& chunks) noexcept;
  rte_mbuf* Chain(rte_mbuf* mbuf, bool goes_on) noexcept;
  uint32_t GetSome(void** mbufs, uint32_t n) noexcept;
  void Refill(uint32_t at_least) noexcept;
  void Wake() const noexcept;
  // mbufs that FILL lacks.
  uint32_t Missing() const noexcept { return settings_.descriptors - (fill_->claimed() - taken_); }

  const Settings settings_;
  const std::shared_ptr<Umem> umem_;
  const uint32_t refill_at_;  // so many at least, to go to the mempool seldom
  int fd_ = -1;
  bool zero_copy_ = false;
  bool needs_wake_ = false;    // the kernel may wait for a call when nothing comes
  uint32_t taken_ = 0;         // descriptors taken out of RX and believed
  rte_mbuf* chain_ = nullptr;  // a packet whose last buffer has not come yet
  rte_mbuf* chain_tail_ = nullptr;
  std::optional<Consumer<xdp_desc, Exclusive>> rx_;
  std::optional<Producer<uint64_t, Exclusive>> fill_;
  RxCounters counters_;
};

}  // namespace penstock

#endif  // PENSTOCK_DRIVERS_NET_XSK_RX_QUEUE_H_
