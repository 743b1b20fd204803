// SPDX-License-Identifier: BSD-3-Clause
//
// 5tswap: exchanges source and destination of each layer it finds, MAC, IPv4 or IPv6 addresses, TCP
// or UDP ports, and sends to the peer port. testpmd's "5tswap", with VLAN tags as there.
//
// Checksums that were right stay right where all they cover is only moved. That is not so where the
// pseudo header has another address than the one in the IP header that is moved: behind an IPv6
// Routing header or an IPv4 source route with segments left (RFC 8200, 8.1; RFC 1122, 3.2.1.8), and
// behind a Home Address option (RFC 6275, 11.3.1). There the checksum of TCP or UDP, and of ICMPv6,
// which is not touched either, is wrong afterwards, as it is with testpmd.
//
// Where it differs from testpmd: ports are found behind IPv6 extension headers too; a later
// fragment has no ports, so its payload is left alone; nothing behind the end of a packet is read
// or written. A packet that is malformed or cut short is swapped as far as its layers are there,
// counted by what is wrong, and forwarded; one without an Ethernet header is dropped.

#ifndef PENSTOCK_LIB_PIPELINE_STAGES_FIVE_TUPLE_SWAP_H_
#define PENSTOCK_LIB_PIPELINE_STAGES_FIVE_TUPLE_SWAP_H_

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "lib/base/status.h"
#include "lib/net/headers.h"
#include "lib/packet/mbuf.h"
#include "lib/packet/packet_head.h"
#include "lib/pipeline/stages/frame_faults.h"
#include "lib/pipeline/stages/ordinary_ipv4.h"
#include "lib/pipeline/stages/to_peer.h"

namespace penstock {

class FiveTupleSwap : public StageBase {
 public:
  static constexpr absl::string_view kName = "5tswap";
  enum Reason : unsigned { kRunt };
  static constexpr DropReason kDrops[] = {kRuntDrop};
  static constexpr auto kCounters = WithFaultCounters<0>({});

  static absl::StatusOr<FiveTupleSwap> Create(const StageContext& context) {
    PENSTOCK_ASSIGN_OR_RETURN(ToPeer to_peer, ToPeer::Create(context));
    return FiveTupleSwap(std::move(to_peer));
  }

  void Process(Burst burst, auto& out) noexcept {
    size_t kept = 0;
    for (rte_mbuf* const mbuf : burst.mbufs) {
      if (OrdinaryIpv4(mbuf)) [[likely]] {
        SwapOrdinary(rte_pktmbuf_mtod(mbuf, uint8_t*));
      } else if (OfUnknownProtocol(mbuf)) {
        SwapMacPairVector(rte_pktmbuf_mtod(mbuf, uint8_t*));
      } else if (!SwapAny(mbuf, out)) {
        continue;
      }
      burst.mbufs[kept++] = mbuf;
    }
    out.Send(to_peer_[burst.rx], burst.mbufs.first(kept));
  }

 private:
  static void SwapOrdinary(uint8_t* data) noexcept {
    SwapMacPairVector(data);
    // Addresses and ports follow each other: one load, one shuffle, one store, which writes the
    // four bytes behind the ports as they were.
    constexpr size_t kOffset = OrdinaryIpv4::kIpOffset + offsetof(Ipv4Header, source);
    typedef uint8_t Vector __attribute__((vector_size(16)));
    static_assert(kOffset + sizeof(Vector) <= OrdinaryIpv4::kOrdinaryBytes);
    Vector bytes;
    std::memcpy(&bytes, data + kOffset, sizeof(bytes));
    bytes =
        __builtin_shufflevector(bytes, bytes, 4, 5, 6, 7, 0, 1, 2, 3, 10, 11, 8, 9, 12, 13, 14, 15);
    std::memcpy(data + kOffset, &bytes, sizeof(bytes));
  }

  // Any packet. False: it was dropped.
  [[gnu::noinline]] static bool SwapAny(rte_mbuf* mbuf, auto& out) noexcept {
    PacketHead head(mbuf);
    const Dissection& d = head.dissection();
    if (d.fault == FrameFault::kRunt) {
      out.Drop(kRunt, mbuf);
      return false;
    }
    if (d.fault != FrameFault::kNone) out.Count(FaultCounter(d.fault), 1);
    SwapMacPair(head.data());
    if (d.network == Network::kIpv4) {
      Exchange<Ipv4Address>(head.data() + d.network_offset + offsetof(Ipv4Header, source));
    } else if (d.network == Network::kIpv6) {
      Exchange<Ipv6Address>(head.data() + d.network_offset + offsetof(Ipv6Header, source));
    }
    if (HasPorts(d, head.bytes().size())) Exchange<Big16>(head.data() + d.transport_offset);
    head.Store();
    return true;
  }

  // Whether TCP or UDP ports are there, even if what follows them is not or is not right.
  static bool HasPorts(const Dissection& d, size_t head_bytes) noexcept {
    const bool ip = d.network == Network::kIpv4 || d.network == Network::kIpv6;
    const bool ports = d.protocol == kIpProtocolTcp || d.protocol == kIpProtocolUdp;
    return ip && ports && d.fragment != Fragment::kLater &&
           d.transport_offset + 2 * sizeof(Big16) <= std::min<size_t>(d.packet_end, head_bytes);
  }

  // A T and the T behind it.
  template <typename T>
  static void Exchange(uint8_t* data) noexcept {
    const auto first = LoadAt<T>(data, 0);
    std::memmove(data, data + sizeof(T), sizeof(T));
    std::memcpy(data + sizeof(T), &first, sizeof(T));
  }

  explicit FiveTupleSwap(ToPeer to_peer) : to_peer_(std::move(to_peer)) {}

  ToPeer to_peer_;
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_PIPELINE_STAGES_FIVE_TUPLE_SWAP_H_
