// SPDX-License-Identifier: BSD-3-Clause
//
// What is a stage and what is not, by the compiler; the example of the manual; what a stage learns
// when it is made. Main lcore.

#include "lib/pipeline/stage.h"

#include <gtest/gtest.h>

#include <vector>

#include "lib/pipeline/outlets.h"
#include "lib/pipeline/pipeline.h"
#include "test/unit/pipeline/rig.h"

namespace penstock {
namespace {

// The manual's own example.
class DropShort : public StageBase {
 public:
  static constexpr absl::string_view kName = "drop_short";
  enum Drop : unsigned { kShort };
  static constexpr DropReason kDrops[] = {{"short", "a packet shorter than 60 bytes"}};

  static absl::StatusOr<DropShort> Create(const StageContext&) { return DropShort(); }

  void Process(Burst burst, auto& out) noexcept {
    for (rte_mbuf* mbuf : burst.mbufs) {
      if (mbuf->pkt_len < 60) {
        out.Drop(kShort, mbuf);
      } else {
        out.Send(0, mbuf);
      }
    }
  }
};
static_assert(Stage<DropShort>);
static_assert(std::size(StageBase::kDrops) == 0 && std::size(StageBase::kCounters) == 0);

struct NoName : StageBase {
  static absl::StatusOr<NoName> Create(const StageContext&) { return NoName(); }
  void Process(Burst, auto&) noexcept {}
};
static_assert(!Stage<NoName>);

struct Throws : StageBase {
  static constexpr absl::string_view kName = "throws";
  static absl::StatusOr<Throws> Create(const StageContext&) { return Throws(); }
  void Process(Burst, auto&) {}
};
static_assert(!Stage<Throws>, "the data path is noexcept");

struct PollThrows : DropShort {
  static absl::StatusOr<PollThrows> Create(const StageContext&) { return PollThrows(); }
  void Poll(auto&) {}
};
static_assert(!Stage<PollThrows>);

struct CannotFail : StageBase {
  static constexpr absl::string_view kName = "cannot_fail";
  static CannotFail Create(const StageContext&) { return {}; }
  void Process(Burst, auto&) noexcept {}
};
static_assert(!Stage<CannotFail>, "Create returns StatusOr");

struct HeldWide : DropShort {
  static absl::StatusOr<HeldWide> Create(const StageContext&) { return HeldWide(); }
  int Held() const noexcept { return 0; }
};
static_assert(!Stage<HeldWide>);

struct NoProcess : StageBase {
  static constexpr absl::string_view kName = "no_process";
  static absl::StatusOr<NoProcess> Create(const StageContext&) { return NoProcess(); }
};
static_assert(!Stage<NoProcess>);

TEST(Stage, TheManualsExampleDoesWhatItSays) {
  Pool pool(100);
  RingPort port;
  port.Start(pool);
  using Row = Pipeline<DropShort>;
  const Configuration configuration;
  const StageContext context{configuration, 1, {}, {}, nullptr};
  auto row = Row::Create(context);
  ASSERT_TRUE(row.ok()) << row.status();
  const LcoreCounters layout{1, 1, Row::FirstDrop(1), 0};
  std::vector<uint64_t> counts(layout.size(), 0);
  std::vector<TxQueue> queues(1);
  queues[0].port = port.port();
  LcoreOutlets<TxPolicy<false, false>> outlets(std::move(queues), layout, counts.data(), 0);
  std::vector<rte_mbuf*> mbufs;
  for (uint32_t i = 0; i < 10; ++i) mbufs.push_back(pool.Packet({1, i}, i % 2 == 0 ? 60 : 59));
  (*row)->Process(outlets, Burst{mbufs, 0});
  outlets.Flush();
  EXPECT_EQ(counts[layout.Drop(std::size(kTxDrops) + DropShort::kShort)], 5U);
  EXPECT_EQ(counts[layout.Tx(0)], 5U);
  EXPECT_EQ(port.Take(0), (std::vector<Tag>{{1, 0}, {1, 2}, {1, 4}, {1, 6}, {1, 8}}));
  EXPECT_EQ((*row)->Held(), 0U);
}

TEST(StageContext, SlotOfFindsTheQueueOnAPort) {
  const Configuration configuration;
  StageContext context{configuration, 1, {}, {}, nullptr};
  EXPECT_EQ(context.SlotOf(0), kNoSlot);
  context.tx = {{5, 0, {}, false}, {2, 1, {}, false}};
  EXPECT_EQ(context.SlotOf(5), 0);
  EXPECT_EQ(context.SlotOf(2), 1);
  EXPECT_EQ(context.SlotOf(0), kNoSlot);
}

}  // namespace
}  // namespace penstock
