// SPDX-License-Identifier: BSD-3-Clause
//
// TxQueue: sending to one AF_XDP socket, and getting back what was sent. The ownership policy
// (lib/ring/ownership.h) is part of the type, and is chosen when the queue is set up:
//
// - Exclusive, without MT_LOCKFREE: one lcore sends and reaps. rte_eth_tx_done_cleanup from another
//   lcore makes that one a second user, and is not allowed.
// - Checked, with check_owner=1: the same, and the process stops with the two lcores' names if it
//   happens.
// - Shared, with RTE_ETH_TX_OFFLOAD_MT_LOCKFREE in the queue's effective offloads, its own or the
//   port's: any lcore sends, and rte_eth_tx_done_cleanup is safe from any lcore, also while others
//   send.
//
// At most `descriptors` mbufs are inside at a time: in TX, in the kernel and in COMPLETION
// together. COMPLETION is as large, so it cannot overflow. What the kernel is done with is freed by
// Reap, in bulk. Burst calls it when fewer than free_threshold descriptors are free, which by
// default is when kWarmMbufs are inside; when it finds no room; or each time (completion=inline).
//
// A burst is prepared without any lock: checked, copied if it must be, marked in the InFlight table
// and written to an array. Then one lock is held for the stores into the ring, and none during the
// system call. A packet goes uncopied if it is in mbufs of the UMEM's mempool that nobody else
// refers to.

#ifndef PENSTOCK_DRIVERS_NET_XSK_TX_QUEUE_H_
#define PENSTOCK_DRIVERS_NET_XSK_TX_QUEUE_H_

#include <rte_mbuf.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "drivers/net/xsk/socket.h"
#include "drivers/net/xsk/tx_counters.h"
#include "drivers/net/xsk/umem.h"
#include "lib/ring/burst_budget.h"
#include "lib/ring/consumer.h"
#include "lib/ring/ownership.h"
#include "lib/ring/pinned_age.h"
#include "lib/ring/producer.h"

namespace penstock {

struct TxSettings {
  uint16_t port = 0;
  uint16_t queue = 0;
  uint16_t descriptors = 0;
  // As many may be free before completions are looked for; see rte_eth_txconf.
  uint16_t free_threshold = 0;
  uint8_t holder = 0;  // its name in the InFlight table
  bool inline_completion = false;
  uint32_t budget = 0;  // of devargs; 0: tuned
};

// What the control thread sees of a queue, whatever its policy.
class TxQueueBase {
 public:
  virtual ~TxQueueBase() = default;

  const TxSettings& settings() const noexcept { return settings_; }

  // Control thread, lcores elsewhere. `max_frame_bytes` is the port's and may change at any time.
  // Once `removed` says that there is no interface any more, no call is made.
  virtual void Attach(const QueueSockets& sockets, std::shared_ptr<Umem> umem, bool segments,
                      const std::atomic<uint32_t>& max_frame_bytes,
                      const std::atomic<bool>& removed) = 0;
  // Sends what is still in TX and waits, a tenth of a second at most, until all is back. What the
  // kernel did not take is counted as unsent.
  virtual void Drain() = 0;
  // After the sockets are closed: what is still inside goes back to the mempool.
  virtual void Detach() = 0;
  virtual bool attached() const noexcept = 0;

  // Any lcore of the queue's users; how many mbufs were freed, at most `max`.
  virtual uint32_t Cleanup(uint32_t max) noexcept = 0;
  virtual uint16_t BurstOf(rte_mbuf** mbufs, uint16_t n) noexcept = 0;

  // Any thread.
  virtual TxTotals Totals() const noexcept = 0;
  virtual uint32_t Inside() const noexcept = 0;
  // How many of those the kernel is not done with.
  virtual uint32_t Unfinished() const noexcept = 0;
  virtual bool shared() const noexcept = 0;
  // Whether the kernel lets the budget be set. While attached.
  virtual bool has_budget() const noexcept = 0;

  // The send budget. Any thread, at any time: the lcore that sends next sets what is new. 0: tuned.
  void FixBudget(uint32_t descriptors) noexcept {
    fixed_budget_.store(descriptors, std::memory_order_relaxed);
  }
  uint32_t fixed_budget() const noexcept { return fixed_budget_.load(std::memory_order_relaxed); }
  // What sends go by from the next one on; 0 where the kernel has none to set. After an Attach.
  virtual uint32_t budget() const noexcept = 0;
  // Adds how many descriptors were in TX each time that sending began.
  virtual void AddPending(SendSizes& sum) const noexcept = 0;

 protected:
  explicit TxQueueBase(const TxSettings& settings)
      : settings_(settings), fixed_budget_(settings.budget) {}

  const TxSettings settings_;
  std::atomic<uint32_t> fixed_budget_;
  std::shared_ptr<Umem> umem_;  // while attached
};

template <typename Ownership>
class PENSTOCK_CACHE_ALIGNED TxQueue final : public TxQueueBase {
 public:
  explicit TxQueue(const TxSettings& settings)
      : TxQueueBase(settings), age_(settings.descriptors) {}

  void Attach(const QueueSockets& sockets, std::shared_ptr<Umem> umem, bool segments,
              const std::atomic<uint32_t>& max_frame_bytes,
              const std::atomic<bool>& removed) override;
  void Drain() override;
  void Detach() override;
  bool attached() const noexcept override { return tx_.has_value(); }
  uint32_t Cleanup(uint32_t max) noexcept override;
  uint16_t BurstOf(rte_mbuf** mbufs, uint16_t n) noexcept override { return Burst(mbufs, n); }
  TxTotals Totals() const noexcept override;
  uint32_t Inside() const noexcept override;
  uint32_t Unfinished() const noexcept override;
  bool shared() const noexcept override { return Ownership::kShared; }
  bool has_budget() const noexcept override { return has_budget_; }
  uint32_t budget() const noexcept override;
  void AddPending(SendSizes& sum) const noexcept override { counters_.pending.AddTo(sum); }

  uint16_t Burst(rte_mbuf** mbufs, uint16_t n) noexcept;

 private:
  static constexpr uint32_t kBatch = 64;
  // Enough for several bursts, few enough for the mempool's cache of the lcore.
  static constexpr uint32_t kReapAtOnce = 256;

  // Descriptors on their way into the ring, and what they stand for.
  struct Batch {
    std::array<xdp_desc, kBatch + kMaxDescriptorsPerPacket> descriptors;
    uint32_t count = 0;   // descriptors
    uint32_t credit = 0;  // reserved and not yet used
    uint32_t packets = 0;
    uint64_t bytes = 0;
  };

  void ReapIfShort() noexcept;
  uint32_t ReserveOrReap(uint32_t n) noexcept;
  uint16_t Prepare(rte_mbuf** mbufs, uint16_t n, Batch& batch) noexcept;
  uint32_t PrepareSimple(rte_mbuf** mbufs, uint32_t n, Batch& batch) noexcept;
  bool PrepareOther(rte_mbuf* mbuf, Batch& batch) noexcept;
  bool PrepareSegments(rte_mbuf* mbuf, Batch& batch) noexcept;
  bool PrepareCopy(rte_mbuf* mbuf, Batch& batch) noexcept;
  bool GetChunks(void** chunks, uint32_t n) noexcept;
  bool HaveCredit(uint32_t n, Batch& batch) noexcept;
  bool Append(const rte_mbuf* mbuf, uint32_t options, Batch& batch) noexcept;
  void Flush(Batch& batch) noexcept;
  void Kick() noexcept;
  bool SendOnce() noexcept;
  void Tune(uint32_t pending) noexcept;
  uint32_t Reap(uint32_t max) noexcept;
  void EnterGate() noexcept;
  uint32_t returned() const noexcept { return returned_.load(std::memory_order_relaxed); }
  void AddReturned(uint32_t n) noexcept;
  void CountUnsent() noexcept;

  int fd_ = -1;
  bool zero_copy_ = false;
  bool segments_ = false;
  bool has_budget_ = false;
  const std::atomic<uint32_t>* max_frame_bytes_ = nullptr;
  const std::atomic<bool>* removed_ = nullptr;
  const QueueSockets* sockets_ = nullptr;
  // So many mbufs inside, and completions are looked for. Moves up when they are late.
  std::atomic<uint32_t> reap_at_{0};
  [[no_unique_address]] typename Ownership::Gate gate_;

  std::optional<Producer<xdp_desc, Ownership>> tx_;
  std::optional<Consumer<uint64_t, Ownership>> completion_;

  // Whoever reaps writes here: a line of its own.
  PENSTOCK_CACHE_ALIGNED std::atomic<uint32_t> returned_{0};  // mbufs that came back, free-running
  PinnedAge age_;
  std::optional<BurstBudget> budget_;
  std::atomic<uint32_t> budget_now_{kMinTxBudget};  // as the kernel was told
  std::atomic_flag tuning_ = ATOMIC_FLAG_INIT;      // one lcore at a time tunes, others go on
  TxCounters<Ownership> counters_;
};

extern template class TxQueue<Exclusive>;
extern template class TxQueue<Checked>;
extern template class TxQueue<Shared>;

}  // namespace penstock

#endif  // PENSTOCK_DRIVERS_NET_XSK_TX_QUEUE_H_
