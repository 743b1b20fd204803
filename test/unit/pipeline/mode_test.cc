// SPDX-License-Identifier: BSD-3-Clause
//
// MakeMode: a row of the table says all there is to know of its stages, and makes the loop that
// does just what the plan needs. Main lcore.

#include "lib/pipeline/mode.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test/unit/pipeline/rig.h"

namespace penstock {
namespace {

struct Plain : StageBase {
  static constexpr absl::string_view kName = "plain";
  static absl::StatusOr<Plain> Create(const StageContext&) { return Plain(); }
  void Process(Burst burst, auto& out) noexcept { out.Next(burst); }
};

struct Counting : StageBase {
  static constexpr absl::string_view kName = "counting";
  static constexpr DropReason kDrops[] = {{"odd", "an odd one"}};
  static constexpr StageCounter kCounters[] = {{"first", "…"}, {"second", "…"}};
  static absl::StatusOr<Counting> Create(const StageContext&) { return Counting(); }
  void Process(Burst burst, auto& out) noexcept { out.Next(burst); }

  int value = 0;
  static absl::Status Set(std::span<Counting* const> stages, std::span<const std::string> arguments,
                          std::string& output) {
    for (Counting* stage : stages) stage->value = std::stoi(arguments[0]);
    output += "set on " + std::to_string(stages.size());
    return absl::OkStatus();
  }
  static absl::Status Refuse(std::span<Counting* const>, std::span<const std::string>,
                             std::string&) {
    return absl::InvalidArgumentError("never");
  }
  static constexpr StageCommand<Counting> kCommands[] = {{"counting set <value>", "set it", &Set},
                                                         {"counting refuse", "refuse", &Refuse}};
};

struct Reporting : StageBase {
  static constexpr absl::string_view kName = "reporting";
  static constexpr StageCounter kCounters[] = {{"packets", "…"}};
  static absl::StatusOr<Reporting> Create(const StageContext&) { return Reporting(); }
  void Process(Burst burst, auto& out) noexcept { out.Send(0, burst.mbufs); }
  static void Write(std::span<const uint64_t> counters, Json& section) {
    section["twice"] = counters[0] * 2;
  }
  static constexpr StageSection<Reporting> kSection{&Write};
  static absl::Status Hello(std::span<Reporting* const>, std::span<const std::string>,
                            std::string& output) {
    output += "hello";
    return absl::OkStatus();
  }
  static constexpr StageCommand<Reporting> kCommands[] = {{"hello", "greet", &Hello}};
};

struct Fails : StageBase {
  static constexpr absl::string_view kName = "fails";
  static absl::StatusOr<Fails> Create(const StageContext&) { return absl::UnavailableError("no"); }
  void Process(Burst burst, auto& out) noexcept { out.Send(0, burst.mbufs); }
};

constexpr Mode kMode = MakeMode<Plain, Counting, Reporting>(
    "mixed", "does much", {.sends = Destination::kAny, .streams = Streams::kReceive});
constexpr Mode kFailing = MakeMode<Plain, Fails>("failing", "", {});

TEST(Mode, ARowOfTheTableKnowsItsStages) {
  EXPECT_EQ(kMode.name, "mixed");
  EXPECT_EQ(kMode.help, "does much");
  EXPECT_EQ(kMode.shape.sends, Destination::kAny);
  ASSERT_EQ(kMode.stages.size(), 3U);
  EXPECT_EQ(kMode.stages[0].name, "plain");
  EXPECT_TRUE(kMode.stages[0].drops.empty());
  EXPECT_EQ(kMode.stages[0].section, nullptr);
  EXPECT_EQ(kMode.stages[1].name, "counting");
  ASSERT_EQ(kMode.stages[1].drops.size(), 1U);
  EXPECT_EQ(kMode.stages[1].drops[0].name, "odd");
  EXPECT_EQ(kMode.stages[1].counters.size(), 2U);
  EXPECT_EQ(kMode.stages[2].name, "reporting");
}

TEST(Mode, CountersWithoutASectionAreListedASectionOfItsOwnIsUsed) {
  Json listed = Json::object();
  ASSERT_NE(kMode.stages[1].section, nullptr);
  const std::vector<uint64_t> two = {3, 4};
  kMode.stages[1].section(two, listed);
  EXPECT_EQ(listed, Json::parse(R"({"first": 3, "second": 4})"));
  Json own = Json::object();
  const std::vector<uint64_t> one = {21};
  kMode.stages[2].section(one, own);
  EXPECT_EQ(own, Json::parse(R"({"twice": 42})"));
}

TEST(Mode, CommandsKnowTheStageTheyBelongTo) {
  ASSERT_EQ(kMode.commands.size(), 3U);
  EXPECT_EQ(kMode.commands[0].syntax, "counting set <value>");
  EXPECT_EQ(kMode.commands[0].help, "set it");
  EXPECT_EQ(kMode.commands[0].stage, 1U);
  EXPECT_EQ(kMode.commands[1].syntax, "counting refuse");
  EXPECT_EQ(kMode.commands[1].stage, 1U);
  EXPECT_EQ(kMode.commands[2].syntax, "hello");
  EXPECT_EQ(kMode.commands[2].stage, 2U);
  EXPECT_TRUE(kFailing.commands.empty());
}

class ModeCreate : public testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<LcoreProgram>> Create(const Mode& mode, bool locked, bool single,
                                                       bool counted = false, bool reaps = false) {
    StageContext context{
        configuration_, 1, {{0, 0, 0}}, {{0, 0, {}, false}, {1, 0, {}, false}}, nullptr};
    LcoreResources resources{.tx = {}, .burst = 32, .tx_retries = 0, .quiescence = nullptr};
    resources.tx.resize(2);
    // One such queue is enough.
    resources.tx[1].lock = locked ? &lock_ : nullptr;
    resources.tx[1].sends = counted ? &sends_ : nullptr;
    resources.tx[1].single_segment = single;
    if (reaps) {
      resources.reaped.push_back({.queue = TxReaper(1, 0, 64, TxReap::kCleanup, nullptr),
                                  .pace = {.limit = 64},
                                  .slot = 1});
    }
    return mode.create(context, std::move(resources));
  }
  Configuration configuration_;
  TxLock lock_;
  LcoreSends sends_;
};

TEST_F(ModeCreate, AnLcoreGetsTheLoopThatItsQueuesNeedAndNoMore) {
  using Line = Pipeline<Plain, Counting, Reporting>;
  for (const bool locked : {false, true}) {
    for (const bool single : {false, true}) {
      for (const bool reaps : {false, true}) {
        const auto program = Create(kMode, locked, single, /*counted=*/false, reaps);
        ASSERT_TRUE(program.ok()) << program.status();
        const auto is = [&]<bool l, bool s, class Completion>() {
          using Loop = LcoreLoop<Line, TxPolicy<l, s>, Completion>;
          const bool wanted =
              l == locked && s == single && std::is_same_v<Completion, LcoreCompletion> == reaps;
          EXPECT_EQ(dynamic_cast<Loop*>(program->get()) != nullptr, wanted);
        };
        is.template operator()<false, false, NoCompletion>();
        is.template operator()<true, false, NoCompletion>();
        is.template operator()<false, true, NoCompletion>();
        is.template operator()<true, true, NoCompletion>();
        is.template operator()<false, false, LcoreCompletion>();
        is.template operator()<true, false, LcoreCompletion>();
        is.template operator()<false, true, LcoreCompletion>();
        is.template operator()<true, true, LcoreCompletion>();
      }
    }
  }
}

TEST_F(ModeCreate, AQueueThatCountsIsAskedHowToSend) {
  using Line = Pipeline<Plain, Counting, Reporting>;
  const auto program = Create(kMode, /*locked=*/false, /*single=*/false, /*counted=*/true);
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_NE((dynamic_cast<LcoreLoop<Line, TxPolicy<true, false>, NoCompletion>*>(program->get())),
            nullptr);
}

TEST_F(ModeCreate, TheLayoutHasRoomForAllThatTheRowCounts) {
  const auto program = Create(kMode, false, false);
  ASSERT_TRUE(program.ok()) << program.status();
  const LcoreCounters& layout = (*program)->layout();
  EXPECT_EQ(layout.rx_slots, 1U);
  EXPECT_EQ(layout.tx_slots, 2U);
  EXPECT_EQ(layout.drops, std::size(kTxDrops) + 1);
  EXPECT_EQ(layout.stage_counters, 3U);
  EXPECT_EQ(layout.reaped_queues, 0U);
  EXPECT_EQ((*program)->page().local().size(), layout.size());
  const auto reaping = Create(kMode, false, false, /*counted=*/false, /*reaps=*/true);
  ASSERT_TRUE(reaping.ok()) << reaping.status();
  EXPECT_EQ((*reaping)->layout().reaped_queues, 1U);
  EXPECT_EQ((*reaping)->page().local().size(), (*reaping)->layout().size());
}

TEST_F(ModeCreate, AStageThatFailsIsSaidWithItsName) {
  const auto program = Create(kFailing, false, false);
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(std::string(program.status().message()), "stage fails on lcore 1: no");
}

TEST_F(ModeCreate, ACommandGetsEveryLcoresStageUnderItsOwnType) {
  const auto one = Create(kMode, false, false);
  const auto two = Create(kMode, true, true);
  ASSERT_TRUE(one.ok() && two.ok());
  std::vector<void*> stages = {(*one)->StageAt(1), (*two)->StageAt(1)};
  ASSERT_NE(stages[0], nullptr);
  ASSERT_NE(stages[1], nullptr);
  const std::vector<std::string> arguments = {"17"};
  std::string output;
  EXPECT_TRUE(kMode.commands[0].run(stages, arguments, output).ok());
  EXPECT_EQ(output, "set on 2");
  EXPECT_EQ(static_cast<Counting*>(stages[0])->value, 17);
  EXPECT_EQ(static_cast<Counting*>(stages[1])->value, 17);
  EXPECT_EQ(kMode.commands[1].run(stages, {}, output).message(), "never");
  EXPECT_TRUE(kMode.commands[2].run({}, {}, output).ok());
  EXPECT_EQ(output, "set on 2hello");
  EXPECT_EQ((*one)->StageAt(3), nullptr);
}

}  // namespace
}  // namespace penstock
