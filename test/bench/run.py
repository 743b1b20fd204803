#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs groups of benchmarks, for devtools/bench.sh.

A group is one file, group_NAME.py, beside this one. It has
  SUMMARY            one line for the list
  TARGETS            what ninja has to build for it
  run(options)       measures and prints; raises measure.Failed if it cannot
Of `options` it takes pairs, window_ms and quick; None in the first two means the group's own choice.
"""

import argparse
import importlib
import pathlib
import sys

import measure

HERE = pathlib.Path(__file__).resolve().parent


def group_names():
    return sorted(path.stem.removeprefix("group_") for path in HERE.glob("group_*.py"))


def load(name):
    return importlib.import_module("group_" + name)


def bounded(least, most):
    def convert(text):
        if not text.isdecimal() or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"{text}: accepted: {least} to {most}")
        return int(text)
    return convert


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="devtools/bench.sh", allow_abbrev=False,
        description="Measures penstock beside its rivals, in turns.",
        epilog="devtools/bench.sh without arguments lists the groups.")
    parser.add_argument("groups", nargs="*", metavar="GROUP")
    parser.add_argument("--pairs", type=bounded(2, 10000), metavar="N",
                        help="turns of each side (default: what the group needs)")
    parser.add_argument("--window", type=bounded(10, 2000), metavar="MS", dest="window_ms",
                        help="how long a turn between processes is (default: the group's)")
    parser.add_argument("--quick", action="store_true",
                        help="few and short turns: shows that it works, not how fast it is")
    parser.add_argument("--list", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--targets", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if not options.list and not options.groups:
        parser.error(f"no group; accepted: {', '.join(group_names())}")
    for name in options.groups:
        if name not in group_names():
            parser.error(f"{name}: no such group; accepted: {', '.join(group_names())}")
    return options


def main(arguments):
    options = parse(arguments)
    if options.list:
        print("devtools/bench.sh GROUP… [--pairs N] [--window MS] [--quick]")
        for name in group_names():
            print(f"  {name:<12} {load(name).SUMMARY}")
        return 0
    groups = {name: load(name) for name in options.groups}  # each once, in the order given
    if options.targets:
        print("targets:", *sorted({target for group in groups.values() for target in group.TARGETS}))
        return 0
    print(measure.machine(), flush=True)
    status = 0
    for name, group in groups.items():
        try:
            group.run(options)
        except measure.Failed as failure:
            print(f"bench: {name}: {failure}", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
