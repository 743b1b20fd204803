// SPDX-License-Identifier: BSD-3-Clause
//
// EAL: what penstock adds to the user's EAL arguments, and its start. Main thread, once per
// process.
//
// Hugepages are used when there are enough free ones and never required.

#ifndef PENSTOCK_LIB_PORT_EAL_H_
#define PENSTOCK_LIB_PORT_EAL_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace penstock {

// What the machine has of them.
struct Hugepages {
  uint64_t free_bytes = 0;           // That a hugetlbfs gives out which this user may write to.
  uint64_t reserved_free_bytes = 0;  // Mounted or not.
  bool mounted = false;              // There is such a hugetlbfs.
};
Hugepages FindHugepages();

struct EalArguments {
  std::vector<std::string> arguments;  // Without the program's name.
  std::string file_prefix;
  std::vector<std::string> notes;  // What was added and why, for the user.
};

// Completes the user's EAL arguments. `memory_bytes` is what --memory said, 0 if nothing.
// `default_prefix` is used when the user names none; it is to be unique.
EalArguments CompleteEalArguments(std::span<const std::string> user, uint64_t memory_bytes,
                                  const Hugepages& hugepages, absl::string_view default_prefix);

// Takes the interfaces of the net_af_xdp ports among the arguments for this process, until it ends.
// FailedPrecondition for one that a port of another penstock has, or that carries an XDP program:
// the driver would detach it when the port closes, whoever attached it. After recovery, so that
// none is of a dead life of ours, and CheckDevices, so that none is named twice; before EAL, whose
// start makes the port. Once per process.
absl::Status ClaimXdpInterfaces(std::span<const std::string> arguments);

// rte_eal_init, and a look whether every Ethernet device asked for is there. The error says why not
// and what to type (InvalidArgument if the words are wrong on any machine), and nothing stays
// behind.
absl::Status StartEal(const std::string& program, const EalArguments& arguments);

// rte_eal_cleanup, and what EAL leaves on the disk for its prefix. After a successful StartEal.
void StopEal();

}  // namespace penstock

#endif  // PENSTOCK_LIB_PORT_EAL_H_
