// SPDX-License-Identifier: BSD-3-Clause
//
// Network and mount namespaces of the test process's own, with AF_XDP: before EAL is started and
// any thread is. What is in them goes with the process.

#ifndef PENSTOCK_TEST_INTEGRATION_PORT_OWN_NAMESPACES_H_
#define PENSTOCK_TEST_INTEGRATION_PORT_OWN_NAMESPACES_H_

#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>

namespace penstock {

inline constexpr int kSkipped = 77;  // As meson understands it.

// 0, or what main() is to return.
inline int EnterOwnNamespaces() {
  const int socket_fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
  if (socket_fd < 0 || unshare(CLONE_NEWNET | CLONE_NEWNS) != 0) {
    std::perror("skipped: AF_XDP and namespaces are needed");
    return kSkipped;
  }
  close(socket_fd);
  // /sys of the new network namespace, and a /run for the files that EAL leaves.
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      mount("tmpfs", "/run", "tmpfs", 0, nullptr) != 0 ||
      mount("sysfs", "/sys", "sysfs", 0, nullptr) != 0) {
    std::perror("mount");
    return 1;
  }
  return 0;
}

}  // namespace penstock

#endif  // PENSTOCK_TEST_INTEGRATION_PORT_OWN_NAMESPACES_H_
