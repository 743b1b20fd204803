// SPDX-License-Identifier: BSD-3-Clause
//
// Fuzz target of the command line: whatever the words, they ask for help or the version, or are a
// configuration that is good as a whole, or are refused with one line. EAL is not started. Single
// thread.
//
// An input is one word a line, without the program's name.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "app/penstock/eal_options.h"
#include "app/penstock/invocation.h"
#include "app/penstock/modes.h"
#include "lib/config/configuration.h"

namespace {

using penstock::Invocation;

void Require(bool condition) {
  if (!condition) std::abort();
}

// Bytes beyond ASCII may be of a name in UTF-8.
void CheckLine(absl::string_view message) {
  Require(!message.empty() && message.size() < 1500);
  for (const char c : message) Require(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const std::vector<std::string> words = absl::StrSplit(text, '\n');
  const auto parsed = penstock::ParseInvocation(words);
  if (!parsed.ok()) {
    CheckLine(parsed.status().message());
    return 0;
  }
  const auto has = [&words](absl::string_view word) { return absl::c_linear_search(words, word); };
  if (parsed->action != Invocation::Action::kRun) {
    Require(has("--help") || has("-h") || has("--version"));
    return 0;
  }
  Require(penstock::Validate(parsed->configuration).ok());
  Require(absl::c_any_of(penstock::Modes(), [&](const penstock::Mode& mode) {
    return mode.name == parsed->configuration.forward_mode;
  }));
  // All that is before "--" is EAL's, as it was given.
  Require(parsed->eal.size() <= words.size() &&
          std::equal(parsed->eal.begin(), parsed->eal.end(), words.begin()));
  Require(parsed->eal.size() == words.size() || words[parsed->eal.size()] == "--");
  Require(penstock::CheckEalArguments(parsed->eal).ok());
  return 0;
}
