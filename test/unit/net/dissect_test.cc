// SPDX-License-Identifier: BSD-3-Clause
//
// Dissect, over frames built by scapy 2.5.0: the comment on each row says how. MAC addresses are
// 02:00:00:00:00:0a to :0b, IP addresses 192.0.2.1 to 198.51.100.2 and 2001:db8::1 to ::2.

#include "lib/net/dissect.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

// What was found, in words; what is 0 or none is left out. "from" and "to" are the addresses of the
// pseudo header, "covered" is the end of what the transport checksum covers.
std::string Describe(const Dissection& d) {
  static constexpr const char* kNetworks[] = {"none", "arp", "ipv4", "ipv6"};
  static constexpr const char* kTransports[] = {"", "tcp", "udp", "icmp", "icmpv6", "sctp"};
  static constexpr const char* kFragments[] = {"", "first", "later"};
  std::string text = kNetworks[static_cast<size_t>(d.network)];
  const auto word = [&text](absl::string_view word) {
    if (!word.empty()) absl::StrAppend(&text, " ", word);
  };
  const auto number = [&text](const char* name, uint32_t value) {
    if (value != 0) absl::StrAppend(&text, " ", name, " ", value);
  };
  word(kTransports[static_cast<size_t>(d.transport)]);
  word(kFragments[static_cast<size_t>(d.fragment)]);
  word(kFrameFaultTexts[static_cast<size_t>(d.fault)].name);
  number("tags", d.vlan_tags);
  number("protocol", d.protocol);
  number("network", d.network_offset);
  number("transport", d.transport_offset);
  number("payload", d.payload_offset);
  number("end", d.packet_end);
  number("covered", d.transport_end);
  number("from", d.source_offset);
  number("to", d.destination_offset);
  return text;
}

struct Row {
  const char* what;
  const char* found;
  const char* frame;
};

const Row kRows[] = {
    // IP()/UDP(sport=1,dport=2)/b"abc"
    {"udp",
     "ipv4 udp protocol 17 network 14 transport 34 payload 42 end 45 covered 45 from 26 to 30",
     "02000000000b02000000000a08004500001f0001000040118e96c0000201c633640200010002000b4f3b616263"},
    // IP()/UDP(sport=1,dport=2)/b"abc"/Padding(b"\0"*15)
    {"udp in a frame padded to 60",
     "ipv4 udp protocol 17 network 14 transport 34 payload 42 end 45 covered 45 from 26 to 30",
     "02000000000b02000000000a08004500001f0001000040118e96c0000201c633640200010002000b4f3b61626300"
     "0000000000000000000000000000"},
    // IP()/TCP(sport=1,dport=2,options=[("MSS",1460),("NOP",None),("WScale",7)])/b"x"
    {"tcp with options",
     "ipv4 tcp protocol 6 network 14 transport 34 payload 62 end 63 covered 63 from 26 to 30",
     "02000000000b02000000000a0800450000310001000040068e8fc0000201c6336402000100020000000000000000"
     "70022000ffdc0000020405b40103030778"},
    // IP(options=[IPOption_Router_Alert()])/ICMP()/b"ping"
    {"icmp behind ip options",
     "ipv4 icmp protocol 1 network 14 transport 38 payload 42 end 50 covered 50 from 26 to 30",
     "02000000000b02000000000a080046000024000100004001f99cc0000201c6336402940400000800192f00000000"
     "70696e67"},
    // Dot1Q(vlan=5)/IP()/SCTP(sport=1,dport=2)
    {"vlan sctp",
     "ipv4 sctp tags 1 protocol 132 network 18 transport 38 payload 50 end 50 covered 50 from 30 "
     "to 34",
     "02000000000b02000000000a810000050800450000200001000040848e22c0000201c63364020001000200000000"
     "fd988051"},
    // Ether(type=0x88a8)/Dot1Q(vlan=6)/Dot1Q(vlan=5)/IP()/UDP()
    {"qinq udp",
     "ipv4 udp tags 2 protocol 17 network 22 transport 42 payload 50 end 50 covered 50 from 34 to "
     "38",
     "02000000000b02000000000a88a800068100000508004500001c0001000040118e99c0000201c633640200350035"
     "0008133d"},
    // Ether(type=0x9100)/Dot1Q(vlan=6)/Dot1Q(vlan=5)/IPv6()/UDP()/b"1"
    {"old qinq ipv6 udp",
     "ipv6 udp tags 2 protocol 17 network 22 transport 62 payload 70 end 71 covered 71 from 30 to "
     "46",
     "02000000000b02000000000a910000068100000586dd600000000009114020010db8000000000000000000000001"
     "20010db800000000000000000000000200350035000972fd31"},
    // IPv6()/TCP()
    {"ipv6 tcp",
     "ipv6 tcp protocol 6 network 14 transport 54 payload 74 end 74 covered 74 from 22 to 38",
     "02000000000b02000000000a86dd600000000014064020010db800000000000000000000000120010db800000000"
     "000000000000000200140050000000000000000050022000340a0000"},
    // IPv6()/IPv6ExtHdrHopByHop(options=[RouterAlert()])/IPv6ExtHdrDestOpt()/
    //     ICMPv6EchoRequest(data=b"x")
    {"icmpv6 behind hop-by-hop and destination options",
     "ipv6 icmpv6 protocol 58 network 14 transport 70 payload 74 end 79 covered 79 from 22 to 38",
     "02000000000b02000000000a86dd600000000019004020010db800000000000000000000000120010db800000000"
     "00000000000000023c000502000001003a000104000000008000ac460000000078"},
    // IPv6()/ICMPv6ND_NS(tgt="2001:db8::2")
    {"neighbor solicitation",
     "ipv6 icmpv6 protocol 58 network 14 transport 54 payload 58 end 78 covered 78 from 22 to 38",
     "02000000000b02000000000a86dd6000000000183aff20010db800000000000000000000000120010db800000000"
     "00000000000000028700ef7c0000000020010db8000000000000000000000002"},
    // IPv6()/AH(nh=17,payloadlen=4,icv=b"\1"*12)/UDP()
    {"ah",
     "ipv6 udp protocol 17 network 14 transport 78 payload 86 end 86 covered 86 from 22 to 38",
     "02000000000b02000000000a86dd600000000020334020010db800000000000000000000000120010db800000000"
     "00000000000000021104000000000001000000000101010101010101010101010035003500080000"},
    // IPv6()/IPv6ExtHdrRouting(addresses=["2001:db8::8","2001:db8::9"],segleft=1)/UDP()
    {"routing header 0, one left",
     "ipv6 udp protocol 17 network 14 transport 94 payload 102 end 102 covered 102 from 22 to 78",
     "02000000000b02000000000a86dd6000000000302b4020010db800000000000000000000000120010db800000000"
     "0000000000000002110400010000000020010db800000000000000000000000820010db800000000000000000000"
     "0009003500350008a3f8"},
    // IPv6()/IPv6ExtHdrRouting(addresses=["2001:db8::8"],segleft=0)/UDP()
    {"routing header 0, none left",
     "ipv6 udp protocol 17 network 14 transport 78 payload 86 end 86 covered 86 from 22 to 38",
     "02000000000b02000000000a86dd6000000000202b4020010db800000000000000000000000120010db800000000"
     "0000000000000002110200000000000020010db8000000000000000000000008003500350008a3ff"},
    // IPv6()/IPv6ExtHdrSegmentRouting(addresses=["2001:db8::9","2001:db8::8"],segleft=1)/UDP()
    {"segment routing header",
     "ipv6 udp protocol 17 network 14 transport 94 payload 102 end 102 covered 102 from 22 to 62",
     "02000000000b02000000000a86dd6000000000302b4020010db800000000000000000000000120010db800000000"
     "0000000000000002110404010100000020010db800000000000000000000000920010db800000000000000000000"
     "0008003500350008a3f8"},
    // IPv6()/IPv6ExtHdrRouting(type=77,addresses=["2001:db8::8"],segleft=1)/UDP()
    {"routing header of an unknown type",
     "ipv6 udp protocol 17 network 14 transport 78 payload 86 end 86 covered 86 from 22",
     "02000000000b02000000000a86dd6000000000202b4020010db800000000000000000000000120010db800000000"
     "000000000000000211024d010000000020010db8000000000000000000000008003500350008a3f9"},
    // IPv6()/IPv6ExtHdrDestOpt(options=[HAO(hoa="2001:db8::7")])/UDP()
    {"home address",
     "ipv6 udp protocol 17 network 14 transport 78 payload 86 end 86 covered 86 from 62 to 38",
     "02000000000b02000000000a86dd6000000000203c4020010db800000000000000000000000120010db800000000"
     "0000000000000002110201020000c91020010db8000000000000000000000007003500350008a3f9"},
    // IP(options=[IPOption_NOP(),IPOption_LSRR(routers=["198.51.100.8","198.51.100.9"])])/UDP()
    {"loose source route, one left",
     "ipv4 udp protocol 17 network 14 transport 46 payload 54 end 54 covered 54 from 26 to 42",
     "02000000000b02000000000a0800480000280001000040112a8dc0000201c633640201830b04c6336408c6336409"
     "0035003500081336"},
    // IP(options=[IPOption_LSRR(pointer=8,routers=["198.51.100.8"]),IPOption_NOP()])/UDP()
    {"loose source route, none left",
     "ipv4 udp protocol 17 network 14 transport 42 payload 50 end 50 covered 50 from 26 to 30",
     "02000000000b02000000000a080047000024000100004011c55ec0000201c6336402830708c63364080100350035"
     "00081337"},
    // IP(flags="MF")/UDP(len=100)/b"12345678"
    {"ipv4 first fragment",
     "ipv4 udp first protocol 17 network 14 transport 34 payload 42 end 50 covered 50 from 26 to "
     "30",
     "02000000000b02000000000a0800450000240001200040116e91c0000201c6336402003500350064420431323334"
     "35363738"},
    // IP(frag=2,proto=17)/b"12345678"
    {"ipv4 later fragment", "ipv4 later protocol 17 network 14 transport 34 end 42 from 26 to 30",
     "02000000000b02000000000a08004500001c0001000240118e97c0000201c63364023132333435363738"},
    // IPv6()/IPv6ExtHdrFragment(m=1,nh=17)/UDP(len=100)/b"12345678"
    {"ipv6 first fragment",
     "ipv6 udp first protocol 17 network 14 transport 62 payload 70 end 78 covered 78 from 22 to "
     "38",
     "02000000000b02000000000a86dd6000000000182c4020010db800000000000000000000000120010db800000000"
     "00000000000000021100000100000000003500350064d2c63132333435363738"},
    // IPv6()/IPv6ExtHdrFragment(offset=1,nh=60)/b"12345678"
    {"ipv6 later fragment", "ipv6 later protocol 60 network 14 transport 62 end 70 from 22 to 38",
     "02000000000b02000000000a86dd6000000000102c4020010db800000000000000000000000120010db800000000"
     "00000000000000023c000008000000003132333435363738"},
    // IPv6()/IPv6ExtHdrFragment(nh=6)/TCP()
    {"ipv6 atomic fragment",
     "ipv6 tcp protocol 6 network 14 transport 62 payload 82 end 82 covered 82 from 22 to 38",
     "02000000000b02000000000a86dd60000000001c2c4020010db800000000000000000000000120010db800000000"
     "0000000000000002060000000000000000140050000000000000000050022000340a0000"},
    // IPv6(nh=59)/b"12"
    {"no next header", "ipv6 protocol 59 network 14 transport 54 end 56 from 22 to 38",
     "02000000000b02000000000a86dd6000000000023b4020010db800000000000000000000000120010db800000000"
     "00000000000000023132"},
    // IPv6(nh=50)/b"12345678"
    {"esp", "ipv6 protocol 50 network 14 transport 54 end 62 from 22 to 38",
     "02000000000b02000000000a86dd600000000008324020010db800000000000000000000000120010db800000000"
     "00000000000000023132333435363738"},
    // IPv6(nh=1)/b"12345678"
    {"icmp number over ipv6 is not icmp",
     "ipv6 protocol 1 network 14 transport 54 end 62 from 22 to 38",
     "02000000000b02000000000a86dd600000000008014020010db800000000000000000000000120010db800000000"
     "00000000000000023132333435363738"},
    // ARP(op=1,hwsrc="02:00:00:00:00:0a",psrc="192.0.2.1",pdst="192.0.2.2")/Padding(b"\0"*18)
    {"arp", "arp network 14 end 42",
     "02000000000b02000000000a0806000108000604000102000000000ac0000201000000000000c000020200000000"
     "0000000000000000000000000000"},
    // ARP(hwtype=6,hwsrc="02:00:00:00:00:0a",psrc="192.0.2.1",pdst="192.0.2.2")
    {"arp of another hardware", "none network 14 end 47",
     "02000000000b02000000000a0806000608001104000130323a30303a30303a30303a30303a3061c0000201c00002"
     "02"},
    // Ether(dst="01:80:c2:00:00:0e",src="02:00:00:00:00:0a",type=0x88cc)/b"\0\0"
    {"lldp", "none network 14 end 16", "0180c200000e02000000000a88cc0000"},
    // Dot3(dst="01:80:c2:00:00:00",src="02:00:00:00:00:0a",len=3)/b"BBB"
    {"802.3", "none network 14 end 17", "0180c200000002000000000a0003424242"},
    // IP()/UDP(len=9)/b"abc"
    {"udp shorter than its packet",
     "ipv4 udp protocol 17 network 14 transport 34 payload 42 end 45 covered 43 from 26 to 30",
     "02000000000b02000000000a08004500001f0001000040118e96c0000201c63364020035003500094ed6616263"},
    // Raw(b"\2\0\0\0\0\1\2\0\0\0\0\2\x08")
    {"runt", "none runt end 13", "02000000000102000000000208"},
    // Ether(type=0x8100)/b"\0\5\x08"
    {"vlan tag cut", "none truncated network 14 end 17", "02000000000b02000000000a8100000508"},
    // Dot1Q(vlan=1)/Dot1Q(vlan=1)/Dot1Q(vlan=1)/Dot1Q(vlan=1)/Dot1Q(vlan=1)/Dot1Q(vlan=1)/
    //     Dot1Q(vlan=1)/Dot1Q(vlan=1)/Dot1Q(vlan=1)/IP()/UDP()
    {"nine tags", "none too_many_tags tags 8 network 46 end 78",
     "02000000000b02000000000a81000001810000018100000181000001810000018100000181000001810000018100"
     "000108004500001c0001000040118e99c0000201c6336402003500350008133d"},
    // Ether(type=0x806)/Raw(b"\0\1\x08\0\6\4\0\1"+b"\0"*19)
    {"arp cut", "none truncated network 14 end 41",
     "02000000000b02000000000a0806000108000604000100000000000000000000000000000000000000"},
    // Ether(type=0x800)/bytes(IP()/UDP())[:19]
    {"ipv4 cut", "none truncated network 14 end 33",
     "02000000000b02000000000a08004500001c0001000040117cce7f0000017f0000"},
    // IP(version=6)/UDP()
    {"ipv4 version", "none bad_version network 14 end 42",
     "02000000000b02000000000a08006500001c0001000040116e99c0000201c6336402003500350008133d"},
    // IP(ihl=4)/UDP()
    {"ipv4 header length", "none bad_header_length network 14 end 42",
     "02000000000b02000000000a08004400001c0001000040118f99c0000201c6336402003500350008133d"},
    // IP(ihl=15,len=60)/UDP()
    {"ipv4 options cut", "none truncated network 14 end 42",
     "02000000000b02000000000a08004f00003c0001000040118479c0000201c63364020035003500081345"},
    // IP(len=29)/UDP()
    {"ipv4 length beyond the frame",
     "ipv4 bad_length protocol 17 network 14 transport 34 end 42 from 26 to 30",
     "02000000000b02000000000a08004500001d0001000040118e98c0000201c6336402003500350008133c"},
    // IP(len=19)/UDP()
    {"ipv4 length below the header",
     "ipv4 bad_length protocol 17 network 14 transport 34 end 42 from 26 to 30",
     "02000000000b02000000000a0800450000130001000040118ea2c0000201c63364020035003500081345"},
    // IP(len=27)/UDP()/b"padding"
    {"udp header beyond the packet",
     "ipv4 truncated protocol 17 network 14 transport 34 end 41 from 26 to 30",
     "02000000000b02000000000a08004500001b0001000040118e9ac0000201c633640200350035000f6e0270616464"
     "696e67"},
    // IP()/UDP(len=7)
    {"udp length 7",
     "ipv4 bad_transport_length protocol 17 network 14 transport 34 end 42 from 26 to 30",
     "02000000000b02000000000a08004500001c0001000040118e99c0000201c6336402003500350007133e"},
    // IP()/UDP(len=9)/Padding(b"12")
    {"udp length beyond the packet",
     "ipv4 bad_transport_length protocol 17 network 14 transport 34 end 42 from 26 to 30",
     "02000000000b02000000000a08004500001c0001000040118e99c0000201c6336402003500350009133c3132"},
    // IP()/TCP(dataofs=4)
    {"tcp data offset 4",
     "ipv4 bad_transport_length protocol 6 network 14 transport 34 end 54 from 26 to 30",
     "02000000000b02000000000a0800450000280001000040068e98c0000201c6336402001400500000000000000000"
     "40022000b3470000"},
    // IP()/TCP(dataofs=6)
    {"tcp data offset beyond the packet",
     "ipv4 bad_transport_length protocol 6 network 14 transport 34 end 54 from 26 to 30",
     "02000000000b02000000000a0800450000280001000040068e98c0000201c6336402001400500000000000000000"
     "6002200093470000"},
    // IP(proto=1)/b"\x08\0\0"
    {"icmp cut", "ipv4 truncated protocol 1 network 14 transport 34 end 37 from 26 to 30",
     "02000000000b02000000000a0800450000170001000040018eaec0000201c6336402080000"},
    // IPv6(version=4)/UDP()
    {"ipv6 version", "none bad_version network 14 end 62",
     "02000000000b02000000000a86dd400000000008114020010db800000000000000000000000120010db800000000"
     "0000000000000002003500350008a3ff"},
    // Ether(type=0x86dd)/bytes(IPv6())[:39]
    {"ipv6 cut", "none truncated network 14 end 53",
     "02000000000b02000000000a86dd6000000000003b40000000000000000000000000000000010000000000000000"
     "00000000000000"},
    // IPv6(plen=9)/UDP()
    {"ipv6 length beyond the frame",
     "ipv6 bad_length protocol 17 network 14 transport 54 end 62 from 22 to 38",
     "02000000000b02000000000a86dd600000000009114020010db800000000000000000000000120010db800000000"
     "0000000000000002003500350008a3ff"},
    // IPv6(nh=60)/Raw(b"\x11\1"+b"\0"*13)
    {"ipv6 extension beyond the packet",
     "ipv6 truncated protocol 60 network 14 transport 54 end 69 from 22 to 38",
     "02000000000b02000000000a86dd60000000000f3c4020010db800000000000000000000000120010db800000000"
     "0000000000000002110100000000000000000000000000"},
    // IPv6()/IPv6ExtHdrDestOpt(nh=43)
    {"ipv6 chain ends in a header that is not there",
     "ipv6 truncated protocol 43 network 14 transport 62 end 62 from 22 to 38",
     "02000000000b02000000000a86dd6000000000083c4020010db800000000000000000000000120010db800000000"
     "00000000000000022b00010400000000"},
    // IPv6()/IPv6ExtHdrDestOpt()/IPv6ExtHdrDestOpt()/IPv6ExtHdrDestOpt()/IPv6ExtHdrDestOpt()/
    //     IPv6ExtHdrDestOpt()/IPv6ExtHdrDestOpt()/IPv6ExtHdrDestOpt()/IPv6ExtHdrDestOpt()/
    //     IPv6ExtHdrDestOpt()/IPv6ExtHdrDestOpt()/IPv6ExtHdrDestOpt()/IPv6ExtHdrDestOpt()/
    //     IPv6ExtHdrDestOpt()/IPv6ExtHdrDestOpt()/IPv6ExtHdrDestOpt()/IPv6ExtHdrDestOpt()/
    //     IPv6ExtHdrDestOpt()/UDP()
    {"seventeen extensions",
     "ipv6 too_many_extensions protocol 60 network 14 transport 182 end 198 from 22 to 38",
     "02000000000b02000000000a86dd6000000000903c4020010db800000000000000000000000120010db800000000"
     "00000000000000023c000104000000003c000104000000003c000104000000003c000104000000003c0001040000"
     "00003c000104000000003c000104000000003c000104000000003c000104000000003c000104000000003c000104"
     "000000003c000104000000003c000104000000003c000104000000003c000104000000003c000104000000001100"
     "010400000000003500350008a3ff"},
};

// The first `head_bytes` in memory of their own, so that a sanitizer sees a read behind them.
Dissection DissectFirst(const std::string& frame, size_t head_bytes, size_t frame_bytes) {
  const auto head = std::make_unique<uint8_t[]>(head_bytes);
  std::copy_n(frame.begin(), head_bytes, head.get());
  return Dissect({head.get(), head_bytes}, static_cast<uint32_t>(frame_bytes));
}

TEST(DissectTest, FindsWhatIsThere) {
  for (const Row& row : kRows) {
    const std::string frame = absl::HexStringToBytes(row.frame);
    EXPECT_EQ(Describe(DissectFirst(frame, frame.size(), frame.size())), row.found) << row.what;
  }
}

TEST(DissectTest, OfAnyHeadItFindsTheSameOrAsksForMore) {
  for (const Row& row : kRows) {
    const std::string frame = absl::HexStringToBytes(row.frame);
    const Dissection whole = DissectFirst(frame, frame.size(), frame.size());
    bool enough = false;
    for (size_t head = 0; head <= frame.size(); ++head) {
      const Dissection d = DissectFirst(frame, head, frame.size());
      if (d.fault == FrameFault::kBeyondHead) {
        // More is never less.
        EXPECT_FALSE(enough) << row.what << ", " << head;
        EXPECT_EQ(d.transport, Transport::kNone) << row.what << ", " << head;
        // Nothing is said to be where it was not seen.
        if (d.network != Network::kNone) {
          EXPECT_EQ(d.network, whole.network) << row.what << ", " << head;
          EXPECT_LE(d.transport_offset, head) << row.what << ", " << head;
        }
        continue;
      }
      enough = true;
      EXPECT_EQ(Describe(d), row.found) << row.what << ", " << head;
    }
    EXPECT_TRUE(enough) << row.what;
  }
}

TEST(DissectTest, AFrameThatEndsEarlyHasNoTransport) {
  for (const Row& row : kRows) {
    const std::string frame = absl::HexStringToBytes(row.frame);
    const Dissection whole = DissectFirst(frame, frame.size(), frame.size());
    if (whole.transport == Transport::kNone) continue;
    for (size_t length = 0; length < frame.size(); ++length) {
      const Dissection d = DissectFirst(frame, length, length);
      if (length >= whole.packet_end) {
        EXPECT_EQ(Describe(d), row.found) << row.what << ", " << length;
        continue;
      }
      EXPECT_NE(d.fault, FrameFault::kNone) << row.what << ", " << length;
      EXPECT_NE(d.fault, FrameFault::kBeyondHead) << row.what << ", " << length;
      EXPECT_EQ(d.transport, Transport::kNone) << row.what << ", " << length;
      EXPECT_EQ(d.packet_end, length) << row.what << ", " << length;
    }
  }
}

TEST(DissectTest, EachFaultHasANameOfItsOwn) {
  for (unsigned i = 1; i < kFrameFaults; ++i) {
    EXPECT_FALSE(kFrameFaultTexts[i].name.empty());
    EXPECT_FALSE(kFrameFaultTexts[i].what.empty());
    for (unsigned j = 0; j < i; ++j) EXPECT_NE(kFrameFaultTexts[i].name, kFrameFaultTexts[j].name);
  }
}

}  // namespace
}  // namespace penstock
