// SPDX-License-Identifier: BSD-3-Clause
//
// See status.h. Control path, any thread.

#include "lib/base/status.h"

#include <climits>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

namespace penstock {

absl::Status ErrnoStatus(int err, absl::string_view what) {
  // absl maps 0 to OK, which would turn a failure into a success.
  if (err == 0 || err == INT_MIN) {
    return absl::InternalError(absl::StrCat(what, ": failed without an error number"));
  }
  return absl::ErrnoToStatus(err < 0 ? -err : err, what);
}

absl::Status WithContext(absl::Status status, absl::string_view where) {
  if (status.ok()) return status;
  absl::Status result(status.code(), absl::StrCat(where, ": ", status.message()));
  status.ForEachPayload([&result](absl::string_view type_url, const absl::Cord& payload) {
    result.SetPayload(type_url, payload);
  });
  return result;
}

}  // namespace penstock
