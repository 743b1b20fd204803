// SPDX-License-Identifier: BSD-3-Clause
//
// Drop reasons: every packet that is neither sent nor held was dropped for a reason with a name.

#ifndef PENSTOCK_LIB_STATS_DROP_REASON_H_
#define PENSTOCK_LIB_STATS_DROP_REASON_H_

#include "absl/strings/string_view.h"

namespace penstock {

// One reason, as a stage declares it in its `kDrops` table. `name` is the key in the report: lower
// case with underscores, the same word in the code, the counter and the documents. Two stages that
// use one name mean one thing, and the report adds them up. `what` is for the operator: why a
// packet ends here and what to look at.
struct DropReason {
  absl::string_view name;
  absl::string_view what;
};

// Reasons that belong to sending itself rather than to a stage; every pipeline has them, first.
enum class TxDrop : unsigned { kFull, kSegments };
inline constexpr DropReason kTxDrops[] = {
    {"tx_full", "the TX queue took no more packets within --tx-retries further tries"},
    {"tx_segments",
     "a segmented packet that fits no single mbuf, for a port that sends one segment"},
};

// What a driver took from an lcore and then reported as an output error: it left the lcore's hands
// but not the port. Counted per port from the driver's own statistics.
inline constexpr DropReason kTxError = {"tx_error",
                                        "the driver took the packet and counted an output error"};

}  // namespace penstock

#endif  // PENSTOCK_LIB_STATS_DROP_REASON_H_
