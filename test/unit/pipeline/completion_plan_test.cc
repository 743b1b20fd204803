// SPDX-License-Identifier: BSD-3-Clause
//
// Which lcore reaps which TX queue, by tables, with the exact reasons of refusals. No EAL needed;
// test process only.

#include "lib/pipeline/completion_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "test/unit/pipeline/planner_worlds.h"

namespace penstock {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

PlannerPort Reaped(TxReap reap, uint16_t tx_queues = 8, bool mt_lockfree = false) {
  PlannerPort port = Offering(8, tx_queues, false, mt_lockfree);
  port.reap = reap;
  port.reaps_by_threshold = reap == TxReap::kCleanupTold;
  return port;
}

// One word per TX queue: "0.0=1+2/spinlock@1", without "@" where no lcore reaps it.
std::string Reapers(const Plan& plan) {
  std::string text;
  for (const TxQueuePlan& queue : plan.tx_queues) {
    absl::StrAppend(&text, text.empty() ? "" : " ", queue.port, ".", queue.queue, "=",
                    absl::StrJoin(queue.users, "+"), "/", SharingName(queue.sharing));
    if (queue.reaper) absl::StrAppend(&text, "@", *queue.reaper);
  }
  return text;
}

// What each lcore reaps, by its own list, agrees with what the queues say.
void ExpectOneReaperEach(const Plan& plan) {
  std::vector<int> reapers(plan.tx_queues.size(), 0);
  for (const LcorePlan& lcore : plan.lcores) {
    for (const LcorePlan::Reap& reap : lcore.reaps) {
      const TxQueuePlan& queue = plan.tx_queues.at(reap.shared_queue);
      ++reapers[reap.shared_queue];
      EXPECT_EQ(queue.port, reap.port);
      EXPECT_EQ(queue.queue, reap.queue);
      EXPECT_EQ(queue.reaper, lcore.lcore);
      EXPECT_THAT(queue.users, Contains(lcore.lcore)) << "who reaps is a user";
      if (reap.slot == kNoSlot) continue;
      EXPECT_EQ(lcore.tx.at(reap.slot).shared_queue, reap.shared_queue);
    }
  }
  for (size_t i = 0; i < reapers.size(); ++i) {
    EXPECT_EQ(reapers[i], plan.tx_queues[i].reaper.has_value()) << i;
  }
}

struct ReaperCase {
  const char* what;
  PlannerPort like;
  size_t lcores;
  ModeShape shape;
  void (*ask)(Configuration&);
  const char* reapers;
};

const ReaperCase kReapers[] = {
    {"the sender", Reaped(TxReap::kCleanupTold), 1, kForward, [](auto&) {},
     "0.0=1/exclusive@1 1.0=1/exclusive@1"},
    {"whatever the way", Reaped(TxReap::kStatus), 2, kForward, [](auto&) {},
     "0.0=2/exclusive@2 1.0=1/exclusive@1"},
    {"the source", Reaped(TxReap::kCleanup), 2, kSource, [](auto&) {},
     "0.0=1/exclusive@1 1.0=2/exclusive@2"},
    {"nobody where the port cannot", Reaped(TxReap::kNone), 1, kForward, [](auto&) {},
     "0.0=1/exclusive 1.0=1/exclusive"},
    {"nobody while it is not known", Reaped(TxReap::kUnknown), 1, kForward, [](auto&) {},
     "0.0=1/exclusive 1.0=1/exclusive"},
    {"nobody inline", Reaped(TxReap::kCleanup), 1, kForward,
     [](auto& c) { c.completion = Completion::kInline; }, "0.0=1/exclusive 1.0=1/exclusive"},
    {"nobody where nobody sends", Reaped(TxReap::kCleanup), 1, kSink, [](auto&) {},
     "0.0=/exclusive 1.0=/exclusive"},
    {"one of those who share", Reaped(TxReap::kCleanup, 1, true), 2, kForward,
     [](auto& c) { c.rxq = All(2); }, "0.0=1+2/mt-lockfree@1 1.0=1+2/mt-lockfree@1"},
    {"another when asked is a user, by the driver's means", Reaped(TxReap::kCleanupTold, 8, true),
     3, kForward,
     [](auto& c) {
       c.completion_lcore[{1, 0}] = 3;
     },
     "0.0=2/exclusive@2 1.0=1+3/mt-lockfree@3"},
    {"or under a lock", Reaped(TxReap::kCleanup), 3, kForward,
     [](auto& c) {
       c.completion_lcore[{1, 0}] = 3;
     },
     "0.0=2/exclusive@2 1.0=1+3/spinlock@3"},
    {"asked for the sender itself changes nothing", Reaped(TxReap::kCleanup), 1, kForward,
     [](auto& c) {
       c.completion_lcore[{1, 0}] = 1;
     },
     "0.0=1/exclusive@1 1.0=1/exclusive@1"},
    {"asked for before it is known", Reaped(TxReap::kUnknown, 8, true), 3, kForward,
     [](auto& c) {
       c.completion_lcore[{0, 0}] = 3;
     },
     "0.0=2+3/mt-lockfree@3 1.0=1/exclusive"},
    {"asked for one that nobody sends to", Reaped(TxReap::kCleanup), 1, kSink,
     [](auto& c) {
       c.completion_lcore[{0, 0}] = 1;
     },
     "0.0=/exclusive 1.0=/exclusive"},
};

TEST(CompletionPlan, WhoReaps) {
  for (const ReaperCase& c : kReapers) {
    Configuration configuration;
    c.ask(configuration);
    const auto plan = MakePlan(Ports(2, c.like), Lcores(c.lcores), c.shape, configuration);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(Reapers(*plan), c.reapers) << c.what;
    ExpectOneReaperEach(*plan);
  }
}

TEST(CompletionPlan, AnLcoreThatOnlyReapsIsNotIdleAndIsSaid) {
  Configuration configuration;
  configuration.completion_lcore = {{{0, 0}, 3}, {{1, 0}, 3}};
  const auto plan =
      MakePlan(Ports(2, Reaped(TxReap::kCleanup)), Lcores(3), kForward, configuration);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_FALSE(plan->lcores[2].Idle());
  EXPECT_EQ(plan->lcores[2].reaps[0].slot, kNoSlot);
  const std::string text = FormatPlan(*plan);
  EXPECT_THAT(text, HasSubstr("  lcore 3 reaps tx queues 0.0 1.0\n"));
  EXPECT_THAT(text, Not(HasSubstr("lcore 1 reaps")));
  EXPECT_THAT(text,
              HasSubstr("note: lcore 1 sends to queue 0 of port 1 and lcore 3 reaps it, under "
                        "a lock: the port has no MT_LOCKFREE\n"));
  EXPECT_EQ(ToJson(*plan)["tx_queues"][0]["reaper"], 3);
  const auto own = MakePlan(Ports(2, Reaped(TxReap::kNone)), Lcores(3), kForward, {});
  ASSERT_TRUE(own.ok());
  EXPECT_FALSE(ToJson(*own)["tx_queues"][0].contains("reaper"));
}

TEST(CompletionPlan, WhenTxBurstItselfReaps) {
  struct Row {
    TxReap reap;
    Completion asked;
    const char* devarg;
    TxFree wanted;
  };
  for (const Row& row :
       {Row{TxReap::kCleanupTold, Completion::kDefault, "", TxFree::kIfStalls},
        Row{TxReap::kCleanupTold, Completion::kDefault, "stage", TxFree::kIfStalls},
        Row{TxReap::kCleanupTold, Completion::kDefault, "inline", TxFree::kDriver},
        Row{TxReap::kCleanupTold, Completion::kStage, "inline", TxFree::kIfStalls},
        Row{TxReap::kCleanupTold, Completion::kInline, "stage", TxFree::kAlways},
        Row{TxReap::kCleanup, Completion::kInline, "", TxFree::kDriver},
        Row{TxReap::kNone, Completion::kStage, "", TxFree::kDriver}}) {
    PlannerPort port = Reaped(row.reap);
    port.completion_devarg = row.devarg;
    Configuration configuration;
    configuration.completion = row.asked;
    const auto plan = MakePlan(Ports(1, port), Lcores(1), kForward, configuration);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(plan->ports[0].tx_free, row.wanted) << row.devarg;
  }
}

TEST(CompletionPlan, SaysWhatAPortCannotAndWhatGoesOverADevarg) {
  const auto notes = [](TxReap reap, Completion asked, const char* devarg) {
    PlannerPort port = Reaped(reap);
    port.completion_devarg = devarg;
    Configuration configuration;
    configuration.completion = asked;
    const auto plan = MakePlan(Ports(2, port), Lcores(1), kForward, configuration);
    EXPECT_TRUE(plan.ok()) << plan.status();
    return absl::StrJoin(plan->notes, "\n");
  };
  EXPECT_EQ(notes(TxReap::kNone, Completion::kDefault, ""), "") << "nobody asked";
  EXPECT_EQ(notes(TxReap::kNone, Completion::kInline, ""), "");
  EXPECT_EQ(notes(TxReap::kCleanup, Completion::kStage, ""), "");
  EXPECT_THAT(
      notes(TxReap::kNone, Completion::kStage, ""),
      HasSubstr("--completion=stage: port 1 (dev1) has no tx_done_cleanup: its driver takes "
                "back what it sent in its own tx_burst"));
  EXPECT_THAT(notes(TxReap::kCleanupTold, Completion::kStage, "inline"),
              HasSubstr("--completion=stage goes over completion=inline of port 0 (dev0)"));
  EXPECT_THAT(notes(TxReap::kCleanupTold, Completion::kInline, "stage"),
              HasSubstr("--completion=inline goes over completion=stage of port 0 (dev0)"));
  EXPECT_THAT(
      notes(TxReap::kCleanupTold, Completion::kDefault, "inline"),
      HasSubstr("port 0 (dev0) reaps in its own tx_burst: its devargs say completion=inline"));
  EXPECT_EQ(notes(TxReap::kCleanupTold, Completion::kInline, "inline"), "");
}

// net_xsk leaves completions to others on all queues of a port or on none: whoever takes one away
// from completion=inline takes all.
TEST(CompletionPlan, AnLcoreForOneQueueTakesThePortOutOfInline) {
  PlannerPort port = Reaped(TxReap::kCleanupTold, 8, true);
  port.completion_devarg = "inline";
  Configuration configuration;
  configuration.rxq = All(2);
  configuration.completion_lcore[{0, 0}] = 3;
  const auto plan = MakePlan(Ports(2, port), Lcores(3), kForward, configuration);
  ASSERT_TRUE(plan.ok()) << plan.status();
  for (const TxQueuePlan& queue : plan->tx_queues) {
    if (queue.users.empty()) continue;
    EXPECT_EQ(queue.reaper.has_value(), queue.port == 0) << queue.port << "." << queue.queue;
  }
  ExpectOneReaperEach(*plan);
  EXPECT_EQ(plan->ports[0].tx_free, TxFree::kIfStalls);
  EXPECT_EQ(plan->ports[1].tx_free, TxFree::kDriver);
  EXPECT_THAT(plan->notes,
              Contains("--completion-lcore goes over completion=inline of port 0 (dev0)"));
  EXPECT_THAT(plan->notes, Contains("port 1 (dev1) reaps in its own tx_burst: its devargs say "
                                    "completion=inline"));
}

TEST(CompletionPlan, AnLcoreForAQueueThatNobodySendsToIsNoted) {
  Configuration configuration;
  configuration.completion_lcore[{0, 0}] = 1;
  const PlannerPort port = Reaped(TxReap::kCleanup);
  const auto sink = MakePlan(Ports(2, port), Lcores(1), kSink, configuration);
  ASSERT_TRUE(sink.ok()) << sink.status();
  EXPECT_THAT(sink->notes, Contains("--completion-lcore=0.0@1 has nothing to do: no lcore sends to "
                                    "queue 0 of port 0"));
  const auto forward = MakePlan(Ports(2, port), Lcores(1), kForward, configuration);
  ASSERT_TRUE(forward.ok()) << forward.status();
  EXPECT_THAT(forward->notes, Not(Contains(HasSubstr("--completion-lcore"))));
}

TEST(CompletionPlan, RefusesWhatIsNotThere) {
  struct Row {
    TxReap reap;
    std::pair<uint16_t, uint16_t> queue;
    uint16_t lcore;
    const char* why;
  };
  for (const Row& row :
       {Row{TxReap::kCleanup,
            {2, 0},
            1,
            "--completion-lcore=2.0@1: port 2 is not there; ports are 0, 1"},
        Row{TxReap::kCleanup,
            {0, 1},
            1,
            "--completion-lcore=0.1@1: port 0 (dev0) has 1 TX queues in this plan, numbered from "
            "0"},
        Row{TxReap::kCleanup,
            {0, 0},
            7,
            "--completion-lcore=0.0@7: lcore 7 does not work here; those that do are 1, 2"},
        Row{TxReap::kNone,
            {1, 0},
            2,
            "--completion-lcore=1.0@2: port 1 (dev1) has no tx_done_cleanup: its driver takes back "
            "what it sent in its own tx_burst; leave the queue out"}}) {
    Configuration configuration;
    configuration.completion_lcore[row.queue] = row.lcore;
    const auto plan = MakePlan(Ports(2, Reaped(row.reap)), Lcores(2), kForward, configuration);
    EXPECT_EQ(plan.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(std::string(plan.status().message()), row.why);
  }
}

TEST(CompletionPlan, MempoolsCountWhatAnIdleQueueKeeps) {
  PlannerPort port = Reaped(TxReap::kStatus);
  Configuration configuration;
  configuration.txd = All(4096);
  configuration.mbcache = 0;
  configuration.mempool = MempoolOps::kRing;  // It keeps nothing at home.
  const auto size = [&](uint16_t pinned, uint16_t rxd) {
    port.tx_pinned = pinned;
    configuration.rxd = All(rxd);
    const auto plan = MakePlan(Ports(1, port), Lcores(1), kForward, configuration);
    EXPECT_TRUE(plan.ok()) << plan.status();
    return plan->mempools[0].mbufs;
  };
  // RX, TX and three bursts of 512 in the lcore's hands: 16383 just fits, with a tail of 31 not.
  const uint16_t fits = 16383 - 4096 - 1536;
  EXPECT_EQ(size(0, fits), 16383u);
  EXPECT_EQ(size(31, fits), 32767u);
  EXPECT_EQ(size(31, fits - 31), 16383u);
}

}  // namespace
}  // namespace penstock
