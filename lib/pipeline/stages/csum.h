// SPDX-License-Identifier: BSD-3-Clause
//
// csum: verifies the checksums of IPv4, TCP, UDP, ICMP and ICMPv6, puts those right that are wrong,
// writes the MAC addresses as mac does, and sends to the peer port. testpmd's "csum", behind VLAN
// tags as there.
//
// A checksum that was received right stays as it is, bit for bit. One that is wrong is counted and
// filled, by the TX port where it has the offload in effect, else here. Where the RX port has the
// offload in effect, what it says of a checksum is believed and not computed again: good; bad; or
// none, which is a checksum that was never filled, by a sender on the same machine: that is filled
// and not counted as bad. When the RX port says nothing and the TX port fills, nothing is verified.
//
// Left alone:
// - a UDP checksum of zero, over IPv6 too. RFC 768: "the transmitter generated no checksum", RFC
//   6935 allows it in tunnels over IPv6, and testpmd leaves it;
// - what is above IP in a fragment: the checksum covers the whole packet, of which this is a part.
//   testpmd computes one over the part, which nobody can use. The IPv4 header is looked at;
// - what is above a Routing header of unknown kind that has segments left: the address that the
//   checksum covers cannot be read;
// - SCTP, whose checksum is a CRC: testpmd zeroes it;
// - what is malformed or cut short, from there on: counted by what is wrong, and forwarded. Only a
//   packet without an Ethernet header is dropped.

#ifndef PENSTOCK_LIB_PIPELINE_STAGES_CSUM_H_
#define PENSTOCK_LIB_PIPELINE_STAGES_CSUM_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "lib/base/load.h"
#include "lib/base/status.h"
#include "lib/net/checksum.h"
#include "lib/packet/checksum_repair.h"
#include "lib/packet/mbuf.h"
#include "lib/pipeline/stages/frame_faults.h"
#include "lib/pipeline/stages/ordinary_ipv4.h"
#include "lib/pipeline/stages/peer_macs.h"
#include "lib/pipeline/stages/to_peer.h"

namespace penstock {

class Csum : public StageBase {
 public:
  static constexpr absl::string_view kName = "csum";
  enum Reason : unsigned { kRunt };
  static constexpr DropReason kDrops[] = {kRuntDrop};
  enum Counter : unsigned {
    kBadIp = kFaultCounters,
    kBadTransport,
    kUdpWithout,
    kFragments,
    kUnknownRoute
  };
  static constexpr auto kCounters = WithFaultCounters<5>({{
      {"bad_ip_checksum", "IPv4 headers received with a wrong checksum"},
      {"bad_l4_checksum", "TCP, UDP, ICMP and ICMPv6 received with a wrong checksum"},
      {"udp_no_checksum", "UDP datagrams without a checksum"},
      {"fragments", "fragments, whose TCP, UDP, ICMP or ICMPv6 was not looked at"},
      {"unknown_route", "packets behind a Routing header of unknown kind, likewise"},
  }});

  static absl::StatusOr<Csum> Create(const StageContext& context) {
    PENSTOCK_ASSIGN_OR_RETURN(ToPeer to_peer, ToPeer::Create(context));
    PENSTOCK_ASSIGN_OR_RETURN(PeerMacs macs, PeerMacs::Create(context));
    std::vector<ChecksumOffloads> offloads;
    for (size_t rx = 0; rx < context.rx.size(); ++rx) {
      const StageContext::Tx& tx = context.tx[to_peer[static_cast<RxSlot>(rx)]];
      offloads.push_back(ChecksumOffloads::Of(context.rx[rx].offloads, tx.offloads));
    }
    return Csum(std::move(to_peer), std::move(macs), std::move(offloads));
  }

  void Process(Burst burst, auto& out) noexcept {
    const size_t kept =
        offloads_[burst.rx].any() ? ProcessWith<true>(burst, out) : ProcessWith<false>(burst, out);
    out.Send(to_peer_[burst.rx], burst.mbufs.first(kept));
  }

 private:
  // Of the packets that the fast path found wrong or left; counted once a burst.
  struct Findings {
    uint64_t bad_ip = 0;
    uint64_t bad_transport = 0;
    uint64_t udp_without = 0;
  };

  // Returns how many packets of the burst are kept, at its front.
  template <bool kOffloads>
  size_t ProcessWith(Burst burst, auto& out) noexcept {
    // A copy, which no store to a packet can change: it stays in registers.
    const MacPair pair = macs_[burst.rx];
    const ChecksumOffloads& offloads = offloads_[burst.rx];
    Findings found;
    size_t kept = 0;
    for (rte_mbuf* const mbuf : burst.mbufs) {
      const OrdinaryIpv4 ip(mbuf);
      const bool done =
          ip && (kOffloads ? PortSaysGood(mbuf, ip, offloads) : RepairOrdinary(mbuf, ip, found));
      if (done || (!ip && OfUnknownProtocol(mbuf))) [[likely]] {
        SetMacPair(rte_pktmbuf_mtod(mbuf, uint8_t*), pair);
      } else if (!RepairAny(mbuf, offloads, pair, out)) {
        continue;
      }
      burst.mbufs[kept++] = mbuf;
    }
    if ((found.bad_ip | found.bad_transport | found.udp_without) != 0) {
      out.Count(kBadIp, found.bad_ip);
      out.Count(kBadTransport, found.bad_transport);
      out.Count(kUdpWithout, found.udp_without);
    }
    return kept;
  }

  static bool PortSaysGood(const rte_mbuf* mbuf, const OrdinaryIpv4& ip,
                           const ChecksumOffloads& offloads) noexcept {
    const bool transport = ip.tcp() ? offloads.rx_tcp : offloads.rx_udp;
    return IpVerdict(mbuf, offloads.rx_ip) == ChecksumVerdict::kGood &&
           TransportVerdict(mbuf, transport) == ChecksumVerdict::kGood;
  }

  // In software. False: it is in several segments, and nothing was done.
  static bool RepairOrdinary(rte_mbuf* mbuf, const OrdinaryIpv4& ip, Findings& found) noexcept {
    if (mbuf->data_len != mbuf->pkt_len) [[unlikely]]
      return false;
    uint8_t* const data = rte_pktmbuf_mtod(mbuf, uint8_t*);
    constexpr size_t kIp = OrdinaryIpv4::kIpOffset;
    constexpr size_t kTransport = OrdinaryIpv4::kTransportOffset;
    const uint64_t ip_sum = SumBytes(data + kIp, sizeof(Ipv4Header));
    if (FoldSum(ip_sum) != 0xffff) [[unlikely]] {
      ++found.bad_ip;
      Fill(data + kIp + offsetof(Ipv4Header, checksum), ip_sum);
    }
    const uint32_t bytes = ip.transport_bytes();
    size_t field = kTransport + offsetof(TcpHeader, checksum);
    if (!ip.tcp()) {
      field = kTransport + offsetof(UdpHeader, checksum);
      if (LoadAt<uint16_t>(data, field) == 0) {
        ++found.udp_without;
        return true;
      }
    }
    // The pseudo header: both addresses, the protocol, the length.
    const uint64_t sum =
        SumBytes(data + kTransport, bytes) +
        SumBytes(data + kIp + offsetof(Ipv4Header, source), 2 * sizeof(Ipv4Address)) +
        std::bit_cast<uint16_t>(Big16(ip.tcp() ? kIpProtocolTcp : kIpProtocolUdp)) +
        std::bit_cast<uint16_t>(Big16(static_cast<uint16_t>(bytes)));
    if (FoldSum(sum) != 0xffff) [[unlikely]] {
      ++found.bad_transport;
      Fill(data + field, sum, !ip.tcp());
    }
    return true;
  }

  // `sum` is that of the header or packet with what the field holds, and without it not zero, which
  // one's complement arithmetic cannot tell from 0xffff.
  static void Fill(uint8_t* field, uint64_t sum, bool udp = false) noexcept {
    const auto received = LoadAt<uint16_t>(field, 0);
    const auto checksum = static_cast<uint16_t>(~FoldSum(sum + static_cast<uint16_t>(~received)));
    const Big16 on_wire = std::bit_cast<Big16>(checksum);
    const Big16 filled = udp ? UdpChecksumOnWire(on_wire) : on_wire;
    std::memcpy(field, &filled, sizeof(filled));
  }

  // Any packet. False: it was dropped.
  [[gnu::noinline]] static bool RepairAny(rte_mbuf* mbuf, const ChecksumOffloads& offloads,
                                          MacPair pair, auto& out) noexcept {
    const ChecksumFindings found = RepairChecksums(mbuf, offloads);
    if (found.fault == FrameFault::kRunt) {
      out.Drop(kRunt, mbuf);
      return false;
    }
    CopyToPacket(mbuf, 0, {reinterpret_cast<const uint8_t*>(&pair), sizeof(pair)});
    if (found.fault != FrameFault::kNone) out.Count(FaultCounter(found.fault), 1);
    if (found.bad_ip) out.Count(kBadIp, 1);
    if (found.bad_transport) out.Count(kBadTransport, 1);
    if (found.udp_without) out.Count(kUdpWithout, 1);
    if (found.fragment) out.Count(kFragments, 1);
    if (found.unknown_route) out.Count(kUnknownRoute, 1);
    return true;
  }

  Csum(ToPeer to_peer, PeerMacs macs, std::vector<ChecksumOffloads> offloads)
      : to_peer_(std::move(to_peer)), macs_(std::move(macs)), offloads_(std::move(offloads)) {}

  ToPeer to_peer_;
  PeerMacs macs_;
  std::vector<ChecksumOffloads> offloads_;
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_PIPELINE_STAGES_CSUM_H_
