// SPDX-License-Identifier: BSD-3-Clause
//
// How a port is to be set up, and what of that it can do. Pure functions of what the port answered
// (capabilities.h): everything that can be refused is known before anything is touched. Control
// thread.
//
//   PENSTOCK_RETURN_IF_ERROR(CheckSetup(port.capabilities(), setup));
//   const Offloads in_effect = EffectiveOffloads(port.capabilities(), setup);

#ifndef PENSTOCK_LIB_PORT_PORT_SETUP_H_
#define PENSTOCK_LIB_PORT_PORT_SETUP_H_

#include <rte_mempool.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "lib/config/configuration.h"
#include "lib/port/capabilities.h"

namespace penstock {

// When tx_burst is to take completions itself, where the driver goes by tx_free_thresh in that.
enum class TxFree {
  kDriver,    // As the driver and its devargs have it.
  kIfStalls,  // Only when it would find no room: another takes them.
  kAlways,    // Each time.
};

struct PortSetup {
  uint16_t rx_queues = 1;
  uint16_t tx_queues = 1;
  uint16_t rx_descriptors = 1024;
  uint16_t tx_descriptors = 1024;
  rte_mempool* mempool = nullptr;
  bool mt_lockfree = false;       // Lcores share a TX queue through the driver's own means.
  bool fast_free = false;         // Every mbuf sent has one reference and comes from `mempool`.
  Rss rss = Rss::kDefault;        // With several RX queues.
  uint16_t max_packet_bytes = 0;  // Without FCS; 0: the MTU stays as it is.
  uint64_t rx_offloads = 0;       // Asked for beside what is always asked for.
  uint64_t tx_offloads = 0;
  TxFree tx_free = TxFree::kDriver;
  bool operator==(const PortSetup&) const = default;
};

// RTE_ETH_RX_OFFLOAD_* and RTE_ETH_TX_OFFLOAD_*.
struct Offloads {
  uint64_t rx = 0;
  uint64_t tx = 0;
  bool operator==(const Offloads&) const = default;
};

// What each queue of the port has in effect: what was asked for; scattered reception and segmented
// sending where the port has them; and what sharing and one mempool bring.
Offloads EffectiveOffloads(const PortCapabilities& port, const PortSetup& setup);

// tx_free_thresh; 0: the driver's own.
uint16_t FreeThreshold(const PortCapabilities& port, const PortSetup& setup);

// RTE_ETH_RSS_* to spread packets by; 0 with one RX queue and of a port that cannot.
uint64_t RssTypes(const PortCapabilities& port, const PortSetup& setup);

// The MTU that lets packets of so many bytes, FCS not counted, pass.
uint16_t MtuOf(uint16_t packet_bytes);

// "port 0 (net_af_xdp0, interface eth1)"
std::string Where(const PortCapabilities& port);

// FailedPrecondition for what the port does not have: the option, the port, and what it has.
absl::Status CheckSetup(const PortCapabilities& port, const PortSetup& setup);

}  // namespace penstock

#endif  // PENSTOCK_LIB_PORT_PORT_SETUP_H_
