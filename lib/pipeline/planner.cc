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
                                     const PlannerPort& port, const DescriptorLimits& limits) {
  const uint16_t align = std::max<uint16_t>(limits.align, 1);
  if (const std::optional<uint16_t> value = wanted.For(port.port)) {
    if (*value < limits.min || *value > limits.max || *value % align != 0) {
      return Impossible(
          absl::StrFormat("--%s=%d: port %d (%s) takes %d to %d descriptors in steps of %d", option,
                          *value, port.port, port.name, limits.min, limits.max, align));
    }
    return *value;
  }
  const uint16_t fitting = std::clamp(kDefaultDescriptors, limits.min, limits.max);
  const auto below = static_cast<uint16_t>(fitting - fitting % align);
  if (below >= std::max<uint16_t>(limits.min, 1)) return below;
  // The smallest number that the port takes is no multiple of the step; the next multiple may be.
  const uint32_t above = uint32_t{below} + align;
  if (above <= limits.max) return static_cast<uint16_t>(above);
  return Impossible(absl::StrFormat(
      "port %d (%s) takes %d to %d descriptors in steps of %d: there is no such number", port.port,
      port.name, limits.min, limits.max, align));
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
      : ports_(ports), lcores_(lcores), shape_(shape), configuration_(configuration) {}

  absl::StatusOr<Plan> Make() && {
    if (ports_.empty()) {
      return Impossible(
          "no port to work on: give one, such as --vdev=net_af_xdp0,iface=IFACE or -a PCI_ADDRESS");
    }
    if (lcores_.empty()) {
      return Impossible(
          "no lcore to forward with: the first one runs commands, so give at least two, such as "
          "-l 0,1, or --lcores=0@0,1@0 on a machine with one processor");
    }
    PENSTOCK_RETURN_IF_ERROR(NoUnknownPorts());
    PENSTOCK_RETURN_IF_ERROR(shape_.streams == Streams::kReceive ? DealReceiving() : DealSources());
    PENSTOCK_RETURN_IF_ERROR(SizeQueues());
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

  // A value for a port that is not there is a mistake, not a wish for later.
  absl::Status NoUnknownPorts() const {
    const auto check = [&](absl::string_view option, const auto& by_port) {
      for (const auto& [port, value] : by_port) {
        const bool known = std::ranges::any_of(
            ports_, [port = port](const PlannerPort& p) { return p.port == port; });
        if (!known) {
          return Impossible(
              absl::StrFormat("--%s names port %d, which is not there; ports are %s", option, port,
                              absl::StrJoin(ports_, ", ", [](std::string* out, const auto& p) {
                                absl::StrAppend(out, p.port);
                              })));
        }
      }
      return absl::OkStatus();
    };
    PENSTOCK_RETURN_IF_ERROR(check("rxq", configuration_.rxq.of_port));
    PENSTOCK_RETURN_IF_ERROR(check("txq", configuration_.txq.of_port));
    PENSTOCK_RETURN_IF_ERROR(check("rxd", configuration_.rxd.of_port));
    PENSTOCK_RETURN_IF_ERROR(check("txd", configuration_.txd.of_port));
    return check("eth-peer", configuration_.eth_peer);
  }

  // ---- who works on what ----

  absl::Status DealReceiving() {
    for (const PlannerPort& port : ports_) {
      PENSTOCK_ASSIGN_OR_RETURN(
          const std::optional<uint16_t> asked,
          Asked("rxq", configuration_.rxq, port, port.max_rx_queues, "RX queues"));
      rx_queues_.push_back(asked.value_or(port.fixed_queues ? port.max_rx_queues : uint16_t{1}));
    }
    Deal(StreamsOf(rx_queues_), [&](LcorePlan& lcore, const Stream& stream) {
      lcore.rx.push_back({ports_[stream.port].port, stream.queue, kNoSlot});
      senders_of_.resize(ports_.size());
      for (size_t to : DestinationsOf(stream.port)) senders_of_[to].insert(lcore.lcore);
    });
    senders_of_.resize(ports_.size());
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
      const size_t share = lcores_.size() / ports_.size() + (i < lcores_.size() % ports_.size());
      PENSTOCK_ASSIGN_OR_RETURN(
          const std::optional<uint16_t> asked,
          Asked("rxq", configuration_.rxq, ports_[i], ports_[i].max_rx_queues, "RX queues"));
      PENSTOCK_ASSIGN_OR_RETURN(const uint16_t queues,
                                TxQueues(i, static_cast<uint16_t>(share), asked));
      tx_queues_.push_back(queues);
      // Nothing is received, but most drivers want a queue.
      rx_queues_.push_back(asked.value_or(
          ports_[i].equal_queues ? std::min(queues, ports_[i].max_rx_queues) : uint16_t{1}));
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
      for (size_t port = 0; port < ports_.size(); ++port) {
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
        return {PeerOf(port, ports_.size(), configuration_.port_topology)};
      case Destination::kSelf:
        return {port};
      case Destination::kAny: {
        std::vector<size_t> all(ports_.size());
        for (size_t i = 0; i < all.size(); ++i) all[i] = i;
        return all;
      }
    }
    return {};
  }

  // ---- how many queues ----

  // `rx_queues`: how many RX queues the port has, where that is decided.
  absl::StatusOr<uint16_t> TxQueues(size_t index, uint16_t senders,
                                    std::optional<uint16_t> rx_queues) const {
    const PlannerPort& port = ports_[index];
    PENSTOCK_ASSIGN_OR_RETURN(
        const std::optional<uint16_t> asked,
        Asked("txq", configuration_.txq, port, port.max_tx_queues, "TX queues"));
    if (asked) return *asked;
    uint16_t most = std::max<uint16_t>(port.max_tx_queues, 1);
    if (port.equal_queues) {
      if (rx_queues) return std::min(*rx_queues, most);
      most = std::clamp<uint16_t>(port.max_rx_queues, 1, most);
    }
    return std::clamp<uint16_t>(senders, 1, most);
  }

  absl::Status CheckEqualQueues() const {
    for (size_t i = 0; i < ports_.size(); ++i) {
      if (!ports_[i].equal_queues || rx_queues_[i] == tx_queues_[i]) continue;
      const uint16_t both =
          std::min({rx_queues_[i], ports_[i].max_rx_queues, ports_[i].max_tx_queues});
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
                                Descriptors("rxd", configuration_.rxd, port, port.rx_descriptors));
      PENSTOCK_ASSIGN_OR_RETURN(const uint16_t txd,
                                Descriptors("txd", configuration_.txd, port, port.tx_descriptors));
      plan_.ports.push_back({port.port, rx_queues_[i], tx_queues_[i], rxd, txd, 0});
    }
    return absl::OkStatus();
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

  size_t IndexOf(uint16_t port) const {
    return static_cast<size_t>(std::ranges::find(ports_, port, &PlannerPort::port) -
                               ports_.begin());
  }

  void Share() {
    for (TxQueuePlan& queue : plan_.tx_queues) {
      if (queue.users.size() < 2) continue;
      const size_t port = IndexOf(queue.port);
      queue.sharing = ports_[port].mt_lockfree ? Sharing::kMtLockfree : Sharing::kSpinlock;
      plan_.ports[port].mt_lockfree |= ports_[port].mt_lockfree;
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

  // Every place where an mbuf can be at once, so that the pool cannot run dry: descriptors, what
  // drivers keep beyond them, what lcores keep in caches and have in their hands.
  void PlanMempools() {
    uint32_t in_driver = 0;
    for (size_t i = 0; i < ports_.size(); ++i) {
      PortPlan& port = plan_.ports[i];
      // A port without a node of its own is served from the node of the lcores.
      const int node = ports_[i].numa_node >= 0 ? ports_[i].numa_node : lcores_[0].numa_node;
      port.mempool = MempoolOn(node);
      in_driver += port.rx_queues * (port.rx_descriptors + ports_[i].driver_mbufs);
      in_driver += port.tx_queues * port.tx_descriptors;
    }
    for (size_t i = 0; i < lcores_.size(); ++i) {
      if (!plan_.lcores[i].Idle()) plan_.lcores[i].mempool = MempoolOn(lcores_[i].numa_node);
    }
    const auto lcores = static_cast<uint32_t>(lcores_.size());
    // A cache holds up to one and a half times its size; the bursts are received, gathered and
    // made.
    const uint32_t in_lcores = lcores * (configuration_.mbcache * 3u / 2 + 3u * kMaxBurst);
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
    const size_t ports = ports_.size();
    if (shape_.sends == Destination::kPeer && ports % 2 == 1 &&
        configuration_.port_topology == PortTopology::kPaired) {
      plan_.notes.push_back(
          absl::StrFormat("an odd number of ports: port %d (%s) sends back what it receives",
                          ports_[ports - 1].port, ports_[ports - 1].name));
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
    for (size_t i = 0; i < ports_.size() && shape_.streams == Streams::kReceive; ++i) {
      if (!ports_[i].fixed_queues || rx_queues_[i] >= ports_[i].max_rx_queues) continue;
      plan_.notes.push_back(absl::StrFormat(
          "port %d (%s) has %d RX queues, of which --rxq has %d polled: what comes in "
          "on the others is lost",
          ports_[i].port, ports_[i].name, ports_[i].max_rx_queues, rx_queues_[i]));
    }
    for (const TxQueuePlan& queue : plan_.tx_queues) {
      if (queue.sharing != Sharing::kSpinlock) continue;
      plan_.notes.push_back(absl::StrFormat(
          "%d lcores send to queue %d of port %d under a lock: more lcores send to the port than "
          "its TX queues, %d, and it has no MT_LOCKFREE",
          queue.users.size(), queue.queue, queue.port, tx_queues_[IndexOf(queue.port)]));
    }
  }

  const std::span<const PlannerPort> ports_;
  const std::span<const PlannerLcore> lcores_;
  const ModeShape& shape_;
  const Configuration& configuration_;
  std::vector<uint16_t> rx_queues_;  // By port, as are the next three.
  std::vector<uint16_t> tx_queues_;
  std::vector<std::set<unsigned>> senders_of_;
  std::vector<uint16_t> first_tx_queue_;
  Plan plan_;
};

std::string QueueList(const auto& queues) {
  if (queues.empty()) return "-";
  return absl::StrJoin(queues, " ", [](std::string* out, const auto& queue) {
    absl::StrAppend(out, queue.port, ".", queue.queue);
  });
}

}  // namespace

absl::string_view SharingName(Sharing sharing) {
  switch (sharing) {
    case Sharing::kExclusive:
      return "exclusive";
    case Sharing::kMtLockfree:
      return "mt-lockfree";
    case Sharing::kSpinlock:
      return "spinlock";
  }
  return "";
}

absl::StatusOr<Plan> MakePlan(std::span<const PlannerPort> ports,
                              std::span<const PlannerLcore> lcores, const ModeShape& shape,
                              const Configuration& configuration) {
  return Planner(ports, lcores, shape, configuration).Make();
}

std::string FormatPlan(const Plan& plan) {
  std::string text = "plan (queues as PORT.QUEUE)\n";
  absl::StrAppendFormat(&text, "  %-6s %-24s %-40s %s\n", "lcore", "rx queues",
                        "tx queues: users, sharing", "mempool");
  for (const LcorePlan& lcore : plan.lcores) {
    std::vector<std::string> tx;
    for (const LcorePlan::Tx& queue : lcore.tx) {
      const TxQueuePlan& planned = plan.tx_queues[queue.shared_queue];
      tx.push_back(absl::StrFormat("%d.%d: %d, %s", queue.port, queue.queue, planned.users.size(),
                                   SharingName(planned.sharing)));
    }
    absl::StrAppendFormat(&text, "  %-6d %-24s %-40s %s\n", lcore.lcore, QueueList(lcore.rx),
                          tx.empty() ? "-" : absl::StrJoin(tx, "; "),
                          lcore.Idle() ? "-" : absl::StrCat(lcore.mempool));
  }
  for (const PortPlan& port : plan.ports) {
    absl::StrAppendFormat(&text, "  port %d: %d rx queues of %d, %d tx queues of %d, mempool %d\n",
                          port.port, port.rx_queues, port.rx_descriptors, port.tx_queues,
                          port.tx_descriptors, port.mempool);
  }
  for (size_t i = 0; i < plan.mempools.size(); ++i) {
    absl::StrAppendFormat(&text, "  mempool %d: %d mbufs on NUMA node %d\n", i,
                          plan.mempools[i].mbufs, plan.mempools[i].numa_node);
  }
  for (const std::string& note : plan.notes) absl::StrAppend(&text, "  note: ", note, "\n");
  return text;
}

Json ToJson(const Plan& plan) {
  Json json = {{"ports", Json::array()},
               {"lcores", Json::array()},
               {"tx_queues", Json::array()},
               {"mempools", Json::array()},
               {"notes", plan.notes}};
  for (const PortPlan& port : plan.ports) {
    json["ports"].push_back({{"port", port.port},
                             {"rx_queues", port.rx_queues},
                             {"tx_queues", port.tx_queues},
                             {"rx_descriptors", port.rx_descriptors},
                             {"tx_descriptors", port.tx_descriptors},
                             {"mempool", port.mempool}});
  }
  for (const LcorePlan& lcore : plan.lcores) {
    Json row = {{"lcore", lcore.lcore}, {"rx_queues", Json::array()}, {"tx_queues", Json::array()}};
    for (const LcorePlan::Rx& rx : lcore.rx) {
      row["rx_queues"].push_back({{"port", rx.port}, {"queue", rx.queue}});
    }
    for (const LcorePlan::Tx& tx : lcore.tx) {
      row["tx_queues"].push_back({{"port", tx.port}, {"queue", tx.queue}});
    }
    if (!lcore.Idle()) row["mempool"] = lcore.mempool;
    json["lcores"].push_back(row);
  }
  for (const TxQueuePlan& queue : plan.tx_queues) {
    json["tx_queues"].push_back({{"port", queue.port},
                                 {"queue", queue.queue},
                                 {"users", queue.users},
                                 {"sharing", SharingName(queue.sharing)}});
  }
  for (const MempoolPlan& pool : plan.mempools) {
    json["mempools"].push_back({{"numa_node", pool.numa_node}, {"mbufs", pool.mbufs}});
  }
  return json;
}

}  // namespace penstock
