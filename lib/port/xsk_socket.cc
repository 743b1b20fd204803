// SPDX-License-Identifier: BSD-3-Clause
//
// AF_XDP sockets of this process and their rings; see the header. Control thread.

#include "lib/port/xsk_socket.h"

#include <dirent.h>
#include <linux/if_xdp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/status.h"

#ifndef XDP_MAX_TX_SKB_BUDGET
#define XDP_MAX_TX_SKB_BUDGET 9  // Linux 6.17, not yet in the distribution's header
#endif

namespace penstock {
namespace {

// In unaligned mode the upper bits of an address are the offset of the data in the chunk.
constexpr uint64_t kChunkMask = XSK_UNALIGNED_BUF_ADDR_MASK;

// A snapshot takes microseconds, a burst of the kernel as well; rings that are full or empty stand
// still, and with their user stopped they get there within a ring's worth of frames.
constexpr int kReadAttempts = 10000;

struct Mapping {
  const std::byte* start = nullptr;
  size_t bytes = 0;
};

// The shared mappings of one socket by page offset: XDP_PGOFF_* say which ring it is.
absl::StatusOr<std::map<uint64_t, Mapping>> MappingsOf(ino_t socket_inode) {
  std::ifstream maps("/proc/self/maps");
  if (!maps) return ErrnoStatus(errno, "open /proc/self/maps");
  const std::string name = absl::StrCat("socket:[", socket_inode, "]");
  std::map<uint64_t, Mapping> result;
  for (std::string line; std::getline(maps, line);) {
    uint64_t start = 0;
    uint64_t end = 0;
    uint64_t offset = 0;
    if (!line.ends_with(name) || std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64,
                                             &start, &end, &offset) != 3) {
      continue;
    }
    result[offset] = {reinterpret_cast<const std::byte*>(start), end - start};
  }
  return result;
}

uint32_t Load(const uint32_t* index) { return __atomic_load_n(index, __ATOMIC_ACQUIRE); }

}  // namespace

absl::StatusOr<std::vector<int>> XskSockets() {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir("/proc/self/fd"), closedir);
  if (directory == nullptr) return ErrnoStatus(errno, "opendir(/proc/self/fd)");
  std::vector<int> sockets;
  while (const dirent* entry = readdir(directory.get())) {
    int fd = -1;
    int domain = 0;
    socklen_t length = sizeof(domain);
    if (absl::SimpleAtoi(entry->d_name, &fd) &&
        getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) == 0 && domain == AF_XDP) {
      sockets.push_back(fd);
    }
  }
  std::sort(sockets.begin(), sockets.end());
  return sockets;
}

absl::StatusOr<uint64_t> XskRxRingFull(int fd) {
  xdp_statistics statistics = {};
  socklen_t size = sizeof(statistics);
  if (getsockopt(fd, SOL_XDP, XDP_STATISTICS, &statistics, &size) != 0) {
    return ErrnoStatus(errno, absl::StrCat("getsockopt(", fd, ", XDP_STATISTICS)"));
  }
  return statistics.rx_ring_full;
}

absl::Status SetXskTxBudget(int fd, uint32_t descriptors) {
  const auto value = static_cast<int>(descriptors);
  if (setsockopt(fd, SOL_XDP, XDP_MAX_TX_SKB_BUDGET, &value, sizeof(value)) == 0) {
    return absl::OkStatus();
  }
  const int error = errno;
  const std::string call = absl::StrCat("setsockopt(XDP_MAX_TX_SKB_BUDGET, ", descriptors, ")");
  if (error == ENOPROTOOPT) return absl::UnimplementedError(absl::StrCat(call, ": not there"));
  // EACCES, which says nothing about access here.
  if (error == EACCES) return absl::OutOfRangeError(absl::StrCat(call, ": 32 to the TX ring"));
  return ErrnoStatus(error, call);
}

void SetXskSendBuffer(int fd, uint32_t bytes) {
  // The kernel doubles it. Beyond wmem_max with CAP_NET_ADMIN only; less is slower, no fault.
  const auto value = static_cast<int>(std::min<uint32_t>(bytes, 1u << 30));
  if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &value, sizeof(value)) != 0) {
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &value, sizeof(value));
  }
}

bool IsXskZeroCopy(int fd) {
  xdp_options options = {};
  socklen_t size = sizeof(options);
  return getsockopt(fd, SOL_XDP, XDP_OPTIONS, &options, &size) == 0 &&
         (options.flags & XDP_OPTIONS_ZEROCOPY) != 0;
}

absl::StatusOr<XskRings> XskRings::OfSocket(int fd, uint32_t descriptors) {
  struct stat status;
  if (fstat(fd, &status) != 0) return ErrnoStatus(errno, absl::StrCat("fstat(", fd, ")"));
  xdp_mmap_offsets offsets;
  socklen_t length = sizeof(offsets);
  if (getsockopt(fd, SOL_XDP, XDP_MMAP_OFFSETS, &offsets, &length) != 0) {
    return ErrnoStatus(errno, absl::StrCat("getsockopt(", fd, ", XDP_MMAP_OFFSETS)"));
  }
  if (length != sizeof(offsets)) {
    return absl::FailedPreconditionError("getsockopt(XDP_MMAP_OFFSETS): a kernel before 5.4");
  }
  PENSTOCK_ASSIGN_OR_RETURN(const auto mappings, MappingsOf(status.st_ino));

  // `size` 0 stands for "as large as the mapping has room for", which tells sizes from one another
  // once a ring is larger than a page.
  const auto find = [&](absl::string_view name, uint64_t page_offset, const xdp_ring_offset& offset,
                        size_t entry_bytes, uint32_t size) -> absl::StatusOr<Ring> {
    const auto found = mappings.find(page_offset);
    if (found == mappings.end()) {
      return absl::NotFoundError(absl::StrCat("AF_XDP socket ", fd, ": its ", name,
                                              " ring is not mapped by this process"));
    }
    const auto& [start, bytes] = found->second;
    const size_t page = static_cast<size_t>(getpagesize());
    const auto mapped = [&](size_t entries) {
      return (offset.desc + entries * entry_bytes + page - 1) / page * page;
    };
    const uint32_t guess =
        size != 0 ? size
                  : static_cast<uint32_t>(std::bit_floor((bytes - offset.desc) / entry_bytes));
    if (mapped(guess) != bytes || (size == 0 && mapped(guess / 2) == bytes)) {
      return absl::FailedPreconditionError(
          absl::StrCat("AF_XDP socket ", fd, ": its ", name, " ring is mapped with ", bytes,
                       " bytes, which does not say or does not fit its size (", guess, "?)"));
    }
    return Ring{.producer = reinterpret_cast<const uint32_t*>(start + offset.producer),
                .consumer = reinterpret_cast<const uint32_t*>(start + offset.consumer),
                .entries = start + offset.desc,
                .entry_bytes = entry_bytes,
                .size = guess};
  };

  XskRings rings;
  PENSTOCK_ASSIGN_OR_RETURN(
      rings.fill_, find("FILL", XDP_UMEM_PGOFF_FILL_RING, offsets.fr, sizeof(uint64_t), 0));
  PENSTOCK_ASSIGN_OR_RETURN(
      rings.rx_, find("RX", XDP_PGOFF_RX_RING, offsets.rx, sizeof(xdp_desc), descriptors));
  PENSTOCK_ASSIGN_OR_RETURN(
      rings.tx_, find("TX", XDP_PGOFF_TX_RING, offsets.tx, sizeof(xdp_desc), descriptors));
  PENSTOCK_ASSIGN_OR_RETURN(rings.completion_, find("COMPLETION", XDP_UMEM_PGOFF_COMPLETION_RING,
                                                    offsets.cr, sizeof(uint64_t), 0));
  return rings;
}

RingImage XskRings::Ring::Copy() const {
  RingImage image{.producer = Load(producer), .consumer = Load(consumer), .chunks = {}};
  image.chunks.reserve(size);
  for (uint32_t i = 0; i < size; ++i) {
    uint64_t address;  // first, or only, member of an entry
    std::memcpy(&address, entries + i * entry_bytes, sizeof(address));
    image.chunks.push_back(address & kChunkMask);
  }
  return image;
}

bool XskRings::Ring::Moved(const RingImage& image) const {
  return Load(producer) != image.producer || Load(consumer) != image.consumer;
}

absl::StatusOr<SocketImage> XskRings::Read() const {
  for (int attempt = 0; attempt < kReadAttempts; ++attempt) {
    SocketImage image{
        .fill = fill_.Copy(), .rx = rx_.Copy(), .tx = tx_.Copy(), .completion = completion_.Copy()};
    // The copies must be made before the indices are looked at again.
    std::atomic_thread_fence(std::memory_order_acquire);
    if (!fill_.Moved(image.fill) && !rx_.Moved(image.rx) && !tx_.Moved(image.tx) &&
        !completion_.Moved(image.completion)) {
      return image;
    }
  }
  return absl::UnavailableError(
      "AF_XDP rings keep moving: they can be read only while no lcore uses the queue");
}

}  // namespace penstock
