// SPDX-License-Identifier: BSD-3-Clause
//
// bare_xsk: the loop of bare_xsk.h as a program that takes turns with others.
//
//   bare_xsk INTERFACE BURST CPU           in the present network namespace
//
// It says "ready". Each line of standard input, a number of milliseconds, is a run and is answered
// by
//   PACKETS WALL_NANOSECONDS CPU_NANOSECONDS CALLS EAGAINS
// The end of the input ends it.

#include "test/bench/bare_xsk.h"

#include <sched.h>
#include <time.h>

#include <iostream>
#include <string>

namespace {

uint64_t NowNs(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace

int main(int argc, char** argv) {
  const auto burst = static_cast<uint32_t>(argc == 4 ? std::atoi(argv[2]) : 0);
  if (burst < 1 || burst > 512) {
    std::fprintf(stderr, "bare_xsk: give INTERFACE BURST CPU; bursts are 1 to 512\n");
    return 2;
  }
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(std::atoi(argv[3]), &cpus);
  if (sched_setaffinity(0, sizeof(cpus), &cpus) != 0) {
    std::fprintf(stderr, "bare_xsk: CPU %s: %s\n", argv[3], std::strerror(errno));
    return 1;
  }
  penstock::BareXsk loop(argv[1], burst);
  std::cout << "ready" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    penstock::BareXsk::Counts counts;
    const uint64_t cpu_ns = NowNs(CLOCK_THREAD_CPUTIME_ID);
    const uint64_t begin_ns = NowNs(CLOCK_MONOTONIC);
    const uint64_t end_ns = begin_ns + std::strtoull(line.c_str(), nullptr, 10) * 1'000'000;
    uint64_t now_ns = begin_ns;
    while (now_ns < end_ns) {
      for (uint32_t packets = 0; packets < 1024; packets += burst) loop.Burst(burst, counts);
      now_ns = NowNs(CLOCK_MONOTONIC);
    }
    std::cout << counts.packets << ' ' << now_ns - begin_ns << ' '
              << NowNs(CLOCK_THREAD_CPUTIME_ID) - cpu_ns << ' ' << counts.calls << ' '
              << counts.eagains << std::endl;
  }
  return 0;
}
