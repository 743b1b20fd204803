// SPDX-License-Identifier: BSD-3-Clause
//
// ToPeer: the TX slot that packets of each RX slot leave by, for stages that forward along the port
// topology.

#ifndef PENSTOCK_LIB_PIPELINE_STAGES_TO_PEER_H_
#define PENSTOCK_LIB_PIPELINE_STAGES_TO_PEER_H_

#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/pipeline/stage.h"

namespace penstock {

class ToPeer {
 public:
  // Fails when the mode's shape gives some RX queue no destination.
  static absl::StatusOr<ToPeer> Create(const StageContext& context) {
    std::vector<TxSlot> slots;
    for (const StageContext::Rx& rx : context.rx) {
      if (rx.peer == kNoSlot) {
        return absl::InternalError(absl::StrCat("port ", rx.port, " has no peer in the plan"));
      }
      slots.push_back(rx.peer);
    }
    return ToPeer(std::move(slots));
  }

  TxSlot operator[](RxSlot rx) const noexcept { return slots_[rx]; }

 private:
  explicit ToPeer(std::vector<TxSlot> slots) : slots_(std::move(slots)) {}

  std::vector<TxSlot> slots_;
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_PIPELINE_STAGES_TO_PEER_H_
