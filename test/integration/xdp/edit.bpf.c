// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
//
// A user's program for xdp_prog= that does to each frame what its payload says, then gives it to
// the socket of its queue: what an AF_XDP driver meets behind programs that are not its own. Runs
// in the kernel, on whichever processor receives.
//
// Behind the 32-bit number in a frame of the local experimental ethertype stand a letter and an
// amount: 'd' drop, 's' and 'S' cut off so many bytes at the end (S: 16 times as many), 'g' add so
// many, 'm' put 32 bytes of metadata, each the amount, in front of it.

// In this order, because the helpers do not include the types that they use.
// clang-format off
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>
// clang-format on
#include <linux/if_ether.h>

#define METADATA_BYTES 32

struct {
  __uint(type, BPF_MAP_TYPE_XSKMAP);
  __uint(max_entries, 64);
  __uint(key_size, sizeof(int));
  __uint(value_size, sizeof(int));
} xsks_map SEC(".maps");

struct told {
  struct ethhdr eth;
  __be32 number;
  __u8 action;
  __u8 amount;
} __attribute__((packed));

static __always_inline int put_metadata(struct xdp_md* context, __u8 value) {
  if (bpf_xdp_adjust_meta(context, -METADATA_BYTES) != 0) return -1;
  __u8* const metadata = (__u8*)(long)context->data_meta;
  if ((void*)(metadata + METADATA_BYTES) > (void*)(long)context->data) return -1;
  for (int i = 0; i < METADATA_BYTES; i++) metadata[i] = value;
  return 0;
}

SEC("xdp.frags")
int edit(struct xdp_md* context) {
  const struct told* const told = (const void*)(long)context->data;
  if ((const void*)(told + 1) > (const void*)(long)context->data_end) return XDP_PASS;
  if (told->eth.h_proto != bpf_htons(0x88b5)) return XDP_PASS;
  const __u8 action = told->action;
  const int amount = told->amount;
  long failed = 0;
  if (action == 'd') return XDP_DROP;
  if (action == 's') failed = bpf_xdp_adjust_tail(context, -amount);
  if (action == 'S') failed = bpf_xdp_adjust_tail(context, -16 * amount);
  if (action == 'g') failed = bpf_xdp_adjust_tail(context, amount);
  if (action == 'm') failed = put_metadata(context, amount);
  if (failed) return XDP_ABORTED;
  return bpf_redirect_map(&xsks_map, context->rx_queue_index, XDP_PASS);
}

char _license[] SEC("license") = "Dual BSD/GPL";
