// SPDX-License-Identifier: BSD-3-Clause
//
// io: sends each packet to the peer port as it is, without a look inside. testpmd's "io".

#ifndef PENSTOCK_LIB_PIPELINE_STAGES_IO_H_
#define PENSTOCK_LIB_PIPELINE_STAGES_IO_H_

#include <utility>

#include "lib/base/status.h"
#include "lib/pipeline/stages/to_peer.h"

namespace penstock {

class Io : public StageBase {
 public:
  static constexpr absl::string_view kName = "io";

  static absl::StatusOr<Io> Create(const StageContext& context) {
    PENSTOCK_ASSIGN_OR_RETURN(ToPeer to_peer, ToPeer::Create(context));
    return Io(std::move(to_peer));
  }

  void Process(Burst burst, auto& out) noexcept { out.Send(to_peer_[burst.rx], burst.mbufs); }

 private:
  explicit Io(ToPeer to_peer) : to_peer_(std::move(to_peer)) {}

  ToPeer to_peer_;
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_PIPELINE_STAGES_IO_H_
