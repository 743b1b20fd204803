# SPDX-License-Identifier: BSD-3-Clause
"""The replay window of lib/esp against other designs, from window_bench.cc, which says what each row
is: RIVAL.LCORES. A ratio is ours ÷ rival in packets per second, so above 1 ours is the faster.
"""

import json
import pathlib
import subprocess

import measure

SUMMARY = "the replay window of an SA against locks, on one lcore and two"
TARGETS = ["test/bench/window_bench"]

PROGRAM = pathlib.Path(__file__).resolve().parents[2] / "build" / "test" / "bench" / "window_bench"

GOALS = {"lock_twice.2": 5.0}


def run(options):
    pairs = options.pairs or (6 if options.quick else 100)
    turn_ms = min(options.window_ms or 10, 20)
    print(f"window: {pairs} pairs of {turn_ms} ms in one process; packets of all lcores together",
          flush=True)
    print(measure.calibration(), flush=True)
    result = subprocess.run([str(PROGRAM), f"--pairs={pairs}", f"--turn-ms={turn_ms}"],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if result.returncode != 0:
        raise measure.Failed(f"{PROGRAM.name}: {result.stderr.strip().splitlines()[-1:]}")
    print(measure.HEADING)
    for row in json.loads(result.stdout):
        print(measure.formatted("window." + row["name"], "Mpps", row["ours_mpps"],
                                row["rival_mpps"], (row["q1"], row["ratio"], row["q3"]),
                                GOALS.get(row["name"])))
