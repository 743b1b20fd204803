// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
//
// Objects that a driver cannot take for xdp_prog=, one for each definition below. Loaded by none.

// In this order, because the helpers do not include the types that they use.
// clang-format off
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
// clang-format on

#ifndef NO_MAP
struct {
#ifdef ARRAY
  __uint(type, BPF_MAP_TYPE_ARRAY);
#else
  __uint(type, BPF_MAP_TYPE_XSKMAP);
#endif
  __uint(max_entries, 64);
  __uint(key_size, sizeof(int));
  __uint(value_size, sizeof(int));
} xsks_map SEC(".maps");
#endif

#ifndef NO_PROGRAM
SEC("xdp")
int first(struct xdp_md* context) {
#ifdef REFUSED
  // Beyond what the verifier knows of the frame.
  return *(char*)(long)context->data;
#else
  return XDP_PASS;
#endif
}
#endif

#ifdef TWO_PROGRAMS
SEC("xdp")
int second(struct xdp_md* context) { return XDP_DROP; }
#endif

char _license[] SEC("license") = "Dual BSD/GPL";
