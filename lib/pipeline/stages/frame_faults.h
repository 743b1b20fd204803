// SPDX-License-Identifier: BSD-3-Clause
//
// Counters of what was wrong with frames, for stages that look into them and forward them all the
// same. A stage puts them first of its counters:
//
//   enum Counter : unsigned { kMine = kFaultCounters, … };
//   static constexpr auto kCounters = WithFaultCounters<1>({{{"mine", "…"}}});
//   …
//   out.Count(FaultCounter(fault), 1);
//
// A runt is no counter but a reason to drop: it has no Ethernet header to forward it by.

#ifndef PENSTOCK_LIB_PIPELINE_STAGES_FRAME_FAULTS_H_
#define PENSTOCK_LIB_PIPELINE_STAGES_FRAME_FAULTS_H_

#include <array>
#include <cstddef>

#include "lib/net/dissect.h"
#include "lib/pipeline/stage.h"

namespace penstock {

inline constexpr unsigned kFirstFaultCounted = static_cast<unsigned>(FrameFault::kRunt) + 1;
inline constexpr unsigned kFaultCounters = kFrameFaults - kFirstFaultCounted;

constexpr unsigned FaultCounter(FrameFault fault) noexcept {
  return static_cast<unsigned>(fault) - kFirstFaultCounted;
}

template <size_t own_count>
constexpr std::array<StageCounter, kFaultCounters + own_count> WithFaultCounters(
    const std::array<StageCounter, own_count>& own) {
  std::array<StageCounter, kFaultCounters + own_count> all{};
  for (unsigned i = 0; i < kFaultCounters; ++i) {
    const FrameFaultText& text = kFrameFaultTexts[kFirstFaultCounted + i];
    all[i] = {text.name, text.what};
  }
  for (size_t i = 0; i < own_count; ++i) all[kFaultCounters + i] = own[i];
  return all;
}

inline constexpr DropReason kRuntDrop = {
    kFrameFaultTexts[static_cast<size_t>(FrameFault::kRunt)].name,
    kFrameFaultTexts[static_cast<size_t>(FrameFault::kRunt)].what};

}  // namespace penstock

#endif  // PENSTOCK_LIB_PIPELINE_STAGES_FRAME_FAULTS_H_
