#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests of measure.py and of what run.py accepts, on numbers made up. TAP."""

import contextlib
import io
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import measure  # noqa: E402
import run  # noqa: E402

number = 0
failed = False


def check(name, got, expected):
    global number, failed
    number += 1
    good = got == expected
    failed |= not good
    print(f"{'ok' if good else 'not ok'} {number} - {name}")
    if not good:
        print(f"# expected {expected!r}\n# got      {got!r}")


def order_of_turns(pairs):
    turns = []
    results = measure.in_turns(lambda: turns.append("A") or len(turns),
                               lambda: turns.append("B") or len(turns), pairs)
    return "".join(turns), results


def refusal(*arguments):
    """The last line of run.py's answer, or None if it accepts."""
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors):
        try:
            run.parse(arguments)
        except SystemExit as end:
            return (end.code, errors.getvalue().splitlines()[-1].partition(": error: ")[2])
    return None


def raises(function, *arguments):
    try:
        function(*arguments)
    except measure.Failed:
        return True
    return False


VERDICTS = [  # lower quartile, median, goal, verdict
    (1.00, 1.05, None, ""),
    (0.98, 1.00, 0.97, "goal 0.97 met"),
    (0.97, 0.97, 0.97, "goal 0.97 met"),
    (0.96, 0.98, 0.97, "goal 0.97 met by the median only"),
    (1.05, 1.09, 1.10, "goal 1.10 missed"),
]

GROUPS = "accepted: " + ", ".join(run.group_names())
INVOCATIONS = [  # arguments, answer
    (("forward",), None),
    (("forward", "pipeline", "--pairs=15", "--window=200"), None),
    (("--list",), None),
    ((), (2, "no group; " + GROUPS)),
    (("forwrad",), (2, "forwrad: no such group; " + GROUPS)),
    (("forward", "--pairs=1"), (2, "argument --pairs: 1: accepted: 2 to 10000")),
    (("forward", "--pairs=many"), (2, "argument --pairs: many: accepted: 2 to 10000")),
    (("forward", "--window=2001"), (2, "argument --window: 2001: accepted: 10 to 2000")),
    (("forward", "--pair=15"), (2, "unrecognized arguments: --pair=15")),
]


def main():
    check("quartiles of 1…5", measure.quartiles([5, 1, 4, 2, 3]), (2, 3, 4))
    check("quartiles lie between values", measure.quartiles([1, 2]), (1.25, 1.5, 1.75))
    check("one value has no quartiles", raises(measure.quartiles, [1]), True)

    turns, results = order_of_turns(4)
    check("the first turn of each is discarded, then A B B A", turns, "AB" + "ABBAABBA")
    check("each pair is ours first, whoever went first", results, [(3, 4), (6, 5), (7, 8), (10, 9)])

    for first, median, goal, expected in VERDICTS:
        check(f"verdict on {median} ({first}…) for {goal}", measure.verdict(first, median, goal),
              expected)

    # Twice as fast in each pair, though the machine slows down tenfold in between.
    rates = [(20, 10), (2, 1), (20, 10)]
    check("a ratio is of neighbours", measure.line("g.f", "Mpps", rates, 1.5).split(),
          "g.f 20.00 Mpps 10.00 Mpps 2.000 (2.000–2.000) goal 1.50 met".split())
    check("of a cost, less is better",
          measure.line("g.f", "ns", rates, 1.5, more_is_better=False).split(),
          "g.f 20.00 ns 10.00 ns 0.500 (0.500–0.500) goal 1.50 missed".split())

    check("a mean is geometric, quartile by quartile",
          measure.mean_line("g.mean", [(1.0, 2.0, 4.0), (4.0, 8.0, 16.0)], 4.0).split(),
          "g.mean 4.000 (2.000–8.000) goal 4.00 met by the median only".split())

    check("a group is a file", {"forward", "pipeline"} <= set(run.group_names()), True)
    for arguments, expected in INVOCATIONS:
        check("invocation " + " ".join(arguments), refusal(*arguments), expected)
    print(f"1..{number}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
