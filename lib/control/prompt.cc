// SPDX-License-Identifier: BSD-3-Clause
#include "lib/control/prompt.h"

#include <cmdline.h>
#include <cmdline_parse.h>
#include <cmdline_rdline.h>
#include <cmdline_socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <list>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/status.h"

namespace penstock {
namespace {

void WriteAll(int fd, absl::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;  // Nobody reads any more; the end of input will say so.
    text.remove_prefix(static_cast<size_t>(n));
  }
}

}  // namespace

// The cmdline library edits, completes and explains lines; what a line means stays with CommandSet.
// So a command is an instruction whose words match while a line is being completed and never when
// it is run, and one more instruction takes every line that is run, whole: the answer to a wrong
// one is then CommandSet's, which says what is accepted. (The library's macros for making
// instructions are no valid C++ for every compiler; they are built here.)
class Prompt::Instructions {
 public:
  explicit Instructions(const CommandSet& commands) : commands_(commands) {
    Add(&kLineOps, {CommandWord{}}, "");
    for (const CommandSet::Entry& entry : commands.entries()) {
      Add(&kWordOps, entry.words, absl::StrCat(entry.command.syntax, ": ", entry.command.help));
    }
    context_.push_back(nullptr);
  }
  ~Instructions() {
    if (line_ != nullptr) cmdline_stdin_exit(line_);  // Which frees it.
    for (cmdline_parse_inst_t* instruction : context_) std::free(instruction);
  }
  Instructions(const Instructions&) = delete;
  Instructions& operator=(const Instructions&) = delete;

  absl::Status Open() {
    line_ = cmdline_stdin_new(context_.data(), "penstock> ");
    return line_ != nullptr ? absl::OkStatus() : absl::InternalError("cmdline_stdin_new failed");
  }

  bool Read() {
    std::array<char, 512> bytes;
    const ssize_t n = read(STDIN_FILENO, bytes.data(), bytes.size());
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return true;
    if (n <= 0) return false;
    return cmdline_in(line_, bytes.data(), static_cast<int>(n)) >= 0;
  }

  void Quit() { cmdline_quit(line_); }

 private:
  // A word of a command, as the library passes it around: by its header.
  struct Token {
    cmdline_parse_token_hdr_t header;
    CommandWord word;
  };

  void Add(cmdline_token_ops* ops, const std::vector<CommandWord>& words, std::string help) {
    // The library ends the list of tokens by a null pointer behind the structure.
    const size_t bytes =
        sizeof(cmdline_parse_inst_t) + (words.size() + 1) * sizeof(cmdline_parse_token_hdr_t*);
    auto* const instruction = static_cast<cmdline_parse_inst_t*>(std::calloc(1, bytes));
    if (instruction == nullptr) return;
    instruction->f = &Run;
    instruction->data = this;
    instruction->help_str = texts_.emplace_back(std::move(help)).c_str();
    for (size_t i = 0; i < words.size(); ++i) {
      Token& token = tokens_.emplace_back(Token{{ops, 0}, words[i]});
      instruction->tokens[i] = &token.header;
    }
    context_.push_back(instruction);
  }

  static void Run(void* line, cmdline*, void* data) {
    const Instructions& self = *static_cast<const Instructions*>(data);
    std::string output;
    const absl::Status status = self.commands_.Run(static_cast<const char*>(line), output);
    if (!status.ok()) absl::StrAppend(&output, "error: ", status.message(), "\n");
    WriteAll(STDOUT_FILENO, output);
  }

  // ---- What the library asks of a word. ----

  static const CommandWord& WordOf(const cmdline_parse_token_hdr_t* header) {
    // Its first member.
    return reinterpret_cast<const Token*>(header)->word;
  }

  static int Copy(absl::string_view text, char* to, unsigned bytes) {
    if (text.size() >= bytes) return -1;
    to[text.copy(to, bytes)] = '\0';
    return 0;
  }

  // How many characters of `from` are this word; -1 when it does not begin with it. `result` is
  // null while a line is being completed.
  static int MatchWord(cmdline_parse_token_hdr_t* token, const char* from, void* result, unsigned) {
    if (result != nullptr) return -1;
    int n = 0;
    while (cmdline_isendoftoken(from[n]) == 0) ++n;
    return WordOf(token).Accepts({from, static_cast<size_t>(n)}) ? n : -1;
  }

  static int CountChoices(cmdline_parse_token_hdr_t* token) {
    switch (WordOf(token).kind) {
      case CommandWord::Kind::kFixed:
        return 1;
      case CommandWord::Kind::kChoice:
        return static_cast<int>(WordOf(token).choices.size());
      case CommandWord::Kind::kAny:
        return 0;
    }
    return 0;
  }

  static int GetChoice(cmdline_parse_token_hdr_t* token, int i, char* to, unsigned bytes) {
    const CommandWord& word = WordOf(token);
    const bool choice = word.kind == CommandWord::Kind::kChoice;
    return Copy(choice ? word.choices[static_cast<size_t>(i)] : word.text, to, bytes);
  }

  static int GetHelp(cmdline_parse_token_hdr_t* token, char* to, unsigned bytes) {
    return Copy(ShowWord(WordOf(token)), to, bytes);
  }

  // Takes a line up to its end or a comment, once it is run.
  static int MatchLine(cmdline_parse_token_hdr_t*, const char* from, void* result, unsigned bytes) {
    if (result == nullptr) return -1;
    size_t n = 0;
    while (!absl::StrContains(absl::string_view("\0#\r\n", 4), from[n])) ++n;
    return Copy({from, n}, static_cast<char*>(result), bytes) == 0 ? static_cast<int>(n) : -1;
  }

  // One choice that cannot be got: what the library takes for nothing to show.
  static int CountNothing(cmdline_parse_token_hdr_t*) { return 1; }
  static int GetNothing(cmdline_parse_token_hdr_t*, int, char*, unsigned) { return -1; }

  // Not const: the library does not take it so.
  static inline cmdline_token_ops kWordOps = {MatchWord, CountChoices, GetChoice, GetHelp};
  static inline cmdline_token_ops kLineOps = {MatchLine, CountNothing, GetNothing, GetHelp};

  const CommandSet& commands_;
  std::vector<cmdline_parse_inst_t*> context_;
  // Lists: the library keeps pointers to their elements.
  std::list<Token> tokens_;
  std::list<std::string> texts_;
  cmdline* line_ = nullptr;
};

absl::StatusOr<std::unique_ptr<Prompt>> Prompt::Create(const CommandSet& commands) {
  std::unique_ptr<Prompt> prompt(new Prompt(commands));
  PENSTOCK_RETURN_IF_ERROR(prompt->instructions_->Open());
  return prompt;
}

Prompt::Prompt(const CommandSet& commands)
    : instructions_(std::make_unique<Instructions>(commands)) {}

Prompt::~Prompt() = default;

bool Prompt::Read() { return instructions_->Read(); }

void Prompt::Quit() { instructions_->Quit(); }

}  // namespace penstock
