// SPDX-License-Identifier: BSD-3-Clause
//
// Files of commands, and what is none.

#include "lib/control/command_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Arguments = std::span<const std::string>;

class CommandFilesTest : public testing::Test {
 protected:
  CommandFilesTest() {
    char name[] = "/tmp/penstock_command_file_XXXXXX";
    folder_ = mkdtemp(name);
    EXPECT_TRUE(commands_
                    .Add({"say <word>", "",
                          [this](Arguments arguments, std::string& output) {
                            said_.push_back(arguments[0]);
                            absl::StrAppend(&output, "said ", arguments[0], "\n");
                            return absl::OkStatus();
                          }})
                    .ok());
    EXPECT_TRUE(
        commands_
            .Add({"fail", "",
                  [](Arguments, std::string&) { return absl::FailedPreconditionError("broken"); }})
            .ok());
    EXPECT_TRUE(
        commands_
            .Add({"quit", "", [](Arguments, std::string&) { return absl::CancelledError("quit"); }})
            .ok());
    EXPECT_TRUE(files_.AddCommand(commands_).ok());
  }
  ~CommandFilesTest() override { std::filesystem::remove_all(folder_); }

  std::string File(const std::string& name, const std::string& contents) {
    const std::string path = absl::StrCat(folder_, "/", name);
    std::ofstream(path, std::ios::binary) << contents;
    return path;
  }

  std::string folder_;
  std::vector<std::string> said_;
  CommandSet commands_;
  CommandFiles files_{commands_};
  std::string output_;
};

TEST_F(CommandFilesTest, RunsItsLinesAndShowsThem) {
  const std::string path = File("good", "# first\n\nsay a\n  say   b # trailing\r\n\t\nsay c");
  EXPECT_TRUE(files_.Run(path, output_).ok());
  EXPECT_THAT(said_, ElementsAre("a", "b", "c"));
  EXPECT_EQ(output_, "> say a\nsaid a\n> say b\nsaid b\n> say c\nsaid c\n");
  EXPECT_TRUE(files_.Run(File("empty", ""), output_).ok());
}

TEST_F(CommandFilesTest, StopsAtTheFirstErrorWithItsLine) {
  const std::string wrong = File("wrong", "say a\n# no\nsya b\nsay c\n");
  absl::Status status = files_.Run(wrong, output_);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(status.message()),
            wrong + ":3: \"sya\": accepted: say, fail, quit, load; type help for all commands");
  const std::string fails = File("fails", "fail\nsay d\n");
  status = files_.Run(fails, output_);
  EXPECT_EQ(status, absl::FailedPreconditionError(fails + ":1: broken"));
  EXPECT_THAT(said_, ElementsAre("a"));
  EXPECT_EQ(output_, "> say a\nsaid a\n> sya b\n> fail\n");
}

TEST_F(CommandFilesTest, AFileLoadsAFile) {
  const std::string inner = File("inner", "say b\nfail\n");
  const std::string outer = File("outer", absl::StrCat("say a\nload ", inner, "\nsay c\n"));
  EXPECT_EQ(commands_.Run("load " + outer, output_),
            absl::FailedPreconditionError(absl::StrCat(outer, ":2: ", inner, ":2: broken")));
  EXPECT_THAT(said_, ElementsAre("a", "b"));
}

TEST_F(CommandFilesTest, AFileThatLoadsItself) {
  const std::string path = absl::StrCat(folder_, "/loop");
  File("loop", absl::StrCat("say x\nload ", path, "\n"));
  const absl::Status status = files_.Run(path, output_);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("files load files more than 8 deep"));
  EXPECT_EQ(said_.size(), 8u);
  // And from the beginning again.
  EXPECT_TRUE(files_.Run(File("good", "say y\n"), output_).ok());
}

TEST_F(CommandFilesTest, TheEndOfTheSession) {
  const std::string inner = File("inner", "say a\nquit\nsay b\n");
  const std::string outer = File("outer", absl::StrCat("load ", inner, "\nsay c\n"));
  EXPECT_EQ(files_.Run(outer, output_), absl::CancelledError("quit"));
  EXPECT_THAT(said_, ElementsAre("a"));
}

TEST_F(CommandFilesTest, WhatIsNoFileOfCommands) {
  const std::string pipe = absl::StrCat(folder_, "/pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  struct {
    std::string path;
    std::string fault;
  } const kRows[] = {
      {absl::StrCat(folder_, "/none"), ": no such file; accepted: "},
      {folder_, ": not a regular file; accepted: "},
      {pipe, ": not a regular file; accepted: "},
      {"/dev/zero", ": not a regular file; accepted: "},
      {File("binary", std::string("say a\n\0say b\n", 13)), ": not a text file; accepted: "},
      {File("escape", "say a\n\x1b[2J\n"), ": not a text file; accepted: "},
      {File("long", std::string(CommandFiles::kMaxBytes + 1, '\n')),
       ": longer than 1048576 bytes; accepted: "},
      {"", ": no such file; accepted: "},
      {"a\nb", "a\\nb: no such file; accepted: "},
      {std::string(5000, 'a'), ": File name too long; accepted: "},
  };
  for (const auto& row : kRows) {
    const absl::Status status = files_.Run(row.path, output_);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(row.fault));
  }
  EXPECT_THAT(said_, IsEmpty());
  EXPECT_EQ(output_, "");
}

}  // namespace
}  // namespace penstock
