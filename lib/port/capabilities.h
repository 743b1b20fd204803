// SPDX-License-Identifier: BSD-3-Clause
//
// What a port can do, as the port itself answers. Control thread.
//
// Most answers come from rte_eth_dev_info_get. Some functions have no flag there: whether a driver
// has them is found out by calling them where that changes nothing (QueryFunctions). A few drivers
// do not say what they demand or keep; those facts, each learnt from the driver, stand in one table
// in capabilities.cc and nowhere else.

#ifndef PENSTOCK_LIB_PORT_CAPABILITIES_H_
#define PENSTOCK_LIB_PORT_CAPABILITIES_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/net/mac_address.h"

namespace penstock {

// As the driver says: 0 descriptors where it has no limit of its own.
struct QueueLimits {
  uint16_t max_queues = 0;
  uint16_t min_descriptors = 0;
  uint16_t max_descriptors = 0;
  uint16_t descriptor_align = 1;
};

// How what a TX queue has sent is taken back outside its tx_burst.
enum class TxReap {
  kUnknown,      // Shows once the port's queues are set up.
  kNone,         // It is not: the driver does it in its tx_burst.
  kCleanup,      // rte_eth_tx_done_cleanup
  kCleanupTold,  // The same, and rte_eth_tx_descriptor_status says exactly what is done.
  kStatus,       // rte_eth_tx_descriptor_status, whose side effect it is.
};

struct PortCapabilities {
  uint16_t port = 0;
  std::string name;
  std::string driver;
  std::string interface;  // Of the kernel; empty when the port has none.
  uint32_t ifindex = 0;
  int numa_node = -1;  // -1: none of its own.
  MacAddress mac;
  QueueLimits rx;
  QueueLimits tx;
  uint16_t min_mtu = 0;
  uint16_t max_mtu = 0;

  // From rte_eth_dev_info_get.
  uint64_t rx_offloads = 0;  // RTE_ETH_RX_OFFLOAD_*, of the port or of its queues.
  uint64_t tx_offloads = 0;  // RTE_ETH_TX_OFFLOAD_*
  uint64_t rss_types = 0;    // RTE_ETH_RSS_*
  bool mt_lockfree = false;
  bool fast_free = false;
  bool multi_segments = false;
  bool rss = false;
  bool timestamps = false;
  bool inline_ipsec = false;  // rte_security: inline crypto or inline protocol for ESP.

  // From QueryFunctions(), once the port's queues are set up.
  bool tx_done_cleanup = false;
  bool rx_interrupts = false;
  bool functions_known = false;  // They were called.

  // What the driver does not say (see the table).
  bool fixed_queues = false;  // Devargs fix how many it has, and packets come in on all of them.
  bool equal_queues = false;  // As many TX as RX queues, or it refuses.
  bool equal_descriptors = false;   // Its TX rings are as long as its RX rings, whatever is asked.
  bool sets_up_once = false;        // Its queues cannot be set up a second time.
  bool chains_segments = false;     // It makes and takes chains of mbufs, whatever it offers.
  bool dma = false;                 // A device reads and writes mbufs by itself, at their IOVA.
  bool forgets_counts = false;      // Its statistics go back to zero on their own.
  bool hidden_sockets = false;      // It keeps mbufs in AF_XDP sockets that it never gives back.
  bool leaves_xdp_program = false;  // It attaches an XDP program that outlives the process.
  uint32_t driver_mbufs = 0;        // What it takes per RX queue beyond the descriptors asked for.
  bool status_tells = false;        // tx_descriptor_status is exact, down to the single packet.
  bool status_reaps = false;        // tx_descriptor_status takes completions, as a side effect.
  uint16_t tx_pinned = 0;           // mbufs that an idle TX queue keeps and nothing takes back.
  // tx_free_thresh 1 has its tx_burst reap only when it would stall, all descriptors but one each
  // time; a devarg completion= says the latter too.
  bool reaps_by_threshold = false;
  std::string completion_devarg;  // Of a driver that has it: "stage" or "inline".
};

// kUnknown before QueryFunctions().
TxReap TxReapOf(const PortCapabilities& capabilities);

absl::StatusOr<PortCapabilities> QueryCapabilities(uint16_t port);

// Fills what is only known by calling. The port's queues are set up.
void QueryFunctions(PortCapabilities& capabilities);

// Name and yes or no, in the order of the documentation.
std::vector<std::pair<std::string, bool>> CapabilityTable(const PortCapabilities& capabilities);

}  // namespace penstock

#endif  // PENSTOCK_LIB_PORT_CAPABILITIES_H_
