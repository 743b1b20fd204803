# SPDX-License-Identifier: BSD-3-Clause
"""net_xsk against stock net_af_xdp, both in packaged dpdk-testpmd on hugepages, over veth; and against
a bare loop of system calls, which is what a copy-mode AF_XDP socket has to give at best.

Each side has a network namespace of its own with the wires it needs, in which an end that only receives
drops in native XDP. The sides stay resident and take turns; one has the machine at a time.

  txonly    1 core sends. Packets are those that the kernel counted at the other end; CPU time is that of
            the worker ÷ these.
  rxonly    A source of live frames on one core, testpmd's worker on the other. The receiving half of the
            kernel runs on the source's core, so its speed bounds what can be received; what it offered is
            said. "busy": cycles per packet by testpmd's own account (record-core-cycles), which leaves out
            empty polls and what other cores do.
  poll      The same without traffic: CPU time of the worker ÷ its empty polls, as testpmd counts them.
  macswap   From one port, which the source fills, to another, on testpmd's one worker.

The stock driver runs with its defaults, and where "@best" stands, with whatever of BEST was the fastest
just before; ours then has the same burst and cache of mbufs. Its busy_budget has no part in sending.

Send calls are counted in turns of their own, from outside, by a library that is preloaded.

"inside": both drivers, the rival with busy_budget=0, and the bare loop in one process on one core, in turns
of milliseconds (xsk_bench.cc says what each row is). What frames cost to come from another core is left out,
and so is nearly all that makes the machine's speed wander: the figure to work with.
"""

import collections
import contextlib
import json
import os
import re
import statistics
import subprocess
import time

import measure
from hugepages import hugepage_memory
from xsk_rig import (BENCH, TARGETS, BareLoop, LiveSource, SendCounts, Testpmd, cpus,  # noqa: F401
                     net_xsk_driver, wires)

SUMMARY = "net_xsk over veth in dpdk-testpmd: against stock net_af_xdp and bare system calls"

BURSTS = (32, 64, 256)
DEFAULT = {"burst": 32}
BEST = [{"burst": burst, "mbcache": mbcache, **busy}
        for busy in ({}, {"busy_budget": 0})
        for burst, mbcache in ((32, 250), (64, 512), (256, 512))]
STOCK = "net_af_xdp"
RUN_IN_S = 0.05

# One turn of a side that receives.
Received = collections.namedtuple("Received", "pps cost offered_pps")


def sent_in_turn(process, window_s):
    """One turn: (packets per second at the other end, CPU nanoseconds of the worker per packet)."""
    before, _ = process.frames_at("drop0")
    cpu_before_ns = process.worker_cpu_ns()
    process.start()
    time.sleep(RUN_IN_S)
    first, first_ns = process.frames_at("drop0")
    time.sleep(window_s)
    last, last_ns = process.frames_at("drop0")
    process.stop()
    after, _ = process.frames_at("drop0")
    cpu_ns = process.worker_cpu_ns() - cpu_before_ns
    if last <= first or after <= before or cpu_ns <= 0:
        raise measure.Failed(f"no packets moved in {window_s} s")
    return (last - first) / ((last_ns - first_ns) / 1e9), cpu_ns / (after - before)


class Side:
    """A process of testpmd with its wires and, if it receives, its source."""

    def __init__(self, bench, mode, driver, setting, *options):
        self.window_s = bench.window_s
        self.mode = mode
        with contextlib.ExitStack() as stack:
            self.namespace = stack.enter_context(wires(*{
                "txonly": [("out0", "drop0")],
                "rxonly": [("src0", "in0")],
                "macswap": [("src0", "in0"), ("out0", "drop0")]}[mode]))
            interfaces = {"txonly": ["out0"], "rxonly": ["in0"], "macswap": ["in0", "out0"]}[mode]
            self.process = stack.enter_context(
                Testpmd(self.namespace, driver, interfaces, mode, setting, bench.memory, *options))
            if mode != "txonly":
                self.source = stack.enter_context(LiveSource(self.namespace, "src0"))
            self.stack = stack.pop_all()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stack.close()

    def turn(self):
        if self.mode == "txonly":
            return sent_in_turn(self.process, self.window_s)
        self.source.start()
        try:
            if self.mode == "macswap":
                pps, cost = sent_in_turn(self.process, self.window_s)
            else:
                pps, cost = self.received()
        finally:
            offered_pps = self.source.stop()
        return Received(pps, cost, offered_pps)

    def received(self):
        """(packets per second, busy cycles per packet)."""
        self.process.start()
        time.sleep(RUN_IN_S)
        first, first_ns = self.process.packets("RX")
        time.sleep(self.window_s)
        last, last_ns = self.process.packets("RX")
        report = self.process.command("stop")
        cycles = re.search(r"CPU cycles/packet=([\d.]+)", report)
        if last <= first or not cycles:
            raise measure.Failed(f"{self.process.name}: received nothing in {self.window_s} s")
        return (last - first) / ((last_ns - first_ns) / 1e9), float(cycles[1])

    def empty_polls(self):
        """CPU nanoseconds of an empty poll, with the loop around it."""
        cpu_before_ns = self.process.worker_cpu_ns()
        self.process.start()
        time.sleep(self.window_s)
        report = self.process.command("stop")
        polls = re.search(r"RX-bursts : (\d+) \[100% of 0 pkts", report)
        if not polls:
            raise measure.Failed(f"{self.process.name}: no empty polls in its report, or frames came")
        return (self.process.worker_cpu_ns() - cpu_before_ns) / int(polls[1])


class Bench:
    """How much is measured, and what with."""

    def __init__(self, options, memory, driver):
        self.quick = options.quick
        self.pairs = options.pairs or (3 if options.quick else 15)
        self.window_s = (options.window_ms or (100 if options.quick else 500)) / 1000
        self.memory = memory
        self.ours = driver

    def side(self, mode, driver, setting, *options):
        return Side(self, mode, driver, setting, *options)

    def best_setting(self, mode, rounds=4):
        """The stock driver's fastest of BEST; they take turns."""
        rates = [[] for _ in BEST]
        with contextlib.ExitStack() as stack:
            sides = [stack.enter_context(self.side(mode, STOCK, setting, *OPTIONS[mode]))
                     for setting in BEST]
            for round_ in range(rounds):
                order = list(enumerate(sides))
                for index, side in order if round_ % 2 == 0 else reversed(order):
                    rates[index].append(side.turn().pps)
        medians = [statistics.median(each) for each in rates]
        return BEST[medians.index(max(medians))]


OPTIONS = {"txonly": [], "macswap": ["--no-flush-rx"],
           "rxonly": ["--record-core-cycles", "--no-flush-rx"]}


def words(setting):
    return " ".join(f"{name}={value}" for name, value in setting.items())


def common(setting):
    """Of a setting of the stock driver what is testpmd's, and so ours as well."""
    return {name: value for name, value in setting.items() if name in ("burst", "mbcache")}


def print_pairs(figure, results, goal, cost_goal, cost_unit="ns", cost_name="cpu"):
    rates = [(a[0] / 1e6, b[0] / 1e6) for a, b in results]
    costs = [(a[1], b[1]) for a, b in results]
    print(measure.line(figure, "Mpps", rates, goal), flush=True)
    print(measure.line(f"{figure}.{cost_name}", cost_unit, costs, cost_goal, more_is_better=False),
          flush=True)


def txonly(bench, burst):
    figure = f"xsk.txonly.{burst}"
    with bench.side("txonly", bench.ours, {"burst": burst}) as ours:
        with bench.side("txonly", STOCK, {"burst": burst}) as stock:
            print_pairs(figure, measure.in_turns(ours.turn, stock.turn, bench.pairs), 1.0, 1.0)
        with wires(("out0", "drop0")) as namespace, BareLoop(namespace, "out0", burst) as bare:
            results = measure.in_turns(ours.turn, lambda: bare.turn(bench.window_s), bench.pairs)
            print_pairs(figure + "@bare", results, 0.95, None)


def print_offered(figure, results):
    for name, turns in zip(("ours", "stock"), zip(*results)):
        offered = statistics.median(each.offered_pps for each in turns)
        taken = statistics.median(each.pps / each.offered_pps for each in turns)
        print(f"{figure}: {name}: the source offered {offered / 1e6:.2f} Mpps, {taken * 100:.0f} % came "
              "through", flush=True)


def receiving(bench, mode, goal):
    """rxonly or macswap: against the stock driver as it is by default, and at its best."""
    best = DEFAULT if bench.quick else bench.best_setting(mode)
    for suffix, setting in (("", DEFAULT), ("@best", best)):
        figure = f"xsk.{mode}{suffix}"
        if suffix:
            print(f"{figure}: stock with {words(setting)}", flush=True)
        with bench.side(mode, bench.ours, common(setting), *OPTIONS[mode]) as ours, \
                bench.side(mode, STOCK, setting, *OPTIONS[mode]) as stock:
            results = measure.in_turns(ours.turn, stock.turn, bench.pairs)
        if mode == "rxonly":
            print_pairs(figure, results, goal, None, "cycles", "busy")
        else:
            print_pairs(figure, results, goal, 1.0)
            each = [statistics.median(turn.pps for turn in turns) / 2e6 for turns in zip(*results)]
            print(f"{figure}: per second of each of the 2 cores: ours {each[0]:.2f}, stock {each[1]:.2f} "
                  "million packets", flush=True)
        print_offered(figure, results)


def empty_polls(bench):
    options = ["--record-burst-stats", "--no-flush-rx"]
    for suffix, setting in (("", DEFAULT), ("@busy_budget=0", {"burst": 32, "busy_budget": 0})):
        with bench.side("rxonly", bench.ours, DEFAULT, *options) as ours, \
                bench.side("rxonly", STOCK, setting, *options) as stock:
            results = measure.in_turns(ours.empty_polls, stock.empty_polls, bench.pairs)
        print(measure.line("xsk.poll" + suffix, "ns", results, 1.0, more_is_better=False), flush=True)


def send_calls(bench):
    """Not timed: packets per call and EAGAINs per million packets at burst 256."""
    counted = []
    for driver in (bench.ours, STOCK):
        with SendCounts() as counts, wires(("out0", "drop0")) as namespace, \
                Testpmd(namespace, driver, ["out0"], "txonly", {"burst": 256}, bench.memory,
                        environment=counts.environment) as process:
            process.start()
            time.sleep(RUN_IN_S)
            (calls, eagains), (packets, _) = counts.read(), process.frames_at("drop0")
            time.sleep(bench.window_s)
            process.stop()
            (calls_after, eagains_after), (after, _) = counts.read(), process.frames_at("drop0")
        if after <= packets or calls_after <= calls:
            raise measure.Failed(f"{driver}: no packets moved, or no call was seen")
        counted.append(((after - packets) / (calls_after - calls),
                        (eagains_after - eagains) * 1e6 / (after - packets)))
    (per_call, again), (stock_per_call, stock_again) = counted
    less = (1 - again / stock_again) * 100 if stock_again else 0.0
    print(f"xsk.calls.256: packets per send call: ours {per_call:.1f}, stock {stock_per_call:.1f}; "
          f"goal 200 {'met' if per_call >= 200 else 'missed'}", flush=True)
    print(f"xsk.eagains.256: EAGAINs per million packets: ours {again:.0f}, stock {stock_again:.0f}: "
          f"{less:.1f} % fewer; goal 97 % {'met' if less >= 97 else 'missed'}", flush=True)


INSIDE_GOALS = {"bare": 0.95, "macswap": 1.1}


def inside(bench, options):
    pairs = options.pairs or (6 if bench.quick else 100)
    turn_ms = min(options.window_ms or 10, 20)
    core = cpus()[1]
    ports = [("net_xsk0", "out0"), ("net_xsk1", "in1"), ("net_af_xdp2", "out2"), ("net_af_xdp3", "in3")]
    vdevs = [f"--vdev={name},iface={interface}" + (",busy_budget=0" if "af_xdp" in name else "")
             for name, interface in ports]
    with wires(("out0", "drop0"), ("in1", "feed1"), ("out2", "drop2"), ("in3", "feed3"),
               ("bare0", "drop4")) as namespace:
        done = subprocess.run(
            ["ip", "netns", "exec", namespace, str(BENCH / "xsk_bench"), f"--pairs={pairs}",
             f"--turn-ms={turn_ms}", f"--lcores=0@{core}", f"--file-prefix=bench-{os.getpid()}-inside",
             "--no-pci", "--no-shconf", "--no-telemetry", "--log-level=error", *bench.memory, "-d",
             bench.ours, *vdevs], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise measure.Failed(f"xsk_bench: {done.stderr.strip().splitlines()[-1:]}")
    print(f"xsk.inside: {pairs} pairs of {turn_ms} ms, 1 core, CPU time", flush=True)
    rows = done.stdout[done.stdout.index('[{"name"'):]
    for row in json.loads(rows):
        print(measure.formatted("xsk.inside." + row["name"], "ns", row["ours_ns"], row["rival_ns"],
                                (row["q1"], row["ratio"], row["q3"]),
                                INSIDE_GOALS.get(row["name"].partition(".")[0], 1.0)), flush=True)


def run(options):
    if os.geteuid() != 0:
        raise measure.Failed("needs root, for network namespaces and AF_XDP")
    print(measure.calibration(6 if options.quick else 20), flush=True)
    with hugepage_memory() as memory, net_xsk_driver() as driver:
        bench = Bench(options, memory, driver)
        print(f"xsk: dpdk-testpmd, 64 bytes, veth; txonly 1 core, rxonly and macswap 1 core and 1 for "
              f"the source; {bench.pairs} pairs of {bench.window_s * 1000:.0f} ms", flush=True)
        print(measure.HEADING, flush=True)
        for burst in BURSTS:
            txonly(bench, burst)
        send_calls(bench)
        receiving(bench, "rxonly", 1.0)
        empty_polls(bench)
        receiving(bench, "macswap", 1.1)
        inside(bench, options)
