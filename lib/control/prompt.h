// SPDX-License-Identifier: BSD-3-Clause
//
// Prompt: a CommandSet at a terminal, on DPDK's cmdline library: line editing, history, completion
// with Tab, help with '?'; from '#' on a line is a comment. Control thread.
//
//   PENSTOCK_ASSIGN_OR_RETURN(auto prompt, Prompt::Create(commands));
//   when standard input has bytes:  if (!prompt->Read()) quit
//
// It reads standard input and writes standard output; where that is a terminal, it is in raw mode
// until the Prompt goes.

#ifndef PENSTOCK_LIB_CONTROL_PROMPT_H_
#define PENSTOCK_LIB_CONTROL_PROMPT_H_

#include <memory>

#include "absl/status/statusor.h"
#include "lib/control/command.h"

namespace penstock {

class Prompt {
 public:
  // `commands` outlives the prompt.
  static absl::StatusOr<std::unique_ptr<Prompt>> Create(const CommandSet& commands);
  ~Prompt();
  Prompt(const Prompt&) = delete;
  Prompt& operator=(const Prompt&) = delete;

  // Takes the bytes that are there and runs the lines they complete; what a command shows, or the
  // one line "error: …", is written at once. Waits when there are none. False when the session is
  // over: end of file, control-D on an empty line, or a command that returned Cancelled, behind
  // which nothing is run. Control-C gives up the line.
  bool Read();

 private:
  class Instructions;
  explicit Prompt(const CommandSet& commands);

  std::unique_ptr<Instructions> instructions_;
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_CONTROL_PROMPT_H_
