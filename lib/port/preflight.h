// SPDX-License-Identifier: BSD-3-Clause
//
// What is better known before EAL starts than learnt from how it fails: EAL is killed by SIGBUS
// where its files do not fit, maps a terabyte page by page, and leaves alone a PCI device that it
// cannot have. Control thread.
//
//   PENSTOCK_RETURN_IF_ERROR(CheckMemory(arguments, memory_bytes, ReadMachine(prefix)));
//   PENSTOCK_RETURN_IF_ERROR(CheckDevices(arguments));

#ifndef PENSTOCK_LIB_PORT_PREFLIGHT_H_
#define PENSTOCK_LIB_PORT_PREFLIGHT_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace penstock {

// What the machine has, as far as EAL's memory is concerned.
struct Machine {
  uint64_t memory_bytes = 0;          // All of it.
  uint64_t hugepages_free_bytes = 0;  // Of all sizes, mounted or not.
  bool hugetlbfs = false;             // A mounted one that this process may write to.
  std::string eal_directory;          // Where EAL keeps its files.
  uint64_t eal_directory_free_bytes = 0;
};
Machine ReadMachine(absl::string_view file_prefix);

// What EAL's files take in its directory. Without hugepages it keeps a record of each page of 4
// KiB: 1.2 % of the memory, all of it written at the start.
uint64_t EalFilesBytes(uint64_t memory_bytes, bool hugepages);

// Whether the machine has what EAL will be started with. `arguments` complete; `memory_bytes` what
// --memory said, 0 if nothing, so that the error names what was typed.
absl::Status CheckMemory(std::span<const std::string> arguments, uint64_t memory_bytes,
                         const Machine& machine);

// Whether the devices of --vdev and -a are there to be had: interfaces and files by their names,
// PCI devices by the kernel driver they are bound to; and no two of them on one interface.
// `sysfs_root` is for tests.
absl::Status CheckDevices(std::span<const std::string> arguments,
                          const std::string& sysfs_root = "/sys");

// The kernel driver that a PCI device is bound to, "" if to none; nothing if there is no such
// device. "03:00.0" is taken for "0000:03:00.0".
std::optional<std::string> KernelDriverOf(absl::string_view pci_address,
                                          const std::string& sysfs_root = "/sys");

}  // namespace penstock

#endif  // PENSTOCK_LIB_PORT_PREFLIGHT_H_
