# SPDX-License-Identifier: BSD-3-Clause
"""penstock against packaged dpdk-testpmd, every forwarding mode: what the two programs themselves cost.

On net_null, which hands out and takes away packets of 64 bytes that are of no protocol, and on net_pcap,
which hands out copies of real frames for ever: of UDP, and for icmpecho of echo requests too. Without
those csum, 5tswap and icmpecho have nothing to do. What net_pcap itself costs both programs pay.

Both stay resident, pinned alike, and take turns: while one forwards the other has stopped, so its
lcore sleeps. A turn begins by starting one and letting it run in. Then
  rate       packets between two looks at the driver's counters ÷ the time between them
  CPU time   of the worker, from before the start to after the stop, ÷ the packets in that time
The second does not see what other processes take from the machine. Where an application's memory
happens to lie is part of a life of it and no merit, so the pairs are spread over LIVES of both.

Both run on hugepages, which this reserves for the time and gives back: testpmd's memory is at its
best there. Figures that end in "@no-huge" are of both without hugepages, as on a machine where nobody
reserved any; there testpmd has one mbuf to a page of 4 KiB and penstock lays them side by side.

testpmd's default is burst 32 and 250 mbufs in a cache. Its best setting is looked for in each mode
among SETTINGS, and penstock then runs with the very same one: figures that end in "@best".

"mean" is the geometric mean of the medians of all figures but those of io and rxonly, where the driver
is all there is; between parentheses that of their lower and of their upper quartiles.
"""

import collections
import contextlib
import itertools
import os
import pathlib
import statistics
import tempfile
import time

import measure
from dpdk_process import DpdkProcess
from hugepages import hugepage_memory

SUMMARY = "every forwarding mode against dpdk-testpmd, on net_null and with real frames"
TARGETS = ["app/penstock/penstock"]

ROOT = pathlib.Path(__file__).resolve().parents[2]
PENSTOCK = ROOT / "build" / "app" / "penstock" / "penstock"

# A mode, what its packets are, what is counted, and the goal of its median.
Figure = collections.namedtuple("Figure", "mode traffic direction goal")
FIGURES = [
    Figure("io", "null", "RX", 0.97),
    Figure("rxonly", "null", "RX", 0.97),
    Figure("mac", "null", "RX", 1.0),
    Figure("macswap", "null", "RX", 1.10),
    Figure("5tswap", "null", "RX", 1.0),
    Figure("csum", "null", "RX", 1.0),
    Figure("icmpecho", "null", "RX", 1.0),
    Figure("txonly", "null", "TX", 1.10),
    Figure("flowgen", "null", "TX", 1.0),
    Figure("mac", "udp", "RX", 1.0),
    Figure("macswap", "udp", "RX", 1.0),
    Figure("5tswap", "udp", "RX", 1.0),
    Figure("csum", "udp", "RX", 1.0),
    Figure("icmpecho", "udp", "RX", 1.0),
    Figure("icmpecho", "ping", "RX", 1.0),
]
NO_MEAN = ("io", "rxonly")
MEAN_GOAL = 1.15
LEAST = 1.0  # For the lower quartile of every figure that is in the mean.
ALSO_NO_HUGE = ("io", "rxonly", "macswap", "txonly")

DEFAULT = {"burst": 32, "mbcache": 250}
SETTINGS = [DEFAULT, {"burst": 32, "mbcache": 512}, {"burst": 64, "mbcache": 512},
            {"burst": 128, "mbcache": 512}, {"burst": 256, "mbcache": 512}]
# testpmd's icmpecho counts a burst's packets in 8 bits: with 256 it never comes to the end.
MOST_BURST = {"icmpecho": 128}

EAL = ["--no-pci", "--no-shconf", "--no-telemetry"]
NO_HUGE = ["--no-huge", "-m", "512"]
COMMON = ["-i", "--port-topology=loop", "--rxq=1", "--txq=1", "--rxd=1024", "--txd=1024",
          "--total-num-mbufs=16384", "--mbuf-size=2176"]

FRAMES = 64  # In a file of traffic: each its own flow.

RUN_IN_S = 0.02
LIVES = 4
QUICK_LIVES = 2
LCORES = (0, 1)
serial = itertools.count()


@contextlib.contextmanager
def traffic_devices():
    """EAL's word for the device of each kind of traffic; its file is there as long as the context."""
    from scapy.all import Ether, ICMP, IP, Raw, UDP, wrpcap  # Takes a second that --list has not.

    def frame(number, transport):
        head = (Ether(dst="02:00:00:00:00:00", src="02:00:00:00:00:01") /
                IP(src=f"10.0.0.{number}", dst=f"10.1.0.{number}") / transport)
        return head / Raw(bytes(64 - len(head)))

    packets = {"udp": [frame(n, UDP(sport=1024 + n, dport=9)) for n in range(FRAMES)],
               "ping": [frame(n, ICMP(id=n)) for n in range(FRAMES)]}
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        devices = {"null": "--vdev=net_null0"}
        for kind, frames in packets.items():
            path = f"{folder}/{kind}.pcap"
            wrpcap(path, frames)
            devices[kind] = f"--vdev=net_pcap0,rx_pcap={path},infinite_rx=1"
        yield devices


def words(setting):
    return " ".join(f"--{name}={value}" for name, value in setting.items())


def start_process(program, mode, device, setting, memory, *extra):
    prefix = f"bench-{os.getpid()}-{next(serial)}"
    cpus = sorted(os.sched_getaffinity(0))
    # The first CPU for the prompt, the last for packets.
    lcores = f"--lcores={LCORES[0]}@{cpus[0]},{LCORES[1]}@{cpus[-1]}"
    arguments = [str(program), lcores, f"--file-prefix={prefix}", *EAL, device, *memory, "--",
                 *COMMON, f"--forward-mode={mode}", *words(setting).split(), *extra]
    prompt = "penstock> " if program == PENSTOCK else "testpmd> "
    return DpdkProcess(arguments, prompt, LCORES[1], prefix)


def start_testpmd(mode, device, setting, memory):
    # Without --no-flush-rx every start would first empty the port, which is never empty.
    return start_process("dpdk-testpmd", mode, device, setting, memory, "--no-flush-rx")


def turn(process, direction, window_s):
    """One turn: (packets per second, CPU nanoseconds per packet)."""
    before, _ = process.packets(direction)
    cpu_before_ns = process.worker_cpu_ns()
    process.start()
    time.sleep(RUN_IN_S)
    first, first_ns = process.packets(direction)
    time.sleep(window_s)
    last, last_ns = process.packets(direction)
    process.stop()
    after, _ = process.packets(direction)
    cpu_ns = process.worker_cpu_ns() - cpu_before_ns
    if last <= first or after <= before or cpu_ns <= 0:
        raise measure.Failed(f"{process.name}: no packets moved in {window_s} s")
    return (last - first) / ((last_ns - first_ns) / 1e9), cpu_ns / (after - before)


class Bench:
    """How much is measured, and what with."""

    def __init__(self, options, devices):
        self.quick = options.quick
        self.pairs = options.pairs or (4 if options.quick else 30)
        self.window_s = (options.window_ms or (50 if options.quick else 200)) / 1000
        self.lives = QUICK_LIVES if options.quick else LIVES
        self.devices = devices

    def best_setting(self, figure, memory, rounds=6):
        """testpmd's own best by CPU time per packet; the settings take turns."""
        most = MOST_BURST.get(figure.mode, 512)
        settings = [each for each in SETTINGS if each["burst"] <= most]
        costs = [[] for _ in settings]
        with contextlib.ExitStack() as stack:
            processes = [stack.enter_context(start_testpmd(figure.mode, self.devices[figure.traffic],
                                                           setting, memory))
                         for setting in settings]
            for round_ in range(rounds):
                order = list(enumerate(processes))
                for index, process in order if round_ % 2 == 0 else reversed(order):
                    costs[index].append(turn(process, figure.direction, self.window_s)[1])
        medians = [statistics.median(cost) for cost in costs]
        return settings[medians.index(min(medians))]

    def pairs_of_one_life(self, figure, setting, memory, pairs):
        device = self.devices[figure.traffic]
        with tempfile.TemporaryDirectory(prefix="penstock-bench-") as run_dir, \
                start_process(PENSTOCK, figure.mode, device, setting, memory,
                              f"--run-dir={run_dir}") as ours, \
                start_testpmd(figure.mode, device, setting, memory) as rival:
            return measure.in_turns(lambda: turn(ours, figure.direction, self.window_s),
                                    lambda: turn(rival, figure.direction, self.window_s), pairs)

    def compare(self, name, figure, setting, memory, pairs):
        """Prints the lines of a figure; the quartiles of its ratios, in rate and in CPU time."""
        results = []
        for life in range(self.lives):
            share = pairs * (life + 1) // self.lives - pairs * life // self.lives
            if share > 0:
                results += self.pairs_of_one_life(figure, setting, memory, share)
        rates = [(mine[0] / 1e6, other[0] / 1e6) for mine, other in results]
        costs = [(mine[1], other[1]) for mine, other in results]
        print(measure.line(name, "Mpps", rates, figure.goal), flush=True)
        print(measure.line(name + ".cpu", "ns", costs, figure.goal, more_is_better=False), flush=True)
        return {"": measure.quartiles([mine / other for mine, other in rates]),
                ".cpu": measure.quartiles([other / mine for mine, other in costs])}


def name_of(figure, suffix=""):
    traffic = "" if figure.traffic == "null" else f".{figure.traffic}"
    return f"forward.{figure.mode}{traffic}{suffix}"


def summarize(suffix, quartiles):
    """The mean over `quartiles`, by figure, and the figures whose lower quartile is below LEAST."""
    counted = {figure: each for figure, each in quartiles.items() if figure.mode not in NO_MEAN}
    for unit in ("", ".cpu"):
        for part, kinds, goal in (("", ("null", "udp", "ping"), MEAN_GOAL), (".null", ("null",), None),
                                  (".frames", ("udp", "ping"), None)):
            each = [ratios[unit] for figure, ratios in counted.items() if figure.traffic in kinds]
            print(measure.mean_line(f"forward.mean{part}{suffix}{unit}", each, goal), flush=True)
        below = [f"{name_of(figure)} {ratios[unit][0]:.3f}" for figure, ratios in counted.items()
                 if ratios[unit][0] < LEAST]
        print(f"forward{suffix}{unit}: lower quartile below {LEAST:.2f}: {', '.join(below) or 'none'}",
              flush=True)


def run(options):
    print(measure.calibration(6 if options.quick else 20), flush=True)
    with traffic_devices() as devices, hugepage_memory() as memory:
        bench = Bench(options, devices)
        print(f"forward: 64 bytes, 1 port, 1 core moves packets; rival dpdk-testpmd, {words(DEFAULT)}; "
              f"{bench.pairs} pairs of {bench.window_s * 1000:.0f} ms in {bench.lives} lives; .cpu: of "
              "the core, per packet", flush=True)
        print(measure.HEADING, flush=True)
        by_default, at_best = {}, {}
        for figure in FIGURES:
            by_default[figure] = at_best[figure] = bench.compare(name_of(figure), figure, DEFAULT,
                                                                 memory, bench.pairs)
            if bench.quick:
                continue
            setting = bench.best_setting(figure, memory)
            best = name_of(figure, "@best")
            if setting == DEFAULT:
                print(f"{best}: testpmd's default is its best setting", flush=True)
                continue
            print(f"{best}: both with {words(setting)}", flush=True)
            at_best[figure] = bench.compare(best, figure, setting, memory, bench.pairs)
        summarize("", by_default)
        if not bench.quick:
            summarize("@best", at_best)
        for figure in FIGURES:
            if figure.mode in ALSO_NO_HUGE and figure.traffic == "null":
                bench.compare(name_of(figure, "@no-huge"), figure, DEFAULT, NO_HUGE,
                              max(bench.pairs // 2, 2))
