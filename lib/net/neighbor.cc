// SPDX-License-Identifier: BSD-3-Clause
//
// See neighbor.h. Any lcore, data path.

#include "lib/net/neighbor.h"

#include <cstddef>
#include <cstring>

#include "lib/net/checksum.h"

namespace penstock {
namespace {

NeighborMessage MessageOf(std::span<const uint8_t> bytes) noexcept {
  NeighborMessage message;
  std::memcpy(&message, bytes.data(), sizeof(message));
  return message;
}

// RFC 4291, 2.7.1: ff02::1:ff00:0/104 and the last three bytes of the address.
bool IsSolicitedNode(const Ipv6Address& address) noexcept {
  constexpr std::array<uint8_t, 13> kPrefix = {0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff};
  return std::memcmp(address.bytes.data(), kPrefix.data(), kPrefix.size()) == 0;
}

}  // namespace

Solicitation ReadSolicitation(const Ipv6Header& ip, std::span<const uint8_t> message) noexcept {
  // RFC 4861, 7.1.1: "MUST silently discard any received Neighbor Solicitation messages that do not
  // satisfy all of the following validity checks": "The IP Hop Limit field has a value of 255",
  // "ICMP Code is 0", "ICMP length … is 24 or more octets", "Target Address is not a multicast
  // address".
  if (ip.hop_limit != kNeighborHopLimit || message.size() < sizeof(NeighborMessage)) {
    return Solicitation::kInvalid;
  }
  const NeighborMessage solicitation = MessageOf(message);
  if (solicitation.icmp.code != 0 || solicitation.target.IsMulticast()) {
    return Solicitation::kInvalid;
  }
  // "All included options have a length that is greater than zero."
  bool has_source = false;
  for (std::span<const uint8_t> options = message.subspan(sizeof(NeighborMessage));
       !options.empty();) {
    const size_t bytes = options.size() < 2 ? 0 : 8u * options[1];
    if (bytes == 0 || bytes > options.size()) return Solicitation::kInvalid;
    has_source |= options[0] == kSourceLinkAddress;
    options = options.subspan(bytes);
  }
  if (ip.source != Ipv6Address()) {
    return ip.source == solicitation.target ? Solicitation::kProbes : Solicitation::kAsks;
  }
  // "If the IP source address is the unspecified address, the IP destination address is a
  // solicited-node multicast address", "there is no source link-layer address option".
  return IsSolicitedNode(ip.destination) && !has_source ? Solicitation::kProbes
                                                        : Solicitation::kInvalid;
}

NeighborAnswer AnswerSolicitation(const Ipv6Header& ip, std::span<const uint8_t> message,
                                  const MacAddress& mac) noexcept {
  constexpr auto kBytes =
      static_cast<uint16_t>(sizeof(NeighborAnswer) - offsetof(NeighborAnswer, message));
  NeighborAnswer answer;
  answer.ip.payload_length = Big16(kBytes);
  answer.ip.next_header = kIpProtocolIcmpv6;
  answer.ip.hop_limit = kNeighborHopLimit;
  answer.ip.source = MessageOf(message).target;
  answer.ip.destination = ip.source;
  answer.message.icmp.type = kIcmpv6NeighborAdvertisement;
  // RFC 4861, 7.2.4: "Otherwise, the node MUST set the Solicited flag to one and unicast the
  // advertisement"; Override, since the target's address is included and nobody's proxy speaks.
  answer.message.flags = Big32(kNeighborSolicited | kNeighborOverride);
  answer.message.target = answer.ip.source;
  answer.option.type = kTargetLinkAddress;
  answer.option.address = mac;
  InternetSum sum;
  sum.AddPseudoHeader(answer.ip.source, answer.ip.destination, kIpProtocolIcmpv6, kBytes);
  sum.Add({reinterpret_cast<const uint8_t*>(&answer.message), kBytes});
  answer.message.icmp.checksum = sum.Checksum();
  return answer;
}

}  // namespace penstock
