// SPDX-License-Identifier: BSD-3-Clause
//
// Which of the privileges that the driver needs this process lacks: named in the error of the call
// that failed for it. Control thread.

#ifndef PENSTOCK_DRIVERS_NET_XSK_CAPABILITY_H_
#define PENSTOCK_DRIVERS_NET_XSK_CAPABILITY_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace penstock {

// "CAP_NET_RAW, CAP_BPF": those of CAP_NET_RAW, CAP_NET_ADMIN, CAP_BPF, CAP_IPC_LOCK that are not
// effective; empty if none.
std::string MissingCapabilities();

// ErrnoStatus; after EPERM or EACCES it adds what is missing.
absl::Status PrivilegedCallStatus(int err, absl::string_view what);

}  // namespace penstock

#endif  // PENSTOCK_DRIVERS_NET_XSK_CAPABILITY_H_
