// SPDX-License-Identifier: BSD-3-Clause
#include "lib/control/command_file.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "lib/base/file.h"
#include "lib/base/quote.h"
#include "lib/base/status.h"

namespace penstock {
namespace {

absl::StatusOr<std::string> ReadText(const std::string& path) {
  const auto refuse = [&](absl::string_view fault) {
    return absl::InvalidArgumentError(absl::StrCat(Shown(path), ": ", fault,
                                                   "; accepted: a text file of commands, a line "
                                                   "each"));
  };
  // A pipe would wait for its writer while nobody looks after the lcores.
  std::error_code error;
  const std::filesystem::file_status there = std::filesystem::status(path, error);
  if (there.type() == std::filesystem::file_type::not_found) return refuse("no such file");
  if (error) return refuse(error.message());
  if (!std::filesystem::is_regular_file(there)) return refuse("not a regular file");
  const auto text = ReadFile(path, CommandFiles::kMaxBytes);
  if (absl::IsOutOfRange(text.status())) {
    return refuse(absl::StrCat("longer than ", CommandFiles::kMaxBytes, " bytes"));
  }
  if (!text.ok()) return absl::InvalidArgumentError(text.status().message());
  const bool binary = std::ranges::any_of(*text, [](char c) {
    return absl::ascii_iscntrl(static_cast<unsigned char>(c)) && c != '\n' && c != '\r' &&
           c != '\t';
  });
  if (binary) return refuse("not a text file");
  return *text;
}

}  // namespace

absl::Status CommandFiles::Run(const std::string& path, std::string& output) {
  if (depth_ == kMaxDepth) {
    return absl::InvalidArgumentError(
        absl::StrCat(Shown(path), ": files load files ", "more than ", kMaxDepth, " deep"));
  }
  PENSTOCK_ASSIGN_OR_RETURN(const std::string text, ReadText(path));
  ++depth_;
  absl::Status status = RunLines(path, text, output);
  --depth_;
  return status;
}

absl::Status CommandFiles::RunLines(const std::string& path, absl::string_view text,
                                    std::string& output) {
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    const std::vector<std::string> words = SplitLine(line);
    if (words.empty()) continue;
    absl::StrAppend(&output, "> ", absl::StrJoin(words, " "), "\n");
    const absl::Status status = commands_.Run(line, output);
    if (absl::IsCancelled(status)) return status;
    PENSTOCK_RETURN_IF_ERROR(WithContext(status, absl::StrCat(Shown(path), ":", number)));
  }
  return absl::OkStatus();
}

absl::Status CommandFiles::AddCommand(CommandSet& commands) {
  return commands.Add({"load <file>", "run the commands in a file, up to the first error",
                       [this](std::span<const std::string> arguments, std::string& output) {
                         return Run(arguments[0], output);
                       }});
}

}  // namespace penstock
