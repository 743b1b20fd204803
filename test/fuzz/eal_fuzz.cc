// SPDX-License-Identifier: BSD-3-Clause
//
// Fuzz target of the words before "--": whatever they are, they are refused with one line or are
// completed with all of them still there; and what EAL might say of them becomes one line as well.
// EAL is not started. Single thread.
//
// An input is words between spaces and line ends; the lines are also what EAL says.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "app/penstock/eal_options.h"
#include "lib/port/eal.h"
#include "lib/port/eal_arguments.h"
#include "lib/port/eal_failure.h"
#include "lib/port/port_failure.h"

namespace {

using penstock::EalArguments;
using penstock::EalDevice;

void Require(bool condition) {
  if (!condition) std::abort();
}

void CheckLine(absl::string_view message) {
  Require(!message.empty() && message.size() < 1000);
  for (const char c : message) Require(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
}

void CheckWords(const std::vector<std::string>& words) {
  const absl::Status status = penstock::CheckEalArguments(words);
  if (!status.ok()) {
    Require(absl::IsInvalidArgument(status));
    CheckLine(status.message());
    return;
  }
  for (const uint64_t free_bytes : {uint64_t{0}, uint64_t{1} << 40}) {
    const EalArguments complete =
        penstock::CompleteEalArguments(words, 0, {.free_bytes = free_bytes}, "own");
    Require(complete.arguments.size() >= words.size());
    Require(std::equal(words.begin(), words.end(), complete.arguments.begin()));
    Require(!complete.file_prefix.empty());
    // What was added is good as well.
    Require(penstock::CheckEalArguments(complete.arguments).ok());
    const bool ordinary = penstock::HasEalArgument(complete.arguments, "--no-huge");
    Require(ordinary || free_bytes != 0 || penstock::HasEalArgument(words, "--in-memory") ||
            penstock::HasEalArgument(words, "--socket-mem") ||
            penstock::HasEalArgument(words, "--huge-dir"));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const std::vector<std::string> words =
      absl::StrSplit(text, absl::ByAnyChar(" \n"), absl::SkipEmpty());
  CheckWords(words);
  for (const EalDevice& device : penstock::EalDevices(words)) {
    CheckLine(device.typed);
    Require(absl::StartsWith(device.name, device.driver));
  }
  const std::vector<std::string> said = absl::StrSplit(text, '\n', absl::SkipEmpty());
  Require(!penstock::ExplainEalFailure(22, said, words).message().empty());
  const absl::Status failed = absl::UnavailableError("port 0");
  for (const char* driver : {"net_af_xdp", "net_tap", "net_memif", "net_null", ""}) {
    const absl::Status explained = penstock::ExplainPortFailure(failed, driver, said, ~uint64_t{0});
    Require(absl::StartsWith(explained.message(), "port 0"));
  }
  return 0;
}
