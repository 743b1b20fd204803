#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks a model with spin in all its interleavings, and that each broken twin is caught.

  run.py MODEL.pml     prints TAP

The twins are the BROKEN_… names that the model tests for. A twin that passes would mean that the
model does not see what it is there for.
"""

import pathlib
import re
import subprocess
import sys
import tempfile


def run(words, folder):
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)


def check(model, define):
    """Number of errors, and what pan says; raises if the search was not exhaustive."""
    with tempfile.TemporaryDirectory() as folder:
        for words in (["spin", *define, "-a", model],
                      ["gcc", "-O1", "-DSAFETY", "-DVECTORSZ=4096", "-DCOLLAPSE", "-w", "-o", "pan",
                       "pan.c"]):
            done = run(words, folder)
            if done.returncode != 0:
                raise RuntimeError(f"{' '.join(words)}: {done.stdout}{done.stderr}")
        out = run(["./pan", "-m200000", "-w20"], folder).stdout
    found = re.search(r"errors: (\d+)", out)
    if not found:
        raise RuntimeError(f"pan ended without a result: {out}")
    if "max search depth too small" in out or "search not completed" in out and found[1] == "0":
        raise RuntimeError(f"the search was not exhaustive: {out}")
    return int(found[1]), out


def main(model):
    path = pathlib.Path(model).resolve()
    twins = sorted(set(re.findall(r"\bBROKEN_\w+", path.read_text())))
    failures = 0
    for number, twin in enumerate([None, *twins], 1):
        try:
            errors, out = check(str(path), [f"-D{twin}"] if twin else [])
            good = (errors == 0) if twin is None else errors > 0
        except RuntimeError as error:
            good, out = False, str(error)
        name = f"{path.stem}: " + (f"{twin} is caught" if twin else "holds in every interleaving")
        print(f"{'ok' if good else 'not ok'} {number} - {name}", flush=True)
        if twin is None:
            states = re.search(r"(\d+) states, stored", out)
            print(f"# {states[1] if states else '?'} states")
        if not good:
            failures += 1
            for line in out.splitlines():
                print(f"# {line}")
    print(f"1..{1 + len(twins)}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
