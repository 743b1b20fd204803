// SPDX-License-Identifier: BSD-3-Clause
//
// The grammar of commands, and what a wrong line is answered.

#include "lib/control/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Arguments = std::span<const std::string>;
using Kind = CommandWord::Kind;

TEST(ParseSyntaxTest, WordsOfEachKind) {
  const auto words = ParseSyntax("  show port  stats (all|0|1) <name>");
  ASSERT_TRUE(words.ok()) << words.status();
  ASSERT_EQ(words->size(), 5u);
  struct {
    Kind kind;
    std::string text;
    std::vector<std::string> choices;
    std::string shown;
  } const kExpected[] = {
      {Kind::kFixed, "show", {}, "show"},   {Kind::kFixed, "port", {}, "port"},
      {Kind::kFixed, "stats", {}, "stats"}, {Kind::kChoice, "", {"all", "0", "1"}, "all, 0, 1"},
      {Kind::kAny, "name", {}, "<name>"},
  };
  for (size_t i = 0; i < words->size(); ++i) {
    const CommandWord& word = (*words)[i];
    EXPECT_EQ(word.kind, kExpected[i].kind) << i;
    EXPECT_EQ(word.text, kExpected[i].text) << i;
    EXPECT_EQ(word.choices, kExpected[i].choices) << i;
    EXPECT_EQ(ShowWord(word), kExpected[i].shown) << i;
  }
}

TEST(ParseSyntaxTest, WhatIsNoSyntax) {
  struct {
    std::string syntax;
    std::string message;
  } const kRows[] = {
      {"", "command syntax \"\" does not begin with a word"},
      {"   ", "command syntax \"   \" does not begin with a word"},
      {"<name> x", "command syntax \"<name> x\" does not begin with a word"},
      {"(a|b) x", "command syntax \"(a|b) x\" does not begin with a word"},
      {"x <>", "command syntax \"x <>\": \"<>\" is no word, <name>, <name...> or (a|b)"},
      {"x <a", "command syntax \"x <a\": \"<a\" is no word, <name>, <name...> or (a|b)"},
      {"x a>", "command syntax \"x a>\": \"a>\" is no word, <name>, <name...> or (a|b)"},
      {"x <a b>", "command syntax \"x <a b>\": \"<a\" is no word, <name>, <name...> or (a|b)"},
      {"x <a|b>", "command syntax \"x <a|b>\": \"<a|b>\" is no word, <name>, <name...> or (a|b)"},
      {"x ()", "command syntax \"x ()\": \"()\" is no word, <name>, <name...> or (a|b)"},
      {"x (a||b)",
       "command syntax \"x (a||b)\": \"(a||b)\" is no word, <name>, <name...> or (a|b)"},
      {"x (a|)", "command syntax \"x (a|)\": \"(a|)\" is no word, <name>, <name...> or (a|b)"},
      {"x (a", "command syntax \"x (a\": \"(a\" is no word, <name>, <name...> or (a|b)"},
      {"x (a|<b>)",
       "command syntax \"x (a|<b>)\": \"(a|<b>)\" is no word, <name>, <name...> or (a|b)"},
      {"x a|b", "command syntax \"x a|b\": \"a|b\" is no word, <name>, <name...> or (a|b)"},
      {"x #1", "command syntax \"x #1\": \"#1\" is no word, <name>, <name...> or (a|b)"},
      {"x (a|#)", "command syntax \"x (a|#)\": \"(a|#)\" is no word, <name>, <name...> or (a|b)"},
      {"x <...>", "command syntax \"x <...>\": \"<...>\" is no word, <name>, <name...> or (a|b)"},
      {"x [] y", "command syntax \"x [] y\": \"\" is no word, <name>, <name...> or (a|b)"},
      {"x y]", "command syntax \"x y]\": \"y]\" is no word, <name>, <name...> or (a|b)"},
      {"x [[y]]", "command syntax \"x [[y]]\": \"[y]\" is no word, <name>, <name...> or (a|b)"},
      {"x [y]]", "command syntax \"x [y]]\": \"y]\" is no word, <name>, <name...> or (a|b)"},
      {"[x] y", "command syntax \"[x] y\": \"y\" stands behind the end"},
      {"[x]", "command syntax \"[x]\" does not begin with a word"},
      {"x [y", "command syntax \"x [y\" has a bracket that is not closed"},
      {"x [y [z]", "command syntax \"x [y [z]\" has a bracket that is not closed"},
      {"x [y] z", "command syntax \"x [y] z\": \"z\" stands behind the end"},
      {"x [y] [z]", "command syntax \"x [y] [z]\": \"z]\" stands behind the end"},
      {"x <y...> z", "command syntax \"x <y...> z\": \"z\" stands behind the end"},
      // No line could have such a word.
      {"x\ty", "command syntax \"x\ty\": \"x\ty\" is no word, <name>, <name...> or (a|b)"},
  };
  for (const auto& row : kRows) {
    const auto words = ParseSyntax(row.syntax);
    EXPECT_EQ(words.status().code(), absl::StatusCode::kInvalidArgument) << row.syntax;
    EXPECT_EQ(std::string(words.status().message()), row.message);
    CommandSet commands;
    EXPECT_EQ(commands.Add({row.syntax, "", {}}), words.status());
    EXPECT_TRUE(commands.entries().empty());
  }
}

TEST(ParseSyntaxTest, BracketsAndTheRest) {
  const auto words = ParseSyntax("start [tx_first <bursts> [(now|later) [<words...>]]]");
  ASSERT_TRUE(words.ok()) << words.status();
  ASSERT_EQ(words->size(), 5u);
  const std::string shown[] = {"start", "tx_first", "<bursts>", "now, later", "<words...>"};
  const bool optional[] = {false, true, false, true, true};
  for (size_t i = 0; i < words->size(); ++i) {
    EXPECT_EQ(ShowWord((*words)[i]), shown[i]) << i;
    EXPECT_EQ((*words)[i].optional, optional[i]) << i;
  }
  EXPECT_EQ(words->back().kind, Kind::kRest);
}

TEST(CommandWordTest, WhatItAccepts) {
  const CommandWord fixed{Kind::kFixed, "stats", {}};
  const CommandWord any{Kind::kAny, "name", {}};
  const CommandWord choice{Kind::kChoice, "", {"all", "0"}};
  struct {
    const char* word;
    bool fixed, any, choice;
  } const kRows[] = {
      {"stats", true, true, false},  {"stat", false, true, false}, {"statss", false, true, false},
      {"STATS", false, true, false}, {"all", false, true, true},   {"0", false, true, true},
      {"al", false, true, false},    {"name", false, true, false}, {"", false, false, false},
  };
  for (const auto& row : kRows) {
    EXPECT_EQ(fixed.Accepts(row.word), row.fixed) << row.word;
    EXPECT_EQ(any.Accepts(row.word), row.any) << row.word;
    EXPECT_EQ(choice.Accepts(row.word), row.choice) << row.word;
  }
}

// Commands that say their name and what they were given.
class CommandSetTest : public testing::Test {
 protected:
  CommandSetTest() {
    for (const char* syntax :
         {"start", "start later <seconds>", "show port stats (all|0|1)", "show port info <port>",
          "show plan", "show port stats <interface>", "set (rxq|txq) <port> <number>"}) {
      const absl::Status status =
          commands_.Add({syntax, absl::StrCat("help of ", syntax),
                         [syntax](Arguments arguments, std::string& output) {
                           absl::StrAppend(&output, syntax, ": ", absl::StrJoin(arguments, ","));
                           return absl::OkStatus();
                         }});
      EXPECT_TRUE(status.ok()) << status;
    }
  }

  CommandSet commands_;
};

TEST_F(CommandSetTest, ALineRunsTheCommandWhoseWordsAcceptIts) {
  struct {
    const char* line;
    const char* output;
  } const kRows[] = {
      {"start", "start: "},
      {"start later 5", "start later <seconds>: 5"},
      {"show port stats 0", "show port stats (all|0|1): 0"},
      {"show port stats all", "show port stats (all|0|1): all"},
      {"show port info 7", "show port info <port>: 7"},
      {"set txq 1 4", "set (rxq|txq) <port> <number>: txq,1,4"},
      {"  \tset \t rxq 1  4 \r\n", "set (rxq|txq) <port> <number>: rxq,1,4"},
      // Of several that accept a line, the first that was added.
      {"show port stats eth0", "show port stats <interface>: eth0"},
      {"show port info start", "show port info <port>: start"},
      {"", ""},
      {" \t\r\n", ""},
  };
  for (const auto& row : kRows) {
    std::string output;
    const absl::Status status = commands_.Run(row.line, output);
    EXPECT_TRUE(status.ok()) << row.line << ": " << status;
    EXPECT_EQ(output, row.output) << row.line;
  }
}

TEST_F(CommandSetTest, AWrongLineSaysWhatCouldHaveStoodThere) {
  struct {
    std::string line;
    std::string message;
  } const kRows[] = {
      {"stop", "\"stop\": accepted: start, show, set"},
      {"Start", "\"Start\": accepted: start, show, set"},
      {"show", "line ends after \"show\": accepted: port, plan"},
      {"show x", "\"x\" after \"show\": accepted: port, plan"},
      {"show port", "line ends after \"show port\": accepted: stats, info"},
      {"show port info", "line ends after \"show port info\": accepted: <port>"},
      {"show port stats", "line ends after \"show port stats\": accepted: all, 0, 1, <interface>"},
      {"show plan now", "\"now\" after \"show plan\": accepted: the end of the line"},
      {"show port stats 0 1", "\"1\" after \"show port stats 0\": accepted: the end of the line"},
      {"start now", "\"now\" after \"start\": accepted: the end of the line, later"},
      {"start later", "line ends after \"start later\": accepted: <seconds>"},
      {"set x 1 2", "\"x\" after \"set\": accepted: rxq, txq"},
      {"set  rxq   1", "line ends after \"set rxq 1\": accepted: <number>"},
      {"st\x1b[31m", "\"st\\x1b[31m\": accepted: start, show, set"},
      {std::string(100'000, 'a'),
       absl::StrCat("\"", std::string(80, 'a'), "...\": accepted: start, show, set")},
  };
  for (const auto& row : kRows) {
    std::string output;
    const absl::Status status = commands_.Run(row.line, output);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << row.line;
    EXPECT_EQ(std::string(status.message()), row.message + "; type help for all commands");
    EXPECT_EQ(output, "") << "nothing ran";
  }
}

// Candidates as "word: help", the end of the line as ".".
std::vector<std::string> Shown(const std::vector<Candidate>& candidates) {
  std::vector<std::string> shown;
  for (const Candidate& each : candidates) {
    shown.push_back(absl::StrCat(each.word.empty() ? "." : each.word, ": ", each.help));
  }
  return shown;
}

std::vector<std::string> Words(absl::string_view line) { return SplitLine(line); }

TEST_F(CommandSetTest, WhatMayComeNext) {
  struct {
    const char* words;
    std::vector<std::string> next;
  } const kRows[] = {
      // A word of one command has its help, one of several what follows it.
      {"", {"start: later", "show: port, plan", "set: help of set (rxq|txq) <port> <number>"}},
      {"start", {".: help of start", "later: help of start later <seconds>"}},
      {"start later", {"<seconds>: help of start later <seconds>"}},
      {"start later 5", {".: help of start later <seconds>"}},
      {"start later 5 6", {}},
      {"show", {"port: stats, info", "plan: help of show plan"}},
      {"show port", {"stats: all, 0, 1, <interface>", "info: help of show port info <port>"}},
      {"show port stats",
       {"all: help of show port stats (all|0|1)", "0: help of show port stats (all|0|1)",
        "1: help of show port stats (all|0|1)",
        "<interface>: help of show port stats <interface>"}},
      {"sho", {}},
      {"set",
       {"rxq: help of set (rxq|txq) <port> <number>",
        "txq: help of set (rxq|txq) <port> <number>"}},
  };
  for (const auto& row : kRows) {
    EXPECT_EQ(Shown(commands_.Complete(Words(row.words))), row.next) << row.words;
  }
}

// One command with brackets and one with a rest, whose completion is its own.
class OpenEndTest : public testing::Test {
 protected:
  OpenEndTest() {
    const auto echo = [](Arguments arguments, std::string& output) {
      absl::StrAppend(&output, "(", absl::StrJoin(arguments, ","), ")");
      return absl::OkStatus();
    };
    const auto next = [](Arguments words) -> std::vector<Candidate> {
      if (words.empty()) return {{"create", "a rule"}, {"list", "rules"}};
      if (words[0] == "list") return {{"", "of all ports"}, {"<port>", "of one"}};
      return {};
    };
    EXPECT_TRUE(commands_.Add({"start [tx_first [<bursts>]]", "go", echo}).ok());
    EXPECT_TRUE(commands_.Add({"flow <rule...>", "rules", echo, next}).ok());
    EXPECT_TRUE(commands_.Add({"say [<words...>]", "words", echo}).ok());
  }

  CommandSet commands_;
};

TEST_F(OpenEndTest, Runs) {
  struct {
    const char* line;
    const char* output;
  } const kRows[] = {
      {"start", "()"},
      // That the word is there is what the function wants to know.
      {"start tx_first", "(tx_first)"},
      {"start tx_first 5", "(tx_first,5)"},
      {"flow a", "(a)"},
      {"flow a b  c", "(a,b,c)"},
      {"flow a # b", "(a)"},
      {"flow a#b", "(a)"},
      {"say", "()"},
      {"say say say", "(say,say)"},
      {"# say", ""},
  };
  for (const auto& row : kRows) {
    std::string output;
    const absl::Status status = commands_.Run(row.line, output);
    EXPECT_TRUE(status.ok()) << row.line << ": " << status;
    EXPECT_EQ(output, row.output) << row.line;
  }
}

TEST_F(OpenEndTest, WrongLines) {
  struct {
    const char* line;
    const char* message;
  } const kRows[] = {
      {"start 5", "\"5\" after \"start\": accepted: tx_first, the end of the line"},
      {"start tx_first 5 6", "\"6\" after \"start tx_first 5\": accepted: the end of the line"},
      {"flow", "line ends after \"flow\": accepted: create, list"},
      {"f", "\"f\": accepted: start, flow, say"},
  };
  for (const auto& row : kRows) {
    std::string output;
    EXPECT_EQ(std::string(commands_.Run(row.line, output).message()),
              absl::StrCat(row.message, "; type help for all commands"));
    EXPECT_EQ(output, "");
  }
}

TEST_F(OpenEndTest, WhatMayComeNext) {
  struct {
    const char* words;
    std::vector<std::string> next;
  } const kRows[] = {
      {"", {"start: go", "flow: rules", "say: words"}},
      {"start", {"tx_first: go", ".: go"}},
      {"start tx_first", {"<bursts>: go", ".: go"}},
      {"start tx_first 1", {".: go"}},
      {"flow", {"create: a rule", "list: rules"}},
      {"flow list", {".: of all ports", "<port>: of one"}},
      {"flow drop", {}},
      {"say", {"<words...>: words", ".: words"}},
      {"say a b", {"<words...>: words", ".: words"}},
  };
  for (const auto& row : kRows) {
    EXPECT_EQ(Shown(commands_.Complete(Words(row.words))), row.next) << row.words;
  }
}

TEST_F(OpenEndTest, HelpOfSome) {
  const std::string flow = absl::StrFormat("  %-36s rules\n", "flow <rule...>");
  EXPECT_EQ(commands_.Help(),
            absl::StrFormat("  %-36s go\n%s  %-36s words\n", "start [tx_first [<bursts>]]", flow,
                            "say [<words...>]"));
  // What may come next, and nothing of what could not stand there.
  EXPECT_EQ(commands_.Help(Words("flow")),
            absl::StrFormat("%s    %-34s a rule\n    %-34s rules\n", flow, "create", "list"));
  EXPECT_EQ(
      commands_.Help(Words("flow list")),
      absl::StrFormat("%s    %-34s of all ports\n    %-34s of one\n", flow, "RETURN", "<port>"));
  EXPECT_EQ(commands_.Help(Words("flow x y")), "");
  EXPECT_EQ(commands_.Help(Words("say x y")),
            absl::StrFormat("  %-36s words\n", "say [<words...>]"));
  EXPECT_EQ(commands_.Help(Words("start tx_first")),
            absl::StrFormat("  %-36s go\n", "start [tx_first [<bursts>]]"));
  EXPECT_EQ(commands_.Help(Words("start later")), "");
}

TEST_F(OpenEndTest, WhatIsElsewhereIsAnsweredWhereItKnowsMore) {
  commands_.SetElsewhere([](Arguments words, std::string& answer) -> size_t {
    size_t known = 0;
    const std::string theirs[] = {"start", "now", "then"};
    while (known < words.size() && known < 3 && words[known] == theirs[known]) ++known;
    answer = "elsewhere";
    return known;
  });
  std::string output;
  EXPECT_EQ(std::string(commands_.Run("start now", output).message()), "elsewhere");
  EXPECT_EQ(std::string(commands_.Run("start now or", output).message()), "elsewhere");
  for (const char* ours : {"start later", "stop"}) {
    EXPECT_THAT(std::string(commands_.Run(ours, output).message()), HasSubstr(": accepted: "));
  }
  EXPECT_EQ(output, "");
  EXPECT_TRUE(commands_.Run("start", output).ok());
  EXPECT_EQ(output, "()");
}

TEST_F(CommandSetTest, OutputIsAppendedAndTheStatusIsTheCommands) {
  ASSERT_TRUE(commands_
                  .Add({"fail", "",
                        [](Arguments, std::string& output) {
                          output += "half";
                          return absl::UnavailableError("the other half is missing");
                        }})
                  .ok());
  std::string output = "before ";
  EXPECT_EQ(commands_.Run("fail", output), absl::UnavailableError("the other half is missing"));
  EXPECT_EQ(output, "before half");
}

TEST_F(CommandSetTest, ASyntaxThatIsThere) {
  const size_t before = commands_.entries().size();
  const absl::Status status = commands_.Add({"show plan", "", {}});
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(status.message(), "command \"show plan\"");
  EXPECT_EQ(commands_.entries().size(), before);
  std::string output;
  EXPECT_TRUE(commands_.Run("show plan", output).ok());  // The first one is still there.
  EXPECT_EQ(output, "show plan: ");
}

TEST_F(CommandSetTest, HelpIsALineForEachInTheOrderAdded) {
  CommandSet commands;
  EXPECT_EQ(commands.Help(), "");
  ASSERT_TRUE(commands.Add({"zebra <stripes>", "paint one", {}}).ok());
  ASSERT_TRUE(commands.Add({"ant", "feed it", {}}).ok());
  EXPECT_EQ(commands.Help(),
            "  zebra <stripes>                      paint one\n"
            "  ant                                  feed it\n");
  std::vector<std::string> syntaxes;
  for (const CommandSet::Entry& entry : commands.entries()) {
    syntaxes.push_back(entry.command.syntax);
    EXPECT_FALSE(entry.words.empty());
  }
  EXPECT_THAT(syntaxes, ElementsAre("zebra <stripes>", "ant"));
}

}  // namespace
}  // namespace penstock
