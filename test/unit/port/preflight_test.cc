// SPDX-License-Identifier: BSD-3-Clause
//
// What is looked at before EAL starts: memory by a table, devices against interfaces and files of
// this test, PCI devices in a tree like the kernel's. Main thread.

#include "lib/port/preflight.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "test/unit/port/sandbox.h"

namespace penstock {
namespace {

using testing::HasSubstr;

constexpr uint64_t kMib = uint64_t{1} << 20;
constexpr uint64_t kGib = uint64_t{1} << 30;

using Words = std::vector<std::string>;

TEST(CheckMemory, RefusesWhatTheMachineHasNot) {
  const Machine none = {
      .memory_bytes = 8 * kGib, .eal_directory = "/run/dpdk/p", .eal_directory_free_bytes = kGib};
  Machine some = none;
  some.hugepages_free_bytes = 512 * kMib;
  some.hugetlbfs = true;
  Machine unmounted = some;
  unmounted.hugetlbfs = false;
  Machine full = none;
  full.eal_directory_free_bytes = 5 * kMib;
  const struct {
    const char* what;
    Words arguments;
    uint64_t memory_bytes;
    Machine machine;
    const char* has;  // Empty if it is good.
  } rows[] = {
      {"ordinary memory", {"--no-huge", "-m", "1024"}, 0, none, ""},
      {"all of it", {"--no-huge", "-m", "8192"}, 0, none, ""},
      {"more", {"--no-huge", "-m", "8193"}, 0, none, "-m 8193: this machine has 8G in all"},
      {"by our option",
       {"--no-huge", "-m", "1048576"},
       1024 * kGib,
       none,
       "--memory=1T: this machine"},
      {"hugepages", {"--socket-mem=256,256"}, 0, some, ""},
      {"too few of them",
       {"--socket-mem=256,512"},
       0,
       some,
       "--socket-mem=256,512: 512M of hugepages are free, 768M wanted: 'sysctl "
       "vm.nr_hugepages=512'"},
      {"none of them", {"-m", "512"}, 0, none, "-m 512: 0 of hugepages are free"},
      {"none, in memory", {"--in-memory"}, 0, none, "--in-memory: 0 of hugepages are free, 2M"},
      {"not mounted", {"-m", "256"}, 0, unmounted, "-m 256: no hugetlbfs is mounted"},
      {"not mounted, in memory", {"--in-memory", "-m", "256"}, 0, unmounted, ""},
      {"no room for files, much memory",
       {"--no-huge", "-m", "1024"},
       0,
       full,
       "/run/dpdk/p: 5M free there, and EAL's files take 16M for this much memory; give less with "
       "--memory"},
      {"no room for files, little memory", {"--no-huge", "-m", "64"}, 0, full, ""},
      {"no files", {"--no-huge", "-m", "1024", "--no-shconf"}, 0, full, ""},
  };
  for (const auto& row : rows) {
    const absl::Status status = CheckMemory(row.arguments, row.memory_bytes, row.machine);
    EXPECT_EQ(status.ok(), row.has[0] == '\0') << row.what << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(row.has)) << row.what;
  }
}

TEST(CheckMemory, AHugeDirectoryIsAMountedOne) {
  TempDirectory folder;
  const Machine machine = {.memory_bytes = kGib,
                           .hugepages_free_bytes = kGib,
                           .hugetlbfs = true,
                           .eal_directory = "/run/dpdk/p",
                           .eal_directory_free_bytes = kGib};
  const std::string ordinary = folder / "";
  const absl::Status status = CheckMemory(Words{"--huge-dir=" + ordinary}, 0, machine);
  EXPECT_THAT(std::string(status.message()), HasSubstr("no hugetlbfs is mounted there"));
  const absl::Status absent = CheckMemory(Words{"--huge-dir=/nowhere/at/all"}, 0, machine);
  EXPECT_THAT(std::string(absent.message()),
              HasSubstr("--huge-dir=/nowhere/at/all: No such file or directory"));
}

TEST(EalFilesBytes, GrowWithOrdinaryMemoryOnly) {
  EXPECT_EQ(EalFilesBytes(kGib, false), 4 * kMib + 12 * kMib);
  EXPECT_EQ(EalFilesBytes(kGib, true), EalFilesBytes(0, false));
}

TEST(ReadMachine, AgreesWithTheKernel) {
  const Machine machine = ReadMachine("penstock-unit");
  std::ifstream meminfo("/proc/meminfo");
  std::string word;
  uint64_t kib = 0;
  meminfo >> word >> kib;
  ASSERT_EQ(word, "MemTotal:");
  EXPECT_EQ(machine.memory_bytes, kib * 1024);
  EXPECT_THAT(machine.eal_directory, testing::EndsWith("/dpdk/penstock-unit"));
  EXPECT_GT(machine.eal_directory_free_bytes, 0U);
}

TEST(CheckDevices, InterfacesAndTheirQueues) {
  Namespaces namespaces;
  if (!namespaces.entered()) GTEST_SKIP() << "needs root";
  const struct {
    const char* device;
    const char* has;
  } rows[] = {
      {"net_af_xdp0,iface=t0", ""},
      {"net_af_xdp0,iface=t0,start_queue=0,queue_count=1", ""},
      {"net_af_xdp0", "which interface? accepted: net_af_xdp0,iface=IFACE"},
      {"net_af_xdp0,iface=t9", "no interface t9 in this network namespace; accepted: "},
      {"net_af_xdp0,iface=a-name-of-16-let", "accepted: 1 to 15 letters, such as iface=eth1"},
      {"net_af_xdp0,iface=t0,start_queue=1", "t0 has 1 queue, and these are 1 to 1"},
      {"net_af_xdp0,iface=t0,queue_count=4", "t0 has 1 queue, and these are 0 to 3"},
      {"net_af_xdp0,iface=t0,start_queue=2147483647,queue_count=2147483647", "has 1 queue"},
      {"net_af_xdp0,iface=t0,queue_count=0", "queue_count from 1"},
      {"net_af_xdp0,iface=t0,queue_count=x", ""},  // The driver's to refuse.
      {"net_af_packet0,iface=t9", "no interface t9"},
      {"net_tap0,iface=new0", ""},
      {"net_tap0,iface=a-name-of-16-let", "1 to 15 letters"},
      {"net_tap0,remote=t9", "no interface t9"},
      {"net_pcap0,iface=t1", ""},
      {"net_pcap0,rx_iface=any", ""},
      {"net_null0,iface=t9", ""},  // Means nothing there.
  };
  for (const auto& row : rows) {
    const absl::Status status = CheckDevices(Words{absl::StrCat("--vdev=", row.device)});
    EXPECT_EQ(status.ok(), row.has[0] == '\0') << row.device << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(row.has)) << row.device;
  }
}

TEST(CheckDevices, OnePortOnAnInterface) {
  Namespaces namespaces;
  if (!namespaces.entered()) GTEST_SKIP() << "needs root";
  const struct {
    const char* first;
    const char* second;
    const char* twice;  // The interface, "" if these are good.
  } rows[] = {
      {"net_af_packet0,iface=t0", "net_af_packet1,iface=t1", ""},
      {"net_af_packet0,iface=t0", "net_af_packet1,iface=t0", "t0"},
      {"net_af_packet0,iface=t0", "net_af_xdp0,iface=t0", "t0"},
      {"net_af_xdp0,iface=t0", "net_af_xdp1,iface=t0", "t0"},
      {"net_xsk0,iface=t0", "net_af_packet0,iface=t0", "t0"},
      {"net_pcap0,iface=t0", "net_pcap1,iface=t0", "t0"},
      {"net_pcap0,rx_iface=t0,tx_iface=t0", "net_pcap1,rx_iface=t1,tx_iface=t1", ""},
      {"net_pcap0,rx_iface=t0,tx_iface=t1", "net_pcap1,rx_iface_in=t1", "t1"},
      {"net_pcap0,rx_iface=t0,tx_pcap=/dev/null", "net_af_packet0,iface=t0", "t0"},
      {"net_tap0,iface=new0", "net_tap1,iface=new0", "new0"},
      {"net_tap0,iface=new0", "net_tun0,iface=new0", "new0"},
      {"net_tap0,iface=new0", "net_tap1,iface=new1", ""},
      {"net_tap0,iface=new%d", "net_tap1,iface=new%d", ""},
      {"net_tap0", "net_tap1", ""},
      {"net_tap0,remote=t0", "net_af_packet0,iface=t0", "t0"},
      {"net_null0,iface=t0", "net_af_packet0,iface=t0", ""},
  };
  for (const auto& row : rows) {
    const std::string first = absl::StrCat("--vdev=", row.first);
    const std::string second = absl::StrCat("--vdev=", row.second);
    const absl::Status status = CheckDevices(Words{first, second});
    const std::string expected =
        *row.twice == '\0' ? ""
                           : absl::StrCat(second, ": interface ", row.twice, " is that of ", first,
                                          " already; accepted: one port on each interface");
    EXPECT_EQ(status.message(), expected);
    EXPECT_EQ(absl::IsFailedPrecondition(status), *row.twice != '\0') << row.second;
  }
  ASSERT_EQ(system("ip link property add dev t0 altname t0-too"), 0);
  EXPECT_TRUE(absl::IsFailedPrecondition(
      CheckDevices(Words{"--vdev=net_af_packet0,iface=t0", "--vdev=net_pcap0,iface=t0-too"})));
}

TEST(CheckDevices, Files) {
  TempDirectory folder;
  WriteText(folder / "in.pcap", "x");
  const auto check = [&](const std::string& device) {
    return std::string(CheckDevices(Words{"--vdev=" + device}).message());
  };
  EXPECT_EQ(check("net_pcap0,rx_pcap=" + (folder / "in.pcap")), "");
  EXPECT_EQ(check("net_pcap0,tx_pcap=" + (folder / "out.pcap")), "");
  EXPECT_THAT(check("net_pcap0,rx_pcap=" + (folder / "none.pcap")),
              HasSubstr("none.pcap: No such file or directory; accepted: a file that can be read"));
  EXPECT_THAT(check("net_pcap0,rx_pcap=" + (folder / "")), HasSubstr("Is a directory"));
  EXPECT_THAT(check("net_pcap0,tx_pcap=" + (folder / "none/out.pcap")),
              HasSubstr("accepted: a file in a folder that is there and writable"));
  EXPECT_THAT(check("net_virtio_user0,path=" + (folder / "none")), HasSubstr("or server=1"));
  EXPECT_EQ(check("net_virtio_user0,server=1,path=" + (folder / "none")), "");
}

TEST(CheckDevices, PciDevicesByTheirKernelDriver) {
  TempDirectory sysfs;
  const auto device = [&](const std::string& address, const std::string& driver) {
    const std::string folder = sysfs / ("bus/pci/devices/" + address);
    std::filesystem::create_directories(folder);
    if (!driver.empty()) {
      std::filesystem::create_directory_symlink("../../drivers/" + driver, folder + "/driver");
    }
  };
  device("0000:01:00.0", "vfio-pci");
  device("0000:01:00.1", "ixgbe");
  device("0000:01:00.2", "");
  device("0000:01:00.3", "mlx5_core");
  device("0000:01:00.4", "uio_pci_generic");
  const auto check = [&](const std::string& address) {
    return std::string(CheckDevices(Words{"-a", address}, sysfs / "").message());
  };
  for (const char* good : {"0000:01:00.0", "01:00.0", "0000:01:00.2", "0000:01:00.3,dv_flow_en=1",
                           "0000:01:00.4", "auxiliary:mlx5_core.sf.2"}) {
    EXPECT_EQ(check(good), "") << good;
  }
  EXPECT_THAT(check("0000:01:00.1"), HasSubstr("bound to the kernel's driver ixgbe"));
  EXPECT_THAT(check("01:00.1"), HasSubstr("dpdk-devbind.py --bind=vfio-pci 01:00.1"));
  EXPECT_THAT(check("0000:02:00.0"), HasSubstr("no such PCI device; 'lspci -D'"));
  EXPECT_EQ(KernelDriverOf("01:00.1", sysfs / ""), "ixgbe");
  EXPECT_EQ(KernelDriverOf("01:00.2", sysfs / ""), "");
  EXPECT_EQ(KernelDriverOf("01:00.9", sysfs / ""), std::nullopt);
}

}  // namespace
}  // namespace penstock
