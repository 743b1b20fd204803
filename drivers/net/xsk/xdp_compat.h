// SPDX-License-Identifier: BSD-3-Clause
//
// What newer kernels added to AF_XDP and the distribution's <linux/if_xdp.h> may lack. The kernel
// that runs decides whether it works, and is asked; for XDP_USE_SG, which older ones refuse with
// the EINVAL that a bind has other reasons for, by its version (KernelHasSegments).

#ifndef PENSTOCK_DRIVERS_NET_XSK_XDP_COMPAT_H_
#define PENSTOCK_DRIVERS_NET_XSK_XDP_COMPAT_H_

#include <linux/if_xdp.h>
#include <sys/socket.h>

#ifndef XDP_USE_SG
#define XDP_USE_SG (1 << 4)  // bind: packets of several descriptors, 6.6
#endif
#ifndef XDP_PKT_CONTD
#define XDP_PKT_CONTD (1 << 0)  // xdp_desc.options: the packet goes on in the next descriptor, 6.6
#endif
#ifndef XDP_MAX_TX_SKB_BUDGET
#define XDP_MAX_TX_SKB_BUDGET 9  // setsockopt: descriptors per send call in copy mode, 6.17
#endif
#ifndef SO_PREFER_BUSY_POLL
#define SO_PREFER_BUSY_POLL 69  // 5.11
#endif
#ifndef SO_BUSY_POLL_BUDGET
#define SO_BUSY_POLL_BUDGET 70  // 5.11
#endif

namespace penstock {

// A packet of one linear part and as many frags as an skb takes (MAX_SKB_FRAGS).
inline constexpr unsigned kMaxDescriptorsPerPacket = 18;

// What the kernel leaves free before a received frame, besides the headroom that was asked for.
inline constexpr unsigned kXdpHeadroomBytes = 256;
// The smallest chunk that XDP_UMEM_REG takes.
inline constexpr unsigned kMinChunkBytes = 2048;

}  // namespace penstock

#endif  // PENSTOCK_DRIVERS_NET_XSK_XDP_COMPAT_H_
