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

// A queue's counts go with it when it is released. Those of the kernel are the port's.
void AddRx(uint16_t queue, const RxCounters& counters, rte_eth_stats& sum) {
  sum.ipackets += counters.packets.value();
  sum.ibytes += counters.bytes.value();
  sum.rx_nombuf += counters.no_mbuf.value();
  sum.ierrors += counters.bad_address.value() + counters.too_long.value();
  if (queue >= RTE_ETHDEV_QUEUE_STAT_CNTRS) return;
  sum.q_ipackets[queue] += counters.packets.value();
  sum.q_ibytes[queue] += counters.bytes.value();
}

void AddTx(uint16_t queue, const TxTotals& totals, rte_eth_stats& sum) {
  // What the kernel took and dropped was not sent, nor was what it never took. It does not say
  // which frame it dropped: their bytes stay in the sum.
  const uint64_t sent = totals.packets - std::min(totals.packets, totals.dropped + totals.unsent);
  const uint64_t bytes = totals.bytes - std::min(totals.bytes, totals.unsent_bytes);
  sum.opackets += sent;
  sum.obytes += bytes;
  sum.oerrors +=
      totals.dropped + totals.unsent + totals.invalid + totals.too_long + totals.in_flight_twice;
  if (queue >= RTE_ETHDEV_QUEUE_STAT_CNTRS) return;
  sum.q_opackets[queue] += sent;
  sum.q_obytes[queue] += bytes;
}

void AddKernel(uint16_t queue, const XdpStatistics& kernel, rte_eth_stats& sum) {
  // Without room in RX, or without a chunk in FILL.
  sum.imissed += kernel.rx_dropped + kernel.rx_ring_full;
  // Taken by us, refused by the kernel: a packet each, unless it was of several descriptors.
  const uint64_t refused = std::min(kernel.tx_invalid_descs, sum.opackets);
  sum.opackets -= refused;
  sum.oerrors += kernel.tx_invalid_descs;
  if (queue >= RTE_ETHDEV_QUEUE_STAT_CNTRS) return;
  sum.q_errors[queue] += kernel.rx_dropped + kernel.rx_ring_full;
  sum.q_opackets[queue] -= std::min(kernel.tx_invalid_descs, sum.q_opackets[queue]);
}

// Since the port exists.
rte_eth_stats CountAll(const rte_eth_dev* dev) {
  const XskDevice& device = DeviceOf(dev);
  rte_eth_stats sum = device.past;
  for (uint16_t i = 0; i < dev->data->nb_rx_queues; ++i) {
    if (const RxQueue* const queue = RxQueueOf(dev, i)) AddRx(i, queue->counters(), sum);
  }
  for (uint16_t i = 0; i < dev->data->nb_tx_queues; ++i) {
    if (const TxQueueBase* const queue = TxQueueOf(dev, i)) AddTx(i, queue->Totals(), sum);
  }
  for (uint16_t i = 0; i < device.port.MostQueues(); ++i) {
    AddKernel(i, device.port.KernelCounts(i), sum);
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
  for (Xstat& stat : all) {
    const auto past = DeviceOf(dev).xpast.find(stat.name);
    if (past != DeviceOf(dev).xpast.end()) stat.value += past->second;
  }
  return all;
}

void KeepXstats(const std::vector<Xstat>& stats, XskDevice& device) {
  for (const Xstat& stat : stats) {
    if (stat.resets) device.xpast[stat.name] += stat.value;
  }
}

}  // namespace

void KeepRxCounts(XskDevice& device, uint16_t index, const RxQueue& queue) {
  std::vector<Xstat> stats;
  AppendRxXstats(index, queue.counters(), {}, stats);
  KeepXstats(stats, device);
  AddRx(index, queue.counters(), device.past);
}

void KeepTxCounts(XskDevice& device, uint16_t index, const TxQueueBase& queue) {
  std::vector<Xstat> stats;
  AppendTxXstats(index, queue.Totals(), queue.shared(), {}, stats);
  KeepXstats(stats, device);
  AddTx(index, queue.Totals(), device.past);
}

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
  XskDevice& device = DeviceOf(dev);
  const std::lock_guard<std::mutex> lock(device.mutex);
  const std::string summary = device.port.Summary();
  if (size < summary.size() + 1) return static_cast<int>(summary.size() + 1);
  snprintf(text, size, "%s", summary.c_str());
  return 0;
}

void XskRxQueueInfo(rte_eth_dev* dev, uint16_t queue, rte_eth_rxq_info* info) {
  const std::lock_guard<std::mutex> lock(DeviceOf(dev).mutex);
  const RxQueue* const rx = RxQueueOf(dev, queue);
  if (rx == nullptr) return;
  info->mp = rx->umem()->pool();
  info->nb_desc = rx->settings().descriptors;
  info->scattered_rx = rx->settings().scatter;
  info->rx_buf_size = static_cast<uint16_t>(rx->umem()->rx_room_bytes());
}

void XskTxQueueInfo(rte_eth_dev* dev, uint16_t queue, rte_eth_txq_info* info) {
  const std::lock_guard<std::mutex> lock(DeviceOf(dev).mutex);
  const TxQueueBase* const tx = TxQueueOf(dev, queue);
  if (tx == nullptr) return;
  info->nb_desc = tx->settings().descriptors;
  info->conf.tx_free_thresh = tx->settings().free_threshold;
  info->conf.offloads = tx->shared() ? RTE_ETH_TX_OFFLOAD_MT_LOCKFREE : 0;
}

int XskRxMode(rte_eth_dev* dev, uint16_t, rte_eth_burst_mode* mode) {
  XskDevice& device = DeviceOf(dev);
  const std::lock_guard<std::mutex> lock(device.mutex);
  snprintf(mode->info, sizeof(mode->info), "%s", device.port.Summary().c_str());
  return 0;
}

int XskTxMode(rte_eth_dev* dev, uint16_t queue, rte_eth_burst_mode* mode) {
  XskDevice& device = DeviceOf(dev);
  const std::lock_guard<std::mutex> lock(device.mutex);
  const TxQueueBase* const tx = TxQueueOf(dev, queue);
  snprintf(mode->info, sizeof(mode->info), "%s%s", device.port.Summary().c_str(),
           tx != nullptr && tx->shared() ? ", shared" : ", exclusive");
  return 0;
}

}  // namespace penstock
