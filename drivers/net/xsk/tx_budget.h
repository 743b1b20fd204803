// SPDX-License-Identifier: BSD-3-Clause
//
// What net_xsk offers an application beyond ethdev: the send budget of a TX queue, asked for and
// changed while lcores send. ethdev has no word for it; the devarg budget= is what a queue begins
// with.
//
//   if (const int error = XskSetTxBudget(port, 0, 256); error != 0) …;   // 0 as budget: tuned
//   XskTxBudget now;
//   if (XskGetTxBudget(port, 0, now) == 0) Show(now.budget);
//
// Control thread of the application, between the set-up of the queue and the close of the port; no
// lcore has to pause. The lcore that sends next tells the kernel. -ENODEV: the port is none of this
// driver's, or it is another copy of the driver's; -EINVAL: no such queue, or a budget that is
// neither 0 nor 32 … `most`.

#ifndef PENSTOCK_DRIVERS_NET_XSK_TX_BUDGET_H_
#define PENSTOCK_DRIVERS_NET_XSK_TX_BUDGET_H_

#include <cstdint>

#include "lib/ring/send_sizes.h"

namespace penstock {

struct XskTxBudget {
  uint32_t budget = 0;      // Descriptors per send call; 0: the kernel, or the mode, has none.
  uint32_t fixed = 0;       // What was asked for; 0: tuned.
  uint32_t of_devargs = 0;  // The devarg; 0 for auto.
  uint32_t most = 0;        // The size of the TX ring.
  SendSizes pending{};      // How many descriptors were to be sent, each time sending began.
};

int XskSetTxBudget(uint16_t port, uint16_t queue, uint32_t budget);
int XskGetTxBudget(uint16_t port, uint16_t queue, XskTxBudget& budget);

}  // namespace penstock

#endif  // PENSTOCK_DRIVERS_NET_XSK_TX_BUDGET_H_
