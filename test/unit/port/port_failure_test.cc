// SPDX-License-Identifier: BSD-3-Clause
//
// What drivers say of a port that fails, as those of DPDK 22.11 log it, and what becomes of it.
// Single thread.

#include "lib/port/port_failure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace penstock {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr uint64_t kAll = ~uint64_t{0};

std::string Explain(const std::string& driver, const std::vector<std::string>& said,
                    uint64_t capabilities = kAll) {
  const absl::Status failed = absl::UnavailableError("port 0: refused");
  return std::string(ExplainPortFailure(failed, driver, said, capabilities).message());
}

TEST(ExplainPortFailure, ATableOfWhatTheySay) {
  const struct {
    const char* driver;
    std::vector<std::string> said;
    const char* has;
  } rows[] = {
      {"net_af_xdp",
       {"libbpf: elf: '/etc/passwd' is not a proper ELF object",
        "load_custom_xdp_prog(): Failed to load program /etc/passwd",
        "xsk_configure(): Failed to load custom XDP program /etc/passwd"},
       "port 0: refused: /etc/passwd is no XDP program that this kernel loads"},
      {"net_af_xdp",
       {"libbpf: Kernel error message: Underlying driver does not support XDP in native mode",
        "eth_rx_queue_setup(): Failed to configure xdp socket"},
       "net_af_packet0,iface=IFACE"},
      {"net_memif",
       {"memif_connect_client(): Failed to connect socket: /run/m.sock."},
       "nobody listens at socket /run/m.sock; start"},
      {"net_tap0",
       {"eth_dev_tap_create(): Unable to create TAP interface"},
       "no tap interface of that name"},
      // Not in the table: the first line that says anything.
      {"net_pcap0",
       {"open_single_rx_pcap(): Couldn't open /a: unknown file format",
        "vdev_probe(): failed to initialize net_pcap0 device", "EAL: Bus (vdev) probe failed."},
       "refused: Couldn't open /a: unknown file format"},
      {"net_af_xdp0",
       {"rte_pmd_af_xdp_probe(): Invalid kvargs key",
        "vdev_probe(): failed to initialize net_af_xdp0 device"},
       "refused: the driver gives no reason; the keys that it takes: iface, "},
  };
  for (const auto& row : rows) EXPECT_THAT(Explain(row.driver, row.said), HasSubstr(row.has));
}

TEST(ExplainPortFailure, TheTableIsOfTheDriver) {
  EXPECT_THAT(Explain("net_null", {"Device or resource busy"}), Not(HasSubstr("AF_XDP socket")));
}

TEST(ExplainPortFailure, KeepsWhatIsKnownWhereNobodySaysMore) {
  const absl::Status failed = absl::NotFoundError("rte_eth_dev_start, port 3");
  EXPECT_EQ(ExplainPortFailure(failed, "net_ice", {}, kAll), failed);
  EXPECT_EQ(ExplainPortFailure(absl::OkStatus(), "net_ice", {}, 0), absl::OkStatus());
}

TEST(ExplainPortFailure, NamesTheCapabilitiesThatAreMissing) {
  const uint64_t raw = uint64_t{1} << CAP_NET_RAW;
  const uint64_t sys = uint64_t{1} << CAP_SYS_ADMIN;
  const uint64_t bpf = uint64_t{1} << CAP_BPF;
  EXPECT_THAT(Explain("net_af_xdp", {}, kAll & ~raw), HasSubstr("lacks CAP_NET_RAW; run as root"));
  // CAP_SYS_ADMIN includes it.
  EXPECT_THAT(Explain("net_af_xdp", {}, kAll & ~bpf), Not(HasSubstr("CAP_BPF")));
  EXPECT_THAT(Explain("net_af_xdp", {}, kAll & ~bpf & ~sys),
              HasSubstr("lacks CAP_BPF, CAP_SYS_ADMIN"));
  EXPECT_THAT(Explain("net_af_packet0", {"x(): Could not open AF_PACKET socket"}, 0),
              HasSubstr("lacks CAP_NET_RAW, CAP_NET_ADMIN"));
  EXPECT_THAT(Explain("net_null", {}, 0), Not(HasSubstr("lacks")));
  EXPECT_EQ(ExplainPortFailure(absl::UnknownError(""), "net_tap", {}, 0).code(),
            absl::StatusCode::kPermissionDenied);
}

TEST(EffectiveCapabilities, AreThoseOfThisProcess) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to lose what it has";
  EXPECT_NE(EffectiveCapabilities() >> CAP_SETUID & 1, 0U);
  const pid_t child = fork();
  if (child == 0) {
    const bool none = setuid(65534) == 0 && EffectiveCapabilities() == 0;
    _exit(none ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace penstock
