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
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lib/pipeline/runtime.h"
#include "lib/pipeline/stages/io.h"
#include "lib/pipeline/stages/tx_only.h"
#include "lib/port/tx_budgets.h"
#include "test/integration/port/own_namespaces.h"

// Once it is set, the next who makes an AF_XDP socket gets a second one beside it, kept here.
std::atomic<bool> twins{false};
std::atomic<int> twin{-1};

// In place of the C library's, for the driver as well.
extern "C" int socket(int domain, int type, int protocol) noexcept {
  const auto make = [&] { return static_cast<int>(syscall(SYS_socket, domain, type, protocol)); };
  if (domain == AF_XDP && twins.exchange(false)) twin = make();
  return make();
}

// Once it is set, the kernel is one that never heard of option 9 of an AF_XDP socket.
std::atomic<bool> before_6_17{false};
// What the kernel answers to option 9: an errno, 0 for yes; below 0 it is asked.
std::atomic<int> budget_answer{-1};

extern "C" int setsockopt(int fd, int level, int option, const void* value,
                          socklen_t length) noexcept {
  if (before_6_17 && level == SOL_XDP && option == 9) {
    errno = ENOPROTOOPT;
    return -1;
  }
  if (budget_answer >= 0 && level == SOL_XDP && option == 9) {
    errno = budget_answer;
    return errno == 0 ? 0 : -1;
  }
  return static_cast<int>(syscall(SYS_setsockopt, fd, level, option, value, length));
}

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

// A port of its own, beside those of the other test, until the end of this.
class OnePort : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(std::system("ip link add one type veth peer name other && ip link set one up && "
                          "ip link set other up"),
              0);
    ASSERT_EQ(rte_eal_hotplug_add("vdev", "net_af_xdp9", "iface=one,busy_budget=0"), 0);
    uint16_t id = 0;
    ASSERT_EQ(rte_eth_dev_get_port_by_name("net_af_xdp9", &id), 0);
    auto port = Port::Open(id, nullptr);
    ASSERT_TRUE(port.ok()) << port.status();
    port_.emplace(*std::move(port));
    auto pool = Mempool::Create({.name = "one",
                                 .mbufs = 16383,
                                 .cache = 0,
                                 .data_room_bytes = 2176,
                                 .numa_node = 0,
                                 .without_gaps = true,
                                 .dma = false});
    ASSERT_TRUE(pool.ok()) << pool.status();
    pool_.emplace(*std::move(pool));
  }
  void TearDown() override {
    if (port_) {
      EXPECT_TRUE(port_->Close().ok());
    }
    EXPECT_EQ(rte_eal_hotplug_remove("vdev", "net_af_xdp9"), 0);
    EXPECT_EQ(std::system("ip link del one"), 0);
  }
  absl::Status SetUpPort() {
    return port_->SetUp({.rx_descriptors = 512, .tx_descriptors = 512, .mempool = pool_->get()});
  }

  std::optional<Mempool> pool_;
  std::optional<Port> port_;
};

TEST_F(OnePort, TheSocketOfAQueueIsFoundAndHasRoomForARingOfFrames) {
  EXPECT_EQ(port_->HiddenSocketOf(0), -1);
  ASSERT_TRUE(SetUpPort().ok());
  const int fd = port_->HiddenSocketOf(0);
  ASSERT_GE(fd, 0);
  EXPECT_EQ(port_->HiddenSocketOf(1), -1);
  int bytes = 0;
  socklen_t length = sizeof(bytes);
  ASSERT_EQ(getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, &length), 0);
  EXPECT_GE(bytes, 512 * 2048);
}

TEST_F(OnePort, AQueueThatLeavesTwoNewSocketsIsRefused) {
  twins = true;
  const absl::Status status = SetUpPort();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << status;
  EXPECT_NE(status.message().find("left 2 new AF_XDP sockets instead of one"), std::string::npos)
      << status;
  EXPECT_EQ(close(twin), 0);
}

TEST_F(OnePort, AKernelWithoutBudgetsIsSaidOnceAndIsNoError) {
  TxBudgets budgets({});
  ASSERT_TRUE(SetUpPort().ok());
  before_6_17 = true;
  const auto said = [&](std::optional<uint16_t> wanted) {
    testing::internal::CaptureStderr();
    EXPECT_TRUE(budgets.Set(*port_, 1, 512, wanted).ok());
    budgets.Tune();
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_NE(said(64).find("this kernel has no XDP_MAX_TX_SKB_BUDGET"), std::string::npos);
  const std::string again = said(128);
  EXPECT_NE(again.find(": --tx-budget=128 has no effect: this kernel has none to set"),
            std::string::npos)
      << again;
  EXPECT_EQ(again.find("this kernel has no XDP"), std::string::npos) << again;
  EXPECT_EQ(said(128), "");
  EXPECT_EQ(said(kTxBudgetAuto), "");
  before_6_17 = false;
  const TxBudgetState state = budgets.StateOf(port_->capabilities().port, 0).value();
  EXPECT_EQ(state.budget, std::nullopt);
  EXPECT_FALSE(state.tuned);
  EXPECT_EQ(state.reason, "this kernel has none to set (before 6.17)");
}

TEST_F(OnePort, AKernelThatRefusesWhileTuningIsSaidOnceAndAskedAgainOnlyWhenToldTo) {
  TxBudgets budgets({});
  ASSERT_TRUE(SetUpPort().ok());
  const uint16_t id = port_->capabilities().port;
  budget_answer = 0;
  ASSERT_TRUE(budgets.Set(*port_, 1, 512, std::nullopt).ok());
  LcoreSends* const sends = budgets.SendsOf(port_->capabilities(), 0, 1);
  const auto tuned = [&](uint32_t burst) {
    for (int i = 0; i < 500; ++i) sends->Add(burst);
    testing::internal::CaptureStderr();
    budgets.Tune();
    return testing::internal::GetCapturedStderr();
  };
  budget_answer = EPERM;
  EXPECT_NE(tuned(256).find("XDP_MAX_TX_SKB_BUDGET"), std::string::npos);
  EXPECT_EQ(tuned(512), "");
  EXPECT_EQ(budgets.StateOf(id, 0)->reason, "not tuned: the kernel refused to change it");
  budget_answer = 0;
  EXPECT_TRUE(budgets.Set(*port_, 1, 512, 64).ok());
  EXPECT_EQ(budgets.StateOf(id, 0)->budget, 64u);
  budget_answer = -1;
}

TEST_F(OnePort, BudgetsFollowWhatLcoresCountAndAreFixedWhenAsked) {
  TxBudgets budgets({});
  ASSERT_TRUE(SetUpPort().ok());
  const uint16_t id = port_->capabilities().port;
  ASSERT_TRUE(budgets.Set(*port_, 1, 512, std::nullopt).ok());
  const auto state = [&] { return budgets.StateOf(id, 0).value(); };
  if (!state().budget) GTEST_SKIP() << state().reason;
  EXPECT_EQ(state().budget, 32u);
  EXPECT_EQ(state().reason, "auto: nothing sent yet");
  LcoreSends* const first = budgets.SendsOf(port_->capabilities(), 0, 1);
  LcoreSends* const second = budgets.SendsOf(port_->capabilities(), 0, 2);
  for (int i = 0; i < 500; ++i) {
    first->Add(100);
    second->Add(256);
  }
  EXPECT_EQ(state().budget, 32u) << "not before it is tuned";
  budgets.Tune();
  EXPECT_EQ(state().budget, 256u);
  EXPECT_TRUE(state().tuned);
  EXPECT_EQ(state().reason, "auto: 100.0 % of 1000 sends fit");
  EXPECT_EQ(state().sends[SendBucket(100)], 500u);
  budgets.Tune();
  EXPECT_EQ(state().budget, 256u) << "nothing new";

  ASSERT_TRUE(budgets.Set(*port_, 1, 512, 64).ok());
  EXPECT_EQ(state().budget, 64u);
  EXPECT_EQ(state().reason, "--tx-budget");
  for (int i = 0; i < 500; ++i) first->Add(512);
  budgets.Tune();
  EXPECT_EQ(state().budget, 64u) << "it is fixed";
  ASSERT_TRUE(budgets.Set(*port_, 1, 512, kTxBudgetAuto).ok());
  EXPECT_EQ(state().budget, 512u) << "and went on learning";
  // The kernel has the last word.
  const absl::Status status = budgets.Set(*port_, 1, 512, 513);
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange) << status;
  EXPECT_EQ(state().budget, 512u);

  budgets.Freeze();
  ASSERT_TRUE(port_->Close().ok());
  for (int i = 0; i < 500; ++i) first->Add(1);
  budgets.Tune();
  EXPECT_EQ(state().budget, 512u);
}

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
