// SPDX-License-Identifier: BSD-3-Clause
//
// Receiving; see the header. Burst is the lcore's, the rest the control thread's.

#include "drivers/net/xsk/rx_queue.h"

#include <rte_branch_prediction.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"

namespace penstock {

absl::Status RxQueue::Attach(const QueueSockets& sockets) {
  fd_ = sockets.rx_fd();
  zero_copy_ = sockets.zero_copy();
  needs_wake_ = zero_copy_ || settings_.busy_poll;
  taken_ = 0;
  rx_.emplace(sockets.rx());
  fill_.emplace(sockets.fill(), settings_.descriptors);
  Refill(1);
  const uint32_t filled = fill_->published();
  if (filled == settings_.descriptors) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "RX queue ", settings_.queue, " of ", settings_.descriptors, " descriptors got only ", filled,
      " mbufs of mempool ", umem_->pool()->name, ", which has ", umem_->pool()->size,
      " in all; give it more (--total-num-mbufs), or ask for fewer descriptors (--rxd)"));
}

void RxQueue::Detach() {
  rx_.reset();
  fill_.reset();
  fd_ = -1;
  if (chain_ != nullptr) rte_pktmbuf_free(chain_);
  chain_ = chain_tail_ = nullptr;
  umem_->in_flight().TakeAll(settings_.holder, [this](size_t index) {
    rte_mempool_put(umem_->pool(), umem_->MbufOf(umem_->ChunkAt(index)));
  });
}

uint16_t RxQueue::Receive(rte_mbuf** mbufs, uint16_t n) noexcept {
  std::array<xdp_desc, kBatch> descriptors;
  const ChunkMap chunks = *umem_;
  uint16_t received = 0;
  uint64_t bytes = 0;
  while (received < n) {
    const uint32_t want = std::min<uint32_t>(kBatch, n - received);
    uint32_t count = rx_->Take(descriptors.data(), want);
    if (count == 0 && received == 0) {
      Wake();
      count = rx_->Take(descriptors.data(), want);
    }
    for (uint32_t i = 0; i < count; ++i) {
      if (i + 4 < count) {
        chunks.Prefetch(ChunkMap::ChunkOfAddress(descriptors[i + 4].addr));
      }
      rte_mbuf* mbuf = Accept(descriptors[i], chunks);
      if (unlikely(mbuf == nullptr)) continue;
      const bool goes_on = (descriptors[i].options & XDP_PKT_CONTD) != 0;
      if (unlikely(goes_on || chain_ != nullptr)) {
        mbuf = Chain(mbuf, goes_on);
        if (mbuf == nullptr) continue;
      }
      // The kernel may have written it on another processor. Nearly every application reads the
      // headers, and by the time it comes to them they are here.
      rte_prefetch0(rte_pktmbuf_mtod(mbuf, const void*));
      bytes += mbuf->pkt_len;
      mbufs[received++] = mbuf;
    }
    if (count < want) break;
  }
  if (received != 0) {
    counters_.packets.Add(received);
    counters_.bytes.Add(bytes);
  }
  Refill(refill_at_);
  return received;
}

// The mbuf of a descriptor; null if the kernel had no right to it.
inline rte_mbuf* RxQueue::Accept(const xdp_desc& descriptor, const ChunkMap& chunks) noexcept {
  const uint64_t chunk = ChunkMap::ChunkOfAddress(descriptor.addr);
  if (unlikely(!chunks.IsChunk(chunk) ||
               !umem_->in_flight().Clear<Exclusive>(chunks.IndexOf(chunk), settings_.holder))) {
    counters_.bad_address.Add(1);
    return nullptr;
  }
  ++taken_;
  // As it came from the mempool: one reference, one segment, nothing behind it.
  rte_mbuf* const mbuf = chunks.MbufOf(chunk);
  mbuf->data_off = chunks.DataOffOf(descriptor.addr);
  mbuf->port = settings_.port;
  mbuf->ol_flags = 0;
  mbuf->packet_type = 0;
  mbuf->data_len = static_cast<uint16_t>(descriptor.len);
  mbuf->pkt_len = descriptor.len;
  return mbuf;
}

// Joins the buffers of a packet; null until it is whole.
rte_mbuf* RxQueue::Chain(rte_mbuf* mbuf, bool goes_on) noexcept {
  if (chain_ == nullptr) {
    chain_ = chain_tail_ = mbuf;
  } else {
    chain_tail_->next = mbuf;
    chain_tail_ = mbuf;
    ++chain_->nb_segs;
    chain_->pkt_len += mbuf->data_len;
  }
  if (goes_on) return nullptr;
  rte_mbuf* const packet = chain_;
  chain_ = chain_tail_ = nullptr;
  if (settings_.scatter || packet->nb_segs == 1) return packet;
  counters_.too_long.Add(1);
  rte_pktmbuf_free(packet);
  return nullptr;
}

// A mempool that has run short is not empty: half as many, a quarter, … are tried.
uint32_t RxQueue::GetSome(void** mbufs, uint32_t n) noexcept {
  while (n != 0 && rte_mempool_get_bulk(umem_->pool(), mbufs, n) != 0) n /= 2;
  return n;
}

// Gives the kernel mbufs for those that came back, once there are `at_least` of them.
void RxQueue::Refill(uint32_t at_least) noexcept {
  std::array<void*, kBatch> mbufs;
  std::array<uint64_t, kBatch> chunks;
  const ChunkMap map = *umem_;
  while (Missing() >= at_least) {
    uint32_t n = fill_->Reserve(kBatch, taken_);
    if (n == 0) return;
    if (unlikely(rte_mempool_get_bulk(umem_->pool(), mbufs.data(), n) != 0)) {
      counters_.no_mbuf.Add(1);
      const uint32_t some = GetSome(mbufs.data(), n / 2);
      fill_->Cancel(n - some);
      if (some == 0) return;
      n = some;
    }
    for (uint32_t i = 0; i < n; ++i) {
      chunks[i] = map.ChunkOf(static_cast<rte_mbuf*>(mbufs[i]));
      umem_->in_flight().Mark(map.IndexOf(chunks[i]), settings_.holder);
    }
    fill_->Publish(chunks.data(), n);
  }
}

// Nothing is there: lets the kernel work if it waits for that. In copy mode it never does; a device
// driver in zero-copy mode asks for it when it ran out of FILL, and a busy-polled queue has no
// other engine.
void RxQueue::Wake() const noexcept {
  const bool asked = zero_copy_ && fill_->NeedsWakeup(XDP_RING_NEED_WAKEUP);
  if (asked || settings_.busy_poll) recvfrom(fd_, nullptr, 0, MSG_DONTWAIT, nullptr, nullptr);
}

}  // namespace penstock
