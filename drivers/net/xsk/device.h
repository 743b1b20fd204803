// SPDX-License-Identifier: BSD-3-Clause
//
// XskDevice: what ethdev's dev_private points to, and the functions that ethdev calls. Control
// thread of the application; statistics and link state from any.

#ifndef PENSTOCK_DRIVERS_NET_XSK_DEVICE_H_
#define PENSTOCK_DRIVERS_NET_XSK_DEVICE_H_

#include <ethdev_driver.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "drivers/net/xsk/events.h"
#include "drivers/net/xsk/port.h"

namespace penstock {

struct XskDevice {
  XskDevice(rte_eth_dev& ethdev, XskOptions options, Netdev netdev)
      : dev(ethdev),
        port(ethdev.data->port_id, ethdev.data->name, std::move(options), std::move(netdev)) {}

  rte_eth_dev& dev;
  // Start and stop against statistics, which telemetry asks for on a thread of its own.
  std::mutex mutex;
  XskPort port;
  std::unique_ptr<LinkEvents> events;
  rte_intr_handle* interrupts = nullptr;
  rte_eth_stats past{};  // of queues that were released
  std::map<std::string, uint64_t> xpast;
  rte_eth_stats zero{};                   // what stats_reset found
  std::map<std::string, uint64_t> xzero;  // what xstats_reset found
};

inline XskDevice& DeviceOf(const rte_eth_dev* dev) {
  return **static_cast<XskDevice**>(dev->data->dev_private);
}

// Logs it and gives ethdev's error for it: 0, or a negative errno.
int EthdevError(const XskDevice& device, const absl::Status& status);

// The table for dev->dev_ops; the functions are in ops_*.cc by subject.
extern const eth_dev_ops kXskOps;

// ops_control.cc: configure, queues, start, stop, close, information
int XskConfigure(rte_eth_dev* dev);
int XskStart(rte_eth_dev* dev);
int XskStop(rte_eth_dev* dev);
int XskClose(rte_eth_dev* dev);
int XskInfo(rte_eth_dev* dev, rte_eth_dev_info* info);
int XskRxQueueSetup(rte_eth_dev* dev, uint16_t queue, uint16_t descriptors, unsigned socket,
                    const rte_eth_rxconf* conf, rte_mempool* pool);
int XskTxQueueSetup(rte_eth_dev* dev, uint16_t queue, uint16_t descriptors, unsigned socket,
                    const rte_eth_txconf* conf);
void XskRxQueueRelease(rte_eth_dev* dev, uint16_t queue);
void XskTxQueueRelease(rte_eth_dev* dev, uint16_t queue);
int XskTxDoneCleanup(void* queue, uint32_t count);

// ops_link.cc: the interface
int XskLinkUpdate(rte_eth_dev* dev, int wait);
int XskSetLinkUp(rte_eth_dev* dev);
int XskSetLinkDown(rte_eth_dev* dev);
int XskIsRemoved(rte_eth_dev* dev);
int XskMtuSet(rte_eth_dev* dev, uint16_t mtu);
int XskMacSet(rte_eth_dev* dev, rte_ether_addr* mac);
int XskPromiscuousEnable(rte_eth_dev* dev);
int XskPromiscuousDisable(rte_eth_dev* dev);
int XskAllMulticastEnable(rte_eth_dev* dev);
int XskAllMulticastDisable(rte_eth_dev* dev);
// ethdev and the filter learn the interface's MTU and address of now. Under device.mutex.
void FollowNetdev(XskDevice& device);
void XskOnLinkEvent(XskDevice& device, LinkEvents::Event event);

// ops_stats.cc: what was counted, and what was chosen
int XskStats(rte_eth_dev* dev, rte_eth_stats* stats);
int XskStatsReset(rte_eth_dev* dev);
int XskXstats(rte_eth_dev* dev, rte_eth_xstat* values, unsigned n);
int XskXstatsNames(rte_eth_dev* dev, rte_eth_xstat_name* names, unsigned n);
int XskXstatsReset(rte_eth_dev* dev);
int XskVersion(rte_eth_dev* dev, char* text, size_t size);
// Before a queue is released.
void KeepRxCounts(XskDevice& device, uint16_t index, const RxQueue& queue);
void KeepTxCounts(XskDevice& device, uint16_t index, const TxQueueBase& queue);
void XskRxQueueInfo(rte_eth_dev* dev, uint16_t queue, rte_eth_rxq_info* info);
void XskTxQueueInfo(rte_eth_dev* dev, uint16_t queue, rte_eth_txq_info* info);
int XskRxMode(rte_eth_dev* dev, uint16_t queue, rte_eth_burst_mode* mode);
int XskTxMode(rte_eth_dev* dev, uint16_t queue, rte_eth_burst_mode* mode);

// ops_interrupt.cc
absl::Status InstallRxInterrupts(XskDevice& device);
void RemoveRxInterrupts(XskDevice& device);
int XskRxInterruptEnable(rte_eth_dev* dev, uint16_t queue);
int XskRxInterruptDisable(rte_eth_dev* dev, uint16_t queue);

// driver.cc: the lcores' functions
uint16_t XskRxBurst(void* queue, rte_mbuf** mbufs, uint16_t n);
// That of the policy all started TX queues have, or one that asks each queue.
eth_tx_burst_t TxBurstFor(const rte_eth_dev& dev);

}  // namespace penstock

#endif  // PENSTOCK_DRIVERS_NET_XSK_DEVICE_H_
