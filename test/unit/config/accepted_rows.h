// SPDX-License-Identifier: BSD-3-Clause
//
// Values that options accept, and what each does, as rows.

#ifndef PENSTOCK_TEST_UNIT_CONFIG_ACCEPTED_ROWS_H_
#define PENSTOCK_TEST_UNIT_CONFIG_ACCEPTED_ROWS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "lib/config/configuration.h"

namespace penstock {

inline MacAddress Mac(absl::string_view text) { return MacAddress::Parse(text).value(); }
inline Ipv4Address Ip(absl::string_view text) { return Ipv4Address::Parse(text).value(); }

struct AcceptedRow {
  std::string name;
  std::string value;
  std::function<void(Configuration&)> expected;  // What it does to the defaults.
};

inline const std::vector<AcceptedRow>& AcceptedRows() {
  static const std::vector<AcceptedRow> rows = {
      {"interactive", "true", [](auto& c) { c.interactive = true; }},
      {"interactive", "false", [](auto&) {}},
      {"auto-start", "true", [](auto& c) { c.auto_start = true; }},
      {"cmdline-file", "commands.txt", [](auto& c) { c.cmdline_file = "commands.txt"; }},
      {"tx-first", "on", [](auto& c) { c.tx_first = 1; }},
      {"tx-first", "false", [](auto&) {}},
      {"portlist", "2,0-1",
       [](auto& c) {
         c.portlist = {2, 0, 1};
       }},
      {"portmask", "0x5",
       [](auto& c) {
         c.portlist = {0, 2};
       }},
      {"portmask", "80000000", [](auto& c) { c.portlist = {31}; }},
      {"corelist", "127", [](auto& c) { c.corelist = {127}; }},
      {"coremask", "0x8000000000000006",
       [](auto& c) {
         c.corelist = {1, 2, 63};
       }},
      {"nb-cores", "128", [](auto& c) { c.nb_cores = 128; }},
      {"rss-ip", "on", [](auto& c) { c.rss = Rss::kIp; }},
      {"rss-ip", "false", [](auto&) {}},
      {"rss-udp", "true", [](auto& c) { c.rss = Rss::kUdp; }},
      {"max-pkt-len", "64", [](auto& c) { c.max_packet_bytes = 60; }},
      {"max-pkt-len", "1518", [](auto& c) { c.max_packet_bytes = 1514; }},
      {"max-pkt-len", "9732", [](auto& c) { c.max_packet_bytes = 9728; }},
      {"rx-offloads", "0x2001", [](auto& c) { c.rx_offloads = 0x2001; }},
      {"rx-offloads", "vlan_strip,scatter", [](auto& c) { c.rx_offloads = 0x2001; }},
      {"rx-offloads", "0", [](auto&) {}},
      {"tx-offloads", "8000", [](auto& c) { c.tx_offloads = 0x8000; }},
      {"tx-offloads", "multi_segs", [](auto& c) { c.tx_offloads = 0x8000; }},
      {"enable-rx-cksum", "true", [](auto& c) { c.rx_offloads = 0xe; }},
      {"enable-scatter", "true", [](auto& c) { c.rx_offloads = 0x2000; }},
      {"enable-lro", "true", [](auto& c) { c.rx_offloads = 0x10; }},
      {"enable-rx-timestamp", "true", [](auto& c) { c.rx_offloads = 0x4000; }},
      {"enable-hw-vlan", "true", [](auto& c) { c.rx_offloads = 0x601; }},
      {"enable-hw-vlan-strip", "true", [](auto& c) { c.rx_offloads = 0x1; }},
      {"enable-hw-vlan-filter", "true", [](auto& c) { c.rx_offloads = 0x200; }},
      {"enable-hw-vlan-extend", "true", [](auto& c) { c.rx_offloads = 0x400; }},
      {"enable-hw-qinq-strip", "true", [](auto& c) { c.rx_offloads = 0x20; }},
      {"enable-scatter", "false", [](auto&) {}},
      {"txonly-multi-flow", "true", [](auto& c) { c.txonly_multi_flow = true; }},
      {"flowgen-flows", "1073741824", [](auto& c) { c.flowgen_flows = 1u << 30; }},
      {"duration", "10", [](auto& c) { c.duration_s = 10; }},
      {"duration", "0.25", [](auto& c) { c.duration_s = 0.25; }},
      {"duration", "0", [](auto&) {}},
      {"duration", "31536000", [](auto& c) { c.duration_s = 31536000; }},
      {"stats-period", "1", [](auto& c) { c.stats_period_s = 1; }},
      {"stats-period", ".5", [](auto& c) { c.stats_period_s = 0.5; }},
      {"report", "out/report.json", [](auto& c) { c.report_path = "out/report.json"; }},
      {"report", "with space.json", [](auto& c) { c.report_path = "with space.json"; }},
      {"report", "bericht-\xc3\xa4.json", [](auto& c) { c.report_path = "bericht-\xc3\xa4.json"; }},
      {"memory", "64M", [](auto& c) { c.memory_bytes = uint64_t{64} << 20; }},
      {"memory", "1.5g", [](auto& c) { c.memory_bytes = uint64_t{1536} << 20; }},
      {"memory", "1T", [](auto& c) { c.memory_bytes = uint64_t{1} << 40; }},
      {"memory", "67108864", [](auto& c) { c.memory_bytes = uint64_t{64} << 20; }},
      {"run-dir", "/tmp/x", [](auto& c) { c.run_directory = "/tmp/x"; }},
      {"log-level", "debug", [](auto& c) { c.log_level = Severity::kDebug; }},
      {"log-level", "info", [](auto& c) { c.log_level = Severity::kInfo; }},
      {"log-level", "warning", [](auto& c) { c.log_level = Severity::kWarning; }},
      {"log-level", "error", [](auto& c) { c.log_level = Severity::kError; }},
      {"forward-mode", "macswap", [](auto& c) { c.forward_mode = "macswap"; }},
      {"port-topology", "paired", [](auto& c) { c.port_topology = PortTopology::kPaired; }},
      {"port-topology", "chained", [](auto& c) { c.port_topology = PortTopology::kChained; }},
      {"port-topology", "loop", [](auto& c) { c.port_topology = PortTopology::kLoop; }},
      {"rxq", "4", [](auto& c) { c.rxq.all = 4; }},
      {"rxq", "1024", [](auto& c) { c.rxq.all = 1024; }},
      {"rxq", "0x10", [](auto& c) { c.rxq.all = 16; }},
      {"rxq", "0:4,1:2",
       [](auto& c) {
         c.rxq.of_port = {{0, 4}, {1, 2}};
       }},
      {"txq", "31:1",
       [](auto& c) {
         c.txq.of_port = {{31, 1}};
       }},
      {"rxd", "32768", [](auto& c) { c.rxd.all = 32768; }},
      {"txd", "0:512",
       [](auto& c) {
         c.txd.of_port = {{0, 512}};
       }},
      {"burst", "1", [](auto& c) { c.burst = 1; }},
      {"burst", "512", [](auto& c) { c.burst = 512; }},
      {"tx-retries", "0", [](auto&) {}},
      {"tx-budget", "auto", [](auto& c) { c.tx_budget.all = kTxBudgetAuto; }},
      {"tx-budget", "32", [](auto& c) { c.tx_budget.all = 32; }},
      {"tx-budget", "0:32768,31:auto",
       [](auto& c) {
         c.tx_budget.of_port = {{0, 32768}, {31, kTxBudgetAuto}};
       }},
      {"tx-retries", "1000000", [](auto& c) { c.tx_retries = 1'000'000; }},
      {"completion", "stage", [](auto& c) { c.completion = Completion::kStage; }},
      {"completion", "inline", [](auto& c) { c.completion = Completion::kInline; }},
      {"completion-threshold", "1", [](auto& c) { c.completion_threshold = 1; }},
      {"completion-threshold", "32768", [](auto& c) { c.completion_threshold = 32768; }},
      {"completion-age", "50us,2ms",
       [](auto& c) {
         c.completion_age_ns = {50'000, 2'000'000};
       }},
      {"completion-age", "1us,10s",
       [](auto& c) {
         c.completion_age_ns = {1'000, 10'000'000'000};
       }},
      {"completion-lcore", "0.0@2,31.1023@127",
       [](auto& c) {
         c.completion_lcore[{0, 0}] = 2;
         c.completion_lcore[{31, 1023}] = 127;
       }},
      {"total-num-mbufs", "1024", [](auto& c) { c.total_num_mbufs = 1024; }},
      {"total-num-mbufs", "268435456", [](auto& c) { c.total_num_mbufs = 268435456; }},
      {"mbuf-size", "256", [](auto& c) { c.mbuf_size = 256; }},
      {"mbuf-size", "65535", [](auto& c) { c.mbuf_size = 65535; }},
      {"mbcache", "0", [](auto& c) { c.mbcache = 0; }},
      {"mbcache", "512", [](auto& c) { c.mbcache = 512; }},
      {"mempool", "deferred", [](auto& c) { c.mempool = MempoolOps::kDeferred; }},
      {"mempool", "ring", [](auto& c) { c.mempool = MempoolOps::kRing; }},
      {"txpkts", "1514", [](auto& c) { c.txpkts = {1514}; }},
      {"txpkts", "1,2,3,4,5,6,7,8", [](auto& c) { c.txpkts = {1, 2, 3, 4, 5, 6, 7, 8}; }},
      {"tx-ip", "192.0.2.1,192.0.2.255",
       [](auto& c) {
         c.tx_ip = {Ip("192.0.2.1"), Ip("192.0.2.255")};
       }},
      {"tx-udp", "1000",
       [](auto& c) {
         c.tx_udp = {1000, 1000};
       }},
      {"tx-udp", "1,65535",
       [](auto& c) {
         c.tx_udp = {1, 65535};
       }},
      {"eth-peer", "3,02:00:00:00:00:Ff",
       [](auto& c) { c.eth_peer[3] = Mac("02:00:00:00:00:ff"); }},
  };
  return rows;
}

}  // namespace penstock

#endif  // PENSTOCK_TEST_UNIT_CONFIG_ACCEPTED_ROWS_H_
