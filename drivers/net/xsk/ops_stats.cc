// SPDX-License-Identifier: BSD-3-Clause
//
// ethdev's functions that tell what was counted and what was chosen. Any thread.

#include <ethdev_driver.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "drivers/net/xsk/device.h"
#include "drivers/net/xsk/xstats.h"

namespace penstock {
namespace {

RxQueue* RxQueueOf(const rte_eth_dev* dev, uint16_t queue) {
  return static_cast<RxQueue*>(dev->data->rx_queues[queue]);
}
TxQueueBase* TxQueueOf(const rte_eth_dev* dev, uint16_t queue) {
  return static_cast<TxQueueBase*>(dev->data->tx_queues[queue]);
}

// Since the queues were set up.
rte_eth_stats CountAll(const rte_eth_dev* dev) {
  XskPort& port = DeviceOf(dev).port;
  rte_eth_stats sum{};
  for (uint16_t i = 0; i < dev->data->nb_rx_queues; ++i) {
    const RxQueue* const queue = RxQueueOf(dev, i);
    if (queue == nullptr) continue;
    const RxCounters& counters = queue->counters();
    sum.ipackets += counters.packets.value();
    sum.ibytes += counters.bytes.value();
    sum.rx_nombuf += counters.no_mbuf.value();
    sum.ierrors += counters.bad_address.value() + counters.too_long.value();
    // Without room in RX, or without a chunk in FILL.
    const XdpStatistics kernel = port.KernelCounts(i);
    sum.imissed += kernel.rx_dropped + kernel.rx_ring_full;
    if (i >= RTE_ETHDEV_QUEUE_STAT_CNTRS) continue;
    sum.q_ipackets[i] = counters.packets.value();
    sum.q_ibytes[i] = counters.bytes.value();
    sum.q_errors[i] = kernel.rx_dropped + kernel.rx_ring_full;
  }
  for (uint16_t i = 0; i < dev->data->nb_tx_queues; ++i) {
    const TxQueueBase* const queue = TxQueueOf(dev, i);
    if (queue == nullptr) continue;
    const TxTotals totals = queue->Totals();
    // What the kernel took and dropped was not sent, nor was what it never took.
    const uint64_t sent = totals.packets - totals.dropped - totals.unsent;
    sum.opackets += sent;
    sum.obytes += totals.bytes;
    sum.oerrors +=
        totals.dropped + totals.unsent + totals.invalid + totals.too_long + totals.in_flight_twice;
    if (i >= RTE_ETHDEV_QUEUE_STAT_CNTRS) continue;
    sum.q_opackets[i] = sent;
    sum.q_obytes[i] = totals.bytes;
  }
  return sum;
}

std::vector<Xstat> AllXstats(const rte_eth_dev* dev) {
  XskPort& port = DeviceOf(dev).port;
  std::vector<Xstat> all;
  for (uint16_t i = 0; i < dev->data->nb_rx_queues; ++i) {
    const RxQueue* const queue = RxQueueOf(dev, i);
    if (queue != nullptr) AppendRxXstats(i, queue->counters(), port.KernelCounts(i), all);
  }
  for (uint16_t i = 0; i < dev->data->nb_tx_queues; ++i) {
    const TxQueueBase* const queue = TxQueueOf(dev, i);
    if (queue != nullptr) {
      AppendTxXstats(i, queue->Totals(), queue->shared(), port.KernelCounts(i), all);
    }
  }
  return all;
}

}  // namespace

int XskStats(rte_eth_dev* dev, rte_eth_stats* stats) {
  XskDevice& device = DeviceOf(dev);
  const std::lock_guard<std::mutex> lock(device.mutex);
  const rte_eth_stats now = CountAll(dev);
  const rte_eth_stats& zero = device.zero;
  stats->ipackets = now.ipackets - zero.ipackets;
  stats->opackets = now.opackets - zero.opackets;
  stats->ibytes = now.ibytes - zero.ibytes;
  stats->obytes = now.obytes - zero.obytes;
  stats->imissed = now.imissed - zero.imissed;
  stats->ierrors = now.ierrors - zero.ierrors;
  stats->oerrors = now.oerrors - zero.oerrors;
  stats->rx_nombuf = now.rx_nombuf - zero.rx_nombuf;
  for (size_t i = 0; i < RTE_ETHDEV_QUEUE_STAT_CNTRS; ++i) {
    stats->q_ipackets[i] = now.q_ipackets[i] - zero.q_ipackets[i];
    stats->q_opackets[i] = now.q_opackets[i] - zero.q_opackets[i];
    stats->q_ibytes[i] = now.q_ibytes[i] - zero.q_ibytes[i];
    stats->q_obytes[i] = now.q_obytes[i] - zero.q_obytes[i];
    stats->q_errors[i] = now.q_errors[i] - zero.q_errors[i];
  }
  return 0;
}

// The lcores' counters are never written by others: a reset is a new zero.
int XskStatsReset(rte_eth_dev* dev) {
  XskDevice& device = DeviceOf(dev);
  const std::lock_guard<std::mutex> lock(device.mutex);
  device.zero = CountAll(dev);
  return 0;
}

int XskXstats(rte_eth_dev* dev, rte_eth_xstat* values, unsigned n) {
  XskDevice& device = DeviceOf(dev);
  const std::lock_guard<std::mutex> lock(device.mutex);
  const std::vector<Xstat> all = AllXstats(dev);
  if (values == nullptr || n < all.size()) return static_cast<int>(all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    const auto zero = device.xzero.find(all[i].name);
    values[i].id = i;
    values[i].value = all[i].value - (zero != device.xzero.end() ? zero->second : 0);
  }
  return static_cast<int>(all.size());
}

int XskXstatsNames(rte_eth_dev* dev, rte_eth_xstat_name* names, unsigned n) {
  XskDevice& device = DeviceOf(dev);
  const std::lock_guard<std::mutex> lock(device.mutex);
  const std::vector<Xstat> all = AllXstats(dev);
  if (names == nullptr || n < all.size()) return static_cast<int>(all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    snprintf(names[i].name, sizeof(names[i].name), "%s", all[i].name.c_str());
  }
  return static_cast<int>(all.size());
}

int XskXstatsReset(rte_eth_dev* dev) {
  XskDevice& device = DeviceOf(dev);
  {
    const std::lock_guard<std::mutex> lock(device.mutex);
    device.xzero.clear();
    for (const Xstat& stat : AllXstats(dev)) {
      if (stat.resets) device.xzero[stat.name] = stat.value;
    }
  }
  return XskStatsReset(dev);
}

// `show port info` prints it as the firmware's version, which a socket has none of.
int XskVersion(rte_eth_dev* dev, char* text, size_t size) {
  const std::string summary = DeviceOf(dev).port.Summary();
  if (size < summary.size() + 1) return static_cast<int>(summary.size() + 1);
  snprintf(text, size, "%s", summary.c_str());
  return 0;
}

void XskRxQueueInfo(rte_eth_dev* dev, uint16_t queue, rte_eth_rxq_info* info) {
  const RxQueue* const rx = RxQueueOf(dev, queue);
  if (rx == nullptr) return;
  info->mp = rx->umem()->pool();
  info->nb_desc = rx->settings().descriptors;
  info->scattered_rx = rx->settings().scatter;
  info->rx_buf_size = static_cast<uint16_t>(rx->umem()->rx_room_bytes());
}

void XskTxQueueInfo(rte_eth_dev* dev, uint16_t queue, rte_eth_txq_info* info) {
  const TxQueueBase* const tx = TxQueueOf(dev, queue);
  if (tx == nullptr) return;
  info->nb_desc = tx->settings().descriptors;
  info->conf.tx_free_thresh = tx->settings().free_threshold;
  info->conf.offloads = tx->shared() ? RTE_ETH_TX_OFFLOAD_MT_LOCKFREE : 0;
}

int XskRxMode(rte_eth_dev* dev, uint16_t, rte_eth_burst_mode* mode) {
  snprintf(mode->info, sizeof(mode->info), "%s", DeviceOf(dev).port.Summary().c_str());
  return 0;
}

int XskTxMode(rte_eth_dev* dev, uint16_t queue, rte_eth_burst_mode* mode) {
  const TxQueueBase* const tx = TxQueueOf(dev, queue);
  snprintf(mode->info, sizeof(mode->info), "%s%s", DeviceOf(dev).port.Summary().c_str(),
           tx != nullptr && tx->shared() ? ", shared" : ", exclusive");
  return 0;
}

}  // namespace penstock
