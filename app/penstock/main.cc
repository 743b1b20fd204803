// SPDX-License-Identifier: BSD-3-Clause
//
// penstock: parse, build, run, report. Everything else is in lib/.

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "app/penstock/drivers.h"
#include "app/penstock/invocation.h"
#include "app/penstock/modes.h"
#include "app/penstock/session.h"
#include "app/penstock/signals.h"
#include "lib/base/log.h"
#include "lib/base/status.h"
#include "lib/pipeline/runtime.h"
#include "lib/port/dpdk_log.h"
#include "lib/port/eal.h"
#include "lib/port/preflight.h"
#include "lib/port/recovery.h"
#include "lib/port/run_directory.h"
#include "lib/stats/report.h"
#include "lib/text/json_file.h"

namespace penstock {
namespace {

enum ExitCode {
  kGood = 0,
  kStartFailed = 1,
  kWrongInvocation = 2,
  kRunFailed = 3,
  kLost = 4,
};

ExitCode Fail(ExitCode code, const absl::Status& status) {
  // One line, whatever was typed.
  std::string line(status.message());
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = ' ';
  }
  constexpr size_t kLongestLine = 2000;
  if (line.size() > kLongestLine) line = line.substr(0, kLongestLine) + "...";
  std::cerr << "penstock: " << line << std::endl;
  return code;
}

// Descriptors 0 to 2 are there, or something else of ours would get their numbers and their bytes.
void OpenStandardDescriptors() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (fcntl(fd, F_GETFD) < 0) static_cast<void>(open("/dev/null", O_RDWR));
  }
}

// A report that cannot be written is better known before the run than after it.
absl::Status CheckReportPath(const std::string& path) {
  if (path.empty()) return absl::OkStatus();
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (folder.empty()) folder = ".";
  std::error_code error;
  const std::filesystem::file_status there = std::filesystem::status(path, error);
  // It is written under a longer name first.
  constexpr size_t kLongestName = 240;
  const bool usable = (there.type() == std::filesystem::file_type::not_found || !error) &&
                      !std::filesystem::is_directory(there) &&
                      std::filesystem::path(path).filename().native().size() <= kLongestName;
  if (usable && access(folder.c_str(), W_OK | X_OK) == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--report=", path, ": accepted: a file in a folder that is there and writable"));
}

// Words of EAL's that are wrong on any machine are known only when it starts.
ExitCode FailToStart(const absl::Status& status) {
  return Fail(absl::IsInvalidArgument(status) ? kWrongInvocation : kStartFailed, status);
}

absl::Status CheckMachine(const EalArguments& eal, uint64_t memory_bytes) {
  PENSTOCK_RETURN_IF_ERROR(CheckMemory(eal.arguments, memory_bytes, ReadMachine(eal.file_prefix)));
  return CheckDevices(eal.arguments);
}

// Says what became of the packets. Returns the exit code.
ExitCode Conclude(const Report& report, const Configuration& configuration) {
  std::cout << FormatReport(report) << std::flush;
  ExitCode code = kGood;
  if (!configuration.report_path.empty()) {
    const absl::Status written = WriteJsonFile(configuration.report_path, ToJson(report));
    if (!written.ok()) code = Fail(kRunFailed, written);
  }
  if (report.totals.unaccounted > 0) {
    code = Fail(kRunFailed, absl::InternalError(absl::StrCat(report.totals.unaccounted,
                                                             " packets unaccounted for")));
  }
  for (const MempoolReport& pool : report.mempools) {
    if (pool.in_use_at_exit.value_or(0) == 0) continue;
    code = Fail(kRunFailed,
                absl::InternalError(absl::StrCat("mempool ", pool.name, ": ", *pool.in_use_at_exit,
                                                 " mbufs never came back")));
  }
  return code;
}

// `started` is called once everything runs.
ExitCode RunDataplane(const Configuration& configuration, RunDirectory& run_directory,
                      const std::function<void()>& started) {
  auto runtime = Runtime::Create({.modes = Modes(),
                                  .run_directory = &run_directory,
                                  .version = PENSTOCK_VERSION,
                                  .budget_drivers = TxBudgetDrivers(),
                                  .home_mail = HomeMailOf});
  if (!runtime.ok()) return Fail(kStartFailed, runtime.status());
  Configuration desired = configuration;
  // With a prompt, forwarding begins when its user says start, as in testpmd; a file of commands
  // comes before it.
  desired.forwarding = desired.cmdline_file.empty() && (!desired.interactive || desired.auto_start);
  const auto applied = (*runtime)->Apply(desired);
  // What was wrong in itself was refused before: this is the machine's, or the driver's, answer.
  if (!applied.ok()) return Fail(kStartFailed, applied.status());
  started();
  std::cout << FormatPlan((*runtime)->plan()) << std::flush;

  const absl::Status session = RunSession(**runtime);
  if (absl::IsDeadlineExceeded(session)) {
    // The lcore uses ports and mempools: nothing can be closed under it. The next start cleans up.
    Fail(kLost, session);
    std::cout << FormatReport((*runtime)->Snapshot()) << std::flush;
    _exit(kLost);
  }
  const auto report = (*runtime)->Close();
  if (!report.ok()) {
    Fail(kRunFailed, report.status());
    if (absl::IsDeadlineExceeded(report.status())) _exit(kLost);
    // Something did not close as it should; what happened to the packets is known all the same.
    Conclude((*runtime)->Snapshot(), (*runtime)->configuration());
    return kRunFailed;
  }
  const ExitCode code = Conclude(*report, (*runtime)->configuration());
  if (session.ok()) return code;
  if (absl::IsInvalidArgument(session)) return Fail(kWrongInvocation, session);
  return Fail(absl::IsUnavailable(session) ? kLost : kRunFailed, session);
}

ExitCode Start(const std::string& program, const Invocation& invocation) {
  const Configuration& configuration = invocation.configuration;
  SetLogLevel(configuration.log_level);
  if (const absl::Status status = CheckReportPath(configuration.report_path); !status.ok()) {
    return Fail(kWrongInvocation, status);
  }
  if (const absl::Status status = Signals::Install(); !status.ok()) {
    return Fail(kStartFailed, status);
  }
  const auto undone = Recover(configuration.run_directory);
  if (absl::IsPermissionDenied(undone.status())) {
    return Fail(kStartFailed, absl::PermissionDeniedError(absl::StrCat(
                                  undone.status().message(),
                                  "; run as root, or give --run-dir=DIR that is yours")));
  }
  if (!undone.ok()) return Fail(kStartFailed, undone.status());
  for (const std::string& line : *undone) Log(Severity::kInfo, line);
  const EalArguments eal =
      CompleteEalArguments(invocation.eal, configuration.memory_bytes, FindHugepages(),
                           absl::StrCat("penstock-", getpid()));
  if (const absl::Status status = CheckMachine(eal, configuration.memory_bytes); !status.ok()) {
    return FailToStart(status);
  }
  if (const absl::Status status = ClaimXdpInterfaces(eal.arguments); !status.ok()) {
    return Fail(kStartFailed, status);
  }
  auto run_directory = RunDirectory::Create(configuration.run_directory, eal.file_prefix);
  if (!run_directory.ok()) return FailToStart(run_directory.status());
  // What was said since here is shown when the start succeeded: a start that fails has one line.
  std::optional<DpdkLogCapture> start(std::in_place);
  const auto started = [&] {
    for (const std::string& note : eal.notes) Log(Severity::kInfo, note);
    start.reset();
  };
  if (const absl::Status status = StartEal(program, eal); !status.ok()) {
    start->Failed();
    return FailToStart(status);
  }
  if (const absl::Status status = RegisterMempoolOps(); !status.ok()) {
    // What DPDK has does too, unless --mempool demands it.
    Log(Severity::kWarning, "no mempool_deferred: ", status.message());
  }
  const ExitCode code = RunDataplane(configuration, **run_directory, started);
  StopEal();
  if (start.has_value()) start->Failed();
  return code;
}

ExitCode Main(int argc, char** argv) {
  OpenStandardDescriptors();
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const auto invocation = ParseInvocation(arguments);
  if (!invocation.ok()) return Fail(kWrongInvocation, invocation.status());
  switch (invocation->action) {
    case Invocation::Action::kHelp:
      std::cout << HelpText();
      return kGood;
    case Invocation::Action::kVersion:
      std::cout << "penstock " << PENSTOCK_VERSION << "\n";
      return kGood;
    case Invocation::Action::kRun:
      return Start(argv[0], *invocation);
  }
  return kWrongInvocation;
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) { return penstock::Main(argc, argv); }
