// SPDX-License-Identifier: BSD-3-Clause
//
// What is added to a user's EAL arguments, by a table; hugepages against the kernel's own account;
// start and end in a process of their own. Main lcore.

#include "lib/port/eal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lib/port/run_directory.h"

namespace penstock {
namespace {

using testing::HasSubstr;

constexpr uint64_t kMib = uint64_t{1} << 20;
constexpr uint64_t kGib = uint64_t{1} << 30;

struct Row {
  const char* what;
  std::vector<std::string> user;
  uint64_t memory_bytes;
  uint64_t free_hugepages;
  std::vector<std::string> added;  // Behind the user's own.
  bool notes = false;
};

TEST(CompleteEalArguments, AddsWhatTheUserLeftOpenAndNothingElse) {
  const Row rows[] = {
      {"hugepages there", {"-l", "0,1"}, 0, kGib, {"--file-prefix=p1"}},
      {"none there", {"-l", "0,1"}, 0, 0, {"--file-prefix=p1", "--no-huge", "-m", "1024"}, true},
      {"too few there", {}, 0, 128 * kMib, {"--file-prefix=p1", "--no-huge", "-m", "1024"}, true},
      {"enough for what was asked", {}, 512 * kMib, 512 * kMib, {"--file-prefix=p1", "-m", "512"}},
      {"too few for what was asked",
       {},
       768 * kMib,
       512 * kMib,
       {"--file-prefix=p1", "--no-huge", "-m", "768"},
       true},
      {"a prefix of the user's", {"--file-prefix=mine"}, 0, kGib, {}},
      {"the same in two words", {"--file-prefix", "mine"}, 0, kGib, {}},
      {"--no-huge chosen", {"--no-huge"}, 0, 0, {"--file-prefix=p1", "-m", "1024"}},
      {"--no-huge and memory chosen", {"--no-huge", "-m", "64"}, 0, 0, {"--file-prefix=p1"}},
      {"-m beats the default", {"-m", "64"}, 0, 0, {"--file-prefix=p1", "--no-huge"}, true},
      {"-mN as well", {"-m64"}, 0, 0, {"--file-prefix=p1", "--no-huge"}, true},
      {"-m=N as well", {"-m=64"}, 0, 0, {"--file-prefix=p1", "--no-huge"}, true},
      {"a directory chosen", {"--huge-dir=/mnt/huge"}, 0, 0, {"--file-prefix=p1"}},
      {"memory by socket chosen", {"--socket-mem=256"}, 0, 0, {"--file-prefix=p1"}},
      {"--in-memory chosen", {"--in-memory"}, 0, 0, {"--file-prefix=p1"}},
      {"a look-alike is none of them",
       {"--no-hugepages-please"},
       0,
       0,
       {"--file-prefix=p1", "--no-huge", "-m", "1024"},
       true},
  };
  for (const Row& row : rows) {
    const EalArguments complete =
        CompleteEalArguments(row.user, row.memory_bytes, {.free_bytes = row.free_hugepages}, "p1");
    std::vector<std::string> expected = row.user;
    expected.insert(expected.end(), row.added.begin(), row.added.end());
    EXPECT_EQ(complete.arguments, expected) << row.what;
    EXPECT_EQ(complete.notes.size(), row.notes ? 1U : 0U) << row.what;
    EXPECT_EQ(complete.file_prefix,
              row.added.empty() || row.added[0] != "--file-prefix=p1" ? "mine" : "p1")
        << row.what;
  }
}

TEST(CompleteEalArguments, SaysWhatItDidWithoutHugepagesAndWhatChangesThat) {
  const EalArguments complete = CompleteEalArguments({}, 0, {}, "p");
  ASSERT_EQ(complete.notes.size(), 1U);
  EXPECT_THAT(complete.notes[0], HasSubstr(" of free hugepages, "));
  EXPECT_THAT(complete.notes[0], HasSubstr("running without them, on "));
  EXPECT_THAT(complete.notes[0], HasSubstr("(--memory=SIZE changes that)"));
}

TEST(CompleteEalArguments, SpeaksOfNoMemoryThatItDidNotChoose) {
  const std::vector<std::string> user = {"-m300"};
  const EalArguments complete = CompleteEalArguments(user, 0, {}, "p");
  ASSERT_EQ(complete.notes.size(), 1U);
  EXPECT_THAT(complete.notes[0], HasSubstr("on as much ordinary memory as -m says"));
}

TEST(FindHugepages, FindsNoFewerThanTheKernelsOwnSum) {
  std::ifstream meminfo("/proc/meminfo");
  uint64_t pages = 0;
  uint64_t kib = 0;
  for (std::string word; meminfo >> word;) {
    if (word == "HugePages_Free:") meminfo >> pages;
    if (word == "Hugepagesize:") meminfo >> kib;
  }
  std::ifstream mounts("/proc/self/mounts");
  const std::string all((std::istreambuf_iterator<char>(mounts)), std::istreambuf_iterator<char>());
  const Hugepages found = FindHugepages();
  EXPECT_GE(found.reserved_free_bytes, pages * kib * 1024);  // Pages of other sizes come on top.
  // As root everything that is mounted may be written to.
  if (geteuid() == 0) {
    EXPECT_EQ(found.mounted, all.find(" hugetlbfs ") != std::string::npos);
  }
  EXPECT_EQ(found.free_bytes, found.mounted ? found.reserved_free_bytes : 0);
}

// ---- in a process of its own ----

struct Outcome {
  std::string output;
  int status;
};

Outcome Probe(const std::string& arguments) {
  Outcome outcome;
  FILE* const pipe = popen(absl::StrCat(EAL_PROBE, " ", arguments, " 2>/dev/null").c_str(), "r");
  EXPECT_NE(pipe, nullptr);
  char buffer[512];
  while (const size_t n = fread(buffer, 1, sizeof(buffer), pipe)) outcome.output.append(buffer, n);
  outcome.status = pclose(pipe);
  return outcome;
}

std::string Prefix() { return absl::StrCat("penstock-probe-", getpid()); }

std::string Common() {
  return absl::StrCat("--no-huge -m 64 --no-pci --no-shconf --no-telemetry --lcores=0@",
                      sched_getcpu(), " --file-prefix=", Prefix());
}

TEST(StartEal, StartsAndLeavesNothingBehind) {
  const Outcome outcome = Probe(Common());
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.output, "started: OK\nduring: present\nafter: absent\n");
}

TEST(StartEal, AFailureCarriesEalsOwnReason) {
  const Outcome outcome = Probe(Common() + " --vdev=net_nonsense0");
  EXPECT_NE(outcome.status, 0);
  EXPECT_THAT(outcome.output, HasSubstr("started: --vdev=net_nonsense0: no driver"));
  // A start that failed may have found another instance's directory under its prefix, so it leaves
  // what is there to the recovery of the next start.
  std::filesystem::remove_all(EalRuntimeDirectory(Prefix()));
}

}  // namespace
}  // namespace penstock
