// SPDX-License-Identifier: BSD-3-Clause
#include "lib/packet/packet_template.h"

#include <cstddef>
#include <cstring>
#include <numeric>

#include "lib/net/checksum.h"
#include "lib/net/headers.h"

namespace penstock {
namespace {

// The fields of an mbuf from data_off to the RSS hash stand in a row and are all constant for one
// segment of a template: two vector stores set them. (DPDK marks the same places for its drivers.)
constexpr size_t kFieldsAt = offsetof(rte_mbuf, rearm_data);
constexpr size_t kFieldsBytes = 32;
static_assert(offsetof(rte_mbuf, ol_flags) == kFieldsAt + 8);
static_assert(offsetof(rte_mbuf, rx_descriptor_fields1) == kFieldsAt + 16);
static_assert(offsetof(rte_mbuf, pkt_len) < kFieldsAt + kFieldsBytes);
static_assert(offsetof(rte_mbuf, data_len) < kFieldsAt + kFieldsBytes);

struct Fields {
  uint8_t bytes[kFieldsBytes];
};

Fields FieldsOf(uint32_t pkt_len, uint16_t data_len, uint16_t nb_segs) noexcept {
  rte_mbuf model;
  std::memset(static_cast<void*>(&model), 0, sizeof(model));
  model.data_off = RTE_PKTMBUF_HEADROOM;
  model.refcnt = 1;
  model.nb_segs = nb_segs;
  model.port = RTE_MBUF_PORT_INVALID;
  model.pkt_len = pkt_len;
  model.data_len = data_len;
  Fields fields;
  std::memcpy(fields.bytes, reinterpret_cast<const uint8_t*>(&model) + kFieldsAt, kFieldsBytes);
  return fields;
}

void Set(rte_mbuf* mbuf, const Fields& fields) noexcept {
  std::memcpy(reinterpret_cast<uint8_t*>(mbuf) + kFieldsAt, fields.bytes, kFieldsBytes);
}

uint8_t* DataOf(rte_mbuf* mbuf) noexcept {
  return static_cast<uint8_t*>(mbuf->buf_addr) + RTE_PKTMBUF_HEADROOM;
}

}  // namespace

PacketTemplate PacketTemplate::Udp(const UdpFrame& frame) {
  PacketTemplate result;
  result.segment_bytes_ = frame.segment_bytes;
  const size_t total =
      std::accumulate(frame.segment_bytes.begin(), frame.segment_bytes.end(), size_t{0});
  result.bytes_.assign(total, 0);

  const size_t ip_bytes = total - sizeof(EthernetHeader);
  const size_t udp_bytes = ip_bytes - sizeof(Ipv4Header);
  EthernetHeader ethernet{};
  ethernet.destination = frame.destination;
  ethernet.source = frame.source;
  ethernet.type = kEtherTypeIpv4;
  Ipv4Header ip{};
  ip.total_length = Big16(static_cast<uint16_t>(ip_bytes));
  ip.time_to_live = 64;
  ip.protocol = kIpProtocolUdp;
  ip.source = frame.ip[0];
  ip.destination = frame.ip[1];
  ip.checksum = Ipv4HeaderChecksum(ip);
  UdpHeader udp{};
  udp.source_port = Big16(frame.udp[0]);
  udp.destination_port = Big16(frame.udp[1]);
  udp.length = Big16(static_cast<uint16_t>(udp_bytes));

  uint8_t* at = result.bytes_.data();
  std::memcpy(at, &ethernet, sizeof(ethernet));
  std::memcpy(at + sizeof(ethernet), &ip, sizeof(ip));
  uint8_t* const udp_at = at + sizeof(ethernet) + sizeof(ip);
  std::memcpy(udp_at, &udp, sizeof(udp));
  udp.checksum = UdpIpv4Checksum(frame.ip[0], frame.ip[1], {udp_at, udp_bytes});
  std::memcpy(udp_at, &udp, sizeof(udp));
  return result;
}

void PacketTemplate::Stamp(std::span<rte_mbuf* const> mbufs) const noexcept {
  if (segments() > 1) [[unlikely]] {
    StampSegmented(mbufs);
    return;
  }
  const size_t bytes = bytes_.size();
  const Fields fields = FieldsOf(static_cast<uint32_t>(bytes), static_cast<uint16_t>(bytes), 1);
  const uint8_t* const frame = bytes_.data();
  // The length that rates are quoted for, known to the compiler: no call, no loop.
  if (bytes == 64) {
    for (rte_mbuf* mbuf : mbufs) {
      Set(mbuf, fields);
      std::memcpy(DataOf(mbuf), frame, 64);
    }
    return;
  }
  for (rte_mbuf* mbuf : mbufs) {
    Set(mbuf, fields);
    std::memcpy(DataOf(mbuf), frame, bytes);
  }
}

void PacketTemplate::StampSegmented(std::span<rte_mbuf* const> mbufs) const noexcept {
  const size_t count = segments();
  for (size_t first = 0; first + count <= mbufs.size(); first += count) {
    size_t offset = 0;
    for (size_t i = 0; i < count; ++i) {
      rte_mbuf* const mbuf = mbufs[first + i];
      const uint16_t bytes = segment_bytes_[i];
      // Only the first segment speaks for the packet.
      Set(mbuf, i == 0 ? FieldsOf(static_cast<uint32_t>(bytes_.size()), bytes,
                                  static_cast<uint16_t>(count))
                       : FieldsOf(bytes, bytes, 1));
      mbuf->next = i + 1 < count ? mbufs[first + i + 1] : nullptr;
      std::memcpy(DataOf(mbuf), bytes_.data() + offset, bytes);
      offset += bytes;
    }
  }
}

}  // namespace penstock
