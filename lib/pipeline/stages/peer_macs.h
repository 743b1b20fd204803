// SPDX-License-Identifier: BSD-3-Clause
//
// PeerMacs: the addresses with which packets of each RX slot leave by the port topology, for stages
// that write them: to `--eth-peer` of the TX port, from the TX port's own address. Both the same
// for every packet of a burst.

#ifndef PENSTOCK_LIB_PIPELINE_STAGES_PEER_MACS_H_
#define PENSTOCK_LIB_PIPELINE_STAGES_PEER_MACS_H_

#include <cstring>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/base/status.h"
#include "lib/pipeline/stages/to_peer.h"

namespace penstock {

// As an Ethernet header begins.
struct MacPair {
  MacAddress destination;
  MacAddress source;
};
static_assert(sizeof(MacPair) == 12 && alignof(MacPair) == 1);

// Two stores, which depend on nothing that is in the frame.
inline void SetMacPair(uint8_t* frame, const MacPair& pair) noexcept {
  std::memcpy(frame, &pair, sizeof(pair));
}

class PeerMacs {
 public:
  // Fails when some RX queue has no peer.
  static absl::StatusOr<PeerMacs> Create(const StageContext& context) {
    PENSTOCK_ASSIGN_OR_RETURN(const ToPeer to_peer, ToPeer::Create(context));
    std::vector<MacPair> pairs;
    for (size_t rx = 0; rx < context.rx.size(); ++rx) {
      const StageContext::Tx& tx = context.tx[to_peer[static_cast<RxSlot>(rx)]];
      pairs.push_back({context.configuration.EthPeer(tx.port), tx.mac});
    }
    return PeerMacs(std::move(pairs));
  }

  const MacPair& operator[](RxSlot rx) const noexcept { return pairs_[rx]; }

 private:
  explicit PeerMacs(std::vector<MacPair> pairs) : pairs_(std::move(pairs)) {}

  std::vector<MacPair> pairs_;
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_PIPELINE_STAGES_PEER_MACS_H_
