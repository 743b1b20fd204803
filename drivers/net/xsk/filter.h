// SPDX-License-Identifier: BSD-3-Clause
//
// filter=[udp:4789,esp,ether:0x88b5,dst-mac]: which frames the port takes; all others go on to the
// kernel. A frame is taken if one of the rules says so. Control thread.
//
//   udp:PORT       UDP to this port, over IPv4 or IPv6; of what IPv4 fragmented the first fragment
//   esp            IP protocol 50
//   ether:TYPE     this ethertype, after VLAN tags
//   dst-mac        addressed to the port's own MAC address, also after it was changed
//   dst-mac:MAC    addressed to this one
//
// Of IPv6 the header that follows the fixed one decides: behind an extension header, that of a
// fragment included, neither UDP nor ESP is seen, and the kernel gets the frame.

#ifndef PENSTOCK_DRIVERS_NET_XSK_FILTER_H_
#define PENSTOCK_DRIVERS_NET_XSK_FILTER_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "drivers/net/xsk/filter_config.h"

namespace penstock {

struct FilterRules {
  FilterRules() { config.everything = 1; }

  xsk_filter_config config{};
  std::string text = "everything";  // as it was given
};

// InvalidArgument naming the rule and what is accepted.
absl::StatusOr<FilterRules> ParseFilter(absl::string_view text);

}  // namespace penstock

#endif  // PENSTOCK_DRIVERS_NET_XSK_FILTER_H_
