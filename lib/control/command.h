// SPDX-License-Identifier: BSD-3-Clause
//
// Command: something a person or a program asks of a running dataplane, in words.
//
// A command's syntax is a line of words: a plain word stands for itself, `<name>` for any one word,
// `(a|b|c)` for one of several, `<name...>` at the end for one word or more. What ends a line may
// be left out where it stands in brackets: `start [tx_first [<bursts>]]`. What stands for words
// other than plain ones is handed to the function as arguments, in order; an optional plain word is
// an argument too, so that the function can tell:
//
//   CommandSet commands;
//   commands.Add({"show port stats (all|0|1)", "counters of ports", ShowPortStats});
//   std::string output;
//   // Calls ShowPortStats({"0"}, output):
//   absl::Status status = commands.Run("show port stats 0  # the first", output);
//
// Completion and help come from the same table. What may stand where `<name...>` stands only its
// command knows; it has a function for that:
//
//   commands.Add({"flow <rule...>", "rules for packets", RunFlow, CompleteFlow});
//   // Calls CompleteFlow({"create", "0"}):
//   std::vector<Candidate> next = commands.Complete(std::vector<std::string>{"flow", "create",
//   "0"});
//
// Control thread.

#ifndef PENSTOCK_LIB_CONTROL_COMMAND_H_
#define PENSTOCK_LIB_CONTROL_COMMAND_H_

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace penstock {

// One word of a syntax.
struct CommandWord {
  enum class Kind { kFixed, kAny, kChoice, kRest };
  Kind kind = Kind::kFixed;
  std::string text;                  // The word itself, or the argument's name.
  std::vector<std::string> choices;  // Of kChoice.
  bool optional = false;             // The line may end before it.

  bool Accepts(absl::string_view word) const;
};

// As a person is to read it: the word itself, "<name>", "<name...>", or "a, b".
std::string ShowWord(const CommandWord& word);

// What may stand next on a line.
struct Candidate {
  // To be typed as it is. "<name>" stands for something that only its user knows: shown, never
  // inserted. Empty: the line may end here.
  std::string word;
  std::string help;
};

struct Command {
  // Appends to `output` what is to be shown; the status says whether it worked. Cancelled: it did,
  // and the session is over.
  using Function =
      std::function<absl::Status(std::span<const std::string> arguments, std::string& output)>;
  // What may follow `words`, all of them whole, of those that `<name...>` stands for; the first may
  // still be missing. Empty when `words` begin nothing that would be accepted. Quick, and without
  // effects: it is asked at every Tab.
  using Completer = std::function<std::vector<Candidate>(std::span<const std::string> words)>;

  std::string syntax;
  std::string help;
  Function run;
  Completer complete = {};  // Of a syntax that ends in `<name...>`; without it, any word may stand.
};

class CommandSet {
 public:
  // What else people might type, answered in one line: says how many of the leading words it knows,
  // 0 for none, and fills in the answer.
  using Elsewhere = std::function<size_t(std::span<const std::string> words, std::string& answer)>;

  struct Entry {
    Command command;
    std::vector<CommandWord> words;
  };

  // InvalidArgument for a syntax that is no line of such words, AlreadyExists for one that is
  // there.
  absl::Status Add(Command command);

  // Asked about a line that no command accepts; its answer is used if it knows more of the line's
  // words than any command's syntax.
  void SetElsewhere(Elsewhere elsewhere) { elsewhere_ = std::move(elsewhere); }

  // Runs the first command whose words accept the line's, and returns what it returns.
  // InvalidArgument, in one line, names what the line could have gone on with where it left all
  // syntaxes. From '#' on a line is a comment. An empty line does nothing.
  absl::Status Run(absl::string_view line, std::string& output) const;

  // What may follow `words`, all of them whole, in the order of the commands; each word once.
  std::vector<Candidate> Complete(std::span<const std::string> words) const;

  std::span<const Entry> entries() const { return entries_; }

  // The commands that begin with `words`, or may, with their help, in the order added: all of them
  // without words. Empty when there are none. A command that knows what stands where its
  // `<name...>` stands, and which `words` reach, is followed by what may come next.
  std::string Help(std::span<const std::string> words = {}) const;

 private:
  std::vector<Entry> entries_;
  Elsewhere elsewhere_;
};

absl::StatusOr<std::vector<CommandWord>> ParseSyntax(absl::string_view syntax);

// The words of a line, without its comment.
std::vector<std::string> SplitLine(absl::string_view line);

}  // namespace penstock

#endif  // PENSTOCK_LIB_CONTROL_COMMAND_H_
