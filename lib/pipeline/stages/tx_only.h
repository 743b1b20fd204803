// SPDX-License-Identifier: BSD-3-Clause
//
// txonly: makes UDP/IPv4 packets and sends a burst of them to each of its TX queues in every
// iteration. testpmd's "txonly"; unlike there the whole frame is written, payload too, so nothing
// that was in memory before leaves the machine.
//
// With --txonly-multi-flow the source address changes by packet as testpmd's does, so that RSS at
// the other end spreads them: of the destination address, bits 8 to 15 count up and the lcore's
// number is added. That is 256 flows to a queue where these bits are zero. The count stands still
// for packets that the queue did not take.

#ifndef PENSTOCK_LIB_PIPELINE_STAGES_TX_ONLY_H_
#define PENSTOCK_LIB_PIPELINE_STAGES_TX_ONLY_H_

#include <optional>
#include <utility>
#include <vector>

#include "lib/packet/burst_maker.h"
#include "lib/packet/packet_template.h"
#include "lib/packet/varying_address.h"
#include "lib/pipeline/stage.h"

namespace penstock {

class TxOnly : public StageBase {
 public:
  static constexpr absl::string_view kName = "txonly";
  enum Counter : unsigned { kNoMbuf };
  static constexpr StageCounter kCounters[] = {
      {"no_mbuf", "bursts not made because the mempool was empty"}};

  static absl::StatusOr<TxOnly> Create(const StageContext& context) {
    TxOnly stage(context);
    for (size_t slot = 0; slot < context.tx.size(); ++slot) {
      if (!context.tx[slot].source) continue;
      Source source{static_cast<TxSlot>(slot), FrameOf(context.configuration, context.tx[slot])};
      if (context.configuration.txonly_multi_flow) {
        source.varying.emplace(source.packet, VaryingAddress::kSource);
      }
      stage.sources_.push_back(std::move(source));
    }
    return stage;
  }

  void Process(Burst, auto&) noexcept {}

  void Poll(auto& out) noexcept {
    for (Source& source : sources_) {
      const BurstMaker::Packets made = maker_.Make(source.packet);
      if (made.short_of_mbufs) [[unlikely]] {
        out.Count(kNoMbuf, 1);
        if (made.mbufs.empty()) continue;
      }
      out.Made(made.mbufs.size());
      if (!source.varying) {
        out.Send(source.slot, made.mbufs);
        continue;
      }
      Vary(source, made.mbufs);
      // What the queue refuses is not made up for, or some flows would never be seen on the wire.
      source.flow = static_cast<uint8_t>(source.flow + out.Send(source.slot, made.mbufs));
    }
  }

  // The frame that a port sends: what `--txpkts --tx-ip --tx-udp --eth-peer` say.
  static PacketTemplate FrameOf(const Configuration& configuration, const StageContext::Tx& tx) {
    return PacketTemplate::Udp({.segment_bytes = configuration.txpkts,
                                .source = tx.mac,
                                .destination = configuration.EthPeer(tx.port),
                                .ip = configuration.tx_ip,
                                .udp = configuration.tx_udp});
  }

 private:
  struct Source {
    TxSlot slot;
    PacketTemplate packet;
    std::optional<VaryingAddress> varying{};  // With --txonly-multi-flow.
    uint8_t flow = 0;                         // Of the next packet.
  };

  explicit TxOnly(const StageContext& context)
      : maker_(context.mempool, context.configuration.burst),
        base_(context.configuration.tx_ip[1].host()),
        lcore_(context.lcore) {}

  void Vary(const Source& source, std::span<rte_mbuf* const> mbufs) const noexcept {
    uint8_t flow = source.flow;
    for (rte_mbuf* mbuf : mbufs) {
      source.varying->Set(mbuf, Ipv4Address((base_ | uint32_t{flow++} << 8) + lcore_));
    }
  }

  std::vector<Source> sources_;
  BurstMaker maker_;
  uint32_t base_;
  uint32_t lcore_;
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_PIPELINE_STAGES_TX_ONLY_H_
