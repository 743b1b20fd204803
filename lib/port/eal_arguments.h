// SPDX-License-Identifier: BSD-3-Clause
//
// Reading EAL's command line as a user wrote it. No EAL is needed; control path, any thread.
//
// An option and its value may be one word or two: "--vdev=NAME", "--vdev NAME", "-l0,1", "-l 0,1".

#ifndef PENSTOCK_LIB_PORT_EAL_ARGUMENTS_H_
#define PENSTOCK_LIB_PORT_EAL_ARGUMENTS_H_

#include <span>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace penstock {

// Whether an argument is `option` ("--vdev", "-l"), also with its value attached.
bool IsEalArgument(absl::string_view argument, absl::string_view option);

bool HasEalArgument(std::span<const std::string> arguments, absl::string_view option);

// The values of an option that takes one, in their order.
std::vector<std::string> EalArgumentValues(std::span<const std::string> arguments,
                                           absl::string_view option);

// The first of them; empty if there is none.
std::string EalArgumentValue(std::span<const std::string> arguments, absl::string_view option);

// The first `option` whose value begins with `start`, as it may stand in a message: "--vdev=NAME",
// "-l 0,1". Empty if there is none.
std::string TypedEalArgument(std::span<const std::string> arguments, absl::string_view option,
                             absl::string_view start = "");

// A device of --vdev or -a: "NAME,KEY=VALUE,…".
struct EalDevice {
  std::string typed;   // "--vdev=net_null0,size=64"
  std::string name;    // "net_null0", "0000:03:00.0"
  bool is_virtual;     // --vdev
  std::string driver;  // "net_null": the name of a virtual device without its number. Else empty.
  std::vector<std::pair<std::string, std::string>> keys;  // KEY and VALUE.
};
std::vector<EalDevice> EalDevices(std::span<const std::string> arguments);

}  // namespace penstock

#endif  // PENSTOCK_LIB_PORT_EAL_ARGUMENTS_H_
