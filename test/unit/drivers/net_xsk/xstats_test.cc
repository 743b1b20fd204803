// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/xsk/xstats.h"

#include <gtest/gtest.h>
#include <rte_ethdev.h>

#include <map>
#include <set>

namespace penstock {
namespace {

std::map<std::string, uint64_t> Values(const std::vector<Xstat>& stats) {
  std::map<std::string, uint64_t> values;
  for (const Xstat& stat : stats) {
    EXPECT_LT(stat.name.size(), RTE_ETH_XSTATS_NAME_SIZE);
    EXPECT_TRUE(values.emplace(stat.name, stat.value).second) << stat.name << " is there twice";
  }
  return values;
}

TEST(XskXstats, TxNamesStandForTheirCounts) {
  TxTotals totals;
  totals.sends[static_cast<size_t>(SendResult::kOk)] = 5;
  totals.sends[static_cast<size_t>(SendResult::kEagain)] = 7;
  totals.sends[static_cast<size_t>(SendResult::kEbusy)] = 1;
  totals.send_sizes[SendSizeBucket(256)] = 3;
  totals.bad_completions = 2;
  totals.oldest_pinned_us = 9;
  totals.lock_waits = 4;
  const XdpStatistics kernel = {.tx_invalid_descs = 6};
  std::vector<Xstat> out;
  AppendTxXstats(3, totals, /*shared=*/true, kernel, out);
  auto values = Values(out);
  EXPECT_EQ(values["tx_q3_sends"], 13u);
  EXPECT_EQ(values["tx_q3_send_ok"], 5u);
  EXPECT_EQ(values["tx_q3_send_eagain"], 7u);
  EXPECT_EQ(values["tx_q3_send_ebusy"], 1u);
  EXPECT_EQ(values["tx_q3_send_packets_256_511"], 3u);
  EXPECT_EQ(values["tx_q3_bad_completion"], 2u);
  EXPECT_EQ(values["tx_q3_oldest_pinned_us"], 9u);
  EXPECT_EQ(values["tx_q3_lock_waits"], 4u);
  EXPECT_EQ(values["tx_q3_xdp_tx_invalid_descs"], 6u);
  out.clear();
  AppendTxXstats(3, totals, /*shared=*/false, kernel, out);
  EXPECT_EQ(Values(out).count("tx_q3_lock_waits"), 0u)
      << "nobody waits for a lock that is not there";
}

TEST(XskXstats, AllSixOfTheKernelsCountsAreThere) {
  const XdpStatistics kernel = {1, 2, 3, 4, 5, 6};
  std::vector<Xstat> out;
  RxCounters counters;
  counters.bad_address.Add(11);
  AppendRxXstats(0, counters, kernel, out);
  AppendTxXstats(0, {}, false, kernel, out);
  auto values = Values(out);
  EXPECT_EQ(values["rx_q0_bad_address"], 11u);
  EXPECT_EQ(values["rx_q0_xdp_rx_dropped"], 1u);
  EXPECT_EQ(values["rx_q0_xdp_rx_invalid_descs"], 2u);
  EXPECT_EQ(values["tx_q0_xdp_tx_invalid_descs"], 3u);
  EXPECT_EQ(values["rx_q0_xdp_rx_ring_full"], 4u);
  EXPECT_EQ(values["rx_q0_xdp_rx_fill_ring_empty_descs"], 5u);
  EXPECT_EQ(values["tx_q0_xdp_tx_ring_empty_descs"], 6u);
}

TEST(XskXstats, SizesFallIntoTheirBuckets) {
  const std::pair<uint32_t, size_t> rows[] = {{0, 0},   {1, 1},    {2, 2},     {3, 2},     {4, 3},
                                              {31, 5},  {32, 6},   {63, 6},    {64, 7},    {256, 9},
                                              {511, 9}, {512, 10}, {1024, 10}, {32768, 10}};
  for (const auto& [packets, bucket] : rows) EXPECT_EQ(SendSizeBucket(packets), bucket) << packets;
}

}  // namespace
}  // namespace penstock
