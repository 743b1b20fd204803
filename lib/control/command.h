// SPDX-License-Identifier: BSD-3-Clause
//
// Command: something a person or a program asks of a running dataplane, in words.
//
// A command's syntax is a line of words: a plain word stands for itself, `<name>` for any one word,
// `(a|b|c)` for one of several. What stands for the last two is handed to the function as
// arguments, in order:
//
//   CommandSet commands;
//   commands.Add({"show port stats (all|0|1)", "counters of ports", ShowPortStats});
//   std::string output;
//   // Calls ShowPortStats({"0"}, output):
//   absl::Status status = commands.Run("show port stats 0", output);
//
// The prompt completes from the same table. Control thread.

#ifndef PENSTOCK_LIB_CONTROL_COMMAND_H_
#define PENSTOCK_LIB_CONTROL_COMMAND_H_

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace penstock {

// One word of a syntax.
struct CommandWord {
  enum class Kind { kFixed, kAny, kChoice };
  Kind kind = Kind::kFixed;
  std::string text;                  // The word itself, or the argument's name.
  std::vector<std::string> choices;  // Of kChoice.

  bool Accepts(absl::string_view word) const;
};

// As a person is to read it: the word itself, "<name>", or "a, b".
std::string ShowWord(const CommandWord& word);

struct Command {
  // Appends to `output` what is to be shown; the status says whether it worked.
  using Function =
      std::function<absl::Status(std::span<const std::string> arguments, std::string& output)>;

  std::string syntax;
  std::string help;
  Function run;
};

class CommandSet {
 public:
  struct Entry {
    Command command;
    std::vector<CommandWord> words;
  };

  // InvalidArgument for a syntax that is no line of such words, AlreadyExists for one that is
  // there.
  absl::Status Add(Command command);

  // Runs the first command whose words accept the line's, and returns what it returns.
  // InvalidArgument, in one line, names what the line could have gone on with where it left all
  // syntaxes. An empty line does nothing.
  absl::Status Run(absl::string_view line, std::string& output) const;

  std::span<const Entry> entries() const { return entries_; }

  // Every command with its help, in the order added.
  std::string Help() const;

 private:
  std::vector<Entry> entries_;
};

absl::StatusOr<std::vector<CommandWord>> ParseSyntax(absl::string_view syntax);

}  // namespace penstock

#endif  // PENSTOCK_LIB_CONTROL_COMMAND_H_
