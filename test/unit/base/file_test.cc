// SPDX-License-Identifier: BSD-3-Clause
//
// Whole files.

#include "lib/base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <thread>

#include "absl/strings/match.h"

namespace penstock {
namespace {

// Each test has an empty directory of its own.
class FileTest : public testing::Test {
 protected:
  FileTest() {
    std::string name = testing::TempDir() + "penstock_file_XXXXXX";
    directory_ = mkdtemp(name.data());
  }
  ~FileTest() override { std::filesystem::remove_all(directory_); }

  std::string Path(const std::string& name) const { return directory_ + "/" + name; }

  static void Put(const std::string& path, const std::string& contents) {
    std::ofstream(path, std::ios::binary) << contents;
  }
  static std::string Get(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::set<std::string> Listing() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
      names.insert(entry.path().filename());
    }
    return names;
  }

  std::string directory_;
};

using Names = std::set<std::string>;

TEST_F(FileTest, ReadsUpToTheLimit) {
  const std::string binary = std::string("a\0b\n", 4) + std::string(40000, 'x');
  Put(Path("f"), binary);
  Put(Path("empty"), "");
  EXPECT_EQ(ReadFile(Path("f"), binary.size()).value(), binary);
  EXPECT_EQ(ReadFile(Path("empty"), 0).value(), "");
  const absl::Status status = ReadFile(Path("f"), binary.size() - 1).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(status.message(), Path("f") + ": longer than the 40003 bytes accepted");
}

TEST_F(FileTest, AnEndlessFileStopsAtTheLimit) {
  EXPECT_EQ(ReadFile("/dev/zero", 100000).status().code(), absl::StatusCode::kOutOfRange);
}

TEST_F(FileTest, ReadErrorsNameTheCallAndThePath) {
  EXPECT_EQ(ReadFile(Path("none"), 10).status().message(),
            "open(" + Path("none") + "): No such file or directory");
  EXPECT_EQ(ReadFile(directory_, 10).status().message(),
            "read(" + directory_ + "): Is a directory");
}

TEST_F(FileTest, WritesANewFileForAllToRead) {
  const mode_t old_mask = umask(0077);
  const absl::Status status = WriteFileAtomically(Path("f"), "hello\n");
  umask(old_mask);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(Get(Path("f")), "hello\n");
  EXPECT_EQ(Listing(), Names{"f"});
  struct stat info;
  ASSERT_EQ(stat(Path("f").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0644u);
}

TEST_F(FileTest, AReaderOfTheOldFileKeepsIt) {
  Put(Path("f"), "old");
  std::ifstream reader(Path("f"));
  ASSERT_TRUE(WriteFileAtomically(Path("f"), "new, and longer").ok());
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(reader), {}), "old");
  EXPECT_EQ(Get(Path("f")), "new, and longer");
  EXPECT_EQ(Listing(), Names{"f"});
}

TEST_F(FileTest, AFailedWriteLeavesTheOldFileAndNothingElse) {
  Put(Path("f"), "old");
  // A file may grow to 1000 bytes only: the write fails half-way, as on a full disk.
  rlimit old_limit;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  const auto old_handler = signal(SIGXFSZ, SIG_IGN);
  const rlimit small = {1000, old_limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const absl::Status status = WriteFileAtomically(Path("f"), std::string(5000, 'x'));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old_limit), 0);
  signal(SIGXFSZ, old_handler);
  EXPECT_FALSE(status.ok());
  EXPECT_TRUE(absl::StrContains(status.message(), "File too large")) << status;
  EXPECT_EQ(Get(Path("f")), "old");
  EXPECT_EQ(Listing(), Names{"f"});
}

TEST_F(FileTest, WriteErrorsNameThePath) {
  Put(Path("f"), "");
  std::filesystem::create_directory(Path("d"));
  for (const std::string& path : {Path("none/f"), Path("f/f"), Path("d")}) {
    const absl::Status status = WriteFileAtomically(path, "x");
    EXPECT_FALSE(status.ok()) << path;
    EXPECT_TRUE(absl::StrContains(status.message(), path)) << status;
  }
  EXPECT_EQ(Listing(), (Names{"d", "f"}));
}

TEST_F(FileTest, ASymbolicLinkStaysAndItsTargetIsReplaced) {
  std::filesystem::create_directory(Path("d"));
  Put(Path("d/target"), "old");
  std::filesystem::create_symlink("d/target", Path("link"));
  ASSERT_TRUE(WriteFileAtomically(Path("link"), "new").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(Path("link")));
  EXPECT_EQ(Get(Path("d/target")), "new");
}

TEST_F(FileTest, WhatIsNoRegularFileIsWrittenInPlace) {
  // A pipe of the test's own stands for devices too: a fault here, run by root, would replace the
  // machine's /dev/null by a file.
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  // Nobody reads: an error at once, not a wait.
  EXPECT_EQ(WriteFileAtomically(Path("pipe"), "x").message(),
            "open(" + Path("pipe") + "): No such device or address");
  // More than a pipe holds, so that the writer has to wait for the reader.
  const std::string contents(200000, 'y');
  const int fd = open(Path("pipe").c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(fcntl(fd, F_SETFL, 0), 0);
  absl::Status status;
  std::atomic<bool> written{false};
  std::thread writer([&] {
    status = WriteFileAtomically(Path("pipe"), contents);
    written = true;
  });
  std::string received;
  char buffer[4096];
  while (received.size() < contents.size()) {
    const bool was_written = written;
    const ssize_t got = read(fd, buffer, sizeof(buffer));
    // The end of the pipe is also what is read before the writer has opened it.
    if (got < 0 || (got == 0 && was_written)) break;
    received.append(buffer, static_cast<size_t>(got));
  }
  writer.join();
  close(fd);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(received, contents);
  EXPECT_TRUE(std::filesystem::is_fifo(Path("pipe")));
}

TEST_F(FileTest, APathInAMessageMovesNoCursor) {
  EXPECT_EQ(ReadFile("/nothere/\x1b[2J\x7f\x0fl\n/p\xc3\xa4ns", 100).status().message(),
            "open(/nothere/\\x1b[2J\\x7f\\x0fl\\n/p\xc3\xa4ns): No such file or directory");
}

}  // namespace
}  // namespace penstock
