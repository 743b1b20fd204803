// SPDX-License-Identifier: BSD-3-Clause
#include "lib/port/preflight.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <mntent.h>
#include <net/if.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "lib/base/quote.h"
#include "lib/base/status.h"
#include "lib/port/eal.h"
#include "lib/port/eal_arguments.h"
#include "lib/port/run_directory.h"
#include "lib/text/quantity.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMebibyte = uint64_t{1} << 20;

// Of "-m 512", and of "--socket-mem=256,256" the sum; 0 if it is no number.
uint64_t MebibytesOf(const std::string& value) {
  uint64_t sum = 0;
  for (absl::string_view each : absl::StrSplit(value, ',')) {
    uint64_t mib = 0;
    if (absl::SimpleAtoi(each, &mib)) sum += mib;
  }
  return sum;
}

std::string MoreHugepages(uint64_t bytes) {
  return absl::StrCat("'sysctl vm.nr_hugepages=", (bytes + 2 * kMebibyte - 1) / (2 * kMebibyte),
                      "' reserves them (2M each)");
}

absl::Status CheckHugeDirectory(const std::string& typed, const std::string& path) {
  const auto mounts =
      std::unique_ptr<FILE, int (*)(FILE*)>(setmntent("/proc/self/mounts", "r"), endmntent);
  std::error_code error;
  const fs::path wanted = fs::canonical(path, error);
  if (error) {
    return absl::NotFoundError(
        absl::StrCat(typed, ": ", error.message(), "; accepted: the mount point of a hugetlbfs"));
  }
  bool mounted = false;
  while (const mntent* entry = mounts == nullptr ? nullptr : getmntent(mounts.get())) {
    // EAL takes a folder below a mount point as well.
    mounted |=
        absl::string_view(entry->mnt_type) == "hugetlbfs" &&
        absl::StartsWith(absl::StrCat(wanted.native(), "/"), absl::StrCat(entry->mnt_dir, "/"));
  }
  if (!mounted) {
    return absl::FailedPreconditionError(
        absl::StrCat(typed, ": no hugetlbfs is mounted there: 'mount -t hugetlbfs hugetlbfs ", path,
                     "' does that"));
  }
  if (access(path.c_str(), W_OK | X_OK) == 0) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat(typed,
                   ": this user may not write there; run as root, or mount it with "
                   "-o uid=USER"));
}

}  // namespace

Machine ReadMachine(absl::string_view file_prefix) {
  Machine machine;
  struct sysinfo info {};
  if (sysinfo(&info) == 0) machine.memory_bytes = uint64_t{info.totalram} * info.mem_unit;
  const Hugepages hugepages = FindHugepages();
  machine.hugepages_free_bytes = hugepages.reserved_free_bytes;
  machine.hugetlbfs = hugepages.mounted;
  machine.eal_directory = EalRuntimeDirectory(file_prefix);
  // The nearest that is there: EAL makes the others.
  fs::path there = machine.eal_directory;
  std::error_code error;
  while (there.has_relative_path() && !fs::exists(there, error)) there = there.parent_path();
  struct statvfs space {};
  if (statvfs(there.c_str(), &space) == 0) {
    machine.eal_directory_free_bytes = uint64_t{space.f_bavail} * space.f_frsize;
  }
  return machine;
}

uint64_t EalFilesBytes(uint64_t memory_bytes, bool hugepages) {
  constexpr uint64_t kAlways = 4 * kMebibyte;  // Lists of memzones and hugepages, sockets.
  constexpr uint64_t kPage = 4096;
  constexpr uint64_t kRecord = 48;  // sizeof(rte_memseg)
  return kAlways + (hugepages ? 0 : memory_bytes / kPage * kRecord);
}

absl::Status CheckMemory(std::span<const std::string> arguments, uint64_t memory_bytes,
                         const Machine& machine) {
  const bool in_memory = HasEalArgument(arguments, "--in-memory");
  const bool by_socket = HasEalArgument(arguments, "--socket-mem");
  const absl::string_view option = by_socket ? "--socket-mem" : "-m";
  const uint64_t wanted = MebibytesOf(EalArgumentValue(arguments, option)) * kMebibyte;
  const bool no_huge = HasEalArgument(arguments, "--no-huge");
  // -m was added for --memory.
  std::string typed = memory_bytes != 0 && memory_bytes / kMebibyte * kMebibyte == wanted
                          ? absl::StrCat("--memory=", FormatSize(memory_bytes))
                          : TypedEalArgument(arguments, option);
  if (wanted > machine.memory_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(typed, ": this machine has ",
                                                     FormatSize(machine.memory_bytes),
                                                     " in all; accepted: what fits into it"));
  }
  const uint64_t files = EalFilesBytes(wanted, !no_huge);
  if (!in_memory && !HasEalArgument(arguments, "--no-shconf") &&
      machine.eal_directory_free_bytes < files) {
    return absl::ResourceExhaustedError(
        absl::StrCat(machine.eal_directory, ": ", FormatSize(machine.eal_directory_free_bytes),
                     " free there, and EAL's files take ", FormatSize(files),
                     no_huge ? " for this much memory; give less with --memory" : "; make room",
                     ", or set RUNTIME_DIRECTORY to a folder with more"));
  }
  if (no_huge) return absl::OkStatus();
  const std::string directory = EalArgumentValue(arguments, "--huge-dir");
  if (!directory.empty()) {
    PENSTOCK_RETURN_IF_ERROR(
        CheckHugeDirectory(TypedEalArgument(arguments, "--huge-dir"), directory));
  }
  if (typed.empty()) {
    typed = in_memory            ? std::string("--in-memory")
            : !directory.empty() ? TypedEalArgument(arguments, "--huge-dir")
                                 : std::string("hugepages");
  }
  constexpr absl::string_view kWithout = "; --no-huge runs without";
  // EAL starts on what it needs for itself, and mempools find nothing.
  const uint64_t least = std::max(wanted, 2 * kMebibyte);
  if (machine.hugepages_free_bytes < least) {
    return absl::ResourceExhaustedError(
        absl::StrCat(typed, ": ", FormatSize(machine.hugepages_free_bytes),
                     " of hugepages are free, ", FormatSize(least),
                     " wanted: ", MoreHugepages(std::max(least, kMebibyte * 1024)), kWithout));
  }
  if (in_memory || machine.hugetlbfs) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(typed,
                   ": no hugetlbfs is mounted that this user may write to: 'mount -t "
                   "hugetlbfs hugetlbfs /dev/hugepages' gives out the hugepages; "
                   "--in-memory takes them without files",
                   kWithout));
}

// ---- devices ----

namespace {

enum class Names { kInterface, kNewInterface, kFile, kNewFile, kSocket };

// Keys of virtual devices whose value names something outside DPDK.
struct DeviceKey {
  absl::string_view driver;
  absl::string_view key;
  Names names;
};
constexpr DeviceKey kDeviceKeys[] = {
    {"net_af_xdp", "iface", Names::kInterface},
    {"net_af_xdp", "xdp_prog", Names::kFile},
    {"net_af_packet", "iface", Names::kInterface},
    {"net_tap", "iface", Names::kNewInterface},
    {"net_tap", "remote", Names::kInterface},
    {"net_tun", "iface", Names::kNewInterface},
    {"net_pcap", "iface", Names::kInterface},
    {"net_pcap", "rx_iface", Names::kInterface},
    {"net_pcap", "rx_iface_in", Names::kInterface},
    {"net_pcap", "tx_iface", Names::kInterface},
    {"net_pcap", "rx_pcap", Names::kFile},
    {"net_pcap", "tx_pcap", Names::kNewFile},
    {"net_vhost", "iface", Names::kNewFile},
    {"net_virtio_user", "path", Names::kSocket},
    {"net_xsk", "iface", Names::kInterface},
    {"net_virtio_user", "iface", Names::kNewInterface},
    {"net_vdev_netvsc", "iface", Names::kInterface},
};

// The keys of this device that the table has, with their values.
std::vector<std::pair<const DeviceKey*, std::string>> NamedBy(const EalDevice& device) {
  std::vector<std::pair<const DeviceKey*, std::string>> result;
  for (const DeviceKey& key : kDeviceKeys) {
    if (key.driver != device.driver) continue;
    for (const auto& [name, value] : device.keys) {
      if (name == key.key) result.emplace_back(&key, value);
    }
  }
  return result;
}

std::string InterfacesThere() {
  struct if_nameindex* const list = if_nameindex();
  if (list == nullptr) return "an interface that 'ip link' lists";
  constexpr size_t kFew = 8;
  std::vector<std::string> names;
  for (const struct if_nameindex* each = list; each->if_index != 0; ++each) {
    names.push_back(Shown(each->if_name));
  }
  if_freenameindex(list);
  if (names.size() > kFew) return "an interface that 'ip link' lists";
  return absl::StrJoin(names, ", ");
}

absl::Status CheckNamed(const EalDevice& device, const DeviceKey& key, const std::string& value) {
  const std::string what = absl::StrCat(device.typed, ": ");
  std::error_code error;
  const bool is_directory = fs::is_directory(value, error);
  const auto unusable = [&](absl::string_view accepted) {
    const int reason = is_directory ? EISDIR : errno;
    return absl::Status(
        ErrnoStatus(reason, "").code(),
        absl::StrCat(what, Shown(value), ": ", std::generic_category().message(reason),
                     "; accepted: ", accepted));
  };
  switch (key.names) {
    case Names::kNewInterface:
    case Names::kInterface:
      if (value.empty() || value.size() >= IF_NAMESIZE) {
        return absl::InvalidArgumentError(
            absl::StrCat(what, "no name of an interface; accepted: 1 to ", IF_NAMESIZE - 1,
                         " letters, such as ", key.key, "=eth1"));
      }
      if (key.names == Names::kNewInterface || if_nametoindex(value.c_str()) != 0) break;
      // libpcap's own: all interfaces.
      if (device.driver == "net_pcap" && value == "any") break;
      return absl::NotFoundError(
          absl::StrCat(what, "no interface ", Shown(value),
                       " in this network namespace; accepted: ", InterfacesThere()));
    case Names::kFile:
      if (!is_directory && access(value.c_str(), R_OK) == 0) break;
      return unusable("a file that can be read");
    case Names::kNewFile: {
      fs::path folder = fs::path(value).parent_path();
      if (folder.empty()) folder = ".";
      if (!is_directory && access(folder.c_str(), W_OK | X_OK) == 0) break;
      return unusable("a file in a folder that is there and writable");
    }
    case Names::kSocket:
      // The server makes one.
      if (access(value.c_str(), F_OK) == 0 ||
          std::ranges::any_of(device.keys,
                              [](const auto& pair) { return pair.first == "server"; })) {
        break;
      }
      return unusable("the socket of the other side, started before, or server=1");
  }
  return absl::OkStatus();
}

// How many queues an interface has that an AF_XDP socket can be bound to.
int QueuesOf(const std::string& interface) {
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return 1;
  const absl::Cleanup close_fd = [fd] { close(fd); };
  ethtool_channels channels{};
  channels.cmd = ETHTOOL_GCHANNELS;
  ifreq request{};
  interface.copy(request.ifr_name, IF_NAMESIZE - 1);
  request.ifr_data = reinterpret_cast<char*>(&channels);
  if (ioctl(fd, SIOCETHTOOL, &request) != 0) return 1;
  return static_cast<int>(std::max({channels.combined_count, channels.rx_count, uint32_t{1}}));
}

absl::Status CheckXdpQueues(const EalDevice& device) {
  int start = 0;
  int count = 1;
  std::string interface;
  for (const auto& [key, value] : device.keys) {
    if (key == "iface") interface = value;
    // A value that is no number is for the driver to refuse.
    if (key == "start_queue" && !absl::SimpleAtoi(value, &start)) return absl::OkStatus();
    if (key == "queue_count" && !absl::SimpleAtoi(value, &count)) return absl::OkStatus();
  }
  if (interface.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(device.typed,
                                                   ": which interface? accepted: ", device.name,
                                                   ",iface=IFACE, one of ", InterfacesThere()));
  }
  if (start < 0 || count < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(device.typed, ": accepted: start_queue from 0 and queue_count from 1"));
  }
  const int there = QueuesOf(interface);
  if (start < there && count <= there - start) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      device.typed, ": interface ", interface, " has ", there, there == 1 ? " queue" : " queues",
      ", and these are ", start, " to ", start + count - 1,
      "; accepted: start_queue + queue_count up to ", there, "; 'ethtool -L ", interface,
      " combined N' makes more where the device has more"));
}

// An interface has other names besides its own, and one that the port is to make has no number yet.
// Empty for a pattern, of which the kernel makes another name for each.
std::string IdentityOf(const std::string& interface) {
  if (absl::StrContains(interface, '%')) return "";
  const unsigned ifindex = if_nametoindex(interface.c_str());
  return ifindex != 0 ? absl::StrCat(ifindex) : absl::StrCat("new ", interface);
}

// Two ports on one interface receive every packet twice, or take it away from each other. One
// device may name an interface more than once, as net_pcap does to receive and to send.
absl::Status CheckOnePortEach(std::span<const EalDevice> devices) {
  std::map<std::string, const EalDevice*> holder_of;
  for (const EalDevice& device : devices) {
    for (const auto& [key, interface] : NamedBy(device)) {
      if (key->names != Names::kInterface && key->names != Names::kNewInterface) continue;
      const std::string identity = IdentityOf(interface);
      if (identity.empty()) continue;
      const EalDevice* const holder = holder_of.emplace(identity, &device).first->second;
      if (holder == &device) continue;
      return absl::FailedPreconditionError(
          absl::StrCat(device.typed, ": interface ", Shown(interface), " is that of ",
                       holder->typed, " already; accepted: one port on each interface"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckPci(const EalDevice& device, const std::string& sysfs_root) {
  const std::optional<std::string> driver = KernelDriverOf(device.name, sysfs_root);
  // "-a auxiliary:…", "-a eth:…" and the like are for EAL.
  const bool looks_like_one =
      device.name.find_first_not_of("0123456789abcdefABCDEF:.") == std::string::npos &&
      absl::StrContains(device.name, '.');
  if (!looks_like_one) return absl::OkStatus();
  if (!driver.has_value()) {
    return absl::NotFoundError(
        absl::StrCat(device.typed, ": no such PCI device; 'lspci -D' lists those that are there"));
  }
  // Those of NVIDIA work beside their kernel driver; a device without any is the driver's affair.
  constexpr absl::string_view kShared[] = {"mlx4_core", "mlx5_core"};
  if (driver->empty() || absl::StrContains(*driver, "vfio") || absl::StrContains(*driver, "uio") ||
      std::ranges::find(kShared, *driver) != std::end(kShared)) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      device.typed, ": bound to the kernel's driver ", *driver,
      ", which has it for itself; "
      "'dpdk-devbind.py --bind=vfio-pci ",
      device.name,
      "' takes it away from there (and its interface with it), or leave it and give the interface "
      "to --vdev=net_af_xdp0,iface=IFACE"));
}

}  // namespace

std::optional<std::string> KernelDriverOf(absl::string_view pci_address,
                                          const std::string& sysfs_root) {
  const bool has_domain = std::ranges::count(pci_address, ':') == 2;
  const fs::path device = fs::path(sysfs_root) / "bus/pci/devices" /
                          absl::StrCat(has_domain ? "" : "0000:", pci_address);
  std::error_code error;
  if (!fs::exists(device, error)) return std::nullopt;
  const fs::path driver = fs::read_symlink(device / "driver", error);
  return error ? std::string() : driver.filename().native();
}

absl::Status CheckDevices(std::span<const std::string> arguments, const std::string& sysfs_root) {
  const std::vector<EalDevice> devices = EalDevices(arguments);
  for (const EalDevice& device : devices) {
    if (!device.is_virtual) {
      PENSTOCK_RETURN_IF_ERROR(CheckPci(device, sysfs_root));
      continue;
    }
    for (const auto& [key, value] : NamedBy(device)) {
      PENSTOCK_RETURN_IF_ERROR(CheckNamed(device, *key, value));
    }
    if (device.driver == "net_af_xdp") PENSTOCK_RETURN_IF_ERROR(CheckXdpQueues(device));
  }
  return CheckOnePortEach(devices);
}

}  // namespace penstock
