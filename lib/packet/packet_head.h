// SPDX-License-Identifier: BSD-3-Clause
//
// PacketHead: the first bytes of a packet in one piece, dissected, to be changed and put back. On
// the lcore that has the packet, for as long as it works on it: no allocation, no locks.
//
//   PacketHead head(mbuf);
//   if (head.dissection().network == Network::kIpv4) { … change head.data() … }
//   head.Store();
//
// The bytes are the mbuf's own when its first segment is the whole packet or at least
// kDissectHeadBytes long; Store then has nothing to do. Else they are a copy of as many.

#ifndef PENSTOCK_LIB_PACKET_PACKET_HEAD_H_
#define PENSTOCK_LIB_PACKET_PACKET_HEAD_H_

#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "lib/net/dissect.h"
#include "lib/packet/mbuf.h"

namespace penstock {

class PacketHead {
 public:
  explicit PacketHead(rte_mbuf* packet) noexcept
      : packet_(packet), bytes_(Bytes()), dissection_(Dissect(bytes_, packet->pkt_len)) {}
  PacketHead(const PacketHead&) = delete;
  PacketHead& operator=(const PacketHead&) = delete;

  uint8_t* data() noexcept { return bytes_.data(); }
  std::span<uint8_t> bytes() noexcept { return bytes_; }
  const Dissection& dissection() const noexcept { return dissection_; }

  // What was changed in bytes() is in the packet.
  void Store() noexcept {
    if (bytes_.data() == copy_.data()) CopyToPacket(packet_, 0, bytes_);
  }

 private:
  std::span<uint8_t> Bytes() noexcept {
    if (packet_->data_len == packet_->pkt_len || packet_->data_len >= copy_.size()) {
      return {rte_pktmbuf_mtod(packet_, uint8_t*), packet_->data_len};
    }
    const size_t bytes = std::min<size_t>(packet_->pkt_len, copy_.size());
    CopyFromPacket(packet_, 0, {copy_.data(), bytes});
    return {copy_.data(), bytes};
  }

  rte_mbuf* const packet_;
  std::array<uint8_t, kDissectHeadBytes> copy_;  // Only where needed; not cleared.
  const std::span<uint8_t> bytes_;
  const Dissection dissection_;
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_PACKET_PACKET_HEAD_H_
