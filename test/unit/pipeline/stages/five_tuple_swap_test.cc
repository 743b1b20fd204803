// SPDX-License-Identifier: BSD-3-Clause
//
// 5tswap, against scapy 2.5.0: each row is a frame and the same frame built with all addresses and
// ports the other way round, checksums computed anew. The comment says how: from 02:00:00:00:00:0a
// to :0b, from 192.0.2.1 to 198.51.100.2, from 2001:db8::1 to ::2. Main lcore.

#include "lib/pipeline/stages/five_tuple_swap.h"

#include <gtest/gtest.h>

#include "test/support/packets.h"
#include "test/unit/pipeline/rig.h"
#include "test/unit/pipeline/stages/bench.h"

namespace penstock {
namespace {

static_assert(Stage<FiveTupleSwap>);

struct Row {
  const char* what;
  FrameFault fault;
  const char* given;
  const char* sent;
};

const Row kRows[] = {
    // IP()/UDP(sport=1,dport=2)/b"penstock"
    {"udp", FrameFault::kNone,
     "02000000000b02000000000a0800450000240001000040118e91c0000201c63364020001000200105ce070656e73"
     "746f636b",
     "02000000000a02000000000b0800450000240001000040118e91c6336402c00002010002000100105ce070656e73"
     "746f636b"},
    // IP()/TCP(sport=1,dport=2,seq=0x01020304,flags="PA")/b"x"
    {"tcp", FrameFault::kNone,
     "02000000000b02000000000a0800450000290001000040068e97c0000201c6336402000100020102030400000000"
     "50182000278b000078",
     "02000000000a02000000000b0800450000290001000040068e97c6336402c0000201000200010102030400000000"
     "50182000278b000078"},
    // IP()/UDP(sport=1,dport=2)/Padding(b"\x77"*18)
    {"udp, padded", FrameFault::kNone,
     "02000000000b02000000000a08004500001c0001000040118e99c0000201c633640200010002000813a477777777"
     "7777777777777777777777777777",
     "02000000000a02000000000b08004500001c0001000040118e99c6336402c000020100020001000813a477777777"
     "7777777777777777777777777777"},
    // Dot1Q(vlan=5)/IP()/UDP(sport=1,dport=2)/b"abc"
    {"vlan udp", FrameFault::kNone,
     "02000000000b02000000000a8100000508004500001f0001000040118e96c0000201c633640200010002000b4f3b"
     "616263",
     "02000000000a02000000000b8100000508004500001f0001000040118e96c6336402c000020100020001000b4f3b"
     "616263"},
    // Ether(type=0x88a8)/Dot1Q(vlan=6)/Dot1Q(vlan=5)/IP()/TCP(sport=1,dport=2)
    {"qinq tcp", FrameFault::kNone,
     "02000000000b02000000000a88a80006810000050800450000280001000040068e98c0000201c633640200010002"
     "000000000000000050022000a3a80000",
     "02000000000a02000000000b88a80006810000050800450000280001000040068e98c6336402c000020100020001"
     "000000000000000050022000a3a80000"},
    // Ether(type=0x9100)/Dot1Q(vlan=6)/Dot1Q(vlan=5)/IP()/UDP(sport=1,dport=2)
    {"old qinq udp", FrameFault::kNone,
     "02000000000b02000000000a910000068100000508004500001c0001000040118e99c0000201c633640200010002"
     "000813a4",
     "02000000000a02000000000b910000068100000508004500001c0001000040118e99c6336402c000020100020001"
     "000813a4"},
    // IP(options=[IPOption_Router_Alert()])/UDP(sport=1,dport=2)
    {"ip options", FrameFault::kNone,
     "02000000000b02000000000a080046000020000100004011f990c0000201c63364029404000000010002000813a4",
     "02000000000a02000000000b080046000020000100004011f990c6336402c00002019404000000020001000813a"
     "4"},
    // IPv6()/UDP(sport=1,dport=2)/b"abc"
    {"ipv6 udp", FrameFault::kNone,
     "02000000000b02000000000a86dd60000000000b114020010db800000000000000000000000120010db800000000"
     "000000000000000200010002000bdffd616263",
     "02000000000a02000000000b86dd60000000000b114020010db800000000000000000000000220010db800000000"
     "000000000000000100020001000bdffd616263"},
    // IPv6()/TCP(sport=1,dport=2)
    {"ipv6 tcp", FrameFault::kNone,
     "02000000000b02000000000a86dd600000000014064020010db800000000000000000000000120010db800000000"
     "000000000000000200010002000000000000000050022000346b0000",
     "02000000000a02000000000b86dd600000000014064020010db800000000000000000000000220010db800000000"
     "000000000000000100020001000000000000000050022000346b0000"},
    // IPv6()/IPv6ExtHdrHopByHop()/IPv6ExtHdrDestOpt()/UDP(sport=1,dport=2)
    {"ipv6 extensions", FrameFault::kNone,
     "02000000000b02000000000a86dd600000000018004020010db800000000000000000000000120010db800000000"
     "00000000000000023c000104000000001100010400000000000100020008a466",
     "02000000000a02000000000b86dd600000000018004020010db800000000000000000000000220010db800000000"
     "00000000000000013c000104000000001100010400000000000200010008a466"},
    // IP(flags="MF")/UDP(sport=1,dport=2,len=99,chksum=0x1234)/b"12345678"
    {"first fragment", FrameFault::kNone,
     "02000000000b02000000000a0800450000240001200040116e91c0000201c6336402000100020063123431323334"
     "35363738",
     "02000000000a02000000000b0800450000240001200040116e91c6336402c0000201000200010063123431323334"
     "35363738"},
    // IP(frag=1,proto=17)/b"12345678"
    {"later fragment", FrameFault::kNone,
     "02000000000b02000000000a08004500001c0001000140118e98c0000201c63364023132333435363738",
     "02000000000a02000000000b08004500001c0001000140118e98c6336402c00002013132333435363738"},
    // IPv6()/IPv6ExtHdrFragment(offset=1,nh=17)/b"12345678"
    {"ipv6 later fragment", FrameFault::kNone,
     "02000000000b02000000000a86dd6000000000102c4020010db800000000000000000000000120010db800000000"
     "000000000000000211000008000000003132333435363738",
     "02000000000a02000000000b86dd6000000000102c4020010db800000000000000000000000220010db800000000"
     "000000000000000111000008000000003132333435363738"},
    // IP()/ICMP(id=1,seq=2)/b"12345678"
    {"icmp", FrameFault::kNone,
     "02000000000b02000000000a0800450000240001000040018ea1c0000201c6336402080027280001000231323334"
     "35363738",
     "02000000000a02000000000b0800450000240001000040018ea1c6336402c0000201080027280001000231323334"
     "35363738"},
    // IP()/SCTP(sport=1,dport=2,chksum=0x12345678)
    {"sctp", FrameFault::kNone,
     "02000000000b02000000000a0800450000200001000040848e22c0000201c6336402000100020000000012345678",
     "02000000000a02000000000b0800450000200001000040848e22c6336402c000020100010002000000001234567"
     "8"},
    // ARP(op=1,hwsrc="02:00:00:00:00:0a",psrc="192.0.2.1",pdst="192.0.2.2")
    {"arp", FrameFault::kNone,
     "02000000000b02000000000a0806000108000604000102000000000ac0000201000000000000c0000202",
     "02000000000a02000000000b0806000108000604000102000000000ac0000201000000000000c0000202"},
    // Ether(type=0x88cc)/b"\1\2\3"
    {"lldp", FrameFault::kNone, "02000000000b02000000000a88cc010203",
     "02000000000a02000000000b88cc010203"},
    // IP(proto=17)/Raw(bytes(UDP(sport=1,dport=2))[:4])
    {"udp cut short behind the ports", FrameFault::kTruncated,
     "02000000000b02000000000a0800450000180001000040118e9dc0000201c633640200010002",
     "02000000000a02000000000b0800450000180001000040118e9dc6336402c000020100020001"},
    // IP(proto=17)/Raw(b"\0\1\0")
    {"udp cut short within the ports", FrameFault::kTruncated,
     "02000000000b02000000000a0800450000170001000040118e9ec0000201c6336402000100",
     "02000000000a02000000000b0800450000170001000040118e9ec6336402c0000201000100"},
    // IP(len=500)/UDP(sport=1,dport=2,chksum=0x1234)
    {"cut short, ports are there", FrameFault::kBadLength,
     "02000000000b02000000000a0800450001f40001000040118cc1c0000201c63364020001000200081234",
     "02000000000a02000000000b0800450001f40001000040118cc1c6336402c00002010002000100081234"},
    // IP(len=20,proto=17)/Padding(b"\0\1\0\2\0\3\0\4")
    {"ports behind the end", FrameFault::kTruncated,
     "02000000000b02000000000a0800450000140001000040118ea1c0000201c63364020001000200030004",
     "02000000000a02000000000b0800450000140001000040118ea1c6336402c00002010001000200030004"},
    // IP()/UDP(sport=1,dport=2,len=500,chksum=0x1234)
    {"udp length", FrameFault::kBadTransportLength,
     "02000000000b02000000000a08004500001c0001000040118e99c0000201c63364020001000201f41234",
     "02000000000a02000000000b08004500001c0001000040118e99c6336402c00002010002000101f41234"},
    // IP(version=5)/UDP(sport=1,dport=2)
    {"bad version", FrameFault::kBadVersion,
     "02000000000b02000000000a08005500001c0001000040117e99c0000201c633640200010002000813a4",
     "02000000000a02000000000b08005500001c0001000040117e99c0000201c633640200010002000813a4"},
    // IP(ihl=4)/UDP(sport=1,dport=2)
    {"bad header length", FrameFault::kBadHeaderLength,
     "02000000000b02000000000a08004400001c0001000040118f99c0000201c633640200010002000813a4",
     "02000000000a02000000000b08004400001c0001000040118f99c0000201c633640200010002000813a4"},
    // Ether(type=0x8100)/b"\0\5\x08"
    {"vlan tag cut short", FrameFault::kTruncated, "02000000000b02000000000a8100000508",
     "02000000000a02000000000b8100000508"},
    // Ether(type=0x800)/b""
    {"nothing but an Ethernet header", FrameFault::kTruncated, "02000000000b02000000000a0800",
     "02000000000a02000000000b0800"},
};

FiveTupleSwap Make() {
  const Configuration configuration;
  auto stage = FiveTupleSwap::Create(StageContext{configuration, 1, {{0, 0, 3}}, {}, nullptr});
  EXPECT_TRUE(stage.ok()) << stage.status();
  return *std::move(stage);
}

std::map<unsigned, uint64_t> CountsOf(FrameFault fault) {
  if (fault == FrameFault::kNone) return {};
  return {{FaultCounter(fault), 1}};
}

TEST(FiveTupleSwap, ExchangesWhatIsThereHoweverThePacketIsCut) {
  Pool pool(256);
  for (const Row& row : kRows) {
    const PacketBytes given = FromHex(row.given);
    for (const std::vector<size_t>& lengths : std::vector<std::vector<size_t>>{{},
                                                                               OneByOne(given),
                                                                               {14},
                                                                               {13, 1, 19, 0, 3},
                                                                               {34},
                                                                               {36},
                                                                               {41},
                                                                               {42},
                                                                               {0, 54},
                                                                               {58},
                                                                               {60}}) {
      FiveTupleSwap stage = Make();
      RecordedOutlets out;
      std::vector<rte_mbuf*> mbufs = {MakePacket(pool.get(), given, lengths)};
      stage.Process(Burst{mbufs, 0}, out);
      ASSERT_EQ(out.sent.size(), 1U) << row.what;
      EXPECT_EQ(out.sent[0].first, 3);
      EXPECT_EQ(ToHex(BytesOf(out.sent[0].second)), row.sent) << row.what;
      EXPECT_TRUE(GuardsHold(out.sent[0].second)) << row.what;
      EXPECT_EQ(out.counts, CountsOf(row.fault)) << row.what;
      EXPECT_TRUE(out.dropped.empty());
    }
  }
}

TEST(FiveTupleSwap, AFrameThatEndsAnywhereIsSafe) {
  Pool pool(256);
  for (const Row& row : kRows) {
    const PacketBytes given = FromHex(row.given);
    for (size_t length = 14; length < given.size(); ++length) {
      const PacketBytes cut(given.begin(), given.begin() + static_cast<long>(length));
      std::string sent[2];
      for (const bool segmented : {false, true}) {
        FiveTupleSwap stage = Make();
        RecordedOutlets out;
        std::vector<rte_mbuf*> mbufs = {
            MakePacket(pool.get(), cut, segmented ? OneByOne(cut) : std::vector<size_t>{})};
        stage.Process(Burst{mbufs, 0}, out);
        ASSERT_EQ(out.sent.size(), 1U) << row.what;
        EXPECT_TRUE(GuardsHold(out.sent[0].second)) << row.what << ", " << length;
        sent[segmented ? 1 : 0] = ToHex(BytesOf(out.sent[0].second));
      }
      EXPECT_EQ(sent[0], sent[1]) << row.what << ", " << length;
      EXPECT_EQ(sent[0].substr(0, 24), std::string(row.sent).substr(0, 24)) << row.what;
    }
  }
}

TEST(FiveTupleSwap, DropsARuntByNameAndKeepsTheOrderOfTheRest) {
  Pool pool(100);
  EXPECT_EQ(FiveTupleSwap::kDrops[FiveTupleSwap::kRunt].name, "runt");
  FiveTupleSwap stage = Make();
  RecordedOutlets out;
  std::vector<rte_mbuf*> mbufs;
  std::vector<rte_mbuf*> expected;
  const PacketBytes frame = FromHex(kRows[0].given);
  for (uint32_t i = 0; i < 20; ++i) {
    const bool runt = i == 0 || i == 7 || i == 19;
    mbufs.push_back(MakePacket(pool.get(),
                               runt ? PacketBytes(frame.begin(), frame.begin() + 13) : frame,
                               i == 7 ? std::vector<size_t>{6} : std::vector<size_t>{}));
    if (!runt) expected.push_back(mbufs.back());
  }
  stage.Process(Burst{mbufs, 0}, out);
  EXPECT_EQ(out.dropped, (std::map<unsigned, uint64_t>{{FiveTupleSwap::kRunt, 3}}));
  std::vector<rte_mbuf*> sent;
  for (const auto& [slot, mbuf] : out.sent) sent.push_back(mbuf);
  EXPECT_EQ(sent, expected);
  EXPECT_TRUE(out.counts.empty());
}

}  // namespace
}  // namespace penstock
