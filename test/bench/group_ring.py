# SPDX-License-Identifier: BSD-3-Clause
"""The cursors of lib/ring against one lock around everything, from ring_bench.cc, which says what each
row is. A ratio is rival ÷ ours in CPU time, so above 1 ours is the faster.
"""

import json
import pathlib
import subprocess

import measure

SUMMARY = "the cursors of lib/ring against one lock, one writer and two"
TARGETS = ["test/bench/ring_bench"]

PROGRAM = pathlib.Path(__file__).resolve().parents[2] / "build" / "test" / "bench" / "ring_bench"


def goal(name):
    return 1.146 if name == "exclusive.1" else 0.95


def run(options):
    pairs = options.pairs or (6 if options.quick else 100)
    turn_ms = min(options.window_ms or 5, 20)
    print(measure.calibration(6 if options.quick else 20), flush=True)
    print(f"ring: {pairs} pairs of {turn_ms} ms in one process; CPU time per packet; exclusive: 1 core, "
          "outside and split: 2", flush=True)
    result = subprocess.run([str(PROGRAM), f"--pairs={pairs}", f"--turn-ms={turn_ms}"],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if result.returncode != 0:
        raise measure.Failed(f"{PROGRAM.name}: {result.stderr.strip().splitlines()[-1:]}")
    print(measure.HEADING)
    for row in json.loads(result.stdout):
        print(measure.formatted("ring." + row["name"], "ns", row["ours_ns"], row["rival_ns"],
                                (row["q1"], row["ratio"], row["q3"]), goal(row["name"])))
