// SPDX-License-Identifier: BSD-3-Clause
//
// The grammar of `flow`: rules against the bytes of the headers on the wire, wrong lines against
// their answer, and what may come next. Any thread.

#include "lib/control/flow_grammar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rte_ethdev.h>

#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace penstock {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::vector<FlowPort> kPorts = {{0, "net_a", {0, 7}}, {3, "net_b", {}}};

absl::StatusOr<FlowRequest> Parse(absl::string_view line) {
  const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
  return ParseFlow(words, kPorts);
}

FlowRequest Request(absl::string_view line) {
  auto request = Parse(line);
  EXPECT_TRUE(request.ok()) << line << ": " << request.status();
  return request.ok() ? *std::move(request) : FlowRequest();
}

std::string Error(absl::string_view line) {
  const auto request = Parse(line);
  EXPECT_FALSE(request.ok()) << line;
  EXPECT_EQ(request.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(request.status().message());
}

std::vector<std::string> Next(absl::string_view line) {
  const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
  std::vector<std::string> next;
  for (const Candidate& candidate : CompleteFlow(words, kPorts)) next.push_back(candidate.word);
  return next;
}

// Without trailing zeros; "-" for what is absent.
std::string Hex(const std::vector<uint8_t>& bytes) {
  if (bytes.empty()) return "-";
  std::string kept(bytes.begin(), bytes.end());
  kept.resize(kept.find_last_not_of('\0') + 1);
  return absl::BytesToHexString(kept);
}

// The one number in the machine's own order.
constexpr const char* kTwo = std::endian::native == std::endian::little ? "02" : "00000002";

TEST(FlowGrammar, ItemsBecomeTheBytesOfTheirHeaders) {
  struct {
    const char* item;
    const char* spec;
    const char* last;
    const char* mask;
  } const kRows[] = {
      {"eth", "-", "-", "-"},
      {"void", "-", "-", "-"},
      {"any num is 2", kTwo, "-", "ffffffff"},
      {"eth dst is 02:00:5e:00:53:01", "02005e005301", "-", "ffffffffffff"},
      {"eth src spec 02:00:5e:00:53:01 src mask ff:ff:ff:00:00:00", "00000000000002005e005301", "-",
       "000000000000ffffff"},
      {"eth type is 0x0800", "00000000000000000000000008", "-", "000000000000000000000000ffff"},
      {"eth dst prefix 24", "-", "-", "ffffff"},
      {"eth dst is 02:00:00:00:00:01 type is 0x88cc", "02000000000100000000000088cc", "-",
       "ffffffffffff000000000000ffff"},
      {"vlan vid is 100", "0064", "-", "0fff"},
      {"vlan pcp is 3 vid is 1", "6001", "-", "efff"},
      {"vlan tci spec 0x1234 tci mask 0x0ff0", "1234", "-", "0ff0"},
      {"vlan vid spec 1 vid last 10 vid mask 0xfff", "0001", "000a", "0fff"},
      {"vlan inner_type is 0x86dd", "000086dd", "-", "0000ffff"},
      {"ipv4 src is 192.0.2.1 dst is 192.0.2.2", "000000000000000000000000c0000201c0000202", "-",
       "000000000000000000000000ffffffffffffffff"},
      {"ipv4 dst spec 198.51.100.0 dst prefix 24", "00000000000000000000000000000000c63364", "-",
       "00000000000000000000000000000000ffffff"},
      {"ipv4 tos is 0xb8 ttl spec 1 ttl last 9 proto is 50", "00b80000000000000132",
       "000000000000000009", "00ff00000000000000ff"},
      {"ipv6 tc is 1 flow is 2 proto is 17 hop is 3", "0010000200001103", "-", "0fffffff0000ffff"},
      {"ipv6 src is 2001:db8::5", "000000000000000020010db8000000000000000000000005", "-",
       "0000000000000000ffffffffffffffffffffffffffffffff"},
      {"ipv6 dst prefix 12", "-", "-", "000000000000000000000000000000000000000000000000fff0"},
      {"udp src is 500 dst is 4500", "01f41194", "-", "ffffffff"},
      {"tcp flags spec 2 flags mask 0x12", "0000000000000000000000000002", "-",
       "0000000000000000000000000012"},
      {"esp spi is 256", "000001", "-", "ffffffff"},
      {"esp spi is 1 seq spec 2", "0000000100000002", "-", "ffffffff"},
      // The last that is said counts; `is` sets both.
      {"udp dst is 1 dst spec 2", "00000002", "-", "0000ffff"},
      {"udp dst mask 0 dst is 1", "00000001", "-", "0000ffff"},
      // There, and zero.
      {"udp src spec 0", "", "-", "-"},
      {"udp src prefix 0", "-", "-", ""},
  };
  for (const auto& row : kRows) {
    const FlowRequest request =
        Request(absl::StrCat("create 0 pattern ", row.item, " / end actions drop / end"));
    ASSERT_EQ(request.rule.pattern.size(), 1U) << row.item;
    const FlowItem& item = request.rule.pattern[0];
    EXPECT_TRUE(absl::StartsWith(row.item, item.kind->name));
    EXPECT_EQ(Hex(item.spec), row.spec) << row.item;
    EXPECT_EQ(Hex(item.last), row.last) << row.item;
    EXPECT_EQ(Hex(item.mask), row.mask) << row.item;
    for (const auto* part : {&item.spec, &item.last, &item.mask}) {
      EXPECT_TRUE(part->empty() || part->size() == item.kind->bytes);
    }
  }
}

TEST(FlowGrammar, Attributes) {
  const FlowRequest request = Request(
      "validate 3 ingress transfer egress group 1 priority 0x10 group 7 "
      "pattern eth / void / end actions end");
  EXPECT_EQ(request.verb, FlowRequest::Verb::kValidate);
  EXPECT_EQ(request.port, 3);
  EXPECT_TRUE(request.rule.ingress && request.rule.egress && request.rule.transfer);
  EXPECT_EQ(request.rule.group, 7U);
  EXPECT_EQ(request.rule.priority, 16U);
  EXPECT_EQ(request.rule.pattern.size(), 2U);
  EXPECT_THAT(request.rule.actions, IsEmpty());
  EXPECT_EQ(Request("create 0 pattern end actions end").rule, FlowRule());
}

std::vector<FlowAction> Actions(absl::string_view actions) {
  return Request(absl::StrCat("create 0 pattern eth / end actions ", actions)).rule.actions;
}

TEST(FlowGrammar, ActionsBecomeTheirConfiguration) {
  const std::vector<FlowAction> actions = Actions(
      "void / passthru / mark id 0xabcd / queue index 258 / drop / count identifier 9 / "
      "security security_session 5 / queue / end");
  ASSERT_EQ(actions.size(), 8U);
  EXPECT_THAT(actions[0].conf, IsEmpty());
  rte_flow_action_mark mark;
  ASSERT_EQ(actions[2].conf.size(), sizeof(mark));
  std::memcpy(&mark, actions[2].conf.data(), sizeof(mark));
  EXPECT_EQ(mark.id, 0xabcdU);
  rte_flow_action_queue queue;
  std::memcpy(&queue, actions[3].conf.data(), sizeof(queue));
  EXPECT_EQ(queue.index, 258);
  rte_flow_action_count count;
  std::memcpy(&count, actions[5].conf.data(), sizeof(count));
  EXPECT_EQ(count.id, 9U);
  EXPECT_EQ(actions[6].session, 5U);
  // Not said: zero.
  EXPECT_THAT(actions[7].conf, ElementsAre(0, 0));
}

TEST(FlowGrammar, Rss) {
  const FlowRss none = Actions("rss / end")[0].rss;
  EXPECT_EQ(none, FlowRss());
  const FlowRss rss =
      Actions(
          "rss func toeplitz level 2 types ipv4 udp esp end key_len 9 key 0aabb queues 3 0x4 end / "
          "end")[0]
          .rss;
  EXPECT_EQ(rss.function, RTE_ETH_HASH_FUNCTION_TOEPLITZ);
  EXPECT_EQ(rss.level, 2U);
  EXPECT_EQ(rss.types, RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_UDP | RTE_ETH_RSS_ESP);
  EXPECT_THAT(rss.key, ElementsAre(0x00, 0xaa, 0xbb));
  EXPECT_EQ(rss.key_length, std::nullopt);  // The key's own.
  EXPECT_EQ(rss.queues, (std::vector<uint16_t>{3, 4}));
  const FlowRss empty =
      Actions("rss types udp end types end queues 1 end queues end key_len 40 / end")[0].rss;
  EXPECT_EQ(empty.types, 0U);
  EXPECT_EQ(empty.queues, std::vector<uint16_t>());
  EXPECT_EQ(empty.key_length, 40U);
  EXPECT_EQ(Actions("rss types none end / end")[0].rss.types, 0U);
}

TEST(FlowGrammar, RssTakesAsManyQueuesAsThereMayBe) {
  std::string queues;
  for (int i = 0; i < 128; ++i) absl::StrAppend(&queues, i, " ");
  EXPECT_EQ(Actions(absl::StrCat("rss queues ", queues, "end / end"))[0].rss.queues->size(), 128U);
  EXPECT_THAT(
      Error(absl::StrCat("create 0 pattern end actions rss queues ", queues, "1 end / end")),
      HasSubstr(": accepted: end"));
}

TEST(FlowGrammar, TheOtherRequests) {
  FlowRequest request = Request("list 0");
  EXPECT_EQ(request.verb, FlowRequest::Verb::kList);
  EXPECT_THAT(request.groups, IsEmpty());
  EXPECT_THAT(Request("list 3 group 1 group 2").groups, ElementsAre(1, 2));
  request = Request("query 0 7 count");
  EXPECT_EQ(request.verb, FlowRequest::Verb::kQuery);
  EXPECT_THAT(request.ids, ElementsAre(7));
  request = Request("destroy 0 rule 7 rule 100");
  EXPECT_EQ(request.verb, FlowRequest::Verb::kDestroy);
  EXPECT_THAT(request.ids, ElementsAre(7, 100));
  request = Request("flush 0x3");
  EXPECT_EQ(request.verb, FlowRequest::Verb::kFlush);
  EXPECT_EQ(request.port, 3);
}

TEST(FlowGrammar, AWrongWordIsNamedWithWhatIsAccepted) {
  struct {
    const char* line;
    const char* error;
  } const kRows[] = {
      {"", "line ends after \"flow\": accepted: validate, create, list, query, destroy, flush"},
      {"creat 0",
       "\"creat\" after \"flow\": accepted: validate, create, list, query, destroy, flush"},
      {"isolate 0 1",
       "\"isolate\" after \"flow\": known from testpmd, not offered: flow create, of the lowest "
       "priority and with the action drop, leaves out the rest; accepted: validate, create, list, "
       "query, destroy, flush"},
      {"create", "line ends after \"flow create\": accepted: 0, 3"},
      {"create 1 pattern", "\"1\" after \"flow create\": accepted: 0, 3"},
      {"create eth0", "\"eth0\" after \"flow create\": accepted: 0, 3"},
      {"create 0 pattern eth / ipv7 / end",
       "\"ipv7\" after \"flow create 0 pattern eth /\": accepted: void, any, eth, vlan, ipv4, "
       "ipv6, "
       "udp, tcp, esp, end"},
      {"create 0 pattern eth / vxlan / end",
       "\"vxlan\" after \"flow create 0 pattern eth /\": known from testpmd, not offered: "
       "udp dst is 4789; what is inside is not looked at; accepted: void, any, eth, vlan, ipv4, "
       "ipv6, udp, tcp, esp, end"},
      {"create 0 tunnel_set 1",
       "\"tunnel_set\" after \"flow create 0\": known from testpmd, not offered: what is inside "
       "of tunnels is not looked at; match the outer headers; accepted: group, "
       "priority, ingress, egress, transfer, pattern"},
      {"create 0 group x", "\"x\" after \"flow create 0 group\": accepted: <0..4294967295>"},
      {"create 0 pattern eth end",
       "\"end\" after \"flow create 0 pattern eth\": accepted: dst, src, type, has_vlan, /"},
      {"create 0 pattern udp src",
       "line ends after \"flow create 0 pattern udp src\": accepted: is, spec, last, mask, prefix"},
      {"create 0 pattern udp src = 5",
       "\"=\" after \"flow create 0 pattern udp src\": accepted: is, spec, last, mask, prefix"},
      {"create 0 pattern eth / vlan vid is 5000 / end",
       "\"5000\" after \"flow ... eth / vlan vid is\": accepted: <0..4095>"},
      {"create 0 pattern ipv4 src prefix 33",
       "\"33\" after \"flow ... 0 pattern ipv4 src prefix\": accepted: <prefix length 0..32>"},
      {"create 0 pattern ipv4 src is ::1",
       "\"::1\" after \"flow ... 0 pattern ipv4 src is\": accepted: <IPv4 address>"},
      {"create 0 pattern eth / end",
       "line ends after \"flow ... 0 pattern eth / end\": accepted: actions"},
      {"create 0 pattern end actions jump group 1 / end",
       "\"jump\" after \"flow create 0 pattern end actions\": known from testpmd, not offered: "
       "every packet meets the rules of group 0; priority orders them; "
       "accepted: void, passthru, mark, queue, drop, count, rss, security, end"},
      {"create 0 pattern end actions queue index 65536",
       "\"65536\" after \"flow ... pattern end actions queue index\": accepted: <0..65535>"},
      {"create 0 pattern end actions drop",
       "line ends after \"flow ... 0 pattern end actions drop\": accepted: /"},
      {"create 0 pattern end actions security /",
       "\"/\" after \"flow ... 0 pattern end actions security\": accepted: security_session"},
      {"create 0 pattern end actions rss func md5",
       "\"md5\" after \"flow ... pattern end actions rss func\": accepted: default, toeplitz, "
       "simple_xor, symmetric_toeplitz"},
      {"create 0 pattern end actions rss key xyz",
       "\"xyz\" after \"flow ... pattern end actions rss key\": accepted: <1 to 64 bytes in "
       "hexadecimal>"},
      {"create 0 pattern end actions rss key_len 65",
       "\"65\" after \"flow ... pattern end actions rss key_len\": accepted: <0..64>"},
      {"create 0 pattern end actions rss queues 1 x",
       "\"x\" after \"flow ... end actions rss queues 1\": accepted: end, <0..65535>"},
      {"create 0 pattern end actions end end",
       "\"end\" after \"flow ... 0 pattern end actions end\": accepted: the end of the line"},
      {"list 0 groups 1", "\"groups\" after \"flow list 0\": accepted: group, the end of the line"},
      {"query 0 7", "line ends after \"flow query 0 7\": accepted: count"},
      {"query 0 7 rss",
       "\"rss\" after \"flow query 0 7\": known from testpmd, not offered: a rule spreads as it "
       "was "
       "created; flow list PORT shows the rules; accepted: count"},
      {"query 0", "line ends after \"flow query 0\": accepted: 0, 7"},
      {"query 3", "line ends after \"flow query 3\": accepted: <rule>"},
      {"query 0 x count", "\"x\" after \"flow query 0\": accepted: <0..4294967295>"},
      {"destroy 0", "line ends after \"flow destroy 0\": accepted: rule"},
      {"destroy 0 rule 1 2",
       "\"2\" after \"flow destroy 0 rule 1\": accepted: rule, the end of the line"},
      {"flush 0 1", "\"1\" after \"flow flush 0\": accepted: the end of the line"},
  };
  for (const auto& row : kRows) EXPECT_EQ(Error(row.line), row.error) << row.line;
}

TEST(FlowGrammar, EveryWordOfTestpmdSaysWhatToUse) {
  std::vector<std::string> lines;
  for (const char* verb :
       {"info", "configure", "pattern_template", "actions_template", "template_table",
        "indirect_action", "dump", "aged", "isolate", "tunnel", "flex_item", "queue", "push",
        "pull", "query 0 7 age", "create 0 tunnel_match"}) {
    lines.emplace_back(verb);
  }
  for (const FlowElsewhere& item : FlowItemsElsewhere()) {
    lines.push_back(absl::StrCat("create 0 pattern ", item.name));
  }
  for (const FlowElsewhere& action : FlowActionsElsewhere()) {
    lines.push_back(absl::StrCat("create 0 pattern end actions ", action.name));
  }
  for (const std::string& line : lines) {
    EXPECT_THAT(Error(line), testing::ContainsRegex(
                                 "^\"[^\"]+\" after \"[^\"]+\": known from testpmd, not offered: "
                                 "[a-z' ].+; accepted: [a-z]"));
  }
}

TEST(FlowGrammar, AnAnswerIsOneLineWhateverWasTyped) {
  const std::string error = Error(absl::StrCat("create 0 \x1b[2J\x07", std::string(200, 'x')));
  EXPECT_THAT(error, testing::StartsWith("\"\\x1b[2J\\x07xxx"));
  EXPECT_THAT(error, HasSubstr("xxx...\" after \"flow create 0\": accepted: "));
}

TEST(FlowGrammar, WhatMayComeNext) {
  struct {
    const char* line;
    std::vector<std::string> next;
  } const kRows[] = {
      {"", {"validate", "create", "list", "query", "destroy", "flush"}},
      {"create", {"0", "3"}},
      {"create 0", {"group", "priority", "ingress", "egress", "transfer", "pattern"}},
      {"create 0 group", {"<0..4294967295>"}},
      {"create 0 pattern",
       {"void", "any", "eth", "vlan", "ipv4", "ipv6", "udp", "tcp", "esp", "end"}},
      {"create 0 pattern udp", {"src", "dst", "/"}},
      {"create 0 pattern udp src", {"is", "spec", "last", "mask", "prefix"}},
      {"create 0 pattern udp src prefix", {"<prefix length 0..16>"}},
      {"create 0 pattern ipv6 src is", {"<IPv6 address>"}},
      {"create 0 pattern udp src is 5", {"src", "dst", "/"}},
      {"create 0 pattern end", {"actions"}},
      {"create 0 pattern end actions",
       {"void", "passthru", "mark", "queue", "drop", "count", "rss", "security", "end"}},
      {"create 0 pattern end actions queue", {"index", "/"}},
      {"create 0 pattern end actions drop", {"/"}},
      {"create 0 pattern end actions security", {"security_session"}},
      {"create 0 pattern end actions rss queues 1", {"end", "<0..65535>"}},
      {"create 0 pattern end actions end", {""}},
      {"list 0", {"group", ""}},
      {"query 0", {"0", "7"}},
      {"query 3", {"<rule>"}},
      {"query 0 7", {"count"}},
      {"destroy 0 rule", {"0", "7"}},
      {"destroy 0 rule 0", {"rule", ""}},
      {"flush 0", {""}},
      // Nothing follows what is wrong.
      {"creat", {}},
      {"create 1", {}},
      {"create 0 pattern eth end", {}},
      {"flush 0 0", {}},
  };
  for (const auto& row : kRows) EXPECT_EQ(Next(row.line), row.next) << row.line;
  EXPECT_THAT(Next("create 0 pattern end actions rss types udp"), Contains("ipv4-frag"));
  EXPECT_THAT(Next("create 0 pattern end actions rss types udp"), Contains("end"));
}

TEST(FlowGrammar, EveryCandidateHasAWordOfHelp) {
  for (const char* line : {"", "create", "create 0", "create 0 pattern", "create 0 pattern vlan",
                           "create 0 pattern vlan vid", "create 0 pattern vlan vid is",
                           "create 0 pattern end actions", "create 0 pattern end actions rss"}) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    for (const Candidate& each : CompleteFlow(words, kPorts)) EXPECT_FALSE(each.help.empty());
  }
}

TEST(FlowGrammar, ARulesTextIsReadBack) {
  for (const char* rule :
       {"pattern end actions end",
        "group 1 priority 2 ingress egress transfer pattern eth / end actions drop / end",
        "ingress pattern eth dst spec 02:00:00:00:00:01 dst mask ff:00:ff:00:ff:00 / vlan tci is "
        "0x2064 / ipv6 src spec 2001:db8:: src prefix 33 flow last 9 / tcp flags mask 2 / end "
        "actions mark / rss types all end queues end key 0102 key_len 1 / count / end",
        "pattern any num spec 0 / vlan tci mask 0 / esp seq last 0 / end actions security "
        "security_session 3 / rss types none end func simple_xor / end"}) {
    const FlowRule first = Request(absl::StrCat("create 0 ", rule)).rule;
    const std::string text = FormatFlowRule(first);
    EXPECT_EQ(Request(absl::StrCat("create 0 ", text)).rule, first) << text;
  }
}

}  // namespace
}  // namespace penstock
