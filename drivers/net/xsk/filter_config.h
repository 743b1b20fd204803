// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
//
// What the XDP program is told: the same bytes for the driver and for the program, hence C. Port
// and ethertype are in network order, as they stand in a packet.

#ifndef PENSTOCK_DRIVERS_NET_XSK_FILTER_CONFIG_H_
#define PENSTOCK_DRIVERS_NET_XSK_FILTER_CONFIG_H_

#include <linux/types.h>

#define XSK_FILTER_MAX 16

struct xsk_filter_config {
  __u8 everything;  // no rule is looked at
  __u8 esp;         // IP protocol 50
  __u8 own_mac;     // what is addressed to the port, see xsk_port_mac
  __u8 udp_ports;   // how many of the array
  __u8 ethertypes;
  __u8 macs;
  __u16 udp_port[XSK_FILTER_MAX];
  __u16 ethertype[XSK_FILTER_MAX];
  __u8 mac[XSK_FILTER_MAX][6];
};

#endif  // PENSTOCK_DRIVERS_NET_XSK_FILTER_CONFIG_H_
