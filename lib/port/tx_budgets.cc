// SPDX-License-Identifier: BSD-3-Clause
#include "lib/port/tx_budgets.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/log.h"
#include "lib/base/status.h"
#include "lib/config/configuration.h"
#include "lib/port/port_setup.h"
#include "lib/port/xsk_socket.h"

namespace penstock {
namespace {

static_assert(kLeastTxBudget == kMinTxBudget);

constexpr absl::string_view kNoOption = "this kernel has none to set (before 6.17)";
constexpr absl::string_view kZeroCopy = "none in zero-copy mode: the device sends by itself";
constexpr absl::string_view kRefused = "not tuned: the kernel refused to change it";
constexpr absl::string_view kSmallRing = "none for a TX ring of fewer than 32 descriptors";

// "auto: 99.8 % of 51234 sends fit"
std::string WhyTuned(uint32_t budget, const SendSizes& sends) {
  uint64_t all = 0;
  uint64_t whole = 0;
  for (size_t i = 1; i < kSendBuckets; ++i) {
    all += sends[i];
    if (SendBucketEnd(i) <= budget) whole += sends[i];
  }
  if (all == 0) return "auto: nothing sent yet";
  // Rounded down: 100 % is said when it is so.
  const double permille = static_cast<double>(whole * 1000 / all);
  return absl::StrFormat("auto: %.1f %% of %d sends fit", permille / 10, all);
}

std::string WhyFixed(uint32_t of_devargs, bool explicitly) {
  return explicitly ? std::string("--tx-budget") : absl::StrCat("devarg budget=", of_devargs);
}

}  // namespace

const TxBudgetDriver* TxBudgets::DriverOf(const PortCapabilities& port) const {
  const auto found = std::ranges::find(drivers_, port.driver, &TxBudgetDriver::driver);
  return found != drivers_.end() ? &*found : nullptr;
}

bool TxBudgets::Has(const PortCapabilities& port) const {
  return port.hidden_sockets || DriverOf(port) != nullptr;
}

LcoreSends* TxBudgets::SendsOf(const PortCapabilities& port, uint16_t queue, unsigned lcore) {
  if (!port.hidden_sockets) return nullptr;
  return &sends_[{port.port, queue}][lcore];
}

absl::Status TxBudgets::Set(const Port& port, uint16_t queues, uint16_t ring,
                            std::optional<uint16_t> wanted) {
  const PortCapabilities& known = port.capabilities();
  for (uint16_t i = 0; i < queues; ++i) {
    const QueueId id{known.port, i};
    const auto [found, fresh] = queues_.try_emplace(id);
    Queue& queue = found->second;
    if (fresh) {
      queue.driver = DriverOf(known);
      queue.socket = port.HiddenSocketOf(i);
      queue.tuner = BurstBudget(std::bit_ceil(uint32_t{ring}));
      if (queue.driver == nullptr && ring < kMinTxBudget) queue.none = kSmallRing;
      if (queue.socket >= 0 && IsXskZeroCopy(queue.socket)) queue.none = kZeroCopy;
    }
    if (queue.none == kRefused) queue.none = {};  // Asked for anew, it is tried anew.
    if (queue.driver != nullptr) {
      PENSTOCK_RETURN_IF_ERROR(SetDriver(port, id, queue, wanted));
    } else {
      const uint16_t fixed = wanted.value_or(kTxBudgetAuto);
      const uint32_t budget = fixed != kTxBudgetAuto ? fixed : queue.tuner.budget();
      PENSTOCK_RETURN_IF_ERROR(WithContext(SetSocket(queue, budget), Where(known)));
    }
    const bool news = std::exchange(queue.wanted, wanted) != wanted;
    if (news && i == 0 && wanted.value_or(kTxBudgetAuto) != kTxBudgetAuto) {
      const TxBudgetState now = StateOf(id.first, i).value_or(TxBudgetState());
      if (now.budget) continue;
      Log(Severity::kWarning, Where(known), ": --tx-budget=", *wanted,
          " has no effect: ", now.reason);
    }
  }
  return absl::OkStatus();
}

absl::Status TxBudgets::SetSocket(Queue& queue, uint32_t budget) {
  if (!queue.none.empty() || queue.set == budget) return absl::OkStatus();
  const absl::Status status = SetXskTxBudget(queue.socket, budget);
  if (absl::IsUnimplemented(status)) {
    static bool said = false;
    if (!said) {
      Log(Severity::kInfo,
          "this kernel has no XDP_MAX_TX_SKB_BUDGET (Linux 6.17 has): 32 packets per send call");
    }
    said = true;
    queue.none = kNoOption;
    return absl::OkStatus();
  }
  if (status.ok()) queue.set = budget;
  return status;
}

absl::Status TxBudgets::SetDriver(const Port& port, QueueId id, Queue& queue,
                                  std::optional<uint16_t> wanted) {
  PENSTOCK_ASSIGN_OR_RETURN(const DriverTxBudget now, queue.driver->get(id.first, id.second));
  const uint32_t budget = wanted ? *wanted : now.of_devargs;
  const bool overrides = wanted && now.of_devargs != 0 && budget != now.of_devargs;
  if (overrides && queue.wanted != wanted && id.second == 0) {
    Log(Severity::kInfo, Where(port.capabilities()),
        ": --tx-budget=", budget == 0 ? "auto" : absl::StrCat(budget),
        " overrides the devarg budget=", now.of_devargs);
  }
  // The port may have been set up anew, with the devarg: asked each time.
  return now.fixed == budget ? absl::OkStatus() : queue.driver->set(id.first, id.second, budget);
}

SendSizes TxBudgets::Sent(QueueId id) const {
  SendSizes sum{};
  const auto found = sends_.find(id);
  if (found == sends_.end()) return sum;
  for (const auto& [lcore, sends] : found->second) sends.AddTo(sum);
  return sum;
}

void TxBudgets::Tune() {
  for (auto& [id, queue] : queues_) {
    if (queue.driver != nullptr || queue.frozen || !queue.none.empty()) continue;
    const SendSizes sent = Sent(id);
    SendSizes since{};
    for (size_t i = 0; i < kSendBuckets; ++i) since[i] = sent[i] - queue.seen[i];
    queue.seen = sent;
    // It goes on learning while the budget is fixed, and is up to date when it is asked again.
    queue.tuner.ObserveMany(since);
    if (queue.wanted.value_or(kTxBudgetAuto) != kTxBudgetAuto) continue;
    const absl::Status status = SetSocket(queue, queue.tuner.budget());
    if (status.ok()) continue;
    Log(Severity::kWarning, "port ", id.first, ": ", status.message());
    queue.none = kRefused;  // It is not asked, and this not said, five times a second.
  }
}

TxBudgetState TxBudgets::SocketState(QueueId id, const Queue& queue) const {
  TxBudgetState state{.budget = {}, .tuned = false, .reason = {}, .sends = Sent(id)};
  if (!queue.none.empty()) {
    state.reason = std::string(queue.none);
    return state;
  }
  state.budget = queue.set;
  state.tuned = queue.wanted.value_or(kTxBudgetAuto) == kTxBudgetAuto;
  state.reason = state.tuned ? WhyTuned(queue.set, state.sends) : WhyFixed(0, true);
  return state;
}

TxBudgetState TxBudgets::DriverState(QueueId id, const Queue& queue) const {
  const auto now = queue.driver->get(id.first, id.second);
  TxBudgetState state;
  if (!now.ok()) {
    state.reason = std::string(now.status().message());
    return state;
  }
  state.sends = now->sends;
  if (now->budget == 0) {
    state.reason = "none: a kernel before 6.17, zero-copy mode, or a port that never started";
    return state;
  }
  state.budget = now->budget;
  state.tuned = now->fixed == 0;
  state.reason = state.tuned ? WhyTuned(now->budget, now->sends)
                             : WhyFixed(now->of_devargs, queue.wanted.has_value());
  return state;
}

std::optional<TxBudgetState> TxBudgets::StateOf(uint16_t port, uint16_t queue) const {
  const auto found = queues_.find({port, queue});
  if (found == queues_.end()) return std::nullopt;
  if (found->second.frozen) return found->second.frozen;
  return found->second.driver != nullptr ? DriverState(found->first, found->second)
                                         : SocketState(found->first, found->second);
}

void TxBudgets::Freeze() {
  for (auto& [id, queue] : queues_) {
    if (!queue.frozen) queue.frozen = StateOf(id.first, id.second);
    queue.socket = -1;
  }
}

}  // namespace penstock
