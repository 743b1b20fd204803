// SPDX-License-Identifier: BSD-3-Clause
#include "app/penstock/signals.h"

#include <fcntl.h>
#include <signal.h>
#include <termios.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "lib/base/status.h"

namespace penstock {
namespace {

// A signal handler has nothing but file-scope state.
std::atomic<int> signals_seen{0};
int wake_pipe[2] = {-1, -1};
termios terminal;
bool is_terminal = false;

static_assert(std::atomic<int>::is_always_lock_free);

void Handle(int) {
  const int saved_errno = errno;
  if (signals_seen.fetch_add(1) > 0) {
    if (is_terminal) tcsetattr(STDIN_FILENO, TCSANOW, &terminal);
    _exit(kExitSecondSignal);
  }
  const char byte = 0;
  [[maybe_unused]] const ssize_t n = write(wake_pipe[1], &byte, 1);
  errno = saved_errno;
}

}  // namespace

absl::Status Signals::Install() {
  if (pipe2(wake_pipe, O_CLOEXEC | O_NONBLOCK) != 0) return ErrnoStatus(errno, "pipe2");
  is_terminal = tcgetattr(STDIN_FILENO, &terminal) == 0;
  struct sigaction action {};
  action.sa_handler = Handle;
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    if (sigaction(signal, &action, nullptr) != 0) return ErrnoStatus(errno, "sigaction");
  }
  // A reader of our output that goes away is an error of write(), not our end.
  action.sa_handler = SIG_IGN;
  if (sigaction(SIGPIPE, &action, nullptr) != 0) return ErrnoStatus(errno, "sigaction(SIGPIPE)");
  return absl::OkStatus();
}

int Signals::fd() { return wake_pipe[0]; }
bool Signals::Stopped() { return signals_seen.load() > 0; }

}  // namespace penstock
