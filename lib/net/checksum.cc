// SPDX-License-Identifier: BSD-3-Clause
//
// See checksum.h. Any lcore, data path.

#include "lib/net/checksum.h"

#include <bit>
#include <cassert>
#include <cstddef>
#include <cstring>

namespace penstock {
namespace {

// RFC 1071, 2(B): the sum may be taken in either byte order, as long as it is stored in the same.
// So words are loaded as the machine has them and nothing is swapped. RFC 1071, 2(C): wider words
// may be added and folded at the end; 64 bits hold 2^32 additions of 32-bit words.
uint64_t AddBytes(uint64_t sum, std::span<const uint8_t> bytes) noexcept {
  const uint8_t* data = bytes.data();
  size_t left = bytes.size();
  for (; left >= 4; left -= 4, data += 4) {
    uint32_t word;
    std::memcpy(&word, data, sizeof(word));
    sum += word;
  }
  if (left > 0) {
    // The last bytes at the front of a word of zeros, which is how they stood in theirs.
    uint32_t word = 0;
    std::memcpy(&word, data, left);
    sum += word;
  }
  return sum;
}

Big16 Finish(uint64_t sum) noexcept {
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  // Already in the order of the wire, since the words were loaded from it unswapped.
  return std::bit_cast<Big16>(static_cast<uint16_t>(~sum));
}

template <typename T>
std::span<const uint8_t> BytesOf(const T& value) noexcept {
  return {reinterpret_cast<const uint8_t*>(&value), sizeof(value)};
}

}  // namespace

Big16 InternetChecksum(std::span<const uint8_t> bytes) noexcept {
  return Finish(AddBytes(0, bytes));
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
  // RFC 768: addresses, zero, protocol and UDP length precede the datagram.
  struct PseudoHeader {
    Ipv4Address source;
    Ipv4Address destination;
    uint8_t zero = 0;
    uint8_t protocol = kIpProtocolUdp;
    Big16 length;
  };
  static_assert(sizeof(PseudoHeader) == 12);
  PseudoHeader pseudo;
  pseudo.source = source;
  pseudo.destination = destination;
  pseudo.length = Big16(static_cast<uint16_t>(datagram.size()));
  uint64_t sum = AddBytes(0, BytesOf(pseudo));
  // Both parts begin at an even offset of the datagram, so each byte keeps its place in its word.
  sum = AddBytes(sum, datagram.first(offsetof(UdpHeader, checksum)));
  sum = AddBytes(sum, datagram.subspan(sizeof(UdpHeader)));
  const Big16 checksum = Finish(sum);
  // RFC 768: "If the computed checksum is zero, it is transmitted as all ones".
  return checksum == Big16(0) ? Big16(0xffff) : checksum;
}

}  // namespace penstock
