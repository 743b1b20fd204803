# SPDX-License-Identifier: BSD-3-Clause
"""The completion stage against inline completions: penstock's txonly on net_xsk over veth.

The peer drops in XDP on a thread of the kernel's (threaded NAPI), so that completions come late, in
their own time; it has the first processor, the lcore that sends the last. Both sides are penstock, each
with a veth pair of its own, resident, and take turns: one with --completion=stage, one with inline,
which looks for completions at every burst.

Then a run of the stage alone, looked at from the prompt while packets move: reaps in vain ÷ reaps, and
how old the oldest mbuf in the queue was each time, both as net_xsk counts them.
"""

import contextlib
import itertools
import os
import pathlib
import re
import statistics
import subprocess
import tempfile
import time

import measure
from dpdk_process import DpdkProcess
from xsk_rig import LCORES, shell, wires

SUMMARY = "completions taken back by a stage against inline, penstock's txonly on net_xsk"
TARGETS = ["app/penstock/penstock", "test/bench/drop.bpf.o"]

PENSTOCK = pathlib.Path(__file__).resolve().parents[2] / "build" / "app" / "penstock" / "penstock"

BURSTS = (32, 64, 256)
BUSY_AGE_US = 100  # --completion-age's default.
MOST_EMPTY = 0.0005
RUN_IN_S = 0.05
serial = itertools.count()


@contextlib.contextmanager
def late_wire():
    """A wire whose far end receives on a thread of the kernel's, on the first processor."""
    with wires(("out0", "drop0")) as namespace:
        before = napi_threads()
        shell("ip", "netns", "exec", namespace, "sh", "-c",
              "echo 1 >/sys/class/net/drop0/threaded")
        for thread in napi_threads() - before:
            with contextlib.suppress(OSError):
                os.sched_setaffinity(thread, {min(os.sched_getaffinity(0))})
        yield namespace


def napi_threads():
    done = subprocess.run(["ps", "-eo", "pid=,comm="], stdout=subprocess.PIPE, text=True, check=True)
    return {int(line.split()[0]) for line in done.stdout.splitlines() if "napi/drop0" in line}


@contextlib.contextmanager
def penstock(namespace, completion, burst):
    prefix = f"bench-{os.getpid()}-{next(serial)}"
    cpus = sorted(os.sched_getaffinity(0))
    first, worker = LCORES
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as run_dir:
        arguments = ["ip", "netns", "exec", namespace, str(PENSTOCK),
                     f"--lcores={first}@{cpus[0]},{worker}@{cpus[-1]}", f"--file-prefix={prefix}",
                     "--no-pci", "--no-shconf", "--no-telemetry", "--vdev=net_xsk0,iface=out0", "--",
                     "-i", "--forward-mode=txonly", f"--burst={burst}", f"--completion={completion}",
                     "--total-num-mbufs=16384", "--memory=256M", f"--run-dir={run_dir}"]
        with DpdkProcess(arguments, "penstock> ", worker, prefix) as process:
            yield process


def xstats(process):
    return {name: int(value) for name, value in
            re.findall(r"(\w+): (\d+)", process.command("show port xstats 0"))}


def turn(process, window_s):
    """(packets per second, CPU nanoseconds of the lcore per packet), by the driver's count."""
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
    if last <= first or cpu_ns <= 0:
        raise measure.Failed(f"no packets moved in {window_s} s")
    return (last - first) * 1e9 / (last_ns - first_ns), cpu_ns / (after - before)


def compare(burst, pairs, window_s):
    """The rows of one burst."""
    with late_wire() as here, late_wire() as there, penstock(here, "stage", burst) as stage, \
            penstock(there, "inline", burst) as inline:
        results = measure.in_turns(lambda: turn(stage, window_s),
                                   lambda: turn(inline, window_s), pairs)
        name = f"completion.txonly.{burst}"
        rates = [(mine[0] / 1e6, other[0] / 1e6) for mine, other in results]
        costs = [(mine[1], other[1]) for mine, other in results]
        print(measure.line(name, "Mpps", rates, 1.0), flush=True)
        print(measure.line(name + ".cpu", "ns", costs, 1.0, more_is_better=False), flush=True)
        for side, process in (("stage", stage), ("inline", inline)):
            print(f"{name} {side}: {reaps_of(xstats(process))}", flush=True)


def reaps_of(counts, before=None):
    reaps, empty, reaped = (counts[f"tx_q0_{what}"] - (before or {}).get(f"tx_q0_{what}", 0)
                            for what in ("reaps", "empty_reaps", "reaped"))
    share = empty / reaps if reaps else 0
    return f"{reaped / max(reaps, 1):.1f} mbufs a reap, {share:.4%} of {reaps} reaps in vain"


def watch(burst, looks):
    """Reaps in vain and ages of one run, whose looks are 10 ms apart."""
    with late_wire() as here, penstock(here, "stage", burst) as process:
        process.start()
        time.sleep(0.2)
        before = xstats(process)
        ages = []
        for _ in range(looks):
            time.sleep(0.01)
            ages.append(xstats(process)["tx_q0_oldest_pinned_us"])
        after = xstats(process)
        process.stop()
    reaps = after["tx_q0_reaps"] - before["tx_q0_reaps"]
    empty = after["tx_q0_empty_reaps"] - before["tx_q0_empty_reaps"]
    percentiles = statistics.quantiles(ages, n=100, method="inclusive")
    met = empty < MOST_EMPTY * reaps and max(ages) <= BUSY_AGE_US
    print(f"completion.steady.{burst}: {reaps_of(after, before)}, oldest in the queue "
          f"{percentiles[49]:.0f} us, 99 % {percentiles[98]:.0f} us, most {max(ages)} us in {looks} looks; "
          f"goal < {MOST_EMPTY:.2%} and <= {BUSY_AGE_US} us {'met' if met else 'missed'}", flush=True)


def run(options):
    if os.geteuid() != 0:
        raise measure.Failed("needs root, for network namespaces and AF_XDP")
    pairs = options.pairs or (3 if options.quick else 15)
    window_ms = options.window_ms or (100 if options.quick else 500)
    print(measure.calibration(6 if options.quick else 20), flush=True)
    print(f"completion: penstock txonly, 64 bytes, veth, peer drops in XDP with threaded NAPI, 2 cores; "
          f"ours --completion=stage, rival inline; {pairs} pairs of {window_ms} ms; .cpu: of the lcore, "
          "per packet", flush=True)
    print(measure.HEADING, flush=True)
    for burst in BURSTS:
        compare(burst, pairs, window_ms / 1000)
    for burst in BURSTS:
        watch(burst, 50 if options.quick else 500)
