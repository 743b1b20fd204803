// SPDX-License-Identifier: BSD-3-Clause
//
// A real dataplane over two net_null ports, and what commands say about it. Main lcore; workers
// forward.

#ifndef PENSTOCK_TEST_UNIT_CONTROL_DATAPLANE_H_
#define PENSTOCK_TEST_UNIT_CONTROL_DATAPLANE_H_

#include <gtest/gtest.h>
#include <rte_dev.h>

#include <memory>
#include <span>
#include <string>

#include "lib/control/command.h"
#include "lib/pipeline/mode.h"
#include "lib/pipeline/runtime.h"
#include "lib/pipeline/stages/io.h"
#include "lib/pipeline/stages/mac_swap.h"

namespace penstock {

inline constexpr Mode kTwoModes[] = {
    MakeMode<Io>("io", "forward", {.sends = Destination::kPeer}),
    MakeMode<MacSwap>("macswap", "exchange addresses", {.sends = Destination::kPeer}),
};

class DataplaneTest : public testing::Test {
 protected:
  using Add = absl::Status (*)(Runtime& runtime, CommandSet& commands);
  static constexpr const char* kPorts[] = {"net_null0", "net_null1"};

  explicit DataplaneTest(Add add, std::span<const Mode> modes = kTwoModes)
      : add_(add), modes_(modes) {}

  void SetUp() override {
    for (const char* port : kPorts) ASSERT_EQ(rte_eal_hotplug_add("vdev", port, ""), 0);
    auto runtime = Runtime::Create({.modes = modes_, .run_directory = nullptr, .version = "test"});
    ASSERT_TRUE(runtime.ok()) << runtime.status();
    runtime_ = std::move(*runtime);
    configuration_.forwarding = false;
    configuration_.total_num_mbufs = 8192;
    ASSERT_TRUE(Apply());
    const absl::Status added = add_(*runtime_, commands_);
    ASSERT_TRUE(added.ok()) << added;
  }

  void TearDown() override {
    if (runtime_ != nullptr) {
      const auto report = runtime_->Close();
      EXPECT_TRUE(report.ok()) << report.status();
      if (report.ok()) {
        EXPECT_EQ(report->totals.unaccounted, 0u);
      }
      runtime_.reset();
    }
    for (const char* port : kPorts) rte_eal_hotplug_remove("vdev", port);
  }

  bool Apply() {
    const auto applied = runtime_->Apply(configuration_);
    EXPECT_TRUE(applied.ok()) << applied.status();
    return applied.ok();
  }

  bool SetForwarding(bool forwarding) {
    configuration_ = runtime_->configuration();
    configuration_.forwarding = forwarding;
    return Apply();
  }

  // What a command shows; a failure of the test when it fails.
  std::string Show(const std::string& line) {
    std::string output;
    const absl::Status status = commands_.Run(line, output);
    EXPECT_TRUE(status.ok()) << line << ": " << status;
    return output;
  }
  absl::Status Refusal(const std::string& line) {
    std::string output;
    const absl::Status status = commands_.Run(line, output);
    EXPECT_FALSE(status.ok()) << line << ": " << output;
    return status;
  }
  std::string Fault(const std::string& line) { return std::string(Refusal(line).message()); }

  // Until lcores have moved packets beyond those.
  void AwaitTraffic(uint64_t beyond = 0) {
    while (runtime_->Snapshot().totals.rx_packets <= beyond) {
    }
  }

  const Add add_;
  const std::span<const Mode> modes_;
  Configuration configuration_;
  std::unique_ptr<Runtime> runtime_;
  CommandSet commands_;
};

}  // namespace penstock

#endif  // PENSTOCK_TEST_UNIT_CONTROL_DATAPLANE_H_
