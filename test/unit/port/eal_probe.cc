// SPDX-License-Identifier: BSD-3-Clause
//
// Starts and stops EAL through lib/port/eal.h with the arguments given and says how it went, for
// eal_test.cc: EAL starts once per process, and the test's own has done so already. Main thread.
//
//   eal_probe EAL_ARGUMENT...
//     started: OK | the error
//     during: present | absent     the runtime directory
//     after: present | absent

#include <rte_eal.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "lib/port/eal.h"

int main(int argc, char** argv) {
  penstock::EalArguments arguments;
  arguments.arguments.assign(argv + 1, argv + argc);
  const absl::Status status = penstock::StartEal(argv[0], arguments);
  std::printf("started: %s\n", status.ok() ? "OK" : std::string(status.message()).c_str());
  if (!status.ok()) return 1;
  const std::string directory = rte_eal_get_runtime_dir();
  const auto present = [&] { return std::filesystem::exists(directory) ? "present" : "absent"; };
  std::printf("during: %s\n", present());
  penstock::StopEal();
  std::printf("after: %s\n", present());
  return 0;
}
