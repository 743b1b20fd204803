// SPDX-License-Identifier: BSD-3-Clause
//
// ethdev's functions about the interface itself: link, MTU, addresses, and what happens to it.
// Control thread; XskOnLinkEvent on EAL's interrupt thread.

#include <ethdev_driver.h>

#include <algorithm>

#include "drivers/net/xsk/device.h"
#include "drivers/net/xsk/log.h"

namespace penstock {

int XskLinkUpdate(rte_eth_dev* dev, int) {
  XskDevice& device = DeviceOf(dev);
  const NetdevLink now = device.port.removed() ? NetdevLink{} : device.port.netdev().Link();
  rte_eth_link link{};
  link.link_speed = now.speed_mbps != 0 ? now.speed_mbps : RTE_ETH_SPEED_NUM_UNKNOWN;
  link.link_duplex = now.full_duplex ? RTE_ETH_LINK_FULL_DUPLEX : RTE_ETH_LINK_HALF_DUPLEX;
  link.link_autoneg = RTE_ETH_LINK_AUTONEG;
  link.link_status = now.up ? RTE_ETH_LINK_UP : RTE_ETH_LINK_DOWN;
  return rte_eth_linkstatus_set(dev, &link);
}

int XskSetLinkUp(rte_eth_dev* dev) {
  XskDevice& device = DeviceOf(dev);
  return EthdevError(device, device.port.netdev().SetUp(true));
}

int XskSetLinkDown(rte_eth_dev* dev) {
  XskDevice& device = DeviceOf(dev);
  return EthdevError(device, device.port.netdev().SetUp(false));
}

int XskIsRemoved(rte_eth_dev* dev) { return DeviceOf(dev).port.removed() ? 1 : 0; }

int XskMtuSet(rte_eth_dev* dev, uint16_t mtu) {
  XskDevice& device = DeviceOf(dev);
  return EthdevError(device, device.port.SetMtu(mtu));
}

int XskMacSet(rte_eth_dev* dev, rte_ether_addr* mac) {
  // ethdev replays what it has at each start, and hands over its own copy. The interface has kept
  // its address, and if somebody has changed it since, that one counts.
  if (mac == dev->data->mac_addrs) return 0;
  XskDevice& device = DeviceOf(dev);
  const std::lock_guard<std::mutex> lock(device.mutex);
  return EthdevError(device, device.port.SetMac(*mac));
}

int XskPromiscuousEnable(rte_eth_dev* dev) {
  XskDevice& device = DeviceOf(dev);
  return EthdevError(device, device.port.netdev().SetPromiscuous(true));
}

// An interface that is gone is in no mode.
int XskPromiscuousDisable(rte_eth_dev* dev) {
  XskDevice& device = DeviceOf(dev);
  if (device.port.removed()) return 0;
  return EthdevError(device, device.port.netdev().SetPromiscuous(false));
}

int XskAllMulticastEnable(rte_eth_dev* dev) {
  XskDevice& device = DeviceOf(dev);
  return EthdevError(device, device.port.netdev().SetAllMulticast(true));
}

int XskAllMulticastDisable(rte_eth_dev* dev) {
  XskDevice& device = DeviceOf(dev);
  if (device.port.removed()) return 0;
  return EthdevError(device, device.port.netdev().SetAllMulticast(false));
}

void FollowNetdev(XskDevice& device) {
  rte_eth_dev_data& data = *device.dev.data;
  const absl::StatusOr<uint32_t> mtu = device.port.netdev().Mtu();
  if (mtu.ok()) {
    device.port.NoteMtu(*mtu);
    data.mtu = static_cast<uint16_t>(std::min<uint32_t>(*mtu, UINT16_MAX));
  }
  const absl::StatusOr<rte_ether_addr> mac = device.port.netdev().Mac();
  if (!mac.ok()) return;
  data.mac_addrs[0] = *mac;
  EthdevError(device, device.port.NoteMac(*mac));
}

void XskOnLinkEvent(XskDevice& device, LinkEvents::Event event) {
  if (device.port.removed()) return;
  rte_eth_dev* const dev = &device.dev;
  // The message of its removal may be among those that were lost.
  if (event == LinkEvents::Event::kRemoved || !device.port.netdev().Exists()) {
    device.port.NoteRemoved();
    XskLog(RTE_LOG_WARNING, device.port.name(), ": interface ", device.port.netdev_name(),
           " was removed");
    XskLinkUpdate(dev, 0);
    if (dev->data->dev_conf.intr_conf.lsc != 0) {
      rte_eth_dev_callback_process(dev, RTE_ETH_EVENT_INTR_LSC, nullptr);
    }
    rte_eth_dev_callback_process(dev, RTE_ETH_EVENT_INTR_RMV, nullptr);
    return;
  }
  {
    const std::lock_guard<std::mutex> lock(device.mutex);
    FollowNetdev(device);
  }
  // 0: the link changed.
  if (XskLinkUpdate(dev, 0) == 0 && dev->data->dev_conf.intr_conf.lsc != 0) {
    rte_eth_dev_callback_process(dev, RTE_ETH_EVENT_INTR_LSC, nullptr);
  }
}

}  // namespace penstock
