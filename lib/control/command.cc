// SPDX-License-Identifier: BSD-3-Clause
#include "lib/control/command.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lib/base/quote.h"
#include "lib/base/status.h"

namespace penstock {
namespace {

using Kind = CommandWord::Kind;

// How many leading words of `line` the syntax accepts.
size_t Matched(const std::vector<CommandWord>& syntax, std::span<const std::string> line) {
  size_t n = 0;
  while (n < syntax.size() && n < line.size() && syntax[n].Accepts(line[n])) {
    if (syntax[n].kind == Kind::kRest) return line.size();
    ++n;
  }
  return n;
}

// May a line of `n` words, which the syntax accepts, end there?
bool MayEnd(const std::vector<CommandWord>& syntax, size_t n) {
  return n >= syntax.size() || syntax[n].optional;
}

// The words that could stand in place `n`; a null pointer behind the last.
const CommandWord* WordAt(const std::vector<CommandWord>& syntax, size_t n) {
  if (n < syntax.size()) return &syntax[n];
  return syntax.back().kind == Kind::kRest ? &syntax.back() : nullptr;
}

absl::StatusOr<CommandWord> ParseWord(absl::string_view piece) {
  CommandWord word;
  absl::string_view inside = piece;
  if (absl::ConsumePrefix(&inside, "<") && absl::ConsumeSuffix(&inside, ">")) {
    word.kind = absl::ConsumeSuffix(&inside, "...") ? Kind::kRest : Kind::kAny;
    word.text = std::string(inside);
  } else if (inside = piece;
             absl::ConsumePrefix(&inside, "(") && absl::ConsumeSuffix(&inside, ")")) {
    word.kind = Kind::kChoice;
    word.choices = absl::StrSplit(inside, '|');
  } else {
    word.text = std::string(piece);
  }
  // What the grammar uses itself, begins a comment, or separates the words of a line.
  static constexpr char kNoWord[] = "<>()[]|#\t\r\n";
  const bool stray = word.text.find_first_of(kNoWord) != std::string::npos ||
                     std::ranges::any_of(word.choices, [](const std::string& choice) {
                       return choice.empty() || choice.find_first_of(kNoWord) != std::string::npos;
                     });
  if (stray || (word.kind != Kind::kChoice && word.text.empty())) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", piece, "\" is no word, <name>, <name...> or (a|b)"));
  }
  return word;
}

}  // namespace

bool CommandWord::Accepts(absl::string_view word) const {
  switch (kind) {
    case Kind::kFixed:
      return word == text;
    case Kind::kAny:
    case Kind::kRest:
      return !word.empty();
    case Kind::kChoice:
      return std::ranges::any_of(choices, [&](const std::string& c) { return c == word; });
  }
  return false;
}

std::string ShowWord(const CommandWord& word) {
  switch (word.kind) {
    case Kind::kFixed:
      return word.text;
    case Kind::kAny:
      return absl::StrCat("<", word.text, ">");
    case Kind::kRest:
      return absl::StrCat("<", word.text, "...>");
    case Kind::kChoice:
      return absl::StrJoin(word.choices, ", ");
  }
  return "";
}

absl::StatusOr<std::vector<CommandWord>> ParseSyntax(absl::string_view syntax) {
  const auto refuse = [&](absl::string_view fault) {
    return absl::InvalidArgumentError(absl::StrCat("command syntax \"", syntax, "\"", fault));
  };
  std::vector<CommandWord> words;
  size_t open = 0;      // Brackets.
  bool closed = false;  // One was: nothing but brackets may follow.
  for (absl::string_view piece : absl::StrSplit(syntax, ' ', absl::SkipEmpty())) {
    const bool optional = absl::ConsumePrefix(&piece, "[");
    if (closed || (!words.empty() && words.back().kind == Kind::kRest)) {
      return refuse(absl::StrCat(": \"", piece, "\" stands behind the end"));
    }
    open += optional ? 1 : 0;
    while (open > 0 && absl::ConsumeSuffix(&piece, "]")) {
      --open;
      closed = true;
    }
    absl::StatusOr<CommandWord> word = ParseWord(piece);
    if (!word.ok()) return refuse(absl::StrCat(": ", word.status().message()));
    word->optional = optional;
    words.push_back(*std::move(word));
  }
  if (words.empty() || words.front().kind != Kind::kFixed || words.front().optional) {
    return refuse(" does not begin with a word");
  }
  if (open > 0) return refuse(" has a bracket that is not closed");
  return words;
}

std::vector<std::string> SplitLine(absl::string_view line) {
  return absl::StrSplit(line.substr(0, line.find('#')), absl::ByAnyChar(" \t\r\n"),
                        absl::SkipEmpty());
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
  const std::vector<std::string> line = SplitLine(text);
  if (line.empty()) return absl::OkStatus();
  size_t furthest = 0;
  for (const Entry& entry : entries_) {
    const size_t matched = Matched(entry.words, line);
    furthest = std::max(furthest, matched);
    if (matched != line.size() || !MayEnd(entry.words, matched)) continue;
    std::vector<std::string> arguments;
    for (size_t i = 0; i < line.size(); ++i) {
      const CommandWord& word = *WordAt(entry.words, i);
      if (word.kind != Kind::kFixed || word.optional) arguments.push_back(line[i]);
    }
    return entry.command.run(arguments, output);
  }
  std::string answer;
  if (elsewhere_ && elsewhere_(line, answer) > furthest) return absl::InvalidArgumentError(answer);
  // What could stand where the line left every syntax.
  const std::span<const std::string> before = std::span(line).first(furthest);
  std::vector<std::string> accepted;
  for (const Candidate& candidate : Complete(before)) {
    accepted.push_back(candidate.word.empty() ? "the end of the line" : candidate.word);
  }
  return absl::InvalidArgumentError(
      absl::StrCat(furthest < line.size() ? Quote(line[furthest]) : std::string("line ends"),
                   before.empty() ? "" : absl::StrCat(" after ", Quote(absl::StrJoin(before, " "))),
                   ": accepted: ", absl::StrJoin(accepted, ", "), "; type help for all commands"));
}

std::vector<Candidate> CommandSet::Complete(std::span<const std::string> words) const {
  std::vector<Candidate> all;
  std::vector<const Entry*> of;  // Whose candidate it is, until several have it.
  // A word that several commands have says what follows it, in place of one command's help.
  const auto follows = [&](const Entry& entry) {
    const CommandWord* next = WordAt(entry.words, words.size() + 1);
    return next == nullptr ? std::string() : ShowWord(*next);
  };
  const auto add = [&](const Entry& entry, Candidate candidate) {
    const auto same = std::ranges::find(all, candidate.word, &Candidate::word);
    if (same == all.end()) {
      all.push_back(std::move(candidate));
      of.push_back(&entry);
      return;
    }
    const Entry*& first = of[static_cast<size_t>(same - all.begin())];
    if (first == &entry || candidate.word.empty()) return;
    if (first != nullptr) same->help = follows(*std::exchange(first, nullptr));
    const std::vector<absl::string_view> known = absl::StrSplit(same->help, ", ");
    const std::string next = follows(entry);
    if (!next.empty() && std::ranges::find(known, next) == known.end()) {
      absl::StrAppend(&same->help, same->help.empty() ? "" : ", ", next);
    }
  };
  for (const Entry& entry : entries_) {
    if (Matched(entry.words, words) != words.size()) continue;
    const Command& command = entry.command;
    const CommandWord* const word = WordAt(entry.words, words.size());
    if (word != nullptr && word->kind == Kind::kRest && command.complete) {
      const size_t fixed = entry.words.size() - 1;
      for (Candidate& next : command.complete(words.subspan(fixed))) add(entry, std::move(next));
      if (words.size() > fixed) continue;  // It says itself whether the line may end.
    } else if (word != nullptr && word->kind == Kind::kChoice) {
      for (const std::string& choice : word->choices) add(entry, {choice, command.help});
    } else if (word != nullptr) {
      add(entry, {ShowWord(*word), command.help});
    }
    if (MayEnd(entry.words, words.size())) add(entry, {"", command.help});
  }
  return all;
}

std::string CommandSet::Help(std::span<const std::string> words) const {
  std::string text;
  for (const Entry& entry : entries_) {
    if (Matched(entry.words, words) != words.size()) continue;
    const Command& command = entry.command;
    const size_t fixed = entry.words.size() - 1;
    std::vector<Candidate> next;
    if (command.complete && words.size() >= fixed) next = command.complete(words.subspan(fixed));
    if (next.empty() && command.complete && words.size() > fixed) continue;  // No such line.
    absl::StrAppendFormat(&text, "  %-36s %s\n", command.syntax, command.help);
    for (const Candidate& candidate : next) {
      absl::StrAppendFormat(&text, "    %-34s %s\n",
                            candidate.word.empty() ? "RETURN" : candidate.word, candidate.help);
    }
  }
  return text;
}

}  // namespace penstock
