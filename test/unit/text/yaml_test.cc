// SPDX-License-Identifier: BSD-3-Clause
//
// The YAML reader.

#include "lib/text/yaml.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

// The tree on one line, with positions: "MAP@1:1{key@1:1=TEXT@1:6'value'}".
std::string Show(const YamlNode& node) {
  const std::string at = absl::StrCat("@", node.line, ":", node.column);
  std::string out;
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return "null" + at;
    case YamlNode::Kind::kScalar:
      return absl::StrCat("'", node.text, "'", at);
    case YamlNode::Kind::kSequence:
      for (const YamlNode& child : node.children) {
        absl::StrAppend(&out, out.empty() ? "" : " ", Show(child));
      }
      return absl::StrCat("[", out, "]", at);
    case YamlNode::Kind::kMap:
      for (const YamlNode& child : node.children) {
        absl::StrAppend(&out, out.empty() ? "" : " ", child.key, "@", child.key_line, ":",
                        child.key_column, "=", Show(child));
      }
      return absl::StrCat("{", out, "}", at);
  }
  return "?";
}

TEST(YamlTest, BuildsTheTreeWithPositions) {
  struct Row {
    std::string text;
    std::string tree;
  };
  const Row kRows[] = {
      {"", "null@1:1"},
      {"# only a comment\n", "null@2:1"},
      {"word", "'word'@1:1"},
      {"a: 1\nbc: two words\n", "{a@1:1='1'@1:4 bc@2:1='two words'@2:5}@1:1"},
      {"# c\n\nrxq:   4\n", "{rxq@3:1='4'@3:8}@3:1"},
      {"a: [1, 'x', \"y\\n\"]\n", "{a@1:1=['1'@1:5 'x'@1:8 'y\n'@1:13]@1:4}@1:1"},
      {"a:\n  - 1\n  - b: 2\n", "{a@1:1=['1'@2:5 {b@3:5='2'@3:8}@3:5]@2:3}@1:1"},
      {"a:\nb: ~\nc: null\nd: ''\n",
       "{a@1:1=null@2:1 b@2:1=null@2:4 c@3:1=null@3:4 d@4:1=''@4:4}@1:1"},
      {"z: 1\na: 2\nm: 3\n", "{z@1:1='1'@1:4 a@2:1='2'@2:4 m@3:1='3'@3:4}@1:1"},
      // Text stays text.
      {"[yes, 0x10, 1e3, 010]", "['yes'@1:2 '0x10'@1:7 '1e3'@1:13 '010'@1:18]@1:1"},
      {"a: 1\r\nb: 2\r\n", "{a@1:1='1'@1:4 b@2:1='2'@2:4}@1:1"},
      {"---\na: 1\n...\n", "{a@2:1='1'@2:4}@2:1"},
      // An alias has the place of its original.
      {"a: &x [1]\nb: *x\n", "{a@1:1=['1'@1:8]@1:4 b@2:1=['1'@1:8]@1:4}@1:1"},
      // Merges give way to what is written, and the second to the first.
      {"d: &d {p: 1, q: 2}\ne: {q: 3, <<: *d}\n",
       "{d@1:1={p@1:8='1'@1:11 q@1:14='2'@1:17}@1:4"
       " e@2:1={q@2:5='3'@2:8 p@1:8='1'@1:11}@2:4}@1:1"},
      {"- &a {p: 1}\n- &b {p: 2, q: 3}\n- <<: [*a, *b]\n",
       "[{p@1:7='1'@1:10}@1:3 {p@2:7='2'@2:10 q@2:13='3'@2:16}@2:3"
       " {p@1:7='1'@1:10 q@2:13='3'@2:16}@3:3]@1:1"},
      {"'<<': 1\n", "{<<@1:1='1'@1:7}@1:1"},
      {"a: |\n  x\n  y\n", "{a@1:1='x\ny\n'@1:4}@1:1"},
      {"a: caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\xa7",
       "{a@1:1='caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\xa7'@1:4}@1:1"},
      {"a: 1\n...\n...\n", "{a@1:1='1'@1:4}@1:1"},
      {"{}", "{}@1:1"},
      {"[]", "[]@1:1"},
  };
  for (const Row& row : kRows) {
    const absl::StatusOr<YamlNode> root = ParseYaml(row.text, "f.yaml");
    ASSERT_TRUE(root.ok()) << row.text << ": " << root.status();
    EXPECT_EQ(Show(*root), row.tree) << row.text;
  }
}

std::string Repeat(absl::string_view text, int count) {
  std::string result;
  for (int i = 0; i < count; ++i) absl::StrAppend(&result, text);
  return result;
}

// Each level names the one before nine times: a billion leaves at the tenth.
std::string BillionLaughs() {
  std::string text = "a0: &a0 [lol]\n";
  for (int i = 1; i <= 10; ++i) {
    absl::StrAppend(&text, "a", i, ": &a", i, " [", Repeat(absl::StrCat("*a", i - 1, ", "), 8),
                    "*a", i - 1, "]\n");
  }
  return text;
}

TEST(YamlTest, RefusesWithPlaceAndReason) {
  struct Row {
    std::string text;
    std::string message;
  };
  const Row kRows[] = {
      {"a: 1\nb: 2\na: 3\n",
       "f.yaml:3:1: the key \"a\" stands twice in this map; accepted: each key once"},
      {"a: &a {}\n<<: *a\n<<: *a\n",
       "f.yaml:3:1: the key \"<<\" stands twice in this map; accepted: each key once"},
      {"a: 1\n[x]: 2\n", "f.yaml:2:1: a key that is not a word; accepted: NAME: VALUE"},
      {"a: 1\n~: 2\n", "f.yaml:2:1: a key that is not a word; accepted: NAME: VALUE"},
      {"a: !!int 5\n",
       "f.yaml:1:4: the tag \"tag:yaml.org,2002:int\"; accepted: a value without a tag"},
      {"a: !x [1]\n", "f.yaml:1:4: the tag \"!x\"; accepted: a value without a tag"},
      {"a: 1\n---\nb: 2\n", "f.yaml:2:1: a second document; accepted: one document"},
      {"a: 1\n...\nb: 2\n", "f.yaml:3:1: a second document; accepted: one document"},
      {"a: &a [*a]\n",
       "f.yaml:1:8: an alias stands inside what it names; accepted: an alias after what it names"},
      {"<<: 1\n",
       "f.yaml:1:5: \"<<\" with what is not a map; accepted: <<: *NAME or <<: [*NAME, *NAME], each "
       "a map"},
      {Repeat("[", 33) + Repeat("]", 33),
       "f.yaml:1:33: nested too deep; accepted: up to 32 levels"},
      {"a: &a " + Repeat("[", 30) + Repeat("]", 30) + "\nb: [[*a]]\n",
       "f.yaml:2:6: nested too deep; accepted: up to 32 levels"},
      {std::string(kMaxYamlBytes + 1, ' '),
       "f.yaml:1:1: 1048577 bytes; accepted: up to 1048576 bytes"},
  };
  for (const Row& row : kRows) {
    const absl::Status status = ParseYaml(row.text, "f.yaml").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << row.text;
    EXPECT_EQ(status.message(), row.message);
  }
}

TEST(YamlTest, RefusesWhatIsNotYamlAtItsPlace) {
  struct Row {
    std::string text;
    std::string place;
  };
  const Row kRows[] = {
      {"a: [1, 2\nb: 3\n", "f.yaml:2:2: "},
      {"a: [1\n", "f.yaml:2:1: "},
      {"a: {b: 1\n", "f.yaml:2:1: "},
      {"a: 1\n b: 2\n", "f.yaml:2:3: "},
      {"a: *none\n", "f.yaml:1:4: "},
      {"\tx: 1\n", "f.yaml:1:3: "},
      {"a: @x\n", "f.yaml:1:4: "},
      {"a: b: c\n",
       "f.yaml:1:5: illegal map value; accepted: YAML, such as NAME: VALUE, one to a line"},
      {"}", "f.yaml:1:1: "},
      {"a: 'x", "f.yaml:2:1: the file ends within quotes; accepted: a closing quote"},
      {"a: 'x\nb: 2\n", "f.yaml:3:1: the file ends within quotes"},
      {"a: \"x\nb: 2\n\n", "f.yaml:4:1: the file ends within quotes"},
      {"a: 'x\n...\nb: 2\n", "f.yaml:2:1: "},
      {{"a: 1\nb: \0", 9}, "f.yaml:2:4: the byte 0x00; accepted: UTF-8 text without control "},
      {"a: \x1b[31m", "f.yaml:1:4: the byte 0x1b; "},
      {"\xff\xfe", "f.yaml:1:1: the byte 0xff; "},
      {"a: \xc3\xa9 \xc3", "f.yaml:1:7: the byte 0xc3; "},
      {"\xc0\x80", "f.yaml:1:1: the byte 0xc0; "},          // NUL, overlong
      {"\xed\xa0\x80", "f.yaml:1:1: the byte 0xed; "},      // a surrogate
      {"\xe2\x82", "f.yaml:1:1: the byte 0xe2; "},          // cut short
      {"\xf4\x90\x80\x80", "f.yaml:1:1: the byte 0xf4; "},  // past U+10FFFF
      {Repeat("[", 100000), "f.yaml:1:"},
  };
  for (const Row& row : kRows) {
    const absl::Status status = ParseYaml(row.text, "f.yaml").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << row.text.substr(0, 80);
    EXPECT_TRUE(absl::StartsWith(status.message(), row.place)) << status;
  }
}

TEST(YamlTest, RefusesBombs) {
  const std::string text_bomb =
      "a: &a '" + std::string(500000, 'x') + "'\nb: [" + Repeat("*a, ", 1000) + "*a]\n";
  std::string merge_bomb = "m0: &m0 {k: [" + Repeat("1, ", 1000) + "1]}\n";
  for (int i = 1; i <= 2000; ++i) absl::StrAppend(&merge_bomb, "m", i, ": {<<: *m0}\n");
  for (const std::string& bomb : {BillionLaughs(), text_bomb, merge_bomb}) {
    const absl::Status status = ParseYaml(bomb, "f.yaml").status();
    EXPECT_TRUE(absl::StrContains(status.message(), "too much, with aliases unfolded; accepted: "))
        << status;
  }
}

TEST(YamlTest, AcceptsTheDeepestAllowed) {
  EXPECT_TRUE(ParseYaml(Repeat("[", 32) + Repeat("]", 32), "f.yaml").ok());
  EXPECT_TRUE(ParseYaml("a: &a " + Repeat("[", 30) + Repeat("]", 30) + "\nb: [*a]\n", "f").ok());
}

TEST(YamlTest, AnyBytesGiveAnAnswer) {
  const std::string kRows[] = {{"\0", 1},
                               "\xff\xfe",
                               "\xef\xbb\xbf"
                               "a: 1",
                               "\xfe\xff\0a",
                               {"a: \0", 4},
                               "\x80\x81: \x82",
                               "%YAML 9.9\n---\n",
                               "%TAG ! !\n",
                               "&",
                               "*",
                               "!",
                               "!<",
                               "? ",
                               ": ",
                               "- - - - ",
                               "|\n",
                               ">9\n",
                               "\"\\",
                               "\"\\x",
                               "\"\\UFFFFFFFF\""};
  for (const std::string& text : kRows) {
    const absl::StatusOr<YamlNode> root = ParseYaml(text, "f.yaml");
    EXPECT_TRUE(root.ok() || absl::StartsWith(root.status().message(), "f.yaml:")) << text;
  }
}

TEST(YamlTest, FindLooksInMapsOnly) {
  const YamlNode root = ParseYaml("a: {b: 5}\nc: [b]\n", "f.yaml").value();
  ASSERT_NE(root.Find("a"), nullptr);
  ASSERT_NE(root.Find("a")->Find("b"), nullptr);
  EXPECT_EQ(root.Find("a")->Find("b")->text, "5");
  EXPECT_EQ(root.Find("b"), nullptr);
  EXPECT_EQ(root.Find("c")->Find("b"), nullptr);
}

TEST(YamlTest, YamlErrorPointsAtTheNode) {
  const YamlNode root = ParseYaml("a: 1\nrxq: many\n", "f.yaml").value();
  EXPECT_EQ(YamlError("f.yaml", *root.Find("rxq"), "\"many\"", "a number"),
            absl::InvalidArgumentError("f.yaml:2:6: \"many\"; accepted: a number"));
  EXPECT_EQ(YamlError("f.yaml", root, "nothing", "").message(), "f.yaml:1:1: nothing");
}

TEST(YamlTest, ReadsFiles) {
  const std::string path = absl::StrCat(testing::TempDir(), "penstock_yaml_test_", getpid());
  std::ofstream(path) << "rxq: 4\nrxq: 5\n";
  EXPECT_EQ(ReadYamlFile(path).status().message(),
            path + ":2:1: the key \"rxq\" stands twice in this map; accepted: each key once");
  std::ofstream(path) << "rxq: 4\n";
  EXPECT_EQ(ReadYamlFile(path).value().Find("rxq")->text, "4");
  std::remove(path.c_str());
  EXPECT_EQ(ReadYamlFile(path).status().message(), "open(" + path + "): No such file or directory");
}

}  // namespace
}  // namespace penstock
