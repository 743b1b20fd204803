// SPDX-License-Identifier: BSD-3-Clause
//
// FirstBursts: what an lcore sends before its loop begins, as testpmd's `start tx_first N` has it:
// bursts of txonly's frames, so that a ring of forwarders has something to forward. Counted as
// made; what a queue does not take is dropped as tx_full. Made on the control path, used by one
// lcore.

#ifndef PENSTOCK_LIB_PIPELINE_FIRST_BURSTS_H_
#define PENSTOCK_LIB_PIPELINE_FIRST_BURSTS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "absl/status/statusor.h"
#include "lib/base/status.h"
#include "lib/pipeline/stage.h"
#include "lib/pipeline/stages/tx_only.h"

namespace penstock {

class FirstBursts {
 public:
  // `bursts` to each TX queue of which the context says that this lcore is its source.
  static absl::StatusOr<std::unique_ptr<FirstBursts>> Create(const StageContext& context,
                                                             uint32_t bursts) {
    PENSTOCK_ASSIGN_OR_RETURN(TxOnly maker, TxOnly::Create(context));
    return std::unique_ptr<FirstBursts>(new FirstBursts(std::move(maker), bursts));
  }

  // Sends a burst to each queue. False when all are sent. `lcore` is the LcoreOutlets.
  template <class Lcore>
  bool Next(Lcore& lcore) noexcept {
    if (left_ == 0) return false;
    --left_;
    Outlets<Lcore> out{lcore};
    maker_.Poll(out);
    lcore.Flush();
    return true;
  }

 private:
  template <class Lcore>
  struct Outlets {
    Lcore& lcore;
    void Made(uint64_t n) noexcept { lcore.Made(n); }
    auto Send(TxSlot slot, std::span<rte_mbuf*> mbufs) noexcept { return lcore.Send(slot, mbufs); }
    // The counters of txonly are not among those of the row.
    void Count(unsigned, uint64_t) noexcept {}
  };

  FirstBursts(TxOnly maker, uint32_t bursts) : maker_(std::move(maker)), left_(bursts) {}

  TxOnly maker_;
  uint32_t left_;
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_PIPELINE_FIRST_BURSTS_H_
