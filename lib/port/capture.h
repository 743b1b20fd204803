// SPDX-License-Identifier: BSD-3-Clause
//
// Packet capture by DPDK's own dpdk-dumpcap and dpdk-pdump, which look into a running penstock as
// secondary processes. Main thread.
//
// Nothing is paid for it while nobody captures: ethdev looks whether a queue has a callback anyway.
// They share hugepages and EAL's files with penstock, so without these (--no-huge, --in-memory,
// --no-shconf) there is nothing to offer.
//
// Copies are made by the lcores, in callbacks of ethdev's bursts, from a mempool of the capturing
// process. Received frames are seen as they came; frames to be sent as they are given to the
// driver, again for each try if its queue was full.

#ifndef PENSTOCK_LIB_PORT_CAPTURE_H_
#define PENSTOCK_LIB_PORT_CAPTURE_H_

#include "absl/status/status.h"

namespace penstock {

// After EAL's start. OK as well where there is nothing to offer.
absl::Status OfferCapture();

// Before EAL's end, once ports are closed.
void EndCapture();

}  // namespace penstock

#endif  // PENSTOCK_LIB_PORT_CAPTURE_H_
