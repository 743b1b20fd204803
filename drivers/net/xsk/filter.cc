// SPDX-License-Identifier: BSD-3-Clause
//
// Reads the rules of filter=; see the header. Control thread.

#include "drivers/net/xsk/filter.h"

#include <arpa/inet.h>

#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lib/base/status.h"
#include "lib/net/mac_address.h"

namespace penstock {
namespace {

absl::Status Refuse(absl::string_view rule, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("filter rule '", rule, "': ", why,
                   "; accepted are udp:PORT, esp, ether:TYPE, dst-mac and dst-mac:MAC, as in "
                   "filter=[udp:4789,esp,ether:0x88b5,dst-mac]"));
}

bool ReadNumber(absl::string_view text, uint32_t min, uint16_t& out) {
  uint32_t value = 0;
  const bool hex = absl::StartsWith(text, "0x");
  if (hex ? !absl::SimpleHexAtoi(text, &value) : !absl::SimpleAtoi(text, &value)) return false;
  if (value < min || value > 0xffff) return false;
  out = htons(static_cast<uint16_t>(value));
  return true;
}

absl::Status AddRule(absl::string_view rule, xsk_filter_config& config) {
  absl::string_view rest = rule;
  uint16_t number = 0;
  if (rule == "esp") {
    config.esp = 1;
  } else if (rule == "dst-mac") {
    config.own_mac = 1;
  } else if (absl::ConsumePrefix(&rest, "udp:")) {
    if (!ReadNumber(rest, 1, number)) return Refuse(rule, "a port is 1…65535");
    if (config.udp_ports == XSK_FILTER_MAX) return Refuse(rule, "more than 16 ports");
    config.udp_port[config.udp_ports++] = number;
  } else if (absl::ConsumePrefix(&rest, "ether:")) {
    if (!ReadNumber(rest, 0x600, number)) return Refuse(rule, "an ethertype is 0x600…0xffff");
    if (config.ethertypes == XSK_FILTER_MAX) return Refuse(rule, "more than 16 ethertypes");
    config.ethertype[config.ethertypes++] = number;
  } else if (absl::ConsumePrefix(&rest, "dst-mac:")) {
    const absl::StatusOr<MacAddress> mac = MacAddress::Parse(rest);
    if (!mac.ok()) return Refuse(rule, mac.status().message());
    if (config.macs == XSK_FILTER_MAX) return Refuse(rule, "more than 16 addresses");
    std::memcpy(config.mac[config.macs++], mac->bytes.data(), 6);
  } else {
    return Refuse(rule, "unknown");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<FilterRules> ParseFilter(absl::string_view text) {
  FilterRules rules;
  rules.text = std::string(text);
  rules.config = {};
  absl::string_view inside = text;
  // EAL keeps commas together between brackets; a single rule needs none.
  if (absl::ConsumePrefix(&inside, "[") && !absl::ConsumeSuffix(&inside, "]")) {
    return Refuse(text, "the bracket is not closed");
  }
  for (absl::string_view rule : absl::StrSplit(inside, ',')) {
    PENSTOCK_RETURN_IF_ERROR(AddRule(absl::StripAsciiWhitespace(rule), rules.config));
  }
  return rules;
}

}  // namespace penstock
