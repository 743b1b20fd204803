// SPDX-License-Identifier: BSD-3-Clause
//
// See dissect.h. Any lcore, data path.

#include "lib/net/dissect.h"

#include <cassert>
#include <cstddef>

#include "lib/base/load.h"
#include "lib/net/headers.h"

namespace penstock {
namespace {

// Walks the headers of one frame. `limit_` is how far they may reach: the frame, then its IP
// packet. Each step that returns false has set the fault.
class Walk {
 public:
  Walk(std::span<const uint8_t> head, uint32_t frame_bytes) noexcept
      : data_(head.data()), head_bytes_(static_cast<uint32_t>(head.size())), limit_(frame_bytes) {
    assert(head.size() <= frame_bytes);
    d_.packet_end = frame_bytes;
  }

  const Dissection& Run() noexcept {
    if (!Ethernet()) return d_;
    if (d_.ether_type == kEtherTypeIpv4) {
      if (Ipv4()) TransportHeader();
    } else if (d_.ether_type == kEtherTypeIpv6) {
      if (Ipv6() && Ipv6Extensions()) TransportHeader();
    } else if (d_.ether_type == kEtherTypeArp) {
      Arp();
    }
    return d_;
  }

 private:
  bool Fail(FrameFault fault) noexcept {
    d_.fault = fault;
    return false;
  }

  // Whether `bytes` from `offset` on, which is within the limit, can be read.
  bool Have(uint32_t offset, uint32_t bytes) noexcept {
    if (bytes > limit_ - offset) return Fail(FrameFault::kTruncated);
    if (offset > head_bytes_ || bytes > head_bytes_ - offset) return Fail(FrameFault::kBeyondHead);
    return true;
  }

  template <typename T>
  T At(uint32_t offset) const noexcept {
    return LoadAt<T>(data_, offset);
  }

  bool Ethernet() noexcept {
    if (limit_ < sizeof(EthernetHeader)) return Fail(FrameFault::kRunt);
    if (!Have(0, sizeof(EthernetHeader))) return false;
    d_.ether_type = At<EthernetHeader>(0).type;
    d_.network_offset = sizeof(EthernetHeader);
    while (d_.ether_type == kEtherTypeVlan || d_.ether_type == kEtherTypeQinq ||
           d_.ether_type == kEtherTypeOldQinq) {
      if (d_.vlan_tags == kMaxVlanTags) return Fail(FrameFault::kTooManyTags);
      if (!Have(d_.network_offset, sizeof(VlanHeader))) return false;
      d_.ether_type = At<VlanHeader>(d_.network_offset).type;
      d_.network_offset += static_cast<uint32_t>(sizeof(VlanHeader));
      ++d_.vlan_tags;
    }
    return true;
  }

  void Arp() noexcept {
    // RFC 826: the lengths of the addresses stand in the first eight bytes.
    if (!Have(d_.network_offset, offsetof(ArpHeader, sender_mac))) return;
    const ArpHeader ordinary;
    if (std::memcmp(data_ + d_.network_offset, &ordinary, offsetof(ArpHeader, operation)) != 0) {
      return;  // Of other hardware or another protocol.
    }
    if (!Have(d_.network_offset, sizeof(ArpHeader))) return;
    d_.network = Network::kArp;
    d_.packet_end = d_.network_offset + static_cast<uint32_t>(sizeof(ArpHeader));
  }

  bool Ipv4() noexcept {
    const uint32_t offset = d_.network_offset;
    if (!Have(offset, sizeof(Ipv4Header))) return false;
    const auto ip = At<Ipv4Header>(offset);
    if (ip.version_ihl >> 4 != 4) return Fail(FrameFault::kBadVersion);
    const uint32_t header_bytes = (ip.version_ihl & 0xf) * 4u;
    if (header_bytes < sizeof(Ipv4Header)) return Fail(FrameFault::kBadHeaderLength);
    if (!Have(offset, header_bytes)) return false;
    d_.network = Network::kIpv4;
    d_.protocol = ip.protocol;
    d_.transport_offset = offset + header_bytes;
    d_.source_offset = offset + static_cast<uint32_t>(offsetof(Ipv4Header, source));
    d_.destination_offset = offset + static_cast<uint32_t>(offsetof(Ipv4Header, destination));
    const uint16_t fragment = ip.flags_fragment.host();
    if ((fragment & kIpv4FragmentOffset) != 0) {
      d_.fragment = Fragment::kLater;
    } else if ((fragment & kIpv4MoreFragments) != 0) {
      d_.fragment = Fragment::kFirst;
    }
    if (header_bytes > sizeof(Ipv4Header)) {
      Ipv4Options(offset + static_cast<uint32_t>(sizeof(Ipv4Header)), d_.transport_offset);
    }
    const uint32_t total = ip.total_length.host();
    return total >= header_bytes ? EndAt(offset, total) : Fail(FrameFault::kBadLength);
  }

  // Looks for a source route. RFC 1122, 3.2.1.8: "the final destination address" is the last of the
  // route until its pointer has passed the end.
  void Ipv4Options(uint32_t offset, uint32_t end) noexcept {
    constexpr uint8_t kEnd = 0, kNoOperation = 1, kLooseRoute = 131, kStrictRoute = 137;
    while (offset + 1 < end && data_[offset] != kEnd) {
      if (data_[offset] == kNoOperation) {
        ++offset;
        continue;
      }
      const uint32_t bytes = data_[offset + 1];
      if (bytes < 2 || bytes > end - offset) return;
      // RFC 791, 3.1: type, length, pointer, route data; the pointer counts from 1.
      if ((data_[offset] == kLooseRoute || data_[offset] == kStrictRoute) &&
          bytes >= 3 + sizeof(Ipv4Address) && data_[offset + 2] <= bytes) {
        d_.destination_offset = offset + bytes - static_cast<uint32_t>(sizeof(Ipv4Address));
      }
      offset += bytes;
    }
  }

  // The packet of `bytes` that begins at `offset` ends within the frame, and all else in it.
  bool EndAt(uint32_t offset, uint32_t bytes) noexcept {
    if (bytes > limit_ - offset) return Fail(FrameFault::kBadLength);
    limit_ = d_.packet_end = offset + bytes;
    return true;
  }

  bool Ipv6() noexcept {
    const uint32_t offset = d_.network_offset;
    if (!Have(offset, sizeof(Ipv6Header))) return false;
    const auto ip = At<Ipv6Header>(offset);
    if (ip.version_class_flow.host() >> 28 != 6) return Fail(FrameFault::kBadVersion);
    d_.network = Network::kIpv6;
    d_.protocol = ip.next_header;
    d_.transport_offset = offset + static_cast<uint32_t>(sizeof(Ipv6Header));
    d_.source_offset = offset + static_cast<uint32_t>(offsetof(Ipv6Header, source));
    d_.destination_offset = offset + static_cast<uint32_t>(offsetof(Ipv6Header, destination));
    return EndAt(offset, static_cast<uint32_t>(sizeof(Ipv6Header)) + ip.payload_length.host());
  }

  static bool IsExtension(uint8_t protocol) noexcept {
    // RFC 7045, 4, without ESP, behind which nothing can be read, and without experiments.
    switch (protocol) {
      case kIpProtocolHopByHop:
      case kIpProtocolRouting:
      case kIpProtocolFragment:
      case kIpProtocolAh:
      case kIpProtocolDestinationOptions:
      case kIpProtocolMobility:
      case kIpProtocolHip:
      case kIpProtocolShim6:
        return true;
      default:
        return false;
    }
  }

  bool Ipv6Extensions() noexcept {
    for (unsigned count = 0; d_.fragment != Fragment::kLater && IsExtension(d_.protocol); ++count) {
      if (count == kMaxIpv6Extensions) return Fail(FrameFault::kTooManyExtensions);
      const uint32_t offset = d_.transport_offset;
      if (!Have(offset, 8)) return false;  // The least of all of them.
      const auto extension = At<Ipv6ExtensionHeader>(offset);
      uint32_t bytes = 8 + 8u * extension.length;
      if (d_.protocol == kIpProtocolFragment) {
        bytes = sizeof(Ipv6FragmentHeader);  // Its second byte is reserved.
        Ipv6Fragment(offset);
      } else if (d_.protocol == kIpProtocolAh) {
        bytes = 8 + 4u * extension.length;  // RFC 4302, 2.2: in 32-bit words, minus 2.
      }
      if (!Have(offset, bytes)) return false;
      if (d_.protocol == kIpProtocolRouting) Ipv6Routing(offset, bytes);
      if (d_.protocol == kIpProtocolDestinationOptions) Ipv6Options(offset + 2, offset + bytes);
      d_.protocol = extension.next_header;
      d_.transport_offset = offset + bytes;
    }
    return true;
  }

  void Ipv6Fragment(uint32_t offset) noexcept {
    const uint16_t offset_more = At<Ipv6FragmentHeader>(offset).offset_more.host();
    if (offset_more >> 3 != 0) {
      d_.fragment = Fragment::kLater;
    } else if ((offset_more & 1) != 0) {
      d_.fragment = Fragment::kFirst;
    }
  }

  // RFC 8200, 8.1: "If the IPv6 packet contains a Routing header, the Destination Address used in
  // the pseudo-header is that of the final destination."
  void Ipv6Routing(uint32_t offset, uint32_t bytes) noexcept {
    constexpr uint8_t kSource = 0, kHome = 2, kSegments = 4;
    constexpr auto kFixed = static_cast<uint32_t>(sizeof(Ipv6RoutingHeader));
    constexpr auto kAddress = static_cast<uint32_t>(sizeof(Ipv6Address));
    const auto routing = At<Ipv6RoutingHeader>(offset);
    if (routing.segments_left == 0) return;  // It has arrived.
    d_.destination_offset = Dissection::kNoOffset;
    if (bytes < kFixed + kAddress) return;
    if (routing.type == kSource || routing.type == kHome) {
      // RFC 2460, 4.4 and RFC 6275, 6.4: the last address, and there are no bytes behind it.
      if ((bytes - kFixed) % kAddress == 0) d_.destination_offset = offset + bytes - kAddress;
    } else if (routing.type == kSegments) {
      // RFC 8754, 2: "Segment List[0] contains the last segment of the SR Policy".
      d_.destination_offset = offset + kFixed;
    }
  }

  // RFC 6275, 11.3.1: the pseudo header has the home address of a Home Address option as source.
  void Ipv6Options(uint32_t offset, uint32_t end) noexcept {
    constexpr uint8_t kPad1 = 0, kHomeAddress = 201;
    while (offset + 1 < end) {
      if (data_[offset] == kPad1) {
        ++offset;
        continue;
      }
      const uint32_t bytes = 2u + data_[offset + 1];
      if (bytes > end - offset) return;
      if (data_[offset] == kHomeAddress && bytes == 2 + sizeof(Ipv6Address)) {
        d_.source_offset = offset + 2;
      }
      offset += bytes;
    }
  }

  void TransportHeader() noexcept {
    if (d_.fragment == Fragment::kLater) return;
    switch (d_.protocol) {
      case kIpProtocolTcp:
        return Tcp();
      case kIpProtocolUdp:
        return Udp();
      case kIpProtocolIcmp:
        if (d_.network == Network::kIpv4) Fixed(Transport::kIcmp, sizeof(IcmpHeader));
        return;
      case kIpProtocolIcmpv6:
        if (d_.network == Network::kIpv6) Fixed(Transport::kIcmpv6, sizeof(IcmpHeader));
        return;
      case kIpProtocolSctp:
        return Fixed(Transport::kSctp, sizeof(SctpHeader));
      default:
        return;
    }
  }

  void Fixed(Transport transport, uint32_t bytes) noexcept {
    if (!Have(d_.transport_offset, bytes)) return;
    d_.transport = transport;
    d_.payload_offset = d_.transport_offset + bytes;
    d_.transport_end = d_.packet_end;
  }

  void Tcp() noexcept {
    if (!Have(d_.transport_offset, sizeof(TcpHeader))) return;
    const uint32_t bytes = (At<TcpHeader>(d_.transport_offset).data_offset >> 4) * 4u;
    if (bytes < sizeof(TcpHeader) || bytes > limit_ - d_.transport_offset) {
      Fail(FrameFault::kBadTransportLength);
      return;
    }
    Fixed(Transport::kTcp, bytes);
  }

  void Udp() noexcept {
    if (!Have(d_.transport_offset, sizeof(UdpHeader))) return;
    const uint32_t bytes = At<UdpHeader>(d_.transport_offset).length.host();
    // Of a first fragment the datagram is longer than what is here.
    const bool beyond = d_.fragment == Fragment::kNone && bytes > limit_ - d_.transport_offset;
    if (bytes < sizeof(UdpHeader) || beyond) {
      Fail(FrameFault::kBadTransportLength);
      return;
    }
    Fixed(Transport::kUdp, sizeof(UdpHeader));
    if (d_.fragment == Fragment::kNone) d_.transport_end = d_.transport_offset + bytes;
  }

  const uint8_t* const data_;
  const uint32_t head_bytes_;
  uint32_t limit_;
  Dissection d_;
};

}  // namespace

Dissection Dissect(std::span<const uint8_t> head, uint32_t frame_bytes) noexcept {
  return Walk(head, frame_bytes).Run();
}

}  // namespace penstock
