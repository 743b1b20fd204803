// SPDX-License-Identifier: BSD-3-Clause
//
// Names and values of the driver's extended statistics, beside those that ethdev makes itself. One
// table per kind of queue is the list of them. Control thread.

#ifndef PENSTOCK_DRIVERS_NET_XSK_XSTATS_H_
#define PENSTOCK_DRIVERS_NET_XSK_XSTATS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "drivers/net/xsk/rx_queue.h"
#include "drivers/net/xsk/socket.h"
#include "drivers/net/xsk/tx_counters.h"

namespace penstock {

struct Xstat {
  std::string name;
  uint64_t value = 0;
  bool resets = true;  // false: a measurement of now, which a reset leaves alone
};

// "rx_q0_…": appended for one RX queue.
void AppendRxXstats(uint16_t queue, const RxCounters& counters, const XdpStatistics& kernel,
                    std::vector<Xstat>& out);
// "tx_q0_…": appended for one TX queue. Lock waits are there if it is shared.
void AppendTxXstats(uint16_t queue, const TxTotals& totals, bool shared,
                    const XdpStatistics& kernel, std::vector<Xstat>& out);

}  // namespace penstock

#endif  // PENSTOCK_DRIVERS_NET_XSK_XSTATS_H_
