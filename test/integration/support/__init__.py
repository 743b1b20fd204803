# SPDX-License-Identifier: BSD-3-Clause
"""What the integration tests stand on.

    from support import *

    def tests(tap):
        with tap.group("io"), Veth("a") as a, Veth("b") as b:
            with Penstock(Vdev.af_xdp(a, b), "--forward-mode=io") as penstock:
                with tap.case("a frame"):
                    ...

    if __name__ == "__main__":
        main(tests)

`main` runs the test in namespaces of its own: network, mounts and processes. Whatever way the test
ends, the kernel then removes its interfaces and file systems and kills its processes; nothing of
the machine outside is seen or changed. The output is TAP, a line per case.

Nothing here sleeps: every wait is for output, a frame, a process's end or an answer, and has a limit
after which the test fails and says what it waited for.
"""

import contextlib
import json
import logging
import os
import pathlib
import pty
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from .tap import PATIENCE_S, Failed, Tap, expect, expect_equal, wait_until
from .wire import Wire, exchange, expect_frames

ROOT = pathlib.Path(__file__).resolve().parents[3]
BINARY = os.environ.get("PENSTOCK_BINARY", str(ROOT / "build/app/penstock/penstock"))
XDP_OBJECT = os.environ.get("PENSTOCK_TEST_XDP_OBJECT",
                            str(ROOT / "build/test/integration/to_socket.bpf.o"))
RUN_DIRECTORY = pathlib.Path("/run/penstock")
EAL_DIRECTORY = pathlib.Path("/run/dpdk")

AF_XDP = 44

# It warns of every address to which this network has no route.
logging.getLogger("scapy").setLevel(logging.ERROR)


# ---- namespaces ----

INSIDE = "PENSTOCK_TEST_INSIDE"


def _enter():
    """Runs this script again in new namespaces; returns only in there."""
    if os.environ.get(INSIDE):
        return
    if os.geteuid() != 0:
        print("1..0 # SKIP needs root, for network namespaces and AF_XDP")
        sys.exit(77)
    if not _has_af_xdp():
        print("1..0 # SKIP this kernel has no AF_XDP sockets")
        sys.exit(77)
    os.environ[INSIDE] = "1"
    # --kill-child: our end, a kill included, is the end of everything in there.
    os.execvp("unshare", ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child",
                          "--mount-proc", sys.executable, *sys.argv])


def _has_af_xdp():
    try:
        socket.socket(AF_XDP, socket.SOCK_RAW, 0).close()
        return True
    except OSError:
        return False


def _furnish():
    # sysfs shows the interfaces of the network namespace in which it was mounted.
    run("mount -t sysfs sysfs /sys")
    run("mount -t bpf bpf /sys/fs/bpf")
    # A tree below one of the next two is to stay where it is.
    hidden = any(ROOT.is_relative_to(place) for place in ("/run", "/tmp"))
    if hidden:
        run(["mount", "--bind", str(ROOT), "/mnt"])
    run("mount -t tmpfs -o mode=0755 tmpfs /run")
    run("mount -t tmpfs tmpfs /tmp")
    if hidden:
        ROOT.mkdir(parents=True)
        run(["mount", "--move", "/mnt", str(ROOT)])
    for mount in reversed(pathlib.Path("/proc/mounts").read_text().splitlines()):
        _, where, kind = mount.split()[:3]
        if kind == "hugetlbfs":
            # Of another namespace, whose owner may remove it at this very moment.
            run(f"umount -l {where}", check=False)
    # Otherwise the kernel sends neighbour and router solicitations of its own.
    pathlib.Path("/proc/sys/net/ipv6/conf/default/disable_ipv6").write_text("1")
    pathlib.Path("/proc/sys/net/ipv6/conf/all/disable_ipv6").write_text("1")
    run("ip link set lo up")


def main(tests):
    _enter()
    # The first process of a namespace gets no signal that it does not handle. Clean-up follows.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    tap = Tap()
    try:
        _furnish()
        tests(tap)
    except Exception as error:
        tap.explain(error)
        tap.result(False, "the test itself")
    sys.exit(tap.finish())


def run(command, check=True):
    """A command line without shell; its output. Failing is a failure of the test."""
    words = command.split() if isinstance(command, str) else command
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    if check:
        expect(done.returncode == 0,
               f"{' '.join(words)}: exit {done.returncode}: {done.stderr.strip()}")
    return done.stdout


# ---- interfaces ----


class Veth:
    """A pair of interfaces: `name` is for penstock, `peer` for the test."""

    def __init__(self, name, queues=1, peer_queues=None, mac=None, peer_mac=None):
        self.name = name
        self.peer = f"{name}-peer"
        self.mac = mac or f"02:aa:00:00:00:{ord(name[-1]):02x}"
        self.peer_mac = peer_mac or f"02:bb:00:00:00:{ord(name[-1]):02x}"
        peer_queues = peer_queues or queues
        run(f"ip link add name {name} address {self.mac} numtxqueues {peer_queues} numrxqueues {queues} "
            f"type veth peer name {self.peer} address {self.peer_mac} "
            f"numtxqueues {queues} numrxqueues {peer_queues}")
        for end in (self.name, self.peer):
            # A checksum left to the device would be none at all.
            run(f"ethtool -K {end} tx off rxvlan off txvlan off")
            run(f"ip link set {end} up")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # The namespace takes it with it in any case; a test that makes many has fewer at a time.
        run(f"ip link del {self.name}", check=False)


def counters(interface):
    """The kernel's own statistics of an interface."""
    folder = pathlib.Path("/sys/class/net") / interface / "statistics"
    return {entry.name: int(entry.read_text()) for entry in folder.iterdir()}


def link(interface):
    """What the kernel says about it: flags, and the XDP program if there is one."""
    return json.loads(run(f"ip -d -j link show dev {interface}"))[0]


def xdp_program(interface):
    xdp = link(interface).get("xdp")
    return xdp["prog"]["id"] if xdp and xdp.get("prog") else None


def is_promiscuous(interface):
    """The flag, as a user's `ip link set promisc on` or an ioctl sets it."""
    flags = int((pathlib.Path("/sys/class/net") / interface / "flags").read_text(), 16)
    return bool(flags & 0x100)


def xdp_sockets():
    """How many AF_XDP sockets there are: ss cannot tell where the kernel lacks their diagnostics."""
    for line in pathlib.Path("/proc/net/protocols").read_text().splitlines():
        fields = line.split()
        if fields[0] == "XDP":
            return int(fields[2])
    raise Failed("/proc/net/protocols has no line for XDP")


# ---- processes ----


class Process:
    """A program whose output is read as it comes. Ended, whatever happens, at the end of `with`."""

    def __init__(self, words, env=None, preexec=None, terminal=False):
        self.words = [str(word) for word in words]
        self._changed = threading.Condition()
        self._text = {"stdout": "", "stderr": ""}
        self._open = 2
        self.terminal = None
        if terminal:
            # stdin and stdout are a terminal, stderr a pipe, so that the two are told apart.
            self.terminal, slave = pty.openpty()
            self.process = subprocess.Popen(self.words, stdin=slave, stdout=slave,
                                            stderr=subprocess.PIPE, env=env, preexec_fn=preexec)
            os.close(slave)
            stdout = self.terminal
        else:
            self.process = subprocess.Popen(self.words, stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                            env=env, preexec_fn=preexec)
            stdout = self.process.stdout.fileno()
        self._threads = [
            threading.Thread(target=self._read, args=(fd, name), daemon=True)
            for fd, name in ((stdout, "stdout"), (self.process.stderr.fileno(), "stderr"))]
        for thread in self._threads:
            thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for thread in self._threads:
            thread.join(PATIENCE_S)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream:
                with contextlib.suppress(OSError):
                    stream.close()
        if self.terminal is not None:
            os.close(self.terminal)

    def _read(self, fd, name):
        while True:
            try:
                data = os.read(fd, 65536)
            except OSError:  # a terminal whose other side is closed
                data = b""
            with self._changed:
                self._text[name] += data.decode(errors="replace")
                self._open -= not data
                self._changed.notify_all()
            if not data:
                return

    @property
    def pid(self):
        return self.process.pid

    @property
    def stdout(self):
        with self._changed:
            return self._text["stdout"]

    @property
    def stderr(self):
        with self._changed:
            return self._text["stderr"]

    def wait_for(self, pattern, stream="stdout", start=0):
        """Waits until the output from `start` on has the pattern; returns the match."""
        deadline = time.monotonic() + PATIENCE_S
        with self._changed:
            while True:
                match = re.compile(pattern, re.MULTILINE).search(self._text[stream], start)
                if match:
                    return match
                ended = self._open == 0
                left = deadline - time.monotonic()
                expect(not ended and left > 0,
                       f"{'it ended' if ended else 'it did not come'} before {pattern!r} on {stream}"
                       f" of {' '.join(self.words)}\nstdout: {self._text['stdout'][-2000:]}\n"
                       f"stderr: {self._text['stderr'][-2000:]}")
                self._changed.wait(left)

    def write(self, text):
        data = text.encode()
        if self.terminal is not None:
            os.write(self.terminal, data)
        else:
            self.process.stdin.write(data)
            self.process.stdin.flush()

    def close_input(self):
        self.process.stdin.close()

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self):
        """Exit code, negative for a signal; all output is then read."""
        try:
            code = self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise Failed(f"did not end within {PATIENCE_S} s: {' '.join(self.words)}\n"
                         f"stdout: {self.stdout[-2000:]}\nstderr: {self.stderr[-2000:]}") from None
        for thread in self._threads:
            thread.join(PATIENCE_S)
        return code

    def expect_exit(self, code):
        seen = self.wait()
        expect(seen == code, f"exit {seen} instead of {code}: {' '.join(self.words)}\n"
                             f"stdout: {self.stdout[-2000:]}\nstderr: {self.stderr[-2000:]}")


class Vdev:
    """EAL options for ports."""

    @staticmethod
    def af_xdp(*interfaces, **devargs):
        # Without the busy polling that is the driver's default, reception is not slowed down.
        devargs = {"busy_budget": 0, **devargs}
        extra = "".join(f",{key}={value}" for key, value in devargs.items())
        return [f"--vdev=net_af_xdp{i},iface={_name(each)}{extra}"
                for i, each in enumerate(interfaces)]

    @staticmethod
    def af_packet(*interfaces):
        return [f"--vdev=net_af_packet{i},iface={_name(each)}"
                for i, each in enumerate(interfaces)]

    @staticmethod
    def tap(*names):
        return [f"--vdev=net_tap{i},iface={name}" for i, name in enumerate(names)]


def _name(interface):
    return interface.name if isinstance(interface, Veth) else interface


def lcores(workers):
    """EAL's option for a control lcore and so many workers, whatever processors there are."""
    processors = sorted(os.sched_getaffinity(0))
    # The control thread sleeps most of the time: the first worker gets a processor of its own.
    return "--lcores=" + ",".join(f"{i}@{processors[i % len(processors)]}"
                                  for i in range(workers + 1))


class Penstock(Process):
    """penstock, ready: its plan is printed, it forwards (or shows its prompt, with -i)."""

    def __init__(self, eal, *options, workers=1, memory=True, terminal=False, wait=True):
        folder = tempfile.mkdtemp(prefix="penstock-")
        self.report_path = pathlib.Path(folder) / "report.json"
        # A pool of the usual size and not more: many instances are started.
        options = [*options, f"--report={self.report_path}"]
        if memory:
            options.append("--memory=256M")
        self.interactive = "-i" in options
        super().__init__([BINARY, "--no-pci", "--no-telemetry", lcores(workers), *eal, "--",
                          *options], terminal=terminal)
        if not wait:
            return
        try:
            self.wait_for(r"^plan .*\n")
            if self.interactive:
                self.wait_for(r"penstock> ")
        except BaseException:
            self.__exit__()
            raise

    def command(self, text):
        """Types a command at the prompt; what is printed until the next prompt."""
        start = len(self.stdout)
        self.write(text + "\n")
        match = self.wait_for(r"(?s)(.*?)penstock> \Z", start=start)
        return match.group(1)

    def finish(self, number=signal.SIGTERM, code=0):
        """Ends it by a signal, checks its exit code; the report."""
        self.signal(number)
        self.expect_exit(code)
        return self.report()

    def report(self):
        expect(self.report_path.exists(), f"no report\nstderr: {self.stderr[-2000:]}")
        return json.loads(self.report_path.read_text())


def expect_balance(report, allowed_drops=()):
    """Every packet accounted for, every mbuf back."""
    totals = report["totals"]
    expect_equal(totals["unaccounted"], 0, "unaccounted")
    expect_equal(totals["rx_packets"] + totals["made"],
                 totals["tx_packets"] + totals["dropped"] + totals.get("held", 0),
                 "received and made = sent, dropped and held")
    expect_equal(sum(report["drops"].values()), totals["dropped"], "sum of the drops by name")
    for pool in report["mempools"]:
        expect_equal(pool["in_use_at_exit"], 0, f"in_use_at_exit of {pool['name']}")
    for name, count in report["drops"].items():
        expect(count == 0 or name in allowed_drops, f"{count} packets dropped as {name}")


class Traffic:
    """Sends a frame again and again, as fast as it can, from a process of its own."""

    def __init__(self, frame, *interfaces):
        self.frame = frame
        self.interfaces = interfaces
        self.pid = None

    def __enter__(self):
        wires = [Wire(interface) for interface in self.interfaces]
        self.pid = os.fork()
        if self.pid == 0:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            while True:
                for wire in wires:
                    # An interface whose queue is full, or that is down for a moment.
                    with contextlib.suppress(OSError):
                        wire.send(self.frame)
        for wire in wires:
            wire.socket.close()
        return self

    def __exit__(self, *_):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


class Hugepages:
    """Pages of 2 MiB, and a place in this mount namespace where they are files."""

    pages = pathlib.Path("/sys/kernel/mm/hugepages/hugepages-2048kB")
    folder = pathlib.Path("/tmp/hugepages")

    def __init__(self, count):
        self.count = count
        self.before = 0

    def read(self, name):
        return int((self.pages / name).read_text())

    def __enter__(self):
        self.before = self.read("nr_hugepages")
        (self.pages / "nr_hugepages").write_text(str(self.before + self.count))
        self.folder.mkdir(exist_ok=True)
        run(f"mount -t hugetlbfs -o pagesize=2M hugetlbfs {self.folder}")
        return self

    def __exit__(self, *_):
        run(f"umount {self.folder}", check=False)
        (self.pages / "nr_hugepages").write_text(str(self.before))

    def enough(self):
        return self.read("free_hugepages") >= self.count


def expect_nothing_left(*interfaces):
    """Nothing of a penstock that has ended, on the machine or on these interfaces."""
    for folder in (RUN_DIRECTORY, EAL_DIRECTORY):
        left = [p for p in folder.rglob("*") if p.name != ".lock"] if folder.exists() else []
        expect(not left, f"left behind: {', '.join(map(str, left))}")
    wait_until(lambda: not xdp_sockets(), "the kernel to close the AF_XDP sockets")
    for interface in map(_name, interfaces):
        expect(xdp_program(interface) is None,
               f"{interface} still carries XDP program {xdp_program(interface)}")
        expect(not is_promiscuous(interface), f"{interface} is still promiscuous")
    pins = pathlib.Path("/sys/fs/bpf/xdp")
    if pins.exists():
        left = [str(p) for p in pins.glob("dispatch-*")]
        expect(not left, f"left behind: {', '.join(left)}")
