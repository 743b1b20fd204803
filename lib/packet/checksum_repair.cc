// SPDX-License-Identifier: BSD-3-Clause
//
// See checksum_repair.h. Runs on lcores.

#include "lib/packet/checksum_repair.h"

#include <rte_ethdev.h>

#include <cstddef>
#include <span>

#include "lib/base/load.h"
#include "lib/net/checksum.h"
#include "lib/net/headers.h"
#include "lib/packet/mbuf.h"
#include "lib/packet/packet_head.h"

namespace penstock {
namespace {

// The work on one packet.
class Repair {
 public:
  Repair(rte_mbuf* packet, const ChecksumOffloads& offloads) noexcept
      : packet_(packet), offloads_(offloads), head_(packet), d_(head_.dissection()) {
    found_.fault = d_.fault;
  }

  const ChecksumFindings& Run() noexcept {
    if (d_.network != Network::kIpv4 && d_.network != Network::kIpv6) return found_;
    if (d_.network == Network::kIpv4) Ip();
    if (d_.fragment != Fragment::kNone) {
      found_.fragment = true;
    } else {
      TransportLayer();
    }
    if (asked_ != 0) AskPort();
    return found_;
  }

 private:
  template <typename T>
  T At(uint32_t offset) noexcept {
    return LoadAt<T>(head_.data(), offset);
  }

  // Into the packet itself: what head_ has may be a copy.
  void Write(uint32_t offset, Big16 value) noexcept {
    CopyToPacket(packet_, offset, {reinterpret_cast<const uint8_t*>(&value), sizeof(value)});
  }

  void Ip() noexcept {
    const ChecksumVerdict verdict = IpVerdict(packet_, offloads_.rx_ip);
    if (verdict == ChecksumVerdict::kGood) return;
    found_.bad_ip = verdict == ChecksumVerdict::kBad;
    const uint32_t field =
        d_.network_offset + static_cast<uint32_t>(offsetof(Ipv4Header, checksum));
    if (offloads_.tx_ip && FitsPort()) {
      Write(field, Big16(0));
      asked_ |= RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM;
      return;
    }
    InternetSum sum;
    sum.Add(head_.bytes().subspan(d_.network_offset, d_.transport_offset - d_.network_offset));
    if (verdict == ChecksumVerdict::kUnknown) {
      if (sum.Right()) return;
      found_.bad_ip = true;
    }
    sum.Remove(At<Big16>(field));
    Write(field, sum.Checksum());
  }

  void TransportLayer() noexcept {
    switch (d_.transport) {
      case Transport::kTcp:
        return Tcp();
      case Transport::kUdp:
        return Udp();
      case Transport::kIcmp:
        return Compute(offsetof(IcmpHeader, checksum), ChecksumVerdict::kUnknown, InternetSum());
      case Transport::kIcmpv6:
        if (InternetSum pseudo; Pseudo(pseudo)) {
          Compute(offsetof(IcmpHeader, checksum), ChecksumVerdict::kUnknown, pseudo);
        }
        return;
      case Transport::kSctp:
      case Transport::kNone:
        return;
    }
  }

  void Tcp() noexcept {
    OverPseudo(offsetof(TcpHeader, checksum), TransportVerdict(packet_, offloads_.rx_tcp),
               offloads_.tx_tcp ? RTE_MBUF_F_TX_TCP_CKSUM : 0);
  }

  void Udp() noexcept {
    const auto udp = At<UdpHeader>(d_.transport_offset);
    if (udp.checksum == Big16(0)) {
      found_.udp_without = true;
      return;
    }
    // A port takes the datagram to end where the packet does.
    const bool asks = offloads_.tx_udp && d_.transport_end == d_.packet_end;
    OverPseudo(offsetof(UdpHeader, checksum), TransportVerdict(packet_, offloads_.rx_udp),
               asks ? RTE_MBUF_F_TX_UDP_CKSUM : 0);
  }

  // `flag` is how the port is asked to fill; 0 when it cannot be.
  void OverPseudo(size_t field_offset, ChecksumVerdict verdict, uint64_t flag) noexcept {
    InternetSum pseudo;
    if (verdict == ChecksumVerdict::kGood || !Pseudo(pseudo)) return;
    if (flag == 0 || !FitsPort()) return Compute(field_offset, verdict, pseudo);
    found_.bad_transport = verdict == ChecksumVerdict::kBad;
    Write(d_.transport_offset + static_cast<uint32_t>(field_offset), pseudo.Sum());
    asked_ |= flag | (d_.network == Network::kIpv4 ? RTE_MBUF_F_TX_IPV4 : RTE_MBUF_F_TX_IPV6);
  }

  // False when it cannot be known.
  bool Pseudo(InternetSum& sum) noexcept {
    if (d_.destination_offset == Dissection::kNoOffset) {
      found_.unknown_route = true;
      return false;
    }
    const uint32_t length = d_.transport_end - d_.transport_offset;
    if (d_.network == Network::kIpv4) {
      sum.AddPseudoHeader(At<Ipv4Address>(d_.source_offset), At<Ipv4Address>(d_.destination_offset),
                          d_.protocol, static_cast<uint16_t>(length));
    } else {
      sum.AddPseudoHeader(At<Ipv6Address>(d_.source_offset), At<Ipv6Address>(d_.destination_offset),
                          d_.protocol, length);
    }
    return true;
  }

  // `sum` begins with the pseudo header, if there is one.
  void Compute(size_t field_offset, ChecksumVerdict verdict, InternetSum sum) noexcept {
    const uint32_t field = d_.transport_offset + static_cast<uint32_t>(field_offset);
    const uint32_t behind = field + static_cast<uint32_t>(sizeof(Big16));
    const auto add = [&sum](const uint8_t* data, uint32_t n) { sum.Add({data, n}); };
    ForEachPiece(packet_, d_.transport_offset, field - d_.transport_offset, add);
    ForEachPiece(packet_, behind, d_.transport_end - behind, add);
    const auto received = At<Big16>(field);
    if (verdict == ChecksumVerdict::kUnknown) {
      InternetSum with = sum;
      with.Add(received);
      if (with.Right()) return;
    }
    found_.bad_transport = verdict != ChecksumVerdict::kNone;
    const Big16 checksum = sum.Checksum();
    Write(field, d_.transport == Transport::kUdp ? UdpChecksumOnWire(checksum) : checksum);
  }

  // Whether a port can be asked: of a packet without a fault, whose lengths fit their fields in the
  // mbuf, and which is not of a kind where the port would have to find another address or protocol
  // than those in the IP header. Nor of one with padding: drivers that fill in software, net_tap
  // one of them, sum up to the end of the mbuf.
  bool FitsPort() const noexcept {
    const uint32_t l3_bytes = d_.transport_offset - d_.network_offset;
    const bool plain =
        d_.network == Network::kIpv4
            ? d_.destination_offset == d_.network_offset + offsetof(Ipv4Header, destination)
            : l3_bytes == sizeof(Ipv6Header);
    return plain && d_.fault == FrameFault::kNone && d_.packet_end == packet_->pkt_len &&
           d_.network_offset < 1u << RTE_MBUF_L2_LEN_BITS && l3_bytes < 1u << RTE_MBUF_L3_LEN_BITS;
  }

  void AskPort() noexcept {
    packet_->ol_flags = (packet_->ol_flags & ~RTE_MBUF_F_TX_OFFLOAD_MASK) | asked_;
    packet_->tx_offload = 0;
    packet_->l2_len = d_.network_offset & ((1u << RTE_MBUF_L2_LEN_BITS) - 1);
    packet_->l3_len =
        (d_.transport_offset - d_.network_offset) & ((1u << RTE_MBUF_L3_LEN_BITS) - 1);
  }

  rte_mbuf* const packet_;
  const ChecksumOffloads& offloads_;
  PacketHead head_;
  const Dissection& d_;
  ChecksumFindings found_;
  uint64_t asked_ = 0;  // RTE_MBUF_F_TX_*.
};

}  // namespace

ChecksumOffloads ChecksumOffloads::Of(uint64_t rx, uint64_t tx) noexcept {
  return {.rx_ip = (rx & RTE_ETH_RX_OFFLOAD_IPV4_CKSUM) != 0,
          .rx_tcp = (rx & RTE_ETH_RX_OFFLOAD_TCP_CKSUM) != 0,
          .rx_udp = (rx & RTE_ETH_RX_OFFLOAD_UDP_CKSUM) != 0,
          .tx_ip = (tx & RTE_ETH_TX_OFFLOAD_IPV4_CKSUM) != 0,
          .tx_tcp = (tx & RTE_ETH_TX_OFFLOAD_TCP_CKSUM) != 0,
          .tx_udp = (tx & RTE_ETH_TX_OFFLOAD_UDP_CKSUM) != 0};
}

ChecksumFindings RepairChecksums(rte_mbuf* packet, const ChecksumOffloads& offloads) noexcept {
  return Repair(packet, offloads).Run();
}

}  // namespace penstock
