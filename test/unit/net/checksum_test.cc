// SPDX-License-Identifier: BSD-3-Clause
//
// The Internet checksum, against RFC 1071 and packets built by scapy 2.5.0.

#include "lib/net/checksum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

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

}  // namespace
}  // namespace penstock
