// SPDX-License-Identifier: BSD-3-Clause
//
// Configuration: everything a user can ask of a running dataplane, as plain data.
//
// The command line, a configuration file and the embedding application all fill one Configuration;
// Runtime::Apply takes it, at the first start and for every change after. It holds no pointers and
// no state, copies freely and belongs to whoever made it. Validate() says what is wrong with it on
// its own; what depends on the machine (ports, queues, lcores) is refused by the planner. Options
// by name are in lib/config/options.h.

#ifndef PENSTOCK_LIB_CONFIG_CONFIGURATION_H_
#define PENSTOCK_LIB_CONFIG_CONFIGURATION_H_

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "lib/base/log.h"
#include "lib/net/ip_address.h"
#include "lib/net/mac_address.h"

namespace penstock {

// Which port a packet received on port P leaves by: P^1 (paired), the next one (chained), P (loop).
enum class PortTopology { kPaired, kChained, kLoop };

// By what a port with several RX queues spreads packets over them, as far as it can: kDefault is
// IP addresses and, where there are, UDP or TCP ports.
enum class Rss { kDefault, kIp, kUdp };

// What mempools are made of: mempool_deferred, DPDK's ring_mp_mc, or what is there. The last is
// what EAL's --mbuf-pool-ops-name or the platform's own driver says, and deferred if neither does.
enum class MempoolOps { kWhatIsThere, kDeferred, kRing };

// Who takes back what was sent: kDefault is a stage of the lcore's loop where the port can do that
// outside tx_burst, unless its devargs say inline.
enum class Completion { kDefault, kStage, kInline };

inline constexpr uint16_t kMaxBurst = 512;
inline constexpr uint16_t kLeastTxBudget = 32;  // As the kernel has it.
inline constexpr uint16_t kTxBudgetAuto = 0;    // In Configuration::tx_budget.
inline constexpr uint32_t kMaxTxRetries = 1'000'000;
inline constexpr uint16_t kMaxPorts = 32;    // As DPDK is built.
inline constexpr uint16_t kMaxLcores = 128;  // As DPDK is built; numbered from 0.
inline constexpr uint16_t kMaxQueues = 1024;
inline constexpr uint16_t kMaxDescriptors = 32768;
inline constexpr uint16_t kMaxPacketBytes = 9728;
inline constexpr uint16_t kMinMaxPacketBytes = 60;  // The shortest that --max-pkt-len may be.
inline constexpr uint16_t kFcsBytes = 4;  // Which only --max-pkt-len counts, as testpmd's does.
inline constexpr uint32_t kMaxFlows = 1u << 30;
inline constexpr uint16_t kMinTxPacketBytes = 42;  // Ethernet, IPv4 and UDP headers.
inline constexpr uint16_t kMaxSegments = 8;
inline constexpr uint16_t kHeadroomBytes = 128;  // Before the data of every mbuf, as DPDK has it.
inline constexpr uint16_t kMinMbufBytes = 256;
inline constexpr uint32_t kMinMbufs = 1024;
inline constexpr uint32_t kMaxMbufs = 1u << 28;
inline constexpr uint16_t kMaxMbufCache = 512;  // DPDK's own limit.
inline constexpr uint32_t kMaxSeconds = 365 * 24 * 3600;
inline constexpr uint64_t kMinCompletionAgeNs = 1'000;
inline constexpr uint64_t kMaxCompletionAgeNs = 10'000'000'000;
inline constexpr uint64_t kMinMemoryBytes = uint64_t{64} << 20;
inline constexpr uint64_t kMaxMemoryBytes = uint64_t{1} << 40;

// One value for every port, or one for some: `--rxq=4` or `--rxq=0:4,1:2`.
struct PerPort {
  std::optional<uint16_t> all;
  std::map<uint16_t, uint16_t> of_port;

  // What was asked for `port`, if anything.
  std::optional<uint16_t> For(uint16_t port) const;
  bool operator==(const PerPort&) const = default;
};

struct Configuration {
  // ---- run ----
  bool forwarding = true;  // Are the lcores to move packets?
  bool interactive = false;
  std::string cmdline_file;   // Commands that run before the prompt.
  bool auto_start = false;    // With a prompt: forward at once.
  uint32_t tx_first = 0;      // Bursts given to each TX queue when forwarding begins.
  double duration_s = 0;      // 0: until told to stop.
  double stats_period_s = 0;  // 0: none.
  std::string report_path;
  uint64_t memory_bytes = 0;  // 0: what EAL takes, or kDefaultMemoryBytes without hugepages.
  std::string run_directory = "/run/penstock";
  Severity log_level = Severity::kInfo;

  // ---- mode ----
  std::string forward_mode = "io";
  PortTopology port_topology = PortTopology::kPaired;
  std::vector<uint16_t> portlist;    // Ports that forward, in the topology's order; empty: all.
  std::vector<uint16_t> corelist;    // Lcores that may work, in this order; empty: all.
  uint16_t nb_cores = 0;             // How many of them; 0: all.
  std::set<uint16_t> stopped_ports;  // By `port stop`; none of them may forward.

  // ---- queues ----
  PerPort rxq;  // Default 1.
  PerPort txq;  // Default: one per sending lcore, up to what the port has.
  PerPort rxd;  // Default 1024, within what the port takes.
  PerPort txd;
  uint16_t burst = 32;
  uint32_t tx_retries = 0;
  Completion completion = Completion::kDefault;
  uint16_t completion_threshold = 64;  // Packets in flight that are worth a look.
  // How old the oldest in flight may grow while its queue is sent to, and when it is idle.
  std::array<uint64_t, 2> completion_age_ns = {100'000, 1'000'000};
  // (port, queue) → the lcore that reaps it, where it is not the one that sends.
  std::map<std::pair<uint16_t, uint16_t>, uint16_t> completion_lcore;
  // Descriptors per send call of an AF_XDP port, or kTxBudgetAuto. Nothing: auto as well, where the
  // port has budgets and its devargs do not say otherwise.
  PerPort tx_budget;
  Rss rss = Rss::kDefault;
  uint16_t max_packet_bytes = 0;  // --max-pkt-len, without FCS; 0: what the port has.
  // Asked for beside what the mode needs, as RTE_ETH_RX_OFFLOAD_* and RTE_ETH_TX_OFFLOAD_*; the
  // port must have them.
  uint64_t rx_offloads = 0;
  uint64_t tx_offloads = 0;

  // ---- mempool ----
  uint32_t total_num_mbufs = 0;  // Per mempool; 0: computed from the plan.
  uint16_t mbuf_size = 2176;     // Data room in bytes, headroom included.
  uint16_t mbcache = 250;
  MempoolOps mempool = MempoolOps::kWhatIsThere;

  // ---- what txonly and flowgen make ----
  std::vector<uint16_t> txpkts = {64};  // Segment lengths of one packet, without FCS.
  // Source and destination: 198.18.0.1 and .2, of the range for benchmarks (RFC 2544), discard
  // port.
  std::array<Ipv4Address, 2> tx_ip = {Ipv4Address(0xc6120001), Ipv4Address(0xc6120002)};
  std::array<uint16_t, 2> tx_udp = {9, 9};
  std::map<uint16_t, MacAddress> eth_peer;  // What --eth-peer says; EthPeer() has the default.
  bool txonly_multi_flow = false;           // txonly: the source address changes by packet.
  uint32_t flowgen_flows = 1024;            // flowgen: flows in a cycle.

  // Whom `port` sends to, where a mode needs a destination address: testpmd's defaults are locally
  // administered addresses, one per port, 02:00:00:00:00:PORT.
  MacAddress EthPeer(uint16_t port) const;

  bool operator==(const Configuration&) const = default;
};

inline constexpr uint64_t kDefaultMemoryBytes = uint64_t{1024} << 20;

// Everything that can be known to be wrong without looking at the machine: ranges, and combinations
// that make no sense. The message names the option, the value and what is accepted.
absl::Status Validate(const Configuration& configuration);

// The least that has to happen to go from one configuration to another, in growing order.
enum class ChangeKind {
  kNone,
  kSettings,  // Nothing in the data path.
  kPipeline,  // Lcores pause and are built anew; the ports keep running.
  kPorts,     // Lcores pause; ports stop, are set up anew and start.
  kProcess,   // Fixed when the process started: refused.
};

struct Change {
  ChangeKind kind = ChangeKind::kNone;
  std::vector<std::string> options;  // The names of what differs.
};

// What a change of the named option needs; kNone when no field has that name.
ChangeKind ChangeOf(absl::string_view option);

Change Difference(const Configuration& from, const Configuration& to);

}  // namespace penstock

#endif  // PENSTOCK_LIB_CONFIG_CONFIGURATION_H_
