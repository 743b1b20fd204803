// SPDX-License-Identifier: BSD-3-Clause
//
// Pipeline: the row of stages of one lcore, with what hands packets from one to the next. Composed
// at compile time: a burst that passes whole from stage to stage is one array all the way, and a
// row of one stage costs what its loop body costs.

#ifndef PENSTOCK_LIB_PIPELINE_PIPELINE_H_
#define PENSTOCK_LIB_PIPELINE_PIPELINE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/base/status.h"
#include "lib/pipeline/stage.h"

namespace penstock {

template <Stage... Stages>
class Pipeline {
 public:
  static constexpr size_t kStages = sizeof...(Stages);
  static_assert(kStages > 0);
  template <size_t i>
  using StageAt = std::tuple_element_t<i, std::tuple<Stages...>>;

  // Where the reasons and counters of stage `i` begin among those of the row. Sending's own reasons
  // stand before all.
  static constexpr size_t FirstDrop(size_t i) {
    return std::size(kTxDrops) + SumBefore(kDropCounts, i);
  }
  static constexpr size_t FirstCounter(size_t i) { return SumBefore(kCounterCounts, i); }

  static absl::StatusOr<std::unique_ptr<Pipeline>> Create(const StageContext& context) {
    return CreateFrom(context, std::index_sequence_for<Stages...>());
  }

  // ---- The lcore's side. `Lcore` is its LcoreOutlets. ----

  template <class Lcore>
  void Process(Lcore& lcore, Burst burst) noexcept {
    Run<0>(lcore, burst);
  }

  template <class Lcore>
  void Poll(Lcore& lcore) noexcept {
    ForEachStage([&]<size_t i>() {
      Outlets<i, Lcore> out(*this, lcore, kNoSlot);
      std::get<i>(stages_).Poll(out);
      out.Finish();
    });
  }

  // Lets go of everything held, front to back, so that what one stage releases the next sees.
  template <class Lcore>
  void Drain(Lcore& lcore) noexcept {
    ForEachStage([&]<size_t i>() {
      Outlets<i, Lcore> out(*this, lcore, kNoSlot);
      std::get<i>(stages_).Drain(out);
      out.Finish();
    });
  }

  uint64_t Held() const noexcept {
    return std::apply([](const Stages&... stage) { return (stage.Held() + ...); }, stages_);
  }

  template <size_t i>
  StageAt<i>& stage() noexcept {
    return std::get<i>(stages_);
  }

 private:
  // Packets given one by one to the next stage.
  struct Link {
    uint16_t count = 0;
    std::array<rte_mbuf*, kMaxBurst> mbufs;
  };

  // What stage `i` sees while it runs.
  template <size_t i, class Lcore>
  class Outlets {
   public:
    Outlets(Pipeline& pipeline, Lcore& lcore, RxSlot rx) noexcept
        : pipeline_(pipeline), lcore_(lcore), rx_(rx) {}

    void Next(rte_mbuf* mbuf) noexcept {
      static_assert(i + 1 < kStages, "the last stage of a row has no next: Send or Drop");
      Link& link = pipeline_.links_[i];
      if (link.count == link.mbufs.size()) Finish();
      link.mbufs[link.count++] = mbuf;
    }
    void Next(Burst burst) noexcept {
      static_assert(i + 1 < kStages, "the last stage of a row has no next: Send or Drop");
      Finish();  // What was given before goes first.
      pipeline_.template Run<i + 1>(lcore_, burst);
    }
    void Send(TxSlot slot, rte_mbuf* mbuf) noexcept { lcore_.Send(slot, mbuf); }
    uint16_t Send(TxSlot slot, std::span<rte_mbuf*> mbufs) noexcept {
      return lcore_.Send(slot, mbufs);
    }
    void Drop(unsigned reason, rte_mbuf* mbuf) noexcept {
      lcore_.Drop(static_cast<unsigned>(FirstDrop(i)) + reason, mbuf);
    }
    void Drop(unsigned reason, std::span<rte_mbuf*> mbufs) noexcept {
      lcore_.Drop(static_cast<unsigned>(FirstDrop(i)) + reason, mbufs);
    }
    void Made(uint64_t n) noexcept { lcore_.Made(n); }
    void Count(unsigned counter, uint64_t n) noexcept {
      lcore_.Count(static_cast<unsigned>(FirstCounter(i)) + counter, n);
    }

    void Finish() noexcept {
      if constexpr (i + 1 < kStages) {
        Link& link = pipeline_.links_[i];
        if (link.count == 0) return;
        const uint16_t n = std::exchange(link.count, uint16_t{0});
        pipeline_.template Run<i + 1>(lcore_, Burst{{link.mbufs.data(), n}, rx_});
      }
    }

   private:
    Pipeline& pipeline_;
    Lcore& lcore_;
    const RxSlot rx_;
  };

  static constexpr std::array<size_t, kStages> kDropCounts{std::size(Stages::kDrops)...};
  static constexpr std::array<size_t, kStages> kCounterCounts{std::size(Stages::kCounters)...};
  static constexpr size_t SumBefore(const std::array<size_t, kStages>& counts, size_t end) {
    size_t sum = 0;
    for (size_t i = 0; i < end; ++i) sum += counts[i];
    return sum;
  }

  explicit Pipeline(std::tuple<Stages...> stages) : stages_(std::move(stages)) {}

  template <size_t... i>
  static absl::StatusOr<std::unique_ptr<Pipeline>> CreateFrom(const StageContext& context,
                                                              std::index_sequence<i...>) {
    // In the order of the row; braces keep it.
    std::tuple<absl::StatusOr<Stages>...> made{Stages::Create(context)...};
    absl::Status status;
    ((status.ok()
          ? status = WithContext(std::get<i>(made).status(),
                                 absl::StrCat("stage ", Stages::kName, " on lcore ", context.lcore))
          : status),
     ...);
    if (!status.ok()) return status;
    return std::unique_ptr<Pipeline>(
        new Pipeline(std::tuple<Stages...>{std::move(*std::get<i>(made))...}));
  }

  template <size_t i, class Lcore>
  void Run(Lcore& lcore, Burst burst) noexcept {
    Outlets<i, Lcore> out(*this, lcore, burst.rx);
    std::get<i>(stages_).Process(burst, out);
    out.Finish();
  }

  template <class Body>
  static void ForEachStage(Body body) noexcept {
    [&]<size_t... i>(std::index_sequence<i...>) { (body.template operator()<i>(), ...); }
    (std::index_sequence_for<Stages...>());
  }

  std::tuple<Stages...> stages_;
  std::array<Link, kStages - 1> links_;
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_PIPELINE_PIPELINE_H_
