// SPDX-License-Identifier: BSD-3-Clause
//
// Small helpers around absl::Status, the error channel of the control path. Any thread; never from
// the data path, because a Status that is not OK allocates.
//
//   absl::StatusOr<Socket> Open(absl::string_view path) {
//     int fd = socket(AF_UNIX, SOCK_STREAM, 0);
//     if (fd < 0) return ErrnoStatus(errno, "socket(AF_UNIX, SOCK_STREAM)");
//     Socket result(fd);
//     PENSTOCK_RETURN_IF_ERROR(result.Bind(path));
//     PENSTOCK_ASSIGN_OR_RETURN(const Peer peer, result.FindPeer());
//     PENSTOCK_RETURN_IF_ERROR(WithContext(result.Connect(peer), path));
//     return result;
//   }

#ifndef PENSTOCK_LIB_BASE_STATUS_H_
#define PENSTOCK_LIB_BASE_STATUS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace penstock {

// The status of a failed call. `err` is what the call left: errno, or a return value in either sign
// (DPDK and libbpf return -EINVAL, libc sets EINVAL). `what` names the call and its argument. The
// message is "what: text of the error"; the code is absl's mapping of errno. An `err` of 0 gives an
// Internal error, never OK: whoever calls this has seen a failure.
absl::Status ErrnoStatus(int err, absl::string_view what);

// Puts "where: " before the message of an error, keeping its code and payloads. OK stays OK.
absl::Status WithContext(absl::Status status, absl::string_view where);

}  // namespace penstock

#define PENSTOCK_STATUS_CONCAT_INNER_(a, b) a##b
#define PENSTOCK_STATUS_CONCAT_(a, b) PENSTOCK_STATUS_CONCAT_INNER_(a, b)

// Evaluates an expression of type absl::Status once and returns it from the enclosing function
// (which returns Status or StatusOr) unless it is OK.
#define PENSTOCK_RETURN_IF_ERROR(...)                                          \
  do {                                                                         \
    if (absl::Status penstock_status = (__VA_ARGS__); !penstock_status.ok()) { \
      return penstock_status;                                                  \
    }                                                                          \
  } while (false)

// Evaluates an expression of type absl::StatusOr<T> once; returns its status from the enclosing
// function unless it is OK, else moves the value into `lhs`, which may declare a variable. It is
// more than one statement: not for the body of an unbraced `if`. An `lhs` must hold no comma.
#define PENSTOCK_ASSIGN_OR_RETURN(lhs, ...)                                                    \
  PENSTOCK_ASSIGN_OR_RETURN_IMPL_(PENSTOCK_STATUS_CONCAT_(penstock_status_or_, __LINE__), lhs, \
                                  (__VA_ARGS__))

#define PENSTOCK_ASSIGN_OR_RETURN_IMPL_(result, lhs, expr) \
  auto result = expr;                                      \
  if (!result.ok()) return std::move(result).status();     \
  lhs = *std::move(result)

#endif  // PENSTOCK_LIB_BASE_STATUS_H_
