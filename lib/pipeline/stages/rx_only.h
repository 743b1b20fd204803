// SPDX-License-Identifier: BSD-3-Clause
//
// rxonly: takes packets in and lets them go. testpmd's "rxonly".

#ifndef PENSTOCK_LIB_PIPELINE_STAGES_RX_ONLY_H_
#define PENSTOCK_LIB_PIPELINE_STAGES_RX_ONLY_H_

#include "lib/pipeline/stage.h"

namespace penstock {

class RxOnly : public StageBase {
 public:
  static constexpr absl::string_view kName = "rxonly";
  enum Reason : unsigned { kReceived };
  static constexpr DropReason kDrops[] = {{"rxonly", "received, as the mode rxonly is meant to"}};

  static absl::StatusOr<RxOnly> Create(const StageContext&) { return RxOnly(); }

  void Process(Burst burst, auto& out) noexcept { out.Drop(kReceived, burst.mbufs); }
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_PIPELINE_STAGES_RX_ONLY_H_
