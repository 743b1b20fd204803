// SPDX-License-Identifier: BSD-3-Clause
//
// TxBudgets: how many packets one send call of an AF_XDP port may carry, by TX queue: fixed, or
// tuned by what is sent. Control thread; lcores only count, each in plain memory of its own.
//
// Two kinds of ports have budgets:
//  - those of stock net_af_xdp, whose sockets are found in this process (xsk_socket.h). A send is a
//    burst given to rte_eth_tx_burst; lcores count them by size, Tune() looks at the counts some
//    times per second and sets the socket's option when BurstBudget says so.
//  - those of a driver that has them itself. It tunes on the lcore that sends; its functions come
//    from the application, because libraries know no driver.
//
//   constexpr TxBudgetDriver kDrivers[] = {{"net_xsk", &Set, &Get}};
//   TxBudgets budgets(kDrivers);
//   queue.sends = budgets.SendsOf(port.capabilities(), 0, lcore);             // null: not needed
//   PENSTOCK_RETURN_IF_ERROR(budgets.Set(port, 1, 1024, wanted));             // port is set up
//   budgets.Tune();                                                           // now and then
//   const std::optional<TxBudgetState> now = budgets.StateOf(0, 0);
//   budgets.Freeze();                                                         // before ports close

#ifndef PENSTOCK_LIB_PORT_TX_BUDGETS_H_
#define PENSTOCK_LIB_PORT_TX_BUDGETS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/port/port.h"
#include "lib/ring/burst_budget.h"
#include "lib/ring/send_sizes.h"

namespace penstock {

// What a driver with budgets of its own says of a queue.
struct DriverTxBudget {
  uint32_t budget = 0;      // In effect; 0: the kernel, or the mode, has none.
  uint32_t fixed = 0;       // 0: the driver tunes it.
  uint32_t of_devargs = 0;  // What the queue began with; 0: tuned.
  SendSizes sends{};
};

// Its functions: `budget` 0 is for tuned. Control thread, queue set up, lcores may be sending.
struct TxBudgetDriver {
  absl::string_view driver;  // As ethdev names it.
  absl::Status (*set)(uint16_t port, uint16_t queue, uint32_t budget);
  absl::StatusOr<DriverTxBudget> (*get)(uint16_t port, uint16_t queue);
};

struct TxBudgetState {
  std::optional<uint32_t> budget;  // Nothing where the kernel, or the mode, has none.
  bool tuned = false;
  std::string reason;  // Of the choice, in a few words.
  SendSizes sends{};   // By how many descriptors they were for, since the port was set up.
};

class TxBudgets {
 public:
  // `drivers` outlives it.
  explicit TxBudgets(std::span<const TxBudgetDriver> drivers) : drivers_(drivers) {}

  // Whether there is something to set, as far as the driver is concerned.
  bool Has(const PortCapabilities& port) const;

  // Where that lcore is to count what it sends to the queue; null where the driver counts, or there
  // is no budget. It stays where it is.
  LcoreSends* SendsOf(const PortCapabilities& port, uint16_t queue, unsigned lcore);

  // Makes the budgets of all TX queues of a port that is set up and has budgets what is wanted: a
  // number, within 32 and `ring` (its TX descriptors), kTxBudgetAuto, or nothing, which is auto
  // unless the devargs say otherwise. Lcores may be sending. What is wanted again changes nothing.
  // A kernel without budgets is said once, and is no error; a number that has no effect is said for
  // the port.
  absl::Status Set(const Port& port, uint16_t queues, uint16_t ring,
                   std::optional<uint16_t> wanted);

  // Looks at what was sent since the last time. Some times per second.
  void Tune();

  // Nothing for a queue that Set() was not asked for.
  std::optional<TxBudgetState> StateOf(uint16_t port, uint16_t queue) const;

  // Keeps what is known now; the ports are not asked any more.
  void Freeze();

 private:
  using QueueId = std::pair<uint16_t, uint16_t>;  // Port, queue.

  struct Queue {
    const TxBudgetDriver* driver = nullptr;  // Null: by its socket.
    int socket = -1;
    absl::string_view none = {};  // Why it has no budget.
    std::optional<uint16_t> wanted;
    BurstBudget tuner{kMinTxBudget};
    uint32_t set = 0;  // What the socket was told last.
    SendSizes seen{};  // By the tuner.
    std::optional<TxBudgetState> frozen;
  };

  const TxBudgetDriver* DriverOf(const PortCapabilities& port) const;
  absl::Status SetSocket(Queue& queue, uint32_t budget);
  absl::Status SetDriver(const Port& port, QueueId id, Queue& queue,
                         std::optional<uint16_t> wanted);
  SendSizes Sent(QueueId id) const;
  TxBudgetState SocketState(QueueId id, const Queue& queue) const;
  TxBudgetState DriverState(QueueId id, const Queue& queue) const;

  const std::span<const TxBudgetDriver> drivers_;
  std::map<QueueId, Queue> queues_;
  std::map<QueueId, std::map<unsigned, LcoreSends>> sends_;  // By lcore.
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_PORT_TX_BUDGETS_H_
