// SPDX-License-Identifier: BSD-3-Clause
#include "lib/control/flow_grammar.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "lib/base/quote.h"
#include "lib/base/status.h"
#include "lib/port/flow_value.h"
#include "lib/port/flow_vocabulary.h"

namespace penstock {
namespace {

using Choices = std::vector<Candidate>;
using Elsewhere = std::span<const FlowElsewhere>;
using Verb = FlowRequest::Verb;

constexpr uint64_t kMax32 = std::numeric_limits<uint32_t>::max();

struct VerbRow {
  Verb verb;
  absl::string_view name;
  absl::string_view help;
};
constexpr VerbRow kVerbs[] = {
    {Verb::kValidate, "validate", "could the port have this rule"},
    {Verb::kCreate, "create", "make a rule"},
    {Verb::kList, "list", "the port's rules"},
    {Verb::kQuery, "query", "what a rule has counted"},
    {Verb::kDestroy, "destroy", "remove rules"},
    {Verb::kFlush, "flush", "remove all rules of a port"},
};

// What a field's value goes into.
enum class Parameter { kIs, kSpec, kLast, kMask, kPrefix };
struct ParameterRow {
  Parameter parameter;
  absl::string_view name;
  absl::string_view help;
};
constexpr ParameterRow kParameters[] = {
    {Parameter::kIs, "is", "exactly this value"},
    {Parameter::kSpec, "spec", "this value, as far as the mask goes"},
    {Parameter::kLast, "last", "up to this value, from spec on"},
    {Parameter::kMask, "mask", "these bits count"},
    {Parameter::kPrefix, "prefix", "so many leading bits count"},
};

constexpr absl::string_view kAtOnce =
    "flow create makes a rule at once, without templates and queues of requests";
constexpr absl::string_view kTunnel =
    "what is inside of tunnels is not looked at; match the outer headers";
constexpr FlowElsewhere kVerbsElsewhere[] = {
    {"info", "flow validate tells whether the port could have a rule"},
    {"configure", kAtOnce},
    {"pattern_template", kAtOnce},
    {"actions_template", kAtOnce},
    {"template_table", kAtOnce},
    {"indirect_action", "write the action itself into each rule; flow query has its count"},
    {"dump", "flow list PORT shows the rules"},
    {"aged", "rules do not grow old; flow query tells whether packets still come"},
    {"isolate",
     "flow create, of the lowest priority and with the action drop, leaves out the rest"},
    {"tunnel", kTunnel},
    {"flex_item", "match fields of the items that flow create has"},
    {"queue", kAtOnce},
    {"push", kAtOnce},
    {"pull", kAtOnce},
};
constexpr FlowElsewhere kAttributesElsewhere[] = {{"tunnel_set", kTunnel},
                                                  {"tunnel_match", kTunnel}};
constexpr FlowElsewhere kQueriesElsewhere[] = {
    {"rss", "a rule spreads as it was created; flow list PORT shows the rules"},
    {"age", "rules do not grow old; count tells whether packets still come"},
};

template <typename Rows>
Choices ChoicesOf(const Rows& rows) {
  Choices choices;
  for (const auto& row : rows) choices.push_back({std::string(row.name), std::string(row.help)});
  return choices;
}

// One walk along the words.
class Walk {
 public:
  Walk(std::span<const std::string> words, std::span<const FlowPort> ports)
      : words_(words), ports_(ports) {}

  absl::StatusOr<FlowRequest> Request();

  // What was acceptable where the words ended; empty when one was wrong before.
  Choices TakeNext() && { return AtEnd() ? std::move(choices_) : Choices(); }

 private:
  bool AtEnd() const { return at_ == words_.size(); }

  // Takes the word that comes next if it is one of `choices`, whose place it returns; an empty
  // choice is the end of the line. Words `elsewhere` are refused with what to use instead.
  absl::StatusOr<size_t> Choose(Choices choices, Elsewhere elsewhere = {});
  // Takes the word that comes next if `take` does. `hint` says what that would be.
  template <typename Take>
  absl::Status Value(Candidate hint, Take take);
  absl::Status Number(absl::string_view hint, uint64_t max, uint64_t& number);
  absl::Status Number32(absl::string_view hint, uint32_t& number);
  absl::Status Refuse(absl::string_view why = "") const;

  absl::Status Port(FlowRequest& request);
  absl::Status RuleId(FlowRequest& request);
  absl::Status Rule(FlowRule& rule);
  absl::Status Attributes(FlowRule& rule);
  absl::Status Pattern(FlowRule& rule);
  absl::Status Fields(FlowItem& item);
  absl::Status ItemValue(FlowItem& item, const FlowField& field, Parameter parameter);
  absl::Status Actions(FlowRule& rule);
  absl::Status ActionFields(FlowAction& action);
  absl::Status Session(FlowAction& action);
  absl::Status Rss(FlowRss& rss);
  absl::Status RssFunction(FlowRss& rss);
  absl::Status RssKey(FlowRss& rss);
  absl::Status RssTypes(FlowRss& rss);
  absl::Status RssQueues(FlowRss& rss);
  // To the end of the line.
  absl::Status Groups(FlowRequest& request);
  absl::Status Rules(FlowRequest& request);
  absl::Status EndOfLine();

  const std::span<const std::string> words_;
  const std::span<const FlowPort> ports_;
  size_t at_ = 0;
  Choices choices_;  // What was acceptable in the place looked at last.
};

absl::Status Walk::Refuse(absl::string_view why) const {
  constexpr size_t kShownBefore = 5;
  std::vector<std::string> before = {"flow"};
  if (at_ > kShownBefore) before.emplace_back("...");
  const size_t first = at_ - std::min(at_, kShownBefore);
  before.insert(before.end(), words_.begin() + static_cast<long>(first),
                words_.begin() + static_cast<long>(at_));
  const std::string accepted =
      absl::StrJoin(choices_, ", ", [](std::string* out, const Candidate& choice) {
        absl::StrAppend(out, choice.word.empty() ? "the end of the line" : choice.word);
      });
  return absl::InvalidArgumentError(absl::StrCat(AtEnd() ? "line ends" : Quote(words_[at_]),
                                                 " after ", Quote(absl::StrJoin(before, " ")), ": ",
                                                 why, "accepted: ", accepted));
}

absl::StatusOr<size_t> Walk::Choose(Choices choices, Elsewhere elsewhere) {
  choices_ = std::move(choices);
  const absl::string_view word = AtEnd() ? "" : absl::string_view(words_[at_]);
  const auto found = std::ranges::find(choices_, word, &Candidate::word);
  if (found == choices_.end()) {
    const auto known = std::ranges::find(elsewhere, word, &FlowElsewhere::name);
    return Refuse(known == elsewhere.end()
                      ? ""
                      : absl::StrCat("known from testpmd, not offered: ", known->instead, "; "));
  }
  if (!AtEnd()) ++at_;
  return static_cast<size_t>(found - choices_.begin());
}

template <typename Take>
absl::Status Walk::Value(Candidate hint, Take take) {
  choices_ = {std::move(hint)};
  if (AtEnd() || !take(absl::string_view(words_[at_]))) return Refuse();
  ++at_;
  return absl::OkStatus();
}

absl::Status Walk::Number(absl::string_view hint, uint64_t max, uint64_t& number) {
  return Value({absl::StrCat("<0..", max, ">"), std::string(hint)}, [&](absl::string_view word) {
    const std::optional<uint64_t> read = ParseFlowNumber(word, max);
    if (read) number = *read;
    return read.has_value();
  });
}

absl::Status Walk::Number32(absl::string_view hint, uint32_t& number) {
  uint64_t read = 0;
  PENSTOCK_RETURN_IF_ERROR(Number(hint, kMax32, read));
  number = static_cast<uint32_t>(read);
  return absl::OkStatus();
}

absl::StatusOr<FlowRequest> Walk::Request() {
  FlowRequest request;
  PENSTOCK_ASSIGN_OR_RETURN(const size_t verb, Choose(ChoicesOf(kVerbs), kVerbsElsewhere));
  request.verb = kVerbs[verb].verb;
  PENSTOCK_RETURN_IF_ERROR(Port(request));
  switch (request.verb) {
    case Verb::kValidate:
    case Verb::kCreate:
      PENSTOCK_RETURN_IF_ERROR(Rule(request.rule));
      PENSTOCK_RETURN_IF_ERROR(EndOfLine());
      break;
    case Verb::kList:
      PENSTOCK_RETURN_IF_ERROR(Groups(request));
      break;
    case Verb::kQuery:
      PENSTOCK_RETURN_IF_ERROR(RuleId(request));
      PENSTOCK_RETURN_IF_ERROR(
          Choose({{"count", "packets and bytes"}}, kQueriesElsewhere).status());
      PENSTOCK_RETURN_IF_ERROR(EndOfLine());
      break;
    case Verb::kDestroy:
      PENSTOCK_RETURN_IF_ERROR(Rules(request));
      break;
    case Verb::kFlush:
      PENSTOCK_RETURN_IF_ERROR(EndOfLine());
      break;
  }
  return request;
}

absl::Status Walk::EndOfLine() { return Choose({{"", "end of the line"}}).status(); }

absl::Status Walk::Port(FlowRequest& request) {
  choices_.clear();
  for (const FlowPort& port : ports_) choices_.push_back({absl::StrCat(port.port), port.name});
  const std::optional<uint64_t> number =
      AtEnd() ? std::nullopt : ParseFlowNumber(words_[at_], std::numeric_limits<uint16_t>::max());
  const auto found = number ? std::ranges::find(ports_, *number, &FlowPort::port) : ports_.end();
  if (found == ports_.end()) return Refuse();
  request.port = found->port;
  ++at_;
  return absl::OkStatus();
}

absl::Status Walk::RuleId(FlowRequest& request) {
  uint32_t& id = request.ids.emplace_back();
  if (!AtEnd()) return Number32("id of a rule", id);
  choices_.clear();
  const auto port = std::ranges::find(ports_, request.port, &FlowPort::port);
  for (const uint32_t rule : port->rules) choices_.push_back({absl::StrCat(rule), "rule"});
  if (choices_.empty()) choices_.push_back({"<rule>", "id of a rule; the port has none"});
  return Refuse();
}

absl::Status Walk::Groups(FlowRequest& request) {
  for (;;) {
    PENSTOCK_ASSIGN_OR_RETURN(
        const size_t chosen,
        Choose({{"group", "only the rules of a group; may be repeated"}, {"", "all groups"}}));
    if (chosen == 1) return absl::OkStatus();
    PENSTOCK_RETURN_IF_ERROR(Number32("group", request.groups.emplace_back()));
  }
}

absl::Status Walk::Rules(FlowRequest& request) {
  Choices choices = {{"rule", "one more rule"}};
  for (;;) {
    PENSTOCK_ASSIGN_OR_RETURN(const size_t chosen, Choose(choices));
    if (chosen == 1) return absl::OkStatus();
    PENSTOCK_RETURN_IF_ERROR(RuleId(request));
    if (choices.size() == 1) choices.push_back({"", "no more rules"});
  }
}

absl::Status Walk::Rule(FlowRule& rule) {
  PENSTOCK_RETURN_IF_ERROR(Attributes(rule));
  PENSTOCK_RETURN_IF_ERROR(Pattern(rule));
  PENSTOCK_RETURN_IF_ERROR(Choose({{"actions", "what becomes of the packets"}}).status());
  return Actions(rule);
}

absl::Status Walk::Attributes(FlowRule& rule) {
  enum { kGroup, kPriority, kIngress, kEgress, kTransfer, kPattern };
  const Choices choices = {
      {"group", "the group of the rule"},         {"priority", "0 is the highest"},
      {"ingress", "for packets that come in"},    {"egress", "for packets that go out"},
      {"transfer", "within the device's switch"}, {"pattern", "which packets"}};
  for (;;) {
    PENSTOCK_ASSIGN_OR_RETURN(const size_t chosen, Choose(choices, kAttributesElsewhere));
    switch (chosen) {
      case kGroup:
        PENSTOCK_RETURN_IF_ERROR(Number32("group", rule.group));
        break;
      case kPriority:
        PENSTOCK_RETURN_IF_ERROR(Number32("priority", rule.priority));
        break;
      case kIngress:
        rule.ingress = true;
        break;
      case kEgress:
        rule.egress = true;
        break;
      case kTransfer:
        rule.transfer = true;
        break;
      default:
        return absl::OkStatus();
    }
  }
}

absl::Status Walk::Pattern(FlowRule& rule) {
  Choices choices = ChoicesOf(FlowItems());
  choices.push_back({"end", "end of the pattern"});
  for (;;) {
    PENSTOCK_ASSIGN_OR_RETURN(const size_t chosen, Choose(choices, FlowItemsElsewhere()));
    if (chosen == FlowItems().size()) return absl::OkStatus();
    FlowItem& item = rule.pattern.emplace_back();
    item.kind = &FlowItems()[chosen];
    PENSTOCK_RETURN_IF_ERROR(Fields(item));
  }
}

absl::Status Walk::Fields(FlowItem& item) {
  Choices choices = ChoicesOf(item.kind->fields);
  choices.push_back({"/", "end of the item"});
  for (;;) {
    PENSTOCK_ASSIGN_OR_RETURN(const size_t chosen, Choose(choices));
    if (chosen == item.kind->fields.size()) return absl::OkStatus();
    PENSTOCK_ASSIGN_OR_RETURN(const size_t parameter, Choose(ChoicesOf(kParameters)));
    PENSTOCK_RETURN_IF_ERROR(
        ItemValue(item, item.kind->fields[chosen], kParameters[parameter].parameter));
  }
}

absl::Status Walk::ItemValue(FlowItem& item, const FlowField& field, Parameter parameter) {
  const size_t bytes = item.kind->bytes;
  std::vector<uint8_t>& into = parameter == Parameter::kLast ? item.last
                               : parameter == Parameter::kMask || parameter == Parameter::kPrefix
                                   ? item.mask
                                   : item.spec;
  into.resize(bytes);
  if (parameter == Parameter::kPrefix) {
    return Value({DescribeFlowPrefix(field), std::string(field.help)},
                 [&](absl::string_view word) { return StoreFlowPrefix(field, word, into); });
  }
  PENSTOCK_RETURN_IF_ERROR(
      Value({DescribeFlowValue(field), std::string(field.help)},
            [&](absl::string_view word) { return StoreFlowValue(field, word, into); }));
  if (parameter == Parameter::kIs) {
    item.mask.resize(bytes);
    FillFlowField(field, item.mask);
  }
  return absl::OkStatus();
}

absl::Status Walk::Actions(FlowRule& rule) {
  Choices choices = ChoicesOf(FlowActions());
  choices.push_back({"end", "end of the actions"});
  for (;;) {
    PENSTOCK_ASSIGN_OR_RETURN(const size_t chosen, Choose(choices, FlowActionsElsewhere()));
    if (chosen == FlowActions().size()) return absl::OkStatus();
    FlowAction& action = rule.actions.emplace_back(FlowActions()[chosen]);
    switch (action.kind->form) {
      case FlowActionKind::Form::kFields:
        PENSTOCK_RETURN_IF_ERROR(ActionFields(action));
        break;
      case FlowActionKind::Form::kRss:
        PENSTOCK_RETURN_IF_ERROR(Rss(action.rss));
        break;
      case FlowActionKind::Form::kSecurity:
        PENSTOCK_RETURN_IF_ERROR(Session(action));
        break;
    }
  }
}

absl::Status Walk::ActionFields(FlowAction& action) {
  Choices choices = ChoicesOf(action.kind->fields);
  choices.push_back({"/", "end of the action"});
  for (;;) {
    PENSTOCK_ASSIGN_OR_RETURN(const size_t chosen, Choose(choices));
    if (chosen == action.kind->fields.size()) return absl::OkStatus();
    const FlowField& field = action.kind->fields[chosen];
    PENSTOCK_RETURN_IF_ERROR(
        Value({DescribeFlowValue(field), std::string(field.help)},
              [&](absl::string_view word) { return StoreFlowValue(field, word, action.conf); }));
  }
}

absl::Status Walk::Session(FlowAction& action) {
  PENSTOCK_RETURN_IF_ERROR(Choose({{"security_session", "which session"}}).status());
  PENSTOCK_RETURN_IF_ERROR(Number32("number of the session", action.session));
  return Choose({{"/", "end of the action"}}).status();
}

absl::Status Walk::Rss(FlowRss& rss) {
  enum { kFunc, kLevel, kTypes, kKey, kKeyLength, kQueues, kEnd };
  const Choices choices = {{"func", "hash function"},
                           {"level", "of encapsulation; 1 is the outermost"},
                           {"types", "what is hashed; ip when not given"},
                           {"key", "hash key"},
                           {"key_len", "length of the key in bytes"},
                           {"queues", "RX queues; all when not given"},
                           {"/", "end of the action"}};
  for (;;) {
    PENSTOCK_ASSIGN_OR_RETURN(const size_t chosen, Choose(choices));
    switch (chosen) {
      case kFunc:
        PENSTOCK_RETURN_IF_ERROR(RssFunction(rss));
        break;
      case kLevel:
        PENSTOCK_RETURN_IF_ERROR(Number32("level", rss.level));
        break;
      case kTypes:
        PENSTOCK_RETURN_IF_ERROR(RssTypes(rss));
        break;
      case kKey:
        PENSTOCK_RETURN_IF_ERROR(RssKey(rss));
        break;
      case kKeyLength: {
        uint64_t length = 0;
        PENSTOCK_RETURN_IF_ERROR(Number("length of the key in bytes", kMaxFlowRssKeyBytes, length));
        rss.key_length = static_cast<uint32_t>(length);
        break;
      }
      case kQueues:
        PENSTOCK_RETURN_IF_ERROR(RssQueues(rss));
        break;
      default:
        return absl::OkStatus();
    }
  }
}

absl::Status Walk::RssFunction(FlowRss& rss) {
  Choices choices;
  for (const FlowRssFunction& each : FlowRssFunctions()) {
    choices.push_back({std::string(each.name), "hash function"});
  }
  PENSTOCK_ASSIGN_OR_RETURN(const size_t chosen, Choose(std::move(choices)));
  rss.function = FlowRssFunctions()[chosen].function;
  return absl::OkStatus();
}

absl::Status Walk::RssKey(FlowRss& rss) {
  rss.key_length.reset();  // As long as it is, whatever was said before.
  return Value({absl::StrCat("<1 to ", kMaxFlowRssKeyBytes, " bytes in hexadecimal>"), "hash key"},
               [&](absl::string_view word) {
                 auto key = ParseFlowHex(word, kMaxFlowRssKeyBytes);
                 if (key) rss.key = *std::move(key);
                 return key.has_value();
               });
}

absl::Status Walk::RssTypes(FlowRss& rss) {
  Choices choices;
  for (const FlowRssType& each : FlowRssTypes()) {
    choices.push_back({std::string(each.name), "RSS type"});
  }
  choices.push_back({"end", "end of the types"});
  uint64_t& types = rss.types.emplace(0);
  for (;;) {
    PENSTOCK_ASSIGN_OR_RETURN(const size_t chosen, Choose(choices));
    if (chosen == FlowRssTypes().size()) return absl::OkStatus();
    types |= FlowRssTypes()[chosen].types;
  }
}

absl::Status Walk::RssQueues(FlowRss& rss) {
  constexpr uint16_t kMaxQueue = std::numeric_limits<uint16_t>::max();
  std::vector<uint16_t>& queues = rss.queues.emplace();
  for (;;) {
    choices_ = {{"end", "end of the queues"}};
    if (queues.size() < kMaxFlowRssQueues) {
      choices_.push_back({absl::StrCat("<0..", kMaxQueue, ">"), "RX queue"});
    }
    if (AtEnd()) return Refuse();
    if (words_[at_] == "end") {
      ++at_;
      return absl::OkStatus();
    }
    const std::optional<uint64_t> queue = ParseFlowNumber(words_[at_], kMaxQueue);
    if (!queue || queues.size() == kMaxFlowRssQueues) return Refuse();
    queues.push_back(static_cast<uint16_t>(*queue));
    ++at_;
  }
}

}  // namespace

absl::StatusOr<FlowRequest> ParseFlow(std::span<const std::string> words,
                                      std::span<const FlowPort> ports) {
  return Walk(words, ports).Request();
}

std::vector<Candidate> CompleteFlow(std::span<const std::string> words,
                                    std::span<const FlowPort> ports) {
  Walk walk(words, ports);
  static_cast<void>(walk.Request());
  return std::move(walk).TakeNext();
}

}  // namespace penstock
