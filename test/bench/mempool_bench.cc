// SPDX-License-Identifier: BSD-3-Clause
//
// mempool_deferred beside the mempools of DPDK, in turns inside one process.
//
//   mempool_bench [--rounds=N] [--turn-ms=N] [--only=PREFIX]   prints a JSON array of rows
//   mempool_bench --soak=N      N frees on another lcore, every mbuf checked; prints what it found
//
// "across.BYTES.CACHE": one lcore allocates bursts of 32 and writes BYTES of each packet, another
// reads them and frees. "both.…": two lcores, each of which allocates and frees what the other
// sent. "same.…": one lcore, which has 8 bursts out. Rows have mbufs per second of ours and the
// rival, and of the ratio of neighbouring turns median and quartiles; cycles of the allocating and
// the freeing lcore per mbuf, packets touched and waiting left out. "distinct.CACHE" counts mbufs
// that were in circulation, with what was in flight at most; "poll" is what an empty mailbox costs
// per look.

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_ring.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "drivers/mempool/deferred/mail.h"
#include "test/bench/mempool_rivals.h"

namespace penstock {
namespace {

constexpr unsigned kMbufs = 16383;
constexpr unsigned kBurst = 32;
constexpr unsigned kBelt = 512;  // Packets between two lcores.

uint64_t rounds = 60;
uint64_t turn_ms = 10;
std::string only;

// ---- What lcores do with packets. ----

std::array<char, 1536> pattern;

void Write(rte_mbuf* const* mbufs, unsigned n, unsigned bytes) {
  for (unsigned i = 0; i < n; ++i)
    std::memcpy(rte_pktmbuf_mtod(mbufs[i], char*), pattern.data(), bytes);
}

uint64_t Read(rte_mbuf* const* mbufs, unsigned n, unsigned bytes) {
  uint64_t sum = 0;
  for (unsigned i = 0; i < n; ++i) {
    const auto* const words = rte_pktmbuf_mtod(mbufs[i], const uint64_t*);
    for (unsigned w = 0; w < bytes / 8; w += 2) sum += words[w] ^ words[w + 1];
  }
  return sum;
}

// ---- The other lcore. ----

struct alignas(128) Side {
  std::atomic<uint64_t> freed{0};  // Also how the other knows that the belt is empty.
  std::atomic<uint64_t> made{0};
  std::atomic<uint64_t> free_tsc{0};
  std::atomic<uint64_t> alloc_tsc{0};
};

void Add(std::atomic<uint64_t>& value, uint64_t n) {
  value.store(value.load(std::memory_order_relaxed) + n, std::memory_order_release);
}

struct World {
  rte_ring* there;  // To the other lcore.
  rte_ring* back;
  std::atomic<unsigned> bytes{64};
  std::atomic<rte_mempool*> pool{nullptr};  // The other allocates as well, from this one.
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> told{0}, heard{0};  // The other has seen all that was said before.
  Side first, second;
};
World world;
std::atomic<uint64_t> read_sum;

// Frees what comes on `belt`; false if nothing did.
bool FreeSome(rte_ring* belt, Side& side, unsigned bytes) {
  rte_mbuf* mbufs[kBurst];
  const unsigned n =
      rte_ring_sc_dequeue_burst(belt, reinterpret_cast<void**>(mbufs), kBurst, nullptr);
  if (n == 0) return false;
  read_sum.store(Read(mbufs, n, bytes), std::memory_order_relaxed);
  const uint64_t since = rte_rdtsc();
  rte_pktmbuf_free_bulk(mbufs, n);
  Add(side.free_tsc, rte_rdtsc() - since);
  Add(side.freed, n);
  return true;
}

// Fills the belt by one burst if it has room.
bool MakeSome(rte_mempool* pool, rte_ring* belt, Side& side, unsigned bytes) {
  if (rte_ring_free_count(belt) < kBurst) return false;
  rte_mbuf* mbufs[kBurst];
  const uint64_t since = rte_rdtsc();
  if (rte_pktmbuf_alloc_bulk(pool, mbufs, kBurst) != 0) return false;
  Add(side.alloc_tsc, rte_rdtsc() - since);
  Write(mbufs, kBurst, bytes);
  rte_ring_sp_enqueue_bulk(belt, reinterpret_cast<void**>(mbufs), kBurst, nullptr);
  Add(side.made, kBurst);
  return true;
}

int Other(void*) {
  while (!world.stop.load(std::memory_order_relaxed)) {
    const uint64_t told = world.told.load(std::memory_order_acquire);
    const unsigned bytes = world.bytes.load(std::memory_order_relaxed);
    if (rte_mempool* const pool = world.pool.load(std::memory_order_acquire); pool != nullptr) {
      MakeSome(pool, world.back, world.second, bytes);
    }
    if (!FreeSome(world.there, world.second, bytes)) rte_pause();
    world.heard.store(told, std::memory_order_release);
  }
  return 0;
}

// ---- One turn of one pool. ----

struct Result {
  double mpps = 0;
  double alloc_cycles = 0;
  double free_cycles = 0;
};

using Kind = Result (*)(rte_mempool* pool, unsigned bytes, uint64_t turn_tsc);

Result Across(rte_mempool* pool, unsigned bytes, uint64_t turn_tsc) {
  world.bytes.store(bytes);
  const uint64_t made = world.first.made, alloc_tsc = world.first.alloc_tsc;
  const uint64_t freed = world.second.freed, free_tsc = world.second.free_tsc;
  const uint64_t begin = rte_rdtsc();
  while (rte_rdtsc() - begin < turn_tsc) {
    for (int i = 0; i < 16; ++i) MakeSome(pool, world.there, world.first, bytes);
  }
  const uint64_t n = world.first.made - made;
  while (world.second.freed - freed < n) rte_pause();
  const uint64_t wall = rte_rdtsc() - begin;
  const auto per = [n](uint64_t tsc) { return static_cast<double>(tsc) / static_cast<double>(n); };
  return {1e-6 / (per(wall) / static_cast<double>(rte_get_tsc_hz())),
          per(world.first.alloc_tsc - alloc_tsc), per(world.second.free_tsc - free_tsc)};
}

Result Both(rte_mempool* pool, unsigned bytes, uint64_t turn_tsc) {
  Side& a = world.first;
  Side& b = world.second;
  const auto sum = [&](auto field) { return (a.*field).load() + (b.*field).load(); };
  world.bytes.store(bytes);
  const uint64_t made = sum(&Side::made), alloc_tsc = sum(&Side::alloc_tsc);
  const uint64_t free_tsc = sum(&Side::free_tsc);
  const uint64_t begin = rte_rdtsc();
  world.pool.store(pool);
  while (rte_rdtsc() - begin < turn_tsc) {
    for (int i = 0; i < 16; ++i) {
      MakeSome(pool, world.there, a, bytes);
      FreeSome(world.back, a, bytes);
    }
  }
  world.pool.store(nullptr);
  const uint64_t told = ++world.told;
  while (world.heard < told || sum(&Side::freed) < sum(&Side::made)) {
    FreeSome(world.back, a, bytes);
  }
  const uint64_t wall = rte_rdtsc() - begin;
  const uint64_t n = sum(&Side::made) - made;
  const auto per = [n](uint64_t tsc) { return static_cast<double>(tsc) / static_cast<double>(n); };
  return {1e-6 / (per(wall) / static_cast<double>(rte_get_tsc_hz())),
          per(sum(&Side::alloc_tsc) - alloc_tsc), per(sum(&Side::free_tsc) - free_tsc)};
}

Result Same(rte_mempool* pool, unsigned bytes, uint64_t turn_tsc) {
  constexpr unsigned kOut = 8;
  std::array<std::array<rte_mbuf*, kBurst>, kOut> out;
  uint64_t n = 0, alloc_tsc = 0, free_tsc = 0;
  const uint64_t begin = rte_rdtsc();
  uint64_t at = 0;
  const auto free_one = [&](std::array<rte_mbuf*, kBurst>& burst) {
    read_sum.store(Read(burst.data(), kBurst, bytes), std::memory_order_relaxed);
    const uint64_t since = rte_rdtsc();
    rte_pktmbuf_free_bulk(burst.data(), kBurst);
    free_tsc += rte_rdtsc() - since;
  };
  for (; (at & 15) != 0 || rte_rdtsc() - begin < turn_tsc; ++at) {
    auto& burst = out[at % kOut];
    if (at >= kOut) free_one(burst);
    const uint64_t since = rte_rdtsc();
    if (rte_pktmbuf_alloc_bulk(pool, burst.data(), kBurst) != 0) std::abort();
    alloc_tsc += rte_rdtsc() - since;
    Write(burst.data(), kBurst, bytes);
    n += kBurst;
  }
  for (unsigned i = 0; i < kOut; ++i) free_one(out[(at + i) % kOut]);
  const uint64_t wall = rte_rdtsc() - begin;
  const auto per = [n](uint64_t tsc) { return static_cast<double>(tsc) / static_cast<double>(n); };
  return {1e-6 / (per(wall) / static_cast<double>(rte_get_tsc_hz())), per(alloc_tsc),
          per(free_tsc)};
}

// ---- Rows. ----

double Quantile(std::vector<double> values, double at) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(at * static_cast<double>(values.size() - 1) + 0.5)];
}

void PrintRow(const std::string& row) {
  static bool first = true;
  std::printf("%s{%s}", first ? "[" : ",\n", row.c_str());
  first = false;
  std::fflush(stdout);
}

struct Series {
  std::vector<double> mpps, alloc, free;
  void Add(const Result& result) {
    mpps.push_back(result.mpps);
    alloc.push_back(result.alloc_cycles);
    free.push_back(result.free_cycles);
  }
};

void Compare(const char* kind_name, Kind kind, unsigned bytes, unsigned cache) {
  const std::string name = absl::StrCat(kind_name, ".", bytes, ".", cache);
  if (!absl::StartsWith(name, only)) return;
  const uint64_t turn_tsc = rte_get_tsc_hz() / 1000 * turn_ms;
  rte_mempool* const ours = MakePool("deferred", kMbufs, cache);
  if (ours == nullptr) std::abort();
  kind(ours, bytes, turn_tsc);
  for (const char* rival : kRivals) {
    if (kind == Both && SingleSided(rival)) continue;
    rte_mempool* const theirs = MakePool(rival, kMbufs, cache);
    if (theirs == nullptr) continue;
    Series a, b;
    std::vector<double> ratio;
    kind(theirs, bytes, turn_tsc);
    // The default is what has to be beaten; the others get fewer turns.
    const uint64_t turns = rival == kRivals[0] ? rounds : std::max<uint64_t>(2, rounds / 3);
    for (uint64_t round = 0; round < turns; ++round) {
      Result x, y;
      if (round % 2 == 0) {
        x = kind(ours, bytes, turn_tsc);
        y = kind(theirs, bytes, turn_tsc);
      } else {
        y = kind(theirs, bytes, turn_tsc);
        x = kind(ours, bytes, turn_tsc);
      }
      a.Add(x);
      b.Add(y);
      ratio.push_back(x.mpps / y.mpps);
    }
    PrintRow(absl::StrFormat(
        "\"name\": \"%s.%s\", \"ours\": %.2f, \"rival\": %.2f, \"q1\": %.3f, \"ratio\": %.3f, "
        "\"q3\": %.3f, \"cycles\": [%.1f, %.1f, %.1f, %.1f]",
        name, rival, Quantile(a.mpps, 0.5), Quantile(b.mpps, 0.5), Quantile(ratio, 0.25),
        Quantile(ratio, 0.5), Quantile(ratio, 0.75), Quantile(a.alloc, 0.5), Quantile(a.free, 0.5),
        Quantile(b.alloc, 0.5), Quantile(b.free, 0.5)));
    rte_mempool_free(theirs);
  }
  rte_mempool_free(ours);
}

// Not timed: each mbuf is marked as it comes.
void Distinct(const char* ops, unsigned cache) {
  const std::string name = absl::StrCat("distinct.", cache, ".", ops);
  if (!absl::StartsWith(name, only)) return;
  rte_mempool* const pool = MakePool(ops, kMbufs, cache);
  if (pool == nullptr) return;
  std::vector<rte_mbuf*> seen;
  seen.reserve(1 << 20);
  world.bytes.store(64);
  const uint64_t base = world.second.freed;
  uint64_t made = 0, in_flight = 0;
  std::vector<uintptr_t> all;
  for (int burst = 0; burst < 100'000;) {
    if (rte_ring_free_count(world.there) < kBurst) continue;
    rte_mbuf* mbufs[kBurst];
    if (rte_pktmbuf_alloc_bulk(pool, mbufs, kBurst) != 0) continue;
    ++burst;
    made += kBurst;
    // Of what is freed an lcore may still have a burst in its hands when it says so.
    in_flight = std::max(in_flight, made - (world.second.freed - base));
    seen.insert(seen.end(), mbufs, mbufs + kBurst);
    if (seen.size() >= (1 << 18)) {
      std::sort(seen.begin(), seen.end());
      seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
    }
    rte_ring_sp_enqueue_bulk(world.there, reinterpret_cast<void**>(mbufs), kBurst, nullptr);
  }
  while (world.second.freed - base < made) rte_pause();
  std::sort(seen.begin(), seen.end());
  seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
  PrintRow(absl::StrFormat("\"name\": \"%s\", \"distinct\": %d, \"in_flight\": %d, \"allowed\": %d",
                           name, seen.size(), in_flight, in_flight + cache * 5 / 2 + 2 * kBurst));
  rte_mempool_free(pool);
}

void EmptyPoll() {
  if (!absl::StartsWith("poll", only)) return;
  rte_mempool* const pool = MakePool("deferred", kMbufs, 0);
  const HomeMail mail = *DeferredMailOf(pool, rte_lcore_id());
  std::vector<double> cycles;
  for (int run = 0; run < 201; ++run) {
    constexpr int kPolls = 10'000;
    const uint64_t since = rte_rdtsc_precise();
    for (int i = 0; i < kPolls; ++i) {
      mail.TakeHome();
      rte_compiler_barrier();
    }
    cycles.push_back(static_cast<double>(rte_rdtsc_precise() - since) / kPolls);
  }
  PrintRow(absl::StrFormat("\"name\": \"poll\", \"q1\": %.2f, \"poll_cycles\": %.2f, \"q3\": %.2f",
                           Quantile(cycles, 0.25), Quantile(cycles, 0.5), Quantile(cycles, 0.75)));
  rte_mempool_free(pool);
}

// ---- The soak. ----

// Each packet carries whether it is out: an mbuf that two have at once is found.
struct Passport {
  uint64_t out;
  uint64_t number;
};

std::atomic<uint64_t> soak_faults;
std::atomic<uint64_t> soak_freed;
std::atomic<bool> soak_done;

int SoakFrees(void*) {
  uint64_t expected = 0;
  while (!soak_done.load(std::memory_order_acquire) || rte_ring_count(world.there) > 0) {
    rte_mbuf* mbufs[kBurst];
    const unsigned n =
        rte_ring_sc_dequeue_burst(world.there, reinterpret_cast<void**>(mbufs), kBurst, nullptr);
    for (unsigned i = 0; i < n; ++i) {
      auto* const passport = rte_pktmbuf_mtod(mbufs[i], Passport*);
      if (passport->out != 1 || passport->number != expected++) ++soak_faults;
      passport->out = 0;
    }
    // Now in bulk, now one by one.
    if ((expected & 1024) != 0) {
      rte_pktmbuf_free_bulk(mbufs, n);
    } else {
      for (unsigned i = 0; i < n; ++i) rte_pktmbuf_free(mbufs[i]);
    }
    Add(soak_freed, n);
  }
  return 0;
}

bool Soak(uint64_t frees, unsigned cache, unsigned other) {
  rte_mempool* const pool = MakePool("deferred", kMbufs, cache);
  if (pool == nullptr) return false;
  rte_mempool_obj_iter(
      pool,
      [](rte_mempool*, void*, void* object, unsigned) {
        auto* const mbuf = static_cast<rte_mbuf*>(object);
        rte_pktmbuf_mtod(mbuf, Passport*)->out = 0;
      },
      nullptr);
  soak_faults = 0;
  soak_freed = 0;
  soak_done = false;
  if (rte_eal_remote_launch(SoakFrees, nullptr, other) != 0) return false;
  uint64_t made = 0;
  while (made < frees) {
    rte_mbuf* mbufs[kBurst];
    const unsigned n = 1 + made % kBurst;
    if (rte_ring_free_count(world.there) < n) continue;
    if (rte_pktmbuf_alloc_bulk(pool, mbufs, n) != 0) continue;
    for (unsigned i = 0; i < n; ++i) {
      auto* const passport = rte_pktmbuf_mtod(mbufs[i], Passport*);
      if (passport->out != 0) ++soak_faults;
      *passport = {1, made++};
    }
    rte_ring_sp_enqueue_bulk(world.there, reinterpret_cast<void**>(mbufs), n, nullptr);
  }
  soak_done.store(true, std::memory_order_release);
  rte_eal_wait_lcore(other);
  const unsigned available = rte_mempool_avail_count(pool);
  std::printf(
      "cache %u: %lu mbufs allocated on one lcore, %lu freed on another, %lu faults, %u of %u "
      "in the pool\n",
      cache, made, soak_freed.load(), soak_faults.load(), available, kMbufs);
  const bool good = soak_faults == 0 && soak_freed == made && available == kMbufs;
  rte_mempool_free(pool);
  return good;
}

// EAL's word for lcores 0 and 1 on the first two CPUs that this process may use; empty if there are
// fewer.
std::string TwoLcores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return "";
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) cpus.push_back(cpu);
  }
  return cpus.size() < 2 ? "" : absl::StrCat("--lcores=0@", cpus[0], ",1@", cpus[1]);
}

unsigned FreeHugepages() {
  unsigned free = 0;
  std::ifstream("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages") >> free;
  return free;
}

int Main(uint64_t soak) {
  const unsigned other = rte_get_next_lcore(-1, 1, 0);
  world.there = rte_ring_create("there", kBelt, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
  world.back = rte_ring_create("back", kBelt, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
  if (soak > 0) {
    bool good = true;
    for (const unsigned cache : {0, 256}) good = Soak(soak / 2, cache, other) && good;
    return good ? 0 : 1;
  }
  rte_mempool_register_ops(&kLockedList);
  rte_eal_remote_launch(Other, nullptr, other);
  for (const unsigned cache : {256, 512, 0}) {
    for (const unsigned bytes : {64, 1514}) Compare("across", Across, bytes, cache);
  }
  for (const unsigned cache : {256, 0}) Compare("both", Both, 64, cache);
  for (const unsigned cache : {256, 0}) {
    for (const unsigned bytes : {64, 1514}) Compare("same", Same, bytes, cache);
  }
  for (const unsigned cache : {0, 256, 512}) {
    for (const char* ops : {"deferred", "ring_mp_mc", "stack"}) Distinct(ops, cache);
  }
  EmptyPoll();
  std::printf("]\n");
  world.stop = true;
  rte_eal_wait_lcore(other);
  return 0;
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  uint64_t soak = 0;
  for (int i = 1; i < argc; ++i) {
    absl::string_view argument = argv[i];
    if (absl::ConsumePrefix(&argument, "--only=")) {
      penstock::only = std::string(argument);
      continue;
    }
    uint64_t* const value = absl::ConsumePrefix(&argument, "--rounds=")    ? &penstock::rounds
                            : absl::ConsumePrefix(&argument, "--turn-ms=") ? &penstock::turn_ms
                            : absl::ConsumePrefix(&argument, "--soak=")    ? &soak
                                                                           : nullptr;
    if (value == nullptr || !absl::SimpleAtoi(argument, value) || *value < 1) {
      std::fprintf(stderr,
                   "mempool_bench: %s: accepted are --rounds=N, --turn-ms=N, --only=PREFIX and "
                   "--soak=N\n",
                   argv[i]);
      return 2;
    }
  }
  const std::string lcores = penstock::TwoLcores();
  if (lcores.empty()) {
    std::fprintf(stderr, "mempool_bench: two CPUs are needed, and this process may use one\n");
    return 1;
  }
  // Pages of 2 MiB where there are enough, as DPDK is meant to have; else what penstock does then.
  const bool huge = penstock::FreeHugepages() >= 128;
  std::vector<std::string> words = {argv[0],
                                    lcores,
                                    "--no-pci",
                                    "--no-telemetry",
                                    "--log-level=error",
                                    absl::StrCat("--file-prefix=mempool-bench-", getpid())};
  if (huge) {
    words.push_back("--in-memory");
  } else {
    for (const char* word : {"--no-huge", "--no-shconf", "-m", "512"}) words.push_back(word);
  }
  std::vector<char*> eal;
  for (std::string& word : words) eal.push_back(word.data());
  if (rte_eal_init(static_cast<int>(eal.size()), eal.data()) < 0) {
    std::fprintf(stderr, "mempool_bench: EAL does not start: %s\n", rte_strerror(rte_errno));
    return 1;
  }
  if (const int error = penstock::RegisterDeferredOps(); error != 0) {
    std::fprintf(stderr, "mempool_bench: no mempool_deferred: %s\n", rte_strerror(error));
    return 1;
  }
  std::fprintf(stderr, "%s\n", huge ? "pages of 2 MiB" : "no hugepages");
  const int status = penstock::Main(soak);
  rte_eal_cleanup();
  return status;
}
