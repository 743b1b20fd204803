// SPDX-License-Identifier: BSD-3-Clause
//
// RX interrupts: the file descriptor of each receiving socket, for the application's epoll. Control
// thread installs; enable and disable may be called by lcores. The socket has no TX ring, so that
// who waits sends nothing (see socket.h).

#include <ethdev_driver.h>
#include <rte_epoll.h>
#include <rte_interrupts.h>
#include <sys/epoll.h>

#include <cerrno>

#include "drivers/net/xsk/device.h"

namespace penstock {

absl::Status InstallRxInterrupts(XskDevice& device) {
  const rte_eth_dev_data& data = *device.dev.data;
  if (data.dev_conf.intr_conf.rxq == 0) return absl::OkStatus();
  rte_intr_handle* const handle = device.interrupts;
  if (data.nb_rx_queues > RTE_MAX_RXTX_INTR_VEC_ID) {
    return absl::InvalidArgumentError("more RX queues than EAL has interrupt vectors");
  }
  bool good = rte_intr_vec_list_alloc(handle, nullptr, data.nb_rx_queues) == 0;
  for (uint16_t queue = 0; queue < data.nb_rx_queues && good; ++queue) {
    good = rte_intr_vec_list_index_set(handle, queue, RTE_INTR_VEC_RXTX_OFFSET + queue) == 0 &&
           rte_intr_efds_index_set(handle, queue, device.port.RxFd(queue)) == 0;
  }
  good = good && rte_intr_nb_efd_set(handle, data.nb_rx_queues) == 0;
  if (good) return absl::OkStatus();
  RemoveRxInterrupts(device);
  return absl::ResourceExhaustedError("no memory for RX interrupt vectors");
}

void RemoveRxInterrupts(XskDevice& device) {
  if (rte_intr_nb_efd_get(device.interrupts) == 0) return;
  rte_intr_free_epoll_fd(device.interrupts);
  rte_intr_vec_list_free(device.interrupts);
  rte_intr_nb_efd_set(device.interrupts, 0);
}

// EAL waits for edges, and a frame that is there already makes none. Setting the event once more
// has the kernel look whether the socket is readable now. An application with an epoll of its own
// waits as it likes.
int XskRxInterruptEnable(rte_eth_dev* dev, uint16_t queue) {
  rte_epoll_event* const event = rte_intr_elist_index_get(DeviceOf(dev).interrupts, queue);
  if (event == nullptr || event->status == RTE_EPOLL_INVALID) return 0;
  // Not by rte_epoll_ctl(), which forgets to say whose event it is when it modifies one.
  epoll_event again{.events = event->epdata.event, .data = {.ptr = event}};
  return epoll_ctl(event->epfd, EPOLL_CTL_MOD, event->fd, &again) == 0 ? 0 : -errno;
}
int XskRxInterruptDisable(rte_eth_dev*, uint16_t) { return 0; }

}  // namespace penstock
