# SPDX-License-Identifier: BSD-3-Clause
"""What every group measures with: turns, quartiles, the form of a result, the machine.

The speed of a machine wanders by more than what is to be measured, so nothing is measured alone: two
sides take turns in the order A B B A, and what counts is the median of the ratios of neighbours.
"""

import os
import platform
import re
import statistics
import subprocess
import time


class Failed(Exception):
    """Something could not be measured. A slow result is no failure."""


def quartiles(values):
    """First quartile, median, third quartile."""
    if len(values) < 2:
        raise Failed(f"{len(values)} values have no quartiles; at least 2 pairs are needed")
    return tuple(statistics.quantiles(values, n=4, method="inclusive"))


def in_turns(ours, rival, pairs):
    """[(result of ours(), result of rival())] of `pairs` neighbours. One turn of each is discarded."""
    ours()
    rival()
    results = []
    for pair in range(pairs):
        if pair % 2 == 0:
            mine = ours()
            other = rival()
        else:
            other = rival()
            mine = ours()
        results.append((mine, other))
    return results


def verdict(first, median, goal):
    """A goal is met when the median meets it and the lower quartile does not contradict it."""
    if goal is None:
        return ""
    if median < goal:
        return f"goal {goal:.2f} missed"
    return f"goal {goal:.2f} met" + ("" if first >= goal else " by the median only")


def formatted(figure, unit, mine, other, ratio_quartiles, goal):
    """`figure ours rival ratio (q1–q3) goal`."""
    first, median, third = ratio_quartiles
    return (f"{figure:<26} {mine:9.2f} {unit:<6} {other:9.2f} {unit:<6} {median:6.3f} "
            f"({first:.3f}–{third:.3f})  {verdict(first, median, goal)}").rstrip()


def line(figure, unit, pairs, goal=None, more_is_better=True):
    """The line of a figure measured in pairs. The ratio is above 1 where ours is the better."""
    ratios = [mine / other if more_is_better else other / mine for mine, other in pairs]
    return formatted(figure, unit, statistics.median(pair[0] for pair in pairs),
                     statistics.median(pair[1] for pair in pairs), quartiles(ratios), goal)


def mean_line(figure, ratio_quartiles, goal=None):
    """The line of the geometric mean of several ratios, each (lower quartile, median, upper)."""
    first, median, third = (statistics.geometric_mean(each) for each in zip(*ratio_quartiles))
    return (f"{figure:<26} {'':9} {'':<6} {'':9} {'':<6} {median:6.3f} "
            f"({first:.3f}–{third:.3f})  {verdict(first, median, goal)}").rstrip()


HEADING = f"{'figure':<26} {'ours':>9} {'':<6} {'rival':>9} {'':<6} {'ratio':>6} (q1–q3)"


# ---- the machine ----

def machine():
    try:
        with open("/proc/cpuinfo", encoding="ascii") as file:
            model = re.search(r"model name\s*: (.*)", file.read())
    except OSError:
        model = None
    dpdk = subprocess.run(["pkg-config", "--modversion", "libdpdk"], stdout=subprocess.PIPE,
                          text=True, check=False).stdout.strip()
    return (f"machine: {model[1] if model else platform.machine()}, "
            f"{len(os.sched_getaffinity(0))} CPUs, Linux {platform.release()}, DPDK {dpdk}")


WORK = """
import os, sys
os.sched_setaffinity(0, {int(sys.argv[1])})
def work():
    total = 0
    for i in range(100000):
        total += i
print(flush=True)
for _ in sys.stdin:
    work()
    print(flush=True)
"""


class Burner:
    """A process on one CPU that does a fixed piece of work when told to."""

    def __init__(self, cpu):
        self.process = subprocess.Popen(["/usr/bin/python3", "-c", WORK, str(cpu)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.process.stdout.readline()

    def start(self):
        print(file=self.process.stdin, flush=True)

    def wait(self):
        if not self.process.stdout.readline():
            raise Failed("calibration: the process that burns time ended by itself")

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def calibration(pairs=20):
    """What two cores give when both are busy: the same work twice, unshared, ÷ once."""
    cpus = sorted(os.sched_getaffinity(0))[:2]
    if len(cpus) < 2:
        return "calibration: one CPU; nothing runs beside anything"
    burners = []
    try:
        for cpu in cpus:
            burners.append(Burner(cpu))

        def rate(which):
            since = time.monotonic()
            for burner in which:
                burner.start()
            for burner in which:
                burner.wait()
            return len(which) / (time.monotonic() - since)

        results = in_turns(lambda: rate(burners), lambda: rate(burners[:1]), pairs)
    finally:
        for burner in burners:
            burner.close()
    first, median, third = quartiles([both / one for both, one in results])
    return (f"calibration: the same work on 2 cores ÷ on 1: {median:.2f} ({first:.2f}–{third:.2f}), "
            f"{pairs} pairs")
