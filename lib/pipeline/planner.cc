// SPDX-License-Identifier: BSD-3-Clause
#include "lib/pipeline/planner.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lib/base/status.h"
#include "lib/pipeline/completion_plan.h"
#include "lib/pipeline/tx_budget_rules.h"
#include "lib/ring/home_pool.h"

namespace penstock {
namespace {

constexpr uint16_t kDefaultDescriptors = 1024;
// Stock drivers refuse smaller pools, and a pool in use by sockets wants slack.
constexpr uint32_t kSmallestMempool = 16383;

absl::Status Impossible(std::string message) { return absl::FailedPreconditionError(message); }

// What was asked for, if the port has it; the error names the option.
absl::StatusOr<std::optional<uint16_t>> Asked(absl::string_view option, const PerPort& wanted,
                                              const PlannerPort& port, uint16_t max,
                                              absl::string_view what) {
  const std::optional<uint16_t> value = wanted.For(port.port);
  if (value && *value > max) {
    return Impossible(absl::StrFormat("--%s=%d: port %d (%s) has at most %d %s; ask for 1 to %d",
                                      option, *value, port.port, port.name, max, what, max));
  }
  return value;
}

absl::StatusOr<uint16_t> Descriptors(absl::string_view option, const PerPort& wanted,
                                     const PlannerPort& port, const QueueLimits& limits) {
  // A driver that leaves its limits at 0 has none of its own.
  const uint16_t min = std::max<uint16_t>(limits.min_descriptors, 1);
  const uint16_t max = limits.max_descriptors != 0 ? limits.max_descriptors : kMaxDescriptors;
  const uint16_t align = std::max<uint16_t>(limits.descriptor_align, 1);
  if (const std::optional<uint16_t> value = wanted.For(port.port)) {
    if (*value < min || *value > max || *value % align != 0) {
      return Impossible(
          absl::StrFormat("--%s=%d: port %d (%s) takes %d to %d descriptors in steps of %d", option,
                          *value, port.port, port.name, min, max, align));
    }
    return *value;
  }
  const uint16_t fitting = std::clamp(kDefaultDescriptors, min, max);
  const auto below = static_cast<uint16_t>(fitting - fitting % align);
  if (below >= min) return below;
  // The smallest number that the port takes is no multiple of the step; the next multiple may be.
  const uint32_t above = uint32_t{below} + align;
  if (above <= max) return static_cast<uint16_t>(above);
  return Impossible(absl::StrFormat(
      "port %d (%s) takes %d to %d descriptors in steps of %d: there is no such number", port.port,
      port.name, min, max, align));
}

// Index of the port that a packet received on `ports[index]` leaves by.
size_t PeerOf(size_t index, size_t ports, PortTopology topology) {
  switch (topology) {
    case PortTopology::kPaired:
      // The last of an odd number of ports pairs with itself.
      return (index ^ 1) < ports ? index ^ 1 : index;
    case PortTopology::kChained:
      return (index + 1) % ports;
    case PortTopology::kLoop:
      return index;
  }
  return index;
}

class Planner {
 public:
  Planner(std::span<const PlannerPort> ports, std::span<const PlannerLcore> lcores,
          const ModeShape& shape, const Configuration& configuration)
      : ports_(ports), workers_(lcores), shape_(shape), configuration_(configuration) {}

  absl::StatusOr<Plan> Make() && {
    if (ports_.empty()) {
      return Impossible(
          "no port to work on: give one, such as --vdev=net_af_xdp0,iface=IFACE or -a PCI_ADDRESS");
    }
    if (workers_.empty()) {
      return Impossible(
          "no lcore to forward with: the first one runs commands, so give at least two, such as "
          "-l 0,1, or --lcores=0@0,1@0 on a machine with one processor");
    }
    PENSTOCK_RETURN_IF_ERROR(NoUnknownPorts());
    PENSTOCK_RETURN_IF_ERROR(ChoosePorts());
    PENSTOCK_RETURN_IF_ERROR(ChooseLcores());
    PENSTOCK_RETURN_IF_ERROR(shape_.streams == Streams::kReceive ? DealReceiving() : DealSources());
    PENSTOCK_RETURN_IF_ERROR(SizeQueues());
    PENSTOCK_RETURN_IF_ERROR(AssignReapers(ports_, configuration_, plan_));
    PENSTOCK_RETURN_IF_ERROR(CheckTxBudgets(ports_, plan_, configuration_));
    Share();
    PlanMempools();
    Note();
    return std::move(plan_);
  }

 private:
  struct Stream {
    size_t port;  // Index into ports_.
    uint16_t queue;
  };

  static std::string ListOf(const auto& numbered, auto number) {
    return absl::StrJoin(numbered, ", ", [&](std::string* out, const auto& each) {
      absl::StrAppend(out, each.*number);
    });
  }

  absl::Status CheckKnown(absl::string_view what, uint16_t port) const {
    if (IndexOf(port) < ports_.size()) return absl::OkStatus();
    return Impossible(absl::StrFormat("%s names port %d, which is not there; ports are %s", what,
                                      port, ListOf(ports_, &PlannerPort::port)));
  }

  // A value for a port that is not there is a mistake, not a wish for later.
  absl::Status NoUnknownPorts() const {
    const auto check = [&](absl::string_view option, const auto& by_port) {
      absl::Status status;
      for (const auto& [port, value] : by_port) status.Update(CheckKnown(option, port));
      return status;
    };
    PENSTOCK_RETURN_IF_ERROR(check("--rxq", configuration_.rxq.of_port));
    PENSTOCK_RETURN_IF_ERROR(check("--txq", configuration_.txq.of_port));
    PENSTOCK_RETURN_IF_ERROR(check("--rxd", configuration_.rxd.of_port));
    PENSTOCK_RETURN_IF_ERROR(check("--txd", configuration_.txd.of_port));
    PENSTOCK_RETURN_IF_ERROR(check("--tx-budget", configuration_.tx_budget.of_port));
    PENSTOCK_RETURN_IF_ERROR(check("--eth-peer", configuration_.eth_peer));
    for (uint16_t port : configuration_.stopped_ports) {
      PENSTOCK_RETURN_IF_ERROR(CheckKnown("port stop", port));
    }
    return absl::OkStatus();
  }

  absl::Status ChoosePorts() {
    for (uint16_t port : configuration_.portlist) {
      PENSTOCK_RETURN_IF_ERROR(CheckKnown("--portlist", port));
      forward_.push_back(IndexOf(port));
    }
    for (size_t i = 0; i < ports_.size() && configuration_.portlist.empty(); ++i) {
      forward_.push_back(i);
    }
    for (size_t i : forward_) {
      if (!configuration_.forwarding || !configuration_.stopped_ports.contains(ports_[i].port)) {
        continue;
      }
      return Impossible(absl::StrFormat(
          "port %d (%s) is stopped and is to forward: type port start %d, or leave it out with set "
          "portlist",
          ports_[i].port, ports_[i].name, ports_[i].port));
    }
    return absl::OkStatus();
  }

  absl::Status ChooseLcores() {
    for (uint16_t lcore : configuration_.corelist) {
      const auto found = std::ranges::find(workers_, lcore, &PlannerLcore::lcore);
      if (found == workers_.end()) {
        return Impossible(absl::StrFormat(
            "--corelist names lcore %d, which may not work; those that may are %s (EAL's first "
            "lcore runs commands)",
            lcore, ListOf(workers_, &PlannerLcore::lcore)));
      }
      lcores_.push_back(*found);
    }
    if (configuration_.corelist.empty()) lcores_.assign(workers_.begin(), workers_.end());
    const size_t wanted = configuration_.nb_cores;
    if (wanted > lcores_.size()) {
      return Impossible(absl::StrFormat("--nb-cores=%d: %d lcores may work: %s; ask for 1 to %d",
                                        wanted, lcores_.size(),
                                        ListOf(lcores_, &PlannerLcore::lcore), lcores_.size()));
    }
    if (wanted != 0) lcores_.resize(wanted);
    return absl::OkStatus();
  }

  // ---- who works on what ----

  absl::Status DealReceiving() {
    for (const PlannerPort& port : ports_) {
      PENSTOCK_ASSIGN_OR_RETURN(const std::optional<uint16_t> wanted, WantedRxQueues(port));
      rx_queues_.push_back(wanted.value_or(port.fixed_queues ? port.rx.max_queues : uint16_t{1}));
    }
    senders_of_.resize(ports_.size());
    Deal(StreamsOf(rx_queues_), [&](LcorePlan& lcore, const Stream& stream) {
      lcore.rx.push_back({ports_[stream.port].port, stream.queue, kNoSlot});
      for (size_t to : DestinationsOf(stream.port)) senders_of_[to].insert(lcore.lcore);
    });
    for (size_t i = 0; i < ports_.size(); ++i) {
      PENSTOCK_ASSIGN_OR_RETURN(
          const uint16_t queues,
          TxQueues(i, static_cast<uint16_t>(senders_of_[i].size()), rx_queues_[i]));
      tx_queues_.push_back(queues);
    }
    PENSTOCK_RETURN_IF_ERROR(CheckEqualQueues());
    AssignSenders();
    return absl::OkStatus();
  }

  absl::Status DealSources() {
    for (size_t i = 0; i < ports_.size(); ++i) {
      // As many TX queues as this port gets lcores when they are shared out evenly.
      const size_t place = PlaceOf(i);
      const size_t share =
          place == forward_.size()
              ? 0
              : lcores_.size() / forward_.size() + (place < lcores_.size() % forward_.size());
      PENSTOCK_ASSIGN_OR_RETURN(const std::optional<uint16_t> wanted, WantedRxQueues(ports_[i]));
      PENSTOCK_ASSIGN_OR_RETURN(const uint16_t queues,
                                TxQueues(i, static_cast<uint16_t>(share), wanted));
      tx_queues_.push_back(queues);
      // Nothing is received, but most drivers want a queue.
      rx_queues_.push_back(wanted.value_or(
          ports_[i].equal_queues ? std::min(queues, ports_[i].rx.max_queues) : uint16_t{1}));
    }
    PENSTOCK_RETURN_IF_ERROR(CheckEqualQueues());
    ListTxQueues();
    Deal(StreamsOf(tx_queues_), [&](LcorePlan& lcore, const Stream& stream) {
      Use(lcore, stream.port, stream.queue, /*source=*/true);
    });
    return absl::OkStatus();
  }

  std::vector<Stream> StreamsOf(const std::vector<uint16_t>& queues) const {
    std::vector<Stream> streams;
    const uint16_t most = *std::ranges::max_element(queues);
    for (uint16_t queue = 0; queue < most; ++queue) {
      for (size_t port : forward_) {
        if (queue < queues[port]) streams.push_back({port, queue});
      }
    }
    return streams;
  }

  template <class Take>
  void Deal(const std::vector<Stream>& streams, Take take) {
    const size_t share = streams.size() / lcores_.size();
    const size_t longer = streams.size() % lcores_.size();  // So many lcores get one more.
    auto next = streams.begin();
    for (size_t i = 0; i < lcores_.size(); ++i) {
      LcorePlan& lcore = plan_.lcores.emplace_back();
      lcore.lcore = lcores_[i].lcore;
      for (size_t n = share + (i < longer); n > 0; --n) take(lcore, *next++);
    }
  }

  std::vector<size_t> DestinationsOf(size_t port) const {
    switch (shape_.sends) {
      case Destination::kNone:
        return {};
      case Destination::kPeer:
        return {forward_[PeerOf(PlaceOf(port), forward_.size(), configuration_.port_topology)]};
      case Destination::kSelf:
        return {port};
      case Destination::kAny:
        return forward_;
    }
    return {};
  }

  // ---- how many queues ----

  // What was asked for, else what the port has and cannot change.
  absl::StatusOr<std::optional<uint16_t>> WantedRxQueues(const PlannerPort& port) const {
    PENSTOCK_ASSIGN_OR_RETURN(
        const std::optional<uint16_t> asked,
        Asked("rxq", configuration_.rxq, port, port.rx.max_queues, "RX queues"));
    if (asked || !port.fixed) return asked;
    return std::optional<uint16_t>(port.fixed->rx_queues);
  }

  // `rx_queues`: how many RX queues the port has, where that is decided.
  absl::StatusOr<uint16_t> TxQueues(size_t index, uint16_t senders,
                                    std::optional<uint16_t> rx_queues) const {
    const PlannerPort& port = ports_[index];
    PENSTOCK_ASSIGN_OR_RETURN(
        const std::optional<uint16_t> asked,
        Asked("txq", configuration_.txq, port, port.tx.max_queues, "TX queues"));
    if (asked) return *asked;
    if (port.fixed) return port.fixed->tx_queues;
    uint16_t most = std::max<uint16_t>(port.tx.max_queues, 1);
    if (port.equal_queues) {
      if (rx_queues) return std::min(*rx_queues, most);
      most = std::clamp<uint16_t>(port.rx.max_queues, 1, most);
    }
    return std::clamp<uint16_t>(senders, 1, most);
  }

  absl::Status CheckEqualQueues() const {
    for (size_t i = 0; i < ports_.size(); ++i) {
      if (!ports_[i].equal_queues || rx_queues_[i] == tx_queues_[i]) continue;
      const uint16_t both =
          std::min({rx_queues_[i], ports_[i].rx.max_queues, ports_[i].tx.max_queues});
      return Impossible(absl::StrFormat(
          "port %d (%s): its driver wants as many TX queues as RX queues, and the plan has %d and "
          "%d; give both, such as --rxq=%d:%d --txq=%d:%d",
          ports_[i].port, ports_[i].name, tx_queues_[i], rx_queues_[i], ports_[i].port, both,
          ports_[i].port, both));
    }
    return absl::OkStatus();
  }

  absl::Status SizeQueues() {
    for (size_t i = 0; i < ports_.size(); ++i) {
      const PlannerPort& port = ports_[i];
      PENSTOCK_ASSIGN_OR_RETURN(const uint16_t rxd,
                                Descriptors("rxd", configuration_.rxd, port, port.rx));
      PENSTOCK_ASSIGN_OR_RETURN(const uint16_t txd, TxDescriptors(port, rxd));
      plan_.ports.push_back({port.port, rx_queues_[i], tx_queues_[i], rxd, txd, 0});
    }
    return absl::OkStatus();
  }

  absl::StatusOr<uint16_t> TxDescriptors(const PlannerPort& port, uint16_t rxd) const {
    if (!port.equal_descriptors) return Descriptors("txd", configuration_.txd, port, port.tx);
    const uint16_t asked = configuration_.txd.For(port.port).value_or(rxd);
    if (asked == rxd) return rxd;
    return Impossible(absl::StrFormat(
        "--txd=%d: port %d (%s): its driver makes TX rings as long as RX rings, which have %d "
        "descriptors; leave --txd out, or give the same to both",
        asked, port.port, port.name, rxd));
  }

  // ---- who uses which TX queue ----

  void ListTxQueues() {
    for (size_t i = 0; i < ports_.size(); ++i) {
      first_tx_queue_.push_back(static_cast<uint16_t>(plan_.tx_queues.size()));
      for (uint16_t queue = 0; queue < tx_queues_[i]; ++queue) {
        plan_.tx_queues.push_back({ports_[i].port, queue, {}, Sharing::kExclusive});
      }
    }
  }

  // Returns the slot.
  uint16_t Use(LcorePlan& lcore, size_t port, uint16_t queue, bool source) {
    const auto shared = static_cast<uint16_t>(first_tx_queue_[port] + queue);
    plan_.tx_queues[shared].users.push_back(lcore.lcore);
    ++plan_.tx_queues[shared].senders;
    lcore.tx.push_back({ports_[port].port, queue, shared, source});
    return static_cast<uint16_t>(lcore.tx.size() - 1);
  }

  void AssignSenders() {
    ListTxQueues();
    std::vector<uint16_t> sender(ports_.size(), 0);
    for (LcorePlan& lcore : plan_.lcores) {
      std::map<size_t, uint16_t> slot_of;
      for (size_t port = 0; port < ports_.size(); ++port) {
        if (!senders_of_[port].contains(lcore.lcore)) continue;
        const auto queue = static_cast<uint16_t>(sender[port]++ % tx_queues_[port]);
        slot_of[port] = Use(lcore, port, queue, /*source=*/false);
      }
      if (shape_.sends != Destination::kPeer && shape_.sends != Destination::kSelf) continue;
      for (LcorePlan::Rx& rx : lcore.rx) rx.peer = slot_of[DestinationsOf(IndexOf(rx.port))[0]];
    }
  }

  // ports_.size() if there is none.
  size_t IndexOf(uint16_t port) const {
    return static_cast<size_t>(std::ranges::find(ports_, port, &PlannerPort::port) -
                               ports_.begin());
  }

  // Of a port among those that forward; forward_.size() if it does not.
  size_t PlaceOf(size_t port) const {
    return static_cast<size_t>(std::ranges::find(forward_, port) - forward_.begin());
  }

  void Share() {
    for (size_t i = 0; i < ports_.size(); ++i) {
      plan_.ports[i].mt_lockfree = ports_[i].fixed && ports_[i].fixed->mt_lockfree;
    }
    for (TxQueuePlan& queue : plan_.tx_queues) {
      if (queue.users.size() < 2) continue;
      const size_t port = IndexOf(queue.port);
      // Of a port that is set up, what it was set up with.
      const bool lockfree =
          ports_[port].fixed ? ports_[port].fixed->mt_lockfree : ports_[port].mt_lockfree;
      queue.sharing = lockfree ? Sharing::kMtLockfree : Sharing::kSpinlock;
      plan_.ports[port].mt_lockfree |= lockfree;
    }
  }

  // ---- mempools ----

  uint16_t MempoolOn(int numa_node) {
    for (size_t i = 0; i < plan_.mempools.size(); ++i) {
      if (plan_.mempools[i].numa_node == numa_node) return static_cast<uint16_t>(i);
    }
    plan_.mempools.push_back({numa_node, 0});
    return static_cast<uint16_t>(plan_.mempools.size() - 1);
  }

  // What mempool_deferred usually keeps for one lcore: its store, and a mailbox on its way there.
  // It may be a mailbox from each other lcore, which would be a number that grows with their
  // square; they begin small, and grow only towards a home that takes.
  uint32_t AtHome() const {
    const HomePool<>::Slots slots({.objects = kMaxMbufs,
                                   .object_bytes = configuration_.mbuf_size,
                                   .homes = 1,
                                   .burst = BurstBehindCache(configuration_.mbcache)});
    return slots.store + slots.mailbox;
  }

  // The places where mbufs are, so that the pool does not run dry: descriptors, what drivers keep
  // beyond them, what lcores keep in caches, have in their hands, and have at home.
  void PlanMempools() {
    uint32_t in_driver = 0;
    for (size_t i = 0; i < ports_.size(); ++i) {
      PortPlan& port = plan_.ports[i];
      // A port without a node of its own is served from the node of the lcores.
      const int node = ports_[i].numa_node >= 0 ? ports_[i].numa_node : workers_[0].numa_node;
      port.mempool = MempoolOn(node);
      in_driver += port.rx_queues * (port.rx_descriptors + ports_[i].driver_mbufs);
      in_driver += port.tx_queues * (port.tx_descriptors + ports_[i].tx_pinned);
    }
    for (size_t i = 0; i < lcores_.size(); ++i) {
      if (!plan_.lcores[i].Idle()) plan_.lcores[i].mempool = MempoolOn(lcores_[i].numa_node);
    }
    // All that ever may work: mempools stay when other lcores are chosen.
    const auto lcores = static_cast<uint32_t>(workers_.size());
    // A cache holds up to one and a half times its size; the bursts are received, gathered and
    // made.
    uint32_t in_lcores = lcores * (configuration_.mbcache * 3u / 2 + 3u * kMaxBurst);
    if (configuration_.mempool != MempoolOps::kRing) in_lcores += lcores * AtHome();
    for (MempoolPlan& pool : plan_.mempools) {
      if (configuration_.total_num_mbufs != 0) {
        pool.mbufs = configuration_.total_num_mbufs;
        continue;
      }
      // The packets of any port may end up queued on all others, so each pool covers all. One less
      // than a power of two is what a mempool's ring holds.
      uint32_t size = kSmallestMempool;
      while (size < in_driver + in_lcores) size = size * 2 + 1;
      pool.mbufs = size;
    }
  }

  // ---- notes ----

  void Note() {
    for (size_t i = 0; i < ports_.size(); ++i) {
      if (PlaceOf(i) < forward_.size()) continue;
      plan_.notes.push_back(
          absl::StrFormat("port %d (%s) does not forward: it is not in --portlist", ports_[i].port,
                          ports_[i].name));
    }
    if (shape_.sends == Destination::kPeer && forward_.size() % 2 == 1 &&
        configuration_.port_topology == PortTopology::kPaired) {
      const PlannerPort& last = ports_[forward_.back()];
      plan_.notes.push_back(
          absl::StrFormat("an odd number of ports: port %d (%s) sends back what it receives",
                          last.port, last.name));
    }
    for (size_t i = 0; i < lcores_.size(); ++i) {
      const LcorePlan& lcore = plan_.lcores[i];
      if (lcore.Idle()) {
        plan_.notes.push_back(
            absl::StrFormat("lcore %d is idle: there are fewer %s queues than lcores", lcore.lcore,
                            shape_.streams == Streams::kReceive ? "RX" : "TX"));
      }
      for (const LcorePlan::Rx& rx : lcore.rx) {
        const int node = ports_[IndexOf(rx.port)].numa_node;
        if (node >= 0 && node != lcores_[i].numa_node) {
          plan_.notes.push_back(absl::StrFormat("lcore %d on NUMA node %d polls port %d on node %d",
                                                lcore.lcore, lcores_[i].numa_node, rx.port, node));
        }
      }
    }
    for (size_t i : forward_) {
      if (shape_.streams != Streams::kReceive) break;
      if (!ports_[i].fixed_queues || rx_queues_[i] >= ports_[i].rx.max_queues) continue;
      plan_.notes.push_back(absl::StrFormat(
          "port %d (%s) has %d RX queues, of which --rxq has %d polled: what comes in "
          "on the others is lost",
          ports_[i].port, ports_[i].name, ports_[i].rx.max_queues, rx_queues_[i]));
    }
    NoteTxBudgets(ports_, configuration_, plan_.notes);
    for (const TxQueuePlan& queue : plan_.tx_queues) {
      if (queue.sharing != Sharing::kSpinlock) continue;
      if (queue.senders == 1) {
        plan_.notes.push_back(
            absl::StrFormat("lcore %d sends to queue %d of port %d and lcore %d reaps it, under a "
                            "lock: the port has "
                            "no MT_LOCKFREE",
                            queue.users[0], queue.queue, queue.port, *queue.reaper));
        continue;
      }
      plan_.notes.push_back(absl::StrFormat(
          "%d lcores send to queue %d of port %d under a lock: more lcores send to the port than "
          "its TX queues, %d, and it has no MT_LOCKFREE",
          queue.senders, queue.queue, queue.port, tx_queues_[IndexOf(queue.port)]));
    }
    NoteCompletion(ports_, configuration_, plan_);
  }

  const std::span<const PlannerPort> ports_;
  const std::span<const PlannerLcore> workers_;  // All that there are.
  const ModeShape& shape_;
  const Configuration& configuration_;
  std::vector<PlannerLcore> lcores_;  // Those that may work.
  std::vector<size_t> forward_;       // Indexes into ports_, in the topology's order.
  std::vector<uint16_t> rx_queues_;   // By port, as are the next three.
  std::vector<uint16_t> tx_queues_;
  std::vector<std::set<unsigned>> senders_of_;
  std::vector<uint16_t> first_tx_queue_;
  Plan plan_;
};

}  // namespace

absl::StatusOr<Plan> MakePlan(std::span<const PlannerPort> ports,
                              std::span<const PlannerLcore> lcores, const ModeShape& shape,
                              const Configuration& configuration) {
  return Planner(ports, lcores, shape, configuration).Make();
}

}  // namespace penstock
