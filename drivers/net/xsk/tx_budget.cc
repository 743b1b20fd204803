// SPDX-License-Identifier: BSD-3-Clause
//
// The budget of a TX queue from outside; see the header. Control thread.

#include "drivers/net/xsk/tx_budget.h"

#include <bit>
#include <cerrno>
#include <mutex>

#include "drivers/net/xsk/device.h"
#include "lib/ring/burst_budget.h"

namespace penstock {
namespace {

// Null if there is none.
TxQueueBase* QueueOf(uint16_t port, uint16_t queue, int& error) {
  error = -ENODEV;
  if (!rte_eth_dev_is_valid_port(port)) return nullptr;
  const rte_eth_dev& dev = rte_eth_devices[port];
  if (dev.dev_ops != &kXskOps) return nullptr;
  error = -EINVAL;
  if (queue >= dev.data->nb_tx_queues || dev.data->tx_queues == nullptr) return nullptr;
  return static_cast<TxQueueBase*>(dev.data->tx_queues[queue]);
}

uint32_t MostOf(const TxQueueBase& queue) {
  return std::bit_ceil(uint32_t{queue.settings().descriptors});
}

}  // namespace

int XskSetTxBudget(uint16_t port, uint16_t queue, uint32_t budget) {
  int error = 0;
  TxQueueBase* const tx = QueueOf(port, queue, error);
  if (tx == nullptr) return error;
  if (budget != 0 && (budget < kMinTxBudget || budget > MostOf(*tx))) return -EINVAL;
  tx->FixBudget(budget);
  return 0;
}

int XskGetTxBudget(uint16_t port, uint16_t queue, XskTxBudget& budget) {
  int error = 0;
  const TxQueueBase* const tx = QueueOf(port, queue, error);
  if (tx == nullptr) return error;
  // Against a start or stop, which replaces what the queue sends with.
  const std::lock_guard<std::mutex> lock(DeviceOf(&rte_eth_devices[port]).mutex);
  budget = {.budget = tx->budget(),
            .fixed = tx->fixed_budget(),
            .of_devargs = tx->settings().budget,
            .most = MostOf(*tx)};
  tx->AddPending(budget.pending);
  return 0;
}

}  // namespace penstock
