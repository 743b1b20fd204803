// SPDX-License-Identifier: BSD-3-Clause
//
// What the tests of machine state share: a directory, namespaces and processes of their own. Main
// thread of the test. No temporary thing outlives its object.

#ifndef PENSTOCK_TEST_UNIT_PORT_SANDBOX_H_
#define PENSTOCK_TEST_UNIT_PORT_SANDBOX_H_

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/bpf.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

namespace penstock {

class TempDirectory {
 public:
  TempDirectory() {
    std::string name = std::filesystem::path(testing::TempDir()) / "penstock-XXXXXX";
    path_ = mkdtemp(name.data());
  }
  ~TempDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline void WriteText(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << text;
}

// Network and mount namespaces for the calling thread, left again by the destructor. With a veth
// pair t0, t1 in it. Ask entered() first: without privileges there are none.
class Namespaces {
 public:
  Namespaces()
      : net_(open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)),
        mnt_(open("/proc/thread-self/ns/mnt", O_RDONLY | O_CLOEXEC)),
        entered_(unshare(CLONE_NEWNET | CLONE_NEWNS) == 0) {
    if (!entered_) return;
    EXPECT_EQ(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
    EXPECT_EQ(std::system("ip link add t0 type veth peer name t1 && ip link set t0 up"), 0);
  }
  ~Namespaces() {
    if (entered_) {
      EXPECT_EQ(setns(net_, CLONE_NEWNET), 0);
      EXPECT_EQ(setns(mnt_, CLONE_NEWNS), 0);
    }
    close(net_);
    close(mnt_);
  }
  bool entered() const { return entered_; }

 private:
  int net_;
  int mnt_;
  bool entered_;
};

// A process that does `work` and then waits for its SIGKILL. The constructor returns when the work
// is done.
class Child {
 public:
  explicit Child(const std::function<void()>& work) {
    int done[2];
    EXPECT_EQ(pipe2(done, O_CLOEXEC), 0);
    pid_ = fork();
    if (pid_ == 0) {
      work();
      if (write(done[1], "x", 1) != 1) _exit(1);
      while (true) pause();
    }
    close(done[1]);
    char byte = 0;
    EXPECT_EQ(read(done[0], &byte, 1), 1) << "the child died";
    close(done[0]);
  }
  ~Child() { Kill(); }
  pid_t pid() const { return pid_; }
  // SIGKILL, without taking note of its end: it becomes a zombie.
  void KillOnly() {
    kill(pid_, SIGKILL);
    siginfo_t info;
    waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT);
  }
  void Kill() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_ = -1;
};

// An XDP program that passes everything, as a file descriptor to be closed by the caller; below 0
// if it cannot be loaded.
inline int LoadXdpPass(const char* name) {
  const bpf_insn code[] = {
      {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = XDP_PASS},
      {.code = BPF_JMP | BPF_EXIT, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0},
  };
  return bpf_prog_load(BPF_PROG_TYPE_XDP, name, "Dual BSD/GPL", code, 2, nullptr);
}

inline uint32_t ProgramId(int fd) {
  bpf_prog_info info = {};
  uint32_t length = sizeof(info);
  EXPECT_EQ(bpf_obj_get_info_by_fd(fd, &info, &length), 0);
  return info.id;
}

// Attaches such a program and returns its id; nothing but the interface holds it then.
inline uint32_t AttachXdpPass(const char* name, const char* interface, uint32_t flags) {
  const int fd = LoadXdpPass(name);
  EXPECT_GE(fd, 0);
  EXPECT_EQ(bpf_xdp_attach(static_cast<int>(if_nametoindex(interface)), fd, flags, nullptr), 0);
  const uint32_t id = ProgramId(fd);
  close(fd);
  return id;
}

}  // namespace penstock

#endif  // PENSTOCK_TEST_UNIT_PORT_SANDBOX_H_
