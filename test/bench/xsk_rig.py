# SPDX-License-Identifier: BSD-3-Clause
"""What AF_XDP drivers are measured with: veth pairs in a namespace of their own, peers that drop in
native XDP, a source of frames, a bare loop, and dpdk-testpmd on either driver.
"""

import contextlib
import itertools
import mmap
import os
import pathlib
import re
import shutil
import struct
import subprocess
import tempfile
import time

import measure
from dpdk_process import DpdkProcess

BUILD = pathlib.Path(__file__).resolve().parents[2] / "build"
BENCH = BUILD / "test" / "bench"
NET_XSK = BUILD / "drivers" / "net" / "xsk" / "librte_net_xsk.so"
TARGETS = ["drivers/net/xsk/librte_net_xsk.so", "test/bench/drop.bpf.o",
           "test/bench/live_source.bpf.o", "test/bench/live_source", "test/bench/bare_xsk",
           "test/bench/libcount_sends.so", "test/bench/xsk_bench"]

LCORES = (0, 1)
serial = itertools.count()


def cpus():
    """The one for the prompt and the source of frames, and the one that is measured."""
    all_of_them = sorted(os.sched_getaffinity(0))
    return all_of_them[0], all_of_them[-1]


def shell(*words):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    if done.returncode != 0:
        raise measure.Failed(f"{' '.join(words)}: {done.stdout.strip()}")


@contextlib.contextmanager
def wires(*pairs):
    """A namespace with veth pairs, each ends by name; an end called drop… drops. Gone with the context."""
    name = f"penstock-bench-{os.getpid()}-{next(serial)}"
    shell("ip", "netns", "add", name)
    try:
        inside = ("ip", "-netns", name, "link")
        for near, far in pairs:
            shell(*inside, "add", "name", near, "type", "veth", "peer", "name", far)
            if far.startswith("drop"):
                shell(*inside, "set", "dev", far, "xdp", "obj", str(BENCH / "drop.bpf.o"), "sec", "xdp")
            for end in (near, far):
                # Without an address the kernel has nothing of its own to send.
                shell(*inside, "set", "dev", end, "addrgenmode", "none")
                shell(*inside, "set", "dev", end, "up")
        yield name
    finally:
        subprocess.run(["ip", "netns", "del", name], check=False)


@contextlib.contextmanager
def net_xsk_driver():
    """The driver where EAL loads it from: not below a folder that everybody may write to."""
    folder = tempfile.mkdtemp(prefix="penstock-bench-", dir="/run")
    try:
        yield shutil.copy(NET_XSK, folder)
    finally:
        shutil.rmtree(folder)


class Helper:
    """A program of this folder in a namespace, that answers a line with a line."""

    def __init__(self, namespace, program, *arguments):
        self.name = program
        self.process = subprocess.Popen(
            ["ip", "netns", "exec", namespace, str(BENCH / program), *map(str, arguments)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise measure.Failed(f"{self.name} ended: {self.process.stderr.read().strip()}")
        return line.split()

    def ask(self, line):
        try:
            print(line, file=self.process.stdin, flush=True)
        except BrokenPipeError:
            pass  # Why it is gone is said by the answer.
        return self.answer()


class LiveSource(Helper):
    """Fills an interface with 64-byte UDP frames while it is started."""

    def __init__(self, namespace, interface):
        super().__init__(namespace, "live_source", BENCH / "live_source.bpf.o", interface, cpus()[0])

    def start(self):
        self.ask("start")

    def stop(self):
        """Frames per second that it offered."""
        frames, ns = map(int, self.ask("stop"))
        return frames / (ns / 1e9)


class BareLoop(Helper):
    """Sends bursts of 64-byte frames by system calls and nothing else."""

    def __init__(self, namespace, interface, burst):
        super().__init__(namespace, "bare_xsk", interface, burst, cpus()[1])
        self.answer()

    def turn(self, window_s):
        """(packets per second, CPU nanoseconds per packet)."""
        packets, wall_ns, cpu_ns, _, _ = map(int, self.ask(str(round(window_s * 1000))))
        return packets / (wall_ns / 1e9), cpu_ns / packets


class Testpmd(DpdkProcess):
    """dpdk-testpmd in a namespace, on one port for each interface.

    `driver` is net_af_xdp or the path of ours; `setting` has burst and perhaps mbcache, and what else
    goes to the driver as devargs.
    """

    def __init__(self, namespace, driver, interfaces, mode, setting, memory, *options, environment=()):
        prefix = f"bench-{os.getpid()}-{next(serial)}"
        name = "net_af_xdp" if driver == "net_af_xdp" else "net_xsk"
        load = [] if name == driver else ["-d", driver]
        devargs = "".join(f",{key}={value}" for key, value in setting.items()
                          if key not in ("burst", "mbcache"))
        vdevs = [f"--vdev={name}{i},iface={each}{devargs}" for i, each in enumerate(interfaces)]
        control, worker = cpus()
        super().__init__(
            ["ip", "netns", "exec", namespace, "env", *environment, "dpdk-testpmd",
             f"--lcores={LCORES[0]}@{control},{LCORES[1]}@{worker}", f"--file-prefix={prefix}",
             "--no-pci", "--no-shconf", "--no-telemetry", *memory, *load, *vdevs, "--", "-i",
             f"--forward-mode={mode}", f"--burst={setting['burst']}",
             f"--mbcache={setting.get('mbcache', 250)}", "--rxd=1024", "--txd=1024",
             "--total-num-mbufs=16384", *options], "testpmd> ", LCORES[1], prefix,
            f"dpdk-testpmd on {name}")

    def frames_at(self, interface):
        """What the kernel counted as received by an end of a wire, and when."""
        with open(f"/proc/{self.process.pid}/net/dev", encoding="ascii") as file:
            found = re.search(rf"^ *{interface}:\s*\d+\s+(\d+)", file.read(), re.M)
        if not found:
            raise measure.Failed(f"{self.name}: no {interface} in its namespace")
        return int(found[1]), time.monotonic_ns()


class SendCounts:
    """Send calls and EAGAINs of a process that is started with `environment`."""

    def __enter__(self):
        self.file = tempfile.NamedTemporaryFile(prefix="penstock-bench-")
        self.file.truncate(mmap.PAGESIZE)
        self.memory = mmap.mmap(self.file.fileno(), mmap.PAGESIZE)
        self.environment = (f"PENSTOCK_SEND_COUNTS={self.file.name}",
                            f"LD_PRELOAD={BENCH / 'libcount_sends.so'}")
        return self

    def __exit__(self, *_):
        self.memory.close()
        self.file.close()

    def read(self):
        """(calls, EAGAINs) so far."""
        return struct.unpack_from("=QQ", self.memory)
