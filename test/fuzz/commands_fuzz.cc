// SPDX-License-Identifier: BSD-3-Clause
//
// Fuzz target of the prompt: any bytes run a command or are answered with one line, and what
// completion offers at any word is what a run accepts; what is known from testpmd is told of the
// words as they were typed. Single thread.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "app/penstock/testpmd_commands.h"
#include "lib/base/quote.h"
#include "lib/control/command.h"

namespace {

using penstock::Candidate;
using penstock::CommandSet;
using Words = std::span<const std::string>;

void Require(bool condition) {
  if (!condition) std::abort();
}

// Pairs of a name and a value, and then "end".
std::vector<Candidate> CompletePairs(Words words) {
  if (!words.empty() && words.back() == "end") return {{"", ""}};
  if (words.size() % 2 == 1) return {{"<value>", ""}};
  return {{"name", ""}, {"other", ""}, {"end", ""}};
}

// Every kind of word, and commands that differ late.
const CommandSet& Commands() {
  static const CommandSet* const commands = [] {
    auto* const set = new CommandSet;
    const auto run = [](Words arguments, std::string& output) {
      absl::StrAppend(&output, absl::StrJoin(arguments, ","));
      return absl::OkStatus();
    };
    for (const char* syntax :
         {"start [tx_first [<bursts>]]", "stop", "show fwd stats [all]",
          "show port stats (all|0|1)", "show port info (all|0|1)", "show config [(fwd|cores)]",
          "set burst <n>", "set eth-peer (0|1) <mac>", "show port <name> more", "help [<words...>]",
          "load <file>"}) {
      Require(set->Add({syntax, absl::StrCat("help of ", syntax), run}).ok());
    }
    Require(set->Add({"flow <rule...>", "rules", run, CompletePairs}).ok());
    set->SetElsewhere(penstock::InsteadOfTestpmdCommand);
    return set;
  }();
  return *commands;
}

// A run says OK and something, or one line and nothing else.
bool CheckRun(absl::string_view line) {
  std::string output = "before";
  const absl::Status status = Commands().Run(line, output);
  Require(output.rfind("before", 0) == 0);
  if (status.ok()) return true;
  Require(output == "before");
  Require(!status.message().empty() && status.message().size() < 1500);
  for (const char c : status.message()) Require(c >= 0x20 && c < 0x7f);
  return false;
}

bool IsHint(const Candidate& candidate) { return candidate.word.rfind('<', 0) == 0; }

void CheckCompletion(const std::vector<std::string>& words) {
  const bool runs = !words.empty() && CheckRun(absl::StrJoin(words, " "));
  bool ends = false;
  std::set<std::string> seen;
  for (const Candidate& candidate : Commands().Complete(words)) {
    Require(seen.insert(candidate.word).second);
    ends |= candidate.word.empty();
    if (candidate.word.empty() || IsHint(candidate)) continue;
    std::vector<std::string> longer = words;
    longer.push_back(candidate.word);
    Require(!Commands().Complete(longer).empty());
  }
  // The words of a rule are accepted whole, and judged by the command that takes them.
  if (words.empty() || words[0] == "flow") return;
  Require(ends == runs);
}

void CheckInstead(Words words) {
  std::string answer;
  const size_t known = penstock::InsteadOfTestpmdCommand(words, answer);
  Require(known <= words.size() && answer.empty() == (known == 0));
  if (known == 0) return;
  Require(absl::StartsWith(
      answer, absl::StrCat(penstock::Quote(absl::StrJoin(words.first(known), " ")), ": known")));
  for (const char c : answer) Require(c >= 0x20 && c < 0x7f);
  // More words are known of a longer line, not fewer.
  for (size_t n = 0; n < words.size(); ++n) {
    std::string shorter;
    Require(penstock::InsteadOfTestpmdCommand(words.first(n), shorter) <= known);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  CheckRun(text);
  const std::vector<std::string> words = penstock::SplitLine(text);
  constexpr size_t kMostWords = 64;  // Beyond, it is more of the same.
  CheckInstead(Words(words).first(std::min(words.size(), kMostWords)));
  std::vector<std::string> before;
  CheckCompletion(before);
  for (size_t i = 0; i < words.size() && i < kMostWords; ++i) {
    before.push_back(words[i]);
    CheckCompletion(before);
  }
  Commands().Help(before);
  static_cast<void>(penstock::ParseSyntax(text));
  return 0;
}
