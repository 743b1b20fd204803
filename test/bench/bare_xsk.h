// SPDX-License-Identifier: BSD-3-Clause
//
// BareXsk: sending through an AF_XDP socket in copy mode with nothing but the system calls: no
// packets are made, no mbufs, no counters; the same few chunks go round, so that they stay in the
// nearest cache. What a driver on such a socket can come near to at best. One thread. It is a rival
// of benchmarks: what fails ends the process.
//
//   BareXsk loop("out0", 256);
//   BareXsk::Counts counts;
//   loop.Burst(32, counts);

#ifndef PENSTOCK_TEST_BENCH_BARE_XSK_H_
#define PENSTOCK_TEST_BENCH_BARE_XSK_H_

#include <linux/if_xdp.h>
#include <net/if.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "drivers/net/xsk/xdp_compat.h"

namespace penstock {

class BareXsk {
 public:
  struct Counts {
    uint64_t packets = 0, calls = 0, eagains = 0;
  };

  // Bursts are `most` packets at most, so many as one call sends at most.
  BareXsk(const char* interface, uint32_t most) {
    const int fd = fd_ = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (fd < 0) Fail("socket(AF_XDP)");
    RegisterMemory(2 * most);
    Set(SOL_XDP, XDP_UMEM_FILL_RING, kRing, "XDP_UMEM_FILL_RING");
    Set(SOL_XDP, XDP_UMEM_COMPLETION_RING, kRing, "XDP_UMEM_COMPLETION_RING");
    Set(SOL_XDP, XDP_TX_RING, kRing, "XDP_TX_RING");
    Set(SOL_SOCKET, SO_SNDBUFFORCE, kSendBufferBytes, "SO_SNDBUFFORCE");
    // A kernel before 6.17 has no such option, and its limit is then the limit.
    const uint32_t budget = std::max(std::bit_ceil(most), kLeastBudget);
    setsockopt(fd, SOL_XDP, XDP_MAX_TX_SKB_BUDGET, &budget, sizeof(budget));
    xdp_mmap_offsets offsets{};
    socklen_t length = sizeof(offsets);
    if (getsockopt(fd, SOL_XDP, XDP_MMAP_OFFSETS, &offsets, &length) != 0) Fail("XDP_MMAP_OFFSETS");
    tx_.Map(fd, XDP_PGOFF_TX_RING, offsets.tx);
    completion_.Map(fd, static_cast<off_t>(XDP_UMEM_PGOFF_COMPLETION_RING), offsets.cr);
    sockaddr_xdp address{};
    address.sxdp_family = AF_XDP;
    address.sxdp_flags = XDP_COPY;
    address.sxdp_ifindex = if_nametoindex(interface);
    if (bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) Fail("bind(AF_XDP)");
  }
  BareXsk(const BareXsk&) = delete;
  BareXsk& operator=(const BareXsk&) = delete;

  // Sends one burst to the end and takes back what is done.
  void Burst(uint32_t burst, Counts& counts) {
    const uint32_t n = std::min(burst, static_cast<uint32_t>(free_.size()));
    for (uint32_t i = 0; i < n; ++i) {
      tx_.entries[(sent_ + i) & (kRing - 1)] = {
          .addr = free_.back(), .len = kFrameBytes, .options = 0};
      free_.pop_back();
    }
    sent_ += n;
    // Release and acquire: partners of the kernel's acquire and release of the same indices.
    std::atomic_ref(*tx_.producer).store(sent_, std::memory_order_release);
    while (std::atomic_ref(*tx_.consumer).load(std::memory_order_acquire) != sent_) {
      ++counts.calls;
      if (sendto(fd_, nullptr, 0, MSG_DONTWAIT, nullptr, 0) == 0) continue;
      if (errno != EAGAIN && errno != EBUSY) Fail("sendto");
      counts.eagains += errno == EAGAIN;
      Reap();
    }
    Reap();
    counts.packets += n;
  }

 private:
  static constexpr uint32_t kRing = 1024;
  static constexpr uint32_t kLeastBudget = 32;
  static constexpr uint32_t kChunkBytes = 2048;
  static constexpr uint32_t kFrameBytes = 64;
  static constexpr int kSendBufferBytes = 4 << 20;

  template <typename Entry>
  struct Ring {
    uint32_t* producer = nullptr;
    uint32_t* consumer = nullptr;
    Entry* entries = nullptr;

    void Map(int fd, off_t page_offset, const xdp_ring_offset& at) {
      void* const memory = mmap(nullptr, at.desc + kRing * sizeof(Entry), PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_POPULATE, fd, page_offset);
      if (memory == MAP_FAILED) Fail("mmap of a ring");
      char* const base = static_cast<char*>(memory);
      producer = reinterpret_cast<uint32_t*>(base + at.producer);
      consumer = reinterpret_cast<uint32_t*>(base + at.consumer);
      entries = reinterpret_cast<Entry*>(base + at.desc);
    }
  };

  [[noreturn]] static void Fail(const char* what) {
    std::fprintf(stderr, "bare AF_XDP: %s: %s\n", what, std::strerror(errno));
    std::exit(1);
  }

  void Set(int level, int option, int value, const char* name) {
    if (setsockopt(fd_, level, option, &value, sizeof(value)) != 0) Fail(name);
  }

  void RegisterMemory(uint32_t chunks) {
    const size_t bytes = size_t{chunks} * kChunkBytes;
    void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED) Fail("mmap of the packets");
    // To nobody, from nobody, of a type for experiments.
    constexpr std::array<uint8_t, 14> kHeader = {0x02, 0, 0, 0, 0, 2,    0x02,
                                                 0,    0, 0, 0, 1, 0x88, 0xb5};
    for (uint32_t i = 0; i < chunks; ++i) {
      std::memcpy(static_cast<char*>(memory) + size_t{i} * kChunkBytes, kHeader.data(),
                  kHeader.size());
      free_.push_back(uint64_t{i} * kChunkBytes);
    }
    xdp_umem_reg registration{};
    registration.addr = reinterpret_cast<uint64_t>(memory);
    registration.len = bytes;
    registration.chunk_size = kChunkBytes;
    if (setsockopt(fd_, SOL_XDP, XDP_UMEM_REG, &registration, sizeof(registration)) != 0) {
      Fail("XDP_UMEM_REG");
    }
  }

  void Reap() {
    const uint32_t end = std::atomic_ref(*completion_.producer).load(std::memory_order_acquire);
    if (reaped_ == end) return;
    for (; reaped_ != end; ++reaped_) free_.push_back(completion_.entries[reaped_ & (kRing - 1)]);
    std::atomic_ref(*completion_.consumer).store(reaped_, std::memory_order_release);
  }

  int fd_ = -1;
  Ring<xdp_desc> tx_;
  Ring<uint64_t> completion_;
  uint32_t sent_ = 0;
  uint32_t reaped_ = 0;
  std::vector<uint64_t> free_;  // last in, first out
};

}  // namespace penstock

#endif  // PENSTOCK_TEST_BENCH_BARE_XSK_H_
