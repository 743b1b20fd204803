// SPDX-License-Identifier: BSD-3-Clause
//
// XDP programs, the promiscuous flag and the MTU of kernel interfaces: asked for, and undone.
// Control thread only. Everything here is about the network namespace of the calling thread.
// Attaching is the driver's affair.
//
// Needs CAP_NET_ADMIN to change, and CAP_BPF or CAP_SYS_ADMIN to name or detach a program.

#ifndef PENSTOCK_LIB_PORT_XDP_PROGRAM_H_
#define PENSTOCK_LIB_PORT_XDP_PROGRAM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace penstock {

// Where a program runs: in the driver, on the generic skb path, in the device. One interface can
// have one program in each.
enum class XdpMode { kDriver, kGeneric, kHardware };

absl::string_view XdpModeName(XdpMode mode);
absl::StatusOr<XdpMode> XdpModeFromName(absl::string_view name);

struct XdpProgram {
  uint32_t id = 0;  // unique until the next boot
  XdpMode mode = XdpMode::kDriver;
  std::string name;  // empty if we may not read it
};

// What is attached now; empty if nothing is. NotFound if there is no such interface.
absl::StatusOr<std::vector<XdpProgram>> AttachedXdpPrograms(uint32_t ifindex);

// Detaches the program if `id` is what is attached in `mode`, and sees that it is gone. The kernel
// compares and detaches in one step, so a program that takes its place meanwhile stays. True if it
// was detached, false if another or none is attached. A program that is held by a bpf_link cannot
// be detached this way (and needs not: it goes with its owner): an error.
absl::StatusOr<bool> DetachXdpProgram(uint32_t ifindex, uint32_t id, XdpMode mode);

// The name in this namespace. NotFound if there is no such interface.
absl::StatusOr<std::string> InterfaceName(uint32_t ifindex);

// IFF_PROMISC as an administrator or a driver sets it. What packet sockets ask for by membership is
// counted apart by the kernel and is neither shown nor touched.
absl::StatusOr<bool> IsPromiscuous(uint32_t ifindex);
absl::Status SetPromiscuous(uint32_t ifindex, bool on);

absl::StatusOr<uint16_t> InterfaceMtu(uint32_t ifindex);
absl::Status SetInterfaceMtu(uint32_t ifindex, uint16_t mtu);
// Whether it was set up (ip link set dev … up); nothing comes or goes otherwise.
absl::StatusOr<bool> IsInterfaceUp(uint32_t ifindex);

}  // namespace penstock

#endif  // PENSTOCK_LIB_PORT_XDP_PROGRAM_H_
