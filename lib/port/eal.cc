// SPDX-License-Identifier: BSD-3-Clause
#include "lib/port/eal.h"

#include <bpf/libbpf.h>
#include <net/if.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_log.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <xdp/libxdp.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lib/base/log.h"
#include "lib/base/status.h"
#include "lib/config/configuration.h"
#include "lib/port/recovery.h"
#include "lib/port/xdp_program.h"
#include "lib/text/quantity.h"

namespace penstock {
namespace {

constexpr uint64_t kMebibyte = uint64_t{1} << 20;
// Below this DPDK finds no room for a mempool of the usual size beside its own structures.
constexpr uint64_t kEnoughHugepages = 256 * kMebibyte;

// Whether an argument is `option`, also with its value attached: "--option=value", "-ovalue".
bool Is(const std::string& argument, absl::string_view option) {
  absl::string_view rest = argument;
  if (!absl::ConsumePrefix(&rest, option)) return false;
  const bool is_short = option.size() == 2;
  return rest.empty() || is_short || rest[0] == '=';
}

bool Has(std::span<const std::string> arguments, absl::string_view option) {
  return std::ranges::any_of(arguments, [&](const std::string& a) { return Is(a, option); });
}

// The value of "--option=value" or "--option value"; empty if it is not there.
std::string ValueOf(std::span<const std::string> arguments, absl::string_view option) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!Is(arguments[i], option)) continue;
    absl::string_view attached = absl::string_view(arguments[i]).substr(option.size());
    absl::ConsumePrefix(&attached, "=");
    if (!attached.empty()) return std::string(attached);
    if (i + 1 < arguments.size()) return arguments[i + 1];
  }
  return "";
}

// ---- what DPDK and its libraries say ----

struct Line {
  Severity severity;
  std::string text;
};

// DPDK's log lines. Those of the start are kept until its outcome is known: rte_eal_init itself
// only says that it failed, and the reason is among them.
class DpdkLog {
 public:
  static DpdkLog& Get() {
    static DpdkLog* const log = new DpdkLog;  // DPDK writes until the process ends.
    return *log;
  }

  void Take(absl::string_view bytes) {
    std::lock_guard<std::mutex> guard(mutex_);
    absl::StrAppend(&rest_, bytes);
    for (size_t end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n')) {
      Line line{SeverityOfCurrent(), rest_.substr(0, end)};
      rest_.erase(0, end + 1);
      if (starting_) {
        kept_.push_back(std::move(line));
      } else {
        Log(line.severity, line.text);
      }
    }
  }

  // Ends the start; from here on lines are logged as they come.
  std::vector<Line> Started() {
    std::lock_guard<std::mutex> guard(mutex_);
    starting_ = false;
    return std::move(kept_);
  }

 private:
  // DPDK's notices and infos are of interest to who looks for a fault, not to who operates.
  static Severity SeverityOfCurrent() {
    const int level = rte_log_cur_msg_loglevel();
    if (level == static_cast<int>(RTE_LOG_WARNING)) return Severity::kWarning;
    return level >= 0 && level <= static_cast<int>(RTE_LOG_ERR) ? Severity::kError
                                                                : Severity::kDebug;
  }

  std::mutex mutex_;
  std::string rest_;
  std::vector<Line> kept_;
  bool starting_ = true;
};

// While it lives, standard output and error go into a file in memory: EAL answers a wrong argument
// with pages of usage there, past its own log.
class CapturedOutput {
 public:
  CapturedOutput() : file_(memfd_create("penstock-eal", MFD_CLOEXEC)) {
    if (file_ < 0) return;  // Then it is shown; nothing is lost.
    for (size_t i = 0; i < kFds.size(); ++i) {
      saved_[i] = dup(kFds[i]);
      if (saved_[i] >= 0) dup2(file_, kFds[i]);
    }
  }
  ~CapturedOutput() {
    if (file_ < 0) return;
    fflush(stdout);
    for (size_t i = 0; i < kFds.size(); ++i) {
      if (saved_[i] < 0) continue;
      dup2(saved_[i], kFds[i]);
      close(saved_[i]);
    }
    LogWhatCame();
    close(file_);
  }
  CapturedOutput(const CapturedOutput&) = delete;
  CapturedOutput& operator=(const CapturedOutput&) = delete;

 private:
  static constexpr std::array<int, 2> kFds = {STDOUT_FILENO, STDERR_FILENO};

  void LogWhatCame() const {
    std::string text(size_t{64} << 10, '\0');
    const ssize_t n = pread(file_, text.data(), text.size(), 0);
    if (n <= 0) return;
    text.resize(static_cast<size_t>(n));
    for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipWhitespace())) {
      Log(Severity::kDebug, line);
    }
  }

  const int file_;
  std::array<int, 2> saved_ = {-1, -1};
};

ssize_t WriteDpdkLog(void*, const char* bytes, size_t size) {
  DpdkLog::Get().Take({bytes, size});
  return static_cast<ssize_t>(size);
}

absl::Status RedirectDpdkLog() {
  cookie_io_functions_t functions{};
  functions.write = WriteDpdkLog;
  FILE* const stream = fopencookie(nullptr, "w", functions);
  if (stream == nullptr) return ErrnoStatus(errno, "fopencookie");
  setvbuf(stream, nullptr, _IONBF, 0);
  if (rte_openlog_stream(stream) != 0) return absl::InternalError("rte_openlog_stream failed");
  // It warns at every start that an interface of 2018 is not there. EAL registers the name later
  // and takes it, with its level, as it finds it.
  if (const int type = rte_log_register("lib.telemetry"); type >= 0) {
    rte_log_set_level(static_cast<uint32_t>(type), RTE_LOG_ERR);
  }
  return absl::OkStatus();
}

// What libbpf and libxdp say while they try one way after the other to load a program. A failure is
// told by the call that failed; this is for who looks into it.
void TakeLibraryLine(const char* format, va_list arguments) {
  if (LogLevel() > Severity::kDebug) return;
  std::array<char, 512> line;
  vsnprintf(line.data(), line.size(), format, arguments);
  Log(Severity::kDebug, absl::StripTrailingAsciiWhitespace(line.data()));
}

void RedirectBpfLogs() {
  libbpf_set_print([](libbpf_print_level, const char* format, va_list arguments) {
    TakeLibraryLine(format, arguments);
    return 0;
  });
  libxdp_set_print([](libxdp_print_level, const char* format, va_list arguments) {
    TakeLibraryLine(format, arguments);
    return 0;
  });
}

// The first --vdev that names a port which is not there: EAL goes on without a device that it could
// not make. Empty if all are.
std::string MissingPort(std::span<const std::string> arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!Is(arguments[i], "--vdev")) continue;
    const std::string device = ValueOf(arguments.subspan(i), "--vdev");
    const std::string name = device.substr(0, device.find(','));
    uint16_t port = 0;
    // Devices of other kinds, crypto_ for one, are no ports.
    const bool is_port = absl::StartsWith(name, "net_") || absl::StartsWith(name, "eth_");
    if (is_port && rte_eth_dev_get_port_by_name(name.c_str(), &port) != 0) return device;
  }
  return "";
}

// EAL leaves its directory and hugepages to the next process that has the same prefix. Ours differ
// each time. `directory` is EAL's runtime directory, empty if it did not come so far.
void RemoveEalFiles(const std::filesystem::path& directory) {
  // A start may have failed because another application has this prefix: that one's files stay.
  if (directory.empty() || IsEalRunning(directory)) return;
  std::error_code error;
  std::filesystem::remove_all(directory, error);
  std::vector<std::string> lines;
  if (RemoveHugepages(directory.filename(), lines)) return;
  for (const std::string& line : lines) Log(Severity::kWarning, line);
}

}  // namespace

Hugepages FindHugepages() {
  std::ifstream mounts("/proc/self/mounts");
  bool mounted = false;
  for (std::string line; std::getline(mounts, line);) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, ' ');
    mounted |= fields.size() > 2 && fields[2] == "hugetlbfs";
  }
  Hugepages result;
  if (!mounted) return result;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/kernel/mm/hugepages", error)) {
    // "hugepages-2048kB"
    std::string name = entry.path().filename();
    absl::string_view size = name;
    uint64_t kib = 0;
    uint64_t pages = 0;
    if (!absl::ConsumePrefix(&size, "hugepages-") || !absl::ConsumeSuffix(&size, "kB") ||
        !absl::SimpleAtoi(size, &kib)) {
      continue;
    }
    std::ifstream(entry.path() / "free_hugepages") >> pages;
    result.free_bytes += pages * kib * 1024;
  }
  return result;
}

EalArguments CompleteEalArguments(std::span<const std::string> user, uint64_t memory_bytes,
                                  const Hugepages& hugepages, absl::string_view default_prefix) {
  EalArguments result;
  result.arguments.assign(user.begin(), user.end());
  result.file_prefix = ValueOf(user, "--file-prefix");
  if (result.file_prefix.empty()) {
    result.file_prefix = std::string(default_prefix);
    result.arguments.push_back(absl::StrCat("--file-prefix=", default_prefix));
  }
  const bool sized = Has(user, "-m") || Has(user, "--socket-mem");
  const auto add_memory = [&](uint64_t bytes) {
    if (sized) return;
    result.arguments.push_back("-m");
    result.arguments.push_back(absl::StrCat(bytes / kMebibyte));
  };
  const bool chosen = Has(user, "--no-huge") || Has(user, "--in-memory") ||
                      Has(user, "--socket-mem") || Has(user, "--huge-dir");
  const uint64_t wanted = memory_bytes != 0 ? memory_bytes : kEnoughHugepages;
  if (!chosen && hugepages.free_bytes < wanted) {
    const uint64_t bytes = memory_bytes != 0 ? memory_bytes : kDefaultMemoryBytes;
    result.arguments.push_back("--no-huge");
    add_memory(bytes);
    result.notes.push_back(absl::StrCat(
        FormatSize(hugepages.free_bytes), " of free hugepages, ", FormatSize(wanted),
        " wanted: running without them, on ",
        sized
            ? std::string("as much ordinary memory as -m says")
            : absl::StrCat(FormatSize(bytes), " of ordinary memory (--memory=SIZE changes that)")));
  } else if (memory_bytes != 0) {
    add_memory(memory_bytes);
  } else if (Has(user, "--no-huge")) {
    add_memory(kDefaultMemoryBytes);
  }
  return result;
}

namespace {

// Takes the interface for this process, for as long as it lives: a name in the network namespace,
// which goes with its holder however that ends. AlreadyExists if somebody has it.
absl::Status ClaimInterface(unsigned ifindex) {
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return ErrnoStatus(errno, "socket(AF_UNIX)");
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  // A first byte of 0: no file.
  const std::string name = absl::StrCat("penstock/xdp/", ifindex);
  name.copy(address.sun_path + 1, sizeof(address.sun_path) - 1);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address), length) == 0) return absl::OkStatus();
  const int error = errno;
  close(fd);
  return error == EADDRINUSE ? absl::AlreadyExistsError("claimed")
                             : ErrnoStatus(error, absl::StrCat("bind(", name, ")"));
}

}  // namespace

absl::Status ClaimXdpInterfaces(std::span<const std::string> arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!Is(arguments[i], "--vdev")) continue;
    const std::string device = ValueOf(arguments.subspan(i), "--vdev");
    if (!absl::StartsWith(device, "net_af_xdp")) continue;
    for (absl::string_view devarg : absl::StrSplit(device, ',')) {
      if (!absl::ConsumePrefix(&devarg, "iface=")) continue;
      const std::string interface(devarg);
      const unsigned ifindex = if_nametoindex(interface.c_str());
      if (ifindex == 0) continue;  // The driver says it better.
      const absl::Status claimed = ClaimInterface(ifindex);
      if (absl::IsAlreadyExists(claimed)) {
        return absl::FailedPreconditionError(absl::StrCat(
            "--vdev=", device, ": interface ", interface,
            " has a net_af_xdp port already, of this penstock or another; accepted: one on each"));
      }
      PENSTOCK_RETURN_IF_ERROR(claimed);
      PENSTOCK_ASSIGN_OR_RETURN(const std::vector<XdpProgram> programs,
                                AttachedXdpPrograms(ifindex));
      if (programs.empty()) continue;
      return absl::FailedPreconditionError(absl::StrCat(
          "--vdev=", device, ": interface ", interface, " carries XDP program ", programs[0].id,
          " (", programs[0].name.empty() ? "no name" : programs[0].name,
          ") of someone else, which is left: 'ip link set dev ", interface,
          " xdp off' removes it if it is not needed"));
    }
  }
  return absl::OkStatus();
}

absl::Status StartEal(const std::string& program, const EalArguments& arguments) {
  PENSTOCK_RETURN_IF_ERROR(RedirectDpdkLog());
  RedirectBpfLogs();
  // EAL keeps pointers into what it is given.
  static std::vector<std::string>* const kept = new std::vector<std::string>;
  kept->push_back(program);
  kept->insert(kept->end(), arguments.arguments.begin(), arguments.arguments.end());
  std::vector<char*> argv;
  for (std::string& argument : *kept) argv.push_back(argument.data());
  argv.push_back(nullptr);
  int taken = 0;
  int error = 0;
  {
    const CapturedOutput captured;
    taken = rte_eal_init(static_cast<int>(kept->size()), argv.data());
    error = rte_errno;
  }
  const std::vector<Line> lines = DpdkLog::Get().Started();
  const std::string missing = taken < 0 ? "" : MissingPort(arguments.arguments);
  if (taken >= 0 && missing.empty()) {
    for (const Line& line : lines) Log(line.severity, line.text);
    return absl::OkStatus();
  }
  std::vector<std::string> reasons;
  for (const Line& line : lines) {
    if (line.severity == Severity::kError) reasons.push_back(line.text);
    Log(Severity::kDebug, line.text);
  }
  if (taken >= 0) {
    StopEal();
  } else {
    RemoveEalFiles(rte_eal_get_runtime_dir());
  }
  const absl::Status status =
      missing.empty()
          ? ErrnoStatus(error,
                        absl::StrCat("rte_eal_init(", absl::StrJoin(arguments.arguments, " "), ")"))
          : absl::UnavailableError(absl::StrCat("--vdev=", missing, ": its driver refused it"));
  if (reasons.empty()) return status;
  return absl::Status(status.code(),
                      absl::StrCat(status.message(), ": ", absl::StrJoin(reasons, "; ")));
}

void StopEal() {
  const std::filesystem::path directory = rte_eal_get_runtime_dir();
  rte_eal_cleanup();
  RemoveEalFiles(directory);
}

}  // namespace penstock
