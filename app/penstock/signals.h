// SPDX-License-Identifier: BSD-3-Clause
//
// Signals: the first SIGINT, SIGTERM or SIGHUP asks the program to end, and wakes whoever polls;
// the second ends it at once, wherever it is. One object per process, made before threads.

#ifndef PENSTOCK_APP_PENSTOCK_SIGNALS_H_
#define PENSTOCK_APP_PENSTOCK_SIGNALS_H_

#include "absl/status/status.h"

namespace penstock {

inline constexpr int kExitSecondSignal = 130;

class Signals {
 public:
  // Installs the handlers; remembers the terminal's settings, to be restored by a second signal.
  static absl::Status Install();

  // Readable once a signal came; never read from.
  static int fd();
  static bool Stopped();
};

}  // namespace penstock

#endif  // PENSTOCK_APP_PENSTOCK_SIGNALS_H_
