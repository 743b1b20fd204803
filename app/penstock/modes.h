// SPDX-License-Identifier: BSD-3-Clause
//
// The table of modes.

#ifndef PENSTOCK_APP_PENSTOCK_MODES_H_
#define PENSTOCK_APP_PENSTOCK_MODES_H_

#include <span>

#include "lib/pipeline/mode.h"

namespace penstock {

std::span<const Mode> Modes();

}  // namespace penstock

#endif  // PENSTOCK_APP_PENSTOCK_MODES_H_
