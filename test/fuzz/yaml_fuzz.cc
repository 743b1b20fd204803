// SPDX-License-Identifier: BSD-3-Clause
//
// Fuzz target of the YAML reader: any bytes give a tree within the limits or one line of error.
// Single thread.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "lib/text/yaml.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

struct Size {
  size_t nodes = 0;
  size_t text_bytes = 0;
};

void Walk(const penstock::YamlNode& node, size_t depth, Size& size) {
  using Kind = penstock::YamlNode::Kind;
  const bool collection = node.kind == Kind::kSequence || node.kind == Kind::kMap;
  Require(node.line >= 1 && node.column >= 1);
  Require(collection || node.children.empty());
  Require(node.kind == Kind::kScalar || node.text.empty());
  Require(depth + (collection ? 1 : 0) <= penstock::kMaxYamlDepth);
  ++size.nodes;
  size.text_bytes += node.text.size() + node.key.size();
  for (const penstock::YamlNode& child : node.children) {
    if (node.kind == Kind::kMap) {
      Require(child.key_line >= 1 && child.key_column >= 1);
      // The first of its name, so none stands twice.
      if (node.children.size() < 100) Require(node.Find(child.key) == &child);
    }
    Walk(child, depth + 1, size);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<penstock::YamlNode> root = penstock::ParseYaml(text, "fuzz");
  if (root.ok()) {
    Size total;
    Walk(*root, 0, total);
    Require(total.nodes <= penstock::kMaxYamlNodes);
    Require(total.text_bytes <= penstock::kMaxYamlTextBytes);
  } else {
    const absl::string_view message = root.status().message();
    Require(absl::StartsWith(message, "fuzz:") && !absl::StrContains(message, "\n"));
  }
  return 0;
}
