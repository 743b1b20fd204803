// SPDX-License-Identifier: BSD-3-Clause
//
// See rig.h. Also main(): namespaces first, then EAL in them.

#include "test/integration/net_xsk/rig.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

constexpr int kPatienceMs = 10000;
constexpr int kQuietMs = 200;
constexpr uint16_t kEthertype = 0x88b5;
constexpr char kDevice[] = "net_xsk0";

bool Expired(std::chrono::steady_clock::time_point start) {
  return std::chrono::steady_clock::now() - start > std::chrono::milliseconds(kPatienceMs);
}

}  // namespace

Frame NumberedFrame(uint32_t number, size_t bytes) {
  Frame frame(bytes);
  std::fill_n(frame.begin(), 6, 0xff);
  frame[6] = 2;
  frame[12] = kEthertype >> 8;
  frame[13] = kEthertype & 0xff;
  const uint32_t wire = htonl(number);
  std::memcpy(&frame[14], &wire, sizeof(wire));
  for (size_t i = 18; i < bytes; ++i) frame[i] = static_cast<uint8_t>(number * 31 + i);
  return frame;
}

uint32_t NumberOf(const Frame& frame) {
  uint32_t wire = 0;
  std::memcpy(&wire, &frame[14], sizeof(wire));
  return ntohl(wire);
}

void PrintTo(const Frame& frame, std::ostream* out) {
  *out << frame.size() << " bytes";
  if (frame.size() >= 18) *out << ", number " << NumberOf(frame);
}

void Shell(const std::string& command) { ASSERT_EQ(std::system(command.c_str()), 0) << command; }

void WaitUntil(const std::function<bool()>& condition, const char* what) {
  const auto start = std::chrono::steady_clock::now();
  while (!condition()) {
    ASSERT_FALSE(Expired(start)) << "waited for " << what;
    sched_yield();
  }
}

Peer::Peer(const char* interface) {
  fd_ = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
  EXPECT_GE(fd_, 0);
  const int one = 1;
  const int bytes = 64 << 20;
  setsockopt(fd_, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one));
  setsockopt(fd_, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes));
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);
  address.sll_ifindex = static_cast<int>(if_nametoindex(interface));
  EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
}

Peer::~Peer() { close(fd_); }

void Peer::Send(const Frame& frame) {
  ASSERT_EQ(send(fd_, frame.data(), frame.size(), 0), static_cast<ssize_t>(frame.size()));
}

bool Peer::Next(Frame& frame, int patience_ms) {
  for (;;) {
    pollfd ready{.fd = fd_, .events = POLLIN, .revents = 0};
    if (poll(&ready, 1, patience_ms) <= 0) return false;
    frame.resize(65536);
    const ssize_t bytes = recv(fd_, frame.data(), frame.size(), 0);
    if (bytes < 0) continue;  // the interface went down
    frame.resize(static_cast<size_t>(bytes));
    if (bytes >= 18 && frame[12] == kEthertype >> 8 && frame[13] == (kEthertype & 0xff))
      return true;
  }
}

std::vector<Frame> Peer::Receive(size_t count) {
  std::vector<Frame> frames;
  Frame frame;
  while (frames.size() < count && Next(frame, kPatienceMs)) frames.push_back(frame);
  return frames;
}

bool Peer::IsQuiet() {
  Frame frame;
  return !Next(frame, kQuietMs);
}

void Peer::TakeAll(size_t offset, std::vector<uint8_t>& bytes) {
  std::array<uint8_t, 2048> frame{};
  while (recv(fd_, frame.data(), frame.size(), MSG_DONTWAIT) > 0) bytes.push_back(frame[offset]);
}

void XskTest::SetUp() {
  pool_ =
      rte_pktmbuf_pool_create("umem", pool_mbufs_, 64, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
  other_ = rte_pktmbuf_pool_create("other", 1023, 0, 0, 10000, SOCKET_ID_ANY);
  ASSERT_NE(pool_, nullptr);
  ASSERT_NE(other_, nullptr);
}

void XskTest::TearDown() {
  Close();
  rte_mempool_free(pool_);
  rte_mempool_free(other_);
  std::system("ip link del p0 2>/dev/null");
}

void XskTest::MakeWire(unsigned queues, unsigned mtu) {
  const std::string q =
      absl::StrCat(" mtu ", mtu, " numrxqueues ", queues, " numtxqueues ", queues, " ");
  Shell(absl::StrCat("ip link add p0", q, "type veth peer name p1", q));
  Shell("ip link set p0 up && ip link set p1 up");
  for (const char* name : {"p0", "p1"}) {
    Shell(absl::StrCat("ethtool -K ", name, " tx off rxvlan off txvlan off >/dev/null 2>&1"));
  }
}

void XskTest::SendBy(const char* interface, unsigned queue) {
  // Transmit packet steering, for a mask of all processors.
  const uint64_t processors = (uint64_t{1} << sysconf(_SC_NPROCESSORS_CONF)) - 1;
  Shell(absl::StrCat("echo ", absl::Hex(processors), " > /sys/class/net/", interface, "/queues/tx-",
                     queue, "/xps_cpus"));
}

int XskTest::TryOpen(const PortConfig& config) {
  const std::string devargs = absl::StrCat("iface=p0", config.devargs);
  if (const int error = rte_eal_hotplug_add("vdev", kDevice, devargs.c_str()); error != 0) {
    return error;
  }
  if (const int error = rte_eth_dev_get_port_by_name(kDevice, &id_); error != 0) return error;
  rte_eth_conf conf{};
  conf.txmode.offloads = config.tx_offloads;
  conf.rxmode.offloads = config.rx_offloads;
  conf.intr_conf.rxq = config.rx_interrupts;
  conf.rxmode.mtu = config.mtu;
  rte_eth_txconf tx{};
  tx.tx_free_thresh = config.tx_free_threshold;
  int error = rte_eth_dev_configure(id_, config.rx_queues, config.tx_queues, &conf);
  for (uint16_t i = 0; i < config.rx_queues && error == 0; ++i) {
    error = rte_eth_rx_queue_setup(id_, i, config.rx_descriptors, SOCKET_ID_ANY, nullptr, pool_);
  }
  for (uint16_t i = 0; i < config.tx_queues && error == 0; ++i) {
    error = rte_eth_tx_queue_setup(id_, i, config.tx_descriptors, SOCKET_ID_ANY, &tx);
  }
  return error != 0 ? error : rte_eth_dev_start(id_);
}

void XskTest::Close() {
  if (id_ != RTE_MAX_ETHPORTS) {
    EXPECT_EQ(rte_eth_dev_stop(id_), 0);
    ExpectAllMbufsBack();
    EXPECT_EQ(rte_eth_dev_close(id_), 0);
    id_ = RTE_MAX_ETHPORTS;
  }
  rte_eal_hotplug_remove("vdev", kDevice);
  ExpectAllMbufsBack();
}

void XskTest::ExpectAllMbufsBack() {
  EXPECT_EQ(rte_mempool_in_use_count(pool_), 0u);
  EXPECT_EQ(rte_mempool_in_use_count(other_), 0u);
}

rte_mbuf* XskTest::Make(const Frame& frame, rte_mempool* pool) {
  rte_mbuf* const mbuf = rte_pktmbuf_alloc(pool != nullptr ? pool : pool_);
  EXPECT_NE(mbuf, nullptr);
  std::memcpy(rte_pktmbuf_append(mbuf, static_cast<uint16_t>(frame.size())), frame.data(),
              frame.size());
  return mbuf;
}

void XskTest::Send(const std::vector<rte_mbuf*>& mbufs, uint16_t queue) {
  std::vector<rte_mbuf*> left = mbufs;
  const auto start = std::chrono::steady_clock::now();
  for (size_t at = 0; at < left.size();) {
    const auto n = static_cast<uint16_t>(std::min<size_t>(left.size() - at, 512));
    const uint16_t sent = rte_eth_tx_burst(id_, queue, left.data() + at, n);
    at += sent;
    if (sent == 0) {
      ASSERT_FALSE(Expired(start)) << "the queue takes no more";
      sched_yield();
    }
  }
}

std::vector<Frame> XskTest::Receive(size_t count, uint16_t queue) {
  std::vector<Frame> frames;
  const auto start = std::chrono::steady_clock::now();
  while (frames.size() < count && !Expired(start)) {
    std::array<rte_mbuf*, 32> mbufs;
    const uint16_t n = rte_eth_rx_burst(id_, queue, mbufs.data(), mbufs.size());
    for (uint16_t i = 0; i < n; ++i) {
      Frame frame(mbufs[i]->pkt_len);
      const void* const data = rte_pktmbuf_read(mbufs[i], 0, mbufs[i]->pkt_len, frame.data());
      if (data != frame.data()) std::memcpy(frame.data(), data, frame.size());
      EXPECT_EQ(mbufs[i]->port, id_);
      rte_pktmbuf_free(mbufs[i]);
      if (frame.size() >= 18 && frame[12] == kEthertype >> 8) frames.push_back(frame);
    }
    if (n == 0) sched_yield();
  }
  return frames;
}

void XskTest::ReapAll(uint16_t queue) {
  WaitUntil(
      [&] {
        EXPECT_GE(rte_eth_tx_done_cleanup(id_, queue, 0), 0);
        return Tx(queue).Inside() == 0;
      },
      "completions");
}

std::map<std::string, uint64_t> XskTest::Xstats() const {
  const int n = rte_eth_xstats_get_names(id_, nullptr, 0);
  std::vector<rte_eth_xstat_name> names(static_cast<size_t>(n));
  std::vector<rte_eth_xstat> values(static_cast<size_t>(n));
  EXPECT_EQ(rte_eth_xstats_get_names(id_, names.data(), static_cast<unsigned>(n)), n);
  EXPECT_EQ(rte_eth_xstats_get(id_, values.data(), static_cast<unsigned>(n)), n);
  std::map<std::string, uint64_t> result;
  for (const rte_eth_xstat& value : values) result[names[value.id].name] = value.value;
  return result;
}

rte_eth_stats XskTest::Stats() const {
  rte_eth_stats stats{};
  EXPECT_EQ(rte_eth_stats_get(id_, &stats), 0);
  return stats;
}

TxQueueBase& XskTest::Tx(uint16_t queue) {
  return *static_cast<TxQueueBase*>(rte_eth_devices[id_].data->tx_queues[queue]);
}

}  // namespace penstock

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (GTEST_FLAG_GET(list_tests)) return RUN_ALL_TESTS();
  const int probe = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
  if (probe < 0 || unshare(CLONE_NEWNET | CLONE_NEWNS) != 0) {
    std::perror("skipped: AF_XDP and namespaces are needed");
    return 77;
  }
  close(probe);
  // /sys of the new network namespace, and a /run for the files that EAL leaves.
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      mount("tmpfs", "/run", "tmpfs", 0, nullptr) != 0 ||
      mount("sysfs", "/sys", "sysfs", 0, nullptr) != 0 ||
      std::system("sysctl -qw net.ipv6.conf.default.disable_ipv6=1") != 0) {
    std::perror("mount");
    return 1;
  }
  // Four lcores on the processors that there are.
  const unsigned cpus = static_cast<unsigned>(sysconf(_SC_NPROCESSORS_ONLN));
  std::string lcores = "--lcores=0@0";
  for (unsigned i = 1; i < 5; ++i) absl::StrAppend(&lcores, ",", i, "@", i % cpus);
  std::array<std::string, 9> arguments = {
      argv[0],          "--no-huge", "--no-shconf",
      "--no-pci",       "-m",        "256",
      "--no-telemetry", lcores,      absl::StrCat("--file-prefix=penstock_xsk_", getpid())};
  std::vector<char*> eal;
  for (std::string& argument : arguments) eal.push_back(argument.data());
  if (rte_eal_init(static_cast<int>(eal.size()), eal.data()) < 0) {
    std::fprintf(stderr, "rte_eal_init failed\n");
    return 1;
  }
  const int result = RUN_ALL_TESTS();
  rte_eal_cleanup();
  return result;
}
