// SPDX-License-Identifier: BSD-3-Clause
//
// Responder: answers, in the mbuf that asked, what hosts on a link ask of each other: ARP requests,
// ICMP and ICMPv6 echo requests, IPv6 neighbour solicitations, whatever address they are for. On
// the lcore that has the packet: no allocation, no locks. Immutable: several lcores may use one.
//
//   const Responder responder(port_mac);
//   const Unanswered reason = responder.Answer(mbuf);
//   if (reason == Unanswered::kAnswered) …           // send it where it came from
//
// An answer goes to the MAC address that the frame came from, and comes from the responder's. VLAN
// tags stay; one that the port has taken off is put back. Segments may cut anything anywhere.
//
//   ARP (RFC 826)         also to a unicast request
//   ICMP echo             data, TTL, type of service as they came; options as in net/ipv4_reply.h
//   ICMPv6 echo           data, hop limit, class, label as they came; extension headers were for
//                         the request and go
//   neighbour (RFC 4861)  solicited, overriding, with the target's link-layer address
//
// What asks whether an address is still free (ARP probe and announcement, duplicate address
// detection) is not answered: who answers for any address would take it from everyone.

#ifndef PENSTOCK_LIB_PACKET_RESPONDER_H_
#define PENSTOCK_LIB_PACKET_RESPONDER_H_

#include <rte_mbuf.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "lib/net/checksum.h"
#include "lib/net/dissect.h"
#include "lib/net/headers.h"
#include "lib/net/mac_address.h"
#include "lib/stats/drop_reason.h"

namespace penstock {

// Why there is no answer. The first are those of FrameFault.
enum class Unanswered : uint8_t {
  kAnswered = 0,
  kNoRequest = kFrameFaults,
  kFragment,
  kRouted,
  kBadSource,
  kBadDestination,
  kBadIpChecksum,
  kBadIcmpChecksum,
  kBadOptions,
  kBadSolicitation,
  kAddressProbe,
  kNoRoom,
};

// By Unanswered, less one.
inline constexpr auto kUnansweredReasons = [] {
  constexpr DropReason kOwn[] = {
      {"no_request", "neither ARP nor echo request nor neighbour solicitation"},
      {"fragment", "a fragment of an ICMP or ICMPv6 message"},
      {"routed", "with a source route that leads on, or a mobile node's home address"},
      {"bad_source", "from a MAC or IP address that no host can have"},
      {"bad_destination", "to a MAC or IP address that is not one host's"},
      {"bad_ip_checksum", "IPv4 header checksum wrong"},
      {"bad_icmp_checksum", "ICMP or ICMPv6 checksum wrong"},
      {"bad_options", "IPv4 options malformed"},
      {"bad_solicitation", "a neighbour solicitation that RFC 4861, 7.1.1 has discarded"},
      {"address_probe", "asks whether an address is free: ARP probe or announcement, IPv6 DAD"},
      {"no_room", "the answer does not fit the mbuf"},
  };
  std::array<DropReason, kFrameFaults - 1 + std::size(kOwn)> all{};
  size_t at = 0;
  for (size_t i = 1; i < kFrameFaults; ++i) {
    all[at++] = {kFrameFaultTexts[i].name, kFrameFaultTexts[i].what};
  }
  for (const DropReason& own : kOwn) all[at++] = own;
  return all;
}();
static_assert(kUnansweredReasons.size() == static_cast<size_t>(Unanswered::kNoRoom));

// RFC 792 and RFC 4443, 4.1: an echo message's header, with identifier and sequence number.
inline constexpr uint32_t kEchoBytes = 8;

class Responder {
 public:
  explicit Responder(const MacAddress& mac) noexcept : mac_(mac) {}

  // `packet` was received: direct, with one reference, of any length and content. What is not
  // answered may have been changed, and is to be freed.
  Unanswered Answer(rte_mbuf* packet) const noexcept {
    if (AnswerPing(packet)) return Unanswered::kAnswered;
    return AsksNothing(packet) ? Unanswered::kNoRequest : AnswerRequest(packet);
  }

 private:
  // What nearly all requests are: an ICMP echo request, right in all, in one segment, without tags
  // and options. False, with the packet as it was, when a closer look is needed.
  bool AnswerPing(rte_mbuf* packet) const noexcept;
  // Whether an IPv4 address is a host's, by its first byte: 1 or 0. 255 needs a closer look.
  static constexpr std::array<uint8_t, 256> kHostsBegin = [] {
    std::array<uint8_t, 256> hosts{};
    for (uint32_t first = 0; first < 255; ++first) hosts[first] = Ipv4Address(first << 24).IsHost();
    return hosts;
  }();
  // What is most of ordinary traffic, seen at once. False when a closer look is needed.
  static bool AsksNothing(const rte_mbuf* packet) noexcept;
  Unanswered AnswerRequest(rte_mbuf* packet) const noexcept;

  MacAddress mac_;
};

inline bool Responder::AsksNothing(const rte_mbuf* packet) noexcept {
  constexpr size_t kIp = sizeof(EthernetHeader);
  if (packet->data_len < kIp + sizeof(Ipv4Header)) return false;
  const uint8_t* const frame = rte_pktmbuf_mtod(packet, const uint8_t*);
  const Big16 type = reinterpret_cast<const EthernetHeader*>(frame)->type;
  if (type == kEtherTypeIpv4) {
    return frame[kIp + offsetof(Ipv4Header, protocol)] != kIpProtocolIcmp;
  }
  if (type == kEtherTypeIpv6) {
    const uint8_t next = frame[kIp + offsetof(Ipv6Header, next_header)];
    return next == kIpProtocolTcp || next == kIpProtocolUdp;
  }
  return type != kEtherTypeArp && type != kEtherTypeVlan && type != kEtherTypeQinq &&
         type != kEtherTypeOldQinq;
}

inline bool Responder::AnswerPing(rte_mbuf* packet) const noexcept {
  constexpr size_t kIp = sizeof(EthernetHeader);
  constexpr size_t kIcmp = kIp + sizeof(Ipv4Header);
  constexpr size_t kAddresses = kIp + offsetof(Ipv4Header, source);
  constexpr uint32_t kLeast = kIcmp + kEchoBytes;
  using Word = std::array<uint8_t, 4>;
  const auto differs = [](const uint8_t* at, Word wanted, Word mask) {
    uint32_t word;
    std::memcpy(&word, at, sizeof(word));
    return (word ^ std::bit_cast<uint32_t>(wanted)) & std::bit_cast<uint32_t>(mask);
  };
  const uint32_t bytes = packet->data_len;
  if (bytes < kLeast) return false;
  uint8_t* const frame = rte_pktmbuf_mtod(packet, uint8_t*);
  // EtherType, version and header length; no fragment, protocol; ICMP type and code. All at once:
  // one branch, which does not depend on what else a port receives.
  constexpr uint8_t kGroup = 1;
  if ((differs(frame + offsetof(EthernetHeader, type), {0x08, 0x00, 0x45}, {0xff, 0xff, 0xff}) |
       differs(frame + kIp + offsetof(Ipv4Header, flags_fragment), {0, 0, 0, kIpProtocolIcmp},
               {0x3f, 0xff, 0, 0xff}) |
       differs(frame + kIcmp, {kIcmpEchoRequest}, {0xff, 0xff}) |
       ((frame[0] | frame[sizeof(MacAddress)]) & kGroup)) != 0) {
    return false;
  }
  const auto& ip = *reinterpret_cast<const Ipv4Header*>(frame + kIp);
  const uint32_t total = ip.total_length.host();
  if (bytes != packet->pkt_len || (packet->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0 ||
      total - (kLeast - kIp) > bytes - kLeast || ip.time_to_live == 0 ||
      (kHostsBegin[frame[kAddresses]] & kHostsBegin[frame[kAddresses + sizeof(Ipv4Address)]]) ==
          0) {
    return false;
  }
  // What only moves leaves the IPv4 checksum as it is; one of ffff is right, but sent as 0.
  uint64_t header = 0;
  for (size_t at = 0; at < sizeof(Ipv4Header); at += sizeof(uint32_t)) {
    uint32_t word;
    std::memcpy(&word, frame + kIp + at, sizeof(word));
    header += word;
  }
  IcmpHeader icmp;
  std::memcpy(&icmp, frame + kIcmp, sizeof(icmp));
  // The answer's ICMP checksum is of this alone: in front of it only zeros are left.
  constexpr size_t kRest = kIcmp + sizeof(icmp);
  const uint16_t rest = FoldSum(SumBytes(frame + kRest, total - (kRest - kIp)));
  const uint32_t message = std::bit_cast<uint16_t>(Big16(kIcmpEchoRequest << 8)) +
                           std::bit_cast<uint16_t>(icmp.checksum) + uint32_t{rest};
  // Where data and its checksum are right, their sum is a multiple of ffff; neither of these is 0.
  if (header % 0xffff != 0 || message % 0xffff != 0 || ip.checksum == Big16(0xffff)) return false;
  icmp.type = kIcmpEchoReply;
  icmp.checksum = std::bit_cast<Big16>(static_cast<uint16_t>(~rest));
  // Eight bytes at once: those behind the address are the responder's next.
  uint64_t word;
  std::memcpy(&word, frame + sizeof(MacAddress), sizeof(word));
  std::memcpy(frame, &word, sizeof(word));
  std::memcpy(frame + sizeof(MacAddress), &mac_, sizeof(mac_));
  std::memcpy(&word, frame + kAddresses, sizeof(word));
  word = std::rotl(word, 32);  // Source and destination.
  std::memcpy(frame + kAddresses, &word, sizeof(word));
  std::memcpy(frame + kIcmp, &icmp, sizeof(icmp));
  return true;
}

}  // namespace penstock

#endif  // PENSTOCK_LIB_PACKET_RESPONDER_H_
