// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
//
// Drops every frame in the driver: the peer of a benchmark costs as little as a peer can. Runs in
// the kernel.

// In this order, because the helpers do not include the types that they use.
// clang-format off
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
// clang-format on

SEC("xdp")
int drop(struct xdp_md* context) {
  (void)context;
  return XDP_DROP;
}

char _license[] SEC("license") = "Dual BSD/GPL";
