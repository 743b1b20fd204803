// SPDX-License-Identifier: BSD-3-Clause
//
// ioctls on a kernel interface; see the header. Control thread.

#include "drivers/net/xsk/netdev.h"

#include <linux/ethtool.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <net/if_arp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "drivers/net/xsk/capability.h"

namespace penstock {

// ioctls go by name. A name may change while the port runs, and then be another interface's.
ifreq Netdev::Request() const {
  ifreq request{};
  request.ifr_ifindex = static_cast<int>(ifindex_);
  // None is left where the interface is gone, and every ioctl then says so.
  if (ioctl(fd_, SIOCGIFNAME, &request) != 0) request = {};
  return request;
}

bool Netdev::Exists() const { return Request().ifr_name[0] != 0; }

absl::StatusOr<Netdev> Netdev::Open(const std::string& name) {
  const unsigned ifindex = if_nametoindex(name.c_str());
  if (ifindex == 0) {
    return absl::NotFoundError(absl::StrCat("there is no interface '", name,
                                            "' in this network namespace; 'ip link' shows them"));
  }
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return PrivilegedCallStatus(errno, "socket(AF_INET)");
  return Netdev(name, ifindex, fd);
}

Netdev::Netdev(Netdev&& other) noexcept
    : name_(std::move(other.name_)),
      ifindex_(other.ifindex_),
      fd_(std::exchange(other.fd_, -1)),
      packet_fd_(std::exchange(other.packet_fd_, -1)),
      promiscuous_(other.promiscuous_),
      all_multicast_(other.all_multicast_) {}

Netdev::~Netdev() {
  if (fd_ >= 0) close(fd_);
  if (packet_fd_ >= 0) close(packet_fd_);
}

NetdevChannels Netdev::Channels() const {
  ethtool_channels channels{};
  channels.cmd = ETHTOOL_GCHANNELS;
  ifreq request = Request();
  request.ifr_data = reinterpret_cast<char*>(&channels);
  if (ioctl(fd_, SIOCETHTOOL, &request) != 0) return {};
  return {.rx = std::max(1u, channels.combined_count + channels.rx_count),
          .tx = std::max(1u, channels.combined_count + channels.tx_count)};
}

NetdevLink Netdev::Link() const {
  NetdevLink link;
  ifreq request = Request();
  if (ioctl(fd_, SIOCGIFFLAGS, &request) == 0) {
    link.up = (request.ifr_flags & IFF_UP) != 0 && (request.ifr_flags & IFF_RUNNING) != 0;
  }
  ethtool_cmd settings{};
  settings.cmd = ETHTOOL_GSET;
  request = Request();
  request.ifr_data = reinterpret_cast<char*>(&settings);
  if (ioctl(fd_, SIOCETHTOOL, &request) == 0) {
    const uint32_t speed = ethtool_cmd_speed(&settings);
    if (speed != static_cast<uint32_t>(SPEED_UNKNOWN)) link.speed_mbps = speed;
    link.full_duplex = settings.duplex != DUPLEX_HALF;
  }
  return link;
}

absl::Status Netdev::SetUp(bool up) const {
  ifreq request = Request();
  if (ioctl(fd_, SIOCGIFFLAGS, &request) != 0) {
    return PrivilegedCallStatus(errno, absl::StrCat("ioctl(SIOCGIFFLAGS, ", name_, ")"));
  }
  const int flags = up ? request.ifr_flags | IFF_UP : request.ifr_flags & ~IFF_UP;
  request.ifr_flags = static_cast<int16_t>(flags);
  if (ioctl(fd_, SIOCSIFFLAGS, &request) == 0) return absl::OkStatus();
  return PrivilegedCallStatus(errno, absl::StrCat("ioctl(SIOCSIFFLAGS, ", name_, ")"));
}

absl::StatusOr<uint32_t> Netdev::Mtu() const {
  ifreq request = Request();
  if (ioctl(fd_, SIOCGIFMTU, &request) == 0) return static_cast<uint32_t>(request.ifr_mtu);
  return PrivilegedCallStatus(errno, absl::StrCat("ioctl(SIOCGIFMTU, ", name_, ")"));
}

absl::Status Netdev::SetMtu(uint32_t mtu) const {
  ifreq request = Request();
  request.ifr_mtu = static_cast<int>(mtu);
  if (ioctl(fd_, SIOCSIFMTU, &request) == 0) return absl::OkStatus();
  return PrivilegedCallStatus(errno, absl::StrCat("ioctl(SIOCSIFMTU, ", name_, ", ", mtu, ")"));
}

absl::StatusOr<rte_ether_addr> Netdev::Mac() const {
  ifreq request = Request();
  if (ioctl(fd_, SIOCGIFHWADDR, &request) != 0) {
    return PrivilegedCallStatus(errno, absl::StrCat("ioctl(SIOCGIFHWADDR, ", name_, ")"));
  }
  rte_ether_addr mac;
  std::memcpy(mac.addr_bytes, request.ifr_hwaddr.sa_data, sizeof(mac.addr_bytes));
  return mac;
}

absl::Status Netdev::SetMac(const rte_ether_addr& mac) const {
  ifreq request = Request();
  request.ifr_hwaddr.sa_family = ARPHRD_ETHER;
  std::memcpy(request.ifr_hwaddr.sa_data, mac.addr_bytes, sizeof(mac.addr_bytes));
  if (ioctl(fd_, SIOCSIFHWADDR, &request) == 0) return absl::OkStatus();
  return PrivilegedCallStatus(errno, absl::StrCat("ioctl(SIOCSIFHWADDR, ", name_, ")"));
}

absl::Status Netdev::SetMembership(int type, const char* what, bool on, bool& state) {
  if (state == on) return absl::OkStatus();
  if (packet_fd_ < 0) {
    // Protocol 0: it receives nothing.
    packet_fd_ = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (packet_fd_ < 0) return PrivilegedCallStatus(errno, "socket(AF_PACKET)");
  }
  packet_mreq membership{};
  membership.mr_ifindex = static_cast<int>(ifindex_);
  membership.mr_type = static_cast<uint16_t>(type);
  if (setsockopt(packet_fd_, SOL_PACKET, on ? PACKET_ADD_MEMBERSHIP : PACKET_DROP_MEMBERSHIP,
                 &membership, sizeof(membership)) != 0) {
    return PrivilegedCallStatus(errno, absl::StrCat("setsockopt(", what, ", ", name_, ")"));
  }
  state = on;
  return absl::OkStatus();
}

absl::Status Netdev::SetPromiscuous(bool on) {
  return SetMembership(PACKET_MR_PROMISC, "PACKET_MR_PROMISC", on, promiscuous_);
}

absl::Status Netdev::SetAllMulticast(bool on) {
  return SetMembership(PACKET_MR_ALLMULTI, "PACKET_MR_ALLMULTI", on, all_multicast_);
}

}  // namespace penstock
