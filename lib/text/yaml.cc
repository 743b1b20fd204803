// SPDX-License-Identifier: BSD-3-Clause
//
// See yaml.h. Control path, any thread. yaml-cpp scans and parses; the tree is built here from its
// events rather than from YAML::Node, which keeps duplicate keys and shares what aliases name, so
// that a small file can unfold to more than memory holds.

#include "lib/text/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <sstream>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/base/file.h"
#include "lib/base/quote.h"
#include "lib/base/status.h"

namespace penstock {
namespace {

absl::Status ErrorAt(absl::string_view name, int line, int column, absl::string_view what,
                     absl::string_view accepted) {
  return absl::InvalidArgumentError(absl::StrCat(name, ":", line, ":", column, ": ", what,
                                                 accepted.empty() ? "" : "; accepted: ", accepted));
}

YAML::Mark MarkOf(int line, int column) {
  YAML::Mark mark;
  mark.line = line - 1;
  mark.column = column - 1;
  return mark;
}

// What this file refuses, thrown through yaml-cpp as its own errors are and caught in ParseYaml.
class Refusal final : public YAML::ParserException {
 public:
  using YAML::ParserException::ParserException;
};

[[noreturn]] void Refuse(const YAML::Mark& mark, absl::string_view what,
                         absl::string_view accepted) {
  throw Refusal(mark, absl::StrCat(what, "; accepted: ", accepted));
}

// Builds the tree from the events of one document.
class TreeBuilder final : public YAML::EventHandler {
 public:
  YamlNode TakeRoot() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    AddLeaf(mark, anchor, NewNode(mark, YamlNode::Kind::kNull), /*plain=*/true);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    RefuseTag(mark, tag);
    YamlNode node = NewNode(mark, YamlNode::Kind::kScalar);
    node.text = value;
    // yaml-cpp tags what was quoted "!" and what was not "?".
    AddLeaf(mark, anchor, std::move(node), tag == "?");
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto it = anchors_.find(anchor);
    if (it == anchors_.end()) {
      Refuse(mark, "an alias stands inside what it names", "an alias after what it names");
    }
    CheckDepth(mark, it->second.height);
    Account(mark, it->second.node);
    Add(mark, it->second.node, it->second.height, /*plain=*/true);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(mark, tag, anchor, YamlNode::Kind::kSequence);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(mark, tag, anchor, YamlNode::Kind::kMap);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapEnd() override { Close(); }

 private:
  struct Anchored {
    YamlNode node;
    size_t height;  // levels of maps and sequences in it
  };

  // A map or sequence whose end has not come yet.
  struct Collection {
    YamlNode node;
    YAML::Mark mark;
    YAML::anchor_t anchor;
    size_t height = 1;
    // Of a map: whether `key` waits for its value, and the maps that "<<" named.
    bool has_key = false;
    bool key_is_merge = false;
    YamlNode key;
    std::unordered_set<std::string> keys;
    bool merged = false;
    std::vector<YamlNode> merges;
  };

  static YamlNode NewNode(const YAML::Mark& mark, YamlNode::Kind kind) {
    YamlNode node;
    node.kind = kind;
    node.line = mark.line + 1;
    node.column = mark.column + 1;
    return node;
  }

  static void RefuseTag(const YAML::Mark& mark, const std::string& tag) {
    if (!tag.empty() && tag != "?" && tag != "!") {
      Refuse(mark, absl::StrCat("the tag ", Quote(tag)), "a value without a tag");
    }
  }

  void CheckDepth(const YAML::Mark& mark, size_t height) const {
    if (open_.size() + height > kMaxYamlDepth) {
      Refuse(mark, "nested too deep", absl::StrCat("up to ", kMaxYamlDepth, " levels"));
    }
  }

  // Adds what a node and all below it cost to the document, and refuses it past the limits. Called
  // before an alias is copied.
  void Account(const YAML::Mark& mark, const YamlNode& node) {
    ++nodes_;
    text_bytes_ += node.text.size() + node.key.size();
    if (nodes_ > kMaxYamlNodes || text_bytes_ > kMaxYamlTextBytes) {
      Refuse(mark, "too much, with aliases unfolded",
             absl::StrCat("up to ", kMaxYamlNodes, " values and ", kMaxYamlTextBytes,
                          " bytes of text"));
    }
    for (const YamlNode& child : node.children) Account(mark, child);
  }

  void Open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
            YamlNode::Kind kind) {
    RefuseTag(mark, tag);
    CheckDepth(mark, 1);
    Collection collection;
    collection.node = NewNode(mark, kind);
    collection.mark = mark;
    collection.anchor = anchor;
    Account(mark, collection.node);
    open_.push_back(std::move(collection));
  }

  void Close() {
    Collection done = std::move(open_.back());
    open_.pop_back();
    for (YamlNode& merge : done.merges) {
      for (YamlNode& child : merge.children) {
        if (done.keys.insert(child.key).second) done.node.children.push_back(std::move(child));
      }
    }
    Remember(done.anchor, done.node, done.height);
    Add(done.mark, std::move(done.node), done.height, /*plain=*/false);
  }

  void AddLeaf(const YAML::Mark& mark, YAML::anchor_t anchor, YamlNode node, bool plain) {
    Account(mark, node);
    Remember(anchor, node, 0);
    Add(mark, std::move(node), 0, plain);
  }

  void Remember(YAML::anchor_t anchor, const YamlNode& node, size_t height) {
    if (anchor == 0) return;  // yaml-cpp's NullAnchor: none was given
    // The original and its copy kept for aliases are both in memory, so both count.
    Account(MarkOf(node.line, node.column), node);
    anchors_.insert_or_assign(anchor, Anchored{node, height});
  }

  // Puts a finished node where it belongs: root, item, key or value.
  void Add(const YAML::Mark& mark, YamlNode node, size_t height, bool plain) {
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Collection& parent = open_.back();
    parent.height = std::max(parent.height, height + 1);
    if (parent.node.kind == YamlNode::Kind::kSequence) {
      parent.node.children.push_back(std::move(node));
    } else if (!parent.has_key) {
      AddKey(mark, parent, std::move(node), plain);
    } else {
      AddValue(mark, parent, std::move(node));
    }
  }

  static void AddKey(const YAML::Mark& mark, Collection& map, YamlNode key, bool plain) {
    if (key.kind != YamlNode::Kind::kScalar) {
      Refuse(mark, "a key that is not a word", "NAME: VALUE");
    }
    map.key_is_merge = plain && key.text == "<<";
    const bool repeated =
        map.key_is_merge ? std::exchange(map.merged, true) : !map.keys.insert(key.text).second;
    if (repeated) {
      Refuse(mark, absl::StrCat("the key ", Quote(key.text), " stands twice in this map"),
             "each key once");
    }
    map.key = std::move(key);
    map.has_key = true;
  }

  static void AddValue(const YAML::Mark& mark, Collection& map, YamlNode value) {
    map.has_key = false;
    if (map.key_is_merge) {
      AddMerge(mark, map, std::move(value));
      return;
    }
    value.key = std::move(map.key.text);
    value.key_line = map.key.line;
    value.key_column = map.key.column;
    map.node.children.push_back(std::move(value));
  }

  static void AddMerge(const YAML::Mark& mark, Collection& map, YamlNode value) {
    std::vector<YamlNode> maps;
    if (value.kind == YamlNode::Kind::kSequence) {
      maps = std::move(value.children);
    } else {
      maps.push_back(std::move(value));
    }
    for (YamlNode& merge : maps) {
      if (merge.kind != YamlNode::Kind::kMap) {
        Refuse(mark, "\"<<\" with what is not a map",
               "<<: *NAME or <<: [*NAME, *NAME], each a map");
      }
      map.merges.push_back(std::move(merge));
    }
  }

  YamlNode root_;
  std::vector<Collection> open_;
  std::unordered_map<YAML::anchor_t, Anchored> anchors_;
  size_t nodes_ = 0;
  size_t text_bytes_ = 0;
};

// The offset of the first byte that is no part of UTF-8 text (RFC 3629, 4), or is a control
// character other than tab, line feed and carriage return; the text's size where there is none.
// yaml-cpp would guess at other encodings and go on past a NUL.
size_t FindBadByte(absl::string_view text) {
  struct Lead {
    unsigned char first, last;  // of the leading byte
    unsigned char second_from, second_to;
    size_t length;
  };
  static constexpr Lead kLeads[] = {
      {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
      {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
      {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
  };
  const auto byte = [text](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
  };
  size_t at = 0;
  while (at < text.size()) {
    if (byte(at) < 0x80) {
      const bool control = byte(at) < 0x20 || byte(at) == 0x7f;
      if (control && byte(at) != '\t' && byte(at) != '\n' && byte(at) != '\r') return at;
      ++at;
      continue;
    }
    size_t length = 0;
    for (const Lead& lead : kLeads) {
      if (byte(at) >= lead.first && byte(at) <= lead.last && byte(at + 1) >= lead.second_from &&
          byte(at + 1) <= lead.second_to) {
        length = lead.length;
      }
    }
    if (length == 0) return at;
    for (size_t i = 2; i < length; ++i) {
      if (byte(at + i) < 0x80 || byte(at + i) > 0xbf) return at;
    }
    at += length;
  }
  return at;
}

// Stands for a second document: refuses it at its start.
class NoFurtherDocument final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override {
    Refuse(mark, "a second document", "one document");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

}  // namespace

const YamlNode* YamlNode::Find(absl::string_view child_key) const {
  if (kind != Kind::kMap) return nullptr;
  for (const YamlNode& child : children) {
    if (child.key == child_key) return &child;
  }
  return nullptr;
}

absl::StatusOr<YamlNode> ParseYaml(absl::string_view text, absl::string_view name) {
  if (text.size() > kMaxYamlBytes) {
    return ErrorAt(name, 1, 1, absl::StrCat(text.size(), " bytes"),
                   absl::StrCat("up to ", kMaxYamlBytes, " bytes"));
  }
  if (const size_t bad = FindBadByte(text); bad < text.size()) {
    const absl::string_view before = text.substr(0, bad);
    const size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
    return ErrorAt(
        name, static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1,
        static_cast<int>(bad - line_begin) + 1,
        absl::StrCat("the byte 0x", absl::Hex(static_cast<uint8_t>(text[bad]), absl::kZeroPad2)),
        "UTF-8 text without control characters");
  }
  // yaml-cpp takes the end of the file for a closing quote where a line feed precedes it, and so
  // would make one value of all that follows a forgotten quote. Within quotes the end of a document
  // is an error, so the end is written out.
  std::string terminated(text);
  if (!terminated.empty() && terminated.back() != '\n') terminated += '\n';
  const int end_line = static_cast<int>(std::count(terminated.begin(), terminated.end(), '\n'));
  terminated += "...\n";
  try {
    std::istringstream stream(terminated);
    YAML::Parser parser(stream);
    TreeBuilder builder;
    parser.HandleNextDocument(builder);
    NoFurtherDocument end;
    parser.HandleNextDocument(end);
    return builder.TakeRoot();
  } catch (const Refusal& error) {
    return ErrorAt(name, error.mark.line + 1, error.mark.column + 1, error.msg, "");
  } catch (const YAML::Exception& error) {
    if (error.mark.line == end_line && error.msg == YAML::ErrorMsg::DOC_IN_SCALAR) {
      return ErrorAt(name, end_line + 1, 1, "the file ends within quotes", "a closing quote");
    }
    const bool placed = !error.mark.is_null();
    return ErrorAt(name, placed ? error.mark.line + 1 : 1, placed ? error.mark.column + 1 : 1,
                   error.msg, "YAML, such as NAME: VALUE, one to a line");
  } catch (const std::exception& error) {
    return ErrorAt(name, 1, 1, error.what(), "");
  }
}

absl::StatusOr<YamlNode> ReadYamlFile(const std::string& path) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxYamlBytes));
  return ParseYaml(text, path);
}

absl::Status YamlError(absl::string_view name, const YamlNode& node, absl::string_view what,
                       absl::string_view accepted) {
  return ErrorAt(name, node.line, node.column, what, accepted);
}

}  // namespace penstock
