// SPDX-License-Identifier: BSD-3-Clause
//
// What ports say of themselves, and what is known of their drivers besides. On software devices
// that touch nothing outside the process. Main lcore.

#include "lib/port/capabilities.h"

#include <gtest/gtest.h>
#include <rte_ethdev.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "test/unit/pipeline/rig.h"

namespace penstock {
namespace {

TEST(Capabilities, OfNetNull) {
  NullPort port;
  const auto known = QueryCapabilities(port.port());
  ASSERT_TRUE(known.ok()) << known.status();
  EXPECT_EQ(known->port, port.port());
  EXPECT_EQ(known->name, port.name());
  EXPECT_EQ(known->driver, "net_null");
  EXPECT_EQ(known->interface, "");
  EXPECT_EQ(known->ifindex, 0U);
  rte_ether_addr mac;
  ASSERT_EQ(rte_eth_macaddr_get(port.port(), &mac), 0);
  EXPECT_TRUE(std::equal(known->mac.bytes.begin(), known->mac.bytes.end(), mac.addr_bytes));
  EXPECT_NE(known->mac, MacAddress{});
  EXPECT_GT(known->rx.max_queues, 1);
  EXPECT_GT(known->tx.max_queues, 1);
  EXPECT_TRUE(known->multi_segments);
  EXPECT_FALSE(known->timestamps);
  EXPECT_FALSE(known->inline_ipsec);
  EXPECT_FALSE(known->equal_queues);
  EXPECT_FALSE(known->sets_up_once);
  EXPECT_FALSE(known->hidden_sockets);
  EXPECT_EQ(known->driver_mbufs, 0U);
}

// The flags against what ethdev gives, for every driver alike.
TEST(Capabilities, FlagsAreThoseOfTheDriver) {
  NullPort null;
  RingPort ring({.rx_queues = 3, .tx_queues = 2});
  for (const uint16_t port : {null.port(), ring.port()}) {
    const auto known = QueryCapabilities(port);
    ASSERT_TRUE(known.ok()) << known.status();
    rte_eth_dev_info info;
    ASSERT_EQ(rte_eth_dev_info_get(port, &info), 0);
    const uint64_t tx = info.tx_offload_capa | info.tx_queue_offload_capa;
    EXPECT_EQ(known->mt_lockfree, (tx & RTE_ETH_TX_OFFLOAD_MT_LOCKFREE) != 0);
    EXPECT_EQ(known->fast_free, (tx & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE) != 0);
    EXPECT_EQ(known->rss, info.flow_type_rss_offloads != 0);
    EXPECT_EQ(known->rx.max_queues, info.max_rx_queues);
    EXPECT_EQ(known->tx.max_queues, info.max_tx_queues);
    EXPECT_EQ(known->tx.max_descriptors, info.tx_desc_lim.nb_max);
    EXPECT_EQ(known->rx_offloads, info.rx_offload_capa | info.rx_queue_offload_capa);
    EXPECT_EQ(known->tx_offloads, tx);
    EXPECT_EQ(known->rss_types, info.flow_type_rss_offloads);
    EXPECT_EQ(known->min_mtu, info.min_mtu);
    EXPECT_EQ(known->max_mtu, info.max_mtu);  // Of drivers that take packets of any length.
  }
  const auto known = QueryCapabilities(ring.port());
  EXPECT_EQ(known->rx.max_queues, 3);
  EXPECT_EQ(known->tx.max_queues, 2);
}

// Drivers that do not offer MULTI_SEGS and yet walk a chain.
TEST(Capabilities, DriversThatTakeChainsWithoutSayingSo) {
  char directory[] = "/tmp/penstock-capabilities-XXXXXX";
  ASSERT_NE(mkdtemp(directory), nullptr);
  {
    RingPort ring;
    const auto known = QueryCapabilities(ring.port());
    ASSERT_TRUE(known.ok()) << known.status();
    EXPECT_EQ(known->driver, "net_ring");
    EXPECT_TRUE(known->multi_segments);
  }
  const std::string name = UniqueName("net_pcap_rig");
  const std::string arguments = "tx_pcap=" + std::string(directory) + "/out.pcap";
  ASSERT_EQ(rte_eal_hotplug_add("vdev", name.c_str(), arguments.c_str()), 0);
  uint16_t port = 0;
  ASSERT_EQ(rte_eth_dev_get_port_by_name(name.c_str(), &port), 0);
  const auto known = QueryCapabilities(port);
  ASSERT_TRUE(known.ok()) << known.status();
  EXPECT_EQ(known->driver, "net_pcap");
  EXPECT_TRUE(known->multi_segments);
  EXPECT_FALSE(known->equal_queues);
  EXPECT_EQ(rte_eal_hotplug_remove("vdev", name.c_str()), 0);
  std::filesystem::remove_all(directory);
}

TEST(Capabilities, OfAPortThatIsNotThere) {
  const auto known = QueryCapabilities(RTE_MAX_ETHPORTS - 1);
  ASSERT_FALSE(known.ok());
  EXPECT_EQ(std::string(known.status().message()), "rte_eth_dev_info_get(port 31): No such device");
}

TEST(Capabilities, FunctionsAreFoundOutByAsking) {
  Pool pool(100);
  RingPort port;
  port.Start(pool);
  auto known = QueryCapabilities(port.port());
  ASSERT_TRUE(known.ok()) << known.status();
  // As if they had been there: the answer replaces the guess.
  known->tx_done_cleanup = true;
  known->rx_interrupts = true;
  EXPECT_EQ(TxReapOf(*known), TxReap::kUnknown);
  QueryFunctions(*known);
  EXPECT_FALSE(known->tx_done_cleanup);
  EXPECT_FALSE(known->rx_interrupts);
  EXPECT_EQ(TxReapOf(*known), TxReap::kNone);
}

TEST(Capabilities, HowSentPacketsAreTakenBack) {
  PortCapabilities known;
  known.status_tells = true;
  EXPECT_EQ(TxReapOf(known), TxReap::kUnknown);
  known.functions_known = true;
  EXPECT_EQ(TxReapOf(known), TxReap::kNone) << "to know is not to be able";
  known.tx_done_cleanup = true;
  EXPECT_EQ(TxReapOf(known), TxReap::kCleanupTold);
  known.status_tells = false;
  EXPECT_EQ(TxReapOf(known), TxReap::kCleanup);
  PortCapabilities mlx5;
  mlx5.status_reaps = true;
  EXPECT_EQ(TxReapOf(mlx5), TxReap::kStatus) << "known from the table";
}

TEST(Capabilities, TheTableHasThemInTheOrderOfTheDocumentation) {
  const char* const names[] = {"tx_done_cleanup", "mt_lockfree",  "fast_free",
                               "multi_segments",  "rss",          "inline_ipsec",
                               "timestamps",      "rx_interrupts"};
  bool PortCapabilities::*const fields[] = {&PortCapabilities::tx_done_cleanup,
                                            &PortCapabilities::mt_lockfree,
                                            &PortCapabilities::fast_free,
                                            &PortCapabilities::multi_segments,
                                            &PortCapabilities::rss,
                                            &PortCapabilities::inline_ipsec,
                                            &PortCapabilities::timestamps,
                                            &PortCapabilities::rx_interrupts};
  // Each field alone: it is the one that says yes.
  for (size_t on = 0; on < std::size(fields); ++on) {
    PortCapabilities known;
    known.*fields[on] = true;
    const auto table = CapabilityTable(known);
    ASSERT_EQ(table.size(), std::size(fields));
    for (size_t i = 0; i < table.size(); ++i) {
      EXPECT_EQ(table[i].first, names[i]);
      EXPECT_EQ(table[i].second, i == on) << names[i];
    }
  }
}

}  // namespace
}  // namespace penstock
