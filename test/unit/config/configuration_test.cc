// SPDX-License-Identifier: BSD-3-Clause
//
// The configuration: defaults, what is wrong with it on its own, and the difference of two.

#include "lib/config/configuration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lib/config/offloads.h"

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Change_ = std::function<void(Configuration&)>;

Configuration With(const Change_& change) {
  Configuration configuration;
  change(configuration);
  return configuration;
}

TEST(ConfigurationTest, TheDefaultsAreValid) {
  const Configuration c;
  EXPECT_TRUE(Validate(c).ok()) << Validate(c);
  EXPECT_TRUE(c.forwarding);
  EXPECT_FALSE(c.interactive);
  EXPECT_EQ(c.forward_mode, "io");
  EXPECT_EQ(c.burst, 32);
  EXPECT_EQ(c.txpkts, std::vector<uint16_t>({64}));
  EXPECT_EQ(c.tx_ip[0].Format(), "198.18.0.1");
  EXPECT_EQ(c.tx_ip[1].Format(), "198.18.0.2");
}

TEST(ConfigurationTest, ACopyIsItsOwn) {
  Configuration original;
  original.rxq.of_port[3] = 2;
  Configuration copy = original;
  EXPECT_EQ(copy, original);
  copy.rxq.of_port[3] = 4;
  EXPECT_EQ(original.rxq.of_port[3], 2);
  EXPECT_FALSE(copy == original);
}

TEST(PerPortTest, WhatWasAskedForAPort) {
  PerPort values;
  EXPECT_EQ(values.For(0), std::nullopt);
  values.of_port[1] = 7;
  EXPECT_EQ(values.For(0), std::nullopt);
  EXPECT_EQ(values.For(1), 7);
  values.all = 3;
  EXPECT_EQ(values.For(0), 3);
  EXPECT_EQ(values.For(1), 7);  // What names the port goes over what names all.
}

struct ValidateRow {
  const char* name;
  Change_ change;
  std::string message;  // Empty: valid.
};

const std::vector<ValidateRow>& ValidateRows() {
  static const std::vector<ValidateRow> rows = {
      {"burst 1", [](auto& c) { c.burst = 1; }, ""},
      {"burst 512", [](auto& c) { c.burst = 512; }, ""},
      {"burst 0", [](auto& c) { c.burst = 0; }, "--burst=0: accepted: 1 to 512"},
      {"burst 513", [](auto& c) { c.burst = 513; }, "--burst=513: accepted: 1 to 512"},
      {"most retries", [](auto& c) { c.tx_retries = 1'000'000; }, ""},
      {"more retries", [](auto& c) { c.tx_retries = 1'000'001; },
       "--tx-retries=1000001: accepted: 0 to 1000000"},
      {"threshold 1", [](auto& c) { c.completion_threshold = 1; }, ""},
      {"threshold 0", [](auto& c) { c.completion_threshold = 0; },
       "--completion-threshold=0: accepted: 1 to 32768"},
      {"one age", [](auto& c) { c.completion_age_ns.fill(1000); }, ""},
      {"a short age",
       [](auto& c) {
         c.completion_age_ns = {999, 1000};
       },
       "--completion-age=999ns,1us: accepted: 1us to 10s, the first no longer than the second"},
      {"ages the wrong way round",
       [](auto& c) {
         c.completion_age_ns = {2'000'000, 1'000'000};
       },
       "--completion-age=2ms,1ms: accepted: 1us to 10s, the first no longer than the second"},
      {"a reaper",
       [](auto& c) {
         c.completion_lcore[{31, 1023}] = 127;
       },
       ""},
      {"a reaper of port 32",
       [](auto& c) {
         c.completion_lcore[{32, 0}] = 1;
       },
       "--completion-lcore=port 32: accepted: ports 0 to 31"},
      {"reaper 128",
       [](auto& c) {
         c.completion_lcore[{0, 0}] = 128;
       },
       "--completion-lcore=128: accepted: 0 to 127"},
      {"a reaper and inline",
       [](auto& c) {
         c.completion = Completion::kInline;
         c.completion_lcore[{0, 0}] = 1;
       },
       "--completion-lcore: accepted: without --completion=inline, which leaves it to the lcores "
       "that send"},
      {"ports in any order",
       [](auto& c) {
         c.portlist = {31, 0};
       },
       ""},
      {"no such port", [](auto& c) { c.portlist = {32}; }, "--portlist=32: accepted: 0 to 31"},
      {"a port twice",
       [](auto& c) {
         c.portlist = {1, 0, 1};
       },
       "--portlist=1 twice: accepted: each number once"},
      {"no such lcore", [](auto& c) { c.corelist = {128}; }, "--corelist=128: accepted: 0 to 127"},
      {"more cores than there can be", [](auto& c) { c.nb_cores = 129; },
       "--nb-cores=129: accepted: 1 to 128"},
      {"no such port stopped", [](auto& c) { c.stopped_ports = {32}; },
       "--port stop=port 32: accepted: ports 0 to 31"},
      {"shortest longest packet", [](auto& c) { c.max_packet_bytes = 60; }, ""},
      {"shorter longest packet", [](auto& c) { c.max_packet_bytes = 59; },
       "--max-pkt-len=63: accepted: 64 to 9732"},
      {"longer longest packet", [](auto& c) { c.max_packet_bytes = 9729; },
       "--max-pkt-len=9733: accepted: 64 to 9732"},
      {"all RX offloads", [](auto& c) { c.rx_offloads = OffloadBits(kRxOffloads); }, ""},
      {"an RX offload that has no name", [](auto& c) { c.rx_offloads = 0x100; },
       absl::StrCat("--rx-offloads=0x100: accepted: bits of ",
                    FormatOffloads(kRxOffloads, OffloadBits(kRxOffloads)))},
      {"a TX offload that has no name", [](auto& c) { c.tx_offloads = uint64_t{1} << 63; },
       absl::StrCat("--tx-offloads=0x8000000000000000: accepted: bits of ",
                    FormatOffloads(kTxOffloads, OffloadBits(kTxOffloads)))},
      {"no flow", [](auto& c) { c.flowgen_flows = 0; },
       "--flowgen-flows=0: accepted: 1 to 1073741824"},
      {"rxq of all", [](auto& c) { c.rxq.all = 1024; }, ""},
      {"rxq of all 0", [](auto& c) { c.rxq.all = 0; }, "--rxq=0: accepted: 1 to 1024"},
      {"txq of all", [](auto& c) { c.txq.all = 1025; }, "--txq=1025: accepted: 1 to 1024"},
      {"rxq of a port",
       [](auto& c) {
         c.rxq.of_port = {{0, 1}, {31, 0}};
       },
       "--rxq=31:0: accepted: 1 to 1024"},
      {"txq of the last port", [](auto& c) { c.txq.of_port[31] = 1; }, ""},
      {"txq of no port", [](auto& c) { c.txq.of_port[32] = 1; },
       "--txq=port 32: accepted: ports 0 to 31"},
      {"rxd", [](auto& c) { c.rxd.all = 32768; }, ""},
      {"rxd 0", [](auto& c) { c.rxd.all = 0; }, "--rxd=0: accepted: 1 to 32768"},
      {"txd of a port", [](auto& c) { c.txd.of_port[2] = 32769; },
       "--txd=2:32769: accepted: 1 to 32768"},
      {"a tuned budget", [](auto& c) { c.tx_budget.all = kTxBudgetAuto; }, ""},
      {"a budget",
       [](auto& c) {
         c.tx_budget.of_port = {{0, 32}, {31, kTxBudgetAuto}};
       },
       ""},
      {"a smaller budget", [](auto& c) { c.tx_budget.all = 31; },
       "--tx-budget=31: accepted: 32 to 32768"},
      {"a larger budget", [](auto& c) { c.tx_budget.of_port[1] = 32769; },
       "--tx-budget=1:32769: accepted: 32 to 32768"},
      {"a tuned budget of no port", [](auto& c) { c.tx_budget.of_port[32] = kTxBudgetAuto; },
       "--tx-budget=port 32: accepted: ports 0 to 31"},
      {"no mbuf cache", [](auto& c) { c.mbcache = 0; }, ""},
      {"most mbuf cache", [](auto& c) { c.mbcache = 512; }, ""},
      {"more mbuf cache", [](auto& c) { c.mbcache = 513; }, "--mbcache=513: accepted: 0 to 512"},
      {"smallest mbuf that holds the packet", [](auto& c) { c.mbuf_size = 256; }, ""},
      {"smaller mbuf", [](auto& c) { c.mbuf_size = 255; },
       "--mbuf-size=255: accepted: 256 to 65535"},
      {"mbufs computed", [](auto& c) { c.total_num_mbufs = 0; }, ""},
      {"fewest mbufs", [](auto& c) { c.total_num_mbufs = 1024; }, ""},
      {"fewer mbufs", [](auto& c) { c.total_num_mbufs = 1023; },
       "--total-num-mbufs=1023: accepted: 1024 to 268435456"},
      {"most mbufs", [](auto& c) { c.total_num_mbufs = 268435456; }, ""},
      {"more mbufs", [](auto& c) { c.total_num_mbufs = 268435457; },
       "--total-num-mbufs=268435457: accepted: 1024 to 268435456"},
      {"shortest packet", [](auto& c) { c.txpkts = {42}; }, ""},
      {"shorter packet", [](auto& c) { c.txpkts = {41}; }, "--txpkts=41: accepted: 42 to 9728"},
      {"short segments, together long enough",
       [](auto& c) {
         c.txpkts = {1, 1, 40};
       },
       ""},
      {"short segments, together too short",
       [](auto& c) {
         c.txpkts = {1, 40};
       },
       "--txpkts=41: accepted: 42 to 9728"},
      {"longest packet",
       [](auto& c) {
         c.mbuf_size = 16384;
         c.txpkts = {9728};
       },
       ""},
      {"longer packet",
       [](auto& c) {
         c.txpkts = {2000, 2000, 2000, 2000, 1729};
       },
       "--txpkts=9729: accepted: 42 to 9728"},
      {"a segment that fills its mbuf", [](auto& c) { c.txpkts = {2048}; }, ""},
      {"a segment that does not fit its mbuf",
       [](auto& c) {
         c.txpkts = {64, 2049};
       },
       "--txpkts=2049: accepted: 1 to 2048"},
      {"that fits once mbufs are larger",
       [](auto& c) {
         c.txpkts = {64, 2049};
         c.mbuf_size = 2177;
       },
       ""},
      {"an empty segment",
       [](auto& c) {
         c.txpkts = {64, 0};
       },
       "--txpkts=0: accepted: 1 to 2048"},
      {"eight segments", [](auto& c) { c.txpkts.assign(8, 64); }, ""},
      {"nine segments", [](auto& c) { c.txpkts.assign(9, 64); },
       "--txpkts=9 segments: accepted: 1 to 8 segments"},
      {"no segment", [](auto& c) { c.txpkts.clear(); },
       "--txpkts=0 segments: accepted: 1 to 8 segments"},
      {"a UDP port of 0",
       [](auto& c) {
         c.tx_udp = {9, 0};
       },
       "--tx-udp=0: accepted: 1 to 65535"},
      {"a peer of the last port", [](auto& c) { c.eth_peer[31] = {}; }, ""},
      {"a peer of no port", [](auto& c) { c.eth_peer[32] = {}; },
       "--eth-peer=port 32: accepted: ports 0 to 31"},
      {"a year", [](auto& c) { c.duration_s = c.stats_period_s = 31536000; }, ""},
      {"more than a year", [](auto& c) { c.duration_s = 4e7; },
       "--duration=4e+07: accepted: 0 to 31536000 seconds"},
      {"time that runs backwards", [](auto& c) { c.stats_period_s = -0.5; },
       "--stats-period=-0.5: accepted: 0 to 31536000 seconds"},
      {"a duration that is no number",
       [](auto& c) { c.duration_s = std::numeric_limits<double>::quiet_NaN(); },
       "--duration=nan: accepted: 0 to 31536000 seconds"},
      {"least memory", [](auto& c) { c.memory_bytes = uint64_t{64} << 20; }, ""},
      {"less memory", [](auto& c) { c.memory_bytes = (uint64_t{64} << 20) - 1; },
       "--memory=67108863: accepted: 64M to 1T"},
      {"most memory", [](auto& c) { c.memory_bytes = uint64_t{1} << 40; }, ""},
      {"more memory", [](auto& c) { c.memory_bytes = (uint64_t{1} << 40) + 1; },
       "--memory=1099511627777: accepted: 64M to 1T"},
      {"no run directory", [](auto& c) { c.run_directory.clear(); },
       "--run-dir=: accepted: a folder"},
      {"no mode", [](auto& c) { c.forward_mode.clear(); }, "--forward-mode=: accepted: a mode"},
      // Which modes there are is for the table of modes.
      {"a mode of that name", [](auto& c) { c.forward_mode = "no_such_mode"; }, ""},
  };
  return rows;
}

TEST(ValidateTest, EveryRange) {
  for (const ValidateRow& row : ValidateRows()) {
    const absl::Status status = Validate(With(row.change));
    EXPECT_EQ(status.ok(), row.message.empty()) << row.name << ": " << status;
    if (row.message.empty()) continue;
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << row.name;
    EXPECT_EQ(std::string(status.message()), row.message) << row.name;
  }
}

// ---- Difference ----

struct FieldRow {
  std::string option;
  ChangeKind kind;
  Change_ change;
};

// One row per field. The binding names every field of the structure, so that a new one does not
// compile here until it has its row: take it on in both.
std::vector<FieldRow> FieldRows() {
  [[maybe_unused]] const auto& [forwarding, interactive, cmdline_file, auto_start, tx_first,
                                duration_s, stats_period_s, report_path, memory_bytes,
                                run_directory, log_level, forward_mode, port_topology, portlist,
                                corelist, nb_cores, stopped_ports, rxq, txq, rxd, txd, burst,
                                tx_retries, completion, completion_threshold, completion_age_ns,
                                completion_lcore, tx_budget, rss, max_packet_bytes, rx_offloads,
                                tx_offloads, total_num_mbufs, mbuf_size, mbcache, mempool, txpkts,
                                tx_ip, tx_udp, eth_peer, txonly_multi_flow, flowgen_flows] =
      Configuration();
  constexpr auto kSettings = ChangeKind::kSettings;
  constexpr auto kPipeline = ChangeKind::kPipeline;
  constexpr auto kPorts = ChangeKind::kPorts;
  constexpr auto kProcess = ChangeKind::kProcess;
  return {
      {"start/stop", kPipeline, [](auto& c) { c.forwarding = false; }},
      {"interactive", kProcess, [](auto& c) { c.interactive = true; }},
      {"cmdline-file", kProcess, [](auto& c) { c.cmdline_file = "commands"; }},
      {"auto-start", kProcess, [](auto& c) { c.auto_start = true; }},
      {"tx-first", kSettings, [](auto& c) { c.tx_first = 1; }},
      {"duration", kSettings, [](auto& c) { c.duration_s = 1; }},
      {"stats-period", kSettings, [](auto& c) { c.stats_period_s = 0.5; }},
      {"report", kSettings, [](auto& c) { c.report_path = "r.json"; }},
      {"memory", kProcess, [](auto& c) { c.memory_bytes = uint64_t{1} << 30; }},
      {"run-dir", kProcess, [](auto& c) { c.run_directory = "/elsewhere"; }},
      {"log-level", kSettings, [](auto& c) { c.log_level = Severity::kDebug; }},
      {"forward-mode", kPipeline, [](auto& c) { c.forward_mode = "macswap"; }},
      {"port-topology", kPipeline, [](auto& c) { c.port_topology = PortTopology::kLoop; }},
      {"portlist", kPipeline,
       [](auto& c) {
         c.portlist = {1, 0};
       }},
      {"corelist", kPipeline, [](auto& c) { c.corelist = {2}; }},
      {"nb-cores", kPipeline, [](auto& c) { c.nb_cores = 1; }},
      {"port start/stop", kPorts, [](auto& c) { c.stopped_ports = {1}; }},
      {"rxq", kPorts, [](auto& c) { c.rxq.all = 2; }},
      {"txq", kPorts, [](auto& c) { c.txq.of_port[1] = 2; }},
      {"rxd", kPorts, [](auto& c) { c.rxd.all = 512; }},
      {"txd", kPorts, [](auto& c) { c.txd.all = 512; }},
      {"burst", kPipeline, [](auto& c) { c.burst = 64; }},
      {"tx-retries", kPipeline, [](auto& c) { c.tx_retries = 1; }},
      {"completion", kPorts, [](auto& c) { c.completion = Completion::kInline; }},
      {"completion-threshold", kPipeline, [](auto& c) { c.completion_threshold = 1; }},
      {"completion-age", kPipeline, [](auto& c) { c.completion_age_ns[1] = 2'000'000; }},
      {"completion-lcore", kPorts,
       [](auto& c) {
         c.completion_lcore[{0, 1}] = 2;
       }},
      {"tx-budget", kSettings, [](auto& c) { c.tx_budget.all = kTxBudgetAuto; }},
      {"rss", kPorts, [](auto& c) { c.rss = Rss::kUdp; }},
      {"max-pkt-len", kPorts, [](auto& c) { c.max_packet_bytes = 1518; }},
      {"rx-offloads", kPorts, [](auto& c) { c.rx_offloads = 1; }},
      {"tx-offloads", kPorts, [](auto& c) { c.tx_offloads = 1; }},
      {"total-num-mbufs", kProcess, [](auto& c) { c.total_num_mbufs = 4096; }},
      {"mbuf-size", kProcess, [](auto& c) { c.mbuf_size = 4096; }},
      {"mbcache", kProcess, [](auto& c) { c.mbcache = 0; }},
      {"mempool", kProcess, [](auto& c) { c.mempool = MempoolOps::kRing; }},
      {"txpkts", kPipeline,
       [](auto& c) {
         c.txpkts = {64, 64};
       }},
      {"tx-ip", kPipeline, [](auto& c) { c.tx_ip[1] = Ipv4Address(1); }},
      {"tx-udp", kPipeline, [](auto& c) { c.tx_udp[0] = 10; }},
      {"eth-peer", kPipeline, [](auto& c) { c.eth_peer[0] = MacAddress{}; }},
      {"txonly-multi-flow", kPipeline, [](auto& c) { c.txonly_multi_flow = true; }},
      {"flowgen-flows", kPipeline, [](auto& c) { c.flowgen_flows = 1; }},
  };
}

TEST(DifferenceTest, WhatAChangeOfAnOptionNeeds) {
  EXPECT_EQ(ChangeOf("duration"), ChangeKind::kSettings);
  EXPECT_EQ(ChangeOf("burst"), ChangeKind::kPipeline);
  EXPECT_EQ(ChangeOf("rxq"), ChangeKind::kPorts);
  EXPECT_EQ(ChangeOf("memory"), ChangeKind::kProcess);
  for (const char* none : {"", "Burst", "portmask", "--burst"}) {
    EXPECT_EQ(ChangeOf(none), ChangeKind::kNone) << none;
  }
}

TEST(DifferenceTest, NothingBetweenEquals) {
  const Change change = Difference(Configuration(), Configuration());
  EXPECT_EQ(change.kind, ChangeKind::kNone);
  EXPECT_THAT(change.options, IsEmpty());
}

TEST(DifferenceTest, EveryFieldIsSeenInBothDirections) {
  std::set<std::string> options;
  for (const FieldRow& row : FieldRows()) {
    SCOPED_TRACE(row.option);
    EXPECT_TRUE(options.insert(row.option).second);
    const Configuration changed = With(row.change);
    ASSERT_FALSE(changed == Configuration()) << "the row changes nothing";
    for (const Change& change :
         {Difference(Configuration(), changed), Difference(changed, Configuration())}) {
      EXPECT_EQ(change.kind, row.kind);
      EXPECT_THAT(change.options, ElementsAre(row.option));
    }
  }
}

TEST(DifferenceTest, SeveralChangesNeedTheGreatestOfTheirKinds) {
  const std::vector<FieldRow> rows = FieldRows();
  for (const FieldRow& a : rows) {
    for (const FieldRow& b : rows) {
      if (a.option == b.option) continue;
      Configuration changed = With(a.change);
      b.change(changed);
      const Change change = Difference(Configuration(), changed);
      EXPECT_EQ(change.kind, std::max(a.kind, b.kind)) << a.option << ", " << b.option;
      EXPECT_THAT(change.options, testing::UnorderedElementsAre(a.option, b.option));
    }
  }
}

TEST(DifferenceTest, TheKindsGrow) {
  EXPECT_LT(ChangeKind::kNone, ChangeKind::kSettings);
  EXPECT_LT(ChangeKind::kSettings, ChangeKind::kPipeline);
  EXPECT_LT(ChangeKind::kPipeline, ChangeKind::kPorts);
  EXPECT_LT(ChangeKind::kPorts, ChangeKind::kProcess);
}

}  // namespace
}  // namespace penstock
