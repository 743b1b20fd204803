// SPDX-License-Identifier: BSD-3-Clause
#include "lib/port/port_failure.h"

#include <linux/capability.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/strings/substitute.h"
#include "lib/port/failure_table.h"

namespace penstock {
namespace {

struct Row {
  absl::string_view driver;  // "" for every one.
  absl::string_view said;    // A pattern of MatchSaid.
  absl::string_view says;    // $0 what '*' stood for.
};

// The first row that matches any line holds.
constexpr Row kRows[] = {
    {"net_af_xdp", "Failed to load custom XDP program *",
     "$0 is no XDP program that this kernel loads; accepted: an object file of clang -target bpf "
     "with a program and a map xsks_map"},
    {"net_af_xdp", "Failed to find xsks_map in *",
     "$0 has no map xsks_map, into which the driver puts its sockets"},
    {"net_af_xdp", "Failed to set prog fd",
     "the interface takes no XDP program: another is attached, or its driver cannot; 'ip link' "
     "shows which"},
    {"net_af_xdp", "Underlying driver does not support XDP in native mode",
     "its kernel driver has no XDP; --vdev=net_af_packet0,iface=IFACE works on any interface"},
    {"net_af_xdp", "Device or resource busy",
     "a queue of the interface has an AF_XDP socket already, of another process"},
    {"net_af_xdp", "Shared UMEM feature not available",
     "shared_umem=1 is not in this build of the driver; leave it away"},
    {"net_af_xdp", "Failed configure busy polling",
     "the kernel refuses busy polling; add busy_budget=0"},
    {"net_af_xdp", "bytes will not fit in mbuf",
     "the interface's MTU is larger than an mbuf; give --mbuf-size, or a smaller MTU"},
    {"net_tap", "Remote feature requires flow support",
     "remote= needs a kernel with the multiq and ingress queueing disciplines, which this one "
     "lacks"},
    {"net_tap", "Unable to create TAP interface",
     "the kernel gives no tap interface of that name: it may be taken, or /dev/net/tun be missing "
     "('modprobe tun') or not this user's"},
    {"net_memif", "Failed to connect socket: *",
     "nobody listens at socket $0; start the side with role=server first, and give "
     "socket-abstract=no to both or to neither"},
    {"", "Expecting 'VA' IOVA mode", "it works with virtual addresses only; give --iova-mode=va"},
    {"", "requires VA IOVA mode", "it works with virtual addresses only; give --iova-mode=va"},
    {"", "not managed by VFIO driver",
     "it is not bound to vfio-pci: 'dpdk-devbind.py --bind=vfio-pci ADDRESS'"},
    {"", "Failed to open VFIO group",
     "its VFIO group cannot be opened; run as root, or give "
     "/dev/vfio/GROUP to this user"},
    {"", "VFIO group is not viable",
     "other devices of its IOMMU group are still bound to kernel drivers; bind all of them to "
     "vfio-pci"},
};

// What they cannot do without. CAP_SYS_ADMIN stands for CAP_BPF on kernels before 5.8, and loads
// what libxdp attaches by default.
struct Need {
  absl::string_view driver;
  std::pair<unsigned, absl::string_view> capabilities[5];
};
constexpr Need kNeeds[] = {
    {"net_af_xdp",
     {{CAP_NET_RAW, "CAP_NET_RAW"},
      {CAP_NET_ADMIN, "CAP_NET_ADMIN"},
      {CAP_BPF, "CAP_BPF"},
      {CAP_IPC_LOCK, "CAP_IPC_LOCK"},
      {CAP_SYS_ADMIN, "CAP_SYS_ADMIN (without xdp_prog=)"}}},
    {"net_af_packet", {{CAP_NET_RAW, "CAP_NET_RAW"}, {CAP_NET_ADMIN, "CAP_NET_ADMIN"}}},
    {"net_tap", {{CAP_NET_ADMIN, "CAP_NET_ADMIN"}}},
    {"net_mlx",
     {{CAP_NET_RAW, "CAP_NET_RAW"},
      {CAP_NET_ADMIN, "CAP_NET_ADMIN"},
      {CAP_IPC_LOCK, "CAP_IPC_LOCK"}}},
};

struct Keys {
  absl::string_view driver;
  absl::string_view keys;  // As this DPDK's manual has them.
};
constexpr Keys kKeys[] = {
    {"net_af_xdp", "iface, start_queue, queue_count, shared_umem, xdp_prog, busy_budget"},
    {"net_af_packet", "iface, qpairs, blocksz, framesz, framecnt, qdisc_bypass"},
    {"net_tap", "iface, mac, remote, persist"},
    {"net_memif",
     "id, role, bsize, rsize, socket, socket-abstract, owner-uid, owner-gid, mac, "
     "zero-copy, secret"},
    {"net_pcap", "rx_pcap, tx_pcap, rx_iface, rx_iface_in, tx_iface, iface, phy_mac, infinite_rx"},
    {"net_ring", "nodeaction"},
    {"net_null", "size, copy, no-rx"},
};

// Lines that only say that something failed, after one that said what.
bool SaysNothing(absl::string_view line) {
  constexpr absl::string_view kEchoes[] = {"vdev_probe(): failed to initialize",
                                           "probe failed",
                                           "Failed to init internals",
                                           "Invalid kvargs",
                                           "Failed to create pmd",
                                           "Failed to configure xdp socket",
                                           "Requested device",
                                           "Unable to initialize"};
  return std::ranges::any_of(kEchoes,
                             [&](absl::string_view echo) { return absl::StrContains(line, echo); });
}

std::string MissingCapabilities(absl::string_view driver, uint64_t capabilities) {
  for (const Need& need : kNeeds) {
    if (!absl::StartsWith(driver, need.driver)) continue;
    std::vector<absl::string_view> missing;
    for (const auto& [bit, name] : need.capabilities) {
      const bool stands_in = bit == CAP_BPF && (capabilities >> CAP_SYS_ADMIN & 1) != 0;
      if (name.empty() || stands_in || (capabilities >> bit & 1) != 0) continue;
      missing.push_back(name);
    }
    return absl::StrJoin(missing, ", ");
  }
  return "";
}

}  // namespace

uint64_t EffectiveCapabilities() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    absl::string_view rest = line;
    uint64_t bits = 0;
    if (absl::ConsumePrefix(&rest, "CapEff:\t") && absl::SimpleHexAtoi(rest, &bits)) return bits;
  }
  return ~uint64_t{0};  // Not known: then nothing is said of them.
}

absl::Status ExplainPortFailure(const absl::Status& failed, absl::string_view driver,
                                std::span<const std::string> said, uint64_t capabilities) {
  if (failed.ok()) return failed;
  const auto with = [&](absl::StatusCode code, absl::string_view why) {
    return absl::Status(code, absl::StrCat(failed.message(), ": ", why));
  };
  // Before the table: without them anything may fail.
  const std::string missing = MissingCapabilities(driver, capabilities);
  if (!missing.empty()) {
    return with(absl::StatusCode::kPermissionDenied,
                absl::StrCat("this process lacks ", missing,
                             "; run as root, or give them to it (AmbientCapabilities= in a systemd "
                             "unit, or setcap on the file)"));
  }
  for (const Row& row : kRows) {
    if (!absl::StartsWith(driver, row.driver)) continue;
    for (const std::string& line : said) {
      const std::optional<std::string> captured = MatchSaid(line, row.said);
      if (captured.has_value()) return with(failed.code(), absl::Substitute(row.says, *captured));
    }
  }
  // Else the driver's own words, the first that say anything.
  const auto reason =
      std::ranges::find_if(said, [](absl::string_view line) { return !SaysNothing(line); });
  if (reason != said.end()) return with(failed.code(), WithoutOrigin(*reason));
  for (const Keys& each : kKeys) {
    if (!absl::StartsWith(driver, each.driver)) continue;
    return with(failed.code(),
                absl::StrCat("the driver gives no reason; the keys that it takes: ", each.keys));
  }
  return failed;
}

}  // namespace penstock
