// SPDX-License-Identifier: BSD-3-Clause
//
// Opens, maps and closes AF_XDP sockets; see the header. Control thread.

#include "drivers/net/xsk/socket.h"

#include <linux/if_xdp.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "drivers/net/xsk/capability.h"
#include "lib/base/status.h"

namespace penstock {
namespace {

constexpr absl::Duration kReleasePatience = absl::Seconds(1);
constexpr absl::Duration kReleasePause = absl::Milliseconds(1);

absl::Status SetSize(int fd, int option, const char* name, uint32_t size) {
  const int value = static_cast<int>(size);
  if (setsockopt(fd, SOL_XDP, option, &value, sizeof(value)) == 0) return absl::OkStatus();
  return PrivilegedCallStatus(errno, absl::StrCat("setsockopt(", name, ", ", size, " entries)"));
}

absl::StatusOr<int> MakeSocket() {
  const int fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
  if (fd >= 0) return fd;
  return PrivilegedCallStatus(errno, "socket(AF_XDP)");
}

// An unprivileged process would be held to RLIMIT_MEMLOCK; with CAP_IPC_LOCK the kernel does not
// ask.
absl::Status RegisterUmem(int fd, const QueueSockets::Settings& settings) {
  xdp_umem_reg registration{};
  registration.addr = reinterpret_cast<uint64_t>(settings.umem);
  registration.len = settings.umem_bytes;
  registration.chunk_size = settings.chunk_bytes;
  registration.headroom = settings.headroom_bytes;
  registration.flags = XDP_UMEM_UNALIGNED_CHUNK_FLAG;
  if (setsockopt(fd, SOL_XDP, XDP_UMEM_REG, &registration, sizeof(registration)) == 0) {
    return absl::OkStatus();
  }
  return PrivilegedCallStatus(errno, absl::StrCat("setsockopt(XDP_UMEM_REG, ", settings.umem_bytes,
                                                  " bytes, chunks of ", settings.chunk_bytes, ")"));
}

absl::Status SetOption(int fd, int option, const char* name, int value) {
  if (setsockopt(fd, SOL_SOCKET, option, &value, sizeof(value)) == 0) return absl::OkStatus();
  return PrivilegedCallStatus(errno, absl::StrCat("setsockopt(", name, ", ", value, ")"));
}

absl::Status SetBusyPoll(int fd, uint32_t budget) {
  constexpr int kPollMicroseconds = 20;
  PENSTOCK_RETURN_IF_ERROR(SetOption(fd, SO_PREFER_BUSY_POLL, "SO_PREFER_BUSY_POLL", 1));
  PENSTOCK_RETURN_IF_ERROR(SetOption(fd, SO_BUSY_POLL, "SO_BUSY_POLL", kPollMicroseconds));
  return SetOption(fd, SO_BUSY_POLL_BUDGET, "SO_BUSY_POLL_BUDGET", static_cast<int>(budget));
}

// What is in flight is charged to the socket: too little stalls sending with EAGAIN, for which the
// kernel's default is too small. SO_SNDBUFFORCE goes beyond wmem_max, with CAP_NET_ADMIN.
void SetSendBuffer(int fd, uint32_t bytes) {
  const int value = static_cast<int>(bytes);
  if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &value, sizeof(value)) != 0) {
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &value, sizeof(value));
  }
}

}  // namespace

void XdpStatistics::Add(const XdpStatistics& other) {
  rx_dropped += other.rx_dropped;
  rx_invalid_descs += other.rx_invalid_descs;
  tx_invalid_descs += other.tx_invalid_descs;
  rx_ring_full += other.rx_ring_full;
  rx_fill_ring_empty_descs += other.rx_fill_ring_empty_descs;
  tx_ring_empty_descs += other.tx_ring_empty_descs;
}

absl::StatusOr<std::unique_ptr<QueueSockets>> QueueSockets::Open(const Settings& settings) {
  const absl::Time deadline = absl::Now() + kReleasePatience;
  for (;;) {
    std::unique_ptr<QueueSockets> sockets(new QueueSockets);
    sockets->zero_copy_ = settings.zero_copy;
    absl::Status status = sockets->OpenOwner(settings);
    if (status.ok() && settings.rx_size != 0 && settings.tx_size != 0) {
      status = sockets->OpenSharer(settings);
    }
    if (status.ok()) return sockets;
    // The kernel lets go of a queue after close() has returned: its last user may still be there.
    if (!sockets->busy_ || absl::Now() > deadline) return status;
    sockets.reset();
    absl::SleepFor(kReleasePause);
  }
}

absl::Status QueueSockets::OpenOwner(const Settings& settings) {
  PENSTOCK_ASSIGN_OR_RETURN(owner_fd_, MakeSocket());
  const bool rx = settings.rx_size != 0;
  const bool tx = !rx;
  (rx ? rx_fd_ : tx_fd_) = owner_fd_;
  PENSTOCK_RETURN_IF_ERROR(RegisterUmem(owner_fd_, settings));
  PENSTOCK_RETURN_IF_ERROR(MapRings(owner_fd_, settings, /*owner=*/true, rx, tx));
  if (settings.busy_budget != 0) {
    PENSTOCK_RETURN_IF_ERROR(SetBusyPoll(owner_fd_, settings.busy_budget));
  }
  if (tx) SetSendBuffer(owner_fd_, settings.sndbuf_bytes);
  sockaddr_xdp address{};
  address.sxdp_family = AF_XDP;
  address.sxdp_ifindex = settings.ifindex;
  address.sxdp_queue_id = settings.queue;
  // The mode is said explicitly: a bind that may choose succeeds where the first send then fails.
  address.sxdp_flags =
      static_cast<uint16_t>((settings.zero_copy ? XDP_ZEROCOPY : XDP_COPY) | XDP_USE_NEED_WAKEUP |
                            (settings.segments ? XDP_USE_SG : 0));
  if (bind(owner_fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) {
    return absl::OkStatus();
  }
  busy_ = errno == EBUSY;
  return PrivilegedCallStatus(
      errno, absl::StrCat("bind(AF_XDP, ", settings.interface, ", queue ", settings.queue, ", ",
                          settings.zero_copy ? "zero-copy" : "copy", ")"));
}

absl::Status QueueSockets::OpenSharer(const Settings& settings) {
  PENSTOCK_ASSIGN_OR_RETURN(sharer_fd_, MakeSocket());
  tx_fd_ = sharer_fd_;
  PENSTOCK_RETURN_IF_ERROR(MapRings(sharer_fd_, settings, /*owner=*/false, /*rx=*/false,
                                    /*tx=*/true));
  SetSendBuffer(sharer_fd_, settings.sndbuf_bytes);
  sockaddr_xdp address{};
  address.sxdp_family = AF_XDP;
  address.sxdp_ifindex = settings.ifindex;
  address.sxdp_queue_id = settings.queue;
  address.sxdp_flags = XDP_SHARED_UMEM;
  address.sxdp_shared_umem_fd = static_cast<uint32_t>(owner_fd_);
  if (bind(sharer_fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) {
    return absl::OkStatus();
  }
  return PrivilegedCallStatus(errno, absl::StrCat("bind(AF_XDP, ", settings.interface, ", queue ",
                                                  settings.queue, ", shared UMEM)"));
}

absl::Status QueueSockets::MapRings(int fd, const Settings& settings, bool owner, bool rx,
                                    bool tx) {
  if (owner) {
    PENSTOCK_RETURN_IF_ERROR(
        SetSize(fd, XDP_UMEM_FILL_RING, "XDP_UMEM_FILL_RING", settings.fill_size));
    PENSTOCK_RETURN_IF_ERROR(SetSize(fd, XDP_UMEM_COMPLETION_RING, "XDP_UMEM_COMPLETION_RING",
                                     settings.completion_size));
  }
  if (rx) PENSTOCK_RETURN_IF_ERROR(SetSize(fd, XDP_RX_RING, "XDP_RX_RING", settings.rx_size));
  if (tx) PENSTOCK_RETURN_IF_ERROR(SetSize(fd, XDP_TX_RING, "XDP_TX_RING", settings.tx_size));
  xdp_mmap_offsets offsets{};
  socklen_t length = sizeof(offsets);
  if (getsockopt(fd, SOL_XDP, XDP_MMAP_OFFSETS, &offsets, &length) != 0) {
    return ErrnoStatus(errno, "getsockopt(XDP_MMAP_OFFSETS)");
  }
  if (length != sizeof(offsets)) {
    return absl::UnimplementedError("AF_XDP without need_wakeup: a kernel before 5.4");
  }
  if (owner) {
    PENSTOCK_RETURN_IF_ERROR(
        Map(fd, XDP_UMEM_PGOFF_FILL_RING, settings.fill_size, &offsets.fr, fill_));
    PENSTOCK_RETURN_IF_ERROR(Map(fd, XDP_UMEM_PGOFF_COMPLETION_RING, settings.completion_size,
                                 &offsets.cr, completion_));
  }
  if (rx) PENSTOCK_RETURN_IF_ERROR(Map(fd, XDP_PGOFF_RX_RING, settings.rx_size, &offsets.rx, rx_));
  if (tx) PENSTOCK_RETURN_IF_ERROR(Map(fd, XDP_PGOFF_TX_RING, settings.tx_size, &offsets.tx, tx_));
  return absl::OkStatus();
}

template <typename Entry>
absl::Status QueueSockets::Map(int fd, uint64_t page_offset, uint32_t size, const void* offsets,
                               RingMemory<Entry>& ring) {
  xdp_ring_offset offset;
  std::memcpy(&offset, offsets, sizeof(offset));
  const size_t bytes = offset.desc + size * sizeof(Entry);
  void* const address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd,
                             static_cast<off_t>(page_offset));
  if (address == MAP_FAILED) {
    return ErrnoStatus(errno, absl::StrCat("mmap(AF_XDP ring, ", bytes, " bytes)"));
  }
  mappings_.push_back({address, bytes});
  char* const base = static_cast<char*>(address);
  ring = {.producer = reinterpret_cast<uint32_t*>(base + offset.producer),
          .consumer = reinterpret_cast<uint32_t*>(base + offset.consumer),
          .entries = reinterpret_cast<Entry*>(base + offset.desc),
          .size = size,
          .flags = reinterpret_cast<const uint32_t*>(base + offset.flags)};
  return absl::OkStatus();
}

QueueSockets::~QueueSockets() {
  // A ring that is still mapped keeps its socket, and so the queue, alive.
  for (const Mapping& mapping : mappings_) munmap(mapping.address, mapping.bytes);
  if (sharer_fd_ >= 0) close(sharer_fd_);
  if (owner_fd_ >= 0) close(owner_fd_);
}

bool QueueSockets::SetBudget(uint32_t descriptors) const noexcept {
  const uint32_t value = descriptors;
  return tx_fd_ >= 0 &&
         setsockopt(tx_fd_, SOL_XDP, XDP_MAX_TX_SKB_BUDGET, &value, sizeof(value)) == 0;
}

XdpStatistics QueueSockets::Statistics() const {
  XdpStatistics sum;
  for (int fd : {owner_fd_, sharer_fd_}) {
    xdp_statistics counts{};
    socklen_t length = sizeof(counts);
    if (fd < 0 || getsockopt(fd, SOL_XDP, XDP_STATISTICS, &counts, &length) != 0) continue;
    XdpStatistics one = {.rx_dropped = counts.rx_dropped,
                         .rx_invalid_descs = counts.rx_invalid_descs,
                         .tx_invalid_descs = counts.tx_invalid_descs,
                         .rx_ring_full = counts.rx_ring_full,
                         .rx_fill_ring_empty_descs = counts.rx_fill_ring_empty_descs,
                         .tx_ring_empty_descs = counts.tx_ring_empty_descs};
    // Those of FILL are the pool's, and both sockets show them.
    if (fd == sharer_fd_) one.rx_fill_ring_empty_descs = one.rx_invalid_descs = 0;
    sum.Add(one);
  }
  return sum;
}

bool KernelHasSegments() {
  utsname name;
  unsigned major = 0;
  unsigned minor = 0;
  if (uname(&name) != 0 || std::sscanf(name.release, "%u.%u", &major, &minor) != 2) return false;
  return major > 6 || (major == 6 && minor >= 6);
}

bool WaitUntilReleased(uint32_t ifindex, uint32_t queue) {
  // Binding is the one way to ask. With memory of its own, of one page.
  const auto bytes = static_cast<size_t>(getpagesize());
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  const absl::StatusOr<std::unique_ptr<QueueSockets>> probe =
      QueueSockets::Open({.interface = "released?",
                          .ifindex = ifindex,
                          .queue = queue,
                          .umem = static_cast<char*>(memory),
                          .umem_bytes = bytes,
                          .chunk_bytes = kMinChunkBytes,
                          .fill_size = 64,
                          .completion_size = 64,
                          .rx_size = 64});
  munmap(memory, bytes);  // The kernel holds the page for as long as it needs it.
  return probe.ok();
}

}  // namespace penstock
