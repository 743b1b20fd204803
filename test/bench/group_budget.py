# SPDX-License-Identifier: BSD-3-Clause
"""Send budgets: penstock with stock net_af_xdp and with net_xsk, txonly over veth, one lcore.

The peer drops in native XDP. One process for each driver and burst; the budget is set at its prompt, in
turns of some milliseconds, while it sends. "32" is the kernel's own; "best" is the fixed budget with the
least CPU time per packet, looked for before. The CPU time is that of the process.

Send calls and EAGAINs: net_xsk counts them. For the stock driver strace does, in runs that are not timed.
"""

import contextlib
import itertools
import os
import pathlib
import re
import signal
import statistics
import subprocess
import time

import measure
from dpdk_process import DpdkProcess
from xsk_rig import wires

SUMMARY = "TX budgets over veth, stock net_af_xdp and net_xsk: 32, tuned, the best fixed one"
TARGETS = ["app/penstock/penstock", "test/bench/drop.bpf.o"]

PENSTOCK = pathlib.Path(__file__).resolve().parents[2] / "build" / "app" / "penstock" / "penstock"

BURSTS = (128, 256, 512)
BUDGETS = (32, 64, 128, 256, 512, 1024)
DRIVERS = {"stock": "--vdev=net_af_xdp0,iface=out0", "xsk": "--vdev=net_xsk0,iface=out0"}
EAGAIN_GOAL = 0.97  # So much less.
FILL_GOAL = 0.8     # Packets per call ÷ burst.
PATIENCE = 50       # Turns without a packet, until it is a failure.
RUN_IN_S = 0.3      # In which a tuned budget finds its size.
serial = itertools.count()


@contextlib.contextmanager
def penstock(vdev, burst):
    with wires(("out0", "drop0")) as namespace:
        prefix = f"bench-{os.getpid()}-{next(serial)}"
        cpus = sorted(os.sched_getaffinity(0))
        arguments = ["ip", "netns", "exec", namespace, str(PENSTOCK), f"--lcores=0@{cpus[0]},1@{cpus[-1]}",
                     f"--file-prefix={prefix}", "--no-pci", "--no-telemetry", vdev, "--", "-i",
                     "--forward-mode=txonly", f"--burst={burst}", "--rxd=1024", "--txd=1024",
                     "--memory=256M", f"--run-dir=/run/{prefix}"]
        try:
            with DpdkProcess(arguments, "penstock> ", 1, prefix) as process:
                yield process
        finally:
            subprocess.run(["rm", "-rf", f"/run/{prefix}"], check=False)


def cpu_ns(process):
    """CPU time of the whole process, up to this moment: its control thread sleeps."""
    return time.clock_gettime_ns((~process.process.pid << 3) | 2)


def set_budget(process, budget):
    answer = process.command(f"set tx-budget {budget}")
    if "error" in answer:
        raise measure.Failed(answer.strip())


def turn(process, budget, window_s):
    """(packets per second, CPU nanoseconds per packet) with that budget."""
    set_budget(process, budget)
    first, first_ns = process.packets("TX")
    first_cpu_ns = cpu_ns(process)
    for _ in range(PATIENCE):
        time.sleep(window_s)
        last, last_ns = process.packets("TX")
        last_cpu_ns = cpu_ns(process)
        # Others may have had the processor all the time.
        if last > first:
            break
    else:
        raise measure.Failed(f"no packets moved in {PATIENCE} turns with budget {budget}")
    return (last - first) * 1e9 / (last_ns - first_ns), (last_cpu_ns - first_cpu_ns) / (last - first)


def in_turns(process, mine, other, pairs, window_s):
    return measure.in_turns(lambda: turn(process, mine, window_s),
                            lambda: turn(process, other, window_s), pairs)


def best_fixed(process, rounds, window_s):
    costs = {budget: [] for budget in BUDGETS}
    for round_ in range(rounds):
        for budget in BUDGETS if round_ % 2 == 0 else reversed(BUDGETS):
            costs[budget].append(turn(process, budget, window_s)[1])
    medians = {budget: statistics.median(cost) for budget, cost in costs.items()}
    return min(medians, key=medians.get)


# ---- send calls ----

def counted(process, seconds):
    """(packets, calls, EAGAINs) of a while, by the driver's own counters."""
    def look():
        text = process.command("show port xstats 0")
        found = {name: int(value) for name, value in re.findall(r"(\w+):? +(\d+)", text)}
        return found["tx_good_packets"], found["tx_q0_sends"], found["tx_q0_send_eagain"]

    process.stop()
    before = look()
    process.start()
    time.sleep(seconds)
    process.stop()
    after = look()
    process.start()
    return tuple(b - a for a, b in zip(before, after))


def traced(process, seconds):
    """The same by strace, of the lcore alone and from its first call to its last."""
    process.stop()
    before, _ = process.packets("TX")
    strace = subprocess.Popen(["strace", "-c", "-e", "trace=sendto", "-p", process.worker],
                              stderr=subprocess.PIPE, text=True)
    try:
        attached = strace.stderr.readline()
        if "attached" not in attached:
            raise measure.Failed(f"strace: {attached.strip()}")
        process.start()
        time.sleep(seconds)
        process.stop()
        after, _ = process.packets("TX")
    finally:
        strace.send_signal(signal.SIGINT)
        text = strace.communicate()[1]
    process.start()
    found = re.search(r"^ *[\d.]+ +[\d.]+ +\d+ +(\d+) +(\d+ +)?sendto$", text, re.MULTILINE)
    if not found:
        raise measure.Failed(f"strace: {text.strip()[-300:]}")
    return after - before, int(found[1]), int(found[2] or 0)


def calls(process, driver, budget, seconds):
    """(packets per send call, EAGAINs per million packets) with that budget."""
    set_budget(process, budget)
    time.sleep(RUN_IN_S)
    if driver == "xsk":
        packets, sends, again = counted(process, seconds)
    else:
        packets, sends, again = traced(process, seconds)
    if packets == 0 or sends == 0:
        raise measure.Failed(f"{driver}: nothing was sent")
    return packets / sends, again * 1e6 / packets


# ---- lines ----

def no_worse(name, quartiles):
    first, median, third = quartiles
    told = "no worse within the quartiles" if third >= 1 else "worse"
    print(f"{name}: {median:.3f} ({first:.3f}–{third:.3f}): {told}", flush=True)


def show_calls(name, burst, tuned, kernels):
    fill, again = tuned
    kernels_fill, kernels_again = kernels
    less = 1 - again / kernels_again if kernels_again else 0.0
    fill_met = "met" if fill >= FILL_GOAL * burst else "missed"
    again_met = "met" if less >= EAGAIN_GOAL else "missed"
    print(f"{name}.calls: {fill:.1f} packets per send call, with budget 32 {kernels_fill:.1f}; "
          f"goal {FILL_GOAL * burst:.0f} {fill_met}", flush=True)
    print(f"{name}.eagain: {again:.0f} EAGAINs per million packets, with budget 32 "
          f"{kernels_again:.0f}: {-100 * less:+.1f} %; goal {-100 * EAGAIN_GOAL:.0f} % {again_met}",
          flush=True)


def compare(driver, burst, pairs, window_s, quick):
    name = f"budget.{driver}.{burst}"
    with penstock(DRIVERS[driver], burst) as process:
        process.start()
        set_budget(process, "auto")
        time.sleep(RUN_IN_S)
        results = in_turns(process, "auto", 32, pairs, window_s)
        print(measure.line(name, "Mpps", [(a[0] / 1e6, b[0] / 1e6) for a, b in results]), flush=True)
        print(measure.line(name + ".cpu", "ns", [(a[1], b[1]) for a, b in results], 1.0,
                           more_is_better=False), flush=True)
        best = best_fixed(process, 3 if quick else 15, window_s)
        results = in_turns(process, "auto", best, pairs, window_s)
        print(measure.line(f"{name}@{best}", "Mpps", [(a[0] / 1e6, b[0] / 1e6) for a, b in results]),
              flush=True)
        costs = [(a[1], b[1]) for a, b in results]
        print(measure.line(f"{name}@{best}.cpu", "ns", costs, more_is_better=False), flush=True)
        no_worse(f"{name}.cpu: auto beside the best fixed budget, {best}",
                 measure.quartiles([other / mine for mine, other in costs]))
        seconds = 0.2 if quick else 0.5
        show_calls(name, burst, calls(process, driver, "auto", seconds),
                   calls(process, driver, 32, seconds))
        process.stop()


def run(options):
    if os.geteuid() != 0:
        raise measure.Failed("needs root, for network namespaces and AF_XDP")
    pairs = options.pairs or (10 if options.quick else 120)
    window_ms = options.window_ms or 15
    print(measure.calibration(6 if options.quick else 20), flush=True)
    print(f"budget: penstock txonly, 64 bytes, veth, peer drops in XDP, 1 core; auto ÷ budget 32, and "
          f"@N ÷ the best fixed; {pairs} pairs of {window_ms} ms in one process; .cpu: of the process, "
          "per packet", flush=True)
    print(measure.HEADING, flush=True)
    for driver in DRIVERS:
        for burst in BURSTS:
            compare(driver, burst, pairs, window_ms / 1000, options.quick)
