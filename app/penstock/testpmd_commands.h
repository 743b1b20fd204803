// SPDX-License-Identifier: BSD-3-Clause
//
// testpmd's commands that penstock does not have, and what to use instead: a user who comes from
// there is told, not left to guess.

#ifndef PENSTOCK_APP_PENSTOCK_TESTPMD_COMMANDS_H_
#define PENSTOCK_APP_PENSTOCK_TESTPMD_COMMANDS_H_

#include <cstddef>
#include <span>
#include <string>

namespace penstock {

// For CommandSet::SetElsewhere: how many leading words of the line the table knows, and the answer:
//   "set promisc": known from testpmd, not offered: ports are promiscuous while they run
size_t InsteadOfTestpmdCommand(std::span<const std::string> words, std::string& answer);

}  // namespace penstock

#endif  // PENSTOCK_APP_PENSTOCK_TESTPMD_COMMANDS_H_
