// SPDX-License-Identifier: BSD-3-Clause
//
// What the library has to tell a person goes through one sink, which the application may replace.
// Any thread of the control path. Never from the data path: Log() formats, allocates and writes.
//
//   Log(Severity::kWarning, "port ", port, ": ", requested, " queues asked for, ", max, " there");
//
// Without a sink of the application's own, a line is written to standard error as
// "penstock: warning: port 0: ..." by one write(2), so lines of several threads never mix. What is
// an error of a call is returned as absl::Status, not logged; log what no caller is there to hear.
//
// An embedding application installs its own:
//
//   class SyslogSink : public LogSink {
//     void Write(Severity severity, absl::string_view line) override { ... }
//   };
//   static SyslogSink sink;
//   SetLogSink(&sink);

#ifndef PENSTOCK_LIB_BASE_LOG_H_
#define PENSTOCK_LIB_BASE_LOG_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace penstock {

enum class Severity { kDebug, kInfo, kWarning, kError };

// By Severity.
inline constexpr absl::string_view kSeverityNames[] = {"debug", "info", "warning", "error"};

constexpr absl::string_view SeverityName(Severity severity) noexcept {
  return kSeverityNames[static_cast<unsigned>(severity)];
}

class LogSink {
 public:
  virtual ~LogSink() = default;

  // Called by whichever thread logs, several at once: synchronise inside. `line` is one line
  // without its newline, control characters already replaced by spaces, valid during the call only.
  // Must neither throw nor call Log().
  virtual void Write(Severity severity, absl::string_view line) = 0;
};

// Makes `sink` the process's sink and returns the one before; null stands for standard error. The
// caller keeps ownership. A thread may still be inside the former sink when this returns, so keep
// that alive until every thread that logs has been joined (a static object, or a restored one at
// exit).
LogSink* SetLogSink(LogSink* sink) noexcept;

// Lines below `level` are dropped before they are formatted. The level at start is kInfo.
void SetLogLevel(Severity level) noexcept;
Severity LogLevel() noexcept;

namespace log_internal {
void Write(Severity severity, std::string line);
}  // namespace log_internal

// Writes one line, made of the arguments as absl::StrCat makes it. Leaves errno as it was.
template <typename... Args>
void Log(Severity severity, const Args&... args) {
  if (severity < LogLevel()) return;
  log_internal::Write(severity, absl::StrCat(args...));
}

}  // namespace penstock

#endif  // PENSTOCK_LIB_BASE_LOG_H_
