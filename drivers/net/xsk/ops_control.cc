// SPDX-License-Identifier: BSD-3-Clause
//
// ethdev's control functions: configure, queues, start, stop, close, information. Control thread.

#include <ethdev_driver.h>
#include <rte_interrupts.h>
#include <rte_malloc.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "drivers/net/xsk/device.h"
#include "drivers/net/xsk/log.h"

namespace penstock {
namespace {

RxQueue* RxQueueOf(const rte_eth_dev* dev, uint16_t queue) {
  return static_cast<RxQueue*>(dev->data->rx_queues[queue]);
}
TxQueueBase* TxQueueOf(const rte_eth_dev* dev, uint16_t queue) {
  return static_cast<TxQueueBase*>(dev->data->tx_queues[queue]);
}

absl::Status NotSetUp(absl::string_view direction, uint16_t queue) {
  return absl::FailedPreconditionError(
      absl::StrCat(direction, " queue ", queue, " was not set up"));
}

void SetQueueStates(rte_eth_dev* dev, uint8_t state) {
  for (uint16_t i = 0; i < dev->data->nb_rx_queues; ++i) dev->data->rx_queue_state[i] = state;
  for (uint16_t i = 0; i < dev->data->nb_tx_queues; ++i) dev->data->tx_queue_state[i] = state;
}

}  // namespace

int EthdevError(const XskDevice& device, const absl::Status& status) {
  if (status.ok()) return 0;
  XskLog(RTE_LOG_ERR, device.port.name(), " on ", device.port.netdev_name(), ": ",
         status.message());
  switch (status.code()) {
    case absl::StatusCode::kPermissionDenied:
      return -EPERM;
    case absl::StatusCode::kNotFound:
      return -ENODEV;
    case absl::StatusCode::kResourceExhausted:
      return -ENOMEM;
    case absl::StatusCode::kUnimplemented:
      return -ENOTSUP;
    default:
      return -EINVAL;
  }
}

int XskConfigure(rte_eth_dev* dev) {
  XskDevice& device = DeviceOf(dev);
  // ethdev makes 1500 of none, and shows it: then the interface's own stays, and is shown.
  const uint32_t mtu = dev->data->dev_conf.rxmode.mtu;
  if (mtu != RTE_ETHER_MTU) {
    if (const int error = EthdevError(device, device.port.SetMtu(mtu)); error != 0) return error;
  }
  const std::lock_guard<std::mutex> lock(device.mutex);
  FollowNetdev(device);
  return 0;
}

int XskInfo(rte_eth_dev* dev, rte_eth_dev_info* info) {
  XskDevice& device = DeviceOf(dev);
  const bool segments = device.port.segments();
  info->if_index = device.port.ifindex();
  info->max_mac_addrs = 1;
  info->max_rx_queues = device.port.MaxRxQueues();
  info->max_tx_queues = device.port.MaxTxQueues();
  info->min_mtu = RTE_ETHER_MIN_MTU;
  info->max_mtu = kMaxMtu;
  info->max_rx_pktlen = kMaxMtu + kFrameOverheadBytes;
  info->rx_offload_capa = segments ? RTE_ETH_RX_OFFLOAD_SCATTER : 0;
  info->rx_queue_offload_capa = info->rx_offload_capa;
  info->tx_offload_capa =
      RTE_ETH_TX_OFFLOAD_MT_LOCKFREE | (segments ? RTE_ETH_TX_OFFLOAD_MULTI_SEGS : 0);
  info->tx_queue_offload_capa = info->tx_offload_capa;
  info->rx_desc_lim = {.nb_max = kMaxDescriptors,
                       .nb_min = kMinDescriptors,
                       .nb_align = 1,
                       .nb_seg_max = 0,
                       .nb_mtu_seg_max = 0};
  info->tx_desc_lim = {.nb_max = kMaxDescriptors,
                       .nb_min = kMinDescriptors,
                       .nb_align = 1,
                       .nb_seg_max = kMaxDescriptorsPerPacket,
                       .nb_mtu_seg_max = kMaxDescriptorsPerPacket};
  info->default_rxportconf = {.burst_size = 32, .ring_size = kDefaultRxDescriptors, .nb_queues = 1};
  info->default_txportconf = {.burst_size = 32, .ring_size = kDefaultTxDescriptors, .nb_queues = 1};
  return 0;
}

int XskRxQueueSetup(rte_eth_dev* dev, uint16_t queue, uint16_t descriptors, unsigned,
                    const rte_eth_rxconf* conf, rte_mempool* pool) {
  XskDevice& device = DeviceOf(dev);
  const uint64_t offloads = conf->offloads | dev->data->dev_conf.rxmode.offloads;
  absl::StatusOr<std::unique_ptr<RxQueue>> made =
      device.port.MakeRxQueue({.queue = queue,
                               .descriptors = descriptors,
                               .scatter = (offloads & RTE_ETH_RX_OFFLOAD_SCATTER) != 0},
                              *pool);
  if (!made.ok()) return EthdevError(device, made.status());
  dev->data->rx_queues[queue] = made->release();
  return 0;
}

int XskTxQueueSetup(rte_eth_dev* dev, uint16_t queue, uint16_t descriptors, unsigned,
                    const rte_eth_txconf* conf) {
  XskDevice& device = DeviceOf(dev);
  // The effective offloads: the queue's own and the port's. ethdev passes on the former only.
  const uint64_t offloads = conf->offloads | dev->data->dev_conf.txmode.offloads;
  absl::StatusOr<std::unique_ptr<TxQueueBase>> made =
      device.port.MakeTxQueue({.queue = queue,
                               .descriptors = descriptors,
                               .mt_lockfree = (offloads & RTE_ETH_TX_OFFLOAD_MT_LOCKFREE) != 0,
                               .free_threshold = conf->tx_free_thresh});
  if (!made.ok()) return EthdevError(device, made.status());
  dev->data->tx_queues[queue] = made->release();
  return 0;
}

void XskRxQueueRelease(rte_eth_dev* dev, uint16_t queue) {
  const RxQueue* const rx = RxQueueOf(dev, queue);
  if (rx == nullptr) return;
  const std::lock_guard<std::mutex> lock(DeviceOf(dev).mutex);
  KeepRxCounts(DeviceOf(dev), queue, *rx);
  dev->data->rx_queues[queue] = nullptr;
  delete rx;
}

void XskTxQueueRelease(rte_eth_dev* dev, uint16_t queue) {
  const TxQueueBase* const tx = TxQueueOf(dev, queue);
  if (tx == nullptr) return;
  const std::lock_guard<std::mutex> lock(DeviceOf(dev).mutex);
  KeepTxCounts(DeviceOf(dev), queue, *tx);
  dev->data->tx_queues[queue] = nullptr;
  delete tx;
}

// On a queue that was set up without MT_LOCKFREE, from the lcore that sends; on one with it, from
// any.
int XskTxDoneCleanup(void* queue, uint32_t count) {
  const uint32_t freed = static_cast<TxQueueBase*>(queue)->Cleanup(count == 0 ? UINT32_MAX : count);
  return static_cast<int>(freed);
}

int XskStart(rte_eth_dev* dev) {
  XskDevice& device = DeviceOf(dev);
  std::vector<RxQueue*> rx;
  std::vector<TxQueueBase*> tx;
  for (uint16_t i = 0; i < dev->data->nb_rx_queues; ++i) {
    rx.push_back(RxQueueOf(dev, i));
    if (rx.back() == nullptr) return EthdevError(device, NotSetUp("RX", i));
  }
  for (uint16_t i = 0; i < dev->data->nb_tx_queues; ++i) {
    tx.push_back(TxQueueOf(dev, i));
    if (tx.back() == nullptr) return EthdevError(device, NotSetUp("TX", i));
  }
  {
    const std::lock_guard<std::mutex> lock(device.mutex);
    absl::Status status = device.port.Start(std::move(rx), std::move(tx));
    if (status.ok()) {
      status = InstallRxInterrupts(device);
      if (!status.ok()) device.port.Stop();
    }
    if (!status.ok()) return EthdevError(device, status);
    FollowNetdev(device);
  }
  dev->tx_pkt_burst = TxBurstFor(*dev);
  XskLinkUpdate(dev, 0);
  SetQueueStates(dev, RTE_ETH_QUEUE_STATE_STARTED);
  return 0;
}

int XskStop(rte_eth_dev* dev) {
  XskDevice& device = DeviceOf(dev);
  dev->data->dev_started = 0;
  RemoveRxInterrupts(device);
  {
    const std::lock_guard<std::mutex> lock(device.mutex);
    device.port.Stop();
  }
  SetQueueStates(dev, RTE_ETH_QUEUE_STATE_STOPPED);
  return 0;
}

int XskClose(rte_eth_dev* dev) {
  if (rte_eal_process_type() != RTE_PROC_PRIMARY) return 0;
  XskDevice* const device = &DeviceOf(dev);
  device->events.reset();
  XskStop(dev);
  for (uint16_t i = 0; i < dev->data->nb_rx_queues; ++i) XskRxQueueRelease(dev, i);
  for (uint16_t i = 0; i < dev->data->nb_tx_queues; ++i) XskTxQueueRelease(dev, i);
  dev->data->nb_rx_queues = 0;
  dev->data->nb_tx_queues = 0;
  rte_intr_instance_free(device->interrupts);
  dev->intr_handle = nullptr;
  delete device;  // ethdev frees the pointer to it, and the MAC address
  return 0;
}

}  // namespace penstock
