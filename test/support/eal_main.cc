// SPDX-License-Identifier: BSD-3-Clause
//
// Starts EAL around a googletest run; eal_main.h says what a test may count on. Main lcore only.

#include "test/support/eal_main.h"

#include <gtest/gtest.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <sched.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace penstock {

// Weak, so that an executable's own definition replaces them.
__attribute__((weak)) std::vector<std::string> TestEalArguments() { return {}; }
__attribute__((weak)) void OnTestEalStarted() {}

namespace {

// "0@2,1@5,2@2,3@5" on a process that may use CPUs 2 and 5. EAL's default, an lcore per CPU, would
// make what a test can do depend on the machine.
std::string LcoresOverAllowedCpus() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &allowed)) cpus.push_back(cpu);
    }
  }
  if (cpus.empty()) cpus.push_back(0);
  std::string lcores;
  for (unsigned lcore = 0; lcore < kTestLcores; ++lcore) {
    if (lcore > 0) lcores += ',';
    lcores += std::to_string(lcore) + '@' + std::to_string(cpus[lcore % cpus.size()]);
  }
  return lcores;
}

// An environment rather than code in main(): googletest leaves it out when it only lists tests, and
// reports a start that failed as a failure of the run.
class EalEnvironment : public testing::Environment {
 public:
  EalEnvironment(std::string program, std::vector<std::string> extra_arguments)
      : arguments_{std::move(program),
                   "--no-huge",
                   "--no-shconf",
                   "--no-pci",
                   "--no-telemetry",
                   "-m",
                   std::to_string(kTestMemoryMib),
                   "--file-prefix=penstock-test-" + std::to_string(getpid()),
                   "--lcores=" + LcoresOverAllowedCpus(),
                   "--log-level=warning"} {
    for (std::string& argument : TestEalArguments()) arguments_.push_back(std::move(argument));
    for (std::string& argument : extra_arguments) arguments_.push_back(std::move(argument));
  }

  void SetUp() override {
    // EAL permutes argv and keeps pointers into it, so the strings live as long as this object.
    std::vector<char*> argv;
    std::string shown;
    for (std::string& argument : arguments_) {
      argv.push_back(argument.data());
      shown += ' ' + argument;
    }
    argv.push_back(nullptr);
    const int parsed = rte_eal_init(static_cast<int>(arguments_.size()), argv.data());
    ASSERT_GE(parsed, 0) << "rte_eal_init:" << shown << ": " << rte_strerror(rte_errno);
    runtime_directory_ = rte_eal_get_runtime_dir();
    OnTestEalStarted();
  }

  void TearDown() override {
    if (runtime_directory_.empty()) return;
    EXPECT_EQ(rte_eal_cleanup(), 0);
    // EAL leaves the directory of its file prefix behind, and each run has another prefix.
    std::error_code error;
    std::filesystem::remove_all(runtime_directory_, error);
    EXPECT_FALSE(error) << runtime_directory_ << ": " << error.message();
  }

 private:
  std::vector<std::string> arguments_;
  std::filesystem::path runtime_directory_;
};

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  testing::AddGlobalTestEnvironment(new penstock::EalEnvironment(
      argv[0], std::vector<std::string>(argv + 1, argv + argc)));  // googletest deletes it
  return RUN_ALL_TESTS();
}
