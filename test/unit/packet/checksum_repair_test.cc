// SPDX-License-Identifier: BSD-3-Clause
//
// Checksums put right, in packets cut in every way, and asked of ports. Main lcore.

#include "lib/packet/checksum_repair.h"

#include <gtest/gtest.h>
#include <rte_ethdev.h>

#include "test/support/packets.h"
#include "test/unit/packet/checksum_rows.h"

namespace penstock {
namespace {

class ChecksumRepairTest : public testing::Test {
 protected:
  void SetUp() override {
    pool_ = rte_pktmbuf_pool_create("repair", 511, 0, 0, 1024, SOCKET_ID_ANY);
    ASSERT_NE(pool_, nullptr);
  }
  void TearDown() override {
    EXPECT_EQ(rte_mempool_in_use_count(pool_), 0u);
    rte_mempool_free(pool_);
  }

  rte_mempool* pool_ = nullptr;
};

// Ways to cut a frame: none, each byte alone, within and between headers, with empty segments.
std::vector<std::vector<size_t>> Cuts(const PacketBytes& frame) {
  return {{},   OneByOne(frame), {14, 20}, {13, 1, 7, 0, 2}, {0, 3, 3, 3, 3, 3, 3}, {41}, {42},
          {43}, {54, 1, 1, 1}};
}

void ExpectFound(const ChecksumFindings& found, const ChecksumFindings& expected,
                 const std::string& what) {
  EXPECT_EQ(static_cast<int>(found.fault), static_cast<int>(expected.fault)) << what;
  EXPECT_EQ(found.bad_ip, expected.bad_ip) << what;
  EXPECT_EQ(found.bad_transport, expected.bad_transport) << what;
  EXPECT_EQ(found.udp_without, expected.udp_without) << what;
  EXPECT_EQ(found.fragment, expected.fragment) << what;
  EXPECT_EQ(found.unknown_route, expected.unknown_route) << what;
}

PacketBytes WithWrong(PacketBytes frame, uint32_t field) {
  if (field != 0) frame[field] ^= 0x5a;
  return frame;
}

TEST_F(ChecksumRepairTest, PutsRightWhatIsWrongAndNothingElse) {
  for (const ChecksumRow& row : kChecksumRows) {
    const PacketBytes frame = FromHex(row.frame);
    for (const bool bad_ip : {false, true}) {
      for (const bool bad_transport : {false, true}) {
        if ((bad_ip && row.ip_field == 0) || (bad_transport && row.transport_field == 0)) continue;
        PacketBytes given = WithWrong(frame, bad_ip ? row.ip_field : 0);
        given = WithWrong(given, bad_transport ? row.transport_field : 0);
        ChecksumFindings expected = row.found;
        expected.bad_ip = bad_ip;
        expected.bad_transport = bad_transport;
        for (const std::vector<size_t>& lengths : Cuts(frame)) {
          rte_mbuf* const packet = MakePacket(pool_, given, lengths);
          const ChecksumFindings found = RepairChecksums(packet, {});
          ExpectFound(found, expected, row.what);
          EXPECT_EQ(ToHex(BytesOf(packet)), ToHex(frame)) << row.what;
          EXPECT_TRUE(GuardsHold(packet)) << row.what;
          EXPECT_EQ(packet->ol_flags, 0u);
          rte_pktmbuf_free(packet);
        }
      }
    }
  }
}

TEST_F(ChecksumRepairTest, ChecksumsThatWereNeverFilled) {
  // A field of zero is a wrong checksum of all but UDP.
  for (const ChecksumRow& row : kChecksumRows) {
    const PacketBytes frame = FromHex(row.frame);
    if (row.transport_field == 0 || absl::string_view(row.what).find("tcp") == std::string::npos) {
      continue;
    }
    PacketBytes given = frame;
    given[row.transport_field] = given[row.transport_field + 1] = 0;
    rte_mbuf* const packet = MakePacket(pool_, given);
    EXPECT_TRUE(RepairChecksums(packet, {}).bad_transport);
    EXPECT_EQ(ToHex(BytesOf(packet)), ToHex(frame)) << row.what;
    rte_pktmbuf_free(packet);
  }
  // An ICMP echo reply of nothing but zeros sums up to zero; its checksum is all ones.
  PacketBytes zeros = FromHex(
      "02000000000b02000000000a08004500001c0001000040018ea9c0000201c63364020000000000000000");
  rte_mbuf* const packet = MakePacket(pool_, zeros, {30, 7});
  EXPECT_TRUE(RepairChecksums(packet, {}).bad_transport);
  zeros[36] = zeros[37] = 0xff;
  EXPECT_EQ(ToHex(BytesOf(packet)), ToHex(zeros));
  rte_pktmbuf_free(packet);
}

TEST_F(ChecksumRepairTest, EveryLengthOfAFrameIsSafe) {
  for (const ChecksumRow& row : kChecksumRows) {
    const PacketBytes frame = FromHex(row.frame);
    for (size_t length = 0; length < frame.size(); ++length) {
      const PacketBytes cut(frame.begin(), frame.begin() + static_cast<long>(length));
      for (const std::vector<size_t>& lengths : {std::vector<size_t>{}, OneByOne(cut)}) {
        rte_mbuf* const packet = MakePacket(pool_, cut, lengths);
        const ChecksumFindings found = RepairChecksums(packet, {});
        EXPECT_EQ(found.fault == FrameFault::kRunt, length < 14) << row.what << ", " << length;
        EXPECT_FALSE(found.bad_ip) << row.what << ", " << length;
        EXPECT_EQ(ToHex(BytesOf(packet)), ToHex(cut)) << row.what << ", " << length;
        EXPECT_TRUE(GuardsHold(packet)) << row.what << ", " << length;
        rte_pktmbuf_free(packet);
      }
    }
  }
}

const ChecksumRow& RowOf(absl::string_view what) {
  for (const ChecksumRow& row : kChecksumRows) {
    if (row.what == what) return row;
  }
  ADD_FAILURE() << what;
  return kChecksumRows[0];
}

constexpr uint64_t kRxAll =
    RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_TCP_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM;
constexpr uint64_t kTxAll =
    RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM;

TEST_F(ChecksumRepairTest, AsksThePortAsDpdkWantsIt) {
  struct Row {
    const char* what;
    uint64_t tx;
    uint64_t ol_flags;  // 0: not asked, computed here.
    uint16_t l2_len, l3_len;
    const char* ip_field;         // What is then in the fields; "" as scapy has it.
    const char* transport_field;  // The pseudo header's sum, by hand.
  };
  constexpr uint64_t kIp = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM;
  const Row kRows[] = {
      // c000 + 0201 + c633 + 6402 + 0011 + 0010
      {"udp", kTxAll, kIp | RTE_MBUF_F_TX_UDP_CKSUM, 14, 20, "0000", "ec58"},
      // … + 0006 + 0019
      {"tcp", kTxAll, kIp | RTE_MBUF_F_TX_TCP_CKSUM, 14, 20, "0000", "ec56"},
      {"tcp", RTE_ETH_TX_OFFLOAD_TCP_CKSUM, RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_TCP_CKSUM, 14, 20,
       "", "ec56"},
      {"tcp", RTE_ETH_TX_OFFLOAD_IPV4_CKSUM, kIp, 14, 20, "0000", ""},
      {"tcp", RTE_ETH_TX_OFFLOAD_UDP_CKSUM, 0, 0, 0, "", ""},
      {"qinq tcp", kTxAll, kIp | RTE_MBUF_F_TX_TCP_CKSUM, 22, 20, "0000", "ec54"},
      {"udp behind ip options", kTxAll, kIp | RTE_MBUF_F_TX_UDP_CKSUM, 14, 24, "0000", "ec51"},
      // 2 * (2001 + 0db8) + 0001 + 0002 + 0006 + 0018
      {"ipv6 tcp", kTxAll, RTE_MBUF_F_TX_IPV6 | RTE_MBUF_F_TX_TCP_CKSUM, 14, 40, "", "5b93"},
      // What a port cannot know or does not offer: only the IPv4 header of it, or nothing.
      {"icmp", kTxAll, kIp, 14, 20, "0000", ""},
      {"udp shorter than its packet", kTxAll, kIp, 14, 20, "0000", ""},
      {"loose source route", kTxAll, 0, 0, 0, "", ""},
      {"hop-by-hop and destination options", kTxAll, 0, 0, 0, "", ""},
      {"routing header, one left", kTxAll, 0, 0, 0, "", ""},
      {"udp without", kTxAll, kIp, 14, 20, "0000", ""},
      {"later fragment", kTxAll, kIp, 14, 20, "0000", ""},
      {"tcp that is cut short", kTxAll, 0, 0, 0, "", ""},
  };
  for (const Row& row : kRows) {
    const ChecksumRow& given = RowOf(row.what);
    PacketBytes expected = FromHex(given.frame);
    const auto expect = [&expected](uint32_t field, const char* hex) {
      const PacketBytes bytes = FromHex(hex);
      std::copy(bytes.begin(), bytes.end(), expected.begin() + field);
    };
    expect(given.ip_field, row.ip_field);
    expect(given.transport_field, row.transport_field);
    for (const std::vector<size_t>& lengths : {std::vector<size_t>{}, OneByOne(expected)}) {
      rte_mbuf* const packet = MakePacket(pool_, FromHex(given.frame), lengths);
      packet->ol_flags = RTE_MBUF_F_RX_RSS_HASH;
      RepairChecksums(packet, ChecksumOffloads::Of(0, row.tx));
      EXPECT_EQ(packet->ol_flags, row.ol_flags | RTE_MBUF_F_RX_RSS_HASH) << row.what;
      EXPECT_EQ(packet->l2_len, row.l2_len) << row.what;
      EXPECT_EQ(packet->l3_len, row.l3_len) << row.what;
      EXPECT_EQ(ToHex(BytesOf(packet)), ToHex(expected)) << row.what;
      rte_pktmbuf_free(packet);
    }
  }
}

TEST_F(ChecksumRepairTest, BelievesThePortThatVerifies) {
  struct Row {
    const char* why;
    const char* what;
    uint64_t rx;
    uint64_t ol_flags;
    uint32_t packet_type;
    bool filled_ip, filled_transport;
    bool bad_ip, bad_transport;
  };
  constexpr uint64_t kGood = RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD;
  constexpr uint64_t kBad = RTE_MBUF_F_RX_IP_CKSUM_BAD | RTE_MBUF_F_RX_L4_CKSUM_BAD;
  constexpr uint64_t kNone = RTE_MBUF_F_RX_IP_CKSUM_NONE | RTE_MBUF_F_RX_L4_CKSUM_NONE;
  const Row kRows[] = {
      {"good is good, whatever is there", "tcp", kRxAll, kGood, 0, false, false, false, false},
      {"bad is filled and counted", "tcp", kRxAll, kBad, 0, true, true, true, true},
      {"none is filled and not counted", "tcp", kRxAll, kNone, 0, true, true, false, false},
      {"unknown is verified", "tcp", kRxAll, 0, 0, true, true, true, true},
      {"not in effect", "tcp", 0, kGood, 0, true, true, true, true},
      {"of another protocol", "tcp", RTE_ETH_RX_OFFLOAD_UDP_CKSUM, kGood, 0, true, true, true,
       true},
      {"udp", "udp", RTE_ETH_RX_OFFLOAD_UDP_CKSUM, kGood, 0, true, false, true, false},
      {"of a tunnel, perhaps", "udp", kRxAll, kGood, RTE_PTYPE_TUNNEL_VXLAN, true, true, true,
       true},
      {"ICMP is verified here", "icmp", kRxAll, kGood, 0, false, true, false, true},
      {"IPv6", "ipv6 udp", kRxAll, kGood, 0, false, false, false, false},
  };
  for (const Row& row : kRows) {
    const ChecksumRow& given = RowOf(row.what);
    const PacketBytes frame = FromHex(given.frame);
    PacketBytes wrong = WithWrong(WithWrong(frame, given.ip_field), given.transport_field);
    rte_mbuf* const packet = MakePacket(pool_, wrong);
    packet->ol_flags = row.ol_flags;
    packet->packet_type = row.packet_type;
    const ChecksumFindings found = RepairChecksums(packet, ChecksumOffloads::Of(row.rx, 0));
    EXPECT_EQ(found.bad_ip, row.bad_ip) << row.why;
    EXPECT_EQ(found.bad_transport, row.bad_transport) << row.why;
    if (row.filled_ip && given.ip_field != 0) wrong[given.ip_field] ^= 0x5a;
    if (row.filled_transport) wrong[given.transport_field] ^= 0x5a;
    EXPECT_EQ(ToHex(BytesOf(packet)), ToHex(wrong)) << row.why;
    rte_pktmbuf_free(packet);
  }
}

}  // namespace
}  // namespace penstock
