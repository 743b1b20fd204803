// SPDX-License-Identifier: BSD-3-Clause
//
// The cursors of lib/ring beside one lock around everything, in turns inside one process.
//
//   ring_bench [--pairs=N] [--turn-ms=N]       prints a JSON array of rows
//
// "exclusive.N": one writer, no system call, bursts of N; the rival takes a lock that nobody else
// wants. "outside.N.B" and "split.N.B": two writers on one queue, bursts of N packets of B bytes
// that are copied. A stand-in for the kernel takes what is in the ring during a real system call.
// The first is what sending outside the lock wins over sending inside it, the second what preparing
// before the lock and reserving by count win over one lock around copies and stores, both sending
// outside.
//
// Of each row: CPU nanoseconds per packet, and of the ratio rival ÷ ours of neighbouring turns the
// median and the quartiles; above 1 ours is the faster.

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "lib/ring/producer.h"

namespace penstock {
namespace {

constexpr uint32_t kRing = 1024;
constexpr size_t kMostBytes = 1514;

int pairs = 100;
int turn_ms = 5;

double CpuNs() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

double WallNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

struct Entry {
  uint64_t address;
  uint32_t length;
  uint32_t options;
};

struct Memory {
  alignas(64) uint32_t producer = 0;
  alignas(64) uint32_t consumer = 0;
  alignas(64) std::array<Entry, kRing> entries{};
  RingMemory<Entry> view() {
    return {.producer = &producer, .consumer = &consumer, .entries = entries.data(), .size = kRing};
  }
  // What the kernel does in a call: it is alone in there.
  std::mutex kernel;
  void Send() {
    const std::lock_guard<std::mutex> lock(kernel);
    syscall(SYS_getppid);
    std::atomic_ref(consumer).store(std::atomic_ref(producer).load(std::memory_order_acquire),
                                    std::memory_order_release);
  }
};

// One lock around room, stores and index; what is between belongs to the caller.
struct OneLock {
  explicit OneLock(Memory& memory) : ring(memory.view()) {}
  uint32_t Room(uint32_t n) {
    const uint32_t used = next - std::atomic_ref(*ring.consumer).load(std::memory_order_acquire);
    return std::min(n, kRing - used);
  }
  void Store(const Entry* entries, uint32_t n) {
    ring.Write(next, entries, n);  // as ours does: the lock is what differs
    next += n;
    std::atomic_ref(*ring.producer).store(next, std::memory_order_release);
  }
  SpinLock lock;
  uint32_t next = 0;
  RingMemory<Entry> ring;
};

// A writer's own packets and chunks.
struct Writer {
  std::vector<char> from = std::vector<char>(64 * kMostBytes);
  std::vector<char> to = std::vector<char>(64 * kMostBytes);
  void Prepare(Entry* entries, uint32_t n, size_t bytes) {
    for (uint32_t i = 0; i < n; ++i) {
      std::memcpy(&to[i * kMostBytes], &from[i * kMostBytes], bytes);
      entries[i] = {i, static_cast<uint32_t>(bytes), 0};
    }
  }
};

// Runs a burst function on `writers` threads for a turn; CPU nanoseconds per packet.
using Burst = std::function<uint32_t(Writer&)>;
double Turn(const Burst& burst, unsigned writers) {
  std::atomic<uint64_t> packets{0};
  std::atomic<double> cpu_ns{0};
  const auto work = [&] {
    Writer writer;
    uint64_t done = 0;
    const double end = WallNs() + turn_ms * 1e6;
    const double begin = CpuNs();
    while (WallNs() < end) {
      for (int i = 0; i < 64; ++i) done += burst(writer);
    }
    cpu_ns += CpuNs() - begin;
    packets += done;
  };
  std::vector<std::thread> others;
  for (unsigned i = 1; i < writers; ++i) others.emplace_back(work);
  work();
  for (std::thread& other : others) other.join();
  return cpu_ns / static_cast<double>(std::max<uint64_t>(packets, 1));
}

double Quantile(std::vector<double> values, double at) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(at * static_cast<double>(values.size() - 1) + 0.5)];
}

void Compare(const std::string& name, const Burst& ours, const Burst& rival, unsigned writers) {
  static bool first = true;
  std::vector<double> a, b, ratio;
  for (int i = 0; i < pairs; ++i) {
    const bool ours_first = i % 2 == 0;
    double x = ours_first ? Turn(ours, writers) : 0;
    const double y = Turn(rival, writers);
    if (!ours_first) x = Turn(ours, writers);
    a.push_back(x);
    b.push_back(y);
    ratio.push_back(y / x);
  }
  std::printf(
      "%s{\"name\": \"%s\", \"ours_ns\": %.2f, \"rival_ns\": %.2f, \"q1\": %.3f, \"ratio\": "
      "%.3f, \"q3\": %.3f}",
      first ? "[" : ",\n", name.c_str(), Quantile(a, 0.5), Quantile(b, 0.5), Quantile(ratio, 0.25),
      Quantile(ratio, 0.5), Quantile(ratio, 0.75));
  first = false;
}

void ExclusiveAgainstALock(uint32_t burst) {
  Memory ours_memory, rival_memory;
  Producer<Entry, Exclusive> ours(ours_memory.view(), kRing);
  OneLock rival(rival_memory);
  const std::array<Entry, 64> entries{};
  const auto take = [](Memory& memory) {
    // The other side keeps up.
    std::atomic_ref(memory.consumer)
        .store(std::atomic_ref(memory.producer).load(std::memory_order_relaxed),
               std::memory_order_release);
  };
  Compare(
      absl::StrCat("exclusive.", burst),
      [&](Writer&) {
        const uint32_t n = ours.Reserve(burst, ours.claimed());
        ours.Publish(entries.data(), n);
        take(ours_memory);
        return n;
      },
      [&](Writer&) {
        uint32_t n;
        {
          ScopedLock guard(rival.lock);
          n = rival.Room(burst);
          rival.Store(entries.data(), n);
        }
        take(rival_memory);
        return n;
      },
      1);
}

void SharedAgainstOneLock(uint32_t burst, size_t bytes) {
  Memory ours_memory, rival_memory;
  Producer<Entry, Shared> ours(ours_memory.view(), kRing);
  OneLock rival(rival_memory);
  const auto one_lock = [&](Writer& writer, bool send_inside) {
    std::array<Entry, 64> entries;
    uint32_t n;
    {
      ScopedLock guard(rival.lock);
      n = rival.Room(burst);
      writer.Prepare(entries.data(), n, bytes);
      rival.Store(entries.data(), n);
      if (send_inside) rival_memory.Send();
    }
    if (!send_inside) rival_memory.Send();
    return n;
  };
  const Burst inside = [&](Writer& writer) { return one_lock(writer, true); };
  const Burst outside = [&](Writer& writer) { return one_lock(writer, false); };
  const Burst split = [&](Writer& writer) {
    std::array<Entry, 64> entries;
    const uint32_t n =
        ours.Reserve(burst, std::atomic_ref(ours_memory.consumer).load(std::memory_order_relaxed));
    writer.Prepare(entries.data(), n, bytes);
    if (n != 0) ours.Publish(entries.data(), n);
    ours_memory.Send();
    return n;
  };
  const std::string suffix = absl::StrCat(".", burst, ".", bytes);
  Compare(absl::StrCat("outside", suffix), outside, inside, 2);
  Compare(absl::StrCat("split", suffix), split, outside, 2);
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    absl::string_view argument = argv[i];
    int* const value = absl::ConsumePrefix(&argument, "--pairs=")     ? &penstock::pairs
                       : absl::ConsumePrefix(&argument, "--turn-ms=") ? &penstock::turn_ms
                                                                      : nullptr;
    if (value == nullptr || !absl::SimpleAtoi(argument, value) || *value < 1) {
      std::fprintf(stderr, "ring_bench: %s: accepted are --pairs=N and --turn-ms=N\n", argv[i]);
      return 2;
    }
  }
  for (const uint32_t burst : {1, 8, 32}) penstock::ExclusiveAgainstALock(burst);
  for (const uint32_t burst : {1, 8, 32}) {
    for (const size_t bytes : {64, 1514}) penstock::SharedAgainstOneLock(burst, bytes);
  }
  std::printf("]\n");
  return 0;
}
