// SPDX-License-Identifier: BSD-3-Clause
#include "app/penstock/drivers.h"

#include "absl/strings/str_cat.h"
#include "drivers/mempool/deferred/mail.h"
#include "lib/base/status.h"

namespace penstock {

absl::Status RegisterMempoolOps() {
  const int error = RegisterDeferredOps();
  if (error == 0) return absl::OkStatus();
  return ErrnoStatus(error, "rte_mempool_register_ops(deferred)");
}

std::optional<HomeMail> HomeMailOf(rte_mempool* pool, unsigned lcore) {
  return DeferredMailOf(pool, lcore);
}

}  // namespace penstock

#if PENSTOCK_HAS_DRIVERS
#include "drivers/net/xsk/tx_budget.h"

namespace penstock {
namespace {

absl::Status SetXskBudget(uint16_t port, uint16_t queue, uint32_t budget) {
  const int error = XskSetTxBudget(port, queue, budget);
  if (error == 0) return absl::OkStatus();
  return ErrnoStatus(
      error, absl::StrCat("XskSetTxBudget(port ", port, ", queue ", queue, ", ", budget, ")"));
}

absl::StatusOr<DriverTxBudget> GetXskBudget(uint16_t port, uint16_t queue) {
  XskTxBudget now;
  if (const int error = XskGetTxBudget(port, queue, now); error != 0) {
    return ErrnoStatus(error, absl::StrCat("XskGetTxBudget(port ", port, ", queue ", queue, ")"));
  }
  return DriverTxBudget{
      .budget = now.budget, .fixed = now.fixed, .of_devargs = now.of_devargs, .sends = now.pending};
}

constexpr TxBudgetDriver kTxBudgetDrivers[] = {{"net_xsk", &SetXskBudget, &GetXskBudget}};

}  // namespace

std::span<const TxBudgetDriver> TxBudgetDrivers() { return kTxBudgetDrivers; }

}  // namespace penstock
#else
namespace penstock {
std::span<const TxBudgetDriver> TxBudgetDrivers() { return {}; }
}  // namespace penstock
#endif
