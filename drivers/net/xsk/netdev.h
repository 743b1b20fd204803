// SPDX-License-Identifier: BSD-3-Clause
//
// Netdev: a kernel interface, asked and set through ioctls, in the network namespace of the thread
// that made it. Control thread.
//
// Promiscuous and all-multicast mode are memberships of a packet socket: the kernel counts them,
// shows no flag, and drops them with the process, SIGKILL included.

#ifndef PENSTOCK_DRIVERS_NET_XSK_NETDEV_H_
#define PENSTOCK_DRIVERS_NET_XSK_NETDEV_H_

#include <net/if.h>
#include <rte_ether.h>

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace penstock {

struct NetdevChannels {
  uint32_t rx = 1;
  uint32_t tx = 1;
};

struct NetdevLink {
  bool up = false;
  uint32_t speed_mbps = 0;  // 0: not known
  bool full_duplex = true;
};

class Netdev {
 public:
  // NotFound if there is no such interface.
  static absl::StatusOr<Netdev> Open(const std::string& name);
  Netdev(Netdev&& other) noexcept;
  Netdev& operator=(Netdev&&) = delete;
  ~Netdev();

  // As it was when it was opened: for messages.
  const std::string& name() const { return name_; }
  bool Exists() const;
  uint32_t ifindex() const { return ifindex_; }

  // The queues that are in use now (ethtool's channels); one each where the driver does not say.
  NetdevChannels Channels() const;
  NetdevLink Link() const;
  // Administratively up or down, as `ip link set` does.
  absl::Status SetUp(bool up) const;
  absl::StatusOr<uint32_t> Mtu() const;
  absl::Status SetMtu(uint32_t mtu) const;
  absl::StatusOr<rte_ether_addr> Mac() const;
  absl::Status SetMac(const rte_ether_addr& mac) const;

  // Idempotent.
  absl::Status SetPromiscuous(bool on);
  absl::Status SetAllMulticast(bool on);

 private:
  Netdev(std::string name, uint32_t ifindex, int fd)
      : name_(std::move(name)), ifindex_(ifindex), fd_(fd) {}
  ifreq Request() const;
  absl::Status SetMembership(int type, const char* what, bool on, bool& state);

  std::string name_;
  uint32_t ifindex_;
  int fd_;              // for ioctls
  int packet_fd_ = -1;  // holds the memberships
  bool promiscuous_ = false;
  bool all_multicast_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_DRIVERS_NET_XSK_NETDEV_H_
