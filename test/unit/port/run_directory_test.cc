// SPDX-License-Identifier: BSD-3-Clause
//
// The run directory, with real processes as its living and dead instances.

#include "lib/port/run_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "lib/text/json_file.h"
#include "test/unit/port/sandbox.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

class RunDirectoryTest : public testing::Test {
 protected:
  TempDirectory temp_;
  const std::string base_ = temp_ / "run/penstock";
};

TEST(FilePrefixTest, Validation) {
  for (const char* good : {"rte", "penstock_1", "A-b.c_9", "x"}) {
    EXPECT_TRUE(ValidateFilePrefix(good).ok()) << good;
  }
  const std::string longest(64, 'a');
  EXPECT_TRUE(ValidateFilePrefix(longest).ok());
  for (const std::string& bad :
       {std::string(), longest + "a", std::string("a/b"), std::string("."), std::string(".."),
        std::string(".lock"), std::string("a b"), std::string("a\n"), std::string("a\0b", 3),
        std::string("é"), std::string("a%s"), std::string("*")}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ValidateFilePrefix(bad))) << bad;
  }
}

TEST(EalRuntimeDirectoryTest, FollowsTheEnvironment) {
  const struct {
    const char* runtime_directory;
    const char* xdg;
    std::string expected_as_root;
    std::string expected_as_user;
  } rows[] = {
      {nullptr, nullptr, "/var/run/dpdk/p", "/tmp/dpdk/p"},
      {nullptr, "/run/user/7", "/var/run/dpdk/p", "/run/user/7/dpdk/p"},
      {"/run/unit", "/run/user/7", "/run/unit/dpdk/p", "/run/unit/dpdk/p"},
  };
  for (const auto& row : rows) {
    unsetenv("RUNTIME_DIRECTORY");
    unsetenv("XDG_RUNTIME_DIR");
    if (row.runtime_directory != nullptr) setenv("RUNTIME_DIRECTORY", row.runtime_directory, 1);
    if (row.xdg != nullptr) setenv("XDG_RUNTIME_DIR", row.xdg, 1);
    EXPECT_EQ(EalRuntimeDirectory("p"),
              getuid() == 0 ? row.expected_as_root : row.expected_as_user);
  }
  unsetenv("RUNTIME_DIRECTORY");
  unsetenv("XDG_RUNTIME_DIR");
}

TEST_F(RunDirectoryTest, IsPrivateAndGoesAway) {
  {
    const auto run = RunDirectory::Create(base_, "one");
    ASSERT_TRUE(run.ok()) << run.status();
    EXPECT_EQ((*run)->path(), base_ + "/one");
    struct stat status;
    ASSERT_EQ(stat((*run)->path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0700u);
    ASSERT_EQ(stat(base_.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0755u);
  }
  EXPECT_TRUE(std::filesystem::exists(base_));
  EXPECT_FALSE(std::filesystem::exists(base_ + "/one"));
}

TEST_F(RunDirectoryTest, RecordSaysWhoAndWhat) {
  const auto run = RunDirectory::Create(base_, "one").value();
  ASSERT_TRUE(run->RecordInterface({.name = "eth1", .ifindex = 3, .xdp_program_id = 0}).ok());
  ASSERT_TRUE(run->RecordInterface({.name = "eth2", .ifindex = 4, .was_promiscuous = true}).ok());
  ASSERT_TRUE(run->RecordInterface({.name = "eth1",
                                    .ifindex = 3,
                                    .xdp_program_id = 77,
                                    .xdp_mode = XdpMode::kGeneric,
                                    .found_mtu = 1500,
                                    .set_mtu = 9000})
                  .ok());
  const RunRecord read = ReadRunRecord(run->path()).value();
  EXPECT_EQ(read.life.pid, getpid());
  EXPECT_EQ(read.file_prefix, "one");
  EXPECT_TRUE(ProcessExists(read.life));
  EXPECT_GT(read.life.net_namespace_inode, 0u);
  ASSERT_EQ(read.interfaces.size(), 2u);
  EXPECT_EQ(read.interfaces[0].name, "eth1");
  EXPECT_EQ(read.interfaces[0].ifindex, 3u);
  EXPECT_EQ(read.interfaces[0].xdp_program_id, 77u);
  EXPECT_EQ(read.interfaces[0].xdp_mode, XdpMode::kGeneric);
  EXPECT_FALSE(read.interfaces[0].was_promiscuous);
  EXPECT_EQ(read.interfaces[0].found_mtu, 1500);
  EXPECT_EQ(read.interfaces[0].set_mtu, 9000);
  EXPECT_EQ(read.interfaces[1].set_mtu, 0);
  EXPECT_TRUE(read.interfaces[1].was_promiscuous);

  ASSERT_TRUE(run->ForgetInterface(3).ok());
  EXPECT_EQ(ReadRunRecord(run->path()).value().interfaces.size(), 1u);
}

TEST_F(RunDirectoryTest, StaysWhileAnInterfaceIsRecorded) {
  auto run = RunDirectory::Create(base_, "one").value();
  ASSERT_TRUE(run->RecordInterface({.name = "eth1", .ifindex = 3}).ok());
  run.reset();
  EXPECT_TRUE(ReadRunRecord(base_ + "/one").ok());
}

TEST_F(RunDirectoryTest, AForkedChildDoesNotRemoveIt) {
  auto run = RunDirectory::Create(base_, "one").value();
  const Child child([&run] { run.reset(); });
  EXPECT_TRUE(std::filesystem::exists(base_ + "/one"));
}

TEST_F(RunDirectoryTest, SecondInstanceIsToldThePid) {
  std::unique_ptr<RunDirectory> run;
  Child child([&] { run = RunDirectory::Create(base_, "one").value(); });
  const absl::Status second = RunDirectory::Create(base_, "one").status();
  EXPECT_TRUE(absl::IsAlreadyExists(second)) << second;
  EXPECT_THAT(second.message(), HasSubstr(absl::StrCat("PID ", child.pid())));
  EXPECT_THAT(second.message(), HasSubstr("--file-prefix"));
  EXPECT_TRUE(RunDirectory::Create(base_, "two").ok());

  const Life life = ReadRunRecord(base_ + "/one").value().life;
  EXPECT_TRUE(IsLiving(base_ + "/one", life));
  // Dead from the moment it is killed, not from when its parent takes note.
  child.KillOnly();
  EXPECT_FALSE(ProcessExists(life));
  EXPECT_FALSE(IsLiving(base_ + "/one", life));
  EXPECT_TRUE(absl::IsFailedPrecondition(RunDirectory::Create(base_, "one").status()));
}

TEST_F(RunDirectoryTest, AnotherProcessWithItsPidIsNotIt) {
  const Life own = CurrentLife().value();
  EXPECT_TRUE(ProcessExists(own));
  Life changed = own;
  changed.start_time_ticks += 1;
  EXPECT_FALSE(ProcessExists(changed));
  changed = own;
  changed.boot_id = "00000000-0000-0000-0000-000000000000";
  EXPECT_FALSE(ProcessExists(changed));
  changed = own;
  changed.pid = 0x7fffffff;
  EXPECT_FALSE(ProcessExists(changed));
}

TEST_F(RunDirectoryTest, ALockThatAForkedChildKeptIsNoLife) {
  std::unique_ptr<RunDirectory> run;
  pid_t grandchild = 0;
  int pids[2];
  ASSERT_EQ(pipe(pids), 0);
  {
    Child child([&] {
      run = RunDirectory::Create(base_, "one").value();
      grandchild = fork();
      if (grandchild == 0) {
        while (true) pause();
      }
      if (write(pids[1], &grandchild, sizeof(grandchild)) != sizeof(grandchild)) _exit(1);
    });
    ASSERT_EQ(read(pids[0], &grandchild, sizeof(grandchild)), ssize_t{sizeof(grandchild)});
    EXPECT_TRUE(IsLiving(base_ + "/one", ReadRunRecord(base_ + "/one").value().life));
  }
  EXPECT_TRUE(absl::IsUnavailable(FileLock::OfDirectory(base_ + "/one").status()));
  EXPECT_FALSE(IsLiving(base_ + "/one", ReadRunRecord(base_ + "/one").value().life));
  kill(grandchild, SIGKILL);
  close(pids[0]);
  close(pids[1]);
}

TEST_F(RunDirectoryTest, OfAnotherPidNamespaceTheLockDecides) {
  std::unique_ptr<RunDirectory> run;
  Child child([&] { run = RunDirectory::Create(base_, "one").value(); });
  Life life = ReadRunRecord(base_ + "/one").value().life;
  life.pid_namespace_inode += 1;
  life.pid = 0x7fffffff;
  EXPECT_TRUE(IsLiving(base_ + "/one", life));
  child.Kill();
  EXPECT_FALSE(IsLiving(base_ + "/one", life));
}

TEST_F(RunDirectoryTest, RefusesWhatItCannotUse) {
  EXPECT_TRUE(absl::IsInvalidArgument(RunDirectory::Create(base_, "../x").status()));
  WriteText(temp_ / "file", "");
  const absl::Status status = RunDirectory::Create(temp_ / "file", "one").status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(status.message(), HasSubstr("file"));
}

TEST_F(RunDirectoryTest, BadRecordsAreRefused) {
  RunRecord record;
  record.file_prefix = "one";
  record.eal_runtime_directory = "/var/run/dpdk/one";
  record.interfaces.push_back({.name = "eth1", .ifindex = 3});
  const Json good = ToJson(record);
  ASSERT_TRUE(RunRecordFromJson(good).ok());
  for (const auto& [key, unused] : good.items()) {
    Json missing = good;
    missing.erase(key);
    EXPECT_FALSE(RunRecordFromJson(missing).ok()) << key;
    Json mistyped = good;
    mistyped[key] = Json::object({{"a", true}});
    EXPECT_FALSE(RunRecordFromJson(mistyped).ok()) << key;
  }
  for (const char* directory : {"", "/", "/etc", "/var/run/dpdk/other", "one"}) {
    Json elsewhere = good;
    elsewhere["eal_runtime_directory"] = directory;
    EXPECT_FALSE(RunRecordFromJson(elsewhere).ok()) << directory;
  }
  Json mode = good;
  mode["interfaces"][0]["xdp_mode"] = "skb";
  EXPECT_FALSE(RunRecordFromJson(mode).ok());
  WriteText(base_ + "/one/state.json", "{");
  EXPECT_THAT(ReadRunRecord(base_ + "/one").status().message(), HasSubstr("state.json"));
}

}  // namespace
}  // namespace penstock
