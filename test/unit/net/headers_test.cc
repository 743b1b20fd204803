// SPDX-License-Identifier: BSD-3-Clause
//
// Wire headers, over frames built by scapy 2.5.0.

#include "lib/net/headers.h"

#include <gtest/gtest.h>

#include <cstring>

namespace penstock {
namespace {

template <typename T>
const T& At(const uint8_t* frame, size_t offset) {
  return *reinterpret_cast<const T*>(frame + offset);
}

// Ether(dst="01:80:c2:00:00:0e",src="02:00:00:00:00:0a")/Dot1Q(prio=5,vlan=100)/
// IPv6(src="2001:db8::1",dst="2001:db8::2",hlim=7,tc=0x12,fl=0x34567)/UDP(sport=53,dport=1024)/"abcd"
constexpr uint8_t kVlanIpv6[] = {
    0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e, 0x02, 0x00, 0x00, 0x00, 0x00, 0x0a, 0x81, 0x00,
    0xa0, 0x64, 0x86, 0xdd, 0x61, 0x23, 0x45, 0x67, 0x00, 0x0c, 0x11, 0x07, 0x20, 0x01,
    0x0d, 0xb8, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01,
    0x20, 0x01, 0x0d, 0xb8, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x02, 0x00, 0x35, 0x04, 0x00, 0x00, 0x0c, 0xdb, 0x65, 0x61, 0x62, 0x63, 0x64};

TEST(HeadersTest, VlanIpv6Udp) {
  const auto& ethernet = At<EthernetHeader>(kVlanIpv6, 0);
  EXPECT_EQ(ethernet.destination.Format(), "01:80:c2:00:00:0e");
  EXPECT_EQ(ethernet.source.Format(), "02:00:00:00:00:0a");
  EXPECT_EQ(ethernet.type, kEtherTypeVlan);
  const auto& vlan = At<VlanHeader>(kVlanIpv6, 14);
  EXPECT_EQ(vlan.control.host(), 5 << 13 | 100);
  EXPECT_EQ(vlan.type, kEtherTypeIpv6);
  const auto& ip = At<Ipv6Header>(kVlanIpv6, 18);
  EXPECT_EQ(ip.version_class_flow.host(), 0x61234567u);
  EXPECT_EQ(ip.payload_length.host(), 12);
  EXPECT_EQ(ip.next_header, kIpProtocolUdp);
  EXPECT_EQ(ip.hop_limit, 7);
  EXPECT_EQ(ip.source.Format(), "2001:db8::1");
  EXPECT_EQ(ip.destination.Format(), "2001:db8::2");
  const auto& udp = At<UdpHeader>(kVlanIpv6, 58);
  EXPECT_EQ(udp.source_port.host(), 53);
  EXPECT_EQ(udp.destination_port.host(), 1024);
  EXPECT_EQ(udp.length.host(), 12);
  EXPECT_EQ(udp.checksum.host(), 0xdb65);
}

// Ether(dst="01:80:c2:00:00:0e",src="02:00:00:00:00:0a")/
// IP(src="192.0.2.1",dst="198.51.100.2",ttl=64,id=0x1234,flags="DF",tos=0x28)/UDP(sport=9,dport=4789)/"x"
constexpr uint8_t kIpv4[] = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e, 0x02, 0x00, 0x00, 0x00, 0x00,
                             0x0a, 0x08, 0x00, 0x45, 0x28, 0x00, 0x1d, 0x12, 0x34, 0x40, 0x00,
                             0x40, 0x11, 0x3c, 0x3d, 0xc0, 0x00, 0x02, 0x01, 0xc6, 0x33, 0x64,
                             0x02, 0x00, 0x09, 0x12, 0xb5, 0x00, 0x09, 0x88, 0xe6, 0x78};

TEST(HeadersTest, Ipv4Udp) {
  EXPECT_EQ(At<EthernetHeader>(kIpv4, 0).type, kEtherTypeIpv4);
  const auto& ip = At<Ipv4Header>(kIpv4, 14);
  EXPECT_EQ(ip.version_ihl, 0x45);
  EXPECT_EQ(ip.type_of_service, 0x28);
  EXPECT_EQ(ip.total_length.host(), 29);
  EXPECT_EQ(ip.identification.host(), 0x1234);
  EXPECT_EQ(ip.flags_fragment.host(), 0x4000);
  EXPECT_EQ(ip.time_to_live, 64);
  EXPECT_EQ(ip.protocol, kIpProtocolUdp);
  EXPECT_EQ(ip.checksum.host(), 0x3c3d);
  EXPECT_EQ(ip.source.Format(), "192.0.2.1");
  EXPECT_EQ(ip.destination.Format(), "198.51.100.2");
  EXPECT_EQ(At<UdpHeader>(kIpv4, 34).destination_port.host(), 4789);
}

TEST(HeadersTest, ANewHeaderHasItsVersionAndIsElseZero) {
  uint8_t ipv4[sizeof(Ipv4Header)] = {0x45};
  uint8_t ipv6[sizeof(Ipv6Header)] = {0x60};
  const Ipv4Header new_ipv4;
  const Ipv6Header new_ipv6;
  EXPECT_EQ(std::memcmp(&new_ipv4, ipv4, sizeof(ipv4)), 0);
  EXPECT_EQ(std::memcmp(&new_ipv6, ipv6, sizeof(ipv6)), 0);
}

}  // namespace
}  // namespace penstock
