// SPDX-License-Identifier: BSD-3-Clause
//
// See file.h. Control path, any thread.

#include "lib/base/file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status.h"

namespace penstock {
namespace {

// A path may have any bytes, and a message is one line that moves no cursor. Names in UTF-8 are
// left.
std::string InMessage(const std::string& path) { return absl::Utf8SafeCHexEscape(path); }

// The status of a call on a path: "open(/etc/x): No such file or directory".
absl::Status CallError(absl::string_view call, const std::string& path) {
  const int err = errno;
  return ErrnoStatus(err, absl::StrCat(call, "(", InMessage(path), ")"));
}

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() {
    if (fd_ >= 0) close(fd_);
  }

  int get() const { return fd_; }
  int Close() {
    const int result = close(fd_);
    fd_ = -1;
    return result;
  }

 private:
  int fd_;
};

// A temporary file that is gone at the end of its scope unless it was renamed.
class TemporaryName {
 public:
  explicit TemporaryName(const std::string& beside) : name_(absl::StrCat(beside, ".XXXXXX")) {}
  TemporaryName(const TemporaryName&) = delete;
  TemporaryName& operator=(const TemporaryName&) = delete;
  ~TemporaryName() {
    if (exists_) unlink(name_.c_str());
  }

  const std::string& name() const { return name_; }
  int Create() {
    const int fd = mkostemp(name_.data(), O_CLOEXEC);
    exists_ = fd >= 0;
    return fd;
  }
  int RenameTo(const std::string& target) {
    const int result = rename(name_.c_str(), target.c_str());
    if (result == 0) exists_ = false;
    return result;
  }

 private:
  std::string name_;
  bool exists_ = false;
};

absl::Status WriteAll(int fd, absl::string_view contents, const std::string& path) {
  while (!contents.empty()) {
    const ssize_t written = write(fd, contents.data(), contents.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return CallError("write", path);
    }
    contents.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

absl::Status WriteInPlace(const std::string& path, absl::string_view contents) {
  // Non-blocking for the open alone: a named pipe without a reader is an error, not a wait for
  // ever.
  FileDescriptor fd(open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (fd.get() < 0) return CallError("open", path);
  const int flags = fcntl(fd.get(), F_GETFL);
  if (flags < 0 || fcntl(fd.get(), F_SETFL, flags & ~O_NONBLOCK) < 0) {
    return CallError("fcntl", path);
  }
  return WriteAll(fd.get(), contents, path);
}

// A rename lasts through a power failure once its directory is synced.
absl::Status SyncDirectoryOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "."
                                : slash == 0               ? "/"
                                                           : path.substr(0, slash);
  FileDescriptor fd(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0) return CallError("open", directory);
  // Some file systems cannot sync a directory and say EINVAL; the file itself is safe by then.
  if (fsync(fd.get()) != 0 && errno != EINVAL) return CallError("fsync", directory);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path, size_t max_bytes) {
  FileDescriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (fd.get() < 0) return CallError("open", path);
  std::string contents;
  char buffer[16384];
  for (;;) {
    const ssize_t got = read(fd.get(), buffer, sizeof(buffer));
    if (got < 0) {
      if (errno == EINTR) continue;
      return CallError("read", path);
    }
    if (got == 0) return contents;
    if (static_cast<size_t>(got) > max_bytes - contents.size()) {
      return absl::OutOfRangeError(
          absl::StrCat(InMessage(path), ": longer than the ", max_bytes, " bytes accepted"));
    }
    contents.append(buffer, static_cast<size_t>(got));
  }
}

absl::Status WriteFileAtomically(const std::string& path, absl::string_view contents) {
  std::string target = path;
  struct stat existing;
  if (stat(path.c_str(), &existing) == 0) {
    // Renaming over a device or a pipe would replace it by a file.
    if (!S_ISREG(existing.st_mode)) return WriteInPlace(path, contents);
    const std::unique_ptr<char, decltype(&free)> resolved(realpath(path.c_str(), nullptr), &free);
    if (resolved == nullptr) return CallError("realpath", path);
    target = resolved.get();
  } else if (errno != ENOENT) {
    return CallError("stat", path);
  }

  TemporaryName temporary(target);
  FileDescriptor fd(temporary.Create());
  if (fd.get() < 0) return CallError("mkostemp", temporary.name());
  PENSTOCK_RETURN_IF_ERROR(WriteAll(fd.get(), contents, temporary.name()));
  if (fchmod(fd.get(), 0644) != 0) return CallError("fchmod", temporary.name());
  if (fsync(fd.get()) != 0) return CallError("fsync", temporary.name());
  if (fd.Close() != 0) return CallError("close", temporary.name());
  if (temporary.RenameTo(target) != 0) return CallError("rename", target);
  return SyncDirectoryOf(target);
}

}  // namespace penstock
