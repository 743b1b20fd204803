// SPDX-License-Identifier: BSD-3-Clause
//
// See log.h. Control path, any thread: two process-wide atomics and no lock.

#include "lib/base/log.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>

namespace penstock {
namespace {

// SetLogSink's release pairs with the acquire in log_internal::Write, so that a thread that sees
// the pointer sees the sink constructed.
std::atomic<LogSink*> process_sink{nullptr};

// Relaxed throughout: it guards no other memory, and a line more or less at a change is no error.
std::atomic<Severity> process_level{Severity::kInfo};

void WriteToStandardError(Severity severity, absl::string_view line) {
  const std::string text = absl::StrCat("penstock: ", SeverityName(severity), ": ", line, "\n");
  // Once, whole: a remainder written later could land inside another thread's line. If standard
  // error is gone there is nobody left to tell.
  ssize_t written;
  do {
    written = write(STDERR_FILENO, text.data(), text.size());
  } while (written < 0 && errno == EINTR);
}

}  // namespace

LogSink* SetLogSink(LogSink* sink) noexcept {
  return process_sink.exchange(sink, std::memory_order_acq_rel);
}

void SetLogLevel(Severity level) noexcept { process_level.store(level, std::memory_order_relaxed); }

Severity LogLevel() noexcept { return process_level.load(std::memory_order_relaxed); }

namespace log_internal {

void Write(Severity severity, std::string line) {
  const int saved_errno = errno;
  // A name taken from outside may hold a newline; it must not be able to forge a line of the log.
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  if (LogSink* sink = process_sink.load(std::memory_order_acquire)) {
    sink->Write(severity, line);
  } else {
    WriteToStandardError(severity, line);
  }
  errno = saved_errno;
}

}  // namespace log_internal
}  // namespace penstock
