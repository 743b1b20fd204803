// SPDX-License-Identifier: BSD-3-Clause
//
// Session: a running dataplane and the person in front of it: prompt, statistics, signals,
// duration, and the watch over lcores and ports. Main thread.

#ifndef PENSTOCK_APP_PENSTOCK_SESSION_H_
#define PENSTOCK_APP_PENSTOCK_SESSION_H_

#include "absl/status/status.h"
#include "lib/pipeline/runtime.h"

namespace penstock {

// Runs --cmdline-file, begins to forward unless a prompt is to say so, and works until a signal,
// the end of --duration, `quit` or the end of the input. `runtime` is set up and does not forward.
// InvalidArgument: a line of --cmdline-file was wrong; Unavailable: a port was lost;
// DeadlineExceeded: an lcore is stuck.
absl::Status RunSession(Runtime& runtime);

}  // namespace penstock

#endif  // PENSTOCK_APP_PENSTOCK_SESSION_H_
