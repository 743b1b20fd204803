// SPDX-License-Identifier: BSD-3-Clause
//
// Undoes what dead instances left on the machine: exactly what their records say, nothing else.
// Control thread, at start, before EAL and before RunDirectory::Create().
//
//   PENSTOCK_ASSIGN_OR_RETURN(std::vector<std::string> lines, Recover(kDefaultRunBase));
//   for (const std::string& line : lines) Log(Severity::kInfo, line);
//
// An XDP program and IFF_PROMISC outlive the process that set them, SIGKILL or not; so do EAL's
// files and its hugepages. AF_XDP sockets and programs held by a bpf_link go by themselves.

#ifndef PENSTOCK_LIB_PORT_RECOVERY_H_
#define PENSTOCK_LIB_PORT_RECOVERY_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/port/run_directory.h"

namespace penstock {

// Looks at each BASE/PREFIX. A living instance's is not touched. A dead one's is undone and
// removed:
//
//   of another boot          EAL's files; the rest went with that boot
//   of this boot, our        XDP program, if its id is still the one attached; IFF_PROMISC, if it
//   network namespace        was off before; the MTU, if it is as we made it; EAL's files and
//                            hugepages
//   of a namespace that      EAL's files and hugepages; its interfaces went with it
//   is gone
//   of another namespace     nothing and stays: only a start in that namespace can undo it
//
// Returns one line for a person per thing that was done, or found and left (an XDP program in the
// place of ours is named). What could not be undone is a line too, and its record stays for the
// next start. A record that cannot be read is left alone and said so. An error means that nothing
// was looked at. Two starts at a time wait for each other.
absl::StatusOr<std::vector<std::string>> Recover(const std::string& base);

// The part of it that concerns one interface of this network namespace; also for a clean end, after
// the port's close. Appends to `lines`. False if something is left that should not be.
bool UndoInterface(const InterfaceRecord& interface, std::vector<std::string>& lines);

// Whether another process is the primary one of this EAL runtime directory. This process's own lock
// on it, if it has one, is gone afterwards: do not ask about a directory of a running EAL of ours.
bool IsEalRunning(const std::string& runtime_directory);

// What becomes of a hugepage file that a process still maps. Removed, its page is free when the
// last of them ends.
enum class Mapped { kKeep, kRemove };

// Removes the hugepage files of this file prefix. Appends to `lines`. False if one stays that
// should not.
bool RemoveHugepages(const std::string& prefix, Mapped mapped, std::vector<std::string>& lines);

}  // namespace penstock

#endif  // PENSTOCK_LIB_PORT_RECOVERY_H_
