// SPDX-License-Identifier: BSD-3-Clause
//
// Fuzz target of command files: whatever is in one, its lines run in order up to the first that is
// wrong, which is told by its number; a file that loads itself comes to an end. Single thread.
//
// An input is the file; its words may name it as "self".

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "lib/control/command_file.h"

namespace {

using penstock::CommandFiles;
using penstock::CommandSet;
using Words = std::span<const std::string>;

void Require(bool condition) {
  if (!condition) std::abort();
}

// A file that is only in memory, the same for all inputs.
class MemoryFile {
 public:
  MemoryFile() : fd_(memfd_create("fuzz", MFD_CLOEXEC)) { Require(fd_ >= 0); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  void Write(absl::string_view contents) const {
    Require(ftruncate(fd_, 0) == 0);
    Require(pwrite(fd_, contents.data(), contents.size(), 0) ==
            static_cast<ssize_t>(contents.size()));
  }
  std::string path() const { return absl::StrCat("/proc/self/fd/", fd_); }

 private:
  const int fd_;
};

// Ran, in all.
size_t lines = 0;

struct Session {
  Session() : files(commands) {
    const auto says = [](Words, std::string& output) {
      ++lines;
      absl::StrAppend(&output, "said\n");
      return absl::OkStatus();
    };
    Require(commands.Add({"say [<words...>]", "says", says}).ok());
    Require(commands
                .Add({"quit", "ends",
                      [](Words, std::string&) {
                        ++lines;
                        return absl::CancelledError("quit");
                      }})
                .ok());
    Require(files.AddCommand(commands).ok());
  }

  CommandSet commands;
  CommandFiles files;
};

size_t Occurrences(absl::string_view text, absl::string_view of) {
  size_t n = 0;
  for (size_t at = text.find(of); at != text.npos; at = text.find(of, at + of.size())) ++n;
  return n;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const MemoryFile file;
  static Session session;
  const absl::string_view input(reinterpret_cast<const char*>(data), size);
  // Each of the lines that load would run all lines of all depths: more of the same.
  if (size > 4096 || Occurrences(input, "load") > 2) return 0;
  const std::string text = absl::StrReplaceAll(input, {{"self", file.path()}});
  file.Write(text);
  for (int i = 0; i < 2; ++i) {  // The same again: nothing is left of the first run.
    lines = 0;
    std::string output = "before\n";
    const absl::Status status = session.files.Run(file.path(), output);
    Require(absl::StartsWith(output, "before\n"));
    // Every line that ran, and at most one that did not at each depth, was shown before its answer.
    const size_t shown = Occurrences(output, "\n> ");
    Require(shown >= lines);
    if (status.ok()) continue;
    if (absl::IsCancelled(status)) {
      Require(absl::StrContains(text, "quit"));
      continue;
    }
    Require(absl::IsInvalidArgument(status));
    Require(absl::StartsWith(status.message(), absl::StrCat(file.path(), ":")) ||
            absl::StartsWith(status.message(), absl::StrCat("\"", file.path(), "\":")));
    Require(status.message().size() < 3000);
    for (const char c : status.message()) Require(c >= 0x20 && c < 0x7f);
  }
  return 0;
}
