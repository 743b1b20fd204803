// SPDX-License-Identifier: BSD-3-Clause
//
// Reads a YAML document into a tree whose every node knows the line and column it stood at, so that
// whoever interprets it can point at what is wrong. Control path; any thread, a tree belonging to
// one at a time.
//
//   PENSTOCK_ASSIGN_OR_RETURN(const YamlNode root, ReadYamlFile("/etc/penstock.yaml"));
//   for (const YamlNode& option : root.children) {
//     if (option.kind != YamlNode::Kind::kScalar) {
//       return YamlError("/etc/penstock.yaml", option,
//                        absl::StrCat("\"", option.key, "\" is a list"), "one value");
//     }
//     Set(option.key, option.text);
//   }
//
// Scalars are text and stay text: what "no", "0x10" or "1e3" mean is for whoever knows what is
// expected. Errors are InvalidArgument with one line, "FILE:LINE:COLUMN: what; accepted: ...".
//
// Stricter than YAML, because a configuration has no use for the rest: UTF-8; one document; keys
// are scalars, and none stands twice in a map; no tags (!!int). Anchors, aliases and merge keys
// ("<<") work, and are resolved: the tree has no references. A merged entry gives way to one
// written in the map itself, and to one of an earlier map in a list of merges.
//
// Whatever bytes come in, no exception leaves and the cost is bounded by the limits below, which
// count what aliases unfold to.

#ifndef PENSTOCK_LIB_TEXT_YAML_H_
#define PENSTOCK_LIB_TEXT_YAML_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace penstock {

inline constexpr size_t kMaxYamlBytes = size_t{1} << 20;      // of the file
inline constexpr size_t kMaxYamlDepth = 32;                   // maps and sequences in each other
inline constexpr size_t kMaxYamlNodes = size_t{1} << 18;      // aliases unfolded
inline constexpr size_t kMaxYamlTextBytes = size_t{4} << 20;  // keys and scalars, likewise

struct YamlNode {
  enum class Kind {
    kNull,      // nothing, "~" or "null", and the whole of an empty document
    kScalar,    // `text`
    kSequence,  // `children`, in order
    kMap,       // `children`, in order, each with its `key`
  };

  // The child of a map with that key; null where there is none, or this is no map.
  const YamlNode* Find(absl::string_view child_key) const;

  Kind kind = Kind::kNull;
  // Where the node begins (its anchor, if it has one), 1-based; a column counts bytes. What came
  // through an alias or a merge has the position of the original: that is the text to correct.
  int line = 1;
  int column = 1;
  std::string text;
  std::vector<YamlNode> children;

  // For a child of a map only.
  std::string key;
  int key_line = 0;
  int key_column = 0;
};

// Parses `text`; `name` is what errors call it, a path or "<command line>".
absl::StatusOr<YamlNode> ParseYaml(absl::string_view text, absl::string_view name);

// Reads and parses a file; it is named in errors by its path.
absl::StatusOr<YamlNode> ReadYamlFile(const std::string& path);

// The error for what is well-formed but not what was expected: "NAME:LINE:COLUMN: what; accepted:
// accepted". An empty `accepted` leaves that part out.
absl::Status YamlError(absl::string_view name, const YamlNode& node, absl::string_view what,
                       absl::string_view accepted);

}  // namespace penstock

#endif  // PENSTOCK_LIB_TEXT_YAML_H_
