// SPDX-License-Identifier: BSD-3-Clause
//
// A Runtime on real net_af_xdp ports, whose driver sets up once: what forwards to whom, which
// lcores work and what they do may change while it runs, and ports may stop and start. In network
// and mount namespaces of its own; needs root and AF_XDP, else exits with 77.

#include <gtest/gtest.h>
#include <linux/if_packet.h>
#include <linux/if_xdp.h>
#include <net/if.h>
#include <poll.h>
#include <rte_eal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lib/pipeline/runtime.h"
#include "lib/pipeline/stages/io.h"
#include "lib/pipeline/stages/tx_only.h"
#include "test/integration/port/own_namespaces.h"

namespace penstock {
namespace {

constexpr Mode kModes[] = {
    MakeMode<Io>("io", "", {.sends = Destination::kPeer}),
    MakeMode<TxOnly>("txonly", "", {.sends = Destination::kSelf, .streams = Streams::kTransmit}),
};
constexpr int kPatienceMs = 20000;

// The other end of a port's wire.
class Peer {
 public:
  explicit Peer(const char* interface)
      : fd_(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(0x88b5))) {
    sockaddr_ll address = {};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(0x88b5);
    address.sll_ifindex = static_cast<int>(if_nametoindex(interface));
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }
  ~Peer() { close(fd_); }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  void Send(uint8_t number) {
    std::array<uint8_t, 64> frame = {};
    frame.fill(number);
    frame[12] = 0x88;
    frame[13] = 0xb5;
    EXPECT_EQ(send(fd_, frame.data(), frame.size(), 0), static_cast<ssize_t>(frame.size()));
  }

  // The number in the next frame; -1 if none comes in time.
  int Receive(int patience_ms = kPatienceMs) {
    pollfd wait = {fd_, POLLIN, 0};
    std::array<uint8_t, 2048> frame;
    while (poll(&wait, 1, patience_ms) > 0) {
      sockaddr_ll from = {};
      socklen_t length = sizeof(from);
      const ssize_t n =
          recvfrom(fd_, frame.data(), frame.size(), 0, reinterpret_cast<sockaddr*>(&from), &length);
      if (n < 0) return -1;
      if (from.sll_pkttype != PACKET_OUTGOING) return frame[20];
    }
    return -1;
  }

 private:
  const int fd_;
};

TEST(RuntimeOnAfXdp, ChangesWhileItRunsAndPortsStopAndStart) {
  auto made = Runtime::Create({.modes = kModes, .run_directory = nullptr, .version = "t"});
  ASSERT_TRUE(made.ok()) << made.status();
  Runtime& runtime = **made;
  ASSERT_EQ(runtime.ports().size(), 3u);
  Peer peers[] = {Peer("peer0"), Peer("peer1"), Peer("peer2")};
  Configuration c;
  const auto apply = [&] {
    const auto applied = runtime.Apply(c);
    EXPECT_TRUE(applied.ok()) << applied.status();
  };
  uint8_t number = 1;
  const auto expect_way = [&](int from, int to) {
    peers[from].Send(++number);
    EXPECT_EQ(peers[to].Receive(), number) << from << " to " << to;
  };
  apply();
  expect_way(0, 1);
  expect_way(2, 2);  // The last of an odd number.

  c.portlist = {2, 0};
  apply();
  expect_way(0, 2);
  expect_way(2, 0);
  c.corelist = {2};
  apply();
  expect_way(0, 2);
  c.corelist = {};
  c.port_topology = PortTopology::kChained;
  c.portlist = {0, 1, 2};
  apply();
  expect_way(0, 1);
  expect_way(1, 2);
  expect_way(2, 0);

  // A port stops and starts beside one that goes on.
  c.portlist = {0, 2};
  c.stopped_ports = {1};
  apply();
  EXPECT_FALSE(runtime.ports()[1].started());
  expect_way(0, 2);
  c.portlist = {};
  EXPECT_FALSE(runtime.Apply(c).ok());  // It would forward.
  c.stopped_ports = {};
  apply();
  EXPECT_TRUE(runtime.ports()[1].started());
  expect_way(0, 1);
  expect_way(1, 2);

  // Another mode, other numbers of users of its queue.
  c.forward_mode = "txonly";
  c.nb_cores = 1;
  apply();
  EXPECT_EQ(runtime.plan().ports[0].tx_queues, 1);
  c.forward_mode = "io";
  c.nb_cores = 0;
  apply();
  expect_way(0, 1);

  // What would need a set-up is refused, and it goes on.
  c.rxd.all = 512;
  EXPECT_EQ(runtime.Apply(c).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(runtime.forwarding());
  c = runtime.configuration();
  expect_way(0, 1);

  const auto report = runtime.Close();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->totals.unaccounted, 0u) << FormatReport(*report);
  for (const MempoolReport& pool : report->mempools) EXPECT_EQ(pool.in_use_at_exit, 0u);
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (GTEST_FLAG_GET(list_tests)) return RUN_ALL_TESTS();
  if (const int result = penstock::EnterOwnNamespaces(); result != 0) return result;
  std::vector<std::string> arguments = {argv[0],
                                        "--no-huge",
                                        "--no-shconf",
                                        "--no-pci",
                                        "-m256",
                                        "--lcores=0@0,1@0,2@1",
                                        absl::StrCat("--file-prefix=penstock_runtime_", getpid())};
  for (int i = 0; i < 3; ++i) {
    const std::string link =
        absl::StrCat("ip link add port", i, " type veth peer name peer", i, " && ip link set port",
                     i, " up && ip link set peer", i, " up");
    if (std::system(link.c_str()) != 0) return 1;
    arguments.push_back(absl::StrCat("--vdev=net_af_xdp", i, ",iface=port", i, ",busy_budget=0"));
  }
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
