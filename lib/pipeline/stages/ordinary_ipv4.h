// SPDX-License-Identifier: BSD-3-Clause
//
// OrdinaryIpv4: whether a packet is what nearly all are, in a handful of instructions: Ethernet
// without tags, IPv4 without options that is no fragment and lies within the frame, TCP or a UDP
// datagram that fills it, all headers in the first segment. The fast paths of stages begin with it.
// All else is Dissect's; of what this finds, Dissect finds the same and no fault.

#ifndef PENSTOCK_LIB_PIPELINE_STAGES_ORDINARY_IPV4_H_
#define PENSTOCK_LIB_PIPELINE_STAGES_ORDINARY_IPV4_H_

#include <rte_mbuf.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "lib/base/load.h"
#include "lib/net/headers.h"
#include "lib/packet/mbuf.h"

namespace penstock {

class OrdinaryIpv4 {
 public:
  static constexpr uint32_t kIpOffset = sizeof(EthernetHeader);
  static constexpr uint32_t kTransportOffset = kIpOffset + sizeof(Ipv4Header);
  static constexpr uint32_t kOrdinaryBytes = kTransportOffset + sizeof(UdpHeader);

  explicit OrdinaryIpv4(const rte_mbuf* mbuf) noexcept {
    if (mbuf->data_len < kOrdinaryBytes) [[unlikely]]
      return;
    const uint8_t* const data = rte_pktmbuf_mtod(mbuf, const uint8_t*);
    // EtherType, version and header length.
    const auto head = LoadAt<uint32_t>(data, offsetof(EthernetHeader, type)) & kHeadMask;
    // Fragment offset and more-fragments bit, time to live, protocol.
    const auto tail =
        LoadAt<uint32_t>(data, kIpOffset + offsetof(Ipv4Header, flags_fragment)) & kTailMask;
    if (head != kHead) [[unlikely]]
      return;
    const uint32_t total =
        LoadAt<Big16>(data, kIpOffset + offsetof(Ipv4Header, total_length)).host();
    if (total > mbuf->pkt_len - kIpOffset) [[unlikely]]
      return;
    transport_bytes_ = total - static_cast<uint32_t>(sizeof(Ipv4Header));
    if (tail == kTailUdp) {
      // Also refuses a total below what the two headers need, if the length is refused below 8.
      const uint32_t length =
          LoadAt<Big16>(data, kTransportOffset + offsetof(UdpHeader, length)).host();
      is_ = length == transport_bytes_ && length >= sizeof(UdpHeader);
    } else if (tail == kTailTcp && mbuf->data_len >= kTransportOffset + sizeof(TcpHeader)) {
      tcp_ = true;
      const uint32_t header_bytes =
          (data[kTransportOffset + offsetof(TcpHeader, data_offset)] >> 4) * 4u;
      is_ = total >= sizeof(Ipv4Header) + sizeof(TcpHeader) && header_bytes >= sizeof(TcpHeader) &&
            header_bytes <= transport_bytes_;
    }
  }

  explicit operator bool() const noexcept { return is_; }

  bool tcp() const noexcept { return tcp_; }  // Else UDP.
  // From the transport header to the end of the IP packet; at least the header.
  uint32_t transport_bytes() const noexcept { return transport_bytes_; }

 private:
  using Word = std::array<uint8_t, 4>;
  static constexpr auto kHeadMask = std::bit_cast<uint32_t>(Word{0xff, 0xff, 0xff, 0});
  static constexpr auto kHead = std::bit_cast<uint32_t>(Word{0x08, 0x00, 0x45, 0});
  static constexpr auto kTailMask = std::bit_cast<uint32_t>(Word{0x3f, 0xff, 0, 0xff});
  static constexpr auto kTailUdp = std::bit_cast<uint32_t>(Word{0, 0, 0, kIpProtocolUdp});
  static constexpr auto kTailTcp = std::bit_cast<uint32_t>(Word{0, 0, 0, kIpProtocolTcp});

  bool is_ = false;
  bool tcp_ = false;
  uint32_t transport_bytes_ = 0;
};

// Whether nothing behind the Ethernet header of a packet is of interest: it is there whole, with
// room for SwapMacPairVector, and of no protocol that Dissect knows. False when a closer look is
// needed.
inline bool OfUnknownProtocol(const rte_mbuf* mbuf) noexcept {
  if (mbuf->data_len < kMacVectorBytes) return false;
  const auto* const ethernet = rte_pktmbuf_mtod(mbuf, const EthernetHeader*);
  const Big16 type = ethernet->type;
  return type != kEtherTypeIpv4 && type != kEtherTypeIpv6 && type != kEtherTypeArp &&
         type != kEtherTypeVlan && type != kEtherTypeQinq && type != kEtherTypeOldQinq;
}

}  // namespace penstock

#endif  // PENSTOCK_LIB_PIPELINE_STAGES_ORDINARY_IPV4_H_
