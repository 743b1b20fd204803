// SPDX-License-Identifier: BSD-3-Clause
//
// Recovery from dead instances, on real interfaces, file systems and processes, all in namespaces
// of the test. What needs them skips without privileges.

#include "lib/port/recovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/if_link.h>
#include <sys/file.h>

#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/text/json_file.h"
#include "test/unit/port/sandbox.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RecoveryTest : public testing::Test {
 protected:
  // The record of an instance of this namespace that has died: nobody holds its lock.
  RunRecord DeadRecord() {
    RunRecord record;
    record.life = CurrentLife().value();
    record.file_prefix = "dead";
    record.eal_runtime_directory = temp_ / "dpdk/dead";
    return record;
  }

  void Leave(const RunRecord& record) {
    std::filesystem::create_directories(base_ + "/dead");
    ASSERT_TRUE(WriteJsonFile(base_ + "/dead/state.json", ToJson(record)).ok());
  }

  std::string RecoverText() {
    const auto lines = Recover(base_);
    EXPECT_TRUE(lines.ok()) << lines.status();
    return absl::StrJoin(lines.value_or(std::vector<std::string>()), "\n");
  }

  bool Remains() { return std::filesystem::exists(base_ + "/dead"); }

  TempDirectory temp_;
  const std::string base_ = temp_ / "penstock";
};

TEST_F(RecoveryTest, NothingToDo) {
  EXPECT_THAT(Recover(base_).value(), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(base_)) << "looking must not make it";
  std::filesystem::create_directories(base_);
  EXPECT_THAT(Recover(base_).value(), IsEmpty());
}

TEST_F(RecoveryTest, ALivingInstanceIsLeftAlone) {
  std::unique_ptr<RunDirectory> run;
  Child child([&] {
    run = RunDirectory::Create(base_, "dead").value();
    run->RecordInterface({.name = "eth1", .ifindex = 999999}).IgnoreError();
  });
  EXPECT_THAT(Recover(base_).value(), IsEmpty());
  EXPECT_EQ(ReadRunRecord(base_ + "/dead").value().interfaces.size(), 1u);
  child.Kill();
  EXPECT_THAT(RecoverText(), HasSubstr("removed"));
  EXPECT_FALSE(Remains());
}

TEST_F(RecoveryTest, AnotherBootLeftFilesOnly) {
  RunRecord record = DeadRecord();
  record.life.boot_id = "00000000-0000-0000-0000-000000000000";
  WriteText(record.eal_runtime_directory + "/config", "x");
  Leave(record);
  EXPECT_THAT(
      Recover(base_).value(),
      ElementsAre(HasSubstr(absl::StrCat("left by PID ", record.life.pid)),
                  HasSubstr("removed " + record.eal_runtime_directory), base_ + "/dead: removed"));
  EXPECT_FALSE(Remains());
  EXPECT_FALSE(std::filesystem::exists(record.eal_runtime_directory));
  EXPECT_TRUE(std::filesystem::exists(temp_ / "dpdk"));
}

TEST_F(RecoveryTest, AnInterruptedStartIsRemoved) {
  std::filesystem::create_directories(base_ + "/dead");
  EXPECT_THAT(RecoverText(), HasSubstr("interrupted"));
  EXPECT_FALSE(Remains());
}

TEST_F(RecoveryTest, WhatCannotBeReadIsLeftAndNamed) {
  WriteText(base_ + "/dead/state.json", "{\"pid\": 1}");
  EXPECT_THAT(RecoverText(), HasSubstr("dead/state.json"));
  EXPECT_TRUE(Remains());
}

TEST_F(RecoveryTest, WhatIsNotOursIsNotLookedAt) {
  WriteText(base_ + "/file", "x");
  WriteText(base_ + "/.hidden/x", "x");
  WriteText(temp_ / "elsewhere/x", "x");
  std::filesystem::create_directory_symlink(temp_ / "elsewhere", base_ + "/link");
  EXPECT_THAT(Recover(base_).value(), IsEmpty());
  EXPECT_TRUE(std::filesystem::exists(temp_ / "elsewhere/x"));
  EXPECT_TRUE(std::filesystem::exists(base_ + "/.hidden/x"));
}

TEST_F(RecoveryTest, EalFilesInUseAreLeft) {
  const RunRecord record = DeadRecord();
  const std::string config = record.eal_runtime_directory + "/config";
  WriteText(config, "x");
  Leave(record);
  Child other([&config] {
    struct flock lock = {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    if (fcntl(open(config.c_str(), O_RDWR), F_SETLK, &lock) != 0) _exit(1);
  });
  EXPECT_THAT(RecoverText(), HasSubstr("is in use"));
  EXPECT_TRUE(std::filesystem::exists(config));
  EXPECT_FALSE(Remains());
}

TEST_F(RecoveryTest, TwoAtATimeDoItOnce) {
  for (int i = 0; i < 50; ++i) {
    RunRecord record = DeadRecord();
    record.life.boot_id = "00000000-0000-0000-0000-000000000000";
    Leave(record);
    std::vector<std::string> first, second;
    std::thread other([&] { first = Recover(base_).value(); });
    second = Recover(base_).value();
    other.join();
    EXPECT_EQ(first.size() + second.size(), 2u);
    EXPECT_FALSE(Remains());
  }
}

class PrivilegedRecoveryTest : public RecoveryTest {
 protected:
  void SetUp() override {
    if (!namespaces_.entered()) GTEST_SKIP() << "needs CAP_SYS_ADMIN";
    ifindex_ = if_nametoindex("t0");
  }

  Namespaces namespaces_;
  uint32_t ifindex_ = 0;
};

TEST_F(PrivilegedRecoveryTest, DetachesItsProgramInEitherMode) {
  for (const uint32_t flag : {XDP_FLAGS_DRV_MODE, XDP_FLAGS_SKB_MODE}) {
    RunRecord record = DeadRecord();
    record.interfaces.push_back(
        {.name = "t0", .ifindex = ifindex_, .xdp_program_id = AttachXdpPass("ours", "t0", flag)});
    Leave(record);
    EXPECT_THAT(RecoverText(),
                HasSubstr(absl::StrCat("t0: XDP program ", record.interfaces[0].xdp_program_id,
                                       " (ours, ")));
    EXPECT_THAT(AttachedXdpPrograms(ifindex_).value(), IsEmpty());
    EXPECT_FALSE(Remains());
  }
}

TEST_F(PrivilegedRecoveryTest, LeavesAnothersProgramAndNamesItInThePlaceOfOurs) {
  const uint32_t theirs = AttachXdpPass("theirs", "t0", XDP_FLAGS_DRV_MODE);
  for (const uint32_t recorded : {theirs - 1, 0u}) {
    RunRecord record = DeadRecord();
    record.interfaces.push_back({.name = "t0", .ifindex = ifindex_, .xdp_program_id = recorded});
    Leave(record);
    const std::string line =
        absl::StrCat("t0: XDP program ", theirs, " (theirs, driver mode) is not ours");
    // Where we attached none, theirs is no affair of ours.
    EXPECT_THAT(RecoverText(), recorded != 0 ? testing::Matcher<std::string>(HasSubstr(line))
                                             : testing::Not(HasSubstr("XDP program")));
    EXPECT_EQ(AttachedXdpPrograms(ifindex_).value().size(), 1u);
    EXPECT_FALSE(Remains());
  }
}

TEST_F(PrivilegedRecoveryTest, WhatCannotBeUndoneKeepsTheRecord) {
  const int program = LoadXdpPass("linked");
  const int link = bpf_link_create(program, static_cast<int>(ifindex_), BPF_XDP, nullptr);
  ASSERT_GE(link, 0);
  RunRecord record = DeadRecord();
  record.interfaces.push_back(
      {.name = "t0", .ifindex = ifindex_, .xdp_program_id = ProgramId(program)});
  Leave(record);
  EXPECT_THAT(RecoverText(), HasSubstr("stays: bpf_xdp_detach"));
  EXPECT_TRUE(Remains());
  close(link);
  close(program);
  RecoverText();
  EXPECT_FALSE(Remains());
}

TEST_F(PrivilegedRecoveryTest, PromiscuousFlagGoesBackToWhatItWas) {
  const struct {
    bool before;
    bool now;
    bool after;
  } rows[] = {
      {false, true, false}, {true, true, true}, {false, false, false}, {true, false, false}};
  for (const auto& row : rows) {
    ASSERT_TRUE(SetPromiscuous(ifindex_, row.now).ok());
    RunRecord record = DeadRecord();
    record.interfaces.push_back({.name = "t0", .ifindex = ifindex_, .was_promiscuous = row.before});
    Leave(record);
    RecoverText();
    EXPECT_EQ(IsPromiscuous(ifindex_).value(), row.after) << row.before << row.now;
  }
}

TEST_F(PrivilegedRecoveryTest, TheMtuGoesBackUnlessSomebodyElseChangedItSince) {
  const struct {
    uint16_t found;
    uint16_t set;
    uint16_t now;
    uint16_t after;
  } rows[] = {{1500, 3000, 3000, 1500}, {1500, 3000, 2000, 2000}, {0, 0, 3000, 3000}};
  for (const auto& row : rows) {
    ASSERT_TRUE(SetInterfaceMtu(ifindex_, row.now).ok());
    RunRecord record = DeadRecord();
    record.interfaces.push_back(
        {.name = "t0", .ifindex = ifindex_, .found_mtu = row.found, .set_mtu = row.set});
    Leave(record);
    RecoverText();
    EXPECT_EQ(InterfaceMtu(ifindex_).value(), row.after) << row.set << " " << row.now;
    EXPECT_FALSE(Remains());
  }
}

TEST_F(PrivilegedRecoveryTest, AnInterfaceThatIsGoneNeedsNothing) {
  RunRecord record = DeadRecord();
  record.interfaces.push_back({.name = "gone", .ifindex = 999999, .xdp_program_id = 1});
  Leave(record);
  RecoverText();
  EXPECT_FALSE(Remains());
}

TEST_F(PrivilegedRecoveryTest, ARenamedInterfaceIsFound) {
  RunRecord record = DeadRecord();
  record.interfaces.push_back({.name = "t0", .ifindex = ifindex_});
  Leave(record);
  ASSERT_TRUE(SetPromiscuous(ifindex_, true).ok());
  ASSERT_EQ(std::system("ip link set t0 down && ip link set t0 name renamed"), 0);
  EXPECT_THAT(RecoverText(), HasSubstr("renamed: promiscuous flag cleared"));
}

TEST_F(PrivilegedRecoveryTest, RemovesTheDispatchersPins) {
  const std::string bpffs = temp_ / "bpf";
  std::filesystem::create_directories(bpffs);
  ASSERT_EQ(mount("bpf", bpffs.c_str(), "bpf", 0, nullptr), 0);
  const uint32_t id = AttachXdpPass("xdp_dispatcher", "t0", XDP_FLAGS_DRV_MODE);
  const std::string pins = absl::StrCat(bpffs, "/xdp/dispatch-", ifindex_, "-", id);
  const std::string others = absl::StrCat(bpffs, "/xdp/dispatch-", ifindex_, "-", id + 1);
  std::filesystem::create_directories(pins);
  std::filesystem::create_directories(others);
  const int component = LoadXdpPass("component");
  const uint32_t component_id = ProgramId(component);
  ASSERT_EQ(bpf_obj_pin(component, (pins + "/prog0-prog").c_str()), 0);
  close(component);

  RunRecord record = DeadRecord();
  record.interfaces.push_back({.name = "t0", .ifindex = ifindex_, .xdp_program_id = id});
  Leave(record);
  EXPECT_THAT(RecoverText(), HasSubstr("removed " + pins));
  EXPECT_FALSE(std::filesystem::exists(pins));
  EXPECT_TRUE(std::filesystem::exists(others));
  const int left = bpf_prog_get_fd_by_id(component_id);
  EXPECT_LT(left, 0) << "the component is still loaded";
  if (left >= 0) close(left);
  ASSERT_EQ(umount(bpffs.c_str()), 0);
}

TEST_F(PrivilegedRecoveryTest, RemovesItsHugepageFilesOnly) {
  const std::string huge = temp_ / "huge";
  std::filesystem::create_directories(huge);
  ASSERT_EQ(mount("hugetlbfs", huge.c_str(), "hugetlbfs", 0, nullptr), 0);
  for (const char* name : {"deadmap_0", "deadmap_12", "deadmap_", "deadmap_x", "undeadmap_0",
                           "dead2map_0", "deadmap_3"}) {
    close(open((huge + "/" + name).c_str(), O_CREAT | O_RDWR, 0600));
  }
  const int used = open((huge + "/deadmap_3").c_str(), O_RDWR);
  ASSERT_EQ(flock(used, LOCK_SH), 0);

  Leave(DeadRecord());
  const std::string text = RecoverText();
  EXPECT_THAT(text, HasSubstr("removed 2 hugepage files of prefix dead"));
  EXPECT_THAT(text, HasSubstr("deadmap_3"));
  EXPECT_TRUE(Remains());
  close(used);
  RecoverText();
  EXPECT_FALSE(Remains());
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(huge)) {
    left.push_back(entry.path().filename());
  }
  EXPECT_THAT(left,
              testing::UnorderedElementsAre("deadmap_", "deadmap_x", "undeadmap_0", "dead2map_0"));
  ASSERT_EQ(umount(huge.c_str()), 0);
}

TEST_F(PrivilegedRecoveryTest, AnotherNamespaceIsLeftUntilItIsGone) {
  int pipe_fds[2];
  ASSERT_EQ(pipe(pipe_fds), 0);
  Child other([&] {
    if (unshare(CLONE_NEWNET) != 0) _exit(1);
    const Life life = CurrentLife().value();
    if (write(pipe_fds[1], &life.net_namespace_inode, 8) != 8 ||
        write(pipe_fds[1], &life.net_namespace_cookie, 8) != 8) {
      _exit(1);
    }
  });
  RunRecord record = DeadRecord();
  ASSERT_EQ(read(pipe_fds[0], &record.life.net_namespace_inode, 8), 8);
  ASSERT_EQ(read(pipe_fds[0], &record.life.net_namespace_cookie, 8), 8);
  close(pipe_fds[0]);
  close(pipe_fds[1]);
  // Here, that interface index is another interface.
  record.interfaces.push_back({.name = "t0", .ifindex = ifindex_});
  ASSERT_TRUE(SetPromiscuous(ifindex_, true).ok());
  Leave(record);
  EXPECT_THAT(RecoverText(), HasSubstr("network namespace"));
  EXPECT_TRUE(Remains());

  // Bound to a name, as `ip netns add` does, it lives on without its process.
  const std::string name = temp_ / "named";
  WriteText(name, "");
  ASSERT_EQ(mount(absl::StrCat("/proc/", other.pid(), "/ns/net").c_str(), name.c_str(), nullptr,
                  MS_BIND, nullptr),
            0);
  other.Kill();
  RecoverText();
  EXPECT_TRUE(Remains());

  ASSERT_EQ(umount(name.c_str()), 0);
  RecoverText();
  EXPECT_FALSE(Remains());
  EXPECT_TRUE(IsPromiscuous(ifindex_).value());
}

TEST_F(PrivilegedRecoveryTest, AReusedNamespaceNumberIsAnotherNamespace) {
  RunRecord record = DeadRecord();
  if (record.life.net_namespace_cookie == 0) GTEST_SKIP() << "a kernel without namespace cookies";
  record.life.net_namespace_cookie += 1;
  record.interfaces.push_back({.name = "t0", .ifindex = ifindex_});
  ASSERT_TRUE(SetPromiscuous(ifindex_, true).ok());
  Leave(record);
  RecoverText();
  EXPECT_FALSE(Remains());
  EXPECT_TRUE(IsPromiscuous(ifindex_).value());
}

}  // namespace
}  // namespace penstock
