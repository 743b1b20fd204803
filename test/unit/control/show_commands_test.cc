// SPDX-License-Identifier: BSD-3-Clause
//
// Plan, configuration, mempools and packets, as shown. Main lcore; workers forward.

#include "lib/control/show_commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lib/config/options.h"
#include "test/unit/control/dataplane.h"

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

class ShowCommandsTest : public DataplaneTest {
 protected:
  ShowCommandsTest() : DataplaneTest(&AddShowCommands) {}
};

// Option to value and default, of the lines before the plan.
std::map<std::string, std::pair<std::string, std::string>> Table(const std::string& text) {
  std::map<std::string, std::pair<std::string, std::string>> table;
  const std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
  for (size_t i = 1; i < lines.size() && !absl::StartsWith(lines[i], "plan"); ++i) {
    const std::vector<std::string> words = absl::StrSplit(lines[i], ' ', absl::SkipEmpty());
    EXPECT_EQ(words.size(), 3u) << lines[i];
    if (words.size() == 3) table[words[0]] = {words[1], words[2]};
  }
  return table;
}

TEST_F(ShowCommandsTest, ShowPlan) {
  EXPECT_EQ(Show("show plan"), FormatPlan(runtime_->plan()));
  configuration_.rxq.all = 2;
  ASSERT_TRUE(Apply());
  EXPECT_EQ(Show("show plan"), FormatPlan(runtime_->plan()));
  EXPECT_THAT(Show("show plan"), HasSubstr("2 rx queues"));
}

TEST_F(ShowCommandsTest, ShowConfigHasEveryOption) {
  configuration_.burst = 7;
  configuration_.eth_peer[1] = MacAddress{{2, 0, 0, 0, 0, 5}};
  ASSERT_TRUE(Apply());
  const auto table = Table(Show("show config"));
  for (const Option& option : Options()) {
    if (ChangeOf(option.name) == ChangeKind::kNone) continue;
    EXPECT_TRUE(table.contains(std::string(option.name))) << option.name;
  }
  EXPECT_EQ(table.at("burst"), std::pair(std::string("7"), std::string("32")));
  EXPECT_EQ(table.at("eth-peer"), std::pair(std::string("1,02:00:00:00:00:05"), std::string("-")));
  EXPECT_EQ(table.at("rxq"), std::pair(std::string("-"), std::string("-")));
  EXPECT_EQ(table.at("total-num-mbufs"), std::pair(std::string("8192"), std::string("-")));
}

TEST_F(ShowCommandsTest, ShowConfigOfASubject) {
  for (const char* subject : {"fwd", "cores", "rxtx"}) {
    EXPECT_THAT(Show(absl::StrCat("show config ", subject)), EndsWith(FormatPlan(runtime_->plan())))
        << subject;
  }
  EXPECT_TRUE(Table(Show("show config fwd")).contains("forward-mode"));
  EXPECT_FALSE(Table(Show("show config fwd")).contains("rxq"));
  EXPECT_TRUE(Table(Show("show config rxtx")).contains("rxq"));
  EXPECT_EQ(Table(Show("show config txpkts")).at("txpkts").first, "64");
  EXPECT_THAT(Fault("show config all"), HasSubstr("accepted: fwd, cores, rxtx, txpkts, the end"));
}

TEST_F(ShowCommandsTest, ShowMempool) {
  const auto rows = [&] {
    std::vector<std::string> lines = absl::StrSplit(Show("show mempool"), '\n', absl::SkipEmpty());
    lines.erase(lines.begin());
    return lines;
  };
  ASSERT_EQ(runtime_->mempools().size(), rows().size());
  ASSERT_EQ(rows().size(), 1u);
  const std::vector<std::string> words = absl::StrSplit(rows()[0], ' ', absl::SkipEmpty());
  const std::string bytes = absl::StrCat(runtime_->mempools()[0].get()->elt_size);
  EXPECT_THAT(words, ElementsAre("penstock_0", "ring_mp_mc", "8192", "0", "8192", "250", bytes));
  // One taken out is one in use.
  rte_mempool* const pool = runtime_->mempools()[0].get();
  void* mbuf = nullptr;
  ASSERT_EQ(rte_mempool_get(pool, &mbuf), 0);
  const std::vector<std::string> taken = absl::StrSplit(rows()[0], ' ', absl::SkipEmpty());
  rte_mempool_put(pool, mbuf);
  EXPECT_THAT(taken, ElementsAre("penstock_0", "ring_mp_mc", "8192", "1", "8191", "250", bytes));
}

}  // namespace
}  // namespace penstock
