// SPDX-License-Identifier: BSD-3-Clause
//
// net_xsk, stock net_af_xdp and bare system calls in one process and on one core, in turns of
// milliseconds: what an application's functions cost, beside each other, whatever else the machine
// does.
//
//   xsk_bench [--pairs=N] [--turn-ms=N] [--only=WORD] EAL-ARGUMENTS    prints a JSON array of rows,
//                                                  or of those whose name begins so
//
// EAL is given four ports: 0 and 1 of net_xsk, 2 and 3 of the rival; the odd ones receive. In the
// present network namespace "feed1" and "feed3" are the other ends of these, and "bare0" one to
// send to.
//
//   tx.B      packets are made as txonly makes them, sent in bursts of B and taken back
//   bare.B    the same against bare system calls
//   rx.B      256 frames that have come in are received in bursts of B and freed
//   macswap.B the same, and they are sent to the other port
//   poll      an empty poll
//
// Of each row: CPU nanoseconds per packet or poll, and of the ratio rival ÷ ours of neighbouring
// turns the median and the quartiles; above 1 ours is the faster.

#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_mbuf.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "test/bench/bare_xsk.h"

namespace penstock {
namespace {

constexpr uint16_t kDescriptors = 1024;
constexpr unsigned kMbufs = 16383;
constexpr unsigned kCache = 250;  // testpmd's
constexpr uint16_t kFrameBytes = 64;
constexpr uint32_t kFed = 256;  // what the ring of a veth takes

int pairs = 100;
int turn_ms = 10;
absl::string_view only;

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "xsk_bench: %s\n", what.c_str());
  std::exit(1);
}

double NowNs(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}
double CpuNs() { return NowNs(CLOCK_THREAD_CPUTIME_ID); }

// Two ports of one driver, and their mempool.
struct Ports {
  uint16_t out;
  uint16_t in;
  rte_mempool* pool;
};

void SetUp(uint16_t port, rte_mempool* pool) {
  const rte_eth_conf conf{};
  const int socket = static_cast<int>(rte_socket_id());
  const auto node = static_cast<unsigned>(socket);
  if (rte_eth_dev_configure(port, 1, 1, &conf) != 0 ||
      rte_eth_rx_queue_setup(port, 0, kDescriptors, node, nullptr, pool) != 0 ||
      rte_eth_tx_queue_setup(port, 0, kDescriptors, node, nullptr) != 0 ||
      rte_eth_dev_start(port) != 0) {
    Fail(absl::StrCat("port ", port, " does not start"));
  }
}

Ports MakePorts(uint16_t first, const char* name) {
  rte_mempool* const pool = rte_pktmbuf_pool_create(
      name, kMbufs, kCache, 0, RTE_MBUF_DEFAULT_BUF_SIZE, static_cast<int>(rte_socket_id()));
  if (pool == nullptr) Fail("no memory for a mempool");
  const Ports ports = {.out = first, .in = static_cast<uint16_t>(first + 1), .pool = pool};
  SetUp(ports.out, pool);
  SetUp(ports.in, pool);
  return ports;
}

// ---- what is measured: each runs for a turn, and gives CPU nanoseconds per packet or poll ----

double Send(const Ports& ports, uint16_t burst) {
  static constexpr std::array<uint8_t, 42> kHeaders = {0x02, 0, 0, 0, 0, 2, 0x02, 0, 0, 0, 0, 1, 8};
  std::array<rte_mbuf*, 256> mbufs;
  uint64_t packets = 0;
  const double begin = CpuNs();
  double end = begin;
  while (end - begin < turn_ms * 1e6) {
    for (int round = 0; round < 8; ++round) {
      if (rte_mempool_get_bulk(ports.pool, reinterpret_cast<void**>(mbufs.data()), burst) != 0) {
        Fail("the mempool is empty");
      }
      for (uint16_t i = 0; i < burst; ++i) {
        rte_mbuf* const mbuf = mbufs[i];
        rte_pktmbuf_reset_headroom(mbuf);
        mbuf->data_len = kFrameBytes;
        mbuf->pkt_len = kFrameBytes;
        mbuf->nb_segs = 1;
        mbuf->ol_flags = 0;
        mbuf->next = nullptr;
        std::memcpy(rte_pktmbuf_mtod(mbuf, void*), kHeaders.data(), kHeaders.size());
      }
      const uint16_t sent = rte_eth_tx_burst(ports.out, 0, mbufs.data(), burst);
      for (uint16_t i = sent; i < burst; ++i) rte_pktmbuf_free(mbufs[i]);
      packets += sent;
    }
    end = CpuNs();
  }
  return (end - begin) / static_cast<double>(packets);
}

double SendBare(BareXsk& bare, uint16_t burst) {
  BareXsk::Counts counts;
  const double begin = CpuNs();
  double end = begin;
  while (end - begin < turn_ms * 1e6) {
    for (int round = 0; round < 8; ++round) bare.Burst(burst, counts);
    end = CpuNs();
  }
  return (end - begin) / static_cast<double>(counts.packets);
}

// `take` is given a burst that was received. What comes before is not timed.
template <typename Take>
double Receive(const Ports& ports, BareXsk& feed, uint16_t burst, Take take) {
  std::array<rte_mbuf*, 256> mbufs;
  double spent = 0;
  uint64_t packets = 0;
  while (spent < turn_ms * 1e6 / 4) {
    BareXsk::Counts fed;
    feed.Burst(kFed, fed);
    const double begin = CpuNs();
    uint32_t got = 0;
    for (int empty = 0; got < kFed && empty < 2;) {
      const uint16_t n = rte_eth_rx_burst(ports.in, 0, mbufs.data(), burst);
      if (n == 0) ++empty;
      take(mbufs.data(), n);
      got += n;
    }
    spent += CpuNs() - begin;
    packets += got;
  }
  if (packets == 0) Fail(absl::StrCat("port ", ports.in, " receives nothing"));
  return spent / static_cast<double>(packets);
}

double ReceiveAndFree(const Ports& ports, BareXsk& feed, uint16_t burst) {
  return Receive(ports, feed, burst, [](rte_mbuf** mbufs, uint16_t n) {
    for (uint16_t i = 0; i < n; ++i) rte_pktmbuf_free(mbufs[i]);
  });
}

double MacSwap(const Ports& ports, BareXsk& feed, uint16_t burst) {
  return Receive(ports, feed, burst, [&ports](rte_mbuf** mbufs, uint16_t n) {
    if (n == 0) return;
    for (uint16_t i = 0; i < n; ++i) {
      auto* const eth = rte_pktmbuf_mtod(mbufs[i], rte_ether_hdr*);
      std::swap(eth->src_addr, eth->dst_addr);
    }
    const uint16_t sent = rte_eth_tx_burst(ports.out, 0, mbufs, n);
    for (uint16_t i = sent; i < n; ++i) rte_pktmbuf_free(mbufs[i]);
  });
}

double Poll(const Ports& ports) {
  std::array<rte_mbuf*, 32> mbufs;
  constexpr int kPolls = 4096;
  uint64_t polls = 0;
  const double begin = CpuNs();
  double end = begin;
  while (end - begin < turn_ms * 1e6 / 4) {
    for (int i = 0; i < kPolls; ++i) {
      const uint16_t n = rte_eth_rx_burst(ports.in, 0, mbufs.data(), 32);
      for (uint16_t j = 0; j < n; ++j) rte_pktmbuf_free(mbufs[j]);
    }
    polls += kPolls;
    end = CpuNs();
  }
  return (end - begin) / static_cast<double>(polls);
}

// ---- rows ----

double Quantile(std::vector<double> values, double at) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(at * static_cast<double>(values.size() - 1) + 0.5)];
}

using Turn = std::function<double()>;
void Compare(const std::string& name, const Turn& ours, const Turn& rival) {
  static bool first = true;
  if (!absl::StartsWith(name, only)) return;
  std::vector<double> a, b, ratio;
  ours();
  rival();
  for (int i = 0; i < pairs; ++i) {
    const bool ours_first = i % 2 == 0;
    double x = ours_first ? ours() : 0;
    const double y = rival();
    if (!ours_first) x = ours();
    a.push_back(x);
    b.push_back(y);
    ratio.push_back(y / x);
  }
  std::printf(
      "%s{\"name\": \"%s\", \"ours_ns\": %.2f, \"rival_ns\": %.2f, \"q1\": %.3f, \"ratio\": "
      "%.3f, \"q3\": %.3f}",
      first ? "[" : ",\n", name.c_str(), Quantile(a, 0.5), Quantile(b, 0.5), Quantile(ratio, 0.25),
      Quantile(ratio, 0.5), Quantile(ratio, 0.75));
  std::fflush(stdout);
  first = false;
}

void RunAll() {
  const Ports ours = MakePorts(0, "ours");
  const Ports rival = MakePorts(2, "rival");
  BareXsk feed_ours("feed1", kFed), feed_rival("feed3", kFed), bare("bare0", kFed);
  for (const uint16_t burst : {32, 64, 256}) {
    Compare(
        absl::StrCat("tx.", burst), [&] { return Send(ours, burst); },
        [&] { return Send(rival, burst); });
    Compare(
        absl::StrCat("bare.", burst), [&] { return Send(ours, burst); },
        [&] { return SendBare(bare, burst); });
  }
  for (const uint16_t burst : {32, 256}) {
    Compare(
        absl::StrCat("rx.", burst), [&] { return ReceiveAndFree(ours, feed_ours, burst); },
        [&] { return ReceiveAndFree(rival, feed_rival, burst); });
    Compare(
        absl::StrCat("macswap.", burst), [&] { return MacSwap(ours, feed_ours, burst); },
        [&] { return MacSwap(rival, feed_rival, burst); });
  }
  Compare(
      "poll", [&] { return Poll(ours); }, [&] { return Poll(rival); });
  std::printf("]\n");
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  std::vector<char*> eal = {argv[0]};
  for (int i = 1; i < argc; ++i) {
    absl::string_view argument = argv[i];
    int* const value = absl::ConsumePrefix(&argument, "--pairs=")     ? &penstock::pairs
                       : absl::ConsumePrefix(&argument, "--turn-ms=") ? &penstock::turn_ms
                                                                      : nullptr;
    if (absl::ConsumePrefix(&argument, "--only=")) {
      penstock::only = argument;
    } else if (value == nullptr) {
      eal.push_back(argv[i]);
    } else if (!absl::SimpleAtoi(argument, value) || *value < 1) {
      std::fprintf(stderr, "xsk_bench: %s: accepted are --pairs=N and --turn-ms=N\n", argv[i]);
      return 2;
    }
  }
  if (rte_eal_init(static_cast<int>(eal.size()), eal.data()) < 0) penstock::Fail("EAL");
  if (rte_eth_dev_count_avail() != 4) penstock::Fail("four ports are needed");
  penstock::RunAll();
  for (uint16_t port = 0; port < 4; ++port) rte_eth_dev_stop(port);
  rte_eal_cleanup();
  return 0;
}
