// SPDX-License-Identifier: BSD-3-Clause
#include "lib/port/capabilities.h"

#include <net/if.h>
#include <rte_bus.h>
#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_ethdev.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "lib/base/status.h"
#include "lib/port/dpdk_compat.h"

namespace penstock {
namespace {

// What a driver demands, does or can, and does not say through ethdev.
struct DriverFacts {
  absl::string_view driver;
  bool fixed_queues = false;
  bool equal_queues = false;
  bool equal_descriptors = false;
  bool sets_up_once = false;
  bool hidden_sockets = false;
  bool leaves_xdp_program = false;
  bool forgets_counts = false;
  uint32_t driver_mbufs = 0;
  bool chains_segments = false;  // It walks a chain of mbufs though it does not offer MULTI_SEGS.
  bool status_tells = false;
  bool status_reaps = false;
  uint16_t tx_pinned = 0;
  bool reaps_by_threshold = false;
};

constexpr DriverFacts kDriverFacts[] = {
    // FILL is 4096 and COMPLETION 2048 entries whatever is asked for, and the TX ring is as long as
    // the RX ring; only the first segment of a
    // chain is sent; a second rx_queue_setup makes a second socket on the same queue.
    {.driver = "net_af_xdp",
     .fixed_queues = true,
     .equal_queues = true,
     .equal_descriptors = true,
     .sets_up_once = true,
     .hidden_sockets = true,
     .leaves_xdp_program = true,
     .driver_mbufs = 4096 + 2048},
    {.driver = "net_xsk", .status_tells = true, .reaps_by_threshold = true},
    // mlx5_tx.c of 22.11, not run on hardware: it has no tx_done_cleanup; its descriptor status
    // handles up to two completions, which its tx_burst leaves unread when idle. There is a
    // completion per 32 mbufs: a shorter tail waits for the next packets.
    {.driver = "mlx5_pci", .status_reaps = true, .tx_pinned = 31},
    // The kernel spreads packets over all of a socket group.
    {.driver = "net_af_packet", .fixed_queues = true},
    {.driver = "net_tap", .equal_queues = true},
    // The counts are those of a connection, and go with it when the other side ends.
    {.driver = "net_memif", .forgets_counts = true},
    // These write, or free, a chain whole.
    {.driver = "net_pcap", .chains_segments = true},
    {.driver = "net_null", .chains_segments = true},
};

const DriverFacts* FactsOf(absl::string_view driver) {
  for (const DriverFacts& facts : kDriverFacts) {
    if (facts.driver == driver) return &facts;
  }
  return nullptr;
}

// ethdev measures an MTU by the packets that it makes, and takes these to be as much longer as the
// driver's greatest packet is than its greatest MTU.
void SetMtuRange(const rte_eth_dev_info& info, PortCapabilities& result) {
  const bool told = info.max_mtu != UINT16_MAX && info.max_rx_pktlen > info.max_mtu;
  const uint32_t around =
      told ? info.max_rx_pktlen - info.max_mtu : RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN;
  const uint32_t longest = info.max_rx_pktlen > around ? info.max_rx_pktlen - around : 0;
  result.min_mtu = info.min_mtu;
  result.max_mtu = static_cast<uint16_t>(std::min<uint32_t>(info.max_mtu, longest));
}

// The value of a devarg; empty if it was not given.
std::string Devarg(const rte_device* device, absl::string_view key) {
  const rte_devargs* const devargs = rte_dev_devargs(device);
  if (devargs == nullptr || devargs->args == nullptr) return "";
  for (const absl::string_view pair : absl::StrSplit(devargs->args, ',')) {
    const std::pair<absl::string_view, absl::string_view> words =
        absl::StrSplit(pair, absl::MaxSplits('=', 1));
    if (words.first == key) return std::string(words.second);
  }
  return "";
}

bool HasInlineIpsec(uint16_t port) {
  void* const context = rte_eth_dev_get_sec_ctx(port);
  if (context == nullptr) return false;
  const rte_security_capability* entry =
      rte_security_capabilities_get(static_cast<SecurityContext*>(context));
  if (entry == nullptr) return false;
  for (; entry->action != RTE_SECURITY_ACTION_TYPE_NONE; ++entry) {
    const bool in_line = entry->action == RTE_SECURITY_ACTION_TYPE_INLINE_CRYPTO ||
                         entry->action == RTE_SECURITY_ACTION_TYPE_INLINE_PROTOCOL;
    if (in_line && entry->protocol == RTE_SECURITY_PROTOCOL_IPSEC) return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<PortCapabilities> QueryCapabilities(uint16_t port) {
  rte_eth_dev_info info;
  if (const int error = rte_eth_dev_info_get(port, &info); error != 0) {
    return ErrnoStatus(error, absl::StrCat("rte_eth_dev_info_get(port ", port, ")"));
  }
  PortCapabilities result;
  result.port = port;
  std::array<char, RTE_ETH_NAME_MAX_LEN> name{};
  if (const int error = rte_eth_dev_get_name_by_port(port, name.data()); error != 0) {
    return ErrnoStatus(error, absl::StrCat("rte_eth_dev_get_name_by_port(port ", port, ")"));
  }
  result.name = name.data();
  result.driver = info.driver_name;
  if (info.if_index != 0) {
    std::array<char, IF_NAMESIZE> interface {};
    if (if_indextoname(info.if_index, interface.data()) != nullptr) {
      result.interface = interface.data();
      result.ifindex = info.if_index;
    }
  }
  result.numa_node = rte_eth_dev_socket_id(port);
  result.dma = absl::string_view(rte_bus_name(rte_dev_bus(info.device))) != "vdev";
  rte_ether_addr mac;
  if (const int error = rte_eth_macaddr_get(port, &mac); error != 0) {
    return ErrnoStatus(error, absl::StrCat("rte_eth_macaddr_get(port ", port, ")"));
  }
  std::memcpy(result.mac.bytes.data(), mac.addr_bytes, result.mac.bytes.size());
  result.rx = {info.max_rx_queues, info.rx_desc_lim.nb_min, info.rx_desc_lim.nb_max,
               info.rx_desc_lim.nb_align};
  result.tx = {info.max_tx_queues, info.tx_desc_lim.nb_min, info.tx_desc_lim.nb_max,
               info.tx_desc_lim.nb_align};
  SetMtuRange(info, result);

  const uint64_t tx = info.tx_offload_capa | info.tx_queue_offload_capa;
  const uint64_t rx = info.rx_offload_capa | info.rx_queue_offload_capa;
  result.rx_offloads = rx;
  result.tx_offloads = tx;
  result.rss_types = info.flow_type_rss_offloads;
  result.mt_lockfree = (tx & RTE_ETH_TX_OFFLOAD_MT_LOCKFREE) != 0;
  result.fast_free = (tx & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE) != 0;
  result.multi_segments = (tx & RTE_ETH_TX_OFFLOAD_MULTI_SEGS) != 0;
  result.rss = info.flow_type_rss_offloads != 0;
  result.timestamps = (rx & RTE_ETH_RX_OFFLOAD_TIMESTAMP) != 0;
  result.inline_ipsec = HasInlineIpsec(port);

  if (const DriverFacts* facts = FactsOf(result.driver)) {
    result.fixed_queues = facts->fixed_queues;
    result.equal_queues = facts->equal_queues;
    result.equal_descriptors = facts->equal_descriptors;
    result.sets_up_once = facts->sets_up_once;
    result.hidden_sockets = facts->hidden_sockets;
    result.leaves_xdp_program = facts->leaves_xdp_program;
    result.forgets_counts = facts->forgets_counts;
    result.driver_mbufs = facts->driver_mbufs;
    result.chains_segments = facts->chains_segments;
    result.multi_segments |= facts->chains_segments;
    result.status_tells = facts->status_tells;
    result.status_reaps = facts->status_reaps;
    result.tx_pinned = facts->tx_pinned;
    result.reaps_by_threshold = facts->reaps_by_threshold;
    if (facts->reaps_by_threshold) result.completion_devarg = Devarg(info.device, "completion");
  }
  return result;
}

void QueryFunctions(PortCapabilities& capabilities) {
  // Asking for one mbuf of a queue that has sent nothing frees nothing; disabling an interrupt that
  // is not enabled leaves it so. A driver without the function answers ENOTSUP before anything
  // else.
  capabilities.tx_done_cleanup = rte_eth_tx_done_cleanup(capabilities.port, 0, 1) != -ENOTSUP;
  capabilities.rx_interrupts = rte_eth_dev_rx_intr_disable(capabilities.port, 0) != -ENOTSUP;
  capabilities.functions_known = true;
}

TxReap TxReapOf(const PortCapabilities& capabilities) {
  if (capabilities.status_reaps) return TxReap::kStatus;
  if (!capabilities.functions_known) return TxReap::kUnknown;
  if (!capabilities.tx_done_cleanup) return TxReap::kNone;
  return capabilities.status_tells ? TxReap::kCleanupTold : TxReap::kCleanup;
}

std::vector<std::pair<std::string, bool>> CapabilityTable(const PortCapabilities& capabilities) {
  return {
      {"tx_done_cleanup", capabilities.tx_done_cleanup},
      {"mt_lockfree", capabilities.mt_lockfree},
      {"fast_free", capabilities.fast_free},
      {"multi_segments", capabilities.multi_segments},
      {"rss", capabilities.rss},
      {"inline_ipsec", capabilities.inline_ipsec},
      {"timestamps", capabilities.timestamps},
      {"rx_interrupts", capabilities.rx_interrupts},
  };
}

}  // namespace penstock
