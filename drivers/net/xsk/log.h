// SPDX-License-Identifier: BSD-3-Clause
//
// The driver's log: DPDK's, because that is the one the application listens to, as pmd.net.xsk.
// Control path only.
//
//   XskLog(RTE_LOG_NOTICE, port_name, ": ", what);

#ifndef PENSTOCK_DRIVERS_NET_XSK_LOG_H_
#define PENSTOCK_DRIVERS_NET_XSK_LOG_H_

#include <rte_log.h>

#include "absl/strings/str_cat.h"

namespace penstock {

extern int xsk_log_type;

template <typename... Args>
void XskLog(uint32_t level, const Args&... args) {
  rte_log(level, static_cast<uint32_t>(xsk_log_type), "net_xsk: %s\n",
          absl::StrCat(args...).c_str());
}

}  // namespace penstock

#endif  // PENSTOCK_DRIVERS_NET_XSK_LOG_H_
