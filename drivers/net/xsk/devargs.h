// SPDX-License-Identifier: BSD-3-Clause
//
// The arguments of --vdev=net_xsk0,iface=eth0,…; control thread, at probe. doc/drivers/xsk.md is
// the manual of each.

#ifndef PENSTOCK_DRIVERS_NET_XSK_DEVARGS_H_
#define PENSTOCK_DRIVERS_NET_XSK_DEVARGS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "drivers/net/xsk/filter.h"

namespace penstock {

enum class BindMode { kAuto, kCopy, kZeroCopy };
enum class AttachMode { kAuto, kNative, kSkb };

struct XskOptions {
  std::string interface;
  uint32_t start_queue = 0;
  uint32_t queue_count = 0;  // 0: as many as the interface has from start_queue on
  BindMode bind = BindMode::kAuto;
  AttachMode attach = AttachMode::kAuto;
  uint32_t budget = 0;        // descriptors per send call; 0: tuned
  uint32_t sndbuf_bytes = 0;  // 0: what the TX ring takes
  uint32_t busy_budget = 0;   // 0: no busy polling
  bool inline_completion = false;
  bool check_owner = false;
  FilterRules filter;        // takes everything unless there are rules
  std::string program_file;  // empty: the driver's own
};

// `name` of the device, for messages; `arguments` as EAL has them ("iface=eth0,bind=copy").
// InvalidArgument with one line that says what, where, and what is accepted.
absl::StatusOr<XskOptions> ParseXskDevargs(absl::string_view name, const char* arguments);

// For `dpdk-pmdinfo` and messages.
#define PENSTOCK_XSK_PARAMETERS                                                    \
  "iface=<string> start_queue=<int> queue_count=<int> bind=auto|copy|zerocopy "    \
  "xdp_mode=auto|native|skb budget=<32...txd>|auto sndbuf=<bytes> "                \
  "busy_budget=<int> completion=stage|inline filter=[<rule>,...] xdp_prog=<file> " \
  "check_owner=0|1"

}  // namespace penstock

#endif  // PENSTOCK_DRIVERS_NET_XSK_DEVARGS_H_
