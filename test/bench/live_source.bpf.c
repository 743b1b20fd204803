// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
//
// Sends every frame it is run over out of one interface: the load of a benchmark, run over live
// frames by live_source.cc. Runs in the kernel, on the processor of the thread that started it.

// In this order, because the helpers do not include the types that they use.
// clang-format off
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
// clang-format on

// Set before loading.
const volatile __u32 interface_index = 0;

// Frames handed to the interface. One thread runs the program, so adding is enough.
__u64 offered = 0;

SEC("xdp")
int source(struct xdp_md* context) {
  (void)context;
  offered += 1;
  return bpf_redirect(interface_index, 0);
}

char _license[] SEC("license") = "Dual BSD/GPL";
