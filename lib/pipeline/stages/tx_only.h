// SPDX-License-Identifier: BSD-3-Clause
//
// txonly: makes UDP/IPv4 packets and sends a burst of them to each of its TX queues in every
// iteration. testpmd's "txonly"; unlike there the whole frame is written, payload too, so nothing
// that was in memory before leaves the machine.

#ifndef PENSTOCK_LIB_PIPELINE_STAGES_TX_ONLY_H_
#define PENSTOCK_LIB_PIPELINE_STAGES_TX_ONLY_H_

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "lib/packet/packet_template.h"
#include "lib/pipeline/stage.h"

namespace penstock {

class TxOnly : public StageBase {
 public:
  static constexpr absl::string_view kName = "txonly";
  enum Counter : unsigned { kNoMbuf };
  static constexpr StageCounter kCounters[] = {
      {"no_mbuf", "bursts not made because the mempool was empty"}};

  static absl::StatusOr<TxOnly> Create(const StageContext& context) {
    TxOnly stage(context.mempool, context.configuration.burst);
    for (size_t slot = 0; slot < context.tx.size(); ++slot) {
      if (!context.tx[slot].source) continue;
      stage.sources_.push_back(
          {static_cast<TxSlot>(slot), FrameOf(context.configuration, context.tx[slot])});
    }
    return stage;
  }

  void Process(Burst, auto&) noexcept {}

  void Poll(auto& out) noexcept {
    for (const Source& source : sources_) {
      const size_t segments = source.packet.segments();
      // A burst of packets, or as many as the array has segments for; when the mempool runs low,
      // one, so that sending goes on and the driver gives back what it has sent.
      size_t packets = std::min<size_t>(burst_, mbufs_.size() / segments);
      if (!Take(packets * segments)) {
        out.Count(kNoMbuf, 1);
        packets = 1;
        if (!Take(segments)) continue;
      }
      source.packet.Stamp({mbufs_.data(), packets * segments});
      if (segments > 1) {
        for (size_t i = 1; i < packets; ++i) mbufs_[i] = mbufs_[i * segments];
      }
      out.Made(packets);
      out.Send(source.slot, std::span<rte_mbuf*>(mbufs_.data(), packets));
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
  };

  TxOnly(rte_mempool* mempool, uint16_t burst) : mempool_(mempool), burst_(burst) {}

  bool Take(size_t mbufs) noexcept {
    void** const objects = reinterpret_cast<void**>(mbufs_.data());
    return rte_mempool_get_bulk(mempool_, objects, static_cast<unsigned>(mbufs)) == 0;
  }

  std::vector<Source> sources_;
  rte_mempool* mempool_;
  uint16_t burst_;
  std::array<rte_mbuf*, kMaxBurst> mbufs_{};
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_PIPELINE_STAGES_TX_ONLY_H_
