# SPDX-License-Identifier: BSD-3-Clause
"""net_xsk against stock net_af_xdp, both in packaged dpdk-testpmd, txonly over veth.

Each has a veth pair of its own in a network namespace made for it, whose peer drops in native XDP; the
two stay resident and take turns. A turn's rate is what the driver counted ÷ the time between two looks,
its CPU time that of the worker ÷ the packets. Both sides have the same ring sizes and burst; the
stock driver's busy_budget has no part in sending.

Then our own counters: send calls and EAGAINs per million packets, beside ours with the kernel's
default budget of 32, which is what the stock driver sends with.
"""

import contextlib
import itertools
import os
import pathlib
import re
import subprocess
import time

import measure
from dpdk_process import DpdkProcess

SUMMARY = "txonly over veth in dpdk-testpmd: net_xsk against stock net_af_xdp"
TARGETS = ["drivers/net/xsk/librte_net_xsk.so", "test/bench/drop.bpf.o"]

BUILD = pathlib.Path(__file__).resolve().parents[2] / "build"
DRIVER = BUILD / "drivers" / "net" / "xsk" / "librte_net_xsk.so"
DROP = BUILD / "test" / "bench" / "drop.bpf.o"

BURSTS = (32, 64, 256)
RUN_IN_S = 0.05
LCORES = (0, 1)
serial = itertools.count()


def shell(*words):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    if done.returncode != 0:
        raise measure.Failed(f"{' '.join(words)}: {done.stdout.strip()}")


@contextlib.contextmanager
def wire():
    """A namespace with a veth pair, "out0" and the peer that drops. Gone with the context."""
    name = f"penstock-bench-{os.getpid()}-{next(serial)}"
    shell("ip", "netns", "add", name)
    try:
        inside = ("ip", "-netns", name, "link")
        shell(*inside, "add", "name", "out0", "type", "veth", "peer", "name", "in0")
        shell(*inside, "set", "dev", "in0", "xdp", "obj", str(DROP), "sec", "xdp")
        for end in ("out0", "in0"):
            shell(*inside, "set", "dev", end, "up")
        yield name
    finally:
        subprocess.run(["ip", "netns", "del", name], check=False)


def start(namespace, vdev, burst):
    prefix = f"bench-{os.getpid()}-{next(serial)}"
    cpus = sorted(os.sched_getaffinity(0))
    lcores = f"--lcores={LCORES[0]}@{cpus[0]},{LCORES[1]}@{cpus[-1]}"
    arguments = ["ip", "netns", "exec", namespace, "dpdk-testpmd", lcores,
                 f"--file-prefix={prefix}", "--no-pci", "--no-shconf", "--no-telemetry", "--no-huge",
                 "-m", "256", *vdev, "--", "-i", "--forward-mode=txonly", f"--burst={burst}",
                 "--rxd=1024", "--txd=1024", "--total-num-mbufs=16384"]
    return DpdkProcess(arguments, "testpmd> ", LCORES[1], prefix)


def ours(*devargs):
    return ["-d", str(DRIVER), ",".join(["--vdev=net_xsk0,iface=out0", *devargs])]


STOCK = ["--vdev=net_af_xdp0,iface=out0"]


def turn(process, window_s):
    """One turn: (packets per second, CPU nanoseconds per packet)."""
    before, _ = process.packets("TX")
    cpu_before_ns = process.worker_cpu_ns()
    process.start()
    time.sleep(RUN_IN_S)
    first, first_ns = process.packets("TX")
    time.sleep(window_s)
    last, last_ns = process.packets("TX")
    process.stop()
    after, _ = process.packets("TX")
    cpu_ns = process.worker_cpu_ns() - cpu_before_ns
    if last <= first or after <= before or cpu_ns <= 0:
        raise measure.Failed(f"no packets moved in {window_s} s")
    return (last - first) / ((last_ns - first_ns) / 1e9), cpu_ns / (after - before)


def compare(figure, burst, vdevs, goal, pairs, window_s):
    """The rows of one burst; the processes of both sides, for who wants to ask them more."""
    with wire() as here, wire() as there, start(here, vdevs[0], burst) as mine, \
            start(there, vdevs[1], burst) as other:
        results = measure.in_turns(lambda: turn(mine, window_s), lambda: turn(other, window_s), pairs)
        rates = [(a[0] / 1e6, b[0] / 1e6) for a, b in results]
        costs = [(a[1], b[1]) for a, b in results]
        print(measure.line(figure, "Mpps", rates, goal), flush=True)
        print(measure.line(figure + ".cpu", "ns", costs, goal, more_is_better=False), flush=True)
        return [calls(each) if "xsk" in vdev[-1] else None for each, vdev in zip((mine, other), vdevs)]


def calls(process):
    """(send calls per packet, EAGAINs per million packets) by the driver's own counters."""
    text = process.command("show port xstats 0")
    found = {name: int(value) for name, value in re.findall(r"(\w+): (\d+)", text)}
    packets = found["tx_good_packets"]
    return found["tx_q0_sends"] / packets, found["tx_q0_send_eagain"] * 1e6 / packets


def run(options):
    if os.geteuid() != 0:
        raise measure.Failed("needs root, for network namespaces and AF_XDP")
    pairs = options.pairs or (3 if options.quick else 15)
    window_ms = options.window_ms or (100 if options.quick else 1000)
    print(measure.calibration(6 if options.quick else 20), flush=True)
    print(f"xsk: dpdk-testpmd txonly, 64 bytes, veth, peer drops in XDP, 1 core; rival net_af_xdp; "
          f"{pairs} pairs of {window_ms} ms; .cpu: of the core, per packet", flush=True)
    print(measure.HEADING, flush=True)
    for burst in BURSTS:
        compare(f"xsk.txonly.{burst}", burst, (ours(), STOCK), 1.0, pairs, window_ms / 1000)
    tuned, fixed = compare("xsk.txonly.256@budget32", 256, (ours(), ours("budget=32")), None, pairs,
                           window_ms / 1000)
    for name, (per_packet, again) in (("auto", tuned), ("32", fixed)):
        print(f"xsk.txonly.256 with budget {name}: {1 / per_packet:.0f} packets per send call, "
              f"{again:.0f} EAGAINs per million packets", flush=True)
