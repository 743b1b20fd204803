# SPDX-License-Identifier: BSD-3-Clause
"""mempool_deferred against the mempools of DPDK, from mempool_bench.cc, which says what each row is.
A ratio is ours ÷ rival in mbufs per second, so above 1 ours is the faster.
"""

import json
import pathlib
import subprocess

import measure

SUMMARY = "mempool_deferred against ring, stack, lf_stack, bucket and a list under a lock"
TARGETS = ["test/bench/mempool_bench"]

PROGRAM = pathlib.Path(__file__).resolve().parents[2] / "build" / "test" / "bench" / "mempool_bench"
LEAST_POLL_CYCLES = 3


def goal(name):
    """Against the default ops only: what a user has who does nothing."""
    kind, size, cache, ops = name.split(".")
    if ops != "ring_mp_mc":
        return None
    if kind == "same":
        return 1.0
    if kind == "across":
        return 2.0 if cache == "0" else 1.15 if size == "64" else 1.5
    return None


def compared(row):
    mine, theirs = row["cycles"][:2], row["cycles"][2:]
    return (measure.formatted(row["name"], "M/s", row["ours"], row["rival"],
                              (row["q1"], row["ratio"], row["q3"]), goal(row["name"])) +
            f"  [cycles per mbuf, alloc + free: {mine[0]:.1f} + {mine[1]:.1f}, "
            f"{theirs[0]:.1f} + {theirs[1]:.1f}]")


def counted(row):
    text = f"{row['name']:<26} {row['distinct']} mbufs, {row['in_flight']} in flight at most"
    if not row["name"].endswith(".deferred"):
        return text
    kept = row["distinct"] <= row["allowed"]
    return f"{text}; goal ≤ {row['allowed']} {'met' if kept else 'missed'}"


def polled(row):
    cycles = row["poll_cycles"]
    return (f"{'mailbox.empty_poll':<26} {cycles:.2f} cycles ({row['q1']:.2f}–{row['q3']:.2f})  "
            f"goal ≤ {LEAST_POLL_CYCLES} {'met' if cycles <= LEAST_POLL_CYCLES else 'missed'}")


def run(options):
    rounds = options.pairs or (4 if options.quick else 100)
    turn_ms = min(options.window_ms or (2 if options.quick else 10), 20)
    print(f"mempool: {rounds} pairs of {turn_ms} ms in one process (a third of them but for "
          "ring_mp_mc), 16383 mbufs, burst 32, 2 lcores", flush=True)
    print(measure.calibration(), flush=True)
    result = subprocess.run([str(PROGRAM), f"--rounds={rounds}", f"--turn-ms={turn_ms}"],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if result.returncode != 0:
        said = result.stderr.strip().splitlines() or [f"exit code {result.returncode}"]
        raise measure.Failed(f"{PROGRAM.name}: {said[-1]}")
    for line in result.stderr.strip().splitlines():
        print(line)
    print(measure.HEADING)
    for row in json.loads(result.stdout):
        print(compared(row) if "ratio" in row else counted(row) if "distinct" in row
              else polled(row))
    print(measure.calibration(), flush=True)
