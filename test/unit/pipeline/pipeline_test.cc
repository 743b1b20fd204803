// SPDX-License-Identifier: BSD-3-Clause
//
// Rows of stages: order, the way from one to the next, reasons and counters in their places, errors
// of creation. The outlets are recorded instead of sent to. Main lcore.

#include "lib/pipeline/pipeline.h"

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace penstock {
namespace {

// Stands for LcoreOutlets; remembers everything.
struct Recorder {
  struct Sent {
    TxSlot slot;
    rte_mbuf* mbuf;
    bool operator==(const Sent&) const = default;
  };
  void Send(TxSlot slot, rte_mbuf* mbuf) noexcept { sent.push_back({slot, mbuf}); }
  uint16_t Send(TxSlot slot, std::span<rte_mbuf*> mbufs) noexcept {
    ++whole_bursts;
    for (rte_mbuf* mbuf : mbufs) sent.push_back({slot, mbuf});
    return static_cast<uint16_t>(mbufs.size());
  }
  void Drop(unsigned reason, rte_mbuf* mbuf) noexcept { dropped.push_back({reason, mbuf}); }
  void Drop(unsigned reason, std::span<rte_mbuf*> mbufs) noexcept {
    for (rte_mbuf* mbuf : mbufs) dropped.push_back({reason, mbuf});
  }
  void Made(uint64_t n) noexcept { made += n; }
  void Count(unsigned counter, uint64_t n) noexcept { counts[counter] += n; }

  std::vector<Sent> sent;
  std::vector<std::pair<unsigned, rte_mbuf*>> dropped;
  uint64_t made = 0;
  std::array<uint64_t, 8> counts{};
  int whole_bursts = 0;
};

// Packets that are only looked at by their address.
std::vector<rte_mbuf*> Packets(size_t count) {
  static std::vector<rte_mbuf> mbufs(20000);
  std::vector<rte_mbuf*> pointers(count);
  for (size_t i = 0; i < count; ++i) pointers[i] = &mbufs[i];
  return pointers;
}

StageContext Context(const Configuration& configuration) {
  return {configuration, 3, {}, {}, nullptr};
}

template <class... Stages>
std::unique_ptr<Pipeline<Stages...>> Make() {
  static const Configuration configuration;
  auto row = Pipeline<Stages...>::Create(Context(configuration));
  EXPECT_TRUE(row.ok()) << row.status();
  return *std::move(row);
}

// ---- stages of several kinds ----

// Gives packets on in every way there is: one by one and in bursts, by the dice.
struct Mixer : StageBase {
  static constexpr absl::string_view kName = "mixer";
  static absl::StatusOr<Mixer> Create(const StageContext&) { return Mixer(); }
  void Process(Burst burst, auto& out) noexcept {
    size_t at = 0;
    while (at < burst.mbufs.size()) {
      const size_t n = std::min<size_t>(1 + random() % 50, burst.mbufs.size() - at);
      if (random() % 2 == 0) {
        out.Next(Burst{burst.mbufs.subspan(at, n), burst.rx});
      } else {
        for (size_t i = 0; i < n; ++i) out.Next(burst.mbufs[at + i]);
      }
      at += n;
    }
  }
  std::mt19937 random{1};
};

// Sends, and remembers where each burst came from.
struct Sender : StageBase {
  static constexpr absl::string_view kName = "sender";
  static absl::StatusOr<Sender> Create(const StageContext&) { return Sender(); }
  void Process(Burst burst, auto& out) noexcept {
    seen.push_back({burst.mbufs.data(), burst.mbufs.size(), burst.rx});
    out.Send(0, burst.mbufs);
  }
  struct Seen {
    rte_mbuf** array;
    size_t size;
    RxSlot rx;
  };
  std::vector<Seen> seen;
};

struct Pass : StageBase {
  static constexpr absl::string_view kName = "pass";
  static constexpr DropReason kDrops[] = {{"pass_a", ""}, {"pass_b", ""}};
  static constexpr StageCounter kCounters[] = {{"seen", ""}};
  static absl::StatusOr<Pass> Create(const StageContext&) { return Pass(); }
  void Process(Burst burst, auto& out) noexcept {
    out.Count(0, burst.mbufs.size());
    out.Next(burst);
  }
};

// Keeps all; gives two at a time in Poll, the rest in Drain.
struct Holder : StageBase {
  static constexpr absl::string_view kName = "holder";
  static constexpr DropReason kDrops[] = {{"holder_never", ""}};
  static absl::StatusOr<Holder> Create(const StageContext&) { return Holder(); }
  void Process(Burst burst, auto&) noexcept {
    held.insert(held.end(), burst.mbufs.begin(), burst.mbufs.end());
  }
  void Poll(auto& out) noexcept { Release(2, out); }
  uint64_t Held() const noexcept { return held.size(); }
  void Drain(auto& out) noexcept { Release(held.size(), out); }
  void Release(size_t n, auto& out) noexcept {
    for (; n > 0 && !held.empty(); --n) {
      out.Next(held.front());
      held.pop_front();
    }
  }
  std::deque<rte_mbuf*> held;
};

// Drops every third under its second reason, and counts.
struct Picky : StageBase {
  static constexpr absl::string_view kName = "picky";
  static constexpr DropReason kDrops[] = {{"picky_whole", ""}, {"picky_third", ""}};
  static constexpr StageCounter kCounters[] = {{"kept", ""}, {"left", ""}};
  static absl::StatusOr<Picky> Create(const StageContext&) { return Picky(); }
  void Process(Burst burst, auto& out) noexcept {
    if (burst.mbufs.size() == 1) {
      out.Drop(0, burst.mbufs);
      return;
    }
    for (size_t i = 0; i < burst.mbufs.size(); ++i) {
      if (i % 3 == 2) {
        out.Drop(1, burst.mbufs[i]);
        out.Count(1, 1);
      } else {
        out.Send(4, burst.mbufs[i]);
        out.Count(0, 1);
      }
    }
  }
};

struct Maker : StageBase {
  static constexpr absl::string_view kName = "maker";
  static absl::StatusOr<Maker> Create(const StageContext&) { return Maker(); }
  void Process(Burst, auto&) noexcept {}
  void Poll(auto& out) noexcept {
    out.Made(mbufs.size());
    for (rte_mbuf* mbuf : mbufs) out.Next(mbuf);
  }
  std::vector<rte_mbuf*> mbufs = Packets(5);
};

std::vector<rte_mbuf*> SentOf(const Recorder& recorder) {
  std::vector<rte_mbuf*> mbufs;
  for (const Recorder::Sent& sent : recorder.sent) mbufs.push_back(sent.mbuf);
  return mbufs;
}

// ---- the way through ----

TEST(Pipeline, AWholeBurstIsOneArrayAllTheWay) {
  auto row = Make<Pass, Pass, Sender>();
  Recorder lcore;
  auto mbufs = Packets(32);
  row->Process(lcore, Burst{mbufs, 7});
  ASSERT_EQ(row->stage<2>().seen.size(), 1U);
  EXPECT_EQ(row->stage<2>().seen[0].array, mbufs.data());
  EXPECT_EQ(row->stage<2>().seen[0].size, 32U);
  EXPECT_EQ(row->stage<2>().seen[0].rx, 7);
  EXPECT_EQ(SentOf(lcore), mbufs);
  EXPECT_EQ(lcore.whole_bursts, 1);
}

TEST(Pipeline, OrderIsKeptHoweverPacketsAreGivenOn) {
  auto row = Make<Mixer, Mixer, Mixer, Sender>();
  for (const size_t count : {1U, 31U, 512U}) {
    for (int round = 0; round < 50; ++round) {
      Recorder lcore;
      auto mbufs = Packets(count);
      row->Process(lcore, Burst{mbufs, 2});
      ASSERT_EQ(SentOf(lcore), mbufs);
    }
  }
  for (const Sender::Seen& seen : row->stage<3>().seen) {
    EXPECT_EQ(seen.rx, 2);
    EXPECT_LE(seen.size, kMaxBurst);
  }
}

TEST(Pipeline, ALinkThatOverflowsPassesOnWhatItHas) {
  auto row = Make<Holder, Sender>();
  Recorder lcore;
  auto mbufs = Packets(1700);
  for (size_t at = 0; at < mbufs.size(); at += 100) {
    row->Process(lcore, Burst{std::span(mbufs).subspan(at, 100), 0});
  }
  EXPECT_EQ(row->Held(), 1700U);
  EXPECT_TRUE(lcore.sent.empty());
  row->Drain(lcore);
  EXPECT_EQ(SentOf(lcore), mbufs);
  EXPECT_EQ(row->Held(), 0U);
  std::vector<size_t> sizes;
  for (const Sender::Seen& seen : row->stage<1>().seen) sizes.push_back(seen.size);
  EXPECT_EQ(sizes, (std::vector<size_t>{512, 512, 512, 164}));
}

TEST(Pipeline, PollReleasesSomeAndDrainAllFrontToBack) {
  auto row = Make<Holder, Holder, Sender>();
  Recorder lcore;
  auto mbufs = Packets(10);
  row->Process(lcore, Burst{mbufs, 1});
  EXPECT_EQ(row->Held(), 10U);
  row->Poll(lcore);  // Two go on to the second holder, which lets go of two.
  EXPECT_EQ(row->Held(), 8U);
  EXPECT_EQ(SentOf(lcore), (std::vector<rte_mbuf*>{mbufs[0], mbufs[1]}));
  row->stage<1>().Process(Burst{std::span(mbufs).first(0)}, lcore);
  row->Drain(lcore);  // What the first holder lets go of, the second one sees and lets go of.
  EXPECT_EQ(row->Held(), 0U);
  EXPECT_EQ(SentOf(lcore), mbufs);
  // What was held comes from no RX queue any more.
  for (const Sender::Seen& seen : row->stage<2>().seen) EXPECT_EQ(seen.rx, kNoSlot);
}

TEST(Pipeline, MadePacketsGoTheSameWay) {
  auto row = Make<Maker, Sender>();
  Recorder lcore;
  row->Poll(lcore);
  row->Poll(lcore);
  EXPECT_EQ(lcore.made, 10U);
  EXPECT_EQ(lcore.sent.size(), 10U);
  for (const Sender::Seen& seen : row->stage<1>().seen) EXPECT_EQ(seen.rx, kNoSlot);
}

// ---- reasons and counters ----

TEST(Pipeline, ReasonsAndCountersOfEachStageStandBehindThoseBefore) {
  using Row = Pipeline<Pass, Holder, Picky>;
  constexpr size_t kSending = std::size(kTxDrops);
  EXPECT_EQ(Row::FirstDrop(0), kSending);
  EXPECT_EQ(Row::FirstDrop(1), kSending + 2);
  EXPECT_EQ(Row::FirstDrop(2), kSending + 3);
  EXPECT_EQ(Row::FirstDrop(3), kSending + 5);
  EXPECT_EQ(Row::FirstCounter(0), 0U);
  EXPECT_EQ(Row::FirstCounter(1), 1U);
  EXPECT_EQ(Row::FirstCounter(2), 1U);
  EXPECT_EQ(Row::FirstCounter(3), 3U);

  auto row = Make<Pass, Holder, Picky>();
  Recorder lcore;
  auto mbufs = Packets(7);
  row->Process(lcore, Burst{mbufs, 0});
  row->Drain(lcore);
  ASSERT_EQ(lcore.dropped.size(), 2U);
  EXPECT_EQ(lcore.dropped[0], (std::pair<unsigned, rte_mbuf*>(kSending + 4, mbufs[2])));
  EXPECT_EQ(lcore.dropped[1], (std::pair<unsigned, rte_mbuf*>(kSending + 4, mbufs[5])));
  EXPECT_EQ(lcore.counts, (std::array<uint64_t, 8>{7, 5, 2}));
  for (const Recorder::Sent& sent : lcore.sent) EXPECT_EQ(sent.slot, 4);
  auto one = Packets(1);
  row->Process(lcore, Burst{one, 0});
  row->Drain(lcore);
  EXPECT_EQ(lcore.dropped.back(), (std::pair<unsigned, rte_mbuf*>(kSending + 3, one[0])));
}

// ---- creation ----

std::vector<std::string>& Created() {
  static std::vector<std::string> created;
  return created;
}

template <int kNumber, bool kFails>
struct Numbered : StageBase {
  static constexpr absl::string_view kName = kNumber == 1 ? "one" : kNumber == 2 ? "two" : "three";
  static absl::StatusOr<Numbered> Create(const StageContext& context) {
    Created().push_back(std::string(kName));
    if (kFails) return absl::ResourceExhaustedError(absl::StrCat("no room on ", context.lcore));
    return Numbered();
  }
  void Process(Burst burst, auto& out) noexcept { out.Send(0, burst.mbufs); }
};

TEST(Pipeline, StagesAreMadeInTheOrderOfTheRow) {
  Created().clear();
  const Configuration configuration;
  ASSERT_TRUE((Pipeline<Numbered<1, false>, Numbered<2, false>, Numbered<3, false>>::Create(
                   Context(configuration))
                   .ok()));
  EXPECT_EQ(Created(), (std::vector<std::string>{"one", "two", "three"}));
}

TEST(Pipeline, AStageThatCannotBeMadeIsNamedTheFirstOne) {
  const Configuration configuration;
  const auto row = Pipeline<Numbered<1, false>, Numbered<2, true>, Numbered<3, true>>::Create(
      Context(configuration));
  ASSERT_FALSE(row.ok());
  EXPECT_EQ(row.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(std::string(row.status().message()), "stage two on lcore 3: no room on 3");
}

}  // namespace
}  // namespace penstock
