// SPDX-License-Identifier: BSD-3-Clause
//
// What a port is asked for, what is in effect, and what it is refused for. No port is needed: these
// are functions of what one answered. Main lcore, for mempools.

#include "lib/port/port_setup.h"

#include <gtest/gtest.h>
#include <rte_ethdev.h>

#include <cctype>
#include <string>

#include "lib/config/offloads.h"
#include "test/unit/pipeline/rig.h"

namespace penstock {
namespace {

PortCapabilities Able() {
  PortCapabilities port;
  port.port = 3;
  port.name = "dev3";
  port.rx_offloads = RTE_ETH_RX_OFFLOAD_SCATTER | RTE_ETH_RX_OFFLOAD_IPV4_CKSUM;
  port.tx_offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS | RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE |
                     RTE_ETH_TX_OFFLOAD_UDP_CKSUM;
  port.rss = true;
  port.rss_types = RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_UDP;
  port.min_mtu = 46;
  port.max_mtu = 9000;
  return port;
}

std::string Refusal(const PortCapabilities& port, const PortSetup& setup) {
  const absl::Status status = CheckSetup(port, setup);
  if (!status.ok()) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  }
  return std::string(status.message());
}

// DPDK's own names of the bits.
TEST(PortSetup, OffloadsHaveDpdksNames) {
  const auto expect = [](const Offload& offload, std::string dpdk) {
    for (char& c : dpdk) c = static_cast<char>(std::tolower(c));
    EXPECT_EQ(offload.name, dpdk);
  };
  for (const Offload& offload : kRxOffloads) {
    expect(offload, rte_eth_dev_rx_offload_name(offload.bit));
  }
  for (const Offload& offload : kTxOffloads) {
    expect(offload, rte_eth_dev_tx_offload_name(offload.bit));
  }
}

TEST(PortSetup, WhatIsInEffectIsWhatIsAlwaysWantedAndWhatWasAsked) {
  const PortCapabilities port = Able();
  EXPECT_EQ(EffectiveOffloads(port, {}),
            (Offloads{RTE_ETH_RX_OFFLOAD_SCATTER, RTE_ETH_TX_OFFLOAD_MULTI_SEGS}));
  EXPECT_EQ(
      EffectiveOffloads(port, {.mt_lockfree = true,  // Which it has not.
                               .fast_free = true,
                               .rx_offloads = RTE_ETH_RX_OFFLOAD_IPV4_CKSUM,
                               .tx_offloads = RTE_ETH_TX_OFFLOAD_UDP_CKSUM}),
      (Offloads{RTE_ETH_RX_OFFLOAD_SCATTER | RTE_ETH_RX_OFFLOAD_IPV4_CKSUM, port.tx_offloads}));
}

TEST(PortSetup, TheFreeThresholdIsOfDriversThatGoByIt) {
  PortCapabilities port = Able();
  for (const TxFree tx_free : {TxFree::kDriver, TxFree::kIfStalls, TxFree::kAlways}) {
    EXPECT_EQ(FreeThreshold(port, {.tx_descriptors = 512, .tx_free = tx_free}), 0);
  }
  port.reaps_by_threshold = true;
  EXPECT_EQ(FreeThreshold(port, {.tx_descriptors = 512, .tx_free = TxFree::kDriver}), 0);
  EXPECT_EQ(FreeThreshold(port, {.tx_descriptors = 512, .tx_free = TxFree::kIfStalls}), 1);
  EXPECT_EQ(FreeThreshold(port, {.tx_descriptors = 512, .tx_free = TxFree::kAlways}), 511);
}

TEST(PortSetup, RssIsByWhatWasAskedAndThePortHas) {
  PortCapabilities port = Able();
  EXPECT_EQ(RssTypes(port, {}), 0U);  // One queue.
  EXPECT_EQ(RssTypes(port, {.rx_queues = 2}), port.rss_types);
  EXPECT_EQ(RssTypes(port, {.rx_queues = 2, .rss = Rss::kIp}), uint64_t{RTE_ETH_RSS_IPV4});
  EXPECT_EQ(RssTypes(port, {.rx_queues = 2, .rss = Rss::kUdp}), port.rss_types);
  EXPECT_EQ(Refusal(port, {.rx_queues = 2, .rss = Rss::kUdp}), "");
  port.rss_types = RTE_ETH_RSS_IPV4;
  EXPECT_EQ(Refusal(port, {.rx_queues = 2, .rss = Rss::kUdp}),
            "--rss-udp: port 3 (dev3) cannot spread packets by UDP ports; leave the option out");
  EXPECT_EQ(Refusal(port, {.rx_queues = 2, .rss = Rss::kIp}), "");
  EXPECT_EQ(Refusal(port, {.rx_queues = 1, .rss = Rss::kUdp}), "");  // Nothing to spread over.
  port.rss = false;
  port.rss_types = 0;
  EXPECT_EQ(Refusal(port, {.rx_queues = 2, .rss = Rss::kIp}),
            "--rss-ip: port 3 (dev3) has no RSS of its own; leave the option out");
  EXPECT_EQ(Refusal(port, {.rx_queues = 2}), "");
}

TEST(PortSetup, AMissingOffloadIsNamedBesideThoseThatAreThere) {
  PortCapabilities port = Able();
  EXPECT_EQ(
      Refusal(port, {.rx_offloads = RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_TCP_CKSUM}),
      "--rx-offloads=ipv4_cksum,tcp_cksum: port 3 (dev3) has no tcp_cksum; it has "
      "ipv4_cksum,scatter");
  port.interface = "eth7";
  port.tx_offloads = 0;
  EXPECT_EQ(
      Refusal(port, {.tx_offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS}),
      "--tx-offloads=multi_segs: port 3 (dev3, interface eth7) has no multi_segs; it has none");
}

TEST(PortSetup, FastFreeIsRefusedWhereItWouldFreeToTheWrongPool) {
  const uint64_t asked = RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
  EXPECT_EQ(Refusal(Able(), {.fast_free = true, .tx_offloads = asked}), "");
  EXPECT_EQ(
      Refusal(Able(), {.fast_free = false, .tx_offloads = asked}),
      "--tx-offloads=mbuf_fast_free: port 3 (dev3) sends from several mempools; leave it out, "
      "or give lcores and ports of one NUMA node");
}

TEST(PortSetup, TheLongestPacketFitsTheMtuAndWhereItMustOneMbuf) {
  Pool pool(10, 2176);
  PortCapabilities port = Able();
  EXPECT_EQ(MtuOf(1514), 1500);
  EXPECT_EQ(Refusal(port, {.mempool = pool.get(), .max_packet_bytes = 9014}), "");
  EXPECT_EQ(Refusal(port, {.mempool = pool.get(), .max_packet_bytes = 9015}),
            "--max-pkt-len=9019: port 3 (dev3) takes packets of at most 64 to 9018 bytes");
  port.min_mtu = 68;
  EXPECT_EQ(Refusal(port, {.mempool = pool.get(), .max_packet_bytes = 60}),
            "--max-pkt-len=64: port 3 (dev3) takes packets of at most 86 to 9018 bytes");
  // Without chains: 2176 bytes of which 128 are headroom.
  port.rx_offloads = 0;
  EXPECT_EQ(Refusal(port, {.mempool = pool.get(), .max_packet_bytes = 2048}), "");
  EXPECT_EQ(Refusal(port, {.mempool = pool.get(), .max_packet_bytes = 2049}),
            "--max-pkt-len=2053: port 3 (dev3) receives a packet into one mbuf, which takes "
            "--mbuf-size=2177 or more");
  // XDP takes 256 bytes more.
  port.hidden_sockets = true;
  EXPECT_EQ(Refusal(port, {.mempool = pool.get(), .max_packet_bytes = 1792}), "");
  EXPECT_NE(Refusal(port, {.mempool = pool.get(), .max_packet_bytes = 1793}), "");
  port.chains_segments = true;
  EXPECT_EQ(Refusal(port, {.mempool = pool.get(), .max_packet_bytes = 1793}), "");
}

}  // namespace
}  // namespace penstock
