# SPDX-License-Identifier: BSD-3-Clause
"""penstock against packaged dpdk-testpmd on net_null: what the two programs themselves cost.

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
"""

import contextlib
import itertools
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

import measure
from dpdk_process import DpdkProcess

SUMMARY = "io, rxonly, macswap and txonly on net_null against dpdk-testpmd"
TARGETS = ["app/penstock/penstock"]

ROOT = pathlib.Path(__file__).resolve().parents[2]
PENSTOCK = ROOT / "build" / "app" / "penstock" / "penstock"

# mode: what is counted, goal
MODES = {"io": ("RX", 0.97), "rxonly": ("RX", 0.97), "macswap": ("RX", 1.10), "txonly": ("TX", 1.10)}

DEFAULT = {"burst": 32, "mbcache": 250}
SETTINGS = [DEFAULT, {"burst": 32, "mbcache": 512}, {"burst": 64, "mbcache": 512},
            {"burst": 128, "mbcache": 512}, {"burst": 256, "mbcache": 512}]

EAL = ["--no-pci", "--no-shconf", "--no-telemetry", "--vdev=net_null0"]
NO_HUGE = ["--no-huge", "-m", "512"]
HUGEPAGES = 512  # Of 2 MiB: enough for as many processes as look for the best setting at once.
NR_HUGEPAGES = pathlib.Path("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages")
COMMON = ["-i", "--port-topology=loop", "--rxq=1", "--txq=1", "--rxd=1024", "--txd=1024",
          "--total-num-mbufs=16384", "--mbuf-size=2176"]

RUN_IN_S = 0.02
LIVES = 4
LCORES = (0, 1)
serial = itertools.count()


@contextlib.contextmanager
def hugepage_memory():
    """EAL arguments for memory in hugepages, reserved for as long as the context lasts."""
    before = int(NR_HUGEPAGES.read_text())
    with tempfile.TemporaryDirectory(prefix="penstock-bench-huge-") as folder:
        try:
            NR_HUGEPAGES.write_text(str(before + HUGEPAGES))
            if int(NR_HUGEPAGES.read_text()) < before + HUGEPAGES:
                raise measure.Failed(f"this machine has no memory for {HUGEPAGES} hugepages")
            mounted = subprocess.run(["mount", "-t", "hugetlbfs", "-o", "pagesize=2M", "none", folder],
                                     check=False).returncode == 0
            if not mounted:
                raise measure.Failed("cannot mount hugetlbfs: run as root")
            try:
                yield [f"--huge-dir={folder}", "--huge-unlink=always"]
            finally:
                subprocess.run(["umount", folder], check=True)
        except OSError as error:
            raise measure.Failed(f"cannot reserve hugepages: {error}") from error
        finally:
            with contextlib.suppress(OSError):
                NR_HUGEPAGES.write_text(str(before))


def words(setting):
    return " ".join(f"--{name}={value}" for name, value in setting.items())


def start_process(program, mode, setting, memory, *extra):
    prefix = f"bench-{os.getpid()}-{next(serial)}"
    cpus = sorted(os.sched_getaffinity(0))
    # The first CPU for the prompt, the last for packets.
    lcores = f"--lcores={LCORES[0]}@{cpus[0]},{LCORES[1]}@{cpus[-1]}"
    arguments = [str(program), lcores, f"--file-prefix={prefix}", *EAL, *memory, "--",
                 *COMMON,
                 f"--forward-mode={mode}", *words(setting).split(), *extra]
    prompt = "penstock> " if program == PENSTOCK else "testpmd> "
    return DpdkProcess(arguments, prompt, LCORES[1], prefix)


def start_testpmd(mode, setting, memory):
    # Without --no-flush-rx every start would first empty net_null, which is never empty.
    return start_process("dpdk-testpmd", mode, setting, memory, "--no-flush-rx")


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


def best_setting(mode, direction, memory, window_s, rounds):
    """testpmd's own best by CPU time per packet; the settings take turns."""
    costs = [[] for _ in SETTINGS]
    with contextlib.ExitStack() as stack:
        processes = [stack.enter_context(start_testpmd(mode, setting, memory))
                     for setting in SETTINGS]
        for round_ in range(rounds):
            order = list(enumerate(processes))
            for index, process in order if round_ % 2 == 0 else reversed(order):
                costs[index].append(turn(process, direction, window_s)[1])
    medians = [statistics.median(cost) for cost in costs]
    return SETTINGS[medians.index(min(medians))]


def pairs_of_one_life(mode, setting, memory, pairs, window_s):
    direction = MODES[mode][0]
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as run_dir, \
            start_process(PENSTOCK, mode, setting, memory, f"--run-dir={run_dir}") as ours, \
            start_testpmd(mode, setting, memory) as rival:
        return measure.in_turns(lambda: turn(ours, direction, window_s),
                                lambda: turn(rival, direction, window_s), pairs)


def compare(figure, mode, setting, memory, goal, pairs, window_s):
    results = []
    for life in range(LIVES):
        share = pairs * (life + 1) // LIVES - pairs * life // LIVES
        if share > 0:
            results += pairs_of_one_life(mode, setting, memory, share, window_s)
    rates = [(mine[0] / 1e6, other[0] / 1e6) for mine, other in results]
    costs = [(mine[1], other[1]) for mine, other in results]
    print(measure.line(figure, "Mpps", rates, goal), flush=True)
    print(measure.line(figure + ".cpu", "ns", costs, goal, more_is_better=False), flush=True)


def run(options):
    pairs = options.pairs or (6 if options.quick else 40)
    window_ms = options.window_ms or (50 if options.quick else 200)
    window_s = window_ms / 1000
    print(measure.calibration(6 if options.quick else 20), flush=True)
    print(f"forward: net_null, 64 bytes, 1 port, 1 core moves packets; rival dpdk-testpmd, "
          f"{words(DEFAULT)}; {pairs} pairs of {window_ms} ms in {LIVES} lives; .cpu: of the core, per packet",
          flush=True)
    print(measure.HEADING, flush=True)
    with hugepage_memory() as memory:
        for mode, (direction, goal) in MODES.items():
            compare(f"forward.{mode}", mode, DEFAULT, memory, goal, pairs, window_s)
            if options.quick:
                continue
            setting = best_setting(mode, direction, memory, window_s, rounds=8)
            if setting == DEFAULT:
                print(f"forward.{mode}@best: testpmd's default is its best setting", flush=True)
                continue
            print(f"forward.{mode}@best: both with {words(setting)}", flush=True)
            compare(f"forward.{mode}@best", mode, setting, memory, goal, pairs, window_s)
    for mode, (direction, goal) in MODES.items():
        compare(f"forward.{mode}@no-huge", mode, DEFAULT, NO_HUGE, goal, max(pairs // 2, 2), window_s)
