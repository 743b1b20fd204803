// SPDX-License-Identifier: BSD-3-Clause
#include "app/penstock/eal_options.h"

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "lib/base/quote.h"
#include "lib/config/options.h"

namespace penstock {
namespace {

enum class Value { kNone, kOptional, kRequired };

struct EalOption {
  absl::string_view name;
  Value value;
};

// DPDK 22.11 to 24.11, Linux.
constexpr EalOption kEalOptions[] = {
    {"a", Value::kRequired},
    {"allow", Value::kRequired},
    {"b", Value::kRequired},
    {"block", Value::kRequired},
    {"base-virtaddr", Value::kRequired},
    {"c", Value::kRequired},
    {"create-uio-dev", Value::kNone},
    {"d", Value::kRequired},
    {"file-prefix", Value::kRequired},
    {"force-max-simd-bitwidth", Value::kRequired},
    {"huge-dir", Value::kRequired},
    {"huge-unlink", Value::kOptional},
    {"huge-worker-stack", Value::kOptional},
    {"in-memory", Value::kNone},
    {"iova-mode", Value::kRequired},
    {"l", Value::kRequired},
    {"lcores", Value::kRequired},
    {"legacy-mem", Value::kNone},
    {"log-color", Value::kOptional},
    {"log-level", Value::kRequired},
    {"log-timestamp", Value::kOptional},
    {"m", Value::kRequired},
    {"main-lcore", Value::kRequired},
    {"match-allocations", Value::kNone},
    {"mbuf-pool-ops-name", Value::kRequired},
    {"n", Value::kRequired},
    {"no-hpet", Value::kNone},
    {"no-huge", Value::kNone},
    {"no-pci", Value::kNone},
    {"no-shconf", Value::kNone},
    {"no-telemetry", Value::kNone},
    {"numa-mem", Value::kRequired},
    {"proc-type", Value::kRequired},
    {"r", Value::kRequired},
    {"S", Value::kRequired},
    {"s", Value::kRequired},
    {"single-file-segments", Value::kNone},
    {"socket-limit", Value::kRequired},
    {"socket-mem", Value::kRequired},
    {"syslog", Value::kOptional},
    {"telemetry", Value::kNone},
    {"trace", Value::kRequired},
    {"trace-bufsz", Value::kRequired},
    {"trace-dir", Value::kRequired},
    {"trace-mode", Value::kRequired},
    {"v", Value::kNone},
    {"vdev", Value::kRequired},
    {"vfio-intr", Value::kRequired},
    {"vfio-vf-token", Value::kRequired},
    {"vmware-tsc-map", Value::kNone},
};

bool IsRepeatable(absl::string_view name) {
  constexpr absl::string_view kRepeatable[] = {"a", "allow",     "b",     "block",
                                               "d", "log-level", "trace", "vdev"};
  return std::ranges::find(kRepeatable, name) != std::end(kRepeatable);
}

// What EAL takes without a word, as something else than was meant. Empty if the value is good.
absl::string_view Accepted(absl::string_view name, absl::string_view value) {
  uint64_t mebibytes = 0;
  if (name == "m" && (!absl::SimpleAtoi(value, &mebibytes) || mebibytes == 0)) {
    return "memory in MB, from 1, such as -m 1024";
  }
  if (name == "proc-type" && value != "primary") {
    return "primary: penstock owns its ports; dpdk-dumpcap and dpdk-pdump look into it as "
           "secondary";
  }
  return "";
}

const EalOption* FindEalOption(absl::string_view name) {
  const auto it = std::ranges::find(kEalOptions, name, &EalOption::name);
  return it == std::end(kEalOptions) ? nullptr : it;
}

}  // namespace

bool IsEalOption(absl::string_view name) { return FindEalOption(name) != nullptr; }

absl::Status CheckEalArguments(std::span<const std::string> arguments) {
  std::set<std::string> seen;
  for (size_t i = 0; i < arguments.size(); ++i) {
    absl::string_view argument = arguments[i];
    const bool longer = absl::StartsWith(argument, "--");
    if (!absl::StartsWith(argument, "-") || argument == "-") {
      return absl::InvalidArgumentError(
          absl::StrCat(Shown(argument),
                       ": a stray word before \"--\"; accepted: EAL options such as "
                       "-l 0,1 --vdev=net_af_xdp0,iface=IFACE, then \"--\" and options"));
    }
    argument.remove_prefix(longer ? 2 : 1);
    // A short option may have its value attached: -l0,1.
    const size_t end = longer ? argument.find('=') : 1;
    const absl::string_view name = argument.substr(0, end);
    const bool attached = end != absl::string_view::npos && end < argument.size();
    const EalOption* option = FindEalOption(name);
    if (option == nullptr || (name.size() == 1) == longer) {
      if (FindOption(name) != nullptr || (name == "i" && !longer)) {
        return absl::InvalidArgumentError(absl::StrCat(
            Shown(arguments[i]), ": an option of penstock, which belongs after \"--\": ",
            "penstock [EAL options] -- ", Shown(arguments[i])));
      }
      return absl::InvalidArgumentError(
          absl::StrCat(Shown(arguments[i]),
                       ": no EAL option; accepted before \"--\": EAL's, such as -l 0,1 -a PCI "
                       "--vdev=NAME,… --no-huge; after it, those that penstock --help lists"));
    }
    if (!IsRepeatable(name) && !seen.insert(std::string(name)).second) {
      return absl::InvalidArgumentError(
          absl::StrCat(Shown(arguments[i]), ": given twice; accepted: once"));
    }
    if (option->value == Value::kNone && attached) {
      return absl::InvalidArgumentError(absl::StrCat(Shown(arguments[i]), ": takes no value"));
    }
    if (option->value == Value::kRequired && !attached && ++i == arguments.size()) {
      return absl::InvalidArgumentError(absl::StrCat(Shown(arguments[i - 1]), ": wants a value"));
    }
    if (option->value != Value::kRequired) continue;
    absl::string_view value = arguments[i];
    if (attached) {
      value = argument.substr(end);
      absl::ConsumePrefix(&value, "=");
    }
    if (const absl::string_view accepted = Accepted(name, value); !accepted.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(longer ? "--" : "-", name, longer ? "=" : " ",
                                                     Shown(value), ": accepted: ", accepted));
    }
    if (name != "vdev") continue;
    // EAL makes one device of two with one name, without a word.
    const absl::string_view device = value;
    const absl::string_view device_name = device.substr(0, device.find(','));
    if (!seen.insert(absl::StrCat("vdev ", device_name)).second) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--vdev=", Shown(device), ": a second device of that name; accepted: each name once"));
    }
  }
  return absl::OkStatus();
}

}  // namespace penstock
