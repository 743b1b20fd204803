// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
//
// Gives every frame of a queue to the AF_XDP socket bound to it, and to the kernel where there is
// none. Loaded by the driver net_af_xdp (xdp_prog=), which looks for a map of this name, and by
// tests as a program that is not penstock's. Runs in the kernel, on whichever processor receives.

// In this order, because the helpers do not include the types that they use.
// clang-format off
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
// clang-format on

struct {
  __uint(type, BPF_MAP_TYPE_XSKMAP);
  __uint(max_entries, 64);
  __uint(key_size, sizeof(int));
  __uint(value_size, sizeof(int));
} xsks_map SEC(".maps");

SEC("xdp")
int to_socket(struct xdp_md* context) {
  return bpf_redirect_map(&xsks_map, context->rx_queue_index, XDP_PASS);
}

char _license[] SEC("license") = "Dual BSD/GPL";
