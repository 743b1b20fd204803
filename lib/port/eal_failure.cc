// SPDX-License-Identifier: BSD-3-Clause
#include "lib/port/eal_failure.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/substitute.h"
#include "lib/base/status.h"
#include "lib/port/eal_arguments.h"
#include "lib/port/failure_table.h"

namespace penstock {
namespace {

struct Row {
  absl::string_view said;     // A pattern of MatchSaid.
  absl::string_view options;  // It is about one of these; the row holds only if it was given.
  absl::StatusCode code;
  absl::string_view says;  // $0 what '*' stood for, $1 what EAL said first.
  bool named = false;      // $0 is the option's value, so that it is known which of several.
};

constexpr absl::StatusCode kWrong = absl::StatusCode::kInvalidArgument;
constexpr absl::StatusCode kAbsent = absl::StatusCode::kNotFound;
constexpr absl::StatusCode kDenied = absl::StatusCode::kPermissionDenied;
constexpr absl::StatusCode kShort = absl::StatusCode::kResourceExhausted;
constexpr absl::StatusCode kCannot = absl::StatusCode::kFailedPrecondition;

constexpr absl::string_view kLcores = "-l --lcores -c";
constexpr absl::string_view kPci = "-a --allow -b --block";

// The first row that matches any line holds: what says more stands above what says less.
constexpr Row kRows[] = {
    // ---- lcores ----
    {"specified cores are part of *", kLcores, kCannot,
     "no such processor, or not one that this process may use; accepted: of $0, such as -l 0,1; "
     "--lcores=0@0,1@0 puts two lcores on one"},
    {"core * unavailable", "--lcores", kCannot,
     "processor $0 is not there, or not one that this process may use ('taskset -cp $$$$' lists "
     "them); accepted: LCORE@PROCESSOR,…, such as --lcores=0@0,1@0"},
    {"cores provided. Cannot exceed RTE_MAX_LCORE (*)", kLcores, kWrong,
     "more lcores than the $0 that DPDK was built for; --lcores=0@PROCESSOR,… gives small numbers "
     "to processors with large ones"},
    {"-l is ignored, because (*) is set", "-l", kWrong,
     "lcores chosen twice, by $0 as well; accepted: one of -l, --lcores and -c"},
    {"-c is ignored, because (*) is set", "-c", kWrong,
     "lcores chosen twice, by $0 as well; accepted: one of -l, --lcores and -c"},
    {"--lcores is ignored, because (*) is set", "--lcores", kWrong,
     "lcores chosen twice, by $0 as well; accepted: one of -l, --lcores and -c"},
    {"core list syntax", "-l", kWrong, "no list of lcores; accepted: such as -l 0,1 or -l 0-3"},
    {"coremask", "-c", kWrong, "no mask of lcores; accepted: hexadecimal, such as -c 0x3"},
    {"parameter for --lcores", "--lcores", kWrong,
     "no list of lcores; accepted: such as --lcores=0,1 or --lcores=0@0,1@0 (LCORE@PROCESSOR)"},
    {"Main lcore is not enabled", "--main-lcore", kWrong,
     "not among the lcores chosen; accepted: one of those that -l or --lcores gives"},
    {"parameter for --main-lcore", "--main-lcore", kWrong, "accepted: the number of an lcore"},
    {"is main lcore, cannot use as service core", "-s -S", kWrong,
     "the first lcore runs commands; accepted: others"},
    // ---- devices ----
    {"(-a) and block (-b) can't be used", kPci, kWrong,
     "devices chosen by -a and by -b; accepted: one of the two"},
    {"Unable to parse device '*'", "--vdev", kAbsent,
     "no driver that is installed makes a device of this name; accepted: DRIVER and a number, such "
     "as net_af_xdp0, net_af_packet0, net_tap0, net_memif0, net_pcap0, net_null0; -d FILE.so loads "
     "a driver from elsewhere",
     /*named=*/true},
    {"Unable to parse device '*'", kPci, kWrong,
     "no PCI address; accepted: such as -a 0000:03:00.0 (lspci -D lists them)",
     /*named=*/true},
    // ---- drivers as files ----
    {"directory path * is world-writable", "-d", kCannot,
     "everybody may write into $0, and so choose what runs here; accepted: a driver below folders "
     "that only their owner may write to (chmod o-w $0)"},
    {"Cannot init plugins", "-d", kCannot,
     "it cannot be loaded: $1; accepted: the file of a driver for this DPDK, such as "
     "librte_net_ring.so, or a folder of them"},
    // ---- values ----
    {"parameters for --iova-mode", "--iova-mode", kWrong, "accepted: pa or va"},
    {"parameter for --base-virtaddr", "--base-virtaddr", kWrong,
     "accepted: an address, such as 0x100000000"},
    {"invalid --huge-unlink option", "--huge-unlink", kWrong,
     "accepted: existing, always or never"},
    {"parameters for --syslog", "--syslog", kWrong,
     "accepted: a facility, such as daemon or local0"},
    {"parameters for --vfio-intr", "--vfio-intr", kWrong, "accepted: legacy, msi or msix"},
    {"parameters for --vfio-vf-token", "--vfio-vf-token", kWrong,
     "accepted: a UUID, as uuidgen makes one"},
    {"parameter for --force-max-simd-bitwidth", "--force-max-simd-bitwidth", kWrong,
     "accepted: 0 (no limit), 64, 128, 256 or 512"},
    {"parameters for --socket-mem", "--socket-mem --numa-mem", kWrong,
     "accepted: MB for each NUMA node, such as 1024,1024"},
    {"parameters for --socket-limit", "--socket-limit", kWrong,
     "accepted: MB for each NUMA node, such as 1024,1024"},
    {"parameter for --huge-worker-stack", "--huge-worker-stack", kWrong,
     "accepted: the size in KB, such as 4096"},
    {"parameters for --trace-bufsz", "--trace-bufsz", kWrong, "accepted: a size, such as 1M"},
    {"parameters for --trace-mode", "--trace-mode", kWrong, "accepted: overwrite or discard"},
    {"parameters for --trace-dir", "--trace-dir", kWrong, "accepted: a folder"},
    {"parameters for --trace", "--trace", kWrong,
     "accepted: a pattern of trace points, such as .*"},
    {"invalid channel number", "-n", kWrong, "accepted: memory channels, such as -n 4"},
    {"invalid rank number", "-r", kWrong, "accepted: memory ranks, such as -r 2"},
    {"Invalid process type", "--proc-type", kWrong, "accepted: primary, which it is anyway"},
    {"Options -m and --socket-mem cannot", "-m", kWrong,
     "memory given by -m and by --socket-mem; accepted: one of the two"},
    {"cannot be specified together with --no-huge",
     "--socket-mem --huge-unlink --huge-worker-stack", kWrong,
     "it is about hugepages, and --no-huge wants none; accepted: one of the two"},
    {"Option --* is not compatible with --", "", kWrong, "--$0: $1; accepted: one of the two"},
    // ---- memory ----
    {"Cannot use IOVA as 'PA'", "--iova-mode", kDenied,
     "physical addresses are not shown to this process; run it with CAP_SYS_ADMIN, or give "
     "--iova-mode=va"},
    {"Not enough memory available! Requested: *MB, available: ", "--socket-mem -m", kShort,
     "$0 MB of hugepages wanted, and not as many are free; more: sysctl vm.nr_hugepages=N; less: "
     "give fewer; none: leave the option away"},
    {"Not enough memory available on socket *! ", "--socket-mem -m", kShort,
     "not as many hugepages are free on NUMA node $0; more: echo N > "
     "/sys/devices/system/node/node$0/hugepages/hugepages-2048kB/nr_hugepages"},
    {"Cannot get hugepage information", "", kCannot,
     "no hugepages that this process can use; 'sysctl vm.nr_hugepages=512' reserves 1G of them, "
     "'mount -t hugetlbfs hugetlbfs /dev/hugepages' gives them out; or run without: --no-huge"},
    {"Cannot allocate memseg list: *", "-m", kShort,
     "more memory than there are addresses for; accepted: MB, such as -m 1024"},
    {"anonymous hugepages not supported", "--in-memory", kCannot,
     "this kernel gives out no hugepages without files; leave --in-memory away"},
    // ---- what EAL keeps in files ----
    {"Cannot create lock on '*'. Is another primary process running", "", kCannot,
     "$0 is of a DPDK application that is running: it has the same file prefix; choose another "
     "with "
     "--file-prefix=NAME"},
    {"Cannot resize '*'", "", kShort, "$0 cannot be made larger: no space is left there"},
    {"Cannot truncate *", "", kShort, "$0 cannot be made larger: no space is left there"},
    {"Cannot open '*' for rte_mem_config", "", kDenied,
     "$0 cannot be written; run as root, or set RUNTIME_DIRECTORY to a folder of one's own"},
    {"Cannot create runtime directory", "", kDenied,
     "EAL's folder below /var/run/dpdk (or $$RUNTIME_DIRECTORY, $$XDG_RUNTIME_DIR, /tmp) cannot be "
     "made; run as root, or set RUNTIME_DIRECTORY to a folder of one's own"},
    {"failed to bind *", "", kCannot, "EAL's socket cannot be made: $0"},
    {"Cannot init VFIO", "", kDenied,
     "VFIO cannot be used; as root, 'modprobe vfio-pci'; as another user, /dev/vfio/vfio and the "
     "group in there must be its own, and 'ulimit -l' large"},
    {"unsupported cpu type", "", kCannot, "this processor lacks what DPDK was built for: $1"},
};

// What stands in front: the argument that the row is about. None if it was not given.
std::optional<std::string> Argument(const Row& row, std::span<const std::string> arguments,
                                    absl::string_view captured) {
  if (row.options.empty()) return "EAL did not start";
  for (absl::string_view option : absl::StrSplit(row.options, ' ')) {
    if (!HasEalArgument(arguments, option)) continue;
    const std::string typed = TypedEalArgument(arguments, option, row.named ? captured : "");
    if (!typed.empty()) return typed;
  }
  return std::nullopt;
}

}  // namespace

absl::Status ExplainEalFailure(int error, std::span<const std::string> said,
                               std::span<const std::string> arguments) {
  const std::string first = said.empty() ? "" : WithoutOrigin(said[0]);
  for (const Row& row : kRows) {
    for (const std::string& line : said) {
      const std::optional<std::string> captured = MatchSaid(line, row.said);
      if (!captured.has_value()) continue;
      const std::optional<std::string> argument = Argument(row, arguments, *captured);
      if (!argument.has_value()) continue;
      return absl::Status(
          row.code, absl::StrCat(*argument, ": ", absl::Substitute(row.says, *captured, first)));
    }
  }
  const absl::Status status =
      ErrnoStatus(error, absl::StrCat("rte_eal_init(", absl::StrJoin(arguments, " "), ")"));
  if (said.empty()) return status;
  std::vector<std::string> reasons;
  std::ranges::transform(said, std::back_inserter(reasons), WithoutOrigin);
  // Not InvalidArgument, whatever number EAL left: it says so of much that is the machine's.
  return absl::UnknownError(absl::StrCat(status.message(), ": ", absl::StrJoin(reasons, "; ")));
}

}  // namespace penstock
