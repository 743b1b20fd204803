// SPDX-License-Identifier: BSD-3-Clause
//
// Whole files, read with a limit and written all or nothing. Control path, any thread; both calls
// block on the disk.

#ifndef PENSTOCK_LIB_BASE_FILE_H_
#define PENSTOCK_LIB_BASE_FILE_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace penstock {

// The contents of `path`. Refuses a directory, and more than `max_bytes` with OutOfRange: what a
// person writes by hand has a size, and a mistaken path to a disk image must not fill the memory.
// Pipes and devices are read to their end, under the same limit.
absl::StatusOr<std::string> ReadFile(const std::string& path, size_t max_bytes);

// Makes `contents` the contents of `path`, mode 0644, so that a reader sees the old file or the new
// one and never a part: a temporary file beside it is written, synced and renamed. After an error
// the old file is as it was and nothing is left behind. A symbolic link stays, its target is
// replaced. What exists and is no regular file (/dev/null, /dev/stdout, a named pipe with a reader)
// is written to as it stands.
absl::Status WriteFileAtomically(const std::string& path, absl::string_view contents);

}  // namespace penstock

#endif  // PENSTOCK_LIB_BASE_FILE_H_
