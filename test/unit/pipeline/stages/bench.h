// SPDX-License-Identifier: BSD-3-Clause
//
// One stage under test, its outlets recorded instead of sent to. Main lcore of a test process.

#ifndef PENSTOCK_TEST_UNIT_PIPELINE_STAGES_BENCH_H_
#define PENSTOCK_TEST_UNIT_PIPELINE_STAGES_BENCH_H_

#include <rte_mbuf.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "lib/pipeline/stage.h"

namespace penstock {

// The outlets of a last stage. Packets dropped are freed; those sent are kept for a look and freed
// at the end.
struct RecordedOutlets {
  ~RecordedOutlets() {
    for (const auto& [slot, mbuf] : sent) rte_pktmbuf_free(mbuf);
  }
  void Next(rte_mbuf*) noexcept {}
  void Next(Burst) noexcept {}
  void Send(TxSlot slot, rte_mbuf* mbuf) noexcept { sent.push_back({slot, mbuf}); }
  uint16_t Send(TxSlot slot, std::span<rte_mbuf*> mbufs) noexcept {
    const size_t taken = std::min<size_t>(mbufs.size(), room);
    for (size_t i = 0; i < taken; ++i) Send(slot, mbufs[i]);
    for (size_t i = taken; i < mbufs.size(); ++i) rte_pktmbuf_free(mbufs[i]);
    return static_cast<uint16_t>(taken);
  }
  void Drop(unsigned reason, rte_mbuf* mbuf) noexcept {
    ++dropped[reason];
    rte_pktmbuf_free(mbuf);
  }
  void Drop(unsigned reason, std::span<rte_mbuf*> mbufs) noexcept {
    for (rte_mbuf* mbuf : mbufs) Drop(reason, mbuf);
  }
  void Made(uint64_t n) noexcept { made += n; }
  void Count(unsigned counter, uint64_t n) noexcept { counts[counter] += n; }

  std::vector<std::pair<TxSlot, rte_mbuf*>> sent;
  std::map<unsigned, uint64_t> dropped;
  std::map<unsigned, uint64_t> counts;
  uint64_t made = 0;
  uint16_t room = UINT16_MAX;  // How many of a burst a queue takes.
};

}  // namespace penstock

#endif  // PENSTOCK_TEST_UNIT_PIPELINE_STAGES_BENCH_H_
