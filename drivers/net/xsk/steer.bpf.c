// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
//
// Gives the frames that the port is to take to the AF_XDP socket of the queue they came in on, and
// everything else to the kernel, also on a queue without a socket. Runs in the kernel, on whichever
// processor receives.

// In this order, because the helpers do not include the types that they use.
// clang-format off
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>
// clang-format on
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>

#include "filter_config.h"

// Set before loading; the verifier then removes what no rule needs.
const volatile struct xsk_filter_config xsk_filter = {};
// Set at any time: the port's MAC address may change.
__u8 xsk_port_mac[8];

struct {
  __uint(type, BPF_MAP_TYPE_XSKMAP);
  __uint(max_entries, 256);
  __uint(key_size, sizeof(__u32));
  __uint(value_size, sizeof(__u32));
} xsks_map SEC(".maps");

struct vlan_tag {
  __be16 tci;
  __be16 ethertype;
};

static __always_inline int same_mac(const __u8* a, const volatile __u8* b) {
  for (int i = 0; i < ETH_ALEN; i++) {
    if (a[i] != b[i]) return 0;
  }
  return 1;
}

static __always_inline int wanted_udp(const struct udphdr* udp, const void* end) {
  if ((const void*)(udp + 1) > end) return 0;
  for (int i = 0; i < XSK_FILTER_MAX; i++) {
    if (i < xsk_filter.udp_ports && udp->dest == xsk_filter.udp_port[i]) return 1;
  }
  return 0;
}

static __always_inline int wanted_ip(__be16 ethertype, const void* at, const void* end) {
  if (ethertype == bpf_htons(ETH_P_IP)) {
    const struct iphdr* ip = at;
    if ((const void*)(ip + 1) > end) return 0;
    if (xsk_filter.esp && ip->protocol == IPPROTO_ESP) return 1;
    // Only the first fragment has ports.
    if (ip->protocol != IPPROTO_UDP || (ip->frag_off & bpf_htons(0x1fff))) return 0;
    return wanted_udp(at + ip->ihl * 4, end);
  }
  if (ethertype == bpf_htons(ETH_P_IPV6)) {
    const struct ipv6hdr* ip = at;
    if ((const void*)(ip + 1) > end) return 0;
    if (xsk_filter.esp && ip->nexthdr == IPPROTO_ESP) return 1;
    return ip->nexthdr == IPPROTO_UDP && wanted_udp((const void*)(ip + 1), end);
  }
  return 0;
}

static __always_inline int wanted(const void* data, const void* end) {
  const struct ethhdr* eth = data;
  if ((const void*)(eth + 1) > end) return 0;
  if (xsk_filter.own_mac && same_mac(eth->h_dest, xsk_port_mac)) return 1;
  for (int i = 0; i < XSK_FILTER_MAX; i++) {
    if (i < xsk_filter.macs && same_mac(eth->h_dest, xsk_filter.mac[i])) return 1;
  }
  __be16 ethertype = eth->h_proto;
  const void* at = eth + 1;
  for (int i = 0; i < 2; i++) {
    const struct vlan_tag* tag = at;
    if (ethertype != bpf_htons(ETH_P_8021Q) && ethertype != bpf_htons(ETH_P_8021AD)) break;
    if ((const void*)(tag + 1) > end) return 0;
    ethertype = tag->ethertype;
    at = tag + 1;
  }
  for (int i = 0; i < XSK_FILTER_MAX; i++) {
    if (i < xsk_filter.ethertypes && ethertype == xsk_filter.ethertype[i]) return 1;
  }
  if (!xsk_filter.esp && !xsk_filter.udp_ports) return 0;
  return wanted_ip(ethertype, at, end);
}

SEC("xdp")
int penstock_xsk(struct xdp_md* context) {
  if (!xsk_filter.everything &&
      !wanted((const void*)(long)context->data, (const void*)(long)context->data_end)) {
    return XDP_PASS;
  }
  return bpf_redirect_map(&xsks_map, context->rx_queue_index, XDP_PASS);
}

char _license[] SEC("license") = "Dual BSD/GPL";
