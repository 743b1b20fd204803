// SPDX-License-Identifier: BSD-3-Clause
#include "lib/control/prompt.h"

#include <cmdline.h>
#include <cmdline_parse.h>
#include <cmdline_rdline.h>
#include <cmdline_socket.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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

// The cmdline library edits, completes and explains lines; what a line means and how it may go on
// stays with CommandSet. So the instructions are few, and none is a command: one takes every line
// that is run, whole, and the others accept any words while a line is being completed, and then
// hand out what CommandSet says may come next. (The library's macros for making instructions are no
// valid C++ for every compiler; they are built here.)
class Prompt::Instructions {
 public:
  explicit Instructions(const CommandSet& commands) : commands_(commands) {
    Add(&kLineOps, 1, 0);
    Add(&kWordOps, kMaxWords, 0);
    for (size_t hint = 0; hint < kMaxHints; ++hint) Add(&kHintOps, kMaxWords, hint);
    context_.push_back(nullptr);
  }
  ~Instructions() {
    if (line_ != nullptr) cmdline_stdin_exit(line_);  // Which frees it.
    if (terminal_) tcsetattr(STDIN_FILENO, TCSANOW, &*terminal_);
    for (cmdline_parse_inst_t* instruction : context_) std::free(instruction);
  }
  Instructions(const Instructions&) = delete;
  Instructions& operator=(const Instructions&) = delete;

  absl::Status Open() {
    // The library shows its prompt before it takes the terminal over: what is typed in between, by
    // a program that waits for the prompt, would stand there twice.
    if (termios terminal; tcgetattr(STDIN_FILENO, &terminal) == 0) {
      terminal_ = terminal;
      terminal.c_lflag &= ~static_cast<tcflag_t>(ECHO);
      tcsetattr(STDIN_FILENO, TCSANOW, &terminal);
    }
    line_ = cmdline_stdin_new(context_.data(), "penstock> ");
    return line_ != nullptr ? absl::OkStatus() : absl::InternalError("cmdline_stdin_new failed");
  }

  bool Read() {
    std::array<char, 512> bytes;
    const ssize_t n = read(STDIN_FILENO, bytes.data(), bytes.size());
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return true;
    if (n <= 0) return false;
    // Line by line: each is run, or not, before the next is counted.
    absl::string_view rest(bytes.data(), static_cast<size_t>(n));
    while (!rest.empty()) {
      const size_t end = rest.find_first_of("\r\n");
      const absl::string_view piece = rest.substr(0, end == rest.npos ? end : end + 1);
      Count(piece);
      if (cmdline_in(line_, piece.data(), static_cast<int>(piece.size())) < 0) return false;
      rest.remove_prefix(piece.size());
    }
    return true;
  }

 private:
  static constexpr size_t kMaxWords = 257;     // As many as a line of the library's 512 bytes has.
  static constexpr size_t kLongestLine = 511;  // What is typed beyond it the library forgets.
  static constexpr size_t kMaxHints = 8;       // More than may stand in one place.

  // The word in one place of a line, as the library passes it around: by its header.
  struct Token {
    cmdline_parse_token_hdr_t header;
    Instructions* self;
    cmdline_parse_inst_t* instruction;
    size_t place;
    size_t hint;  // Which of the hints the instruction shows.
  };

  void Add(cmdline_token_ops* ops, size_t places, size_t hint) {
    // The library ends the list of tokens by a null pointer behind the structure.
    const size_t bytes =
        sizeof(cmdline_parse_inst_t) + (places + 1) * sizeof(cmdline_parse_token_hdr_t*);
    auto* const instruction = static_cast<cmdline_parse_inst_t*>(std::calloc(1, bytes));
    if (instruction == nullptr) return;
    instruction->f = &Run;
    instruction->data = this;
    for (size_t place = 0; place < places; ++place) {
      Token& token = tokens_.emplace_back(Token{{ops, 0}, this, instruction, place, hint});
      instruction->tokens[place] = &token.header;
    }
    context_.push_back(instruction);
  }

  // Keeps account of how long the line has become that `piece` goes on with, or begins.
  void Count(absl::string_view piece) {
    constexpr char kEndOfText = 3, kBackspace = 8, kDelete = 127;  // Control-C, and two that erase.
    for (const char c : piece) {
      const bool ends = c == '\r' || c == '\n';
      if (std::exchange(fresh_, ends) || c == kEndOfText) typed_ = 0;
      if (c == kBackspace || c == kDelete) {
        typed_ -= std::min<size_t>(typed_, 1);
      } else if (!ends) {
        ++typed_;
      }
    }
  }

  static void Run(void* line, cmdline*, void* data) {
    const Instructions& self = *static_cast<const Instructions*>(data);
    std::string output;
    const absl::Status status =
        self.typed_ > kLongestLine
            ? absl::InvalidArgumentError(absl::StrCat("a line of more than ", kLongestLine,
                                                      " characters, not run; accepted: a shorter "
                                                      "one, or a file of commands with load FILE"))
            : self.commands_.Run(static_cast<const char*>(line), output);
    const bool over = absl::IsCancelled(status);
    if (over) cmdline_quit(self.line_);
    if (!status.ok() && !over) absl::StrAppend(&output, "error: ", status.message(), "\n");
    WriteAll(STDOUT_FILENO, output);
  }

  // ---- What the library asks of a word. ----

  static const Token& Get(const cmdline_parse_token_hdr_t* header) {
    return *reinterpret_cast<const Token*>(header);  // Its first member.
  }

  // Cut to what the library has room for.
  static int Copy(absl::string_view text, char* to, unsigned bytes) {
    to[text.substr(0, bytes - 1).copy(to, bytes)] = '\0';
    return 0;
  }

  // Notes a word before the one that is being completed. `result` is null while a line is being
  // completed.
  static int MatchWord(cmdline_parse_token_hdr_t* header, const char* from, void* result,
                       unsigned) {
    if (result != nullptr) return -1;
    int n = 0;
    while (cmdline_isendoftoken(from[n]) == 0) ++n;
    const Token& token = Get(header);
    token.self->words_.resize(token.place);
    token.self->words_.emplace_back(from, static_cast<size_t>(n));
    return n;
  }

  static bool IsHint(const Candidate& candidate) {
    return candidate.word.empty() || candidate.word.front() == '<';
  }

  // Asks what may stand in the token's place; the library asks for the number first.
  static void Complete(const Token& token) {
    Instructions& self = *token.self;
    self.words_.resize(token.place);
    self.candidates_ = self.commands_.Complete(self.words_);
    std::vector<Candidate>& all = self.candidates_;
    const auto hints = std::stable_partition(all.begin(), all.end(), std::not_fn(&IsHint));
    self.hints_.assign(std::make_move_iterator(hints), std::make_move_iterator(all.end()));
    all.erase(hints, all.end());
  }

  static int CountWords(cmdline_parse_token_hdr_t* header) {
    Complete(Get(header));
    // To the library 0 is a word that cannot be listed; one that cannot be got is no word.
    return std::max(1, static_cast<int>(Get(header).self->candidates_.size()));
  }

  static int GetWord(cmdline_parse_token_hdr_t* header, int i, char* to, unsigned bytes) {
    const auto& candidates = Get(header).self->candidates_;
    Get(header).self->got_ = static_cast<size_t>(i);
    if (Get(header).self->got_ >= candidates.size()) return -1;
    // A word cut short would be completed wrongly.
    const std::string& word = candidates[static_cast<size_t>(i)].word;
    return word.size() < bytes ? Copy(word, to, bytes) : -1;
  }

  // The library asks for the help of the word it got last, and then reads that of the instruction.
  static int HelpWord(cmdline_parse_token_hdr_t* header, char* to, unsigned bytes) {
    const Token& token = Get(header);
    const Candidate& candidate = token.self->candidates_[token.self->got_];
    token.instruction->help_str = candidate.help.c_str();
    return Copy(candidate.word, to, bytes);
  }

  static int CountHints(cmdline_parse_token_hdr_t* header) {
    Complete(Get(header));
    return Get(header).hint < Get(header).self->hints_.size() ? 0 : 1;
  }

  static int HelpHint(cmdline_parse_token_hdr_t* header, char* to, unsigned bytes) {
    const Token& token = Get(header);
    const Candidate& candidate = token.self->hints_[token.hint];
    token.instruction->help_str = candidate.help.c_str();
    return Copy(candidate.word.empty() ? "RETURN" : candidate.word, to, bytes);
  }

  // Takes a line up to its end or a comment, once it is run.
  static int MatchLine(cmdline_parse_token_hdr_t*, const char* from, void* result, unsigned bytes) {
    if (result == nullptr) return -1;
    const size_t n = absl::string_view(from).find_first_of("#\r\n");
    if (n >= bytes) return -1;
    Copy({from, n}, static_cast<char*>(result), bytes);
    return static_cast<int>(n);
  }

  // One word that cannot be got: what the library takes for nothing to show.
  static int CountNothing(cmdline_parse_token_hdr_t*) { return 1; }
  static int GetNothing(cmdline_parse_token_hdr_t*, int, char*, unsigned) { return -1; }
  static int HelpNothing(cmdline_parse_token_hdr_t*, char*, unsigned) { return -1; }

  // Not const: the library does not take it so.
  static inline cmdline_token_ops kLineOps = {MatchLine, CountNothing, GetNothing, HelpNothing};
  static inline cmdline_token_ops kWordOps = {MatchWord, CountWords, GetWord, HelpWord};
  static inline cmdline_token_ops kHintOps = {MatchWord, CountHints, GetNothing, HelpHint};

  const CommandSet& commands_;
  std::vector<cmdline_parse_inst_t*> context_;
  std::list<Token> tokens_;  // A list: the library keeps pointers to its elements.
  cmdline* line_ = nullptr;
  std::optional<termios> terminal_;  // As it was, if there is one.
  size_t typed_ = 0;                 // Characters of the line so far.
  bool fresh_ = true;                // The next one begins a line.
  // Of the line being completed: the words before, and what may follow them.
  std::vector<std::string> words_;
  std::vector<Candidate> candidates_;
  std::vector<Candidate> hints_;
  size_t got_ = 0;
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

}  // namespace penstock
