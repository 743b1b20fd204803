// SPDX-License-Identifier: BSD-3-Clause
#include "lib/port/dpdk_log.h"

#include <bpf/libbpf.h>
#include <rte_log.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xdp/libxdp.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <mutex>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lib/base/log.h"
#include "lib/base/status.h"

namespace penstock {
namespace {

struct Line {
  Severity severity;
  bool cause;  // Of a failure, perhaps.
  std::string text;
};

// DPDK's notices and infos are of interest to who looks for a fault, not to who operates.
Severity SeverityOfCurrent() {
  const int level = rte_log_cur_msg_loglevel();
  if (level == static_cast<int>(RTE_LOG_WARNING)) return Severity::kWarning;
  return level >= 0 && level <= static_cast<int>(RTE_LOG_ERR) ? Severity::kError : Severity::kDebug;
}

// Errors that a driver logs of what it tries and does well without. Of a failure they may yet be
// the cause.
constexpr absl::string_view kTrials[] = {
    // net_tap, on a kernel without these kinds of qdisc: it offers no flow rules then, and says so
    // to who asks for one.
    "Specified qdisc kind is unknown",
    "multiq qdisc",
    "ingress qdisc",
    "Disabling rte flow support",
};

bool IsTrial(absl::string_view line) {
  return std::ranges::any_of(
      kTrials, [&](absl::string_view words) { return absl::StrContains(line, words); });
}

class DpdkLog {
 public:
  static DpdkLog& Get() {
    static DpdkLog* const log = new DpdkLog;  // DPDK writes until the process ends.
    return *log;
  }

  // Of rte_log, which may give a line in pieces.
  void Take(absl::string_view bytes) {
    std::lock_guard<std::mutex> guard(mutex_);
    absl::StrAppend(&rest_, bytes);
    for (size_t end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n')) {
      const Severity severity = SeverityOfCurrent();
      const std::string text(absl::StripTrailingAsciiWhitespace(rest_.substr(0, end)));
      rest_.erase(0, end + 1);
      if (text.empty()) continue;
      Keep({IsTrial(text) ? Severity::kDebug : severity, severity == Severity::kError, text});
    }
  }

  void Add(Line line) {
    std::lock_guard<std::mutex> guard(mutex_);
    Keep(std::move(line));
  }

  size_t Begin() {
    std::lock_guard<std::mutex> guard(mutex_);
    ++captures_;
    return kept_.size();
  }

  void End() {
    std::lock_guard<std::mutex> guard(mutex_);
    if (--captures_ > 0) return;
    for (const Line& line : std::exchange(kept_, {})) Log(line.severity, line.text);
  }

  std::vector<std::string> Causes(size_t from) {
    std::lock_guard<std::mutex> guard(mutex_);
    std::vector<std::string> causes;
    for (size_t i = from; i < kept_.size(); ++i) {
      if (kept_[i].cause) causes.push_back(kept_[i].text);
    }
    return causes;
  }

  void Fail(size_t from) {
    std::lock_guard<std::mutex> guard(mutex_);
    for (size_t i = from; i < kept_.size(); ++i) Log(Severity::kDebug, kept_[i].text);
    if (from < kept_.size()) kept_.resize(from);
  }

 private:
  void Keep(Line line) {
    if (captures_ > 0) {
      kept_.push_back(std::move(line));
    } else {
      Log(line.severity, line.text);
    }
  }

  std::mutex mutex_;
  std::string rest_;
  std::vector<Line> kept_;
  int captures_ = 0;
};

ssize_t WriteDpdkLog(void*, const char* bytes, size_t size) {
  DpdkLog::Get().Take({bytes, size});
  return static_cast<ssize_t>(size);
}

// libbpf and libxdp warn while they try one way after the other to load a program.
void TakeLibraryLine(bool warning, const char* format, va_list arguments) {
  std::array<char, 512> line;
  vsnprintf(line.data(), line.size(), format, arguments);
  const absl::string_view text = absl::StripTrailingAsciiWhitespace(line.data());
  if (!text.empty()) DpdkLog::Get().Add({Severity::kDebug, warning, std::string(text)});
}

constexpr std::array<int, 2> kStandardFds = {STDOUT_FILENO, STDERR_FILENO};

}  // namespace

absl::Status RedirectDpdkLog() {
  static bool redirected = false;
  if (redirected) return absl::OkStatus();
  cookie_io_functions_t functions{};
  functions.write = WriteDpdkLog;
  FILE* const stream = fopencookie(nullptr, "w", functions);
  if (stream == nullptr) return ErrnoStatus(errno, "fopencookie");
  setvbuf(stream, nullptr, _IONBF, 0);
  if (rte_openlog_stream(stream) != 0) return absl::InternalError("rte_openlog_stream failed");
  redirected = true;
  // It warns at every start that an interface of 2018 is not there. EAL registers the name later
  // and takes it, with its level, as it finds it.
  if (const int type = rte_log_register("lib.telemetry"); type >= 0) {
    rte_log_set_level(static_cast<uint32_t>(type), RTE_LOG_ERR);
  }
  libbpf_set_print([](libbpf_print_level level, const char* format, va_list arguments) {
    TakeLibraryLine(level == LIBBPF_WARN, format, arguments);
    return 0;
  });
  libxdp_set_print([](libxdp_print_level level, const char* format, va_list arguments) {
    TakeLibraryLine(level == LIBXDP_WARN, format, arguments);
    return 0;
  });
  return absl::OkStatus();
}

DpdkLogCapture::DpdkLogCapture() : from_(DpdkLog::Get().Begin()) {}

DpdkLogCapture::~DpdkLogCapture() { DpdkLog::Get().End(); }

std::vector<std::string> DpdkLogCapture::Causes() const { return DpdkLog::Get().Causes(from_); }

std::vector<std::string> DpdkLogCapture::Failed() {
  std::vector<std::string> causes = Causes();
  DpdkLog::Get().Fail(from_);
  return causes;
}

CapturedOutput::CapturedOutput() : file_(memfd_create("penstock-eal", MFD_CLOEXEC)) {
  if (file_ < 0) return;  // Then it is shown; nothing is lost.
  for (size_t i = 0; i < kStandardFds.size(); ++i) {
    saved_[i] = dup(kStandardFds[i]);
    if (saved_[i] >= 0) dup2(file_, kStandardFds[i]);
  }
}

CapturedOutput::~CapturedOutput() {
  if (file_ < 0) return;
  fflush(stdout);
  for (size_t i = 0; i < kStandardFds.size(); ++i) {
    if (saved_[i] < 0) continue;
    dup2(saved_[i], kStandardFds[i]);
    close(saved_[i]);
  }
  std::string text(size_t{64} << 10, '\0');
  const ssize_t n = pread(file_, text.data(), text.size(), 0);
  text.resize(n > 0 ? static_cast<size_t>(n) : 0);
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipWhitespace())) {
    Log(Severity::kDebug, line);
  }
  close(file_);
}

}  // namespace penstock
