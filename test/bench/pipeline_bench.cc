// SPDX-License-Identifier: BSD-3-Clause
//
// What the pipeline's abstractions cost: an lcore's whole loop beside a loop written by hand for
// the one thing it does, on the same net_null port with the same mempool.
//
//   pipeline_bench [--pairs=N] [--turn-ms=N] [--benchmark_filter=…] [--benchmark_format=json]
//
// Worker lcore 1 moves the packets. Ours and the rival take turns of a few milliseconds, A B B A; a
// turn's result is the lcore's CPU time per packet, which does not see what other processes take.
// Counters: ours_ns and rival_ns per packet, and of the ratio rival ÷ ours of neighbours the median
// and the quartiles q1 and q3: above 1 where ours is the faster. The pair "books" counts iterations
// in place of packets.

#include <benchmark/benchmark.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_ip.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_udp.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "lib/pipeline/mode.h"
#include "lib/pipeline/stages/csum.h"
#include "lib/pipeline/stages/five_tuple_swap.h"
#include "lib/pipeline/stages/icmp_echo.h"
#include "lib/pipeline/stages/io.h"
#include "lib/pipeline/stages/mac_set.h"
#include "lib/pipeline/stages/mac_swap.h"
#include "lib/pipeline/stages/rx_only.h"
#include "lib/pipeline/stages/tx_only.h"
#include "test/bench/frame_rivals.h"

namespace penstock {
namespace {

constexpr unsigned kWorker = 1;
constexpr uint16_t kPort = 0;
constexpr uint16_t kBurst = 32;
constexpr uint32_t kMbufs = 16384;

int pairs = 100;
int turn_ms = 5;

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "pipeline_bench: %s\n", what.c_str());
  std::exit(1);
}

// ---- the machine under test: one net_null port, one pool, one QSBR variable ----

struct Bench {
  rte_mempool* pool = nullptr;
  rte_rcu_qsbr* quiescence = nullptr;
  Configuration configuration;
};
Bench bench;

void SetUp(const char* program) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  sched_getaffinity(0, sizeof(allowed), &allowed);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) cpus.push_back(cpu);
  }
  std::vector<std::string> arguments = {
      program,
      "--no-huge",
      "--no-shconf",
      "--no-pci",
      "--no-telemetry",
      "-m",
      "256",
      "--log-level=error",
      "--vdev=net_null0",
      absl::StrCat("--file-prefix=penstock-bench-", getpid()),
      absl::StrCat("--lcores=0@", cpus.front(), ",1@", cpus.back())};
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  if (rte_eal_init(static_cast<int>(arguments.size()), argv.data()) < 0)
    Fail("rte_eal_init failed");
  bench.pool = rte_pktmbuf_pool_create("bench", kMbufs, 250, 0, 2176, SOCKET_ID_ANY);
  rte_eth_conf conf{};
  if (bench.pool == nullptr || rte_eth_dev_configure(kPort, 1, 1, &conf) != 0 ||
      rte_eth_rx_queue_setup(kPort, 0, 1024, 0, nullptr, bench.pool) != 0 ||
      rte_eth_tx_queue_setup(kPort, 0, 1024, 0, nullptr) != 0 || rte_eth_dev_start(kPort) != 0) {
    Fail("net_null0 could not be set up");
  }
  const size_t bytes = rte_rcu_qsbr_get_memsize(RTE_MAX_LCORE);
  bench.quiescence = static_cast<rte_rcu_qsbr*>(
      std::aligned_alloc(RTE_CACHE_LINE_SIZE, RTE_CACHE_LINE_ROUNDUP(bytes)));
  rte_rcu_qsbr_init(bench.quiescence, RTE_MAX_LCORE);
  rte_rcu_qsbr_thread_register(bench.quiescence, kWorker);
}

void TearDown() {
  rte_eth_dev_stop(kPort);
  const std::filesystem::path directory = rte_eal_get_runtime_dir();
  rte_eal_cleanup();
  std::error_code error;
  std::filesystem::remove_all(directory, error);
}

// ---- turns ----

// Something that the worker does until told to stop. Made anew for every turn.
struct Work {
  std::function<void()> run;
  std::function<void()> stop;
  // What was done; by default, packets as the port counts them.
  std::function<uint64_t()> done = [] {
    rte_eth_stats stats{};
    rte_eth_stats_get(kPort, &stats);
    return std::max(stats.ipackets, stats.opackets);
  };
};
using MakeWork = std::function<Work()>;

struct Timed {
  const Work* work;
  uint64_t cpu_ns;
};

uint64_t ThreadCpuNs() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

int RunTimed(void* argument) {
  Timed& timed = *static_cast<Timed*>(argument);
  const uint64_t before_ns = ThreadCpuNs();
  timed.work->run();
  timed.cpu_ns = ThreadCpuNs() - before_ns;
  return 0;
}

// CPU nanoseconds per thing done.
double Turn(const MakeWork& make) {
  const Work work = make();
  Timed timed{&work, 0};
  rte_eth_stats_reset(kPort);
  const uint64_t before = work.done();
  rte_eal_remote_launch(RunTimed, &timed, kWorker);
  std::this_thread::sleep_for(std::chrono::milliseconds(turn_ms));
  work.stop();
  rte_eal_wait_lcore(kWorker);
  const uint64_t done = work.done() - before;
  if (done == 0) Fail("a turn in which nothing was done");
  return static_cast<double>(timed.cpu_ns) / static_cast<double>(done);
}

double Quantile(std::vector<double> values, double at) {
  std::ranges::sort(values);
  const double place = at * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (values[above] - values[below]) * (place - static_cast<double>(below));
}

// One iteration of google-benchmark is one pair.
void InTurns(benchmark::State& state, const MakeWork& ours, const MakeWork& rival) {
  Turn(ours);
  Turn(rival);
  std::vector<double> mine;
  std::vector<double> others;
  std::vector<double> ratios;
  bool ours_first = true;
  for (auto _ : state) {
    double a = 0;
    double b = 0;
    if (ours_first) a = Turn(ours);
    b = Turn(rival);
    if (!ours_first) a = Turn(ours);
    ours_first = !ours_first;
    mine.push_back(a);
    others.push_back(b);
    ratios.push_back(b / a);
    state.SetIterationTime(a * 1e-9);
  }
  state.counters["ours_ns"] = Quantile(mine, 0.5);
  state.counters["rival_ns"] = Quantile(others, 0.5);
  state.counters["ratio"] = Quantile(ratios, 0.5);
  state.counters["q1"] = Quantile(ratios, 0.25);
  state.counters["q3"] = Quantile(ratios, 0.75);
}

// ---- ours ----

TxLock tx_lock;

enum class Shape { kForward, kForwardLocked, kForwardSingleSegments, kSource };

template <class... Stages>
MakeWork Ours(Shape shape = Shape::kForward) {
  return [shape]() -> Work {
    StageContext context{.configuration = bench.configuration,
                         .lcore = kWorker,
                         .rx = {},
                         .tx = {{kPort, 0, MacAddress{}, shape == Shape::kSource}},
                         .mempool = bench.pool};
    if (shape != Shape::kSource) context.rx.push_back({kPort, 0, 0});
    LcoreResources resources{
        .tx = {}, .burst = kBurst, .tx_retries = 0, .quiescence = bench.quiescence};
    TxQueue& queue = resources.tx.emplace_back();
    queue.single_segment = shape == Shape::kForwardSingleSegments;
    queue.lock = shape == Shape::kForwardLocked ? &tx_lock : nullptr;
    queue.burst = shape == Shape::kForwardLocked ? &BurstLocked : &BurstDirect;
    auto made = mode_internal::Row<Stages...>::Create(context, std::move(resources));
    if (!made.ok()) Fail(std::string(made.status().message()));
    const std::shared_ptr<LcoreProgram> program = std::move(*made);
    program->page().Start();
    return {.run = [program] { program->Run(); }, .stop = [program] { program->Stop(); }};
  };
}

// Passes whole bursts on.
class PassBurst : public StageBase {
 public:
  static constexpr absl::string_view kName = "pass_burst";
  static absl::StatusOr<PassBurst> Create(const StageContext&) { return PassBurst(); }
  void Process(Burst burst, auto& out) noexcept { out.Next(burst); }
};

// Passes packets on one by one.
class PassEach : public StageBase {
 public:
  static constexpr absl::string_view kName = "pass_each";
  static absl::StatusOr<PassEach> Create(const StageContext&) { return PassEach(); }
  void Process(Burst burst, auto& out) noexcept {
    for (rte_mbuf* mbuf : burst.mbufs) out.Next(mbuf);
  }
};

// ---- rivals: loops that know just what they do ----

// A work that calls `body` until told to stop.
template <class Body>
MakeWork Loop(Body body) {
  return [body]() -> Work {
    const auto stop = std::make_shared<std::atomic<bool>>(false);
    return {.run =
                [body, stop] {
                  while (!stop->load(std::memory_order_relaxed)) body();
                },
            .stop = [stop] { stop->store(true, std::memory_order_relaxed); }};
  };
}

void FreeUnsent(rte_mbuf** mbufs, uint16_t sent, uint16_t n) {
  for (; sent < n; ++sent) rte_pktmbuf_free(mbufs[sent]);
}

template <class Change>
MakeWork HandForward(Change change) {
  return Loop([change] {
    rte_mbuf* mbufs[kBurst];
    const uint16_t n = rte_eth_rx_burst(kPort, 0, mbufs, kBurst);
    if (n == 0) return;
    change(mbufs, n);
    FreeUnsent(mbufs, rte_eth_tx_burst(kPort, 0, mbufs, n), n);
  });
}

template <FrameKind kind>
MakeWork HandForwardOf(void (*change)(rte_mbuf**, uint16_t)) {
  return HandForward([change](rte_mbuf** mbufs, uint16_t n) {
    PutFrame<kind>(mbufs, n);
    change(mbufs, n);
  });
}

template <FrameKind kind>
MakeWork HandEchoOf() {
  return Loop([] {
    rte_mbuf* mbufs[kBurst];
    const uint16_t n = rte_eth_rx_burst(kPort, 0, mbufs, kBurst);
    PutFrame<kind>(mbufs, n);
    const uint16_t answers = HandEcho(mbufs, n);
    if (answers == 0) return;
    FreeUnsent(mbufs, rte_eth_tx_burst(kPort, 0, mbufs, answers), answers);
  });
}

MakeWork HandIo() {
  return HandForward([](rte_mbuf**, uint16_t) {});
}

MakeWork HandRxOnly() {
  return Loop([] {
    rte_mbuf* mbufs[kBurst];
    const uint16_t n = rte_eth_rx_burst(kPort, 0, mbufs, kBurst);
    for (uint16_t i = 0; i < n; ++i) rte_pktmbuf_free(mbufs[i]);
  });
}

// Field by field and header by header.
struct HandHeaders {
  rte_ether_hdr ethernet{};
  rte_ipv4_hdr ip{};
  rte_udp_hdr udp{};
};
const HandHeaders hand_headers;

void FillByFields(rte_mbuf* mbuf, uint16_t bytes) {
  rte_pktmbuf_reset_headroom(mbuf);
  mbuf->data_len = bytes;
  mbuf->pkt_len = bytes;
  mbuf->nb_segs = 1;
  mbuf->next = nullptr;
  mbuf->ol_flags = 0;
  mbuf->vlan_tci = 0;
  mbuf->vlan_tci_outer = 0;
  mbuf->l2_len = sizeof(rte_ether_hdr);
  mbuf->l3_len = sizeof(rte_ipv4_hdr);
  uint8_t* const data = rte_pktmbuf_mtod(mbuf, uint8_t*);
  rte_memcpy(data, &hand_headers.ethernet, sizeof(hand_headers.ethernet));
  rte_memcpy(data + sizeof(rte_ether_hdr), &hand_headers.ip, sizeof(hand_headers.ip));
  rte_memcpy(data + sizeof(rte_ether_hdr) + sizeof(rte_ipv4_hdr), &hand_headers.udp,
             sizeof(hand_headers.udp));
}

MakeWork HandTxOnly() {
  return Loop([] {
    rte_mbuf* mbufs[kBurst];
    if (rte_mempool_get_bulk(bench.pool, reinterpret_cast<void**>(mbufs), kBurst) != 0) return;
    for (rte_mbuf* mbuf : mbufs) FillByFields(mbuf, 64);
    FreeUnsent(mbufs, rte_eth_tx_burst(kPort, 0, mbufs, kBurst), kBurst);
  });
}

// ---- what is compared ----

// Counts its own calls, times `each`.
template <class Body>
MakeWork Counted(uint64_t each, Body body) {
  return [each, body]() -> Work {
    const auto stop = std::make_shared<std::atomic<bool>>(false);
    const auto calls = std::make_shared<uint64_t>(0);
    return {.run =
                [=] {
                  uint64_t n = 0;
                  for (; !stop->load(std::memory_order_relaxed); ++n) body();
                  *calls = n;
                },
            .stop = [stop] { stop->store(true, std::memory_order_relaxed); },
            .done = [calls, each] { return *calls * each; }};
  };
}

std::array<rte_mbuf*, kBurst> TakeMbufs() {
  std::array<rte_mbuf*, kBurst> mbufs;
  if (rte_pktmbuf_alloc_bulk(bench.pool, mbufs.data(), kBurst) != 0) Fail("the pool is empty");
  return mbufs;
}

// Stamping alone, on the same 32 mbufs again and again.
void BenchStamp(benchmark::State& state) {
  static const std::array<rte_mbuf*, kBurst> mbufs = TakeMbufs();
  static const PacketTemplate frame = TxOnly::FrameOf(bench.configuration, {});
  InTurns(state, Counted(kBurst, [] { frame.Stamp(mbufs); }), Counted(kBurst, [] {
            for (rte_mbuf* mbuf : mbufs) FillByFields(mbuf, 64);
          }));
}

// What ends an iteration, on its own: counters, the answer, the heartbeat, the quiescent state. The
// rival counts the same packets and does nothing else.
void BenchBooks(benchmark::State& state) {
  static CounterPage page(16);
  static std::atomic<uint64_t> heartbeat{0};
  const auto count = [] {
    uint64_t* const counts = page.local().data();
    counts[LcoreCounters::kPolls] += 1;
    counts[LcoreCounters::kFirstRx] += kBurst;
    counts[LcoreCounters::kFirstRx + 1] += kBurst;
    benchmark::ClobberMemory();
  };
  InTurns(state,
          Counted(1,
                  [count] {
                    count();
                    page.local()[LcoreCounters::kHeld] = 0;
                    heartbeat.store(heartbeat.load(std::memory_order_relaxed) + 1,
                                    std::memory_order_relaxed);
                    page.Answer();
                    rte_rcu_qsbr_quiescent(bench.quiescence, kWorker);
                  }),
          Counted(1, count));
}

void RegisterAll() {
  using enum FrameKind;
  const auto add = [](const char* name, MakeWork ours, MakeWork rival) {
    return benchmark::RegisterBenchmark(
        name, [=](benchmark::State& state) { InTurns(state, ours, rival); });
  };
  std::vector<benchmark::internal::Benchmark*> all = {
    add("hand_itself", HandIo(), HandIo()),
    add("io", Ours<Io>(), HandIo()),
    add("io_locked", Ours<Io>(Shape::kForwardLocked), Ours<Io>()),
    add("io_single_segments", Ours<Io>(Shape::kForwardSingleSegments), Ours<Io>()),
    add("chain_2_bursts", Ours<PassBurst, Io>(), Ours<Io>()),
    add("chain_3_bursts", Ours<PassBurst, PassBurst, Io>(), Ours<Io>()),
    add("chain_2_each", Ours<PassEach, Io>(), Ours<Io>()),
    add("chain_3_each", Ours<PassEach, PassEach, Io>(), Ours<Io>()),
    add("rxonly", Ours<RxOnly>(), HandRxOnly()),
    add("macswap_scalar", Ours<MacSwap>(), HandForward(SwapScalar)),
#if defined(__SSSE3__)
    add("macswap_vector", Ours<MacSwap>(), HandForward(SwapVector)),
#endif
    add("mac", Ours<MacSet>(), HandForward(HandMac)),
    add("5tswap_unknown", Ours<Puts<kUnknown>, FiveTupleSwap>(),
        HandForwardOf<kUnknown>(HandFiveTupleSwap)),
    add("5tswap_udp", Ours<Puts<kUdp>, FiveTupleSwap>(), HandForwardOf<kUdp>(HandFiveTupleSwap)),
    add("csum_unknown", Ours<Puts<kUnknown>, Csum>(), HandForwardOf<kUnknown>(HandCsum)),
    add("csum_udp", Ours<Puts<kUdp>, Csum>(), HandForwardOf<kUdp>(HandCsum)),
    add("icmpecho_unknown", Ours<Puts<kUnknown>, IcmpEcho>(), HandEchoOf<kUnknown>()),
    add("icmpecho_udp", Ours<Puts<kUdp>, IcmpEcho>(), HandEchoOf<kUdp>()),
    add("icmpecho_ping", Ours<Puts<kPing>, IcmpEcho>(), HandEchoOf<kPing>()),
    add("txonly", Ours<TxOnly>(Shape::kSource), HandTxOnly()),
    benchmark::RegisterBenchmark("stamp", BenchStamp),
    benchmark::RegisterBenchmark("books", BenchBooks),
  };
  for (benchmark::internal::Benchmark* each : all) {
    each->UseManualTime()->Iterations(pairs)->Unit(benchmark::kNanosecond);
  }
}

// Takes our own options out of argv.
void ParseOptions(int& argc, char** argv) {
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    absl::string_view word = argv[i];
    int* const value = absl::ConsumePrefix(&word, "--pairs=")     ? &pairs
                       : absl::ConsumePrefix(&word, "--turn-ms=") ? &turn_ms
                                                                  : nullptr;
    if (value == nullptr) {
      argv[kept++] = argv[i];
    } else if (!absl::SimpleAtoi(word, value) || *value < 2 || *value > 10000) {
      Fail(absl::StrCat(argv[i], ": accepted: 2 to 10000"));
    }
  }
  argc = kept;
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  penstock::ParseOptions(argc, argv);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  penstock::SetUp(argv[0]);
  penstock::RegisterAll();
  benchmark::RunSpecifiedBenchmarks();
  penstock::TearDown();
  return 0;
}
