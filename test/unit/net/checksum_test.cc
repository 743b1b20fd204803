// SPDX-License-Identifier: BSD-3-Clause
//
// The Internet checksum, against RFC 1071 and packets built by scapy 2.5.0.

#include "lib/net/checksum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"

namespace penstock {
namespace {

using Bytes = std::vector<uint8_t>;

TEST(ChecksumTest, InternetChecksum) {
  struct Row {
    const char* what;
    Bytes bytes;
    uint16_t checksum;
  };
  const Row kRows[] = {
      // RFC 1071, 3: the sum is ddf2.
      {"RFC 1071", {0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7}, 0x220d},
      {"nothing", {}, 0xffff},
      {"one byte is padded behind", {0x12}, 0xedff},
      {"three bytes", {0x12, 0x34, 0x56}, 0x97cb},
      {"two carries in a row", {0xff, 0xff, 0xff, 0xff, 0x00, 0x01}, 0xfffe},
      {"all ones", Bytes(64, 0xff), 0x0000},
  };
  for (const Row& row : kRows) {
    EXPECT_EQ(InternetChecksum(row.bytes).host(), row.checksum) << row.what;
  }
}

// The definition, word by word, as slow as it is plain.
uint16_t ByDefinition(std::span<const uint8_t> bytes) {
  uint32_t sum = 0;
  for (size_t i = 0; i < bytes.size(); i += 2) {
    const uint32_t low = i + 1 < bytes.size() ? bytes[i + 1] : 0u;
    sum += bytes[i] * 256u + low;
    if (sum > 0xffff) sum -= 0xffff;
  }
  return static_cast<uint16_t>(~sum);
}

TEST(ChecksumTest, AnyLengthAndAlignment) {
  Bytes buffer(300);
  uint32_t state = 1;
  for (uint8_t& byte : buffer) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<uint8_t>(state >> 24);
  }
  for (size_t offset = 0; offset < 9; ++offset) {
    for (size_t length = 0; length + offset <= buffer.size(); ++length) {
      const std::span<const uint8_t> bytes(buffer.data() + offset, length);
      ASSERT_EQ(InternetChecksum(bytes).host(), ByDefinition(bytes)) << offset << "+" << length;
    }
  }
}

TEST(ChecksumTest, LargestDatagramDoesNotOverflow) {
  const Bytes ones(65535, 0xff);
  EXPECT_EQ(InternetChecksum(ones).host(), ByDefinition(ones));
}

// IPv4 packets as scapy makes them: bytes(IP(...)/UDP(...)/payload).
struct Packet {
  const char* scapy;
  Bytes bytes;
};

std::vector<Packet> Packets() {
  std::vector<Packet> packets = {
      {R"(IP(src="192.0.2.1",dst="198.51.100.2",id=0x1234,flags="DF")/UDP(sport=9,dport=4789)/b"penstock")",
       {0x45, 0x00, 0x00, 0x24, 0x12, 0x34, 0x40, 0x00, 0x40, 0x11, 0x3c, 0x5e,
        0xc0, 0x00, 0x02, 0x01, 0xc6, 0x33, 0x64, 0x02, 0x00, 0x09, 0x12, 0xb5,
        0x00, 0x10, 0x4a, 0x25, 0x70, 0x65, 0x6e, 0x73, 0x74, 0x6f, 0x63, 0x6b}},
      {R"(the same with the payload b"odd")",
       {0x45, 0x00, 0x00, 0x1f, 0x12, 0x34, 0x40, 0x00, 0x40, 0x11, 0x3c,
        0x63, 0xc0, 0x00, 0x02, 0x01, 0xc6, 0x33, 0x64, 0x02, 0x00, 0x09,
        0x12, 0xb5, 0x00, 0x0b, 0x2d, 0x7e, 0x6f, 0x64, 0x64}},
      {R"(IP(src="10.0.0.1",dst="10.0.0.2")/UDP(sport=1,dport=2))",
       {0x45, 0x00, 0x00, 0x1c, 0x00, 0x01, 0x00, 0x00, 0x40, 0x11, 0x66, 0xce, 0x0a, 0x00,
        0x00, 0x01, 0x0a, 0x00, 0x00, 0x02, 0x00, 0x01, 0x00, 0x02, 0x00, 0x08, 0xeb, 0xd8}},
      // The payload was chosen so that the sum comes out as 0, which scapy sends as 0xffff.
      {R"(IP(src="192.0.2.1",dst="198.51.100.2")/UDP(sport=9,dport=4789)/b"\x00\xe5")",
       {0x45, 0x00, 0x00, 0x1e, 0x00, 0x01, 0x00, 0x00, 0x40, 0x11, 0x8e, 0x97, 0xc0, 0x00, 0x02,
        0x01, 0xc6, 0x33, 0x64, 0x02, 0x00, 0x09, 0x12, 0xb5, 0x00, 0x0a, 0xff, 0xff, 0x00, 0xe5}},
      {R"(IP(src="255.255.255.255",dst="255.255.255.255",ttl=255)/UDP(sport=65535,dport=65535)/(b"\xff"*1472))",
       {0x45, 0x00, 0x05, 0xdc, 0x00, 0x01, 0x00, 0x00, 0xff, 0x11, 0xb6, 0x10, 0xff, 0xff,
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x05, 0xc8, 0xf4, 0x5e}},
  };
  packets.back().bytes.resize(1500, 0xff);
  return packets;
}

TEST(ChecksumTest, Ipv4HeaderAgreesWithScapy) {
  for (const Packet& packet : Packets()) {
    Ipv4Header header;
    std::memcpy(&header, packet.bytes.data(), sizeof(header));
    const Big16 expected = header.checksum;
    EXPECT_EQ(Ipv4HeaderChecksum(header), expected) << packet.scapy;
    header.checksum = Big16(0xbeef);
    EXPECT_EQ(Ipv4HeaderChecksum(header), expected) << packet.scapy;
    header.time_to_live ^= 1;
    EXPECT_NE(Ipv4HeaderChecksum(header), expected) << packet.scapy;
  }
}

TEST(ChecksumTest, UdpAgreesWithScapy) {
  for (const Packet& packet : Packets()) {
    Ipv4Header ip;
    std::memcpy(&ip, packet.bytes.data(), sizeof(ip));
    Bytes datagram(packet.bytes.begin() + sizeof(ip), packet.bytes.end());
    UdpHeader udp;
    std::memcpy(&udp, datagram.data(), sizeof(udp));
    const Big16 expected = udp.checksum;
    EXPECT_EQ(UdpIpv4Checksum(ip.source, ip.destination, datagram), expected) << packet.scapy;
    // Whatever stands in the field before.
    udp.checksum = Big16(0xbeef);
    std::memcpy(datagram.data(), &udp, sizeof(udp));
    EXPECT_EQ(UdpIpv4Checksum(ip.source, ip.destination, datagram), expected) << packet.scapy;
    // Every other byte counts, the last one too (without a payload, the length's).
    const size_t last = datagram.size() > sizeof(udp) ? datagram.size() - 1 : 5;
    datagram[last] ^= 1;
    EXPECT_NE(UdpIpv4Checksum(ip.source, ip.destination, datagram), expected) << packet.scapy;
    datagram[last] ^= 1;
    EXPECT_NE(UdpIpv4Checksum(Ipv4Address(ip.source.host() ^ 1), ip.destination, datagram),
              expected)
        << packet.scapy;
  }
}

// Packets with a pseudo header, or without one, as scapy makes them.
struct Transported {
  const char* scapy;
  const char* packet;
  size_t transport_offset;
  size_t checksum_offset;  // From the transport header.
};

const Transported kTransported[] = {
    {R"(IP(src="192.0.2.1",dst="198.51.100.2")/TCP(sport=1,dport=2,seq=3,ack=4,flags="A",window=5)/b"odd")",
     "4500002b0001000040068e95c0000201c633640200010002000000030000000450100005f02600006f6464", 20,
     16},
    {R"(IP(src="192.0.2.1",dst="198.51.100.2")/UDP(sport=9,dport=4789)/b"penstock!")",
     "450000250001000040118e90c0000201c6336402000912b50011292370656e73746f636b21", 20, 6},
    {R"(IPv6(src="2001:db8::1",dst="2001:db8::2")/TCP(sport=1,dport=2,options=[("MSS",1440)])/b"hello")",
     "60000000001d064020010db800000000000000000000000120010db80000000000000000000000020001000200"
     "0000000000000060022000d8eb0000020405a068656c6c6f",
     40, 16},
    {R"(IPv6(src="2001:db8::1",dst="2001:db8::2")/UDP(sport=53,dport=1024)/b"abc")",
     "60000000000b114020010db800000000000000000000000120010db80000000000000000000000020035040000"
     "0bdbcb616263",
     40, 6},
    {R"(IPv6(src="fe80::1",dst="ff02::1:ff00:2")/ICMPv6ND_NS(tgt="fe80::2")/ICMPv6NDOptSrcLLAddr(lladdr="02:00:00:00:00:0a"))",
     "6000000000203afffe800000000000000000000000000001ff0200000000000000000001ff00000287007a8e00"
     "000000fe800000000000000000000000000002010102000000000a",
     40, 2},
    {R"(IP(src="192.0.2.1",dst="198.51.100.2")/ICMP(id=7,seq=8)/b"ping!")",
     "450000210001000040018ea4c0000201c63364020800f81f0007000870696e6721", 20, 2},
};

InternetSum PseudoSum(const Bytes& packet, size_t length) {
  InternetSum sum;
  if (packet[0] >> 4 == 4) {
    Ipv4Header ip;
    std::memcpy(&ip, packet.data(), sizeof(ip));
    if (ip.protocol != kIpProtocolIcmp) {
      sum.AddPseudoHeader(ip.source, ip.destination, ip.protocol, static_cast<uint16_t>(length));
    }
  } else {
    Ipv6Header ip;
    std::memcpy(&ip, packet.data(), sizeof(ip));
    sum.AddPseudoHeader(ip.source, ip.destination, ip.next_header, static_cast<uint32_t>(length));
  }
  return sum;
}

// The sum of `packet` from the transport header on, in pieces of the lengths given, again and
// again.
InternetSum SumInPieces(const Transported& row, const Bytes& packet,
                        const std::vector<size_t>& lengths) {
  std::span<const uint8_t> left(packet);
  left = left.subspan(row.transport_offset);
  InternetSum sum = PseudoSum(packet, left.size());
  for (size_t i = 0; !left.empty(); ++i) {
    const size_t n = std::min(lengths[i % lengths.size()], left.size());
    sum.Add(left.first(n));
    left = left.subspan(n);
  }
  return sum;
}

TEST(InternetSumTest, AgreesWithScapyHoweverTheDataIsCut) {
  for (const Transported& row : kTransported) {
    const std::string text = absl::HexStringToBytes(row.packet);
    Bytes packet(text.begin(), text.end());
    const size_t field_at = row.transport_offset + row.checksum_offset;
    Big16 expected;
    std::memcpy(&expected, &packet[field_at], sizeof(expected));
    const std::vector<std::vector<size_t>> kCuts = {{1},    {2},       {3},       {1000}, {1, 2},
                                                    {0, 5}, {7, 1, 4}, {8, 0, 1}, {9},    {20, 3}};
    for (const std::vector<size_t>& lengths : kCuts) {
      EXPECT_TRUE(SumInPieces(row, packet, lengths).Right()) << row.scapy;
      InternetSum without = SumInPieces(row, packet, lengths);
      without.Remove(expected);
      EXPECT_EQ(without.Checksum(), expected) << row.scapy;
      for (size_t i = row.transport_offset; i < packet.size(); ++i) {
        packet[i] ^= 0x10;
        EXPECT_FALSE(SumInPieces(row, packet, lengths).Right()) << row.scapy << ", " << i;
        packet[i] ^= 0x10;
      }
    }
    std::memset(&packet[field_at], 0, sizeof(expected));
    EXPECT_EQ(SumInPieces(row, packet, {5}).Checksum(), expected) << row.scapy;
  }
}

TEST(InternetSumTest, EveryPartOfThePseudoHeaderCounts) {
  const Ipv4Address a(0xc0000201), b(0xc6336402);
  const auto v4 = [](Ipv4Address from, Ipv4Address to, uint8_t protocol, uint16_t length) {
    InternetSum sum;
    sum.AddPseudoHeader(from, to, protocol, length);
    return sum.Sum().host();
  };
  // c000 + 0201 + c633 + 6402 + 0011 + 0024, by hand.
  EXPECT_EQ(v4(a, b, 17, 36), 0xec6c);
  EXPECT_EQ(v4(a, b, 6, 36), 0xec61);
  EXPECT_EQ(v4(a, b, 17, 37), 0xec6d);
  EXPECT_EQ(v4(a, Ipv4Address(0xc6336403), 17, 36), 0xec6d);
  const Ipv6Address c{{0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
  InternetSum sum;
  // A length beyond 16 bits: 2 * (2001 + 0db8 + 0001) + 0001 + 0002 + 003a.
  sum.AddPseudoHeader(c, c, 58, 0x10002);
  EXPECT_EQ(sum.Sum().host(), 0x5bb1);
}

TEST(ChecksumTest, AfterAChangeIsWhatItWouldBeAnew) {
  // RFC 1624, 4: the example that the formula of RFC 1141 gets wrong.
  EXPECT_EQ(ChecksumAfterChange(Big16(0xdd2f), Big16(0x5555), Big16(0x3285)), Big16(0x0000));
  // scapy: ICMP(id=7,seq=8)/b"ping!" of type 8, then of type 0.
  EXPECT_EQ(ChecksumAfterChange(Big16(0xf81f), Big16(0x0800), Big16(0)).host(), 0x0020);
}

TEST(ChecksumTest, UdpHasNoZero) {
  EXPECT_EQ(UdpChecksumOnWire(Big16(0)), Big16(0xffff));
  EXPECT_EQ(UdpChecksumOnWire(Big16(0x1234)), Big16(0x1234));
}

}  // namespace
}  // namespace penstock
