// SPDX-License-Identifier: BSD-3-Clause
//
// The Internet checksum of RFC 1071, and those that IP, TCP, UDP and ICMP make of it. Any lcore,
// data path: no state, no allocation, any length and alignment, bytes read only within the span.
//
// Of data in one piece:
//   ip.checksum = Ipv4HeaderChecksum(ip);
//   udp->checksum = UdpIpv4Checksum(ip.source, ip.destination, datagram);
//
// Of data in many, such as the segments of an mbuf:
//   InternetSum sum;
//   sum.AddPseudoHeader(source, destination, kIpProtocolTcp, length);
//   for (piece : pieces) sum.Add(piece);        // in order; of odd lengths too
//   if (!sum.Right()) …                         // the checksum field was among the pieces
//   tcp->checksum = sum.Checksum();             // the checksum field was zero, or left out
//
// Where the port offloads checksums, let it.

#ifndef PENSTOCK_LIB_NET_CHECKSUM_H_
#define PENSTOCK_LIB_NET_CHECKSUM_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "lib/base/endian.h"
#include "lib/net/headers.h"
#include "lib/net/ip_address.h"

namespace penstock {

// ---- What the rest is made of, and what code that looks at millions of packets a second uses.
// ----

// The sum of the bytes taken as 16-bit words, an odd last byte padded with zero, not yet folded and
// in the byte order of the machine: RFC 1071, 2(B): the sum may be taken in either order, as long
// as it is stored in the same. Below 2^34, so many of them can be added.
inline uint64_t SumBytes(const uint8_t* data, size_t bytes) noexcept {
  constexpr size_t kWord = sizeof(uint64_t);
  const auto load = [](const uint8_t* at) {
    uint64_t word;
    std::memcpy(&word, at, kWord);
    return word;
  };
  // RFC 1071, 2(C): wider words may be added, if the carries are added too.
  uint64_t sum = 0;
  uint64_t carries = 0;
  const auto add = [&carries](uint64_t& to, uint64_t word) {
    to += word;
    carries += to < word;
  };
  if (bytes < kWord) {
    if (bytes > 0) std::memcpy(&sum, data, bytes);  // Of nothing, `data` may be null.
    return (sum & 0xffffffff) + (sum >> 32);
  }
  const uint8_t* const end = data + bytes;
  if (bytes >= 4 * kWord) {
    // Two sums, because each addition waits for the one before it.
    uint64_t other = 0;
    const uint8_t* const last = end - 4 * kWord;
    do {
      add(sum, load(data));
      add(other, load(data + kWord));
      add(sum, load(data + 2 * kWord));
      add(other, load(data + 3 * kWord));
      data += 4 * kWord;
    } while (data <= last);
    add(sum, other);
  }
  // The rest of up to seven bytes is the last word of the data without what is added elsewhere. It
  // keeps its place from the front, as if zeros followed.
  const uint64_t gone = 8 * (kWord - 1 - bytes % kWord);
  const uint64_t rest = load(end - kWord);
  add(sum, std::endian::native == std::endian::little ? rest >> 8 >> gone : rest << 8 << gone);
  for (size_t words = bytes % (4 * kWord) / kWord; words > 0; --words, data += kWord) {
    add(sum, load(data));
  }
  return (sum & 0xffffffff) + (sum >> 32) + carries;
}

// Of SumBytes() results, added: 16 bits, the carries added in. The upper half of a number plus the
// same with its halves exchanged is the sum of the halves and of their carry.
inline uint16_t FoldSum(uint64_t sum) noexcept {
  sum += std::rotl(sum, 32);
  auto half = static_cast<uint32_t>(sum >> 32);
  half += std::rotl(half, 16);
  return static_cast<uint16_t>(half >> 16);
}

// ---- Sums of many pieces. ----

class InternetSum {
 public:
  // The next bytes of the data.
  void Add(std::span<const uint8_t> bytes) noexcept {
    uint64_t sum = SumBytes(bytes.data(), bytes.size());
    // RFC 1071, 2(B): bytes that change their places within their words are a sum with its bytes
    // exchanged.
    if (odd_) sum = __builtin_bswap16(FoldSum(sum));
    sum_ += sum;
    odd_ ^= (bytes.size() & 1) != 0;
  }

  // The pseudo headers of RFC 9293, 3.1 (also RFC 768) and RFC 8200, 8.1, at any place among the
  // pieces. `length` is that of the transport header and its payload.
  void AddPseudoHeader(Ipv4Address source, Ipv4Address destination, uint8_t protocol,
                       uint16_t length) noexcept;
  void AddPseudoHeader(const Ipv6Address& source, const Ipv6Address& destination, uint8_t protocol,
                       uint32_t length) noexcept;

  // A 16-bit field at an even place, whenever it is added.
  void Add(Big16 field) noexcept { sum_ += std::bit_cast<uint16_t>(field); }

  // Takes back such a field, such as the checksum.
  void Remove(Big16 field) noexcept {
    sum_ += static_cast<uint16_t>(~std::bit_cast<uint16_t>(field));
  }

  // The sum itself, folded. What DPDK wants in the checksum field of a packet whose checksum the
  // port fills is that of the pseudo header.
  Big16 Sum() const noexcept { return std::bit_cast<Big16>(FoldSum(sum_)); }

  // Its one's complement: the checksum.
  Big16 Checksum() const noexcept {
    return std::bit_cast<Big16>(static_cast<uint16_t>(~FoldSum(sum_)));
  }

  // Whether data that contains its checksum is as it was when that was computed.
  bool Right() const noexcept { return FoldSum(sum_) == 0xffff; }

 private:
  uint64_t sum_ = 0;
  bool odd_ = false;  // An odd number of bytes was added.
};

// RFC 768, and RFC 8200, 8.1 for UDP over IPv6: "If the computed checksum is zero, it is
// transmitted as all ones".
constexpr Big16 UdpChecksumOnWire(Big16 computed) noexcept {
  return computed == Big16(0) ? Big16(0xffff) : computed;
}

// ---- Of data in one piece. ----

// The one's complement of the one's complement sum of the bytes taken as 16-bit words, an odd last
// byte padded with zero. 0 over data that contains its own right checksum.
Big16 InternetChecksum(std::span<const uint8_t> bytes) noexcept;

// RFC 1624, eqn. 3: what `checksum` becomes when a 16-bit field that it covers changes.
inline Big16 ChecksumAfterChange(Big16 checksum, Big16 from, Big16 to) noexcept {
  // HC' = ~(~HC + ~m + m').
  const auto complement = [](Big16 field) {
    return uint64_t{static_cast<uint16_t>(~std::bit_cast<uint16_t>(field))};
  };
  const uint64_t sum = complement(checksum) + complement(from) + std::bit_cast<uint16_t>(to);
  return std::bit_cast<Big16>(static_cast<uint16_t>(~FoldSum(sum)));
}

// Of a header without options. The field `checksum` itself is taken as zero, whatever it holds.
Big16 Ipv4HeaderChecksum(const Ipv4Header& header) noexcept;

// Of a UDP datagram, header and payload, and the pseudo header of RFC 768. `datagram` is at least a
// UdpHeader and at most 65535 bytes; its checksum field is taken as zero, whatever it holds. Never
// 0, which on the wire means "none": a sum of 0 is sent as 0xffff.
Big16 UdpIpv4Checksum(Ipv4Address source, Ipv4Address destination,
                      std::span<const uint8_t> datagram) noexcept;

}  // namespace penstock

#endif  // PENSTOCK_LIB_NET_CHECKSUM_H_
