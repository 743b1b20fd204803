// SPDX-License-Identifier: BSD-3-Clause
//
// See checksum.h. Any lcore, data path.

#include "lib/net/checksum.h"

#include <cassert>

namespace penstock {
namespace {

template <typename T>
std::span<const uint8_t> BytesOf(const T& value) noexcept {
  return {reinterpret_cast<const uint8_t*>(&value), sizeof(value)};
}

template <typename T>
uint64_t SumOf(const T& value) noexcept {
  return SumBytes(reinterpret_cast<const uint8_t*>(&value), sizeof(value));
}

}  // namespace

void InternetSum::AddPseudoHeader(Ipv4Address source, Ipv4Address destination, uint8_t protocol,
                                  uint16_t length) noexcept {
  // Each part is a whole number of words; the protocol stands behind a zero.
  sum_ += SumOf(source) + SumOf(destination) + SumOf(Big16(protocol)) + SumOf(Big16(length));
}

void InternetSum::AddPseudoHeader(const Ipv6Address& source, const Ipv6Address& destination,
                                  uint8_t protocol, uint32_t length) noexcept {
  sum_ += SumOf(source) + SumOf(destination) + SumOf(Big32(length)) + SumOf(Big32(protocol));
}

Big16 InternetChecksum(std::span<const uint8_t> bytes) noexcept {
  InternetSum sum;
  sum.Add(bytes);
  return sum.Checksum();
}

Big16 Ipv4HeaderChecksum(const Ipv4Header& header) noexcept {
  // RFC 791, 3.1: "For purposes of computing the checksum, the value of the checksum field is
  // zero."
  Ipv4Header copy = header;
  copy.checksum = Big16(0);
  return InternetChecksum(BytesOf(copy));
}

Big16 UdpIpv4Checksum(Ipv4Address source, Ipv4Address destination,
                      std::span<const uint8_t> datagram) noexcept {
  assert(datagram.size() >= sizeof(UdpHeader) && datagram.size() <= 0xffff);
  InternetSum sum;
  sum.AddPseudoHeader(source, destination, kIpProtocolUdp, static_cast<uint16_t>(datagram.size()));
  // Without the checksum field, which both parts stand at even offsets of.
  sum.Add(datagram.first(offsetof(UdpHeader, checksum)));
  sum.Add(datagram.subspan(sizeof(UdpHeader)));
  return UdpChecksumOnWire(sum.Checksum());
}

}  // namespace penstock
