// SPDX-License-Identifier: BSD-3-Clause
#include "lib/control/command.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lib/base/status.h"

namespace penstock {
namespace {

// Words of a line as they may stand in a message of one line.
std::string Quote(absl::string_view words) {
  constexpr size_t kMaxShown = 80;
  return absl::StrCat("\"", absl::CHexEscape(words.substr(0, kMaxShown)),
                      words.size() > kMaxShown ? "...\"" : "\"");
}

// How many leading words of `line` the syntax accepts.
size_t Matched(const std::vector<CommandWord>& syntax, const std::vector<std::string>& line) {
  size_t n = 0;
  while (n < syntax.size() && n < line.size() && syntax[n].Accepts(line[n])) ++n;
  return n;
}

}  // namespace

bool CommandWord::Accepts(absl::string_view word) const {
  switch (kind) {
    case Kind::kFixed:
      return word == text;
    case Kind::kAny:
      return !word.empty();
    case Kind::kChoice:
      return std::ranges::any_of(choices, [&](const std::string& c) { return c == word; });
  }
  return false;
}

std::string ShowWord(const CommandWord& word) {
  switch (word.kind) {
    case CommandWord::Kind::kFixed:
      return word.text;
    case CommandWord::Kind::kAny:
      return absl::StrCat("<", word.text, ">");
    case CommandWord::Kind::kChoice:
      return absl::StrJoin(word.choices, ", ");
  }
  return "";
}

absl::StatusOr<std::vector<CommandWord>> ParseSyntax(absl::string_view syntax) {
  std::vector<CommandWord> words;
  for (absl::string_view piece : absl::StrSplit(syntax, ' ', absl::SkipEmpty())) {
    CommandWord word;
    absl::string_view inside = piece;
    if (absl::ConsumePrefix(&inside, "<") && absl::ConsumeSuffix(&inside, ">")) {
      word.kind = CommandWord::Kind::kAny;
      word.text = std::string(inside);
    } else if (inside = piece;
               absl::ConsumePrefix(&inside, "(") && absl::ConsumeSuffix(&inside, ")")) {
      word.kind = CommandWord::Kind::kChoice;
      word.choices = absl::StrSplit(inside, '|');
    } else {
      word.text = std::string(piece);
    }
    // What the grammar uses itself, begins a comment, or separates the words of a line.
    static constexpr char kNoWord[] = "<>()|#\t\r\n";
    const bool stray =
        word.text.find_first_of(kNoWord) != std::string::npos ||
        std::ranges::any_of(word.choices, [](const std::string& choice) {
          return choice.empty() || choice.find_first_of(kNoWord) != std::string::npos;
        });
    if (stray || (word.kind != CommandWord::Kind::kChoice && word.text.empty())) {
      return absl::InvalidArgumentError(absl::StrCat("command syntax \"", syntax, "\": \"", piece,
                                                     "\" is no word, <name> or (a|b)"));
    }
    words.push_back(std::move(word));
  }
  if (words.empty() || words.front().kind != CommandWord::Kind::kFixed) {
    return absl::InvalidArgumentError(
        absl::StrCat("command syntax \"", syntax, "\" does not begin with a word"));
  }
  return words;
}

absl::Status CommandSet::Add(Command command) {
  PENSTOCK_ASSIGN_OR_RETURN(std::vector<CommandWord> words, ParseSyntax(command.syntax));
  for (const Entry& entry : entries_) {
    if (entry.command.syntax == command.syntax) {
      return absl::AlreadyExistsError(absl::StrCat("command \"", command.syntax, "\""));
    }
  }
  entries_.push_back({std::move(command), std::move(words)});
  return absl::OkStatus();
}

absl::Status CommandSet::Run(absl::string_view text, std::string& output) const {
  const std::vector<std::string> line =
      absl::StrSplit(text, absl::ByAnyChar(" \t\r\n"), absl::SkipEmpty());
  if (line.empty()) return absl::OkStatus();
  size_t furthest = 0;
  for (const Entry& entry : entries_) {
    const size_t matched = Matched(entry.words, line);
    furthest = std::max(furthest, matched);
    if (matched != line.size() || matched != entry.words.size()) continue;
    std::vector<std::string> arguments;
    for (size_t i = 0; i < line.size(); ++i) {
      if (entry.words[i].kind != CommandWord::Kind::kFixed) arguments.push_back(line[i]);
    }
    return entry.command.run(arguments, output);
  }
  // What could stand where the line left every syntax.
  std::set<std::string> accepted;
  for (const Entry& entry : entries_) {
    if (Matched(entry.words, line) < furthest) continue;
    accepted.insert(furthest < entry.words.size() ? ShowWord(entry.words[furthest])
                                                  : std::string("the end of the line"));
  }
  const std::vector<std::string> before(line.begin(), line.begin() + static_cast<long>(furthest));
  return absl::InvalidArgumentError(
      absl::StrCat(furthest < line.size() ? Quote(line[furthest]) : std::string("line ends"),
                   before.empty() ? "" : absl::StrCat(" after ", Quote(absl::StrJoin(before, " "))),
                   ": accepted: ", absl::StrJoin(accepted, ", "), "; type help for all commands"));
}

std::string CommandSet::Help() const {
  std::string text;
  for (const Entry& entry : entries_) {
    absl::StrAppendFormat(&text, "  %-36s %s\n", entry.command.syntax, entry.command.help);
  }
  return text;
}

}  // namespace penstock
