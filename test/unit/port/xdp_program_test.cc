// SPDX-License-Identifier: BSD-3-Clause
//
// XDP programs on real interfaces, in a network namespace of the test. Skips without privileges.

#include "lib/port/xdp_program.h"

#include <gtest/gtest.h>
#include <linux/if_link.h>

#include "test/unit/port/sandbox.h"

namespace penstock {
namespace {

TEST(XdpModeTest, NamesAreReadBack) {
  for (const XdpMode mode : {XdpMode::kDriver, XdpMode::kGeneric, XdpMode::kHardware}) {
    EXPECT_EQ(XdpModeFromName(XdpModeName(mode)).value(), mode);
  }
  EXPECT_EQ(XdpModeFromName("skb").status().message(),
            "XDP mode \"skb\"; accepted: driver, generic, hardware");
}

class XdpProgramTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!namespaces_.entered()) GTEST_SKIP() << "needs CAP_SYS_ADMIN";
    ifindex_ = if_nametoindex("t0");
  }

  Namespaces namespaces_;
  uint32_t ifindex_ = 0;
};

TEST_F(XdpProgramTest, ReportsWhatIsAttached) {
  EXPECT_TRUE(AttachedXdpPrograms(ifindex_).value().empty());
  const uint32_t id = AttachXdpPass("ours", "t0", XDP_FLAGS_DRV_MODE);
  const std::vector<XdpProgram> programs = AttachedXdpPrograms(ifindex_).value();
  ASSERT_EQ(programs.size(), 1u);
  EXPECT_EQ(programs[0].id, id);
  EXPECT_EQ(programs[0].mode, XdpMode::kDriver);
  EXPECT_EQ(programs[0].name, "ours");
}

TEST_F(XdpProgramTest, DetachesInEitherMode) {
  const struct {
    uint32_t flag;
    XdpMode mode;
  } rows[] = {{XDP_FLAGS_DRV_MODE, XdpMode::kDriver}, {XDP_FLAGS_SKB_MODE, XdpMode::kGeneric}};
  for (const auto& row : rows) {
    SCOPED_TRACE(XdpModeName(row.mode));
    const uint32_t id = AttachXdpPass("ours", "t0", row.flag);
    EXPECT_EQ(AttachedXdpPrograms(ifindex_).value().size(), 1u);
    EXPECT_TRUE(DetachXdpProgram(ifindex_, id, row.mode).value());
    EXPECT_TRUE(AttachedXdpPrograms(ifindex_).value().empty());
    EXPECT_FALSE(DetachXdpProgram(ifindex_, id, row.mode).value());
  }
}

TEST_F(XdpProgramTest, LeavesAnotherProgram) {
  const uint32_t id = AttachXdpPass("theirs", "t0", XDP_FLAGS_DRV_MODE);
  const int unattached = LoadXdpPass("ours");
  EXPECT_FALSE(DetachXdpProgram(ifindex_, ProgramId(unattached), XdpMode::kDriver).value());
  EXPECT_FALSE(DetachXdpProgram(ifindex_, id, XdpMode::kGeneric).value());
  close(unattached);
  EXPECT_EQ(AttachedXdpPrograms(ifindex_).value().size(), 1u);
}

TEST_F(XdpProgramTest, ProgramOfALinkIsAnError) {
  const int program = LoadXdpPass("linked");
  const int link = bpf_link_create(program, static_cast<int>(ifindex_), BPF_XDP, nullptr);
  ASSERT_GE(link, 0);
  const uint32_t id = ProgramId(program);
  const XdpMode mode = AttachedXdpPrograms(ifindex_).value().at(0).mode;
  EXPECT_FALSE(DetachXdpProgram(ifindex_, id, mode).ok());
  EXPECT_EQ(AttachedXdpPrograms(ifindex_).value().size(), 1u);
  close(link);
  close(program);
  EXPECT_TRUE(AttachedXdpPrograms(ifindex_).value().empty());
}

TEST_F(XdpProgramTest, InterfaceUpOrDown) {
  EXPECT_TRUE(IsInterfaceUp(ifindex_).value());
  EXPECT_FALSE(IsInterfaceUp(if_nametoindex("t1")).value());
}

TEST_F(XdpProgramTest, PromiscuousFlag) {
  EXPECT_FALSE(IsPromiscuous(ifindex_).value());
  EXPECT_TRUE(SetPromiscuous(ifindex_, true).ok());
  EXPECT_TRUE(IsPromiscuous(ifindex_).value());
  EXPECT_TRUE(SetPromiscuous(ifindex_, true).ok());
  EXPECT_TRUE(SetPromiscuous(ifindex_, false).ok());
  EXPECT_FALSE(IsPromiscuous(ifindex_).value());
  EXPECT_EQ(std::system("ip -o link show t0 | grep -q ,UP"), 0) << "other flags must stay";
}

TEST_F(XdpProgramTest, Mtu) {
  EXPECT_EQ(InterfaceMtu(ifindex_).value(), 1500);
  EXPECT_TRUE(SetInterfaceMtu(ifindex_, 3000).ok());
  EXPECT_EQ(InterfaceMtu(ifindex_).value(), 3000);
  EXPECT_EQ(std::system("ip -o link show t0 | grep -q 'mtu 3000'"), 0);
  EXPECT_FALSE(SetInterfaceMtu(ifindex_, 10).ok());
  EXPECT_EQ(InterfaceMtu(ifindex_).value(), 3000);
}

TEST_F(XdpProgramTest, NoSuchInterface) {
  constexpr uint32_t kNone = 999999;
  EXPECT_EQ(InterfaceName(ifindex_).value(), "t0");
  EXPECT_EQ(InterfaceName(kNone).status().message(), "no interface with index 999999");
  EXPECT_TRUE(absl::IsNotFound(AttachedXdpPrograms(kNone).status()));
  EXPECT_TRUE(absl::IsNotFound(DetachXdpProgram(kNone, 1, XdpMode::kDriver).status()));
  EXPECT_TRUE(absl::IsNotFound(IsPromiscuous(kNone).status()));
  EXPECT_TRUE(absl::IsNotFound(SetPromiscuous(kNone, true)));
  EXPECT_TRUE(absl::IsNotFound(InterfaceMtu(kNone).status()));
  EXPECT_TRUE(absl::IsNotFound(SetInterfaceMtu(kNone, 1500)));
}

}  // namespace
}  // namespace penstock
