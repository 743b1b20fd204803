// SPDX-License-Identifier: BSD-3-Clause
//
// Reports: the books, the JSON and what a person reads.

#include "lib/stats/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "test/unit/stats/balanced_report.h"

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(ReportTest, BooksThatBalance) {
  const Report report = After([](Report&) {});
  EXPECT_EQ(report.totals.rx_packets, 1500u);
  EXPECT_EQ(report.totals.tx_packets, 1500u);
  EXPECT_EQ(report.totals.made, 40u);
  EXPECT_EQ(report.totals.dropped, 30u);
  EXPECT_EQ(report.totals.held, 10u);
  EXPECT_DOUBLE_EQ(report.totals.rx_pps, 150);
  EXPECT_DOUBLE_EQ(report.totals.tx_pps, 150);
  EXPECT_EQ(report.totals.unaccounted, 0u);
  EXPECT_THAT(Imbalances(report), IsEmpty());
  // Named though nothing failed.
  EXPECT_EQ(report.drops.at("tx_error"), 0u);
}

TEST(ReportTest, AnEmptyReportBalances) {
  Report report;
  Balance(report);
  EXPECT_EQ(report.totals.unaccounted, 0u);
  EXPECT_DOUBLE_EQ(report.totals.rx_pps, 0);  // Not divided by a duration of zero.
  EXPECT_THAT(Imbalances(report), IsEmpty());
}

struct BalanceRow {
  const char* name;
  std::function<void(Report&)> change;
  uint64_t unaccounted;
  std::vector<std::string> lines;
};

const std::vector<BalanceRow>& BalanceRows() {
  static const std::vector<BalanceRow> rows = {
      {"an lcore lost a packet: received, not sent",
       [](Report& r) {
         r.lcores[0].tx_packets -= 1;
         r.ports[0].lcores_tx -= 1;
         r.ports[0].tx_packets -= 1;
       },
       1,
       {"lcores took 1540 packets (received + made) and account for 1539 (sent + dropped + held)"}},
      {"an lcore sent a packet twice",
       [](Report& r) {
         r.lcores[1].tx_packets += 1;
         r.ports[1].lcores_tx += 1;
         r.ports[1].tx_packets += 1;
       },
       1,
       {"lcores took 1540 packets (received + made) and account for 1541 (sent + dropped + held)"}},
      {"a packet dropped twice",
       [](Report& r) { r.drops["no_route"] += 1; },
       1,
       {"lcores took 1540 packets (received + made) and account for 1541 (sent + dropped + held)"}},
      {"packets made and not counted as made",
       [](Report& r) { r.lcores[1].made -= 40; },
       40,
       {"lcores took 1500 packets (received + made) and account for 1540 (sent + dropped + held)"}},
      {"packets held and not counted as held",
       [](Report& r) { r.lcores[0].held = 0; },
       10,
       {"lcores took 1540 packets (received + made) and account for 1530 (sent + dropped + held)"}},
      {"the driver says it received more",
       [](Report& r) { r.ports[0].rx_packets += 3; },
       3,
       {"port 0 (net_xsk0): the driver counts 1003 received, the lcores 1000"}},
      {"the driver says it received less",
       [](Report& r) { r.ports[1].rx_packets -= 4; },
       4,
       {"port 1 (net_null1): the driver counts 496 received, the lcores 500"}},
      {"the driver says it sent more",
       [](Report& r) { r.ports[0].tx_packets += 5; },
       5,
       {"port 0 (net_xsk0): the driver counts 605 sent or failed, the lcores 600"}},
      {"the driver says it sent less and knows no error",
       [](Report& r) { r.ports[1].tx_packets -= 6; },
       6,
       {"port 1 (net_null1): the driver counts 894 sent or failed, the lcores 900"}},
      {"two ports that are wrong in opposite ways do not cancel out",
       [](Report& r) {
         r.ports[0].rx_packets += 1;
         r.ports[1].rx_packets -= 1;
       },
       2,
       {"port 0 (net_xsk0): the driver counts 1001 received, the lcores 1000",
        "port 1 (net_null1): the driver counts 499 received, the lcores 500"}},
      {"nor do reception and transmission of one port",
       [](Report& r) {
         r.ports[0].rx_packets += 1;
         r.ports[0].tx_packets -= 1;
       },
       2,
       {"port 0 (net_xsk0): the driver counts 1001 received, the lcores 1000",
        "port 0 (net_xsk0): the driver counts 599 sent or failed, the lcores 600"}},
      {"nor a port's fault and the lcores'",
       [](Report& r) {
         r.lcores[0].tx_packets -= 1;
         r.ports[0].tx_packets += 1;
       },
       2,
       {"lcores took 1540 packets (received + made) and account for 1539 (sent + dropped + held)",
        "port 0 (net_xsk0): the driver counts 601 sent or failed, the lcores 600"}},
      {"what was missed before reception is outside the sum",
       [](Report& r) {
         r.ports[0].rx_missed += 1000;
         r.ports[0].rx_errors += 1000;
         r.ports[0].rx_nombuf += 1000;
       },
       0,
       {}},
  };
  return rows;
}

TEST(ReportTest, WhatTheBooksCannotExplain) {
  for (const BalanceRow& row : BalanceRows()) {
    SCOPED_TRACE(row.name);
    const Report report = After(row.change);
    EXPECT_EQ(report.totals.unaccounted, row.unaccounted);
    EXPECT_EQ(Imbalances(report), row.lines);
  }
}

TEST(ReportTest, PacketsThatTheDriverTookAndFailed) {
  struct {
    const char* name;
    uint64_t tx_packets;  // of port 1, to which lcores gave 900
    uint64_t tx_errors;
    uint64_t failed;
    uint64_t unaccounted;
  } const kRows[] = {
      {"all that is missing failed", 880, 20, 20, 0},
      {"some that is missing failed", 880, 15, 15, 5},
      {"errors of packets that it did not take", 900, 20, 0, 0},
      {"more errors than are missing", 890, 20, 10, 0},
      {"errors, and more sent than given", 905, 20, 0, 5},
      {"nothing sent at all", 0, 900, 900, 0},
  };
  for (const auto& row : kRows) {
    SCOPED_TRACE(row.name);
    const Report report = After([&](Report& r) {
      r.ports[1].tx_packets = row.tx_packets;
      r.ports[1].tx_errors = row.tx_errors;
    });
    EXPECT_EQ(report.ports[1].TakenAndFailed(), row.failed);
    EXPECT_EQ(report.drops.at("tx_error"), row.failed);
    EXPECT_EQ(report.totals.dropped, 30 + row.failed);
    EXPECT_EQ(report.totals.tx_packets, 1500 - row.failed);
    EXPECT_EQ(report.totals.unaccounted, row.unaccounted);
    EXPECT_EQ(Imbalances(report).size(), row.unaccounted == 0 ? 0u : 1u);
  }
}

TEST(ReportTest, WhileLcoresForwardOnlyTheirOwnBooksAreCompared) {
  const auto while_running = [](Report& r) {
    r.at_rest = false;
    r.ports[0].rx_packets += 100;  // read a moment later
    r.ports[0].tx_packets -= 50;
    r.ports[0].tx_errors += 50;
  };
  Report report = After(while_running);
  EXPECT_EQ(report.totals.unaccounted, 0u);
  EXPECT_THAT(Imbalances(report), IsEmpty());
  EXPECT_EQ(report.drops.at("tx_error"), 0u);
  EXPECT_EQ(report.totals.tx_packets, 1500u);

  report = After([&](Report& r) {
    while_running(r);
    r.lcores[0].tx_packets -= 1;
  });
  EXPECT_EQ(report.totals.unaccounted, 1u);
  EXPECT_THAT(Imbalances(report), ElementsAre(HasSubstr("lcores took 1540 packets")));
}

// Each term of `unaccounted`, computed here in another way, has its line.
TEST(ReportTest, ALineForEachTermThatIsNotZero) {
  std::mt19937_64 random(20221128);
  const auto small = [&] { return random() % 4; };
  for (int i = 0; i < 3000; ++i) {
    Report report;
    report.at_rest = random() % 4 != 0;
    int64_t books = 0;
    uint64_t terms = 0;
    uint64_t sum = 0;
    uint64_t failed_in_all = 0;
    const auto add = [&](int64_t term) {
      terms += term != 0 ? 1 : 0;
      sum += static_cast<uint64_t>(term < 0 ? -term : term);
    };
    for (uint32_t lcore = 0; lcore < 3; ++lcore) {
      LcoreReport& row = report.lcores.emplace_back();
      row.rx_packets = 5 + small();
      row.made = small();
      row.held = small();
      row.tx_packets = 7 + small();
      books += static_cast<int64_t>(row.rx_packets + row.made - row.tx_packets - row.held);
    }
    report.drops["some_reason"] = small();
    books -= static_cast<int64_t>(report.drops["some_reason"]);
    for (uint16_t port = 0; port < 2; ++port) {
      PortReport& row = report.ports.emplace_back();
      row.port = port;
      row.rx_packets = small();
      row.lcores_rx = small();
      row.tx_packets = 3 + small();
      row.lcores_tx = 3 + small();
      row.tx_errors = small();
      if (!report.at_rest) continue;
      const int64_t short_of =
          static_cast<int64_t>(row.lcores_tx) - static_cast<int64_t>(row.tx_packets);
      const int64_t failed =
          std::min(std::max<int64_t>(short_of, 0), static_cast<int64_t>(row.tx_errors));
      failed_in_all += static_cast<uint64_t>(failed);
      add(static_cast<int64_t>(row.rx_packets) - static_cast<int64_t>(row.lcores_rx));
      add(short_of - failed);
    }
    // What failed moved from sent to dropped, which leaves the lcores' books as they were.
    add(books);
    Balance(report);
    EXPECT_EQ(report.totals.unaccounted, sum);
    EXPECT_EQ(Imbalances(report).size(), terms);
    EXPECT_EQ(report.drops.at("tx_error"), failed_in_all);
    if (HasFailure()) break;
  }
}

std::vector<std::string> KeysOf(const Json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

TEST(ReportJsonTest, ItsKeysInTheirOrder) {
  const Json json = ToJson(After([](Report& r) {
    r.lcores[0].held = 0;
    r.lcores[0].tx_packets += 10;
  }));
  EXPECT_THAT(KeysOf(json), ElementsAre("schema", "penstock", "mode", "duration_s", "plan", "ports",
                                        "lcores", "tx_queues", "mempools", "drops", "totals"));
  EXPECT_THAT(KeysOf(json["penstock"]), ElementsAre("version", "dpdk", "kernel"));
  for (const Json& port : json["ports"]) {
    EXPECT_THAT(KeysOf(port), ElementsAre("port", "name", "driver", "rx_packets", "rx_bytes",
                                          "tx_packets", "tx_bytes", "rx_missed", "rx_errors",
                                          "tx_errors", "rx_nombuf", "xstats"));
  }
  for (const Json& lcore : json["lcores"]) {
    EXPECT_THAT(KeysOf(lcore), ElementsAre("lcore", "polls", "empty_polls", "rx_packets",
                                           "tx_packets", "cycles_per_packet"));
  }
  for (const Json& queue : json["tx_queues"]) {
    EXPECT_THAT(KeysOf(queue), ElementsAre("port", "queue", "users", "sharing", "completion"));
  }
  for (const Json& pool : json["mempools"]) {
    EXPECT_THAT(KeysOf(pool), ElementsAre("name", "ops", "size"));
  }
  EXPECT_THAT(KeysOf(json["drops"]), ElementsAre("no_route", "tx_error", "tx_full", "tx_segments"));
  EXPECT_THAT(KeysOf(json["totals"]), ElementsAre("rx_packets", "tx_packets", "made", "dropped",
                                                  "rx_pps", "tx_pps", "unaccounted"));
}

TEST(ReportJsonTest, OfReapsWhatIsKnown) {
  const Json json = ToJson(After([](Report& r) {
    r.tx_queues[0].reaps = 40;
    r.tx_queues[0].empty_reaps = 0;
    r.tx_queues[0].reaped = 2560;
    r.tx_queues[0].oldest_pinned_us = 12;
    r.tx_queues[1].in_flight = 7;
    r.tx_queues[1].pinned = 5;
  }));
  EXPECT_THAT(KeysOf(json["tx_queues"][0]),
              ElementsAre("port", "queue", "users", "sharing", "completion", "reaps", "empty_reaps",
                          "reaped", "oldest_pinned_us"));
  EXPECT_EQ(json["tx_queues"][0]["empty_reaps"], 0);
  EXPECT_EQ(json["tx_queues"][0]["reaped"], 2560);
  EXPECT_THAT(KeysOf(json["tx_queues"][1]), ElementsAre("port", "queue", "users", "sharing",
                                                        "completion", "in_flight", "pinned"));
  EXPECT_EQ(json["tx_queues"][1]["pinned"], 5);
}

TEST(ReportJsonTest, ABudgetIsThereWhereThePortHasOne) {
  const Json json = ToJson(After([](Report& r) { r.tx_queues[1].budget = 96; }));
  EXPECT_FALSE(json["tx_queues"][0].contains("budget"));
  EXPECT_EQ(json["tx_queues"][1]["budget"], 96);
}

TEST(TxQueueReportTest, SendCallsAreThoseThatTheDriverCountsForTheQueue) {
  TxQueueReport queue;
  queue.queue = 1;
  queue.FillFrom({{"tx_q1_sends", 10}, {"tx_q1_send_eagain", 3}, {"tx_q11_sends", 5}});
  EXPECT_EQ(queue.send_calls, 10u);
  EXPECT_EQ(queue.eagains, 3u);
  queue.FillFrom({{"tx_q0_sends", 10}, {"tx_q1_send_eagain", 0}});
  EXPECT_EQ(queue.send_calls, std::nullopt) << "unknown is no zero";
  EXPECT_EQ(queue.eagains, 0u);
}

TEST(ReportJsonTest, ItsValues) {
  const Json json = ToJson(After([](Report& r) { r.drops["no_route"] += 1; }));
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["penstock"],
            Json({{"version", "0.1.0"}, {"dpdk", "DPDK 22.11.11"}, {"kernel", "6.1.0"}}));
  EXPECT_EQ(json["mode"], "macswap");
  EXPECT_EQ(json["duration_s"], 10.0);
  EXPECT_EQ(json["plan"], Json({{"notes", Json::array()}}));
  ASSERT_EQ(json["ports"].size(), 2u);
  EXPECT_EQ(json["ports"][0], Json({{"port", 0},
                                    {"name", "net_xsk0"},
                                    {"driver", "net_xsk"},
                                    {"rx_packets", 1000},
                                    {"rx_bytes", 64000},
                                    {"tx_packets", 600},
                                    {"tx_bytes", 38400},
                                    {"rx_missed", 7},
                                    {"rx_errors", 2},
                                    {"tx_errors", 0},
                                    {"rx_nombuf", 3},
                                    {"xstats", {{"a_last", 1}, {"rx_q0_packets", 1000}}}}));
  EXPECT_EQ(json["ports"][1]["xstats"], Json::object());
  ASSERT_EQ(json["lcores"].size(), 2u);
  // Cycles of busy iterations by the larger of received and sent: 50000 / 1000, 10400 / 520.
  EXPECT_EQ(json["lcores"][0], Json({{"lcore", 1},
                                     {"polls", 100},
                                     {"empty_polls", 60},
                                     {"rx_packets", 1000},
                                     {"tx_packets", 980},
                                     {"cycles_per_packet", 50.0}}));
  EXPECT_EQ(json["lcores"][1]["cycles_per_packet"], 20.0);
  EXPECT_EQ(json["tx_queues"], Json::array({{{"port", 0},
                                             {"queue", 0},
                                             {"users", 1},
                                             {"sharing", "exclusive"},
                                             {"completion", "inline"}},
                                            {{"port", 1},
                                             {"queue", 0},
                                             {"users", 2},
                                             {"sharing", "spinlock"},
                                             {"completion", "stage"}}}));
  EXPECT_EQ(json["drops"],
            Json({{"no_route", 6}, {"tx_error", 0}, {"tx_full", 25}, {"tx_segments", 0}}));
  EXPECT_EQ(json["totals"], Json({{"rx_packets", 1500},
                                  {"tx_packets", 1500},
                                  {"made", 40},
                                  {"dropped", 31},
                                  {"rx_pps", 150.0},
                                  {"tx_pps", 150.0},
                                  {"unaccounted", 1},
                                  {"held", 10}}));
}

TEST(ReportJsonTest, AnEmptyReportHasEveryListAndObject) {
  Report report;
  Balance(report);
  const Json json = ToJson(report);
  for (const char* key : {"ports", "lcores", "tx_queues", "mempools"}) {
    EXPECT_EQ(json[key], Json::array()) << key;
  }
  EXPECT_EQ(json["drops"], Json({{"tx_error", 0}}));
  EXPECT_FALSE(json.contains("plan")) << "nothing was planned";
}

TEST(ReportJsonTest, CountersAreExactOverTheirWholeRange) {
  const uint64_t most = ~uint64_t{0};
  const Json json = ToJson(After([&](Report& r) { r.ports[0].rx_bytes = most; }));
  const Json read_back = Json::parse(FormatJson(json));
  EXPECT_EQ(read_back["ports"][0]["rx_bytes"].get<uint64_t>(), most);
}

TEST(ReportJsonTest, WhatIsNotKnownIsAbsentAndWhatIsKnownToBeZeroIsThere) {
  Report report = After([](Report& r) {
    r.lcores[0] = {.lcore = 1, .polls = 9, .empty_polls = 9};
    r.lcores[1].fresh = false;
    r.mempools = {{"unsettled", "ring_mp_mc", 10, {}, {}},
                  {"settled", "ring_mp_mc", 10, 0, 0},
                  {"kept", "ring_mp_mc", 10, 1, 2048}};
  });
  const Json json = ToJson(report);
  EXPECT_FALSE(json["lcores"][0].contains("cycles_per_packet"));
  EXPECT_FALSE(json["lcores"][0].contains("stale"));
  EXPECT_EQ(json["lcores"][1]["stale"], true);
  EXPECT_THAT(KeysOf(json["mempools"][0]), ElementsAre("name", "ops", "size"));
  EXPECT_EQ(json["mempools"][1]["in_use_at_exit"], 0);
  EXPECT_EQ(json["mempools"][1]["held_by_driver"], 0);
  EXPECT_EQ(json["mempools"][2]["in_use_at_exit"], 1);
  EXPECT_EQ(json["mempools"][2]["held_by_driver"], 2048);
}

TEST(ReportJsonTest, SectionsStandUnderTheirNamesBeforeTheTotals) {
  const Json json = ToJson(After([](Report& r) {
    r.sections["latency"] = {{"p99_ns", 1200}};
    r.sections["ipsec"] = {{"replayed", 0}};
  }));
  const std::vector<std::string> keys = KeysOf(json);
  EXPECT_THAT(std::vector<std::string>(keys.end() - 4, keys.end()),
              ElementsAre("drops", "latency", "ipsec", "totals"));
  EXPECT_EQ(json["latency"]["p99_ns"], 1200);
}

TEST(ReportTextTest, TheWholeOfIt) {
  const Report report = After([](Report& r) {
    r.lcores[1].fresh = false;
    r.lcores.push_back({.lcore = 3, .polls = 8, .empty_polls = 8});
    r.mempools = {{"penstock_0", "ring_mp_mc", 8191, 0, 2048},
                  {"penstock_1", "stack", 100, {}, {}}};
    r.ports[1].tx_packets = 893;
    r.ports[1].tx_errors = 5;
  });
  EXPECT_EQ(
      FormatReport(report),
      "macswap for 10.0 s\n"
      "  port 0 net_xsk0 (net_xsk): received 1000 packets 64000 bytes, sent 600 packets 38400 "
      "bytes, missed 7, errors rx 2 tx 0\n"
      "  port 1 net_null1 (net_null): received 500 packets 32000 bytes, sent 893 packets 57600 "
      "bytes, missed 0, errors rx 0 tx 5\n"
      "  lcore 1: received 1000, made 0, sent 980, polls 100 (60 empty), 50 cycles per packet\n"
      "  lcore 2: received 500, made 40, sent 520, polls 50 (20 empty), 20 cycles per packet (did "
      "not answer: last known counts)\n"
      "  lcore 3: received 0, made 0, sent 0, polls 8 (8 empty)\n"
      "  mempool penstock_0 (ring_mp_mc): 8191 mbufs, 0 in use at exit, 2048 kept in the driver's "
      "rings\n"
      "  mempool penstock_1 (stack): 100 mbufs\n"
      "  drops: no_route 5 tx_error 5 tx_full 25\n"
      "  total: received 1500 (0.000 Mpps), made 40, sent 1495 (0.000 Mpps), dropped 35, held 10, "
      "unaccounted 2\n"
      "    port 1 (net_null1): the driver counts 898 sent or failed, the lcores 900\n");
}

TEST(ReportTextTest, WhatIsZeroAndWouldOnlyDistract) {
  const std::string text = FormatReport(After([](Report& r) {
    r.lcores[0].held = 0;
    r.lcores[0].tx_packets += 40;
    r.drops.clear();
    r.ports[0].lcores_tx += 40;
    r.ports[0].tx_packets += 40;
    r.mempools = {{"penstock_0", "ring_mp_mc", 8191, 0, 0}};
  }));
  EXPECT_THAT(text, HasSubstr("  drops: none\n"));
  EXPECT_THAT(text, Not(HasSubstr("held")));
  EXPECT_THAT(text, Not(HasSubstr("kept in")));
  EXPECT_TRUE(absl::EndsWith(text, "unaccounted 0\n")) << text;
}

}  // namespace
}  // namespace penstock
