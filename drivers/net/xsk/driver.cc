// SPDX-License-Identifier: BSD-3-Clause
//
// net_xsk as EAL and ethdev see it: probe, remove, the table of functions, and those that lcores
// call.

#include <bus_vdev_driver.h>
#include <ethdev_driver.h>
#include <ethdev_vdev.h>
#include <rte_interrupts.h>
#include <rte_malloc.h>

#include <algorithm>
#include <typeinfo>
#include <utility>

#include "drivers/net/xsk/device.h"
#include "drivers/net/xsk/log.h"
#include "lib/base/status.h"

namespace penstock {

RTE_LOG_REGISTER(xsk_log_type, pmd.net.xsk, NOTICE)

uint16_t XskRxBurst(void* queue, rte_mbuf** mbufs, uint16_t n) {
  return static_cast<RxQueue*>(queue)->Burst(mbufs, n);
}

namespace {

template <typename Ownership>
uint16_t TxBurst(void* queue, rte_mbuf** mbufs, uint16_t n) {
  return static_cast<TxQueue<Ownership>*>(static_cast<TxQueueBase*>(queue))->Burst(mbufs, n);
}

// Where the queues of a port differ.
uint16_t TxBurstOfAny(void* queue, rte_mbuf** mbufs, uint16_t n) {
  return static_cast<TxQueueBase*>(queue)->BurstOf(mbufs, n);
}

template <typename Ownership>
bool AllAre(const rte_eth_dev& dev) {
  for (uint16_t i = 0; i < dev.data->nb_tx_queues; ++i) {
    const auto* const queue = static_cast<const TxQueueBase*>(dev.data->tx_queues[i]);
    if (typeid(*queue) != typeid(TxQueue<Ownership>)) return false;
  }
  return true;
}

uint32_t RxQueueCount(void* queue) { return static_cast<RxQueue*>(queue)->Ready(); }

int RxDescriptorStatus(void* queue, uint16_t offset) {
  const auto* const rx = static_cast<const RxQueue*>(queue);
  if (offset >= rx->settings().descriptors) return -EINVAL;
  return offset < rx->Ready() ? RTE_ETH_RX_DESC_DONE : RTE_ETH_RX_DESC_AVAIL;
}

// From the tail on, as ethdev has it: what is free, then what is inside, the oldest first, which
// the kernel is done with first.
int TxDescriptorStatus(void* queue, uint16_t offset) {
  const auto* const tx = static_cast<const TxQueueBase*>(queue);
  const uint32_t descriptors = tx->settings().descriptors;
  if (offset >= descriptors) return -EINVAL;
  return offset + tx->Unfinished() < descriptors ? RTE_ETH_TX_DESC_DONE : RTE_ETH_TX_DESC_FULL;
}

}  // namespace

eth_tx_burst_t TxBurstFor(const rte_eth_dev& dev) {
  if (AllAre<Exclusive>(dev)) return TxBurst<Exclusive>;
  if (AllAre<Shared>(dev)) return TxBurst<Shared>;
  if (AllAre<Checked>(dev)) return TxBurst<Checked>;
  return TxBurstOfAny;
}

namespace {

constexpr eth_dev_ops MakeOps() {
  eth_dev_ops ops{};
  ops.dev_configure = XskConfigure;
  ops.dev_start = XskStart;
  ops.dev_stop = XskStop;
  ops.dev_set_link_up = XskSetLinkUp;
  ops.dev_set_link_down = XskSetLinkDown;
  ops.dev_close = XskClose;
  ops.link_update = XskLinkUpdate;
  ops.is_removed = XskIsRemoved;
  ops.promiscuous_enable = XskPromiscuousEnable;
  ops.promiscuous_disable = XskPromiscuousDisable;
  ops.allmulticast_enable = XskAllMulticastEnable;
  ops.allmulticast_disable = XskAllMulticastDisable;
  ops.mac_addr_set = XskMacSet;
  ops.mtu_set = XskMtuSet;
  ops.stats_get = XskStats;
  ops.stats_reset = XskStatsReset;
  ops.xstats_get = XskXstats;
  ops.xstats_reset = XskXstatsReset;
  ops.xstats_get_names = XskXstatsNames;
  ops.dev_infos_get = XskInfo;
  ops.rxq_info_get = XskRxQueueInfo;
  ops.txq_info_get = XskTxQueueInfo;
  ops.rx_burst_mode_get = XskRxMode;
  ops.tx_burst_mode_get = XskTxMode;
  ops.fw_version_get = XskVersion;
  ops.rx_queue_setup = XskRxQueueSetup;
  ops.rx_queue_release = XskRxQueueRelease;
  ops.rx_queue_intr_enable = XskRxInterruptEnable;
  ops.rx_queue_intr_disable = XskRxInterruptDisable;
  ops.tx_queue_setup = XskTxQueueSetup;
  ops.tx_queue_release = XskTxQueueRelease;
  ops.tx_done_cleanup = XskTxDoneCleanup;
  return ops;
}

}  // namespace

constinit const eth_dev_ops kXskOps = MakeOps();

namespace {

// Everything that can fail comes before the port is known to anybody.
absl::Status MakeDevice(rte_vdev_device& vdev) {
  const char* const name = rte_vdev_device_name(&vdev);
  PENSTOCK_ASSIGN_OR_RETURN(XskOptions options, ParseXskDevargs(name, rte_vdev_device_args(&vdev)));
  PENSTOCK_ASSIGN_OR_RETURN(Netdev netdev, Netdev::Open(options.interface));
  PENSTOCK_ASSIGN_OR_RETURN(const rte_ether_addr mac, netdev.Mac());
  const NetdevChannels channels = netdev.Channels();
  if (options.start_queue + std::max(options.queue_count, 1u) >
      std::max(channels.rx, channels.tx)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "start_queue=", options.start_queue, " and queue_count=", options.queue_count, ": ",
        options.interface, " has ", channels.rx, " RX and ", channels.tx, " TX queues"));
  }
  rte_eth_dev* const dev = rte_eth_vdev_allocate(&vdev, sizeof(XskDevice*));
  if (dev == nullptr) return absl::ResourceExhaustedError("rte_eth_vdev_allocate");
  auto* const device = new XskDevice(*dev, std::move(options), std::move(netdev));
  *static_cast<XskDevice**>(dev->data->dev_private) = device;
  dev->data->mac_addrs = static_cast<rte_ether_addr*>(rte_zmalloc(name, sizeof(mac), 0));
  device->interrupts = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);
  absl::StatusOr<std::unique_ptr<LinkEvents>> events =
      LinkEvents::Watch(device->port.ifindex(),
                        [device](LinkEvents::Event event) { XskOnLinkEvent(*device, event); });
  if (dev->data->mac_addrs == nullptr || device->interrupts == nullptr || !events.ok()) {
    rte_intr_instance_free(device->interrupts);
    delete device;
    rte_eth_dev_release_port(dev);
    return events.ok() ? absl::ResourceExhaustedError("rte_zmalloc") : events.status();
  }
  device->events = *std::move(events);
  rte_intr_type_set(device->interrupts, RTE_INTR_HANDLE_VDEV);
  dev->intr_handle = device->interrupts;
  dev->data->mac_addrs[0] = mac;
  dev->data->mtu = static_cast<uint16_t>(
      std::min<uint32_t>(device->port.netdev().Mtu().value_or(RTE_ETHER_MTU), UINT16_MAX));
  dev->data->dev_flags |=
      RTE_ETH_DEV_INTR_LSC | RTE_ETH_DEV_INTR_RMV | RTE_ETH_DEV_AUTOFILL_QUEUE_XSTATS;
  dev->dev_ops = &kXskOps;
  dev->rx_pkt_burst = XskRxBurst;
  dev->tx_pkt_burst = TxBurstOfAny;
  dev->rx_queue_count = RxQueueCount;
  dev->rx_descriptor_status = RxDescriptorStatus;
  dev->tx_descriptor_status = TxDescriptorStatus;
  XskLinkUpdate(dev, 0);
  rte_eth_dev_probing_finish(dev);
  return absl::OkStatus();
}

int Probe(rte_vdev_device* vdev) {
  const char* const name = rte_vdev_device_name(vdev);
  if (rte_eal_process_type() != RTE_PROC_PRIMARY) {
    XskLog(RTE_LOG_ERR, name,
           ": its sockets belong to the primary process; a secondary has no use "
           "of it");
    return -ENOTSUP;
  }
  const absl::Status status = MakeDevice(*vdev);
  if (status.ok()) return 0;
  XskLog(RTE_LOG_ERR, name, ": ", status.message());
  return absl::IsNotFound(status) ? -ENODEV : -EINVAL;
}

int Remove(rte_vdev_device* vdev) {
  rte_eth_dev* const dev = rte_eth_dev_allocated(rte_vdev_device_name(vdev));
  if (dev == nullptr) return 0;  // The application has closed it.
  // ethdev closes no port that is started.
  const int error = dev->data->dev_started != 0 ? rte_eth_dev_stop(dev->data->port_id) : 0;
  return error != 0 ? error : rte_eth_dev_close(dev->data->port_id);
}

// Initialised before anything runs: it registers itself earlier than C++ would construct it.
constinit rte_vdev_driver net_xsk_driver = {
    .next = {},
    .driver = {},
    .probe = Probe,
    .remove = Remove,
    .dma_map = nullptr,
    .dma_unmap = nullptr,
    .drv_flags = 0,
};

}  // namespace
}  // namespace penstock

using penstock::net_xsk_driver;
RTE_PMD_REGISTER_VDEV(net_xsk, net_xsk_driver);
RTE_PMD_REGISTER_PARAM_STRING(net_xsk, PENSTOCK_XSK_PARAMETERS);
