// SPDX-License-Identifier: BSD-3-Clause
//
// Real net_af_xdp ports over veth: after the traffic stops, every mbuf that is missing from the
// pool is held by the driver or was leaked here on purpose, and Holdings tells the two apart. Runs
// on one thread, in network and mount namespaces of its own; needs root and AF_XDP, else exits
// with 77.

#include "lib/port/xsk_holdings.h"

#include <gtest/gtest.h>
#include <linux/if_packet.h>
#include <linux/if_xdp.h>
#include <net/if.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <ostream>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lib/port/xsk_socket.h"
#include "lib/port/xsk_umem.h"
#include "test/integration/port/own_namespaces.h"

namespace penstock {
namespace {

constexpr uint16_t kBurst = 64;
constexpr unsigned kPoolSize = 16383;

void Shell(const std::string& command) { ASSERT_EQ(std::system(command.c_str()), 0) << command; }

struct Case {
  const char* name;
  uint16_t queues;
  uint16_t descriptors;
  const char* devargs;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class XskHoldings : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    const Case& c = GetParam();
    Shell(
        absl::StrCat("ip link add p0 numrxqueues 2 numtxqueues 2 type veth peer name p1 "
                     "numrxqueues 2 numtxqueues 2"));
    Shell("ip link set p0 up && ip link set p1 up");
    MakePool();
    ASSERT_TRUE(CheckPoolFitsUmem(*pool_).ok()) << CheckPoolFitsUmem(*pool_);
    for (int queue = 0; queue < c.queues; ++queue) {
      const std::string name = absl::StrCat("net_af_xdp", queue);
      const std::string devargs = absl::StrCat("iface=p0,start_queue=", queue, c.devargs);
      ASSERT_EQ(rte_eal_hotplug_add("vdev", name.c_str(), devargs.c_str()), 0);
      uint16_t port = 0;
      ASSERT_EQ(rte_eth_dev_get_port_by_name(name.c_str(), &port), 0);
      ports_.push_back(port);
      const rte_eth_conf config = {};
      ASSERT_EQ(rte_eth_dev_configure(port, 1, 1, &config), 0);
      const std::vector<int> before = XskSockets().value();
      ASSERT_EQ(rte_eth_rx_queue_setup(port, 0, c.descriptors, SOCKET_ID_ANY, nullptr, pool_), 0);
      ASSERT_EQ(rte_eth_tx_queue_setup(port, 0, c.descriptors, SOCKET_ID_ANY, nullptr), 0);
      std::vector<int> made;
      std::ranges::set_difference(XskSockets().value(), before, std::back_inserter(made));
      ASSERT_EQ(made.size(), 1u);
      sockets_.push_back(made[0]);
      ASSERT_EQ(rte_eth_dev_start(port), 0);
    }

    peer_ = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    ASSERT_GE(peer_, 0);
  }

  void TearDown() override {
    if (peer_ >= 0) close(peer_);
    for (size_t queue = 0; queue < ports_.size(); ++queue) {
      rte_eth_dev_stop(ports_[queue]);
      rte_eth_dev_close(ports_[queue]);
      rte_eal_hotplug_remove("vdev", absl::StrCat("net_af_xdp", queue).c_str());
    }
    rte_mempool_free(pool_);
    Shell("ip link del p0");
  }

  void MakePool() {
    pool_ = rte_mempool_create_empty(
        "holdings", kPoolSize, sizeof(rte_mbuf) + RTE_MBUF_DEFAULT_BUF_SIZE, 0,
        sizeof(rte_pktmbuf_pool_private), SOCKET_ID_ANY, RTE_MEMPOOL_F_NO_IOVA_CONTIG);
    ASSERT_NE(pool_, nullptr);
    rte_pktmbuf_pool_init(pool_, nullptr);
    ASSERT_EQ(rte_mempool_populate_default(pool_), static_cast<int>(kPoolSize));
    rte_mempool_obj_iter(pool_, rte_pktmbuf_init, nullptr);
  }

  // `count` frames out of the other end of the wire.
  void PeerSends(int count) {
    std::array<uint8_t, 128> frame = {};
    std::fill_n(frame.begin(), 6, 0xff);
    frame[12] = 0x88;  // local experimental EtherType: nobody answers it
    frame[13] = 0xb5;
    sockaddr_ll to = {};
    to.sll_family = AF_PACKET;
    to.sll_ifindex = static_cast<int>(if_nametoindex("p1"));
    for (int i = 0; i < count; ++i) {
      ASSERT_EQ(sendto(peer_, frame.data(), frame.size(), 0, reinterpret_cast<sockaddr*>(&to),
                       sizeof(to)),
                static_cast<ssize_t>(frame.size()));
    }
  }

  std::vector<rte_mbuf*> Receive(uint16_t queue) {
    std::vector<rte_mbuf*> burst(kBurst);
    burst.resize(rte_eth_rx_burst(ports_[queue], 0, burst.data(), kBurst));
    return burst;
  }

  // Sends what there is, frees what is refused.
  void Send(uint16_t queue, std::vector<rte_mbuf*> burst) {
    const uint16_t count = static_cast<uint16_t>(burst.size());
    const uint16_t sent = rte_eth_tx_burst(ports_[queue], 0, burst.data(), count);
    rte_pktmbuf_free_bulk(burst.data() + sent, count - sent);
  }

  std::vector<rte_mbuf*> Make(unsigned count) {
    std::vector<rte_mbuf*> burst(count);
    EXPECT_EQ(rte_pktmbuf_alloc_bulk(pool_, burst.data(), count), 0);
    for (rte_mbuf* mbuf : burst) {
      void* data = rte_pktmbuf_append(mbuf, 64);
      std::memset(data, 0xff, 64);
    }
    return burst;
  }

  Holdings Held() {
    std::vector<SocketImage> images;
    for (const int fd : sockets_) {
      absl::StatusOr<XskRings> rings = XskRings::OfSocket(fd, GetParam().descriptors);
      EXPECT_TRUE(rings.ok()) << rings.status();
      absl::StatusOr<SocketImage> image = rings->Read();
      EXPECT_TRUE(image.ok()) << image.status();
      images.push_back(*std::move(image));
    }
    absl::StatusOr<Holdings> holdings = HoldingsOf(images);
    EXPECT_TRUE(holdings.ok()) << holdings.status();
    return *std::move(holdings);
  }

  uint64_t DroppedForLackOfRoom() {
    uint64_t dropped = 0;
    for (const int fd : sockets_) {
      xdp_statistics statistics;
      socklen_t length = sizeof(statistics);
      EXPECT_EQ(getsockopt(fd, SOL_XDP, XDP_STATISTICS, &statistics, &length), 0);
      dropped += statistics.rx_ring_full + statistics.rx_fill_ring_empty_descs;
    }
    return dropped;
  }

  // The mbufs that are not in the pool. Leaves the pool as it was.
  std::set<rte_mbuf*> Outstanding() {
    std::set<rte_mbuf*> all;
    rte_mempool_obj_iter(
        pool_,
        [](rte_mempool*, void* set, void* object, unsigned) {
          static_cast<std::set<rte_mbuf*>*>(set)->insert(static_cast<rte_mbuf*>(object));
        },
        &all);
    std::vector<void*> free_ones(rte_mempool_avail_count(pool_));
    EXPECT_EQ(
        rte_mempool_get_bulk(pool_, free_ones.data(), static_cast<unsigned>(free_ones.size())), 0);
    for (void* mbuf : free_ones) all.erase(static_cast<rte_mbuf*>(mbuf));
    rte_mempool_put_bulk(pool_, free_ones.data(), static_cast<unsigned>(free_ones.size()));
    return all;
  }

  // What is out and not the driver's must be just `leaked`.
  void ExpectLeaked(const std::set<rte_mbuf*>& leaked) {
    const Holdings held = Held();
    std::set<rte_mbuf*> out = Outstanding();
    EXPECT_EQ(out.size(), held.Count() + leaked.size());
    for (const uint64_t chunk : held.chunks) {
      EXPECT_EQ(out.erase(MbufOfChunk(*pool_, chunk)), 1u) << "held, but in the pool: " << chunk;
    }
    EXPECT_EQ(out.size(), leaked.size() + held.unplaced);
    EXPECT_TRUE(std::ranges::includes(out, leaked)) << "leaked, but said to be held";
    if (!in_flight_) {
      EXPECT_EQ(held.unplaced, 0u);
    }
  }

  // An mbuf that has been through the driver is the hardest to tell from one that still is.
  rte_mbuf* Leak() {
    PeerSends(1);
    for (uint16_t queue = 0; queue < GetParam().queues; ++queue) {
      std::vector<rte_mbuf*> burst = Receive(queue);
      if (burst.empty()) continue;
      rte_mbuf* leaked = burst.back();
      burst.pop_back();
      rte_pktmbuf_free_bulk(burst.data(), static_cast<unsigned>(burst.size()));
      return leaked;
    }
    return Make(1)[0];
  }

  std::vector<uint16_t> ports_;  // one per queue of p0
  rte_mempool* pool_ = nullptr;
  std::vector<int> sockets_;
  int peer_ = -1;
  // Frames are on their way while the rings are read, more than a small ring's history may tell.
  bool in_flight_ = false;
};

TEST_P(XskHoldings, FillRingOfAnIdlePort) {
  EXPECT_EQ(Held().Count(), 2048u * GetParam().queues);
  ExpectLeaked({});
  rte_mbuf* never_received = Make(1)[0];
  ExpectLeaked({never_received});
}

TEST_P(XskHoldings, ReceivedAndFreedIsNotHeld) {
  for (int round = 0; round < 200; ++round) {
    PeerSends(kBurst);
    for (uint16_t queue = 0; queue < GetParam().queues; ++queue) {
      std::vector<rte_mbuf*> burst = Receive(queue);
      rte_pktmbuf_free_bulk(burst.data(), static_cast<unsigned>(burst.size()));
    }
  }
  ExpectLeaked({});
  rte_mbuf* leaked = Leak();
  ExpectLeaked({leaked});
}

TEST_P(XskHoldings, OverloadedReceiver) {
  std::set<rte_mbuf*> leaked;
  // Each round fills the RX ring, makes the kernel drop, and turns the rings on by a piece that is
  // no divisor of any ring's size.
  for (int round = 0; round < 30; ++round) {
    PeerSends(GetParam().descriptors * 2);
    ExpectLeaked(leaked);
    for (int i = 0; i < 5; ++i) {
      for (uint16_t queue = 0; queue < GetParam().queues; ++queue) {
        std::vector<rte_mbuf*> burst = Receive(queue);
        rte_pktmbuf_free_bulk(burst.data(), static_cast<unsigned>(burst.size()));
      }
    }
    leaked.insert(Leak());
    ExpectLeaked(leaked);
  }
  EXPECT_GT(DroppedForLackOfRoom(), 0u);
}

TEST_P(XskHoldings, UnreapedAndUnsentFrames) {
  for (uint16_t queue = 0; queue < GetParam().queues; ++queue) Send(queue, Make(37));
  ExpectLeaked({});
  // With the link down the kernel takes nothing: frames stay in the TX ring.
  Shell("ip link set p0 down");
  for (uint16_t queue = 0; queue < GetParam().queues; ++queue) {
    for (int i = 0; i < 3; ++i) Send(queue, Make(kBurst));
  }
  EXPECT_GT(Held().Count(), 2048u * GetParam().queues);
  rte_mbuf* leaked = Make(1)[0];
  ExpectLeaked({leaked});
  Shell("ip link set p0 up");
  for (uint16_t queue = 0; queue < GetParam().queues; ++queue) Send(queue, Make(5));
  ExpectLeaked({leaked});
}

TEST_P(XskHoldings, OneFrameQueuedTwice) {
  std::vector<rte_mbuf*> frame = Make(1);
  rte_mbuf_refcnt_update(frame[0], 1);
  Shell("ip link set p0 down");
  Send(0, {frame[0], frame[0]});
  EXPECT_EQ(Held().Count(), 2048u * GetParam().queues + 1);
  ExpectLeaked({});
}

TEST_P(XskHoldings, CompletionsLate) {
  // The peer's receive runs in a thread of its own, so frames are in the kernel's hands for a
  // while.
  in_flight_ = true;
  Shell("ethtool -K p1 gro on && echo 1 > /sys/class/net/p1/threaded");
  std::set<rte_mbuf*> leaked;
  for (int round = 0; round < 300; ++round) {
    const uint16_t queue = static_cast<uint16_t>(round % GetParam().queues);
    Send(queue, Make(kBurst));
    if (round % 10 == 0) {
      leaked.insert(Make(1)[0]);
      ExpectLeaked(leaked);
    }
  }
}

TEST_P(XskHoldings, RandomForwarding) {
  std::minstd_rand random(20221130);
  std::set<rte_mbuf*> leaked;
  std::vector<rte_mbuf*> kept;
  for (int round = 0; round < 2000; ++round) {
    PeerSends(static_cast<int>(random() % 100));
    const uint16_t from = static_cast<uint16_t>(random() % GetParam().queues);
    const uint16_t to = static_cast<uint16_t>(random() % GetParam().queues);
    std::vector<rte_mbuf*> burst = Receive(from);
    std::shuffle(burst.begin(), burst.end(), random);
    if (!burst.empty() && random() % 40 == 0) {
      leaked.insert(burst.back());
      burst.pop_back();
    }
    switch (random() % 4) {
      case 0:
        rte_pktmbuf_free_bulk(burst.data(), static_cast<unsigned>(burst.size()));
        break;
      case 1:
        kept.insert(kept.end(), burst.begin(), burst.end());
        break;
      default:
        Send(to, std::move(burst));
    }
    if (kept.size() > 1000) {
      rte_pktmbuf_free_bulk(kept.data(), static_cast<unsigned>(kept.size()));
      kept.clear();
    }
    if (round % 100 == 99) {
      std::set<rte_mbuf*> ours = leaked;
      ours.insert(kept.begin(), kept.end());
      ExpectLeaked(ours);
    }
  }
}

// Why MakePool() does not simply call rte_pktmbuf_pool_create().
TEST(PoolForAfXdp, OneWithGapsIsRefused) {
  rte_mempool* pool =
      rte_pktmbuf_pool_create("gaps", kPoolSize, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
  ASSERT_NE(pool, nullptr);
  EXPECT_TRUE(absl::IsFailedPrecondition(CheckPoolFitsUmem(*pool)));
  rte_mempool_free(pool);
}

INSTANTIATE_TEST_SUITE_P(Ports, XskHoldings,
                         testing::Values(Case{"OneQueue", 1, 2048, ""},
                                         Case{"SmallRings", 1, 64, ""},
                                         Case{"BusyPollOff", 1, 512, ",busy_budget=0"},
                                         Case{"TwoPortsOnePool", 2, 1024, ""}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (GTEST_FLAG_GET(list_tests)) return RUN_ALL_TESTS();
  if (const int result = penstock::EnterOwnNamespaces(); result != 0) return result;
  std::string prefix = absl::StrCat("--file-prefix=penstock_holdings_", getpid());
  std::array<std::string, 8> arguments = {argv[0], "--no-huge", "--no-shconf", "--no-pci",
                                          "-m",    "256",       "-l0",         prefix};
  std::vector<char*> eal_argv;
  for (std::string& argument : arguments) eal_argv.push_back(argument.data());
  if (rte_eal_init(static_cast<int>(eal_argv.size()), eal_argv.data()) < 0) {
    std::fprintf(stderr, "rte_eal_init failed\n");
    return 1;
  }
  const int result = RUN_ALL_TESTS();
  rte_eal_cleanup();
  return result;
}
