// SPDX-License-Identifier: BSD-3-Clause
//
// JSON files, written all or nothing and read with limits. Control path, any thread; both calls
// block on the disk.

#ifndef PENSTOCK_LIB_TEXT_JSON_FILE_H_
#define PENSTOCK_LIB_TEXT_JSON_FILE_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/text/json.h"

namespace penstock {

inline constexpr size_t kMaxJsonFileBytes = size_t{16} << 20;
inline constexpr int kMaxJsonDepth = 64;

// Writes FormatJson(value) to `path`, as WriteFileAtomically (lib/base/file.h) does: mode 0644, a
// reader sees the old file or the new one, and a failure leaves nothing behind.
absl::Status WriteJsonFile(const std::string& path, const Json& value);

// Reads one JSON value. What is not JSON, is nested deeper than kMaxJsonDepth or is longer than
// kMaxJsonFileBytes is refused with the file's name and, where there is one, line and column.
absl::StatusOr<Json> ReadJsonFile(const std::string& path);

}  // namespace penstock

#endif  // PENSTOCK_LIB_TEXT_JSON_FILE_H_
