// SPDX-License-Identifier: BSD-3-Clause
#include "lib/config/option_readers.h"

#include <algorithm>
#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "lib/base/status.h"

namespace penstock {

absl::Status Accepted(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("accepted: ", what));
}

absl::Status ReadSwitch(absl::string_view text, bool& out) {
  static constexpr Word<bool> kWords[] = {
      {"on", true}, {"off", false}, {"true", true}, {"false", false}};
  return ReadWord(text, kWords, out);
}

absl::Status ReadSeconds(absl::string_view text, double& out) {
  double seconds = 0;
  // Nothing else: what absl::SimpleAtod takes beyond that ("inf", "nan", "-0", " 1") is no
  // duration.
  const bool plain = text.find_first_not_of("0123456789.") == absl::string_view::npos;
  if (!plain || !absl::SimpleAtod(text, &seconds) || !(seconds >= 0 && seconds <= kMaxSeconds)) {
    return Accepted(absl::StrCat("seconds, 0 to ", kMaxSeconds, ", such as 10 or 0.5"));
  }
  out = seconds;
  return absl::OkStatus();
}

namespace {

// "N" or "PORT:N,…", each N as `read` has it; nothing is accepted of which it returns nothing.
absl::Status ReadByPort(absl::string_view text, const std::string& accepted, PerPort& out,
                        absl::FunctionRef<std::optional<uint16_t>(absl::string_view)> read) {
  PerPort values;
  if (!absl::StrContains(text, ':')) {
    values.all = read(text);
    if (!values.all) return Accepted(accepted);
  } else {
    for (absl::string_view item : absl::StrSplit(text, ',')) {
      const std::vector<absl::string_view> pair = absl::StrSplit(item, ':');
      if (pair.size() != 2) return Accepted(accepted);
      const auto port = ParseUnsigned(pair[0], 0, kMaxPorts - 1);
      const auto value = read(pair[1]);
      if (!port.ok() || !value) return Accepted(accepted);
      const bool fresh = values.of_port.emplace(*port, *value).second;
      if (!fresh) return Accepted(accepted);
    }
  }
  out = values;
  return absl::OkStatus();
}

std::optional<uint16_t> NumberWithin(absl::string_view text, uint16_t min, uint16_t max) {
  const auto value = ParseUnsigned(text, min, max);
  return value.ok() ? std::optional(static_cast<uint16_t>(*value)) : std::nullopt;
}

}  // namespace

absl::Status ReadPerPort(absl::string_view text, uint16_t max, PerPort& out) {
  return ReadByPort(text,
                    absl::StrCat("1 to ", max, ", or by port, such as 0:2,1:1 (each port once)"),
                    out, [max](absl::string_view value) { return NumberWithin(value, 1, max); });
}

absl::Status ReadTxBudget(absl::string_view text, PerPort& out) {
  if (text == "default") {
    out = {};
    return absl::OkStatus();
  }
  return ReadByPort(text,
                    absl::StrCat("auto, default, ", kLeastTxBudget, " to ", kMaxDescriptors,
                                 ", or by port, such as 0:auto,1:64 (each port once)"),
                    out, [](absl::string_view value) {
                      return value == "auto" ? std::optional(kTxBudgetAuto)
                                             : NumberWithin(value, kLeastTxBudget, kMaxDescriptors);
                    });
}

namespace {

// A mask as testpmd reads it, hexadecimal with or without "0x", as the numbers of its bits.
absl::StatusOr<std::vector<unsigned>> BitsOf(absl::string_view text, unsigned most) {
  const bool marked = absl::StartsWith(text, "0x") || absl::StartsWith(text, "0X");
  const uint64_t max = most >= 64 ? kNoLimit : (uint64_t{1} << most) - 1;
  PENSTOCK_ASSIGN_OR_RETURN(
      const uint64_t mask,
      ParseUnsigned(marked ? std::string(text) : absl::StrCat("0x", text), 1, max));
  std::vector<unsigned> bits;
  for (unsigned bit = 0; bit < 64; ++bit) {
    if ((mask >> bit & 1) != 0) bits.push_back(bit);
  }
  return bits;
}

}  // namespace

absl::Status ReadMask(absl::string_view text, unsigned most, std::vector<uint16_t>& out) {
  const auto bits = BitsOf(text, std::min(most, 64u));
  if (!bits.ok()) {
    return Accepted(absl::StrCat("a hexadecimal mask with a bit for each of 0 to ",
                                 std::min(most, 64u) - 1, ", such as 0x6 for 1 and 2"));
  }
  out.assign(bits->begin(), bits->end());
  return absl::OkStatus();
}

absl::Status ReadList(absl::string_view text, unsigned most, std::vector<uint16_t>& out) {
  const absl::Status refused = Accepted(absl::StrCat(
      "numbers of 0 to ", most - 1, " and ranges of them, each number once, such as 0,1 or 2-4,0"));
  std::vector<uint16_t> numbers;
  for (const absl::string_view item : absl::StrSplit(text, ',')) {
    const std::vector<absl::string_view> ends = absl::StrSplit(item, '-');
    const auto first = ParseUnsigned(ends.front(), 0, most - 1);
    const auto last = ParseUnsigned(ends.back(), 0, most - 1);
    if (ends.size() > 2 || !first.ok() || !last.ok() || *first > *last) return refused;
    for (uint64_t number = *first; number <= *last; ++number) {
      if (std::ranges::find(numbers, number) != numbers.end()) return refused;
      numbers.push_back(static_cast<uint16_t>(number));
    }
  }
  out = numbers;
  return absl::OkStatus();
}

absl::Status ReadMaxPacket(absl::string_view text, uint16_t& out) {
  uint16_t with_fcs = 0;
  PENSTOCK_RETURN_IF_ERROR(
      ReadNumber(text, kMinMaxPacketBytes + kFcsBytes, kMaxPacketBytes + kFcsBytes, with_fcs));
  out = static_cast<uint16_t>(with_fcs - kFcsBytes);
  return absl::OkStatus();
}

absl::Status ReadRss(absl::string_view text, Rss asked, Rss& out) {
  bool on = false;
  PENSTOCK_RETURN_IF_ERROR(ReadSwitch(text, on));
  if (on) {
    out = asked;
  } else if (out == asked) {
    out = Rss::kDefault;
  }
  return absl::OkStatus();
}

absl::Status ReadOffloadSwitch(absl::string_view text, uint64_t bits, uint64_t& out) {
  bool on = false;
  PENSTOCK_RETURN_IF_ERROR(ReadSwitch(text, on));
  out = on ? out | bits : out & ~bits;
  return absl::OkStatus();
}

absl::Status AddOffloads(absl::string_view text, std::span<const Offload> table, uint64_t& out) {
  PENSTOCK_ASSIGN_OR_RETURN(const uint64_t bits, ParseOffloads(table, text));
  out |= bits;
  return absl::OkStatus();
}

absl::Status ReadCompletionAge(absl::string_view text, std::array<uint64_t, 2>& out_ns) {
  const std::vector<absl::string_view> pair = absl::StrSplit(text, ',');
  if (pair.size() == 2) {
    const auto busy = ParseDurationNs(pair[0], kMinCompletionAgeNs, kMaxCompletionAgeNs);
    const auto idle = ParseDurationNs(pair[1], kMinCompletionAgeNs, kMaxCompletionAgeNs);
    if (busy.ok() && idle.ok() && *busy <= *idle) {
      out_ns = {*busy, *idle};
      return absl::OkStatus();
    }
  }
  return Accepted("BUSY,IDLE, times of 1us to 10s, the first no longer, such as 100us,1ms");
}

absl::Status ReadCompletionLcore(absl::string_view text,
                                 std::map<std::pair<uint16_t, uint16_t>, uint16_t>& out) {
  std::map<std::pair<uint16_t, uint16_t>, uint16_t> reapers;
  if (text == "default") {
    out = reapers;
    return absl::OkStatus();
  }
  const absl::Status refused =
      Accepted("default, or PORT.QUEUE@LCORE,..., each queue once, such as 0.0@2");
  for (const absl::string_view item : absl::StrSplit(text, ',')) {
    const std::vector<absl::string_view> at = absl::StrSplit(item, '@');
    const std::vector<absl::string_view> queue = absl::StrSplit(at.front(), '.');
    if (at.size() != 2 || queue.size() != 2) return refused;
    const auto port = ParseUnsigned(queue[0], 0, kMaxPorts - 1);
    const auto number = ParseUnsigned(queue[1], 0, kMaxQueues - 1);
    const auto lcore = ParseUnsigned(at[1], 0, kMaxLcores - 1);
    if (!port.ok() || !number.ok() || !lcore.ok()) return refused;
    if (!reapers.emplace(std::pair(*port, *number), *lcore).second) return refused;
  }
  out = reapers;
  return absl::OkStatus();
}

absl::Status ReadTxpkts(absl::string_view text, std::vector<uint16_t>& out) {
  std::vector<uint16_t> lengths;
  for (absl::string_view item : absl::StrSplit(text, ',')) {
    const auto length = ParseUnsigned(item, 1, kMaxPacketBytes);
    if (!length.ok() || lengths.size() == kMaxSegments) {
      return Accepted(absl::StrCat("1 to ", kMaxSegments, " segment lengths in bytes, ",
                                   kMinTxPacketBytes, " to ", kMaxPacketBytes,
                                   " in all, such as 64 or 256,1024"));
    }
    lengths.push_back(static_cast<uint16_t>(*length));
  }
  out = lengths;
  return absl::OkStatus();
}

absl::Status ReadTxIp(absl::string_view text, std::array<Ipv4Address, 2>& out) {
  const std::vector<absl::string_view> pair = absl::StrSplit(text, ',');
  if (pair.size() == 2) {
    const auto source = Ipv4Address::Parse(pair[0]);
    const auto destination = Ipv4Address::Parse(pair[1]);
    if (source.ok() && destination.ok()) {
      out = {*source, *destination};
      return absl::OkStatus();
    }
  }
  return Accepted("SOURCE,DESTINATION as IPv4 addresses, such as 198.18.0.1,198.18.0.2");
}

absl::Status ReadTxUdp(absl::string_view text, std::array<uint16_t, 2>& out) {
  const std::vector<absl::string_view> pair = absl::StrSplit(text, ',');
  const auto source = ParseUnsigned(pair.front(), 1, 65535);
  const auto destination = ParseUnsigned(pair.back(), 1, 65535);
  if (pair.size() > 2 || !source.ok() || !destination.ok()) {
    return Accepted("SOURCE or SOURCE,DESTINATION, UDP ports of 1 to 65535");
  }
  out = {static_cast<uint16_t>(*source), static_cast<uint16_t>(*destination)};
  return absl::OkStatus();
}

absl::Status ReadEthPeer(absl::string_view text, std::map<uint16_t, MacAddress>& out) {
  const std::vector<absl::string_view> pair = absl::StrSplit(text, ',');
  if (pair.size() == 2) {
    const auto port = ParseUnsigned(pair[0], 0, kMaxPorts - 1);
    const auto mac = MacAddress::Parse(pair[1]);
    if (port.ok() && mac.ok()) {
      if (out.emplace(*port, *mac).second) return absl::OkStatus();
      return Accepted("each port once");
    }
  }
  return Accepted("PORT,MAC, such as 0,02:00:00:00:00:01");
}

absl::Status ReadText(absl::string_view text, absl::string_view accepted, std::string& out) {
  // A control character is a slip of the keyboard; a NUL would end the name for the system.
  if (text.empty() || std::ranges::any_of(text, absl::ascii_iscntrl)) return Accepted(accepted);
  out = std::string(text);
  return absl::OkStatus();
}

}  // namespace penstock
