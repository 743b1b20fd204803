// SPDX-License-Identifier: BSD-3-Clause
//
// One packet, many addresses: against frames that scapy made. Main lcore.

#include "lib/packet/varying_address.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"
#include "lib/net/checksum.h"

namespace penstock {
namespace {

MacAddress Mac(absl::string_view text) { return MacAddress::Parse(text).value(); }
Ipv4Address Ip(absl::string_view text) { return Ipv4Address::Parse(text).value(); }

struct Vector {
  VaryingAddress::Which which;
  const char* address;
  // The headers of raw(Ether(src='02:00:00:00:00:0a',dst='02:00:00:00:00:01')/IP(id=0,src=…,dst=…)
  //                    /UDP(sport=9,dport=9)/Raw(bytes(22)))
  const char* scapy;
};

constexpr auto kSource = VaryingAddress::kSource;
constexpr auto kDestination = VaryingAddress::kDestination;
constexpr Vector kVectors[] = {
    {kDestination, "198.18.0.2",
     "02000000000102000000000a080045000032000000004011ee93c6120001c612000200090009001e7378"},
    {kDestination, "198.18.0.3",
     "02000000000102000000000a080045000032000000004011ee92c6120001c612000300090009001e7377"},
    {kDestination, "198.18.3.255",
     "02000000000102000000000a080045000032000000004011ea96c6120001c61203ff00090009001e6f7b"},
    {kDestination, "198.19.255.255",
     "02000000000102000000000a080045000032000000004011ee94c6120001c613ffff00090009001e7379"},
    {kDestination, "0.0.0.0",
     "02000000000102000000000a080045000032000000004011b4a8c61200010000000000090009001e398d"},
    {kDestination, "255.255.255.255",
     "02000000000102000000000a080045000032000000004011b4a8c6120001ffffffff00090009001e398d"},
    // A UDP checksum of 0 is sent as ffff, one of IPv4 is not.
    {kDestination, "0.0.57.141",
     "02000000000102000000000a0800450000320000000040117b1bc61200010000398d00090009001effff"},
    {kDestination, "0.0.180.168",
     "02000000000102000000000a0800450000320000000040110000c61200010000b4a800090009001e84e4"},
    {kSource, "198.18.0.3",
     "02000000000102000000000a080045000032000000004011ee91c6120003c612000200090009001e7376"},
    {kSource, "198.18.1.3",
     "02000000000102000000000a080045000032000000004011ed91c6120103c612000200090009001e7276"},
    {kSource, "198.18.255.3",
     "02000000000102000000000a080045000032000000004011ef90c612ff03c612000200090009001e7475"},
    {kSource, "0.0.0.0",
     "02000000000102000000000a080045000032000000004011b4a700000000c612000200090009001e398c"},
    {kSource, "255.255.255.255",
     "02000000000102000000000a080045000032000000004011b4a7ffffffffc612000200090009001e398c"},
    {kSource, "0.0.57.140",
     "02000000000102000000000a0800450000320000000040117b1b0000398cc612000200090009001effff"},
};

UdpFrame Frame(std::vector<uint16_t> segment_bytes) {
  return {.segment_bytes = std::move(segment_bytes),
          .source = Mac("02:00:00:00:00:0a"),
          .destination = Mac("02:00:00:00:00:01"),
          .ip = {Ip("198.18.0.1"), Ip("198.18.0.2")},
          .udp = {9, 9}};
}

class VaryingAddressTest : public testing::Test {
 protected:
  void SetUp() override {
    pool_ = rte_pktmbuf_pool_create("varying", 31, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
    ASSERT_NE(pool_, nullptr);
  }
  void TearDown() override {
    EXPECT_EQ(rte_mempool_in_use_count(pool_), 0u);
    rte_mempool_free(pool_);
  }

  rte_mbuf* Stamp(const PacketTemplate& packet) {
    std::vector<rte_mbuf*> mbufs(packet.segments());
    EXPECT_EQ(rte_mempool_get_bulk(pool_, reinterpret_cast<void**>(mbufs.data()),
                                   static_cast<unsigned>(mbufs.size())),
              0);
    packet.Stamp(mbufs);
    return mbufs[0];
  }

  static std::string BytesOf(const rte_mbuf* packet) {
    std::string bytes;
    for (const rte_mbuf* segment = packet; segment != nullptr; segment = segment->next) {
      bytes.append(rte_pktmbuf_mtod(segment, const char*), segment->data_len);
    }
    return bytes;
  }

  rte_mempool* pool_ = nullptr;
};

TEST_F(VaryingAddressTest, IsTheFrameThatScapyMakesHoweverItIsCut) {
  const std::vector<std::vector<uint16_t>> cuts = {
      {64},         {42, 22},
      {41, 23},                   // Between the bytes of a checksum …
      {25, 39},     {29, 3, 32},  // … and of an address.
      {20, 13, 31}, {1, 23, 1, 1, 1, 1, 4, 32}};
  for (const std::vector<uint16_t>& cut : cuts) {
    const PacketTemplate packet = PacketTemplate::Udp(Frame(cut));
    for (const Vector& vector : kVectors) {
      const VaryingAddress varying(packet, vector.which);
      rte_mbuf* const mbuf = Stamp(packet);
      // Nothing of an address set before stays behind.
      varying.Set(mbuf, Ip("1.2.3.4"));
      varying.Set(mbuf, Ip(vector.address));
      std::string wanted = absl::HexStringToBytes(vector.scapy);
      wanted.resize(64);
      EXPECT_EQ(absl::BytesToHexString(BytesOf(mbuf)), absl::BytesToHexString(wanted))
          << vector.address << " in " << cut.size() << " segments";
      rte_pktmbuf_free(mbuf);
    }
  }
}

// Against the checksums computed from nothing, over addresses that visit each carry.
TEST_F(VaryingAddressTest, HasRightChecksumsAtAnyAddress) {
  const PacketTemplate packet = PacketTemplate::Udp(Frame({43}));
  rte_mbuf* const mbuf = Stamp(packet);
  const auto* const ip = rte_pktmbuf_mtod_offset(mbuf, const Ipv4Header*, sizeof(EthernetHeader));
  const auto* const udp = reinterpret_cast<const uint8_t*>(ip + 1);
  for (const VaryingAddress::Which which : {kSource, kDestination}) {
    packet.Stamp(std::span<rte_mbuf* const>(&mbuf, 1));
    const VaryingAddress varying(packet, which);
    for (uint32_t i = 0; i < 100'000; ++i) {
      const Ipv4Address address(i * 2654435761u);
      varying.Set(mbuf, address);
      ASSERT_EQ(which == kSource ? ip->source : ip->destination, address);
      ASSERT_EQ(ip->checksum, Ipv4HeaderChecksum(*ip)) << address.Format();
      ASSERT_EQ(reinterpret_cast<const UdpHeader*>(udp)->checksum,
                UdpIpv4Checksum(ip->source, ip->destination, {udp, 9}))
          << address.Format();
    }
  }
  rte_pktmbuf_free(mbuf);
}

}  // namespace
}  // namespace penstock
