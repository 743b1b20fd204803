// SPDX-License-Identifier: BSD-3-Clause
//
// TX queues, as shown. Main lcore; workers forward.

#include "lib/control/tx_commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "test/unit/control/dataplane.h"

namespace penstock {
namespace {

using testing::HasSubstr;
using testing::Not;

class TxCommandsTest : public DataplaneTest {
 protected:
  TxCommandsTest() : DataplaneTest(&AddTxCommands) {}
};

TEST_F(TxCommandsTest, AllQueuesOrThoseOfOnePort) {
  const std::string all = Show("show tx");
  EXPECT_EQ(Show("show tx all"), all);
  EXPECT_THAT(
      all, HasSubstr("\n  0.0    1      exclusive  -           -        -       no AF_XDP port\n"));
  EXPECT_THAT(all, HasSubstr("\n    completion inline, by the driver as it sends\n"));
  EXPECT_THAT(all, HasSubstr("\n  1.0 "));
  EXPECT_THAT(Show("show tx 1"), HasSubstr("\n  1.0 "));
  EXPECT_THAT(Show("show tx 1"), Not(HasSubstr("\n  0.0 ")));
  EXPECT_THAT(Fault("show tx 2"), HasSubstr("accepted: all, 0, 1, the end"));
}

TEST(FormatTxQueues, ColumnsAreAsWideAsWhatIsInThemAndTheUnknownIsADash) {
  std::vector<TxQueueReport> queues(2);
  queues[0].users = 2;
  queues[0].sharing = "mt-lockfree";
  queues[0].send_calls = 123456789012;
  queues[0].eagains = 0;
  queues[0].budget = 256;
  queues[0].budget_reason = "auto: 99.5 % of 200 sends fit";
  queues[0].send_sizes = {{1, 1}, {32, 99}, {256, 100}};
  queues[0].completion = "inline";
  queues[1].completion = "stage";
  queues[1].reaps = 40;
  queues[1].empty_reaps = 1;
  queues[1].reaped = 2560;
  queues[1].in_flight = 7;
  queues[1].oldest_pinned_us = 12;
  queues[1].pinned = 5;
  queues[1].port = 10;
  queues[1].queue = 3;
  queues[1].users = 1;
  queues[1].sharing = "exclusive";
  queues[1].budget_reason = "this kernel has none to set (before 6.17)";
  EXPECT_EQ(
      FormatTxQueues(queues),
      "  queue  users  sharing      send calls    EAGAINs  budget  why\n"
      "  0.0    2      mt-lockfree  123456789012  0        256     "
      "auto: 99.5 % of 200 sends fit\n"
      "    descriptors per send, to 1: 0.5 %, to 32: 49.5 %, to 256: 50.0 %\n"
      "    completion inline, by the driver as it sends\n"
      "  10.3   1      exclusive    -             -        -       "
      "this kernel has none to set (before 6.17)\n"
      "    completion stage: 40 reaps, 1 in vain, 2560 mbufs back, 7 in flight, oldest 12 us, 5 "
      "pinned until more is sent\n");
}

TEST(FormatTxQueues, AStageWithoutCountersIsNotTheDriver) {
  std::vector<TxQueueReport> queues(1);
  queues[0].completion = "stage";
  EXPECT_THAT(FormatTxQueues(queues), HasSubstr("\n    completion stage\n"));
}

}  // namespace
}  // namespace penstock
