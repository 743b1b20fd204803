# SPDX-License-Identifier: BSD-3-Clause
"""A DPDK application at its prompt, driven as a user would: dpdk-testpmd or penstock.

It lives on a terminal of its own, because an application that finds a pipe buffers what it prints.
Both understand start, stop, quit and "show port stats all".
"""

import os
import pty
import re
import select
import shutil
import subprocess
import time
import tty

from measure import Failed

PATIENCE_S = 60  # For one command, on a machine where others are busy too.


class DpdkProcess:
    def __init__(self, arguments, prompt, worker_lcore, file_prefix, name=None):
        """Starts `arguments` and waits for its first prompt. Use in a with statement."""
        self.name = name or os.path.basename(arguments[0])
        self.prompt = prompt.encode()
        self.worker_lcore = worker_lcore
        self.file_prefix = file_prefix
        self.terminal, other_end = pty.openpty()
        tty.setraw(other_end)
        try:
            self.process = subprocess.Popen(arguments, stdin=other_end, stdout=other_end,
                                            stderr=other_end, start_new_session=True)
        except OSError as error:
            os.close(self.terminal)
            raise Failed(f"{arguments[0]}: {error.strerror}") from error
        finally:
            os.close(other_end)
        try:
            self.read_to_prompt("its start")
            self.worker = self.find_worker()
        except Failed:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Ends it: by asking, and if that does not help, by force."""
        if self.process.poll() is None:
            try:
                os.write(self.terminal, b"quit\n")
                self.drain_until_exit(10)
            except OSError:
                pass
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.terminal)
        # EAL leaves the folder of its file prefix behind.
        base = "/var/run" if os.geteuid() == 0 else os.environ.get("XDG_RUNTIME_DIR", "/tmp")
        shutil.rmtree(os.path.join(base, "dpdk", self.file_prefix), ignore_errors=True)

    def drain_until_exit(self, seconds):
        deadline = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < deadline:
            if select.select([self.terminal], [], [], 0.05)[0]:
                os.read(self.terminal, 65536)

    def read_to_prompt(self, what):
        text = b""
        deadline = time.monotonic() + PATIENCE_S
        while not text.endswith(self.prompt):
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.terminal], [], [], left)[0]:
                raise Failed(f"{self.name}: no answer to {what} within {PATIENCE_S} s")
            try:
                read = os.read(self.terminal, 65536)
            except OSError:
                read = b""
            if not read:
                last = text.decode(errors="replace").strip().splitlines()[-1:]
                raise Failed(f"{self.name}: ended at {what}: {''.join(last)}")
            text += read
        return text.decode(errors="replace")

    def command(self, text):
        """Types a command; returns what it printed, once the prompt is back."""
        os.write(self.terminal, text.encode() + b"\n")
        return self.read_to_prompt(f"'{text}'")

    def start(self):
        self.command("start")

    def stop(self):
        self.command("stop")

    def packets(self, direction):
        """What the driver counted in all, "RX" or "TX", summed over ports, and when that was."""
        asked = time.monotonic_ns()
        answer = self.command("show port stats all")
        answered = time.monotonic_ns()
        counts = re.findall(rf"{direction}-packets:\s*(\d+)", answer)
        if not counts:
            raise Failed(f"{self.name}: no {direction}-packets in the answer to 'show port stats all'")
        return sum(map(int, counts)), (asked + answered) // 2

    def find_worker(self):
        folder = f"/proc/{self.process.pid}/task"
        for thread in os.listdir(folder):
            with open(f"{folder}/{thread}/comm", encoding="ascii") as file:
                name = file.read().strip()
            # DPDK 22.11 and later ones.
            if name in (f"lcore-worker-{self.worker_lcore}", f"dpdk-worker{self.worker_lcore}",
                        f"rte-worker-{self.worker_lcore}"):
                return thread
        raise Failed(f"{self.name}: no thread of worker lcore {self.worker_lcore}")

    def worker_cpu_ns(self):
        """CPU time of the worker. Exact while it rests; up to a tick behind while it runs."""
        path = f"/proc/{self.process.pid}/task/{self.worker}/schedstat"
        try:
            with open(path, encoding="ascii") as file:
                return int(file.read().split()[0])
        except OSError as error:
            raise Failed(f"{self.name}: {path}: {error.strerror}") from error
