// SPDX-License-Identifier: BSD-3-Clause
//
// LinkEvents: tells what happens to an interface, from the kernel's route messages. Its calls come
// on EAL's interrupt thread.

#ifndef PENSTOCK_DRIVERS_NET_XSK_EVENTS_H_
#define PENSTOCK_DRIVERS_NET_XSK_EVENTS_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"

struct rte_intr_handle;

namespace penstock {

class LinkEvents {
 public:
  enum class Event { kChanged, kRemoved };
  using Handler = std::function<void(Event)>;

  // From now on, for the interface with this index in the present network namespace.
  static absl::StatusOr<std::unique_ptr<LinkEvents>> Watch(uint32_t ifindex, Handler handler);
  // No call is running or comes afterwards, unless this is one of them.
  ~LinkEvents();
  LinkEvents(const LinkEvents&) = delete;
  LinkEvents& operator=(const LinkEvents&) = delete;

 private:
  LinkEvents(uint32_t ifindex, Handler handler) : ifindex_(ifindex), handler_(std::move(handler)) {}
  static void OnReadable(void* self);
  static void CloseLater(rte_intr_handle* handle, void* self);
  void Read();

  const uint32_t ifindex_;
  const Handler handler_;
  int fd_ = -1;
  rte_intr_handle* handle_ = nullptr;
};

}  // namespace penstock

#endif  // PENSTOCK_DRIVERS_NET_XSK_EVENTS_H_
