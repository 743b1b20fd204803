// SPDX-License-Identifier: BSD-3-Clause
//
// Loads and attaches the XDP program; see the header. Control thread.

#include "drivers/net/xsk/program.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <linux/if_link.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "drivers/net/xsk/capability.h"
#include "drivers/net/xsk/log.h"
#include "drivers/net/xsk/steer_object.h"
#include "lib/base/status.h"

#ifndef BPF_F_XDP_HAS_FRAGS
#define BPF_F_XDP_HAS_FRAGS (1U << 5)  // 5.18
#endif

namespace penstock {
namespace {

constexpr char kMapName[] = "xsks_map";

// libbpf's own lines explain why a program was refused. They go where DPDK's do.
int LogLibbpf(libbpf_print_level level, const char* format, va_list arguments) {
  if (level == LIBBPF_DEBUG) return 0;
  return rte_vlog(RTE_LOG_DEBUG, static_cast<uint32_t>(xsk_log_type), format, arguments);
}

// Sets the printer for the time of a call: an application with libbpf of its own keeps its printer.
class LibbpfLog {
 public:
  LibbpfLog() : before_(libbpf_set_print(LogLibbpf)) {}
  ~LibbpfLog() { libbpf_set_print(before_); }

 private:
  libbpf_print_fn_t before_;
};

// A global variable's map is named after the section, with as much of the object's name as fits.
bpf_map* MapOfSection(bpf_object* object, absl::string_view section) {
  bpf_map* map = nullptr;
  bpf_object__for_each_map(map, object) {
    if (bpf_map__is_internal(map) && absl::EndsWith(bpf_map__name(map), section)) return map;
  }
  return nullptr;
}

}  // namespace

absl::StatusOr<std::unique_ptr<XdpProgramLink>> XdpProgramLink::Load(const Settings& settings) {
  std::unique_ptr<XdpProgramLink> program(new XdpProgramLink(settings));
  const LibbpfLog log;
  PENSTOCK_RETURN_IF_ERROR(program->Open());
  return program;
}

// The map has to be one that sockets go into, and have room for the last queue.
absl::Status XdpProgramLink::PrepareMap(absl::string_view name) {
  bpf_map* const map = bpf_object__find_map_by_name(object_, kMapName);
  if (map == nullptr || bpf_map__type(map) != BPF_MAP_TYPE_XSKMAP) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " has no map named ", kMapName, " of type BPF_MAP_TYPE_XSKMAP"));
  }
  if (bpf_map__max_entries(map) >= settings_.queues) return absl::OkStatus();
  const int error = bpf_map__set_max_entries(map, settings_.queues);
  if (error == 0) return absl::OkStatus();
  return ErrnoStatus(error, absl::StrCat("bpf_map__set_max_entries(", kMapName, ")"));
}

absl::Status XdpProgramLink::Open() {
  const bool own = settings_.file.empty();
  const std::string name = own ? "the driver's XDP program" : settings_.file;
  // Frames of several buffers need a program that says it can see them; before 5.18 none could.
  int error = 0;
  for (const uint32_t flags : {uint32_t{BPF_F_XDP_HAS_FRAGS}, uint32_t{0}}) {
    object_ = own ? bpf_object__open_mem(kSteerObject, sizeof(kSteerObject), nullptr)
                  : bpf_object__open_file(settings_.file.c_str(), nullptr);
    if (object_ == nullptr) return ErrnoStatus(errno, absl::StrCat("bpf_object__open(", name, ")"));
    bpf_program* const program = bpf_object__next_program(object_, nullptr);
    if (program == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(name, " contains no program"));
    }
    if (bpf_object__next_program(object_, program) != nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " contains several programs, and it is not said which; keep one"));
    }
    bpf_program__set_type(program, BPF_PROG_TYPE_XDP);
    PENSTOCK_RETURN_IF_ERROR(PrepareMap(name));
    if (own) {
      bpf_map* const rules = MapOfSection(object_, ".rodata");
      const xsk_filter_config& config = settings_.filter->config;
      if (rules == nullptr || bpf_map__set_initial_value(rules, &config, sizeof(config)) != 0) {
        return absl::InternalError("the driver's XDP program does not take the filter's rules");
      }
    }
    // A user's object says in its section name whether it can; it is asked for as it is.
    if (own) bpf_program__set_flags(program, flags);
    error = bpf_object__load(object_);
    if (error == 0) {
      program_fd_ = bpf_program__fd(program);
      break;
    }
    bpf_object__close(object_);
    object_ = nullptr;
    if (error == -EPERM) break;
  }
  if (object_ == nullptr) {
    return PrivilegedCallStatus(error, absl::StrCat("bpf_object__load(", name, ")"));
  }
  map_fd_ = bpf_object__find_map_fd_by_name(object_, kMapName);
  return own ? SetMac(settings_.mac) : absl::OkStatus();
}

absl::Status XdpProgramLink::SetSocket(uint32_t queue, int fd) {
  if (bpf_map_update_elem(map_fd_, &queue, &fd, BPF_ANY) == 0) return absl::OkStatus();
  return ErrnoStatus(errno, absl::StrCat("bpf_map_update_elem(xsks_map, queue ", queue, ")"));
}

int XdpProgramLink::TryAttach(uint32_t flags) {
  bpf_link_create_opts options{};
  options.sz = sizeof(options);
  options.flags = flags;
  link_fd_ = bpf_link_create(program_fd_, static_cast<int>(settings_.ifindex), BPF_XDP, &options);
  if (link_fd_ >= 0) return 0;
  link_fd_ = -1;
  return errno;
}

absl::Status XdpProgramLink::Attach() {
  int error = EOPNOTSUPP;
  if (settings_.mode != AttachMode::kSkb) {
    native_ = true;
    error = TryAttach(XDP_FLAGS_DRV_MODE);
  }
  const bool other = error == EBUSY || error == EEXIST;
  if (error != 0 && !other && settings_.mode != AttachMode::kNative) {
    if (settings_.mode == AttachMode::kAuto) {
      XskLog(RTE_LOG_NOTICE, settings_.interface, ": no native XDP (", strerror(error),
             "), attaching on the generic path");
    }
    native_ = false;
    error = TryAttach(XDP_FLAGS_SKB_MODE);
  }
  if (error == 0) return absl::OkStatus();
  std::string hint;
  uint32_t id = 0;
  if (bpf_xdp_query_id(static_cast<int>(settings_.ifindex), 0, &id) == 0 && id != 0) {
    hint = absl::StrCat("; interface ", settings_.interface, " carries XDP program ", id,
                        " of someone else: end its owner, or remove it with 'ip link set dev ",
                        settings_.interface, " xdp off' if it is not needed");
  } else if (error == ERANGE || error == EINVAL || error == EOPNOTSUPP) {
    hint =
        "; the interface may have no XDP of this mode, or its MTU be too large for it: "
        "xdp_mode=skb works everywhere";
  }
  return PrivilegedCallStatus(error, absl::StrCat("bpf_link_create(", settings_.interface, ", ",
                                                  native_ ? "native" : "skb", ")", hint));
}

void XdpProgramLink::Detach() {
  if (link_fd_ >= 0) close(link_fd_);
  link_fd_ = -1;
}

absl::Status XdpProgramLink::SetMac(const rte_ether_addr& mac) {
  if (!settings_.file.empty()) return absl::OkStatus();
  bpf_map* const variables = MapOfSection(object_, ".bss");
  uint8_t value[8] = {};
  std::memcpy(value, mac.addr_bytes, sizeof(mac.addr_bytes));
  const uint32_t zero = 0;
  if (variables == nullptr ||
      bpf_map_update_elem(bpf_map__fd(variables), &zero, value, BPF_ANY) != 0) {
    return ErrnoStatus(errno, "bpf_map_update_elem(MAC address of the filter)");
  }
  return absl::OkStatus();
}

XdpProgramLink::~XdpProgramLink() {
  Detach();
  if (object_ != nullptr) bpf_object__close(object_);
}

}  // namespace penstock
