// SPDX-License-Identifier: BSD-3-Clause
//
// The log sink.

#include "lib/base/log.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace penstock {
namespace {

class CollectingSink final : public LogSink {
 public:
  void Write(Severity severity, absl::string_view line) override {
    errno = EIO;  // what a sink's own calls may do
    const std::lock_guard<std::mutex> lock(mutex_);
    lines_.emplace_back(severity, std::string(line));
  }

  std::vector<std::pair<Severity, std::string>> lines() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return lines_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::pair<Severity, std::string>> lines_;
};

class LogTest : public testing::Test {
 protected:
  LogTest() : level_(LogLevel()) {}
  ~LogTest() override {
    SetLogSink(nullptr);
    SetLogLevel(level_);
  }

 private:
  const Severity level_;
};

using Lines = std::vector<std::pair<Severity, std::string>>;

TEST_F(LogTest, TheSinkGetsWhatIsAtLeastTheLevel) {
  CollectingSink sink;
  SetLogSink(&sink);
  Log(Severity::kDebug, "dropped by the level at start");
  Log(Severity::kInfo, "port ", 0, " is up");
  SetLogLevel(Severity::kError);
  Log(Severity::kWarning, "dropped");
  Log(Severity::kError, "failed: ", absl::Hex(255));
  SetLogLevel(Severity::kDebug);
  Log(Severity::kDebug, "seen");
  EXPECT_EQ(sink.lines(), (Lines{{Severity::kInfo, "port 0 is up"},
                                 {Severity::kError, "failed: ff"},
                                 {Severity::kDebug, "seen"}}));
}

TEST_F(LogTest, SetLogSinkReturnsTheOneBefore) {
  CollectingSink first;
  CollectingSink second;
  EXPECT_EQ(SetLogSink(&first), nullptr);
  EXPECT_EQ(SetLogSink(&second), &first);
  Log(Severity::kError, "x");
  EXPECT_EQ(SetLogSink(nullptr), &second);
  EXPECT_TRUE(first.lines().empty());
  EXPECT_EQ(second.lines().size(), 1u);
}

TEST_F(LogTest, OneCallIsOneLine) {
  CollectingSink sink;
  SetLogSink(&sink);
  Log(Severity::kInfo, "a\npenstock: error: forged\r\x1b[31m\x7f", std::string(1, '\0'),
      "\xc3\xa9");
  ASSERT_EQ(sink.lines().size(), 1u);
  EXPECT_EQ(sink.lines()[0].second, "a penstock: error: forged  [31m  \xc3\xa9");
}

TEST_F(LogTest, LeavesErrnoAlone) {
  CollectingSink sink;
  SetLogSink(&sink);
  errno = ENOTTY;
  Log(Severity::kError, "x");
  EXPECT_EQ(errno, ENOTTY);
}

TEST_F(LogTest, WithoutASinkEachLineIsOneWriteToStandardError) {
  // A datagram socket in place of standard error keeps the bounds of each write.
  int sockets[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets), 0);
  const int saved = dup(STDERR_FILENO);
  ASSERT_GE(saved, 0);
  ASSERT_EQ(dup2(sockets[0], STDERR_FILENO), STDERR_FILENO);
  SetLogLevel(Severity::kDebug);
  Log(Severity::kDebug, "one");
  Log(Severity::kInfo, "two");
  Log(Severity::kWarning, "port ", 3, ": three");
  Log(Severity::kError, std::string(5000, 'x'));
  ASSERT_EQ(dup2(saved, STDERR_FILENO), STDERR_FILENO);
  close(saved);
  const std::string expected[] = {
      "penstock: debug: one\n",
      "penstock: info: two\n",
      "penstock: warning: port 3: three\n",
      "penstock: error: " + std::string(5000, 'x') + "\n",
  };
  for (const std::string& line : expected) {
    char buffer[8192];
    const ssize_t got = recv(sockets[1], buffer, sizeof(buffer), MSG_DONTWAIT);
    ASSERT_GT(got, 0);
    EXPECT_EQ(std::string(buffer, static_cast<size_t>(got)), line);
  }
  char byte;
  EXPECT_LT(recv(sockets[1], &byte, 1, MSG_DONTWAIT), 0);
  close(sockets[0]);
  close(sockets[1]);
}

TEST_F(LogTest, ThreadsMayLogWhileTheSinkChanges) {
  constexpr int kThreads = 4;
  constexpr int kLines = 500;
  CollectingSink sinks[2];
  SetLogSink(&sinks[0]);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < kLines; ++i) Log(Severity::kInfo, t, ":", i);
    });
  }
  for (int i = 0; i < 200; ++i) SetLogSink(&sinks[i % 2]);
  for (std::thread& thread : threads) thread.join();
  std::map<std::string, int> seen;
  for (CollectingSink& sink : sinks) {
    for (const auto& [severity, line] : sink.lines()) ++seen[line];
  }
  EXPECT_EQ(seen.size(), static_cast<size_t>(kThreads * kLines));
  for (const auto& [line, count] : seen) EXPECT_EQ(count, 1) << line;
}

}  // namespace
}  // namespace penstock
