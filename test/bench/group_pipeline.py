# SPDX-License-Identifier: BSD-3-Clause
"""What the pipeline's abstractions cost, from pipeline_bench.cc: turns inside one process.

A ratio is rival ÷ ours in CPU time, so above 1 ours is the faster. Where ours is a longer row of
stages, or one with a lock, and the rival the shorter, 1 − ratio is what the difference costs.
"""

import json
import pathlib
import subprocess

import measure

SUMMARY = "LcoreLoop, stages and packet templates against loops written by hand"
TARGETS = ["test/bench/pipeline_bench"]

PROGRAM = pathlib.Path(__file__).resolve().parents[2] / "build" / "test" / "bench" / "pipeline_bench"


def run(options):
    pairs = options.pairs or (10 if options.quick else 100)
    turn_ms = options.window_ms or 5
    arguments = [str(PROGRAM), f"--pairs={pairs}", f"--turn-ms={turn_ms}", "--benchmark_format=json"]
    print(f"pipeline: net_null, 64 bytes, burst 32, 1 core; {pairs} pairs of {turn_ms} ms in one "
          "process; CPU time per packet", flush=True)
    result = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            check=False)
    if result.returncode != 0:
        raise measure.Failed(f"{PROGRAM.name}: {result.stderr.strip().splitlines()[-1:]}")
    print(measure.HEADING)
    for row in json.loads(result.stdout)["benchmarks"]:
        print(measure.formatted("pipeline." + row["name"].partition("/")[0], "ns", row["ours_ns"],
                                row["rival_ns"], (row["q1"], row["ratio"], row["q3"]), None))
