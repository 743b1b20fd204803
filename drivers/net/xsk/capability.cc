// SPDX-License-Identifier: BSD-3-Clause
//
// Names missing capabilities; see the header. Control thread.

#include "drivers/net/xsk/capability.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/base/status.h"

namespace penstock {

std::string MissingCapabilities() {
  __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  if (syscall(SYS_capget, &header, data) != 0) return "";
  const std::pair<unsigned, const char*> needed[] = {{CAP_NET_RAW, "CAP_NET_RAW"},
                                                     {CAP_NET_ADMIN, "CAP_NET_ADMIN"},
                                                     {CAP_BPF, "CAP_BPF"},
                                                     {CAP_IPC_LOCK, "CAP_IPC_LOCK"}};
  std::vector<const char*> missing;
  for (const auto& [number, name] : needed) {
    if ((data[number / 32].effective >> (number % 32) & 1) == 0) missing.push_back(name);
  }
  return absl::StrJoin(missing, ", ");
}

absl::Status PrivilegedCallStatus(int err, absl::string_view what) {
  const int error = err < 0 ? -err : err;
  std::string text(what);
  if (error == EPERM || error == EACCES || error == ENOBUFS) {
    const std::string missing = MissingCapabilities();
    if (!missing.empty()) absl::StrAppend(&text, " (this process lacks ", missing, ")");
  }
  return ErrnoStatus(error, text);
}

}  // namespace penstock
