// SPDX-License-Identifier: BSD-3-Clause
#include "lib/config/options.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "lib/base/status.h"
#include "lib/text/quantity.h"
#include "lib/text/yaml.h"

namespace penstock {
namespace {

absl::Status Accepted(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("accepted: ", what));
}

// What was given as it may stand in a message of one line.
std::string Shown(absl::string_view text) {
  constexpr size_t kMaxShown = 80;
  return absl::StrCat(absl::CHexEscape(text.substr(0, kMaxShown)),
                      text.size() > kMaxShown ? "..." : "");
}

// ---- readers of one value each; the error says what is accepted ----

absl::Status ReadSwitch(absl::string_view text, bool& out) {
  if (text != "true" && text != "false") return Accepted("true or false");
  out = text == "true";
  return absl::OkStatus();
}

template <typename T>
absl::Status ReadNumber(absl::string_view text, uint64_t min, uint64_t max, T& out) {
  const auto value = ParseUnsigned(text, min, max);
  if (!value.ok()) return Accepted(absl::StrCat(min, " to ", max));
  out = static_cast<T>(*value);
  return absl::OkStatus();
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

template <typename T>
struct Word {
  absl::string_view text;
  T value;
};

template <typename T, size_t n>
absl::Status ReadWord(absl::string_view text, const Word<T> (&words)[n], T& out) {
  std::vector<absl::string_view> accepted;
  for (const Word<T>& word : words) {
    if (word.text == text) {
      out = word.value;
      return absl::OkStatus();
    }
    accepted.push_back(word.text);
  }
  return Accepted(absl::StrJoin(accepted, ", "));
}

// "N" or "PORT:N,PORT:N,…".
absl::Status ReadPerPort(absl::string_view text, uint16_t max, PerPort& out) {
  const std::string accepted =
      absl::StrCat("1 to ", max, ", or by port, such as 0:2,1:1 (each port once)");
  PerPort values;
  if (!absl::StrContains(text, ':')) {
    const auto value = ParseUnsigned(text, 1, max);
    if (!value.ok()) return Accepted(accepted);
    values.all = static_cast<uint16_t>(*value);
  } else {
    for (absl::string_view item : absl::StrSplit(text, ',')) {
      const std::vector<absl::string_view> pair = absl::StrSplit(item, ':');
      if (pair.size() != 2) return Accepted(accepted);
      const auto port = ParseUnsigned(pair[0], 0, kMaxPorts - 1);
      const auto value = ParseUnsigned(pair[1], 1, max);
      if (!port.ok() || !value.ok()) return Accepted(accepted);
      const bool fresh = values.of_port.emplace(*port, *value).second;
      if (!fresh) return Accepted(accepted);
    }
  }
  out = values;
  return absl::OkStatus();
}

absl::Status ReadTxpkts(absl::string_view text, std::vector<uint16_t>& out) {
  std::vector<uint16_t> lengths;
  for (absl::string_view item : absl::StrSplit(text, ',')) {
    const auto length = ParseUnsigned(item, 1, kMaxPacketBytes);
    if (!length.ok() || lengths.size() == kMaxSegments) {
      return Accepted(
          absl::StrCat("1 to ", kMaxSegments, " segment lengths in bytes, such as 64 or 256,1024"));
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

constexpr Word<PortTopology> kTopologies[] = {{"paired", PortTopology::kPaired},
                                              {"chained", PortTopology::kChained},
                                              {"loop", PortTopology::kLoop}};
constexpr Word<Severity> kLogLevels[] = {{"debug", Severity::kDebug},
                                         {"info", Severity::kInfo},
                                         {"warning", Severity::kWarning},
                                         {"error", Severity::kError}};

using C = Configuration;
using V = absl::string_view;

constexpr Option kOptions[] = {
    {.area = "run",
     .name = "interactive",
     .argument = "",
     .help = "read commands from the terminal (also: -i); without it, forward until a signal",
     .in_file = false,
     .set = [](C& c, V v) { return ReadSwitch(v, c.interactive); }},
    {.area = "run",
     .name = "duration",
     .argument = "SECONDS",
     .help = "stop by itself after so many seconds of forwarding (default 0: never)",
     .set = [](C& c, V v) { return ReadSeconds(v, c.duration_s); }},
    {.area = "run",
     .name = "stats-period",
     .argument = "SECONDS",
     .help = "show rates and drops every so many seconds (default 0: never)",
     .set = [](C& c, V v) { return ReadSeconds(v, c.stats_period_s); }},
    {.area = "run",
     .name = "report",
     .argument = "FILE.json",
     .help = "write the report there at the end",
     .set = [](C& c, V v) { return ReadText(v, "a file name", c.report_path); }},
    {.area = "run",
     .name = "memory",
     .argument = "SIZE",
     .help = "memory for mbufs and DPDK, such as 512M (default without hugepages: 1G)",
     .set =
         [](C& c, V v) {
           const auto size = ParseSize(v, kMinMemoryBytes, kMaxMemoryBytes);
           if (!size.ok()) return Accepted("64M to 1T, such as 512M or 2G");
           c.memory_bytes = *size;
           return absl::OkStatus();
         }},
    {.area = "run",
     .name = "run-dir",
     .argument = "DIR",
     .help = "where this instance keeps its state (default /run/penstock)",
     .set = [](C& c, V v) { return ReadText(v, "a folder", c.run_directory); }},
    {.area = "run",
     .name = "log-level",
     .argument = "LEVEL",
     .help = "debug, info, warning or error (default info)",
     .set = [](C& c, V v) { return ReadWord(v, kLogLevels, c.log_level); }},

    {.area = "mode",
     .name = "forward-mode",
     .argument = "MODE",
     .help = "what to do with packets (default io); the modes are listed below",
     .set = [](C& c, V v) { return ReadText(v, "a mode", c.forward_mode); }},
    {.area = "mode",
     .name = "port-topology",
     .argument = "TOPOLOGY",
     .help =
         "where a packet of port P leaves: paired (P^1, the default), chained (the next), loop (P)",
     .set = [](C& c, V v) { return ReadWord(v, kTopologies, c.port_topology); }},

    {.area = "queues",
     .name = "rxq",
     .argument = "N|PORT:N,...",
     .help = "RX queues (default 1)",
     .set = [](C& c, V v) { return ReadPerPort(v, kMaxQueues, c.rxq); }},
    {.area = "queues",
     .name = "txq",
     .argument = "N|PORT:N,...",
     .help = "TX queues (default one per sending lcore, up to what the port has)",
     .set = [](C& c, V v) { return ReadPerPort(v, kMaxQueues, c.txq); }},
    {.area = "queues",
     .name = "rxd",
     .argument = "N|PORT:N,...",
     .help = "descriptors of an RX queue (default 1024 or the nearest the port takes)",
     .set = [](C& c, V v) { return ReadPerPort(v, kMaxDescriptors, c.rxd); }},
    {.area = "queues",
     .name = "txd",
     .argument = "N|PORT:N,...",
     .help = "descriptors of a TX queue (default 1024 or the nearest the port takes)",
     .set = [](C& c, V v) { return ReadPerPort(v, kMaxDescriptors, c.txd); }},
    {.area = "queues",
     .name = "burst",
     .argument = "N",
     .help = "packets taken from an RX queue at once, 1 to 512 (default 32)",
     .set = [](C& c, V v) { return ReadNumber(v, 1, kMaxBurst, c.burst); }},
    {.area = "queues",
     .name = "tx-retries",
     .argument = "N",
     .help = "further tries for packets a TX queue did not take (default 0), then they are dropped",
     .set = [](C& c, V v) { return ReadNumber(v, 0, kMaxTxRetries, c.tx_retries); }},

    {.area = "mempool",
     .name = "total-num-mbufs",
     .argument = "N",
     .help = "mbufs in each mempool (default: what the plan needs)",
     .set = [](C& c, V v) { return ReadNumber(v, kMinMbufs, kMaxMbufs, c.total_num_mbufs); }},
    {.area = "mempool",
     .name = "mbuf-size",
     .argument = "BYTES",
     .help = "data room of an mbuf, 128 bytes of headroom included (default 2176)",
     .set = [](C& c, V v) { return ReadNumber(v, kMinMbufBytes, 65535, c.mbuf_size); }},
    {.area = "mempool",
     .name = "mbcache",
     .argument = "N",
     .help = "mbufs that each lcore's cache keeps, 0 to 512 (default 250)",
     .set = [](C& c, V v) { return ReadNumber(v, 0, kMaxMbufCache, c.mbcache); }},

    {.area = "txonly",
     .name = "txpkts",
     .argument = "N[,N...]",
     .help = "length of each segment of a packet in bytes without FCS (default 64)",
     .set = [](C& c, V v) { return ReadTxpkts(v, c.txpkts); }},
    {.area = "txonly",
     .name = "tx-ip",
     .argument = "SRC,DST",
     .help = "IPv4 addresses (default 198.18.0.1,198.18.0.2)",
     .set = [](C& c, V v) { return ReadTxIp(v, c.tx_ip); }},
    {.area = "txonly",
     .name = "tx-udp",
     .argument = "SRC[,DST]",
     .help = "UDP ports (default 9,9)",
     .set = [](C& c, V v) { return ReadTxUdp(v, c.tx_udp); }},
    {.area = "txonly",
     .name = "eth-peer",
     .argument = "PORT,MAC",
     .help = "destination address of what PORT makes (default 02:00:00:00:00:PORT); repeatable",
     .repeatable = true,
     .set = [](C& c, V v) { return ReadEthPeer(v, c.eth_peer); },
     .clear = [](C& c) { c.eth_peer.clear(); }},
};

absl::Status SetFromNode(const std::string& path, const YamlNode& node, Configuration& filled) {
  const Option* option = FindOption(node.key);
  if (option == nullptr || !option->in_file) {
    YamlNode at_key = node;
    at_key.line = node.key_line;
    at_key.column = node.key_column;
    return YamlError(path, at_key, absl::StrCat("\"", Shown(node.key), "\" is no option of a file"),
                     "the options that penstock --help lists, without dashes in front");
  }
  const auto set = [&](const YamlNode& value) {
    if (value.kind != YamlNode::Kind::kScalar) {
      return YamlError(path, value, absl::StrCat(node.key, " is not one value"),
                       option->repeatable ? "a value or a list of values" : "a value");
    }
    const absl::Status status = option->set(filled, value.text);
    if (status.ok()) return status;
    return YamlError(path, value,
                     absl::StrCat(node.key, ": ", Shown(value.text), ": ", status.message()), "");
  };
  if (node.kind != YamlNode::Kind::kSequence || !option->repeatable) return set(node);
  for (const YamlNode& value : node.children) PENSTOCK_RETURN_IF_ERROR(set(value));
  return absl::OkStatus();
}

}  // namespace

std::span<const Option> Options() { return kOptions; }

const Option* FindOption(absl::string_view name) {
  const auto it = std::ranges::find(kOptions, name, &Option::name);
  return it == std::end(kOptions) ? nullptr : it;
}

absl::Status SetOption(Configuration& configuration, absl::string_view name,
                       absl::string_view value) {
  const Option* option = FindOption(name);
  if (option == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--", Shown(name), ": no such option; accepted: those that penstock --help lists"));
  }
  return WithContext(option->set(configuration, value),
                     absl::StrCat("--", name, "=", Shown(value)));
}

absl::Status LoadConfigurationFile(const std::string& path, Configuration& configuration) {
  PENSTOCK_ASSIGN_OR_RETURN(const YamlNode root, ReadYamlFile(path));
  if (root.kind == YamlNode::Kind::kNull) return absl::OkStatus();
  if (root.kind != YamlNode::Kind::kMap) {
    return YamlError(path, root, "not a map", "lines such as \"forward-mode: macswap\"");
  }
  Configuration filled = configuration;
  for (const YamlNode& node : root.children) {
    PENSTOCK_RETURN_IF_ERROR(SetFromNode(path, node, filled));
  }
  configuration = std::move(filled);
  return absl::OkStatus();
}

}  // namespace penstock
