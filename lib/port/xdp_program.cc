// SPDX-License-Identifier: BSD-3-Clause
//
// XDP programs and the promiscuous flag of kernel interfaces; see the header. Control thread.

#include "lib/port/xdp_program.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/status.h"

namespace penstock {
namespace {

struct ModeRow {
  XdpMode mode;
  absl::string_view name;
  uint32_t flag;  // how netlink wants to be told
};

constexpr ModeRow kModes[] = {
    {XdpMode::kDriver, "driver", XDP_FLAGS_DRV_MODE},
    {XdpMode::kGeneric, "generic", XDP_FLAGS_SKB_MODE},
    {XdpMode::kHardware, "hardware", XDP_FLAGS_HW_MODE},
};

const ModeRow& RowOf(XdpMode mode) {
  return *std::find_if(std::begin(kModes), std::end(kModes),
                       [mode](const ModeRow& row) { return row.mode == mode; });
}

std::string ProgramName(uint32_t id) {
  const int fd = bpf_prog_get_fd_by_id(id);
  if (fd < 0) return "";
  const absl::Cleanup close_fd = [fd] { close(fd); };
  bpf_prog_info info = {};
  uint32_t length = sizeof(info);
  if (bpf_obj_get_info_by_fd(fd, &info, &length) != 0) return "";
  return std::string(info.name, strnlen(info.name, sizeof(info.name)));
}

// One request about the flags of an interface, which the kernel wants by name.
absl::Status InterfaceRequest(unsigned long request, absl::string_view request_name,
                              ifreq& argument) {
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return ErrnoStatus(errno, "socket(AF_INET, SOCK_DGRAM)");
  const absl::Cleanup close_fd = [fd] { close(fd); };
  if (ioctl(fd, request, &argument) != 0) {
    return ErrnoStatus(errno, absl::StrCat("ioctl(", request_name, ", ", argument.ifr_name, ")"));
  }
  return absl::OkStatus();
}

absl::StatusOr<ifreq> ReadInterface(uint32_t ifindex, unsigned long what,
                                    absl::string_view what_name) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::string name, InterfaceName(ifindex));
  ifreq request = {};
  name.copy(request.ifr_name, IFNAMSIZ - 1);
  PENSTOCK_RETURN_IF_ERROR(InterfaceRequest(what, what_name, request));
  return request;
}

}  // namespace

absl::string_view XdpModeName(XdpMode mode) { return RowOf(mode).name; }

absl::StatusOr<XdpMode> XdpModeFromName(absl::string_view name) {
  for (const ModeRow& row : kModes) {
    if (row.name == name) return row.mode;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("XDP mode \"", name, "\"; accepted: driver, generic, hardware"));
}

absl::StatusOr<std::vector<XdpProgram>> AttachedXdpPrograms(uint32_t ifindex) {
  // The query below answers "none" for an interface that does not exist.
  PENSTOCK_RETURN_IF_ERROR(InterfaceName(ifindex).status());
  bpf_xdp_query_opts answer;
  std::memset(&answer, 0, sizeof(answer));  // libbpf insists on zero padding
  answer.sz = sizeof(answer);
  if (const int result = bpf_xdp_query(static_cast<int>(ifindex), 0, &answer); result != 0) {
    return ErrnoStatus(result, absl::StrCat("bpf_xdp_query(ifindex ", ifindex, ")"));
  }
  std::vector<XdpProgram> programs;
  const auto add = [&programs](uint32_t id, XdpMode mode) {
    if (id != 0) programs.push_back({.id = id, .mode = mode, .name = ProgramName(id)});
  };
  add(answer.drv_prog_id, XdpMode::kDriver);
  add(answer.skb_prog_id, XdpMode::kGeneric);
  add(answer.hw_prog_id, XdpMode::kHardware);
  return programs;
}

absl::StatusOr<bool> DetachXdpProgram(uint32_t ifindex, uint32_t id, XdpMode mode) {
  const auto attached = [&]() -> absl::StatusOr<bool> {
    PENSTOCK_ASSIGN_OR_RETURN(const std::vector<XdpProgram> programs, AttachedXdpPrograms(ifindex));
    return std::any_of(programs.begin(), programs.end(), [&](const XdpProgram& program) {
      return program.id == id && program.mode == mode;
    });
  };
  PENSTOCK_ASSIGN_OR_RETURN(const bool before, attached());
  if (!before) return false;

  const int fd = bpf_prog_get_fd_by_id(id);
  if (fd < 0) return ErrnoStatus(fd, absl::StrCat("bpf_prog_get_fd_by_id(", id, ")"));
  const absl::Cleanup close_fd = [fd] { close(fd); };
  // With the program that we expect, the kernel refuses (EEXIST) if another is attached by now. The
  // mode must be given: without, a program on the generic path stays and the call still succeeds.
  bpf_xdp_attach_opts expected;
  std::memset(&expected, 0, sizeof(expected));
  expected.sz = sizeof(expected);
  expected.old_prog_fd = fd;
  const int result = bpf_xdp_detach(static_cast<int>(ifindex), RowOf(mode).flag, &expected);
  if (result == -EEXIST) return false;
  const std::string call = absl::StrCat("bpf_xdp_detach(ifindex ", ifindex, ", program ", id, ", ",
                                        RowOf(mode).name, ")");
  if (result != 0) return ErrnoStatus(result, call);

  PENSTOCK_ASSIGN_OR_RETURN(const bool after, attached());
  if (after) {
    return absl::InternalError(absl::StrCat(call, ": succeeded, but the program is attached"));
  }
  return true;
}

absl::StatusOr<std::string> InterfaceName(uint32_t ifindex) {
  char name[IFNAMSIZ];
  if (if_indextoname(ifindex, name) == nullptr) {
    if (errno == ENXIO) {
      return absl::NotFoundError(absl::StrCat("no interface with index ", ifindex));
    }
    return ErrnoStatus(errno, absl::StrCat("if_indextoname(", ifindex, ")"));
  }
  return std::string(name);
}

absl::StatusOr<bool> IsPromiscuous(uint32_t ifindex) {
  PENSTOCK_ASSIGN_OR_RETURN(const ifreq request,
                            ReadInterface(ifindex, SIOCGIFFLAGS, "SIOCGIFFLAGS"));
  return (request.ifr_flags & IFF_PROMISC) != 0;
}

absl::StatusOr<bool> IsInterfaceUp(uint32_t ifindex) {
  PENSTOCK_ASSIGN_OR_RETURN(const ifreq request,
                            ReadInterface(ifindex, SIOCGIFFLAGS, "SIOCGIFFLAGS"));
  return (request.ifr_flags & IFF_UP) != 0;
}

absl::Status SetPromiscuous(uint32_t ifindex, bool on) {
  PENSTOCK_ASSIGN_OR_RETURN(ifreq request, ReadInterface(ifindex, SIOCGIFFLAGS, "SIOCGIFFLAGS"));
  const int flags = on ? request.ifr_flags | IFF_PROMISC : request.ifr_flags & ~IFF_PROMISC;
  request.ifr_flags = static_cast<short>(flags);
  return InterfaceRequest(SIOCSIFFLAGS, "SIOCSIFFLAGS", request);
}

absl::StatusOr<uint16_t> InterfaceMtu(uint32_t ifindex) {
  PENSTOCK_ASSIGN_OR_RETURN(const ifreq request, ReadInterface(ifindex, SIOCGIFMTU, "SIOCGIFMTU"));
  return static_cast<uint16_t>(std::clamp(request.ifr_mtu, 0, UINT16_MAX));
}

absl::Status SetInterfaceMtu(uint32_t ifindex, uint16_t mtu) {
  PENSTOCK_ASSIGN_OR_RETURN(ifreq request, ReadInterface(ifindex, SIOCGIFMTU, "SIOCGIFMTU"));
  request.ifr_mtu = mtu;
  return InterfaceRequest(SIOCSIFMTU, "SIOCSIFMTU", request);
}

}  // namespace penstock
