// SPDX-License-Identifier: BSD-3-Clause
//
// Fuzz target of the options: whatever the value of whichever option, and whatever stands in a
// configuration file, the configuration is set or is as it was, with one line that says why; and
// what was set can be validated and compared. Single thread.
//
// An input is read three ways: as the value of every option, as NAME=VALUE, and as a file.

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/config/options.h"

namespace {

using penstock::Configuration;

void Require(bool condition) {
  if (!condition) std::abort();
}

void CheckLine(absl::string_view message) {
  Require(message.size() < 1200);
  for (const char c : message) Require(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
}

void CheckSet(absl::string_view name, absl::string_view value) {
  Configuration configuration;
  const absl::Status status = penstock::SetOption(configuration, name, value);
  const penstock::Change change = penstock::Difference(Configuration(), configuration);
  if (status.ok()) {
    const absl::string_view field = penstock::FieldOf(*penstock::FindOption(name));
    for (const std::string& option : change.options) Require(option == field);
    // Ranges of one value are the option's own; what is left is how values go together.
    if (const absl::Status valid = penstock::Validate(configuration); !valid.ok()) {
      Require(name == "txpkts" || name == "mbuf-size");
      CheckLine(valid.message());
    }
  } else {
    Require(configuration == Configuration() && change.options.empty());
    Require(absl::StartsWith(status.message(), "--"));
    Require(absl::StrContains(status.message(), ": accepted: ") ||
            absl::StrContains(status.message(), "; accepted: "));
    CheckLine(status.message());
  }
}

// A file that is only in memory.
class MemoryFile {
 public:
  explicit MemoryFile(absl::string_view contents) : fd_(memfd_create("fuzz", MFD_CLOEXEC)) {
    Require(fd_ >= 0);
    while (!contents.empty()) {
      const ssize_t written = write(fd_, contents.data(), contents.size());
      Require(written > 0);
      contents.remove_prefix(static_cast<size_t>(written));
    }
  }
  ~MemoryFile() { close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return absl::StrCat("/proc/self/fd/", fd_); }

 private:
  const int fd_;
};

void CheckFile(absl::string_view contents) {
  const MemoryFile file(contents);
  Configuration configuration;
  configuration.burst = 77;
  const Configuration before = configuration;
  const absl::Status status = penstock::LoadConfigurationFile(file.path(), configuration);
  if (status.ok()) {
    Require(!configuration.interactive);  // No option of a file.
    return;
  }
  Require(configuration == before);
  // With file, line and column.
  Require(absl::StartsWith(status.message(), absl::StrCat(file.path(), ":")));
  CheckLine(status.message());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  for (const penstock::Option& option : penstock::Options()) CheckSet(option.name, text);
  const size_t equals = text.find('=');
  if (equals != absl::string_view::npos) {
    CheckSet(text.substr(0, equals), text.substr(equals + 1));
  } else {
    CheckSet(text, "");
  }
  CheckFile(text);
  return 0;
}
