// SPDX-License-Identifier: BSD-3-Clause
//
// What EAL says of a start that fails, each as DPDK 22.11 logs it, and what becomes of it. Single
// thread, no EAL.

#include "lib/port/eal_failure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <vector>

namespace penstock {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr absl::StatusCode kWrong = absl::StatusCode::kInvalidArgument;

struct Row {
  std::vector<std::string> arguments;
  std::vector<std::string> said;
  bool wrong;  // On any machine.
  const char* begins;
  const char* has;
};

TEST(ExplainEalFailure, SaysWhichArgumentWhyAndWhatToType) {
  const std::string invalid = "EAL: Invalid 'command line' arguments.";
  const Row rows[] = {
      {{"-l", "0,99"},
       {"EAL: lcore 99 unavailable",
        "EAL: invalid core list, please check specified cores are part of 0-1", invalid},
       false,
       "-l 0,99: no such processor",
       "accepted: of 0-1, such as -l 0,1"},
      {{"--lcores=0@0,1@77"},
       {"EAL: core 77 unavailable", "EAL: invalid parameter for --lcores", invalid},
       false,
       "--lcores=0@0,1@77: processor 77 is not there",
       "taskset -cp $$"},
      {{"-l0,x"}, {"EAL: invalid core list syntax", invalid}, true, "-l 0,x: ", "-l 0-3"},
      {{"-l", "0", "-c", "1"},
       {"EAL: Option -c is ignored, because (-l) is set!", invalid},
       true,
       "-c 1: lcores chosen twice, by -l as well",
       "one of -l, --lcores and -c"},
      // The device that EAL named, not the first of its kind.
      {{"--vdev=net_null0", "--vdev=net_foo0,a=b"},
       {"EAL: failed to parse device \"net_foo0\"", "EAL: Unable to parse device 'net_foo0,a=b'"},
       false,
       "--vdev=net_foo0,a=b: no driver that is installed",
       "net_af_xdp0"},
      {{"-a", "nonsense", "--vdev=net_null0"},
       {"EAL: Unable to parse device 'nonsense'"},
       true,
       "-a nonsense: no PCI address",
       "-a 0000:03:00.0"},
      {{"-d", "/a.so"},
       {"EAL: /a.so: cannot open shared object file: No such file or directory",
        "EAL: Cannot init plugins"},
       false,
       "-d /a.so: it cannot be loaded: /a.so: cannot open shared object file: No such file",
       "librte_net_ring.so"},
      {{"-d", "/tmp/a.so"},
       {"EAL: Error, directory path /tmp is world-writable and insecure",
        "EAL: Cannot init plugins"},
       false,
       "-d /tmp/a.so: everybody may write into /tmp",
       "chmod o-w /tmp"},
      {{"--iova-mode=xx"},
       {"EAL: invalid parameters for --iova-mode", invalid},
       true,
       "--iova-mode=xx: ",
       "pa or va"},
      {{"--no-huge", "--socket-mem=64"},
       {"EAL: Option --socket-mem cannot be specified together with --no-huge", invalid},
       true,
       "--socket-mem=64: it is about hugepages",
       "one of the two"},
      {{"--socket-mem=4096"},
       {"EAL: Not enough memory available! Requested: 4096MB, available: 400MB",
        "EAL: FATAL: Cannot init memory", "EAL: Cannot init memory"},
       false,
       "--socket-mem=4096: 4096 MB of hugepages wanted",
       "sysctl vm.nr_hugepages=N"},
      {{"--socket-mem=0,4096"},
       {"EAL: Not enough memory available on socket 1! Requested: 4096MB, available: 0MB"},
       false,
       "--socket-mem=0,4096: not as many hugepages are free on NUMA node 1",
       "/sys/devices/system/node/node1/"},
      {{},
       {"EAL: Cannot get hugepage information."},
       false,
       "EAL did not start: no hugepages",
       "--no-huge"},
      {{"--file-prefix=twin"},
       {"EAL: Cannot create lock on '/var/run/dpdk/twin/config'. Is another primary process "
        "running?",
        "EAL: Cannot init config"},
       false,
       "EAL did not start: /var/run/dpdk/twin/config is of a DPDK application that is running",
       "--file-prefix=NAME"},
      {{},
       {"EAL: Cannot create runtime directory", invalid},
       false,
       "EAL did not start: ",
       "$RUNTIME_DIRECTORY"},
      {{}, {"EAL: Cannot init VFIO"}, false, "EAL did not start: VFIO", "modprobe vfio-pci"},
      {{"--iova-mode=pa"},
       {"EAL: Cannot use IOVA as 'PA' since physical addresses are not available"},
       false,
       "--iova-mode=pa: physical addresses",
       "--iova-mode=va"},
  };
  for (const Row& row : rows) {
    const absl::Status status = ExplainEalFailure(EINVAL, row.said, row.arguments);
    const std::string message(status.message());
    EXPECT_EQ(status.code() == kWrong, row.wrong) << message;
    EXPECT_THAT(message, StartsWith(row.begins));
    EXPECT_THAT(message, HasSubstr(row.has));
    EXPECT_THAT(message, Not(HasSubstr("EAL: ")));
  }
}

TEST(ExplainEalFailure, ARowHoldsOnlyIfItsOptionWasGiven) {
  // -m is said of --memory; without either there is nothing to name.
  const std::vector<std::string> said = {"EAL: invalid parameters for --iova-mode"};
  const std::vector<std::string> arguments = {"-l", "0"};
  const absl::Status status = ExplainEalFailure(EINVAL, said, arguments);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnknown);
  EXPECT_THAT(std::string(status.message()), StartsWith("rte_eal_init(-l 0): "));
}

TEST(ExplainEalFailure, WhatIsNotInTheTableIsShownAsItCame) {
  const std::vector<std::string> said = {"EAL: The moon is full.", "EAL: Cannot init moon"};
  const std::vector<std::string> arguments = {"-l", "0,1"};
  const absl::Status status = ExplainEalFailure(EIO, said, arguments);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnknown);
  EXPECT_EQ(status.message(),
            "rte_eal_init(-l 0,1): Input/output error: The moon is full; Cannot init moon");
  // Without a word of EAL's, the number is all.
  const absl::Status silent = ExplainEalFailure(ENOMEM, {}, arguments);
  EXPECT_EQ(silent.message(), "rte_eal_init(-l 0,1): Cannot allocate memory");
}

}  // namespace
}  // namespace penstock
