// SPDX-License-Identifier: BSD-3-Clause
//
// The prompt, at a terminal of its own and between two pipes, in place of the test's standard input
// and output. Main lcore.

#include "lib/control/prompt.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

using Arguments = std::span<const std::string>;

// Standard input and output are other files while this lives; nothing of googletest's gets there.
class Redirection {
 public:
  Redirection(int in, int out) {
    std::fflush(stdout);
    saved_in_ = dup(STDIN_FILENO);
    saved_out_ = dup(STDOUT_FILENO);
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
  }
  ~Redirection() {
    std::fflush(stdout);
    Put(saved_in_, STDIN_FILENO);
    Put(saved_out_, STDOUT_FILENO);
  }
  Redirection(const Redirection&) = delete;
  Redirection& operator=(const Redirection&) = delete;

 private:
  static void Put(int saved, int where) {
    if (saved < 0) {  // It was closed before.
      close(where);
    } else {
      dup2(saved, where);
      close(saved);
    }
  }

  int saved_in_;
  int saved_out_;
};

// Collects what comes out of a file, to its end, so that whoever writes is never held up.
class Collector {
 public:
  explicit Collector(int fd)
      : thread_([this, fd] {
          char bytes[512];
          // The end of a pseudo-terminal is an error, that of a pipe 0 bytes.
          for (ssize_t n; (n = read(fd, bytes, sizeof(bytes))) > 0;) {
            text_.append(bytes, static_cast<size_t>(n));
          }
        }) {}
  std::string Text() && {
    thread_.join();
    return std::move(text_);
  }

 private:
  std::string text_;
  std::thread thread_;
};

// Control-C gives up what stands on the line, so that control-D after it ends the input.
constexpr char kEnd[] = "\x03\x04";

class PromptTest : public testing::Test {
 protected:
  PromptTest() {
    for (const char* syntax :
         {"greet <name>", "show port (all|one)", "show port <other>", "show plan", "start"}) {
      Add(syntax);
    }
    EXPECT_TRUE(commands_
                    .Add({"fail", "always",
                          [](Arguments, std::string& output) {
                            output += "so far\n";
                            return absl::UnavailableError("no further");
                          }})
                    .ok());
  }

  void Add(const char* syntax) {
    const absl::Status status =
        commands_.Add({syntax, absl::StrCat("help of ", syntax),
                       [this, syntax](Arguments arguments, std::string& output) {
                         ran_.push_back(absl::StrCat(syntax, ": ", absl::StrJoin(arguments, ",")));
                         absl::StrAppend(&output, "ran ", ran_.back(), "\n");
                         return absl::OkStatus();
                       }});
    EXPECT_TRUE(status.ok()) << status;
  }

  // Types `input` and then the end; returns what was on the screen. `prompted` is called when the
  // prompt is there and nothing typed yet.
  std::string AtTerminal(const std::string& input, const std::function<void()>& prompted = {}) {
    const int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    EXPECT_GE(master, 0);
    EXPECT_EQ(grantpt(master), 0);
    EXPECT_EQ(unlockpt(master), 0);
    const int slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
    EXPECT_GE(slave, 0);
    termios before{};
    termios after{};
    tcgetattr(slave, &before);
    Collector screen(master);
    bool created = false;
    {
      const Redirection redirection(slave, slave);
      const auto prompt = Prompt::Create(commands_);
      created = prompt.ok();
      if (created) {
        if (prompted) prompted();
        const std::string typed = input + kEnd;
        created = write(master, typed.data(), typed.size()) == static_cast<ssize_t>(typed.size());
        while (created && (*prompt)->Read()) {
        }
      }
    }
    EXPECT_TRUE(created);
    tcgetattr(slave, &after);
    EXPECT_EQ(after.c_lflag, before.c_lflag) << "the terminal is not as it was found";
    close(slave);
    std::string text = std::move(screen).Text();
    close(master);
    return text;
  }

  // The same from a pipe that then ends, into another.
  std::string BetweenPipes(const std::string& input) {
    int in[2];
    int out[2];
    EXPECT_EQ(pipe2(in, O_CLOEXEC), 0);
    EXPECT_EQ(pipe2(out, O_CLOEXEC), 0);
    EXPECT_EQ(write(in[1], input.data(), input.size()), static_cast<ssize_t>(input.size()));
    close(in[1]);
    Collector output(out[0]);
    {
      const Redirection redirection(in[0], out[1]);
      const auto prompt = Prompt::Create(commands_);
      while (prompt.ok() && (*prompt)->Read()) {
      }
    }
    close(in[0]);
    close(out[1]);
    std::string text = std::move(output).Text();
    close(out[0]);
    return text;
  }

  CommandSet commands_;
  std::vector<std::string> ran_;
};

TEST_F(PromptTest, LinesRunCommands) {
  const std::string typed_long(400, 'x');
  struct {
    const char* name;
    std::string typed;
    std::vector<std::string> ran;
  } const kRows[] = {
      {"a line", "greet ann\n", {"greet <name>: ann"}},
      {"as a terminal sends it", "greet ann\r", {"greet <name>: ann"}},
      {"several lines, in order",
       "start\nshow port one\ngreet bob\n",
       {"start: ", "show port (all|one): one", "greet <name>: bob"}},
      {"empty lines", "\n\n  \nstart\n", {"start: "}},
      {"blanks", "  greet   ann  \n", {"greet <name>: ann"}},
      {"a comment", "greet ann # and nobody else\n# start\n", {"greet <name>: ann"}},
      {"no line end", "start", {}},
      {"of two commands that accept it, the first",
       "show port all\n",
       {"show port (all|one): all"}},
      {"of which one does not", "show port two\n", {"show port <other>: two"}},
      {"a long word",
       absl::StrCat("greet ", typed_long, "\n"),
       {absl::StrCat("greet <name>: ", typed_long)}},
      {"a correction", "greet anm\x7fn\n", {"greet <name>: ann"}},
      {"a line given up by control-C", "greet ann\x03start\n", {"start: "}},
      {"control-D within a line is no end",
       "gre\x04"
       "et ann\n",
       {"greet <name>: ann"}},
      {"the line before, by the arrow up",
       "greet ann\n\x1b[A\n",
       {"greet <name>: ann", "greet <name>: ann"}},
      {"completion of a word", "gr\tann\n", {"greet <name>: ann"}},
      {"completion of two words and a choice",
       "sh\tpl\t\nsh\tpo\to\t\n",
       {"show plan: ", "show port (all|one): one"}},
      {"completion that is not unique", "s\ttart\n", {"start: "}},
      {"nothing to complete", "x\t\nstart\n", {"start: "}},
      {"help within a line", "show ?plan\n", {"show plan: "}},
      {"a fault, then a right line", "stop\nstart\n", {"start: "}},
      {"not a prefix", "sta\n", {}},
  };
  for (const auto& row : kRows) {
    ran_.clear();
    const std::string screen = AtTerminal(row.typed);
    EXPECT_EQ(ran_, row.ran) << row.name << "\n" << screen;
    EXPECT_THAT(screen, HasSubstr("penstock> "));
    for (const std::string& each : row.ran) EXPECT_THAT(screen, HasSubstr("ran " + each));
  }
}

TEST_F(PromptTest, AWrongLineIsAnsweredAsTheCommandsAnswerIt) {
  for (const char* line : {"stop", "show", "show port", "show port one more", "greet", "start now",
                           "sta", "greet a b c"}) {
    std::string output;
    const absl::Status status = commands_.Run(line, output);
    ASSERT_FALSE(status.ok()) << line;
    const std::string error = absl::StrCat("error: ", status.message());
    EXPECT_THAT(AtTerminal(absl::StrCat(line, "\n")), HasSubstr(error + "\r\n")) << line;
    EXPECT_THAT(BetweenPipes(absl::StrCat(line, "\n")), HasSubstr(error + "\n")) << line;
    EXPECT_THAT(ran_, IsEmpty());
  }
}

TEST_F(PromptTest, WhatACommandShowedBeforeItFailedIsShown) {
  EXPECT_THAT(AtTerminal("fail\n"), HasSubstr("so far\r\nerror: no further\r\n"));
}

TEST_F(PromptTest, TheQuestionMarkExplains) {
  struct {
    const char* typed;
    std::vector<std::string> lines;
  } const kRows[] = {
      {"?",
       {" greet [greet]: help of greet <name>", " show [show]: port, plan",
        " start [start]: help of start", " fail [fail]: always"}},
      {"show port ?",
       {" all [all]: help of show port (all|one)", " one [one]: help of show port (all|one)",
        " [<other>]: help of show port <other>"}},
      {"show port o?",
       {" one [one]: help of show port (all|one)", " [<other>]: help of show port <other>"}},
      {"greet an?", {" [<name>]: help of greet <name>"}},
      {"start ?", {" [RETURN]: help of start"}},
      {"x ?", {}},
      {"# ?", {}},
      // Tab lists what is not unique.
      {"show p\t", {" port [port]: all, one, <other>", " plan [plan]: help of show plan"}},
      {"greet \t", {" [<name>]: help of greet <name>"}},
  };
  for (const auto& row : kRows) {
    std::vector<std::string> lines;
    for (absl::string_view line : absl::StrSplit(AtTerminal(row.typed), "\r\r\n")) {
      if (absl::StrContains(line, "]: ")) lines.emplace_back(line);
    }
    EXPECT_EQ(lines, row.lines) << row.typed;
  }
  EXPECT_THAT(ran_, IsEmpty());
}

TEST_F(PromptTest, ATerminalIsInRawModeOnlyWhileThePromptIsThere) {
  termios during{};
  bool read = false;
  // AtTerminal looks at before and after.
  AtTerminal("", [&] { read = tcgetattr(STDIN_FILENO, &during) == 0; });
  ASSERT_TRUE(read);
  EXPECT_EQ(during.c_lflag & (ICANON | ECHO | ISIG), 0u);
}

TEST_F(PromptTest, BetweenPipesTheEndOfTheInputEndsIt) {
  const std::string output = BetweenPipes("greet ann\nshow plan\nstart");
  EXPECT_THAT(ran_, ElementsAre("greet <name>: ann", "show plan: "));
  EXPECT_THAT(output, HasSubstr("ran greet <name>: ann\n"));
  EXPECT_EQ(BetweenPipes("").find("ran"), std::string::npos);
}

TEST_F(PromptTest, ReaderThatWentAway) {
  int in[2];
  int out[2];
  ASSERT_EQ(pipe2(in, O_CLOEXEC), 0);
  ASSERT_EQ(pipe2(out, O_CLOEXEC), 0);
  ASSERT_EQ(write(in[1], "start\nstart\n", 12), 12);
  close(in[1]);
  close(out[0]);
  // A program that has a prompt ignores SIGPIPE.
  const auto former = signal(SIGPIPE, SIG_IGN);
  {
    const Redirection redirection(in[0], out[1]);
    const auto prompt = Prompt::Create(commands_);
    while (prompt.ok() && (*prompt)->Read()) {
    }
  }
  signal(SIGPIPE, former);
  close(in[0]);
  close(out[1]);
  EXPECT_THAT(ran_, ElementsAre("start: ", "start: "));
}

TEST_F(PromptTest, ALaterCommandRunsAndIsCompleted) {
  AtTerminal("later x\nlat\tx\n", [this] { Add("later <name>"); });
  EXPECT_THAT(ran_, ElementsAre("later <name>: x", "later <name>: x"));
}

TEST_F(PromptTest, WithoutCommands) {
  commands_ = CommandSet();
  EXPECT_THAT(AtTerminal("?\t\nx\n"), HasSubstr("error: \"x\""));
}

}  // namespace
}  // namespace penstock
