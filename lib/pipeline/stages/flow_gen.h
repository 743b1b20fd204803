// SPDX-License-Identifier: BSD-3-Clause
//
// flowgen: lets go of what it receives, and in every iteration sends a burst of UDP/IPv4 packets
// for each of its RX queues to the peer port, flow after flow: the destination address, at first
// the second of --tx-ip, goes up by one per packet, and after --flowgen-flows packets starts again.
// testpmd's "flowgen".
//
// Unlike there the whole frame is written, the UDP checksum is right and not left out, and what the
// packets are made of is what the user says (--txpkts, --tx-ip, --tx-udp, --eth-peer) and not
// fixed. As there, the cycle stands still for packets that the queue did not take.

#ifndef PENSTOCK_LIB_PIPELINE_STAGES_FLOW_GEN_H_
#define PENSTOCK_LIB_PIPELINE_STAGES_FLOW_GEN_H_

#include <utility>
#include <vector>

#include "lib/base/status.h"
#include "lib/packet/burst_maker.h"
#include "lib/packet/packet_template.h"
#include "lib/packet/varying_address.h"
#include "lib/pipeline/stages/to_peer.h"
#include "lib/pipeline/stages/tx_only.h"

namespace penstock {

class FlowGen : public StageBase {
 public:
  static constexpr absl::string_view kName = "flowgen";
  enum Reason : unsigned { kReceived };
  static constexpr DropReason kDrops[] = {{"flowgen", "received, as the mode flowgen is meant to"}};
  enum Counter : unsigned { kNoMbuf };
  static constexpr StageCounter kCounters[] = {
      {"no_mbuf", "bursts not made because the mempool was empty"}};

  static absl::StatusOr<FlowGen> Create(const StageContext& context) {
    PENSTOCK_ASSIGN_OR_RETURN(const ToPeer to_peer, ToPeer::Create(context));
    FlowGen stage(context);
    for (size_t rx = 0; rx < context.rx.size(); ++rx) {
      const TxSlot slot = to_peer[static_cast<RxSlot>(rx)];
      stage.sources_.emplace_back(slot, TxOnly::FrameOf(context.configuration, context.tx[slot]));
    }
    return stage;
  }

  void Process(Burst burst, auto& out) noexcept { out.Drop(kReceived, burst.mbufs); }

  void Poll(auto& out) noexcept {
    for (Source& source : sources_) {
      const BurstMaker::Packets made = maker_.Make(source.packet);
      if (made.short_of_mbufs) [[unlikely]] {
        out.Count(kNoMbuf, 1);
        if (made.mbufs.empty()) continue;
      }
      SetFlows(source, made.mbufs);
      out.Made(made.mbufs.size());
      // What the queue refuses is not made up for, or some flows would never be seen on the wire.
      source.flow = (source.flow + out.Send(source.slot, made.mbufs)) % flows_;
    }
  }

 private:
  struct Source {
    Source(TxSlot to, PacketTemplate frame)
        : slot(to), packet(std::move(frame)), destination(packet, VaryingAddress::kDestination) {}

    TxSlot slot;
    PacketTemplate packet;
    VaryingAddress destination;
    uint64_t flow = 0;  // Of the next packet.
  };

  explicit FlowGen(const StageContext& context)
      : maker_(context.mempool, context.configuration.burst),
        first_(context.configuration.tx_ip[1].host()),
        flows_(context.configuration.flowgen_flows) {}

  void SetFlows(const Source& source, std::span<rte_mbuf* const> mbufs) const noexcept {
    uint64_t flow = source.flow;
    for (rte_mbuf* mbuf : mbufs) {
      source.destination.Set(mbuf, Ipv4Address(first_ + static_cast<uint32_t>(flow)));
      if (++flow == flows_) flow = 0;
    }
  }

  std::vector<Source> sources_;
  BurstMaker maker_;
  uint32_t first_;
  uint64_t flows_;
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_PIPELINE_STAGES_FLOW_GEN_H_
