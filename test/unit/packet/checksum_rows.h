// SPDX-License-Identifier: BSD-3-Clause
//
// Frames with right checksums, built by scapy 2.5.0; the comment on each says how. MAC addresses
// are 02:00:00:00:00:0a to :0b, IP addresses 192.0.2.1 to 198.51.100.2 and 2001:db8::1 to ::2.

#ifndef PENSTOCK_TEST_UNIT_PACKET_CHECKSUM_ROWS_H_
#define PENSTOCK_TEST_UNIT_PACKET_CHECKSUM_ROWS_H_

#include "lib/packet/checksum_repair.h"

namespace penstock {

struct ChecksumRow {
  const char* what;
  uint32_t ip_field;         // Where the IPv4 checksum is; 0: there is none to be verified.
  uint32_t transport_field;  // Where that of TCP, UDP, ICMP or ICMPv6 is; 0 likewise.
  const char* frame;
  ChecksumFindings found;  // With all checksums as they are here.
};

inline const ChecksumRow kChecksumRows[] = {
    // IP()/UDP(sport=1,dport=2)/b"penstock"
    {"udp",
     24,
     40,
     "02000000000b02000000000a0800450000240001000040118e91c0000201c63364020001000200105ce070656e73"
     "746f636b",
     {}},
    // IP()/UDP(sport=1,dport=2)/b"abc"/Padding(b"\x77"*15)
    {"udp of an odd length, padded",
     24,
     40,
     "02000000000b02000000000a08004500001f0001000040118e96c0000201c633640200010002000b4f3b61626377"
     "7777777777777777777777777777",
     {}},
    // IP()/UDP(sport=9,dport=4789)/b"\x00\xe5"
    {"udp whose sum is zero",
     24,
     40,
     "02000000000b02000000000a08004500001e0001000040118e97c0000201c6336402000912b5000affff00e5",
     {}},
    // IP(len=32)/UDP(sport=1,dport=2)/b"abc"/Padding(b"\x77"), with the checksum of "udp" over
    // "abc":
    // scapy takes the length of the IP packet for the pseudo header's, the kernel that of UDP.
    {"udp shorter than its packet",
     24,
     40,
     "02000000000b02000000000a0800450000200001000040118e95c0000201c633640200010002000b4f3b61626377",
     {}},
    // IP(options=[IPOption_Router_Alert()])/UDP(sport=1,dport=2)/b"x"
    {"udp behind ip options",
     24,
     44,
     "02000000000b02000000000a080046000021000100004011f98fc0000201c6336402940400000001000200099ba1"
     "78",
     {}},
    // IP()/TCP(sport=1,dport=2,seq=5,flags="PA")/b"hello"
    {"tcp",
     24,
     50,
     "02000000000b02000000000a08004500002d0001000040068e93c0000201c6336402000100020000000500000000"
     "501820005fb6000068656c6c6f",
     {}},
    // IP()/TCP(sport=1,dport=2,options=[("MSS",1460),("NOP",None),("WScale",7)])
    {"tcp with options",
     24,
     50,
     "02000000000b02000000000a0800450000300001000040068e90c0000201c6336402000100020000000000000000"
     "7002200077de0000020405b401030307",
     {}},
    // IP()/TCP(sport=1,dport=2)/bytes(range(200))
    {"tcp of many bytes",
     24,
     50,
     "02000000000b02000000000a0800450000f00001000040068dd0c0000201c6336402000100020000000000000000"
     "50022000cfa90000000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425"
     "262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f404142434445464748494a4b4c4d4e4f50515253"
     "5455565758595a5b5c5d5e5f606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f8081"
     "82838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9fa0a1a2a3a4a5a6a7a8a9aaabacadaeaf"
     "b0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7",
     {}},
    // IP()/ICMP(id=7,seq=8)/b"ping!"
    {"icmp",
     24,
     36,
     "02000000000b02000000000a0800450000210001000040018ea4c0000201c63364020800f81f0007000870696e67"
     "21",
     {}},
    // Dot1Q(vlan=5)/IP()/UDP(sport=1,dport=2)/b"abc"
    {"vlan udp",
     28,
     44,
     "02000000000b02000000000a8100000508004500001f0001000040118e96c0000201c633640200010002000b4f3b"
     "616263",
     {}},
    // Ether(type=0x88a8)/Dot1Q(vlan=6)/Dot1Q(vlan=5)/IP()/TCP(sport=1,dport=2)/b"abc"
    {"qinq tcp",
     32,
     58,
     "02000000000b02000000000a88a800068100000508004500002b0001000040068e95c0000201c633640200010002"
     "000000000000000050022000df420000616263",
     {}},
    // IP(options=[IPOption_NOP(),IPOption_LSRR(routers=["198.51.100.8","198.51.100.9"])])/
    //     UDP(sport=1,dport=2)
    {"loose source route",
     24,
     52,
     "02000000000b02000000000a0800480000280001000040112a8dc0000201c633640201830b04c6336408c6336409"
     "000100020008139d",
     {}},
    // IPv6()/UDP(sport=1,dport=2)/b"abc"
    {"ipv6 udp",
     0,
     60,
     "02000000000b02000000000a86dd60000000000b114020010db800000000000000000000000120010db800000000"
     "000000000000000200010002000bdffd616263",
     {}},
    // IPv6()/TCP(sport=1,dport=2)/b"abcd"
    {"ipv6 tcp",
     0,
     70,
     "02000000000b02000000000a86dd600000000018064020010db800000000000000000000000120010db800000000"
     "0000000000000002000100020000000000000000500220006fa0000061626364",
     {}},
    // Ether(type=0x88a8)/Dot1Q(vlan=6)/Dot1Q(vlan=5)/IPv6()/
    //     ICMPv6EchoRequest(id=1,seq=2,data=b"ping!")
    {"qinq ipv6 icmpv6",
     0,
     64,
     "02000000000b02000000000a88a800068100000586dd60000000000d3a4020010db8000000000000000000000001"
     "20010db80000000000000000000000028000246f0001000270696e6721",
     {}},
    // IPv6()/ICMPv6ND_NS(tgt="2001:db8::2")
    {"neighbor solicitation",
     0,
     56,
     "02000000000b02000000000a86dd6000000000183aff20010db800000000000000000000000120010db800000000"
     "00000000000000028700ef7c0000000020010db8000000000000000000000002",
     {}},
    // IPv6()/IPv6ExtHdrHopByHop(options=[RouterAlert()])/IPv6ExtHdrDestOpt()/
    //     ICMPv6EchoRequest(data=b"x")
    {"hop-by-hop and destination options",
     0,
     72,
     "02000000000b02000000000a86dd600000000019004020010db800000000000000000000000120010db800000000"
     "00000000000000023c000502000001003a000104000000008000ac460000000078",
     {}},
    // IPv6()/IPv6ExtHdrFragment(nh=6)/TCP()/b"abc"
    {"atomic fragment",
     0,
     78,
     "02000000000b02000000000a86dd60000000001f2c4020010db800000000000000000000000120010db800000000"
     "00000000000000020600000000000000001400500000000000000000500220006fa40000616263",
     {}},
    // IPv6()/IPv6ExtHdrRouting(addresses=["2001:db8::8","2001:db8::9"],segleft=1)/UDP()/b"a"
    {"routing header, one left",
     0,
     100,
     "02000000000b02000000000a86dd6000000000312b4020010db800000000000000000000000120010db800000000"
     "0000000000000002110400010000000020010db800000000000000000000000820010db800000000000000000000"
     "000900350035000942f661",
     {}},
    // IPv6()/IPv6ExtHdrSegmentRouting(addresses=["2001:db8::9","2001:db8::8"],segleft=1)/UDP()/
    //     b"a"
    {"segment routing header",
     0,
     100,
     "02000000000b02000000000a86dd6000000000312b4020010db800000000000000000000000120010db800000000"
     "0000000000000002110404010100000020010db800000000000000000000000920010db800000000000000000000"
     "000800350035000942f661",
     {}},
    // IPv6()/IPv6ExtHdrDestOpt(options=[HAO(hoa="2001:db8::7")])/TCP()/b"a"
    {"home address",
     0,
     94,
     "02000000000b02000000000a86dd60000000002d3c4020010db800000000000000000000000120010db800000000"
     "0000000000000002060201020000c91020010db80000000000000000000000070014005000000000000000005002"
     "2000d302000061",
     {}},
    // IP()/UDP(sport=1,dport=2,chksum=0)/b"abc"
    {"udp without",
     24,
     0,
     "02000000000b02000000000a08004500001f0001000040118e96c0000201c633640200010002000b0000616263",
     {.udp_without = true}},
    // IPv6()/UDP(sport=1,dport=2,chksum=0)/b"abc"
    {"ipv6 udp without",
     0,
     0,
     "02000000000b02000000000a86dd60000000000b114020010db800000000000000000000000120010db800000000"
     "000000000000000200010002000b0000616263",
     {.udp_without = true}},
    // IP(flags="MF")/UDP(len=100,chksum=0x1234)/b"12345678"
    {"first fragment",
     24,
     0,
     "02000000000b02000000000a0800450000240001200040116e91c0000201c6336402003500350064123431323334"
     "35363738",
     {.fragment = true}},
    // IP(frag=2,proto=17)/b"12345678"
    {"later fragment",
     24,
     0,
     "02000000000b02000000000a08004500001c0001000240118e97c0000201c63364023132333435363738",
     {.fragment = true}},
    // IPv6()/IPv6ExtHdrFragment(m=1,nh=17)/UDP(len=100,chksum=0x1234)/b"12345678"
    {"ipv6 first fragment",
     0,
     0,
     "02000000000b02000000000a86dd6000000000182c4020010db800000000000000000000000120010db800000000"
     "0000000000000002110000010000000000350035006412343132333435363738",
     {.fragment = true}},
    // IPv6()/IPv6ExtHdrRouting(type=77,addresses=["2001:db8::8"],segleft=1)/UDP(chksum=0x1234)
    {"routing header of an unknown type",
     0,
     0,
     "02000000000b02000000000a86dd6000000000202b4020010db800000000000000000000000120010db800000000"
     "000000000000000211024d010000000020010db80000000000000000000000080035003500081234",
     {.unknown_route = true}},
    // IP()/SCTP(sport=1,dport=2,chksum=0x12345678)
    {"sctp",
     24,
     0,
     "02000000000b02000000000a0800450000200001000040848e22c0000201c6336402000100020000000012345678",
     {}},
    // IP(proto=50)/b"12345678"
    {"esp",
     24,
     0,
     "02000000000b02000000000a08004500001c0001000040328e78c0000201c63364023132333435363738",
     {}},
    // ARP(op=1,hwsrc="02:00:00:00:00:0a",psrc="192.0.2.1",pdst="192.0.2.2")
    {"arp",
     0,
     0,
     "02000000000b02000000000a0806000108000604000102000000000ac0000201000000000000c0000202",
     {}},
    // IP(len=99)/TCP(chksum=0x1234)
    {"tcp that is cut short",
     24,
     0,
     "02000000000b02000000000a0800450000630001000040068e5dc0000201c6336402001400500000000000000000"
     "5002200012340000",
     {.fault = FrameFault::kBadLength}},
    // IP()/UDP(len=9,chksum=0x1234)/Padding(b"12")
    {"udp length beyond the packet",
     24,
     0,
     "02000000000b02000000000a08004500001c0001000040118e99c0000201c633640200350035000912343132",
     {.fault = FrameFault::kBadTransportLength}},
    // IP(proto=17)/b"1234567"
    {"udp header cut short",
     24,
     0,
     "02000000000b02000000000a08004500001b0001000040118e9ac0000201c633640231323334353637",
     {.fault = FrameFault::kTruncated}},
    // IP()/TCP(dataofs=4,chksum=0x1234)
    {"tcp data offset",
     24,
     0,
     "02000000000b02000000000a0800450000280001000040068e98c0000201c6336402001400500000000000000000"
     "4002200012340000",
     {.fault = FrameFault::kBadTransportLength}},
    // IP(ihl=4,chksum=0x1234)/UDP(chksum=0x1234)
    {"ip header length",
     0,
     0,
     "02000000000b02000000000a08004400001c0001000040111234c0000201c63364020035003500081234",
     {.fault = FrameFault::kBadHeaderLength}},
    // Ether(type=0x8100)/b"\0\5\x08"
    {"vlan tag cut short",
     0,
     0,
     "02000000000b02000000000a8100000508",
     {.fault = FrameFault::kTruncated}},
};

}  // namespace penstock

#endif  // PENSTOCK_TEST_UNIT_PACKET_CHECKSUM_ROWS_H_
