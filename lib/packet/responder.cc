// SPDX-License-Identifier: BSD-3-Clause
//
// See responder.h. Runs on lcores.

#include "lib/packet/responder.h"

#include <rte_cycles.h>

#include <cstring>
#include <span>

#include "lib/net/ipv4_reply.h"
#include "lib/net/neighbor.h"
#include "lib/packet/mbuf.h"
#include "lib/packet/packet_head.h"

namespace penstock {
namespace {

constexpr uint8_t kUsualHopLimit = 64;

// The work on one packet.
class Answering {
 public:
  Answering(rte_mbuf* packet, const MacAddress& mac) noexcept
      : packet_(packet), mac_(mac), head_(packet), d_(head_.dissection()) {}

  Unanswered Run() noexcept {
    if (d_.fault != FrameFault::kNone) return static_cast<Unanswered>(d_.fault);
    switch (d_.network) {
      case Network::kArp:
        return Arp();
      case Network::kIpv4:
        return Ipv4();
      case Network::kIpv6:
        return Ipv6();
      case Network::kNone:
        return Unanswered::kNoRequest;
    }
    return Unanswered::kNoRequest;
  }

 private:
  template <typename T>
  T At(uint32_t offset) noexcept {
    T value;
    std::memcpy(&value, head_.data() + offset, sizeof(value));
    return value;
  }
  template <typename T>
  void Put(uint32_t offset, const T& value) noexcept {
    std::memcpy(head_.data() + offset, &value, sizeof(value));
  }

  // ---- ARP ----

  Unanswered Arp() noexcept {
    auto arp = At<ArpHeader>(d_.network_offset);
    if (arp.operation != kArpRequest) return Unanswered::kNoRequest;
    if (FromGroup() || arp.sender_mac.IsMulticast()) return Unanswered::kBadSource;
    if (!arp.target_ip.IsHost()) return Unanswered::kBadDestination;
    // RFC 5227, 1.1: a probe is from 0.0.0.0, an announcement from the address that it is for.
    if (arp.sender_ip == Ipv4Address() || arp.sender_ip == arp.target_ip) {
      return Unanswered::kAddressProbe;
    }
    if (!arp.sender_ip.IsHost()) return Unanswered::kBadSource;
    const Ipv4Address answered = arp.target_ip;
    arp.operation = kArpReply;
    arp.target_mac = arp.sender_mac;
    arp.target_ip = arp.sender_ip;
    arp.sender_mac = mac_;
    arp.sender_ip = answered;
    Put(d_.network_offset, arp);
    return Finish();
  }

  // ---- ICMP ----

  Unanswered Ipv4() noexcept {
    if (d_.protocol != kIpProtocolIcmp) return Unanswered::kNoRequest;
    if (d_.fragment != Fragment::kNone) return Unanswered::kFragment;
    const auto icmp = At<IcmpHeader>(d_.transport_offset);
    if (icmp.type != kIcmpEchoRequest || icmp.code != 0) return Unanswered::kNoRequest;
    if (MessageBytes() < kEchoBytes) return static_cast<Unanswered>(FrameFault::kTruncated);
    const auto ip = At<Ipv4Header>(d_.network_offset);
    if (d_.destination_offset != d_.network_offset + offsetof(Ipv4Header, destination)) {
      return Unanswered::kRouted;
    }
    if (FromGroup() || !ip.source.IsHost()) return Unanswered::kBadSource;
    // RFC 1122, 3.2.2.6: an echo request to a group "MAY be silently discarded"; 3.3.6: so should
    // be what came in a broadcast frame to a single host.
    if (ToGroup() || !ip.destination.IsHost()) return Unanswered::kBadDestination;
    const std::span<uint8_t> header =
        head_.bytes().subspan(d_.network_offset, d_.transport_offset - d_.network_offset);
    if (InternetChecksum(header) != Big16(0)) return Unanswered::kBadIpChecksum;
    if (!Checked(InternetSum())) return Unanswered::kBadIcmpChecksum;
    if (!ReplyIpv4Header(header, &ClockMs)) return Unanswered::kBadOptions;
    BecomeReply(kIcmpEchoReply);
    return Finish();
  }

  static uint32_t ClockMs() noexcept {
    return static_cast<uint32_t>(rte_get_tsc_cycles() / (rte_get_tsc_hz() / 1000));
  }

  // ---- ICMPv6 ----

  Unanswered Ipv6() noexcept {
    if (d_.protocol != kIpProtocolIcmpv6) return Unanswered::kNoRequest;
    if (d_.fragment != Fragment::kNone) return Unanswered::kFragment;
    const auto icmp = At<IcmpHeader>(d_.transport_offset);
    const bool echo = icmp.type == kIcmpv6EchoRequest && icmp.code == 0;
    if (!echo && icmp.type != kIcmpv6NeighborSolicitation) return Unanswered::kNoRequest;
    if (d_.source_offset != d_.network_offset + offsetof(Ipv6Header, source) ||
        d_.destination_offset != d_.network_offset + offsetof(Ipv6Header, destination)) {
      return Unanswered::kRouted;
    }
    return echo ? Echo() : Neighbor();
  }

  Unanswered Echo() noexcept {
    auto ip = At<Ipv6Header>(d_.network_offset);
    if (MessageBytes() < kEchoBytes) return static_cast<Unanswered>(FrameFault::kTruncated);
    if (FromGroup() || !ip.source.IsHost()) return Unanswered::kBadSource;
    // RFC 4443, 4.2 has a request to a group answered from an address of one's own: here is none.
    if (ToGroup() || !ip.destination.IsHost()) return Unanswered::kBadDestination;
    if (!Checked(Pseudo(ip))) return Unanswered::kBadIcmpChecksum;
    std::swap(ip.source, ip.destination);
    if (ip.hop_limit == 0) ip.hop_limit = kUsualHopLimit;
    ip.next_header = kIpProtocolIcmpv6;
    ip.payload_length = Big16(static_cast<uint16_t>(MessageBytes()));
    Put(d_.network_offset, ip);
    BecomeReply(kIcmpv6EchoReply);
    const Unanswered done = Finish();
    const uint32_t extensions = ExtensionBytes();
    if (extensions == 0) return done;
    const uint32_t front = d_.transport_offset - extensions;
    return RemoveFromPacket(packet_, front, extensions) ? done : Unanswered::kNoRoom;
  }

  Unanswered Neighbor() noexcept {
    const auto ip = At<Ipv6Header>(d_.network_offset);
    if (FromGroup() || (ip.source != Ipv6Address() && !ip.source.IsHost())) {
      return Unanswered::kBadSource;
    }
    if (!Checked(Pseudo(ip))) return Unanswered::kBadIcmpChecksum;
    // RFC 6980, 5: a solicitation with a Fragment header is ignored; none has others.
    if (ExtensionBytes() > 0) return Unanswered::kBadSolicitation;
    if (d_.transport_end > head_.bytes().size())
      return static_cast<Unanswered>(FrameFault::kBeyondHead);
    const std::span<const uint8_t> message =
        head_.bytes().subspan(d_.transport_offset, MessageBytes());
    switch (ReadSolicitation(ip, message)) {
      case Solicitation::kInvalid:
        return Unanswered::kBadSolicitation;
      case Solicitation::kProbes:
        return Unanswered::kAddressProbe;
      case Solicitation::kAsks:
        break;
    }
    const NeighborAnswer answer = AnswerSolicitation(ip, message, mac_);
    if (!answer.ip.source.IsHost()) return Unanswered::kBadDestination;
    TurnMacs();
    head_.Store();
    return Become(answer) ? Unanswered::kAnswered : Unanswered::kNoRoom;
  }

  // Behind the Ethernet header and its tags, nothing but this is left, in one segment.
  bool Become(const NeighborAnswer& answer) noexcept {
    constexpr uint32_t kMost = sizeof(EthernetHeader) + kMaxVlanTags * sizeof(VlanHeader);
    std::array<uint8_t, kMost + sizeof(answer)> bytes;
    const auto n = static_cast<uint16_t>(d_.network_offset + sizeof(answer));
    if (n > packet_->buf_len - packet_->data_off) return false;
    std::memcpy(bytes.data(), head_.data(), d_.network_offset);
    std::memcpy(bytes.data() + d_.network_offset, &answer, sizeof(answer));
    rte_pktmbuf_free(packet_->next);
    packet_->next = nullptr;
    packet_->nb_segs = 1;
    packet_->pkt_len = packet_->data_len = n;
    std::memcpy(rte_pktmbuf_mtod(packet_, uint8_t*), bytes.data(), n);
    return true;
  }

  uint32_t ExtensionBytes() const noexcept {
    return d_.transport_offset - d_.network_offset - static_cast<uint32_t>(sizeof(Ipv6Header));
  }

  InternetSum Pseudo(const Ipv6Header& ip) const noexcept {
    InternetSum sum;
    sum.AddPseudoHeader(ip.source, ip.destination, kIpProtocolIcmpv6, MessageBytes());
    return sum;
  }

  // ---- both ----

  uint32_t MessageBytes() const noexcept { return d_.transport_end - d_.transport_offset; }

  // `sum` is that of the pseudo header, if there is one.
  bool Checked(InternetSum sum) noexcept {
    AddMessage(sum, 0);
    return sum.Right();
  }

  void AddMessage(InternetSum& sum, uint32_t from) noexcept {
    ForEachPiece(packet_, d_.transport_offset + from, MessageBytes() - from,
                 [&sum](const uint8_t* data, uint32_t n) {
                   sum.Add({data, n});
                 });
  }

  // The type is all that changes, and the checksum by as much (RFC 1624).
  void BecomeReply(uint8_t type) noexcept {
    auto icmp = At<IcmpHeader>(d_.transport_offset);
    const auto word = [](uint8_t of_type) { return Big16(static_cast<uint16_t>(of_type << 8)); };
    icmp.checksum = ChecksumAfterChange(icmp.checksum, word(icmp.type), word(type));
    icmp.type = type;
    if (icmp.checksum == Big16(0) && type == kIcmpEchoReply) [[unlikely]] {
      // Right, unless nothing but zeros is left: then the sum is 0, and its complement ffff.
      InternetSum rest;
      AddMessage(rest, sizeof(IcmpHeader));
      if (rest.Sum() == Big16(0)) icmp.checksum = Big16(0xffff);
    }
    Put(d_.transport_offset, icmp);
  }

  bool FromGroup() noexcept { return At<EthernetHeader>(0).source.IsMulticast(); }
  bool ToGroup() noexcept { return At<EthernetHeader>(0).destination.IsMulticast(); }

  void TurnMacs() noexcept {
    auto ethernet = At<EthernetHeader>(0);
    ethernet.destination = ethernet.source;
    ethernet.source = mac_;
    Put(0, ethernet);
  }

  Unanswered Finish() noexcept {
    TurnMacs();
    head_.Store();
    return Unanswered::kAnswered;
  }

  rte_mbuf* const packet_;
  const MacAddress& mac_;
  PacketHead head_;
  const Dissection& d_;
};

// Puts a tag behind the addresses, which may lie in several segments: rte_vlan_insert moves twelve
// bytes of the first, whatever it has. False when there is no headroom for it.
bool InsertTag(rte_mbuf* packet, Big16 type, uint16_t control) noexcept {
  struct Front {
    uint8_t addresses[kMacPairBytes];
    Big16 type;
    Big16 control;
  } front;
  static_assert(sizeof(front) == kMacPairBytes + sizeof(VlanHeader));
  CopyFromPacket(packet, 0, front.addresses);
  if (rte_pktmbuf_prepend(packet, sizeof(VlanHeader)) == nullptr) return false;
  front.type = type;
  front.control = Big16(control);
  CopyToPacket(packet, 0, {reinterpret_cast<const uint8_t*>(&front), sizeof(front)});
  return true;
}

// Puts back the tags that the port took off.
bool RestoreTags(rte_mbuf* packet) noexcept {
  if (!InsertTag(packet, kEtherTypeVlan, packet->vlan_tci)) return false;
  if ((packet->ol_flags & RTE_MBUF_F_RX_QINQ_STRIPPED) != 0 &&
      !InsertTag(packet, kEtherTypeQinq, packet->vlan_tci_outer)) {
    return false;
  }
  packet->ol_flags &= ~(RTE_MBUF_F_RX_VLAN_STRIPPED | RTE_MBUF_F_RX_QINQ_STRIPPED);
  return true;
}

}  // namespace

Unanswered Responder::AnswerRequest(rte_mbuf* packet) const noexcept {
  const Unanswered reason = Answering(packet, mac_).Run();
  if (reason != Unanswered::kAnswered) return reason;
  if ((packet->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0 && !RestoreTags(packet)) {
    return Unanswered::kNoRoom;
  }
  return Unanswered::kAnswered;
}

}  // namespace penstock
