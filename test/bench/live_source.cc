// SPDX-License-Identifier: BSD-3-Clause
//
// live_source: fills an interface with one fixed UDP frame, as fast as one core can, without a
// socket or an skb: the kernel runs an XDP program over frames of its own and really redirects them
// (BPF_PROG_RUN with BPF_F_TEST_XDP_LIVE_FRAMES, Linux 5.18). The other end of a veth needs an XDP
// program, or its frames have nowhere to go.
//
//   live_source OBJECT INTERFACE CPU        live_source.bpf.o; runs in the present network
//   namespace
//
// Then, line by line on standard input, so that a benchmark can let it rest:
//   start      answered by "started" when frames flow
//   stop       answered by "FRAMES NANOSECONDS", since then
// The end of the input ends it. One thread takes commands, another is in the kernel.

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <net/if.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <thread>
#include <utility>

namespace {

// As many as a veth's ring of 256 takes without loss while it is being emptied.
constexpr uint32_t kFramesAtOnce = 64;
constexpr uint32_t kFramesPerCall = 1u << 30;

// Ethernet, IPv4, UDP and 22 bytes of nothing: 64.
constexpr std::array<uint8_t, 64> kFrame = {
    0x02, 0x00, 0x00, 0x00, 0x00, 0x02, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0x08, 0x00,  //
    0x45, 0x00, 0x00, 0x32, 0x00, 0x00, 0x00, 0x00, 0x40, 0x11, 0x66, 0xb9,              //
    0x0a, 0x00, 0x00, 0x01, 0x0a, 0x00, 0x00, 0x02,  // 10.0.0.1, 2
    0x04, 0x00, 0x00, 0x09, 0x00, 0x1e, 0x00, 0x00,  // ports 1024 and 9, no checksum
};

uint64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

[[noreturn]] void Fail(const std::string& what, int error) {
  std::fprintf(stderr, "live_source: %s: %s\n", what.c_str(), std::strerror(error));
  std::exit(1);
}

void KeepTo(int cpu) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(cpu, &cpus);
  if (sched_setaffinity(0, sizeof(cpus), &cpus) != 0) Fail("sched_setaffinity", errno);
}

class Source {
 public:
  Source(const char* object_path, const char* interface, int cpu) : cpu_(cpu) {
    const uint32_t index = if_nametoindex(interface);
    if (index == 0) Fail(interface, errno);
    bpf_object* const object = bpf_object__open(object_path);
    if (object == nullptr) Fail(object_path, errno);
    bpf_map* const constants = bpf_object__find_map_by_name(object, ".rodata");
    counts_ = bpf_object__find_map_by_name(object, ".bss");
    bpf_program* const program = bpf_object__find_program_by_name(object, "source");
    if (constants == nullptr || counts_ == nullptr || program == nullptr) {
      Fail(object_path, EINVAL);
    }
    if (bpf_map__set_initial_value(constants, &index, sizeof(index)) != 0) Fail(".rodata", errno);
    if (bpf_object__load(object) != 0) Fail("loading the BPF program", errno);
    program_ = bpf_program__fd(program);
  }

  ~Source() {
    if (thread_.joinable()) Stop();
  }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  void Start() {
    wanted_ = true;
    returned_ = false;
    first_ = Offered();
    thread_ = std::thread([this] { Run(); });
    while (Offered() == first_ && !returned_) sched_yield();
    first_ = Offered();
    since_ns_ = NowNs();
  }

  // Frames and nanoseconds since Start() returned.
  std::pair<uint64_t, uint64_t> Stop() {
    const uint64_t frames = Offered() - first_;
    const uint64_t ns = NowNs() - since_ns_;
    wanted_ = false;
    // A signal ends the call, unless it comes before the call began.
    while (!returned_) {
      pthread_kill(thread_.native_handle(), SIGUSR1);
      usleep(1000);
    }
    thread_.join();
    return {frames, ns};
  }

 private:
  void Run() {
    KeepTo(cpu_);
    while (wanted_) {
      // libbpf's macro for this is no valid C++ for every compiler; it wants padding to be zero.
      bpf_test_run_opts options;
      std::memset(&options, 0, sizeof(options));
      options.sz = sizeof(options);
      options.data_in = kFrame.data();
      options.data_size_in = static_cast<uint32_t>(kFrame.size());
      options.repeat = static_cast<int>(kFramesPerCall);
      options.flags = BPF_F_TEST_XDP_LIVE_FRAMES;
      options.batch_size = kFramesAtOnce;
      const int error = -bpf_prog_test_run_opts(program_, &options);
      if (error != 0 && error != EINTR) Fail("BPF_PROG_RUN with live frames", error);
    }
    returned_ = true;
  }

  uint64_t Offered() const {
    const uint32_t zero = 0;
    uint64_t offered = 0;
    if (bpf_map__lookup_elem(counts_, &zero, sizeof(zero), &offered, sizeof(offered), 0) != 0) {
      Fail("reading the count", errno);
    }
    return offered;
  }

  const int cpu_;
  int program_ = -1;
  bpf_map* counts_ = nullptr;
  std::thread thread_;
  std::atomic<bool> wanted_{false};
  std::atomic<bool> returned_{false};
  uint64_t first_ = 0;
  uint64_t since_ns_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "live_source: give OBJECT INTERFACE CPU\n");
    return 2;
  }
  // Nothing to do but to interrupt a call.
  struct sigaction interrupt {};
  interrupt.sa_handler = [](int) {};
  sigaction(SIGUSR1, &interrupt, nullptr);
  Source source(argv[1], argv[2], std::atoi(argv[3]));
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "start") {
      source.Start();
      std::printf("started\n");
    } else if (line == "stop") {
      const auto [frames, ns] = source.Stop();
      std::printf("%llu %llu\n", static_cast<unsigned long long>(frames),
                  static_cast<unsigned long long>(ns));
    } else {
      std::fprintf(stderr, "live_source: %s: accepted are start and stop\n", line.c_str());
      return 2;
    }
    std::fflush(stdout);
  }
  return 0;
}
