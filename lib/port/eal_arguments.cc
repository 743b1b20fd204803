// SPDX-License-Identifier: BSD-3-Clause
#include "lib/port/eal_arguments.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lib/base/quote.h"

namespace penstock {
namespace {

bool IsShort(absl::string_view option) { return option.size() == 2; }

EalDevice ParseDevice(absl::string_view value, absl::string_view option) {
  EalDevice device;
  device.is_virtual = option == "--vdev";
  device.typed = absl::StrCat(option, IsShort(option) ? " " : "=", Shown(value));
  bool first = true;
  for (absl::string_view part : absl::StrSplit(value, ',')) {
    if (std::exchange(first, false)) {
      device.name = std::string(part);
      continue;
    }
    const std::pair<absl::string_view, absl::string_view> pair =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    device.keys.emplace_back(pair.first, pair.second);
  }
  if (device.is_virtual) {
    absl::string_view driver = device.name;
    while (!driver.empty() && absl::ascii_isdigit(static_cast<unsigned char>(driver.back()))) {
      driver.remove_suffix(1);
    }
    device.driver = std::string(driver);
  }
  return device;
}

}  // namespace

bool IsEalArgument(absl::string_view argument, absl::string_view option) {
  if (!absl::ConsumePrefix(&argument, option)) return false;
  return argument.empty() || IsShort(option) || argument[0] == '=';
}

bool HasEalArgument(std::span<const std::string> arguments, absl::string_view option) {
  return std::ranges::any_of(arguments,
                             [&](const std::string& each) { return IsEalArgument(each, option); });
}

std::vector<std::string> EalArgumentValues(std::span<const std::string> arguments,
                                           absl::string_view option) {
  std::vector<std::string> values;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!IsEalArgument(arguments[i], option)) continue;
    absl::string_view attached = absl::string_view(arguments[i]).substr(option.size());
    absl::ConsumePrefix(&attached, "=");
    if (!attached.empty()) {
      values.emplace_back(attached);
    } else {
      // A value in a word of its own is no option, whatever it looks like.
      ++i;
      values.push_back(i < arguments.size() ? arguments[i] : "");
    }
  }
  return values;
}

std::string EalArgumentValue(std::span<const std::string> arguments, absl::string_view option) {
  const std::vector<std::string> values = EalArgumentValues(arguments, option);
  return values.empty() ? "" : values[0];
}

std::string TypedEalArgument(std::span<const std::string> arguments, absl::string_view option,
                             absl::string_view start) {
  for (const std::string& value : EalArgumentValues(arguments, option)) {
    if (!absl::StartsWith(value, start)) continue;
    return absl::StrCat(option, IsShort(option) ? " " : "=", Shown(value));
  }
  return "";
}

std::vector<EalDevice> EalDevices(std::span<const std::string> arguments) {
  std::vector<EalDevice> devices;
  for (absl::string_view option : {"--vdev", "-a", "--allow"}) {
    for (const std::string& value : EalArgumentValues(arguments, option)) {
      devices.push_back(ParseDevice(value, option));
    }
  }
  return devices;
}

}  // namespace penstock
