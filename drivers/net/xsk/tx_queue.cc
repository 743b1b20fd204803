// SPDX-License-Identifier: BSD-3-Clause
//
// Sending; see the header. First the lcores' part: burst, kick, reap; then the control thread's.

#include "drivers/net/xsk/tx_queue.h"

#include <rte_branch_prediction.h>
#include <rte_cycles.h>
#include <rte_ether.h>
#include <rte_lcore.h>
#include <rte_log.h>
#include <rte_memcpy.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <type_traits>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "drivers/net/xsk/log.h"
#include "lib/base/clock.h"

namespace penstock {
namespace {

constexpr absl::Duration kDrainPatience = absl::Milliseconds(100);
constexpr absl::Duration kDrainPause = absl::Microseconds(50);

SendResult ResultOf(int error) {
  switch (error) {
    case EAGAIN:
      return SendResult::kEagain;
    case EBUSY:
      return SendResult::kEbusy;
    case ENETDOWN:
      return SendResult::kEnetdown;
    case ENXIO:
      return SendResult::kEnxio;
    case ENOBUFS:
      return SendResult::kEnobufs;
    case EINVAL:
      return SendResult::kEinval;
    default:
      return SendResult::kOther;
  }
}

// Who calls: an lcore, or a thread that is none.
constexpr uint32_t kThread = 1u << 31;
uint32_t CurrentUser() {
  const unsigned lcore = rte_lcore_id();
  return lcore != LCORE_ID_ANY ? lcore + 1 : kThread | static_cast<uint32_t>(rte_gettid());
}
std::string UserName(uint32_t user) {
  return (user & kThread) != 0 ? absl::StrCat("thread ", user & ~kThread)
                               : absl::StrCat("lcore ", user - 1);
}

}  // namespace

// ---- sending ----

template <typename Ownership>
uint16_t TxQueue<Ownership>::Burst(rte_mbuf** mbufs, uint16_t n) noexcept {
  EnterGate();
  ReapIfShort();
  uint16_t sent = 0;
  while (sent < n) {
    Batch batch;
    batch.credit = ReserveOrReap(std::min<uint32_t>(kBatch, n - sent));
    if (batch.credit == 0) break;
    const uint16_t prepared = Prepare(mbufs + sent, static_cast<uint16_t>(n - sent), batch);
    Flush(batch);
    sent = static_cast<uint16_t>(sent + prepared);
    if (prepared == 0) break;
  }
  Kick();
  return sent;
}

// Takes back what is done when as many mbufs are inside as the queue is to have at a time. Where it
// is done late, in a device's own time, looking again at every burst would be in vain: the next
// look comes after a batch.
template <typename Ownership>
void TxQueue<Ownership>::ReapIfShort() noexcept {
  if (settings_.inline_completion) {
    Reap(UINT32_MAX);
    return;
  }
  if (likely(Inside() < reap_at_.load(std::memory_order_relaxed))) return;
  Reap(UINT32_MAX);
  const uint32_t least = settings_.descriptors - settings_.free_threshold;
  reap_at_.store(std::max(least, Inside() + kBatch), std::memory_order_relaxed);
}

// Room for up to `n` descriptors. Finding none, it takes back what the kernel is done with; and if
// the ring is full because a call did not take everything, it calls again.
template <typename Ownership>
uint32_t TxQueue<Ownership>::ReserveOrReap(uint32_t n) noexcept {
  uint32_t got = tx_->Reserve(n, returned());
  if (likely(got == n)) return got;
  Reap(kReapAtOnce);
  got += tx_->Reserve(n - got, returned());
  if (got != 0) return got;
  Kick();
  Reap(kReapAtOnce);
  return tx_->Reserve(n, returned());
}

// Makes descriptors of packets until the batch is full or something is short. How many packets were
// taken over; those that cannot be sent are freed and counted.
template <typename Ownership>
uint16_t TxQueue<Ownership>::Prepare(rte_mbuf** mbufs, uint16_t n, Batch& batch) noexcept {
  uint32_t taken = 0;
  while (taken < n && batch.count < kBatch && batch.credit != 0) {
    const uint32_t most = std::min({n - taken, kBatch - batch.count, batch.credit});
    const uint32_t simple = PrepareSimple(mbufs + taken, most, batch);
    taken += simple;
    if (likely(simple == most)) continue;
    if (!PrepareOther(mbufs[taken], batch)) break;
    ++taken;
  }
  return static_cast<uint16_t>(taken);
}

// One segment of our memory, nobody else's reference, sendable as it is.
inline bool IsSimple(const rte_mbuf* mbuf, const rte_mempool* pool, uint32_t most_bytes) noexcept {
  return mbuf->pool == pool && mbuf->nb_segs == 1 && RTE_MBUF_DIRECT(mbuf) &&
         rte_mbuf_refcnt_read(mbuf) == 1 && mbuf->data_len >= RTE_ETHER_HDR_LEN &&
         mbuf->data_len <= most_bytes;
}

// Up to the first that is not simple; how many. The batch has room for `n`. This is where nearly
// all packets go, so what it needs is in locals and the batch is written once.
template <typename Ownership>
uint32_t TxQueue<Ownership>::PrepareSimple(rte_mbuf** mbufs, uint32_t n, Batch& batch) noexcept {
  const ChunkMap chunks = *umem_;
  InFlight& in_flight = umem_->in_flight();
  const rte_mempool* const pool = umem_->pool();
  const uint32_t most_bytes =
      std::min(umem_->chunk_bytes(), max_frame_bytes_->load(std::memory_order_relaxed));
  const uint8_t holder = settings_.holder;
  xdp_desc* const first = &batch.descriptors[batch.count];
  xdp_desc* next = first;
  uint64_t bytes = 0;
  uint32_t i = 0;
  for (; i < n; ++i) {
    const rte_mbuf* const mbuf = mbufs[i];
    if (i + 1 < n) rte_prefetch0(mbufs[i + 1]);
    if (unlikely(!IsSimple(mbuf, pool, most_bytes))) break;
    const uint64_t chunk = chunks.ChunkOf(mbuf);
    if (unlikely(!in_flight.Mark(chunks.IndexOf(chunk), holder))) {
      // The application sent it twice, and it will be freed by the first time.
      counters_.in_flight_twice.Add(1);
      continue;
    }
    // The options are always written: what an older packet left would join two packets.
    *next++ = {.addr = chunks.AddressOf(mbuf, chunk), .len = mbuf->data_len, .options = 0};
    bytes += mbuf->data_len;
  }
  const auto made = static_cast<uint32_t>(next - first);
  batch.count += made;
  batch.credit -= made;
  batch.packets += made;
  batch.bytes += bytes;
  return i;
}

// Everything else. False if the packet has to wait, and stays the caller's.
template <typename Ownership>
bool TxQueue<Ownership>::PrepareOther(rte_mbuf* mbuf, Batch& batch) noexcept {
  if (mbuf->pkt_len < RTE_ETHER_HDR_LEN) {
    counters_.invalid.Add(1);
    rte_pktmbuf_free(mbuf);
    return true;
  }
  if (mbuf->pkt_len > max_frame_bytes_->load(std::memory_order_relaxed)) {
    counters_.too_long.Add(1);
    rte_pktmbuf_free(mbuf);
    return true;
  }
  bool as_it_is = segments_ && mbuf->nb_segs <= kMaxDescriptorsPerPacket;
  for (const rte_mbuf* segment = mbuf; segment != nullptr && as_it_is; segment = segment->next) {
    as_it_is = segment->pool == umem_->pool() && RTE_MBUF_DIRECT(segment) &&
               rte_mbuf_refcnt_read(segment) == 1 && segment->data_len != 0 &&
               segment->data_len <= umem_->chunk_bytes();
  }
  return as_it_is ? PrepareSegments(mbuf, batch) : PrepareCopy(mbuf, batch);
}

// `n` descriptors of one packet: more than the one that is there for it, perhaps. Too few of them
// are worth a reap: whoever has one descriptor for each packet would not look otherwise.
template <typename Ownership>
bool TxQueue<Ownership>::HaveCredit(uint32_t n, Batch& batch) noexcept {
  if (batch.credit < n) batch.credit += ReserveOrReap(n - batch.credit);
  return batch.credit >= n;
}

template <typename Ownership>
bool TxQueue<Ownership>::PrepareSegments(rte_mbuf* mbuf, Batch& batch) noexcept {
  if (!HaveCredit(mbuf->nb_segs, batch)) return false;
  const uint32_t length = mbuf->pkt_len;
  const uint32_t first = batch.count;
  for (rte_mbuf* segment = mbuf; segment != nullptr;) {
    rte_mbuf* const next = segment->next;
    // Each comes back by itself, and goes to the mempool as the mempool wants it.
    segment->next = nullptr;
    segment->nb_segs = 1;
    Append(segment, next != nullptr ? XDP_PKT_CONTD : 0, batch);
    segment = next;
  }
  // A segment that was in flight already is left out. What is there must not run into the packet
  // behind it.
  if (unlikely(batch.count == first)) return true;
  batch.descriptors[batch.count - 1].options = 0;
  ++batch.packets;
  batch.bytes += length;
  return true;
}

template <typename Ownership>
bool TxQueue<Ownership>::PrepareCopy(rte_mbuf* mbuf, Batch& batch) noexcept {
  const uint32_t length = mbuf->pkt_len;
  const uint32_t room = umem_->tx_room_bytes();
  const uint32_t chunks = (length + room - 1) / room;
  if (chunks > (segments_ ? kMaxDescriptorsPerPacket : 1)) {
    counters_.invalid.Add(1);
    rte_pktmbuf_free(mbuf);
    return true;
  }
  std::array<void*, kMaxDescriptorsPerPacket> copies;
  if (!HaveCredit(chunks, batch)) return false;
  if (!GetChunks(copies.data(), chunks)) return false;
  for (uint32_t i = 0, at = 0; i < chunks; ++i) {
    auto* const copy = static_cast<rte_mbuf*>(copies[i]);
    const uint32_t part = std::min(room, length - at);
    rte_pktmbuf_reset_headroom(copy);
    copy->ol_flags = 0;
    char* const to = rte_pktmbuf_mtod(copy, char*);
    const void* const from = rte_pktmbuf_read(mbuf, at, part, to);
    // It copies only what does not lie in one piece.
    if (from != to) rte_memcpy(to, from, part);
    copy->data_len = static_cast<uint16_t>(part);
    copy->pkt_len = part;
    at += part;
    Append(copy, at < length ? XDP_PKT_CONTD : 0, batch);
  }
  rte_pktmbuf_free(mbuf);
  counters_.copies.Add(1);
  ++batch.packets;
  batch.bytes += length;
  return true;
}

// mbufs to copy into. Those of a mempool that has run short may be waiting here, completed.
template <typename Ownership>
bool TxQueue<Ownership>::GetChunks(void** chunks, uint32_t n) noexcept {
  if (likely(rte_mempool_get_bulk(umem_->pool(), chunks, n) == 0)) return true;
  if (Reap(kReapAtOnce) != 0 && rte_mempool_get_bulk(umem_->pool(), chunks, n) == 0) return true;
  counters_.no_chunk.Add(1);
  return false;
}

// Marks the chunk and writes its descriptor. False if it is in flight already: the application sent
// it twice, and it will be freed by the first time.
template <typename Ownership>
bool TxQueue<Ownership>::Append(const rte_mbuf* mbuf, uint32_t options, Batch& batch) noexcept {
  const uint64_t chunk = umem_->ChunkOf(mbuf);
  if (unlikely(!umem_->in_flight().Mark(umem_->IndexOf(chunk), settings_.holder))) {
    counters_.in_flight_twice.Add(1);
    return false;
  }
  batch.descriptors[batch.count++] = {
      .addr = umem_->AddressOf(mbuf, chunk), .len = mbuf->data_len, .options = options};
  --batch.credit;
  return true;
}

template <typename Ownership>
void TxQueue<Ownership>::Flush(Batch& batch) noexcept {
  tx_->Cancel(batch.credit);
  batch.credit = 0;
  if (batch.count == 0) return;
  const uint32_t first = tx_->Publish(batch.descriptors.data(), batch.count);
  age_.Went(first, batch.count, returned(), [] { return rte_rdtsc(); });
  counters_.packets.Add(batch.packets);
  counters_.bytes.Add(batch.bytes);
}

// ---- the system call ----

// Asks the kernel to send until it has taken what was in the ring when this began, or a call shows
// that asking again is of no use. The number of calls is bounded by the ring and the budget.
template <typename Ownership>
void TxQueue<Ownership>::Kick() noexcept {
  const uint32_t pending = tx_->Unconsumed();
  if (pending == 0) return;
  if (zero_copy_ && !tx_->NeedsWakeup(XDP_RING_NEED_WAKEUP)) return;
  counters_.pending.Add(pending);
  if (has_budget_) Tune(pending);
  for (uint32_t calls = pending / kMinTxBudget + 2; calls != 0; --calls) {
    if (!SendOnce()) return;
  }
}

// One call. True if another may take more.
template <typename Ownership>
bool TxQueue<Ownership>::SendOnce() noexcept {
  if (unlikely(removed_->load(std::memory_order_relaxed))) return false;
  if (tx_->Unconsumed() == 0) return false;
  const uint32_t consumed = tx_->consumed();
  const uint32_t completed = completion_->produced();
  const int error = sendto(fd_, nullptr, 0, MSG_DONTWAIT, nullptr, 0) < 0 ? errno : 0;
  // The kernel's indices, which others who publish and reap meanwhile do not move. It may show
  // that of TX late, and what it completed then tells that it took something.
  const uint32_t taken = tx_->consumed() - consumed;
  const bool moved = taken != 0 || completion_->produced() != completed;
  const uint32_t after = tx_->Unconsumed();
  const SendResult result = error == 0 ? SendResult::kOk : ResultOf(error);
  counters_.sends[static_cast<size_t>(result)].Add(1);
  counters_.send_sizes[SendSizeBucket(taken)].Add(1);
  switch (result) {
    case SendResult::kOk:
      // 0 does not mean that all was taken: queues beyond those in use take nothing. A zero-copy
      // driver goes on by itself.
      if (zero_copy_ || after == 0) return false;
      if (taken == 0) counters_.stalled.Add(1);
      return taken != 0;
    case SendResult::kEagain:
      // The budget is used up, or send buffer, COMPLETION or the device's queue is full. Only the
      // first is cured by asking again, and shows in what was taken.
      return moved && after != 0;
    case SendResult::kEbusy:
      // The frame was dropped and is completed. Going on would lose the next one the same way.
      counters_.dropped.Add(1);
      return false;
    default:
      return false;
  }
}

template <typename Ownership>
void TxQueue<Ownership>::Tune(uint32_t pending) noexcept {
  if (Ownership::kShared && tuning_.test_and_set(std::memory_order_acquire)) return;
  budget_->Observe(pending);
  // Whoever fixes the budget leaves it to a sender to tell the kernel: one at a time does.
  const uint32_t fixed = fixed_budget();
  const uint32_t wanted = fixed != 0 ? fixed : budget_->budget();
  if (unlikely(wanted != budget_now_.load(std::memory_order_relaxed))) {
    sockets_->SetBudget(wanted);
    budget_now_.store(wanted, std::memory_order_relaxed);
  }
  // Release: partner of the acquire above; the tuner's state goes from one lcore to the next.
  if (Ownership::kShared) tuning_.clear(std::memory_order_release);
}

// ---- completions ----

template <typename Ownership>
uint32_t TxQueue<Ownership>::Cleanup(uint32_t max) noexcept {
  if (!tx_) return 0;
  EnterGate();
  // Whoever comes only to clean up also sends what a stalled call left behind.
  if (tx_->Unconsumed() != 0) Kick();
  return Reap(max);
}

template <typename Ownership>
uint32_t TxQueue<Ownership>::Reap(uint32_t max) noexcept {
  std::array<uint64_t, kBatch> addresses;
  std::array<void*, kBatch> mbufs;
  const ChunkMap chunks = *umem_;
  InFlight& in_flight = umem_->in_flight();
  const uint8_t holder = settings_.holder;
  uint32_t freed = 0;
  uint32_t count = 0;
  do {
    const uint32_t want = std::min(max - freed, kBatch);
    count = completion_->Take(addresses.data(), want);
    uint32_t good = 0;
    for (uint32_t i = 0; i < count; ++i) {
      const uint64_t chunk = ChunkMap::ChunkOfAddress(addresses[i]);
      if (unlikely(!chunks.IsChunk(chunk) ||
                   !in_flight.template Clear<Ownership>(chunks.IndexOf(chunk), holder))) {
        counters_.bad_completions.Add(1);
        continue;
      }
      mbufs[good++] = chunks.MbufOf(chunk);
    }
    if (good != 0) {
      // They are ours alone and single segments, which is how a mempool wants them.
      rte_mempool_put_bulk(umem_->pool(), mbufs.data(), good);
      AddReturned(good);
      freed += good;
    }
    if (count < want) break;
  } while (freed < max);
  counters_.reaps.Add(1);
  if (freed == 0) counters_.empty_reaps.Add(1);
  counters_.reaped.Add(freed);
  return freed;
}

template <typename Ownership>
void TxQueue<Ownership>::AddReturned(uint32_t n) noexcept {
  // Relaxed: a count. The slots that it stands for are ordered by the rings' indices.
  if constexpr (Ownership::kShared) {
    returned_.fetch_add(n, std::memory_order_relaxed);
  } else {
    returned_.store(returned() + n, std::memory_order_relaxed);
  }
}

template <typename Ownership>
void TxQueue<Ownership>::EnterGate() noexcept {
  if constexpr (std::is_same_v<typename Ownership::Gate, OpenGate>) return;
  const uint32_t me = CurrentUser();
  const uint32_t owner = gate_.Enter(me);
  if (likely(owner == 0)) return;
  XskLog(RTE_LOG_CRIT, "port ", settings_.port, " TX queue ", settings_.queue, " belongs to ",
         UserName(owner), ", and ", UserName(me),
         " came in; configure it with MT_LOCKFREE, or keep to one lcore");
  __builtin_trap();
}

// ---- control ----

template <typename Ownership>
void TxQueue<Ownership>::Attach(const QueueSockets& sockets, std::shared_ptr<Umem> umem,
                                bool segments, const std::atomic<uint32_t>& max_frame_bytes,
                                const std::atomic<bool>& removed) {
  umem_ = std::move(umem);
  fd_ = sockets.tx_fd();
  sockets_ = &sockets;
  zero_copy_ = sockets.zero_copy();
  segments_ = segments;
  max_frame_bytes_ = &max_frame_bytes;
  removed_ = &removed;
  gate_.Reset();
  tx_.emplace(sockets.tx(), settings_.descriptors);
  completion_.emplace(sockets.completion());
  returned_ = 0;
  reap_at_ = settings_.descriptors - settings_.free_threshold;
  budget_.emplace(sockets.tx().size);
  // The option is tried out here: a kernel without it keeps to 32.
  const uint32_t fixed = fixed_budget();
  budget_now_ = fixed != 0 ? fixed : budget_->budget();
  has_budget_ = !zero_copy_ && sockets.SetBudget(budget_now_);
}

template <typename Ownership>
void TxQueue<Ownership>::Drain() {
  gate_.Reset();
  const absl::Time deadline = absl::Now() + kDrainPatience;
  for (;;) {
    const bool sending = SendOnce();
    Reap(UINT32_MAX);
    const uint32_t inside = tx_->published() - returned();
    // What cannot be sent now is not waited for; what the kernel has will come back. A zero-copy
    // device takes what is in TX in its own time, whatever the call said.
    const bool in_vain = !zero_copy_ && !sending && inside == tx_->Unconsumed();
    if (inside == 0 || in_vain || absl::Now() > deadline) break;
    absl::SleepFor(kDrainPause);
  }
  CountUnsent();
}

template <typename Ownership>
void TxQueue<Ownership>::Detach() {
  counters_.lock_waits.Add(tx_->lock_waits() + completion_->lock_waits());
  tx_.reset();
  completion_.reset();
  fd_ = -1;
  sockets_ = nullptr;
  gate_.Reset();
  umem_->in_flight().TakeAll(settings_.holder, [this](size_t index) {
    rte_mempool_put(umem_->pool(), umem_->MbufOf(umem_->ChunkAt(index)));
  });
  umem_.reset();
}

// What the kernel has not taken out of TX. Nobody sends.
template <typename Ownership>
void TxQueue<Ownership>::CountUnsent() noexcept {
  const RingMemory<xdp_desc>& ring = sockets_->tx();
  const uint32_t end = *ring.producer;
  for (uint32_t at = end - tx_->Unconsumed(); at != end; ++at) {
    const xdp_desc& descriptor = ring.entries[at & (ring.size - 1)];
    counters_.unsent_bytes.Add(descriptor.len);
    if ((descriptor.options & XDP_PKT_CONTD) == 0) counters_.unsent.Add(1);
  }
}

template <typename Ownership>
uint32_t TxQueue<Ownership>::Inside() const noexcept {
  return tx_ ? tx_->claimed() - returned() : 0;
}

template <typename Ownership>
uint32_t TxQueue<Ownership>::Unfinished() const noexcept {
  if (!tx_) return 0;
  // In this order: what another lcore reaps in between counts as unfinished rather than as
  // finished.
  const uint32_t inside = Inside();
  const uint32_t done = completion_->Ready();
  return inside > done ? inside - done : 0;
}

template <typename Ownership>
uint32_t TxQueue<Ownership>::budget() const noexcept {
  if (!has_budget_) return 0;
  const uint32_t fixed = fixed_budget();
  return fixed != 0 ? fixed : budget_now_.load(std::memory_order_relaxed);
}

template <typename Ownership>
TxTotals TxQueue<Ownership>::Totals() const noexcept {
  TxTotals totals;
  // What is a part of the packets comes before them: they are counted first, and go on meanwhile.
  totals.dropped = counters_.dropped.value();
  totals.unsent = counters_.unsent.value();
  totals.unsent_bytes = counters_.unsent_bytes.value();
  totals.packets = counters_.packets.value();
  totals.bytes = counters_.bytes.value();
  totals.invalid = counters_.invalid.value();
  totals.too_long = counters_.too_long.value();
  totals.in_flight_twice = counters_.in_flight_twice.value();
  totals.copies = counters_.copies.value();
  totals.no_chunk = counters_.no_chunk.value();
  totals.reaps = counters_.reaps.value();
  totals.empty_reaps = counters_.empty_reaps.value();
  totals.reaped = counters_.reaped.value();
  totals.bad_completions = counters_.bad_completions.value();
  totals.stalled = counters_.stalled.value();
  for (size_t i = 0; i < kSendResults; ++i) totals.sends[i] = counters_.sends[i].value();
  for (size_t i = 0; i < kSendSizes; ++i) totals.send_sizes[i] = counters_.send_sizes[i].value();
  totals.lock_waits = counters_.lock_waits.value();
  if (!tx_) return totals;
  totals.lock_waits += tx_->lock_waits() + completion_->lock_waits();
  totals.budget = budget();
  const uint64_t since = age_.SinceTsc(tx_->published(), returned());
  const uint64_t now = rte_rdtsc();
  if (since != 0 && now > since) {
    totals.oldest_pinned_us = TscToNs(now - since, rte_get_tsc_hz()) / 1000;
  }
  return totals;
}

template class TxQueue<Exclusive>;
template class TxQueue<Checked>;
template class TxQueue<Shared>;

}  // namespace penstock
