// SPDX-License-Identifier: BSD-3-Clause
//
// XdpProgramLink: the XDP program of a port, attached to its interface. Control thread.
//
// The attachment is a bpf_link, which the kernel removes with the last file descriptor: with this
// object, or with the process, SIGKILL included. Nothing is pinned.

#ifndef PENSTOCK_DRIVERS_NET_XSK_PROGRAM_H_
#define PENSTOCK_DRIVERS_NET_XSK_PROGRAM_H_

#include <rte_ether.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "drivers/net/xsk/devargs.h"

struct bpf_object;

namespace penstock {

class XdpProgramLink {
 public:
  struct Settings {
    std::string interface;
    uint32_t ifindex = 0;
    AttachMode mode = AttachMode::kAuto;
    const FilterRules* filter = nullptr;  // of the driver's own program
    std::string file;                     // a program of the user's; empty: the driver's own
    rte_ether_addr mac{};
    uint32_t queues = 0;  // those of the interface that may be given a socket: 0 … queues − 1
  };

  // Loads; nothing is attached yet, so that no frame is lost before the sockets are in the map. A
  // user's object needs one XDP program and an XSKMAP named xsks_map.
  static absl::StatusOr<std::unique_ptr<XdpProgramLink>> Load(const Settings& settings);
  ~XdpProgramLink();
  XdpProgramLink(const XdpProgramLink&) = delete;
  XdpProgramLink& operator=(const XdpProgramLink&) = delete;

  // Frames of RX queue `queue` go to this socket.
  absl::Status SetSocket(uint32_t queue, int fd);
  // In the mode asked for; with auto native, else on the generic path. The error names a program
  // that is in the way.
  absl::Status Attach();
  void Detach();
  bool native() const { return native_; }

  // The MAC address that the rule dst-mac means.
  absl::Status SetMac(const rte_ether_addr& mac);

 private:
  explicit XdpProgramLink(const Settings& settings) : settings_(settings) {}
  absl::Status Open();
  absl::Status PrepareMap(absl::string_view name);
  int TryAttach(uint32_t flags);

  Settings settings_;
  bpf_object* object_ = nullptr;
  int program_fd_ = -1;
  int map_fd_ = -1;
  int link_fd_ = -1;
  bool native_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_DRIVERS_NET_XSK_PROGRAM_H_
