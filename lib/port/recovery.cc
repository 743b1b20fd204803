// SPDX-License-Identifier: BSD-3-Clause
//
// Undoes what dead instances left on the machine; see the header. Control thread.

#include "lib/port/recovery.h"

#include <fcntl.h>
#include <mntent.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/status.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

// Where file systems of this type are mounted, as this process sees it.
std::vector<std::string> MountPoints(absl::string_view type) {
  std::vector<std::string> result;
  const std::unique_ptr<FILE, int (*)(FILE*)> mounts(setmntent("/proc/self/mounts", "r"),
                                                     endmntent);
  if (mounts == nullptr) return result;
  while (const mntent* entry = getmntent(mounts.get())) {
    if (entry->mnt_type == type) result.emplace_back(entry->mnt_dir);
  }
  return result;
}

// The entries of a directory; empty if it cannot be read.
std::vector<fs::path> EntriesOf(const fs::path& directory) {
  std::vector<fs::path> result;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    result.push_back(it->path());
  }
  std::sort(result.begin(), result.end());
  return result;
}

// Removes a file or a directory with all that is in it. False, with a line, if that fails.
bool Remove(const fs::path& path, std::vector<std::string>& lines) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) lines.push_back(absl::StrCat("remove ", path.native(), ": ", error.message()));
  return !error;
}

// Whether a network namespace has a process in it or is bound to a name. One that is kept only by
// an open file is not found. Users other than root may not look at others' processes: there may be
// one. What hides from root (an init with more capabilities than a container's) is taken to be
// elsewhere, or in such a container no record would ever go.
bool NetNamespaceMayExist(uint64_t inode) {
  const std::string mount_root = absl::StrCat(" net:[", inode, "] ");
  std::set<uint64_t> mount_namespaces_seen;
  for (const fs::path& process : EntriesOf("/proc")) {
    int pid = 0;
    if (!absl::SimpleAtoi(process.filename().native(), &pid)) continue;
    struct stat status;
    if (stat((process / "ns/net").c_str(), &status) != 0) {
      if ((errno == EACCES || errno == EPERM) && geteuid() != 0) return true;
      continue;  // else it has ended, or is a zombie
    }
    if (status.st_ino == inode) return true;
    // `ip netns add` binds a namespace to a file, in whichever mount namespace that ran.
    if (stat((process / "ns/mnt").c_str(), &status) != 0 ||
        !mount_namespaces_seen.insert(status.st_ino).second) {
      continue;
    }
    std::ifstream mounts(process / "mountinfo");
    for (std::string line; std::getline(mounts, line);) {
      if (line.find(mount_root) != std::string::npos) return true;
    }
  }
  return false;
}

// libxdp attaches through a dispatcher where the kernel can, and pins the dispatcher's parts on
// every bpffs below xdp/dispatch-IFINDEX-ID. They would keep the programs in memory.
bool RemoveDispatcherPins(const InterfaceRecord& interface, std::vector<std::string>& lines) {
  bool clean = true;
  for (const std::string& bpffs : MountPoints("bpf")) {
    const fs::path pins =
        fs::path(bpffs) / "xdp" /
        absl::StrCat("dispatch-", interface.ifindex, "-", interface.xdp_program_id);
    std::error_code error;
    if (!fs::exists(pins, error)) continue;
    if (Remove(pins, lines)) {
      lines.push_back(absl::StrCat("removed ", pins.native()));
    } else {
      clean = false;
    }
  }
  return clean;
}

bool UndoXdp(const InterfaceRecord& interface, const std::string& name,
             std::vector<std::string>& lines) {
  // None was attached because of us: what is there is no affair of ours.
  if (interface.xdp_program_id == 0) return true;
  const absl::StatusOr<std::vector<XdpProgram>> programs = AttachedXdpPrograms(interface.ifindex);
  if (!programs.ok()) {
    lines.push_back(absl::StrCat(name, ": ", programs.status().message()));
    return false;
  }
  for (const XdpProgram& program : *programs) {
    const std::string what = absl::StrCat(name, ": XDP program ", program.id, " (",
                                          program.name.empty() ? "no name" : program.name, ", ",
                                          XdpModeName(program.mode), " mode)");
    if (program.id != interface.xdp_program_id) {
      lines.push_back(absl::StrCat(what, " is not ours and stays"));
      continue;
    }
    const absl::StatusOr<bool> detached =
        DetachXdpProgram(interface.ifindex, program.id, program.mode);
    if (!detached.ok()) {
      lines.push_back(absl::StrCat(what, " stays: ", detached.status().message()));
      return false;
    }
    if (*detached) lines.push_back(absl::StrCat(what, " detached"));
  }
  return true;
}

bool UndoPromiscuous(const InterfaceRecord& interface, const std::string& name,
                     std::vector<std::string>& lines) {
  if (interface.was_promiscuous) return true;
  const absl::StatusOr<bool> promiscuous = IsPromiscuous(interface.ifindex);
  absl::Status status = promiscuous.status();
  if (status.ok()) {
    if (!*promiscuous) return true;
    status = SetPromiscuous(interface.ifindex, false);
  }
  lines.push_back(status.ok() ? absl::StrCat(name, ": promiscuous flag cleared")
                              : absl::StrCat(name, ": promiscuous flag: ", status.message()));
  return status.ok();
}

bool UndoMtu(const InterfaceRecord& interface, const std::string& name,
             std::vector<std::string>& lines) {
  if (interface.set_mtu == 0) return true;
  const absl::StatusOr<uint16_t> mtu = InterfaceMtu(interface.ifindex);
  absl::Status status = mtu.status();
  if (status.ok()) {
    if (*mtu != interface.set_mtu) return true;  // Somebody else's since.
    status = SetInterfaceMtu(interface.ifindex, interface.found_mtu);
  }
  lines.push_back(status.ok() ? absl::StrCat(name, ": MTU back to ", interface.found_mtu)
                              : absl::StrCat(name, ": MTU: ", status.message()));
  return status.ok();
}

bool UndoEal(const RunRecord& record, std::vector<std::string>& lines) {
  const fs::path runtime = record.eal_runtime_directory;
  std::error_code error;
  if (fs::exists(runtime, error)) {
    if (IsEalRunning(runtime.native())) {
      // Another DPDK application took this prefix over since.
      lines.push_back(absl::StrCat(runtime.native(), " is in use and stays"));
      return true;
    }
    if (!Remove(runtime, lines)) return false;
    lines.push_back(absl::StrCat("removed ", runtime.native()));
  }
  return RemoveHugepages(record.file_prefix, Mapped::kKeep, lines);
}

enum class Where { kOtherBoot, kHere, kElsewhere, kGone };

Where WhereIs(const Life& dead, const Life& own) {
  if (dead.boot_id != own.boot_id) return Where::kOtherBoot;
  if (dead.net_namespace_inode == own.net_namespace_inode) {
    // The same number is not yet the same namespace.
    return dead.net_namespace_cookie == own.net_namespace_cookie ? Where::kHere : Where::kGone;
  }
  return NetNamespaceMayExist(dead.net_namespace_inode) ? Where::kElsewhere : Where::kGone;
}

// Undoes one dead life. False if its record must stay.
bool Undo(const RunRecord& record, const Life& own, std::vector<std::string>& lines) {
  bool clean = true;
  switch (WhereIs(record.life, own)) {
    case Where::kElsewhere:
      lines.push_back(absl::StrCat("left as it is: its network namespace (inode ",
                                   record.life.net_namespace_inode,
                                   ") still exists; a start in there undoes it"));
      return false;
    case Where::kHere:
      for (const InterfaceRecord& interface : record.interfaces) {
        clean = UndoInterface(interface, lines) && clean;
      }
      break;
    case Where::kOtherBoot:
    case Where::kGone:
      break;
  }
  return UndoEal(record, lines) && clean;
}

// One BASE/PREFIX, the base being locked.
void RecoverDirectory(const fs::path& directory, const Life& own, std::vector<std::string>& lines) {
  // The record is written before the base is unlocked: without one, the life ended in between and
  // had changed nothing.
  std::error_code error;
  if (!fs::exists(directory / kStateFileName, error) && !error) {
    if (Remove(directory, lines)) {
      lines.push_back(absl::StrCat("removed, a start was interrupted"));
    }
    return;
  }
  const absl::StatusOr<RunRecord> record = ReadRunRecord(directory);
  if (!record.ok()) {
    lines.push_back(absl::StrCat("left as it is: ", record.status().message(),
                                 "; remove the directory if no instance uses it"));
    return;
  }
  if (IsLiving(directory, record->life)) return;
  lines.push_back(absl::StrCat("left by PID ", record->life.pid, ", which is dead"));
  if (Undo(*record, own, lines) && Remove(directory, lines)) lines.push_back("removed");
}

}  // namespace

bool RemoveHugepages(const std::string& prefix, Mapped mapped, std::vector<std::string>& lines) {
  // They are named <prefix>map_<number>. EAL keeps a lock on each that is in use.
  bool clean = true;
  int removed = 0;
  for (const std::string& mount : MountPoints("hugetlbfs")) {
    for (const fs::path& path : EntriesOf(mount)) {
      const std::string name = path.filename();
      const std::string start = absl::StrCat(prefix, "map_");
      if (!name.starts_with(start) || name.size() == start.size() ||
          !std::all_of(name.begin() + static_cast<ptrdiff_t>(start.size()), name.end(),
                       [](char c) { return c >= '0' && c <= '9'; })) {
        continue;
      }
      const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
      const absl::Cleanup close_fd = [fd] {
        if (fd >= 0) close(fd);
      };
      const bool free = fd >= 0 && (mapped == Mapped::kRemove || flock(fd, LOCK_EX | LOCK_NB) == 0);
      if (!free || unlink(path.c_str()) != 0) {
        lines.push_back(absl::StrCat(ErrnoStatus(errno, path.native()).message(),
                                     "; this hugepage file stays"));
        clean = false;
      } else {
        ++removed;
      }
    }
  }
  if (removed > 0) {
    lines.push_back(absl::StrCat("removed ", removed, " hugepage files of prefix ", prefix));
  }
  return clean;
}

bool IsEalRunning(const std::string& runtime_directory) {
  // EAL's primary process keeps a record lock on its configuration file.
  const fs::path config = fs::path(runtime_directory) / "config";
  const int fd = open(config.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return false;
  const absl::Cleanup close_fd = [fd] { close(fd); };
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

bool UndoInterface(const InterfaceRecord& interface, std::vector<std::string>& lines) {
  const absl::StatusOr<std::string> name = InterfaceName(interface.ifindex);
  if (absl::IsNotFound(name.status())) return RemoveDispatcherPins(interface, lines);
  if (!name.ok()) {
    lines.push_back(absl::StrCat(interface.name, ": ", name.status().message()));
    return false;
  }
  const bool xdp = UndoXdp(interface, *name, lines) && RemoveDispatcherPins(interface, lines);
  const bool mtu = UndoMtu(interface, *name, lines);
  return UndoPromiscuous(interface, *name, lines) && xdp && mtu;
}

absl::StatusOr<std::vector<std::string>> Recover(const std::string& base) {
  std::vector<std::string> lines;
  std::error_code error;
  if (!fs::exists(base, error) && !error) return lines;
  PENSTOCK_ASSIGN_OR_RETURN(const FileLock base_lock, FileLock::OfBase(base));
  PENSTOCK_ASSIGN_OR_RETURN(const Life own, CurrentLife());
  for (const fs::path& directory : EntriesOf(base)) {
    struct stat status;
    if (!ValidateFilePrefix(directory.filename().native()).ok() ||
        lstat(directory.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) ||
        status.st_uid != geteuid()) {
      continue;  // not made by us
    }
    std::vector<std::string> found;
    RecoverDirectory(directory, own, found);
    for (const std::string& line : found) {
      lines.push_back(absl::StrCat(directory.native(), ": ", line));
    }
  }
  return lines;
}

}  // namespace penstock
