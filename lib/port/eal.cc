// SPDX-License-Identifier: BSD-3-Clause
#include "lib/port/eal.h"

#include <net/if.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lib/base/log.h"
#include "lib/base/status.h"
#include "lib/config/configuration.h"
#include "lib/port/capture.h"
#include "lib/port/dpdk_log.h"
#include "lib/port/eal_arguments.h"
#include "lib/port/eal_failure.h"
#include "lib/port/port_failure.h"
#include "lib/port/recovery.h"
#include "lib/port/xdp_program.h"
#include "lib/text/quantity.h"

namespace penstock {
namespace {

constexpr uint64_t kMebibyte = uint64_t{1} << 20;
// Below this DPDK finds no room for a mempool of the usual size beside its own structures.
constexpr uint64_t kEnoughHugepages = 256 * kMebibyte;

// The first device that was to be a port and is none: EAL goes on without a device that it could
// not make.
std::optional<EalDevice> MissingPort(std::span<const std::string> arguments,
                                     std::span<const std::string> said) {
  for (const EalDevice& device : EalDevices(arguments)) {
    uint16_t port = 0;
    if (rte_eth_dev_get_port_by_name(device.name.c_str(), &port) == 0) continue;
    // Devices of other kinds, crypto_ for one, are no ports; a PCI device that is none says
    // nothing.
    const bool is_port = device.is_virtual ? absl::StartsWith(device.name, "net_") ||
                                                 absl::StartsWith(device.name, "eth_")
                                           : std::ranges::any_of(said, [&](absl::string_view line) {
                                               return absl::StrContains(line, "Requested device") &&
                                                      absl::StrContains(line, device.name);
                                             });
    if (is_port) return device;
  }
  return std::nullopt;
}

// EAL leaves its directory and hugepages to the next process that has the same prefix. Ours differ
// each time. `directory` is EAL's runtime directory, empty if it did not come so far.
void RemoveEalFiles(const std::filesystem::path& directory, Mapped mapped) {
  // A start may have failed because another application has this prefix: that one's files stay.
  if (directory.empty() || IsEalRunning(directory)) return;
  std::error_code error;
  std::filesystem::remove_all(directory, error);
  std::vector<std::string> lines;
  if (RemoveHugepages(directory.filename(), mapped, lines)) return;
  for (const std::string& line : lines) Log(Severity::kWarning, line);
}

}  // namespace

Hugepages FindHugepages() {
  std::ifstream mounts("/proc/self/mounts");
  Hugepages result;
  for (std::string line; std::getline(mounts, line);) {
    const std::vector<std::string> fields = absl::StrSplit(line, ' ');
    result.mounted |= fields.size() > 2 && fields[2] == "hugetlbfs" &&
                      access(fields[1].c_str(), W_OK | X_OK) == 0;
  }
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/kernel/mm/hugepages", error)) {
    // "hugepages-2048kB"
    std::string name = entry.path().filename();
    absl::string_view size = name;
    uint64_t kib = 0;
    uint64_t pages = 0;
    if (!absl::ConsumePrefix(&size, "hugepages-") || !absl::ConsumeSuffix(&size, "kB") ||
        !absl::SimpleAtoi(size, &kib)) {
      continue;
    }
    std::ifstream(entry.path() / "free_hugepages") >> pages;
    result.reserved_free_bytes += pages * kib * 1024;
  }
  if (result.mounted) result.free_bytes = result.reserved_free_bytes;
  return result;
}

EalArguments CompleteEalArguments(std::span<const std::string> user, uint64_t memory_bytes,
                                  const Hugepages& hugepages, absl::string_view default_prefix) {
  EalArguments result;
  result.arguments.assign(user.begin(), user.end());
  result.file_prefix = EalArgumentValue(user, "--file-prefix");
  if (result.file_prefix.empty()) {
    result.file_prefix = std::string(default_prefix);
    result.arguments.push_back(absl::StrCat("--file-prefix=", default_prefix));
  }
  const bool sized = HasEalArgument(user, "-m") || HasEalArgument(user, "--socket-mem");
  const auto add_memory = [&](uint64_t bytes) {
    if (sized) return;
    result.arguments.push_back("-m");
    result.arguments.push_back(absl::StrCat(bytes / kMebibyte));
  };
  const bool chosen = HasEalArgument(user, "--no-huge") || HasEalArgument(user, "--in-memory") ||
                      HasEalArgument(user, "--socket-mem") || HasEalArgument(user, "--huge-dir");
  const uint64_t wanted = memory_bytes != 0 ? memory_bytes : kEnoughHugepages;
  if (!chosen && hugepages.free_bytes < wanted) {
    const uint64_t bytes = memory_bytes != 0 ? memory_bytes : kDefaultMemoryBytes;
    result.arguments.push_back("--no-huge");
    add_memory(bytes);
    result.notes.push_back(absl::StrCat(
        FormatSize(hugepages.free_bytes), " of free hugepages, ", FormatSize(wanted),
        " wanted: running without them, on ",
        sized
            ? std::string("as much ordinary memory as -m says")
            : absl::StrCat(FormatSize(bytes), " of ordinary memory (--memory=SIZE changes that)")));
  } else if (memory_bytes != 0) {
    add_memory(memory_bytes);
  } else if (HasEalArgument(user, "--no-huge")) {
    add_memory(kDefaultMemoryBytes);
  }
  return result;
}

namespace {

// Takes the interface for this process, for as long as it lives: a name in the network namespace,
// which goes with its holder however that ends. AlreadyExists if somebody has it.
absl::Status ClaimInterface(unsigned ifindex) {
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return ErrnoStatus(errno, "socket(AF_UNIX)");
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  // A first byte of 0: no file.
  const std::string name = absl::StrCat("penstock/xdp/", ifindex);
  name.copy(address.sun_path + 1, sizeof(address.sun_path) - 1);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address), length) == 0) return absl::OkStatus();
  const int error = errno;
  close(fd);
  return error == EADDRINUSE ? absl::AlreadyExistsError("claimed")
                             : ErrnoStatus(error, absl::StrCat("bind(", name, ")"));
}

}  // namespace

absl::Status ClaimXdpInterfaces(std::span<const std::string> arguments) {
  for (const EalDevice& device : EalDevices(arguments)) {
    if (device.driver != "net_af_xdp") continue;
    for (const auto& [key, interface] : device.keys) {
      const unsigned ifindex = key == "iface" ? if_nametoindex(interface.c_str()) : 0;
      if (ifindex == 0) continue;
      const absl::Status claimed = ClaimInterface(ifindex);
      if (absl::IsAlreadyExists(claimed)) {
        return absl::FailedPreconditionError(
            absl::StrCat(device.typed, ": interface ", interface,
                         " has a net_af_xdp port of another penstock; accepted: one on each"));
      }
      PENSTOCK_RETURN_IF_ERROR(claimed);
      PENSTOCK_ASSIGN_OR_RETURN(const std::vector<XdpProgram> programs,
                                AttachedXdpPrograms(ifindex));
      if (programs.empty()) continue;
      return absl::FailedPreconditionError(absl::StrCat(
          device.typed, ": interface ", interface, " carries XDP program ", programs[0].id, " (",
          programs[0].name.empty() ? "no name" : programs[0].name,
          ") of someone else, which is left: 'ip link set dev ", interface,
          " xdp off' removes it if it is not needed"));
    }
  }
  return absl::OkStatus();
}

absl::Status StartEal(const std::string& program, const EalArguments& arguments) {
  PENSTOCK_RETURN_IF_ERROR(RedirectDpdkLog());
  DpdkLogCapture said;
  // EAL keeps pointers into what it is given.
  static std::vector<std::string>* const kept = new std::vector<std::string>;
  kept->push_back(program);
  kept->insert(kept->end(), arguments.arguments.begin(), arguments.arguments.end());
  std::vector<char*> argv;
  for (std::string& argument : *kept) argv.push_back(argument.data());
  argv.push_back(nullptr);
  int taken = 0;
  int error = 0;
  {
    const CapturedOutput captured;
    taken = rte_eal_init(static_cast<int>(kept->size()), argv.data());
    error = rte_errno;
  }
  if (taken < 0) {
    RemoveEalFiles(rte_eal_get_runtime_dir(), Mapped::kKeep);
    return ExplainEalFailure(error, said.Failed(), arguments.arguments);
  }
  const std::optional<EalDevice> missing = MissingPort(arguments.arguments, said.Causes());
  if (!missing.has_value()) {
    // It forwards without.
    if (const absl::Status status = OfferCapture(); !status.ok()) {
      Log(Severity::kWarning, "no packet capture: ", status.message());
    }
    return absl::OkStatus();
  }
  const std::vector<std::string> causes = said.Failed();
  StopEal();
  return ExplainPortFailure(
      absl::UnavailableError(absl::StrCat(missing->typed, ": its driver refused it")),
      missing->name, causes);
}

void StopEal() {
  const std::filesystem::path directory = rte_eal_get_runtime_dir();
  EndCapture();
  rte_eal_cleanup();
  // A process that captures packets may have them a moment longer.
  RemoveEalFiles(directory, Mapped::kRemove);
}

}  // namespace penstock
