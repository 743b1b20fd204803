// SPDX-License-Identifier: BSD-3-Clause
//
// Command files: lines for a CommandSet, in a file. Control thread.
//
// A line is a command as at the prompt, from '#' on a comment; empty lines are skipped. Each line
// is shown before what it answers. The first error ends the run; what ran before it stays done.
//
//   CommandFiles files(commands);
//   PENSTOCK_RETURN_IF_ERROR(files.AddCommand(commands));   // load <file>
//   absl::Status status = files.Run("lab.txt", output);     // "lab.txt:3: "strat": accepted: …"

#ifndef PENSTOCK_LIB_CONTROL_COMMAND_FILE_H_
#define PENSTOCK_LIB_CONTROL_COMMAND_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "lib/control/command.h"

namespace penstock {

class CommandFiles {
 public:
  static constexpr size_t kMaxBytes = size_t{1} << 20;
  static constexpr int kMaxDepth = 8;  // Files that load files.

  // `commands` outlives this.
  explicit CommandFiles(const CommandSet& commands) : commands_(commands) {}
  CommandFiles(const CommandFiles&) = delete;
  CommandFiles& operator=(const CommandFiles&) = delete;

  // Runs the file's lines and appends what they show. An error of a line has its code and
  // "FILE:LINE: " in front, Cancelled (the end of the session) nothing. InvalidArgument for what is
  // no file of commands: not a regular file, not text, longer than kMaxBytes, nested too deep.
  absl::Status Run(const std::string& path, std::string& output);

  // `load <file>`; this outlives it.
  absl::Status AddCommand(CommandSet& commands);

 private:
  absl::Status RunLines(const std::string& path, absl::string_view text, std::string& output);

  const CommandSet& commands_;
  int depth_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_CONTROL_COMMAND_FILE_H_
