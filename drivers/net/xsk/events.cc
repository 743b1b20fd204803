// SPDX-License-Identifier: BSD-3-Clause
//
// Reads rtnetlink; see the header. EAL's interrupt thread; set up on the control thread.

#include "drivers/net/xsk/events.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <rte_interrupts.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "drivers/net/xsk/log.h"
#include "lib/base/status.h"

namespace penstock {

absl::StatusOr<std::unique_ptr<LinkEvents>> LinkEvents::Watch(uint32_t ifindex, Handler handler) {
  std::unique_ptr<LinkEvents> events(new LinkEvents(ifindex, std::move(handler)));
  events->fd_ = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = RTMGRP_LINK;
  if (events->fd_ < 0 ||
      bind(events->fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    return ErrnoStatus(errno, "socket(NETLINK_ROUTE, RTMGRP_LINK)");
  }
  events->handle_ = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);
  if (events->handle_ == nullptr) return absl::ResourceExhaustedError("rte_intr_instance_alloc");
  rte_intr_fd_set(events->handle_, events->fd_);
  rte_intr_type_set(events->handle_, RTE_INTR_HANDLE_EXT);
  const int error = rte_intr_callback_register(events->handle_, OnReadable, events.get());
  if (error != 0) {
    rte_intr_instance_free(std::exchange(events->handle_, nullptr));
    return ErrnoStatus(error, "rte_intr_callback_register");
  }
  return events;
}

LinkEvents::~LinkEvents() {
  if (handle_ != nullptr) {
    // EAGAIN while a call is running: on the other thread, which is waited for, or this is it, and
    // EAL takes the source away when the call has returned.
    while (rte_intr_callback_unregister(handle_, OnReadable, this) == -EAGAIN) {
      if (rte_thread_is_intr() != 0 &&
          rte_intr_callback_unregister_pending(handle_, OnReadable, this, CloseLater) > 0) {
        fd_ = -1;
        break;
      }
      usleep(100);
    }
    rte_intr_instance_free(handle_);
  }
  if (fd_ >= 0) close(fd_);
}

void LinkEvents::CloseLater(rte_intr_handle* handle, void*) { close(rte_intr_fd_get(handle)); }

void LinkEvents::OnReadable(void* self) { static_cast<LinkEvents*>(self)->Read(); }

void LinkEvents::Read() {
  bool changed = false;
  bool removed = false;
  alignas(nlmsghdr) char buffer[16384];
  for (;;) {
    const ssize_t bytes = recv(fd_, buffer, sizeof(buffer), 0);
    if (bytes < 0 && errno == ENOBUFS) {
      changed = true;  // Some were lost; what is the case is asked for.
      continue;
    }
    if (bytes <= 0) break;
    auto left = static_cast<unsigned>(bytes);
    for (auto* message = reinterpret_cast<nlmsghdr*>(buffer); NLMSG_OK(message, left);
         message = NLMSG_NEXT(message, left)) {
      if (message->nlmsg_type != RTM_NEWLINK && message->nlmsg_type != RTM_DELLINK) continue;
      const auto* const link = static_cast<const ifinfomsg*>(NLMSG_DATA(message));
      // A bridge has messages of its own about its ports.
      if (static_cast<uint32_t>(link->ifi_index) != ifindex_ || link->ifi_family != AF_UNSPEC) {
        continue;
      }
      (message->nlmsg_type == RTM_DELLINK ? removed : changed) = true;
    }
  }
  // The call may be the end of this object.
  const Handler handler = handler_;
  if (removed) {
    handler(Event::kRemoved);
  } else if (changed) {
    handler(Event::kChanged);
  }
}

}  // namespace penstock
