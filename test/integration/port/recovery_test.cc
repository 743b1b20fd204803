// SPDX-License-Identifier: BSD-3-Clause
//
// A process with a real net_af_xdp port is killed with SIGKILL; Recover() must leave the machine as
// it was before: no XDP program, no promiscuous flag, no file of EAL's, no pin. In network and
// mount namespaces of its own; needs root and AF_XDP, else exits with 77.

#include "lib/port/recovery.h"

#include <gtest/gtest.h>
#include <linux/bpf.h>
#include <net/if.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/port/run_directory.h"
#include "lib/port/xdp_program.h"
#include "test/integration/port/own_namespaces.h"

namespace penstock {
namespace {

constexpr char kBase[] = "/run/penstock";
constexpr char kPrefix[] = "victim";
constexpr char kProgram[] = "/usr/lib/x86_64-linux-gnu/bpf/xsk_def_xdp_prog.o";

void Shell(const std::string& command) { ASSERT_EQ(std::system(command.c_str()), 0) << command; }

// What a run does to the machine. Returns an error, or "" when the port runs.
std::string RunAPort(const std::string& devargs) {
  static std::unique_ptr<RunDirectory> run = RunDirectory::Create(kBase, kPrefix).value();
  const std::string vdev = absl::StrCat("--vdev=net_af_xdp0,iface=p0", devargs);
  const std::string prefix = absl::StrCat("--file-prefix=", kPrefix);
  std::vector<std::string> arguments = {"victim", "--no-huge",         "--no-pci", "-m",  "128",
                                        "-l0",    "--log-level=error", vdev,       prefix};
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  if (rte_eal_init(static_cast<int>(arguments.size()), argv.data()) < 0) return "rte_eal_init";
  if (run->record().eal_runtime_directory != rte_eal_get_runtime_dir()) {
    return absl::StrCat("EAL keeps its files in ", rte_eal_get_runtime_dir());
  }
  InterfaceRecord interface = {.name = "p0", .ifindex = if_nametoindex("p0")};
  interface.was_promiscuous = IsPromiscuous(interface.ifindex).value();
  if (!run->RecordInterface(interface).ok()) return "RecordInterface";

  rte_mempool* pool =
      rte_pktmbuf_pool_create("pool", 4095, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
  const rte_eth_conf config = {};
  if (pool == nullptr || rte_eth_dev_configure(0, 1, 1, &config) != 0 ||
      rte_eth_rx_queue_setup(0, 0, 512, SOCKET_ID_ANY, nullptr, pool) != 0 ||
      rte_eth_tx_queue_setup(0, 0, 512, SOCKET_ID_ANY, nullptr) != 0 || rte_eth_dev_start(0) != 0 ||
      rte_eth_promiscuous_enable(0) != 0) {
    return "port";
  }
  const std::vector<XdpProgram> programs = AttachedXdpPrograms(interface.ifindex).value();
  if (programs.size() != 1) return "no XDP program";
  interface.xdp_program_id = programs[0].id;
  interface.xdp_mode = programs[0].mode;
  return run->RecordInterface(interface).ok() ? "" : "RecordInterface";
}

// A process that runs the port until it is killed.
class Victim {
 public:
  explicit Victim(const std::string& devargs) {
    int answer[2];
    EXPECT_EQ(pipe2(answer, O_CLOEXEC), 0);
    pid_ = fork();
    if (pid_ == 0) {
      const std::string error = RunAPort(devargs) + "\n";
      if (write(answer[1], error.data(), error.size()) < 0) _exit(1);
      while (true) pause();
    }
    close(answer[1]);
    char byte = 0;
    std::string text;
    while (read(answer[0], &byte, 1) == 1 && byte != '\n') text += byte;
    close(answer[0]);
    EXPECT_EQ(byte, '\n') << "the process ended";
    EXPECT_EQ(text, "");
  }
  ~Victim() { Kill(); }
  void Kill() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    pid_ = -1;
  }

 private:
  pid_t pid_ = -1;
};

std::string FilesBelow(const std::string& directory) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    files.push_back(entry.path());
  }
  return absl::StrJoin(files, " ");
}

class RecoveryTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() != "" && !std::filesystem::exists(kProgram)) GTEST_SKIP() << kProgram;
    Shell("ip link add p0 type veth peer name p1 && ip link set p0 up && ip link set p1 up");
    ifindex_ = if_nametoindex("p0");
  }
  void TearDown() override { Shell("ip link del p0 2>/dev/null || true"); }

  std::string Recovered() {
    const auto lines = Recover(kBase);
    EXPECT_TRUE(lines.ok()) << lines.status();
    return absl::StrJoin(lines.value_or(std::vector<std::string>()), "\n");
  }

  void ExpectClean(const std::string& said) {
    EXPECT_TRUE(AttachedXdpPrograms(ifindex_).value().empty()) << said;
    EXPECT_FALSE(IsPromiscuous(ifindex_).value()) << said;
    EXPECT_EQ(FilesBelow("/run/penstock"), "/run/penstock/.lock") << said;
    EXPECT_EQ(FilesBelow("/run/dpdk"), "") << said;
  }

  uint32_t ifindex_ = 0;
};

TEST_P(RecoveryTest, KilledTenTimesInARow) {
  for (int i = 0; i < 10; ++i) {
    Victim victim(GetParam());
    EXPECT_EQ(Recovered(), "") << "it lives";
    EXPECT_EQ(AttachedXdpPrograms(ifindex_).value().size(), 1u);
    EXPECT_TRUE(IsPromiscuous(ifindex_).value());
    victim.Kill();
    ExpectClean(Recovered());
    if (HasFailure()) break;
  }
}

TEST_P(RecoveryTest, WithABpfFileSystem) {
  ASSERT_EQ(mount("bpf", "/sys/fs/bpf", "bpf", 0, nullptr), 0);
  Victim victim(GetParam());
  victim.Kill();
  ExpectClean(Recovered());
  for (const auto& entry : std::filesystem::recursive_directory_iterator("/sys/fs/bpf")) {
    EXPECT_EQ(entry.path().string().find("dispatch-"), std::string::npos) << entry.path();
  }
  ASSERT_EQ(umount("/sys/fs/bpf"), 0);
}

INSTANTIATE_TEST_SUITE_P(Programs, RecoveryTest,
                         testing::Values("", absl::StrCat(",xdp_prog=", kProgram)),
                         [](const auto& info) {
                           return info.param.empty() ? "Default" : "XdpProg";
                         });

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (GTEST_FLAG_GET(list_tests)) return RUN_ALL_TESTS();
  if (const int result = penstock::EnterOwnNamespaces(); result != 0) return result;
  unsetenv("RUNTIME_DIRECTORY");
  return RUN_ALL_TESTS();
}
