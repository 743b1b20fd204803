// SPDX-License-Identifier: BSD-3-Clause
//
// Whatever is asked of the planner: every promise of a plan recomputed from nothing but the plan.
// No EAL needed; test process only.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lib/pipeline/planner.h"
#include "test/unit/pipeline/planner_worlds.h"

namespace penstock {
namespace {

using testing::HasSubstr;

struct World {
  std::vector<PlannerPort> ports;
  std::vector<PlannerLcore> lcores;
  ModeShape shape;
  Configuration configuration;
};

class Dice {
 public:
  explicit Dice(uint32_t seed) : random_(seed) {}
  uint16_t From(uint16_t low, uint16_t high) {
    return std::uniform_int_distribution<uint16_t>(low, high)(random_);
  }
  bool Coin() { return From(0, 1) == 1; }

 private:
  std::mt19937 random_;
};

World RandomWorld(Dice& dice) {
  World world;
  const uint16_t ports = dice.From(1, 6);
  // Port numbers with gaps: a port's number is not its index.
  uint16_t number = dice.From(0, 2);
  for (uint16_t i = 0; i < ports; ++i) {
    PlannerPort port;
    port.port = number;
    number = static_cast<uint16_t>(number + dice.From(1, 3));
    port.name = absl::StrCat("dev", i);
    port.numa_node = dice.From(0, 2) - 1;
    port.rx.max_queues = dice.From(1, 6);
    port.tx.max_queues = dice.From(1, 6);
    port.equal_queues = dice.From(0, 3) == 0;
    port.mt_lockfree = dice.Coin();
    port.driver_mbufs = dice.Coin() ? 6144 : 0;
    const TxReap reaps[] = {TxReap::kUnknown, TxReap::kNone, TxReap::kCleanup, TxReap::kCleanupTold,
                            TxReap::kStatus};
    port.reap = reaps[dice.From(0, 4)];
    port.tx_pinned = port.reap == TxReap::kStatus ? 31 : 0;
    port.rx.min_descriptors = dice.From(1, 64);
    port.rx.max_descriptors = dice.From(512, 4096);
    port.rx.descriptor_align = dice.From(0, 32);
    world.ports.push_back(port);
    const auto maybe = [&](PerPort& values, uint16_t max) {
      if (dice.From(0, 3) == 0) values.of_port[port.port] = dice.From(1, max);
    };
    maybe(world.configuration.rxq, port.rx.max_queues);
    maybe(world.configuration.txq, port.tx.max_queues);
  }
  const uint16_t lcores = dice.From(1, 8);
  for (unsigned i = 0; i < lcores; ++i) world.lcores.push_back({i * 2 + 1, dice.From(0, 1)});
  const Destination sends[] = {Destination::kNone, Destination::kPeer, Destination::kSelf,
                               Destination::kAny};
  const PortTopology topologies[] = {PortTopology::kPaired, PortTopology::kChained,
                                     PortTopology::kLoop};
  world.shape = dice.From(0, 4) == 0 ? kSource : ModeShape{.sends = sends[dice.From(0, 3)]};
  world.configuration.port_topology = topologies[dice.From(0, 2)];
  world.configuration.mbcache = dice.From(0, 512);
  const Completion completions[] = {Completion::kDefault, Completion::kStage, Completion::kInline};
  world.configuration.completion = completions[dice.From(0, 2)];
  for (const PlannerPort& port : world.ports) {
    // Queue 0 is always there; inline leaves it to those that send.
    if (port.reap == TxReap::kNone || dice.From(0, 3) != 0) continue;
    const auto reaper = world.lcores[dice.From(0, static_cast<uint16_t>(lcores - 1))].lcore;
    world.configuration.completion_lcore[{port.port, 0}] = static_cast<uint16_t>(reaper);
  }
  if (world.configuration.completion == Completion::kInline) {
    world.configuration.completion_lcore.clear();
  }
  return world;
}

using Queue = std::pair<uint16_t, uint16_t>;

// What the mode wants of a packet from the index-th port, told without the planner's own code.
uint16_t PeerPort(const World& world, size_t index) {
  const size_t count = world.ports.size();
  size_t peer = index;
  if (world.shape.sends == Destination::kPeer) {
    if (world.configuration.port_topology == PortTopology::kChained) {
      peer = index + 1 == count ? 0 : index + 1;
    } else if (world.configuration.port_topology == PortTopology::kPaired) {
      peer = index % 2 == 1 ? index - 1 : (index + 1 < count ? index + 1 : index);
    }
  }
  return world.ports[peer].port;
}

void CheckPlan(const World& world, const Plan& plan) {
  ASSERT_EQ(plan.ports.size(), world.ports.size());
  ASSERT_EQ(plan.lcores.size(), world.lcores.size());
  const bool receives = world.shape.streams == Streams::kReceive;

  // Queues within what the port has, and as asked.
  for (size_t i = 0; i < plan.ports.size(); ++i) {
    const PortPlan& port = plan.ports[i];
    const PlannerPort& known = world.ports[i];
    EXPECT_EQ(port.port, known.port);
    EXPECT_GE(port.rx_queues, 1);
    EXPECT_LE(port.rx_queues, known.rx.max_queues);
    EXPECT_GE(port.tx_queues, 1);
    EXPECT_LE(port.tx_queues, known.tx.max_queues);
    const auto rxq = world.configuration.rxq.For(port.port);
    const auto txq = world.configuration.txq.For(port.port);
    if (rxq) {
      EXPECT_EQ(port.rx_queues, *rxq);
    }
    if (txq) {
      EXPECT_EQ(port.tx_queues, *txq);
    }
    if (known.equal_queues) {
      EXPECT_EQ(port.rx_queues, port.tx_queues);
    }
    EXPECT_GE(port.rx_descriptors, known.rx.min_descriptors);
    EXPECT_LE(port.rx_descriptors, known.rx.max_descriptors);
    EXPECT_EQ(port.rx_descriptors % std::max<uint16_t>(known.rx.descriptor_align, 1), 0);
    ASSERT_LT(port.mempool, plan.mempools.size());
  }

  // Every RX queue is polled by exactly one lcore, or none where nothing is received.
  std::map<Queue, int> polled;
  std::map<Queue, std::set<unsigned>> users;
  size_t most = 0;
  size_t fewest = SIZE_MAX;
  for (size_t i = 0; i < plan.lcores.size(); ++i) {
    const LcorePlan& lcore = plan.lcores[i];
    EXPECT_EQ(lcore.lcore, world.lcores[i].lcore);
    if (!lcore.Idle()) {
      ASSERT_LT(lcore.mempool, plan.mempools.size());
      EXPECT_EQ(plan.mempools[lcore.mempool].numa_node, world.lcores[i].numa_node);
    }
    std::set<uint16_t> ports_sent_to;
    for (const LcorePlan::Tx& tx : lcore.tx) {
      // The index leads to the very queue, and no lcore has two slots for one port unless it feeds
      // two of its queues.
      ASSERT_LT(tx.shared_queue, plan.tx_queues.size());
      EXPECT_EQ(plan.tx_queues[tx.shared_queue].port, tx.port);
      EXPECT_EQ(plan.tx_queues[tx.shared_queue].queue, tx.queue);
      EXPECT_EQ(tx.source, !receives);
      if (receives) {
        EXPECT_TRUE(ports_sent_to.insert(tx.port).second);
      }
      users[{tx.port, tx.queue}].insert(lcore.lcore);
    }
    std::set<uint16_t> wanted;
    for (const LcorePlan::Rx& rx : lcore.rx) {
      ++polled[{rx.port, rx.queue}];
      const size_t index = static_cast<size_t>(
          std::ranges::find(world.ports, rx.port, &PlannerPort::port) - world.ports.begin());
      ASSERT_LT(index, world.ports.size());
      switch (world.shape.sends) {
        case Destination::kNone:
          EXPECT_EQ(rx.peer, kNoSlot);
          break;
        case Destination::kAny:
          EXPECT_EQ(rx.peer, kNoSlot);
          for (const PlannerPort& port : world.ports) wanted.insert(port.port);
          break;
        default:
          ASSERT_LT(rx.peer, lcore.tx.size());
          EXPECT_EQ(lcore.tx[rx.peer].port, PeerPort(world, index));
          wanted.insert(PeerPort(world, index));
      }
    }
    if (receives) {
      EXPECT_EQ(ports_sent_to, wanted);
    }
    const size_t streams = receives ? lcore.rx.size() : lcore.tx.size();
    most = std::max(most, streams);
    fewest = std::min(fewest, streams);
  }
  EXPECT_LE(most - fewest, 1U) << "unequal runs";
  for (const PortPlan& port : plan.ports) {
    for (uint16_t queue = 0; queue < port.rx_queues; ++queue) {
      EXPECT_EQ((polled[{port.port, queue}]), receives ? 1 : 0) << port.port << "." << queue;
    }
  }

  // Who reaps a queue is one of its users, whether it sends to it or not.
  std::map<Queue, std::set<unsigned>> senders = users;
  std::map<Queue, unsigned> reaper;
  for (const LcorePlan& lcore : plan.lcores) {
    for (const LcorePlan::Reap& reap : lcore.reaps) {
      const Queue queue{reap.port, reap.queue};
      EXPECT_TRUE(reaper.emplace(queue, lcore.lcore).second) << "two reapers";
      const bool sends = senders[queue].contains(lcore.lcore);
      EXPECT_EQ(reap.slot != kNoSlot, sends);
      if (sends) {
        EXPECT_EQ(lcore.tx.at(reap.slot).port, reap.port);
        EXPECT_EQ(lcore.tx.at(reap.slot).queue, reap.queue);
      }
      users[queue].insert(lcore.lcore);
    }
  }

  // Each TX queue stands in the plan once, with its users, and is exclusive iff none shares it.
  std::set<Queue> listed;
  for (const TxQueuePlan& queue : plan.tx_queues) {
    EXPECT_TRUE(listed.insert({queue.port, queue.queue}).second);
    const std::set<unsigned> counted(queue.users.begin(), queue.users.end());
    EXPECT_EQ(counted.size(), queue.users.size()) << "a user twice";
    EXPECT_EQ(counted, (users[{queue.port, queue.queue}]));
    const bool lockfree =
        std::ranges::find(world.ports, queue.port, &PlannerPort::port)->mt_lockfree;
    const Sharing expected = counted.size() < 2 ? Sharing::kExclusive
                             : lockfree         ? Sharing::kMtLockfree
                                                : Sharing::kSpinlock;
    EXPECT_EQ(queue.sharing, expected);
    const Queue key{queue.port, queue.queue};
    EXPECT_EQ(queue.senders, senders[key].size());
    EXPECT_EQ(queue.reaper.has_value(), reaper.contains(key));
    if (queue.reaper) {
      EXPECT_EQ(*queue.reaper, reaper[key]);
    }
    // An lcore reaps where somebody sends and the port can, or it was named.
    const auto& known = *std::ranges::find(world.ports, queue.port, &PlannerPort::port);
    const bool can = known.reap != TxReap::kUnknown && known.reap != TxReap::kNone;
    const bool named = world.configuration.completion_lcore.contains(key);
    const bool wanted = world.configuration.completion != Completion::kInline;
    EXPECT_EQ(queue.reaper.has_value(), !senders[key].empty() && (named || (can && wanted)));
    if (named && queue.reaper) {
      EXPECT_EQ(*queue.reaper, world.configuration.completion_lcore.at(key));
    }
  }
  size_t queues = 0;
  for (const PortPlan& port : plan.ports) queues += port.tx_queues;
  EXPECT_EQ(listed.size(), queues);
  // The driver is asked for it just where the plan counts on it.
  for (const PortPlan& port : plan.ports) {
    EXPECT_EQ(port.mt_lockfree, std::ranges::any_of(plan.tx_queues, [&](const TxQueuePlan& queue) {
                return queue.port == port.port && queue.sharing == Sharing::kMtLockfree;
              }));
  }

  // No queue is shared while another of its port has two users less: the senders are spread evenly.
  if (receives) {
    for (const PortPlan& port : plan.ports) {
      size_t high = 0;
      size_t low = SIZE_MAX;
      for (uint16_t queue = 0; queue < port.tx_queues; ++queue) {
        high = std::max(high, senders[{port.port, queue}].size());
        low = std::min(low, senders[{port.port, queue}].size());
      }
      EXPECT_LE(high - low, 1U);
    }
  }

  // Every descriptor and every cache of every lcore can be full, and each lcore still has a burst.
  uint64_t everywhere = 0;
  for (size_t i = 0; i < plan.ports.size(); ++i) {
    const PortPlan& port = plan.ports[i];
    everywhere += uint64_t{port.rx_queues} * (port.rx_descriptors + world.ports[i].driver_mbufs);
    everywhere += uint64_t{port.tx_queues} * (port.tx_descriptors + world.ports[i].tx_pinned);
  }
  everywhere += world.lcores.size() * (world.configuration.mbcache * 3 / 2 + kMaxBurst);
  std::set<int> nodes;
  for (const MempoolPlan& pool : plan.mempools) {
    EXPECT_GE(pool.mbufs, everywhere);
    EXPECT_TRUE(nodes.insert(pool.numa_node).second) << "two mempools on one node";
  }
}

TEST(PlannerProperty, EveryPlanKeepsItsPromises) {
  constexpr int kWorlds = 5000;
  int planned = 0;
  int refused = 0;
  for (int seed = 0; seed < kWorlds; ++seed) {
    Dice dice(static_cast<uint32_t>(seed));
    const World world = RandomWorld(dice);
    const auto plan = MakePlan(world.ports, world.lcores, world.shape, world.configuration);
    if (!plan.ok()) {
      // The dice ask only for what each port has; what is left to refuse is unequal numbers.
      EXPECT_THAT(std::string(plan.status().message()),
                  HasSubstr("its driver wants as many TX queues as RX queues"))
          << "seed " << seed;
      ++refused;
      continue;
    }
    ++planned;
    CheckPlan(world, *plan);
    if (HasFailure()) FAIL() << "seed " << seed << "\n" << FormatPlan(*plan);
  }
  // Both outcomes were really looked at.
  EXPECT_GT(planned, kWorlds / 2);
  EXPECT_GT(refused, 0);
}

TEST(PlannerProperty, TheSameQuestionGetsTheSamePlan) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    Dice dice(seed);
    const World world = RandomWorld(dice);
    const auto one = MakePlan(world.ports, world.lcores, world.shape, world.configuration);
    const auto two = MakePlan(world.ports, world.lcores, world.shape, world.configuration);
    ASSERT_EQ(one.ok(), two.ok());
    if (one.ok()) {
      EXPECT_EQ(ToJson(*one), ToJson(*two));
    }
  }
}

}  // namespace
}  // namespace penstock
