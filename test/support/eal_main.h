// SPDX-License-Identifier: BSD-3-Clause
//
// main() of the test executables that need EAL. Runs on the main lcore of the test process.
//
// An executable that depends on `test_support_dep` gets its main() from here. Before the first test
// EAL is started once; after the last it is cleaned up and its runtime directory removed. Nothing
// of the machine is needed or touched: no hugepages, no PCI device, no shared configuration, a file
// prefix of its own, so test executables run side by side, and without root.
//
//   lcores   kTestLcores of them, 0 the main one, spread over the CPUs that this process may use.
//            They share CPUs where there are fewer, so a worker that spins must not be waited for
//            by spinning as well: use rte_eal_wait_lcore(), or yield.
//   memory   kTestMemoryMib MiB in all; six pools of 8192 mbufs with 2 KiB of data fit.
//   vdevs    none, unless the executable asks for some (below) or plugs them by itself.
//   telemetry  off; add "--telemetry" where it is what is being tested.
//
// Not for tests of libraries above the DPDK line: they take gtest_main and run under TSan.
//
// Arguments that googletest does not know go to EAL, last, so they win:
//   build/test/unit/port/unit_port --gtest_filter='Capability*' --log-level=debug
// --gtest_list_tests starts no EAL.

#ifndef PENSTOCK_TEST_SUPPORT_EAL_MAIN_H_
#define PENSTOCK_TEST_SUPPORT_EAL_MAIN_H_

#include <string>
#include <vector>

namespace penstock {

inline constexpr unsigned kTestLcores = 4;
inline constexpr unsigned kTestMemoryMib = 256;

// Defined by a test executable that wants EAL arguments of its own, in any one of its files; the
// default asks for none. Example:
//
//   std::vector<std::string> penstock::TestEalArguments() {
//     return {"--vdev=net_null0", "--vdev=net_ring0"};
//   }
std::vector<std::string> TestEalArguments();

// Likewise, for what is to happen once EAL has started, before the first test; by default nothing.
void OnTestEalStarted();

}  // namespace penstock

#endif  // PENSTOCK_TEST_SUPPORT_EAL_MAIN_H_
