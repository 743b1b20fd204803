// SPDX-License-Identifier: BSD-3-Clause
//
// The run directory of an instance; see the header. Control thread.

#include "lib/port/run_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "lib/base/file.h"
#include "lib/base/log.h"
#include "lib/base/status.h"
#include "lib/text/json_file.h"

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

namespace penstock {
namespace {

constexpr size_t kMaxPrefixBytes = 64;
constexpr size_t kMaxProcFileBytes = 64 * 1024;

absl::StatusOr<uint64_t> InodeOf(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return ErrnoStatus(errno, absl::StrCat("stat(", path, ")"));
  return status.st_ino;
}

absl::StatusOr<std::string> BootId() {
  PENSTOCK_ASSIGN_OR_RETURN(const std::string text,
                            ReadFile("/proc/sys/kernel/random/boot_id", kMaxProcFileBytes));
  return std::string(absl::StripAsciiWhitespace(text));
}

// 0 where the kernel has no cookies.
uint64_t NetNamespaceCookie() {
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return 0;
  const absl::Cleanup close_fd = [fd] { close(fd); };
  uint64_t cookie = 0;
  socklen_t length = sizeof(cookie);
  return getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &length) == 0 ? cookie : 0;
}

struct ProcessStat {
  char state = '?';
  uint64_t start_time_ticks = 0;
};

absl::StatusOr<ProcessStat> ReadProcessStat(pid_t pid) {
  const std::string path = absl::StrCat("/proc/", pid, "/stat");
  PENSTOCK_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxProcFileBytes));
  // Field 2 is the program's name in parentheses and may hold anything, parentheses included.
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return absl::DataLossError(absl::StrCat(path, ": no name"));
  const std::vector<absl::string_view> fields =
      absl::StrSplit(absl::string_view(text).substr(name_end + 1), ' ', absl::SkipEmpty());
  ProcessStat result;
  constexpr size_t kState = 3 - 3;
  constexpr size_t kStartTime = 22 - 3;
  if (fields.size() <= kStartTime ||
      !absl::SimpleAtoi(fields[kStartTime], &result.start_time_ticks)) {
    return absl::DataLossError(absl::StrCat(path, ": field 22, the start time, is missing"));
  }
  result.state = fields[kState].front();
  return result;
}

// mkdir -p: what is made gets `mode`, what exists stays as it is.
absl::Status MakeDirectories(const std::string& path, mode_t mode) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  if (mkdir(path.c_str(), mode) == 0) return absl::OkStatus();
  int error = errno;
  std::error_code ignored;
  if (error == ENOENT && !parent.empty() && parent != path) {
    PENSTOCK_RETURN_IF_ERROR(MakeDirectories(parent, mode));
    error = mkdir(path.c_str(), mode) == 0 ? 0 : errno;
  }
  if (error == 0 || (error == EEXIST && std::filesystem::is_directory(path, ignored))) {
    return absl::OkStatus();
  }
  return ErrnoStatus(error, absl::StrCat("mkdir(", path, ")"));
}

absl::Status WriteRecord(const std::string& directory, const RunRecord& record) {
  return WriteJsonFile(absl::StrCat(directory, "/", kStateFileName), ToJson(record));
}

}  // namespace

absl::StatusOr<Life> CurrentLife() {
  Life life;
  life.pid = getpid();
  PENSTOCK_ASSIGN_OR_RETURN(const ProcessStat stat, ReadProcessStat(life.pid));
  life.start_time_ticks = stat.start_time_ticks;
  PENSTOCK_ASSIGN_OR_RETURN(life.boot_id, BootId());
  PENSTOCK_ASSIGN_OR_RETURN(life.pid_namespace_inode, InodeOf("/proc/self/ns/pid"));
  PENSTOCK_ASSIGN_OR_RETURN(life.net_namespace_inode, InodeOf("/proc/thread-self/ns/net"));
  life.net_namespace_cookie = NetNamespaceCookie();
  return life;
}

bool ProcessExists(const Life& life) {
  const absl::StatusOr<std::string> boot_id = BootId();
  if (!boot_id.ok() || *boot_id != life.boot_id) return false;
  const absl::StatusOr<ProcessStat> stat = ReadProcessStat(life.pid);
  return stat.ok() && stat->start_time_ticks == life.start_time_ticks && stat->state != 'Z' &&
         stat->state != 'X';
}

Json ToJson(const RunRecord& record) {
  Json interfaces = Json::array();
  for (const InterfaceRecord& interface : record.interfaces) {
    interfaces.push_back({{"name", interface.name},
                          {"ifindex", interface.ifindex},
                          {"xdp_program_id", interface.xdp_program_id},
                          {"xdp_mode", XdpModeName(interface.xdp_mode)},
                          {"was_promiscuous", interface.was_promiscuous},
                          {"found_mtu", interface.found_mtu},
                          {"set_mtu", interface.set_mtu}});
  }
  const Life& life = record.life;
  return {{"pid", life.pid},
          {"start_time_ticks", life.start_time_ticks},
          {"boot_id", life.boot_id},
          {"pid_namespace_inode", life.pid_namespace_inode},
          {"net_namespace_inode", life.net_namespace_inode},
          {"net_namespace_cookie", life.net_namespace_cookie},
          {"file_prefix", record.file_prefix},
          {"eal_runtime_directory", record.eal_runtime_directory},
          {"interfaces", std::move(interfaces)}};
}

absl::StatusOr<RunRecord> RunRecordFromJson(const Json& json) {
  RunRecord record;
  try {
    json.at("pid").get_to(record.life.pid);
    json.at("start_time_ticks").get_to(record.life.start_time_ticks);
    json.at("boot_id").get_to(record.life.boot_id);
    json.at("pid_namespace_inode").get_to(record.life.pid_namespace_inode);
    json.at("net_namespace_inode").get_to(record.life.net_namespace_inode);
    json.at("net_namespace_cookie").get_to(record.life.net_namespace_cookie);
    json.at("file_prefix").get_to(record.file_prefix);
    json.at("eal_runtime_directory").get_to(record.eal_runtime_directory);
    for (const Json& item : json.at("interfaces")) {
      InterfaceRecord& interface = record.interfaces.emplace_back();
      item.at("name").get_to(interface.name);
      item.at("ifindex").get_to(interface.ifindex);
      item.at("xdp_program_id").get_to(interface.xdp_program_id);
      PENSTOCK_ASSIGN_OR_RETURN(interface.xdp_mode,
                                XdpModeFromName(item.at("xdp_mode").get<std::string>()));
      item.at("was_promiscuous").get_to(interface.was_promiscuous);
      item.at("found_mtu").get_to(interface.found_mtu);
      item.at("set_mtu").get_to(interface.set_mtu);
    }
  } catch (const Json::exception& error) {
    return absl::DataLossError(absl::StrCat("record of a run: ", error.what()));
  }
  // What is removed by name must be named as we name it.
  PENSTOCK_RETURN_IF_ERROR(ValidateFilePrefix(record.file_prefix));
  if (!absl::EndsWith(record.eal_runtime_directory, absl::StrCat("/dpdk/", record.file_prefix))) {
    return absl::DataLossError(absl::StrCat("record of a run: eal_runtime_directory \"",
                                            record.eal_runtime_directory, "\"; accepted: .../dpdk/",
                                            record.file_prefix));
  }
  return record;
}

absl::Status ValidateFilePrefix(absl::string_view prefix) {
  const bool good = !prefix.empty() && prefix.size() <= kMaxPrefixBytes && prefix[0] != '.' &&
                    std::all_of(prefix.begin(), prefix.end(), [](char c) {
                      return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' ||
                             c == '_' || c == '-';
                    });
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "file prefix \"", prefix, "\"; accepted: 1 to ", kMaxPrefixBytes,
      " letters, digits, '.', '_', '-', the first no '.', as --file-prefix=penstock1"));
}

std::string EalRuntimeDirectory(absl::string_view prefix) {
  const char* base = getenv("RUNTIME_DIRECTORY");
  if (base == nullptr && getuid() == 0) base = "/var/run";
  if (base == nullptr) base = getenv("XDG_RUNTIME_DIR");
  if (base == nullptr) base = "/tmp";
  return absl::StrCat(base, "/dpdk/", prefix);
}

absl::StatusOr<RunRecord> ReadRunRecord(const std::string& directory) {
  const std::string path = absl::StrCat(directory, "/", kStateFileName);
  PENSTOCK_ASSIGN_OR_RETURN(const Json json, ReadJsonFile(path));
  absl::StatusOr<RunRecord> record = RunRecordFromJson(json);
  if (!record.ok()) return WithContext(record.status(), path);
  return record;
}

bool IsLiving(const std::string& directory, const Life& life) {
  // The lock goes with the process, at once and in any PID namespace; but a child that it forked
  // keeps the lock as well, and then only the PID tells.
  const absl::StatusOr<FileLock> lock = FileLock::OfDirectory(directory);
  if (lock.ok()) return false;
  if (!absl::IsUnavailable(lock.status())) return true;  // cannot tell: hands off
  const absl::StatusOr<uint64_t> our_pid_namespace = InodeOf("/proc/self/ns/pid");
  if (!our_pid_namespace.ok() || *our_pid_namespace != life.pid_namespace_inode) return true;
  return ProcessExists(life);
}

FileLock::~FileLock() {
  if (fd_ >= 0) close(fd_);
}

FileLock::FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

absl::StatusOr<FileLock> FileLock::OfBase(const std::string& base) {
  const std::string path = absl::StrCat(base, "/.lock");
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return ErrnoStatus(errno, absl::StrCat("open(", path, ")"));
  FileLock lock(fd);
  while (flock(fd, LOCK_EX) != 0) {
    if (errno != EINTR) return ErrnoStatus(errno, absl::StrCat("flock(", path, ")"));
  }
  return lock;
}

absl::StatusOr<FileLock> FileLock::OfDirectory(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return ErrnoStatus(errno, absl::StrCat("open(", path, ")"));
  FileLock lock(fd);
  struct stat status;
  if (fstat(fd, &status) != 0) return ErrnoStatus(errno, absl::StrCat("fstat(", path, ")"));
  if (status.st_uid != geteuid()) {
    return absl::PermissionDeniedError(absl::StrCat(path, " belongs to user ", status.st_uid));
  }
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    return ErrnoStatus(errno, absl::StrCat("flock(", path, ")"));
  }
  return lock;
}

absl::StatusOr<std::unique_ptr<RunDirectory>> RunDirectory::Create(const std::string& base,
                                                                   const std::string& prefix) {
  PENSTOCK_RETURN_IF_ERROR(ValidateFilePrefix(prefix));
  RunRecord record;
  PENSTOCK_ASSIGN_OR_RETURN(record.life, CurrentLife());
  record.file_prefix = prefix;
  record.eal_runtime_directory = EalRuntimeDirectory(prefix);

  PENSTOCK_RETURN_IF_ERROR(MakeDirectories(base, 0755));
  PENSTOCK_ASSIGN_OR_RETURN(const FileLock base_lock, FileLock::OfBase(base));
  const std::string path = absl::StrCat(base, "/", prefix);
  if (mkdir(path.c_str(), 0700) != 0) {
    if (errno != EEXIST) return ErrnoStatus(errno, absl::StrCat("mkdir(", path, ")"));
    PENSTOCK_ASSIGN_OR_RETURN(const RunRecord other, ReadRunRecord(path));
    const bool living = IsLiving(path, other.life);
    const std::string what =
        absl::StrCat("file prefix \"", prefix, "\": ", path, " is of ",
                     living ? "a running" : "a dead", " instance, PID ", other.life.pid);
    if (living) {
      return absl::AlreadyExistsError(
          absl::StrCat(what, "; choose another prefix with --file-prefix=NAME"));
    }
    return absl::FailedPreconditionError(
        absl::StrCat(what,
                     ", in another network namespace or not undone yet; start in that "
                     "namespace, or choose another prefix with --file-prefix=NAME"));
  }
  absl::Cleanup remove = [&path] { std::filesystem::remove_all(path); };
  PENSTOCK_ASSIGN_OR_RETURN(FileLock lock, FileLock::OfDirectory(path));
  PENSTOCK_RETURN_IF_ERROR(WriteRecord(path, record));
  std::move(remove).Cancel();
  return std::unique_ptr<RunDirectory>(new RunDirectory(path, std::move(record), std::move(lock)));
}

RunDirectory::RunDirectory(std::string path, RunRecord record, FileLock lock)
    : path_(std::move(path)), record_(std::move(record)), lock_(std::move(lock)) {}

RunDirectory::~RunDirectory() {
  // Not in a forked child either: there it is the parent's.
  if (!record_.interfaces.empty() || record_.life.pid != getpid()) return;
  // While the base is locked, no start sees half of a directory.
  const absl::StatusOr<FileLock> base_lock =
      FileLock::OfBase(std::filesystem::path(path_).parent_path());
  std::error_code error;
  std::filesystem::remove_all(path_, error);
  if (error) Log(Severity::kWarning, "remove ", path_, ": ", error.message());
}

absl::Status RunDirectory::RecordInterface(const InterfaceRecord& interface) {
  RunRecord changed = record_;
  const auto same = [&](const InterfaceRecord& other) {
    return other.ifindex == interface.ifindex;
  };
  const auto found = std::find_if(changed.interfaces.begin(), changed.interfaces.end(), same);
  if (found == changed.interfaces.end()) {
    changed.interfaces.push_back(interface);
  } else {
    *found = interface;
  }
  return Write(std::move(changed));
}

absl::Status RunDirectory::ForgetInterface(uint32_t ifindex) {
  RunRecord changed = record_;
  std::erase_if(changed.interfaces,
                [&](const InterfaceRecord& other) { return other.ifindex == ifindex; });
  return Write(std::move(changed));
}

absl::Status RunDirectory::Write(RunRecord record) {
  PENSTOCK_RETURN_IF_ERROR(WriteRecord(path_, record));
  record_ = std::move(record);
  return absl::OkStatus();
}

}  // namespace penstock
