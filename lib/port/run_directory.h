// SPDX-License-Identifier: BSD-3-Clause
//
// The run directory: what a running instance has changed on the machine, written down so that the
// next start can undo it if this one is killed. Control thread only; each change of the record is a
// synced file write, so record what exists, not what happens.
//
//   BASE/                 0755, kDefaultRunBase unless the user names another
//   BASE/.lock            held (flock) while a directory is made or recovered
//   BASE/PREFIX/          0700, held (flock) by the living instance for as long as it lives
//   BASE/PREFIX/state.json  a RunRecord, replaced atomically
//
// PREFIX is the EAL's file prefix: unique per instance, so that several run together.
//
//   PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<RunDirectory> run,
//                             RunDirectory::Create(kDefaultRunBase, prefix));
//   PENSTOCK_RETURN_IF_ERROR(run->RecordInterface({.name = "eth1", .ifindex = 3, ...}));
//   ...
//   run.reset();  // a clean end: nothing of ours is left, so neither is the directory
//
// Recover() of recovery.h reads what dead lives left; call it before Create().

#ifndef PENSTOCK_LIB_PORT_RUN_DIRECTORY_H_
#define PENSTOCK_LIB_PORT_RUN_DIRECTORY_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/port/xdp_program.h"
#include "lib/text/json.h"

namespace penstock {

inline constexpr char kDefaultRunBase[] = "/run/penstock";
inline constexpr char kStateFileName[] = "state.json";

// One interface as we found it and as we changed it.
struct InterfaceRecord {
  std::string name;
  uint32_t ifindex = 0;
  // The program that is attached because of us, 0 if none. Only while exactly this id is attached
  // may anyone detach it.
  uint32_t xdp_program_id = 0;
  XdpMode xdp_mode = XdpMode::kDriver;
  // IFF_PROMISC before we touched the interface: if it was off and is on, it is to be cleared.
  bool was_promiscuous = false;
  // The MTU before we changed it and what we made it, both 0 if we did not: only while it is what
  // we made it may anyone change it back.
  uint16_t found_mtu = 0;
  uint16_t set_mtu = 0;
};

// Which process, of which boot, in which network namespace.
struct Life {
  pid_t pid = 0;
  // Field 22 of /proc/PID/stat, clock ticks since boot: tells a reused PID from the first holder.
  uint64_t start_time_ticks = 0;
  std::string boot_id;
  uint64_t pid_namespace_inode = 0;
  uint64_t net_namespace_inode = 0;
  // SO_NETNS_COOKIE, 0 where the kernel has none (before 5.14). An inode number of a namespace is
  // given to another one soon after its end; a cookie never is.
  uint64_t net_namespace_cookie = 0;
};

// The contents of state.json.
struct RunRecord {
  Life life;
  // Also the first part of the names of this instance's hugepage files, "<prefix>map_<number>".
  std::string file_prefix;
  // Where EAL keeps its files (config, sockets, fbarrays) for this prefix.
  std::string eal_runtime_directory;
  std::vector<InterfaceRecord> interfaces;
};

// Of the calling process.
absl::StatusOr<Life> CurrentLife();

// Whether the process is there: same boot, and the PID exists, is no zombie and started at that
// very time. Meaningful only if life.pid_namespace_inode is ours.
bool ProcessExists(const Life& life);

Json ToJson(const RunRecord& record);
absl::StatusOr<RunRecord> RunRecordFromJson(const Json& json);

// The record in a run directory BASE/PREFIX.
absl::StatusOr<RunRecord> ReadRunRecord(const std::string& directory);

// Whether the instance of a run directory is still running. Call it with the base locked.
bool IsLiving(const std::string& directory, const Life& life);

// One path component of letters, digits, '.', '_' and '-', at most 64 bytes and without a leading
// dot: it becomes a part of the names of directories, sockets and hugepage files.
absl::Status ValidateFilePrefix(absl::string_view prefix);

// Where EAL of a process with our user and environment keeps the files of `prefix`:
// $RUNTIME_DIRECTORY, else /var/run as root, else $XDG_RUNTIME_DIR, else /tmp; then "/dpdk/PREFIX".
std::string EalRuntimeDirectory(absl::string_view prefix);

// An flock on a file or a directory, released by the destructor or by the process's death, however
// it dies.
class FileLock {
 public:
  FileLock() = default;
  ~FileLock();
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;

  // Makes the file BASE/.lock if it is missing, and waits for it.
  static absl::StatusOr<FileLock> OfBase(const std::string& base);
  // Does not wait: Unavailable if another holds it. Refuses what is no directory of our user.
  static absl::StatusOr<FileLock> OfDirectory(const std::string& path);

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_ = -1;
};

class RunDirectory {
 public:
  // Makes BASE (0755) and its parents where missing and BASE/PREFIX (0700), and writes a record
  // without interfaces. AlreadyExists, naming the PID, if a living instance has this prefix;
  // FailedPrecondition if a dead one left something that is not undone.
  static absl::StatusOr<std::unique_ptr<RunDirectory>> Create(const std::string& base,
                                                              const std::string& prefix);

  // Removes the directory. Undo what is recorded first (recovery.h, UndoInterface()); if interfaces
  // are still recorded, the directory stays for the next start's Recover().
  ~RunDirectory();
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  const std::string& path() const { return path_; }
  const RunRecord& record() const { return record_; }

  // Adds the interface, or replaces what is recorded for its ifindex. On return it is on the disk;
  // after an error the record is as before.
  absl::Status RecordInterface(const InterfaceRecord& interface);
  absl::Status ForgetInterface(uint32_t ifindex);

 private:
  RunDirectory(std::string path, RunRecord record, FileLock lock);
  absl::Status Write(RunRecord record);

  std::string path_;
  RunRecord record_;
  FileLock lock_;
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_PORT_RUN_DIRECTORY_H_
