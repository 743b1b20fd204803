// SPDX-License-Identifier: BSD-3-Clause
//
// Counts the calls by which a process asks an AF_XDP socket to send, whichever driver makes them:
// to be preloaded. A call without data is such a call. Where EAGAINs are to be counted and not
// timed.
//
//   PENSTOCK_SEND_COUNTS=FILE LD_PRELOAD=libcount_sends.so dpdk-testpmd …
//
// FILE is a page of two 64-bit numbers, calls and EAGAINs, to be read at any time.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>

namespace {

struct SendCounts {
  std::atomic<uint64_t> calls;
  std::atomic<uint64_t> eagains;
};

SendCounts* Map() {
  const char* const path = std::getenv("PENSTOCK_SEND_COUNTS");
  const int fd = path != nullptr ? open(path, O_RDWR | O_CLOEXEC) : -1;
  if (fd < 0) return nullptr;
  void* const memory = mmap(nullptr, sizeof(SendCounts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  return memory != MAP_FAILED ? static_cast<SendCounts*>(memory) : nullptr;
}

SendCounts* const counts = Map();

ssize_t Send(int fd, const void* data, size_t bytes, int flags, const sockaddr* to,
             socklen_t to_bytes) {
  const auto result =
      static_cast<ssize_t>(syscall(SYS_sendto, fd, data, bytes, flags, to, to_bytes));
  if (counts != nullptr && bytes == 0) {
    counts->calls.fetch_add(1, std::memory_order_relaxed);
    if (result < 0 && errno == EAGAIN) counts->eagains.fetch_add(1, std::memory_order_relaxed);
  }
  return result;
}

}  // namespace

extern "C" {

// As the C library has them.
ssize_t send(int fd, const void* data, size_t bytes, int flags) {
  return Send(fd, data, bytes, flags, nullptr, 0);
}

ssize_t sendto(int fd, const void* data, size_t bytes, int flags, const sockaddr* to,
               socklen_t to_bytes) {
  return Send(fd, data, bytes, flags, to, to_bytes);
}

}  // extern "C"
