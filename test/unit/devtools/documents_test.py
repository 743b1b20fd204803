#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The documents against the program: nothing that one has is missing in the other.

  documents_test.py ROOT PENSTOCK     prints TAP

What testpmd has is listed in test/data/testpmd; what penstock has, it says itself.
"""

import pathlib
import re
import subprocess
import sys


def rows(path):
    """(sign, words) of each line of a file of testpmd's options or commands."""
    return [tuple(line.split(maxsplit=1)) for line in path.read_text().splitlines()
            if line and not line.startswith("#")]


def first_cells(text):
    """The code of the first column of each table: what a reader looks up."""
    spans = []
    for line in text.splitlines():
        # "\|" is a bar within a cell.
        if cell := re.match(r"\|((?:\\.|[^|\\])*)\|", line):
            spans += [span.replace("\\|", "|") for span in re.findall(r"`([^`]+)`", cell[1])]
    return spans


def finds(span, line):
    """Whether who looks for `line` finds it in `span`: "a|b" is either word, "N" and the like any.

    One word is enough only for a line that says no more, but for a value.
    """
    pattern, words = span.split(), line.split()
    if len(pattern) > len(words) or (len(pattern) == 1 and len(words) > 2):
        return False
    return all(word.isupper() or given in word.split("|") for word, given in zip(pattern, words))


def ask(penstock, *arguments):
    return subprocess.run([penstock, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)


def help_part(text, part):
    return re.findall(r"^  (\S+?)(?:=| )", text.partition(f"\n{part}\n")[2].partition("\n\n")[0],
                      re.MULTILINE)


def missing(cases):
    """The names of those that do not hold."""
    return ", ".join(name for name, good in cases if not good)


def main(root, penstock):
    comparison = (root / "doc/from-testpmd.md").read_text()
    guide = (root / "doc/guide.md").read_text()
    examples = "\n".join(re.findall(r"^```sh\n(.*?)^```$", guide, re.MULTILINE | re.DOTALL))
    prose = re.sub(r"^```.*?^```$", "", guide, flags=re.MULTILINE | re.DOTALL)
    usage = ask(penstock, "--help").stdout
    options = re.findall(r"^  --([a-z-]+)", usage, re.MULTILINE)
    modes = help_part(usage, "modes")
    testpmd_options = rows(root / "test/data/testpmd/options.txt")
    testpmd_commands = rows(root / "test/data/testpmd/commands.txt")
    looked_up = first_cells(comparison)
    option_cells = {match for span in looked_up for match in re.findall(r"--([a-z-]+)", span)}

    def answered(name):
        done = ask(penstock, "--", f"--{name}")
        return done.returncode == 2 and "known from testpmd, not offered: " in done.stdout

    verdicts = [
        ("the lists are there", "" if len(testpmd_options) > 90 and len(testpmd_commands) > 300 and
         len(options) > 40 and len(modes) > 8 and examples else "too short"),
        ("from-testpmd.md has every option of testpmd",
         missing((name, name in option_cells) for _, name in testpmd_options)),
        ("from-testpmd.md has every option of penstock",
         missing((name, name in option_cells) for name in options)),
        ("from-testpmd.md has no other option",
         missing((name, name in options or answered(name)) for name in sorted(option_cells - {"help"}))),
        ("from-testpmd.md has every command of testpmd",
         missing((line, any(finds(span, line) for span in looked_up))
                 for _, line in testpmd_commands)),
        ("from-testpmd.md has every mode",
         missing((mode, mode in looked_up) for mode in modes)),
        ("penstock has, or has not, what the list of options says",
         missing((name, (name in options or name == "help") if sign == "+" else answered(name))
                 for sign, name in testpmd_options)),
        ("guide.md explains every option",
         missing((name, re.search(rf"`--{name}[`=]", prose)) for name in options)),
        ("guide.md runs every option",
         missing((name, re.search(rf"--{name}\b(?!-)", examples)) for name in options
                 if name != "interactive")),
        ("guide.md explains every mode",
         missing((mode, f"\n| `{mode}` |" in prose) for mode in modes)),
        ("guide.md runs every mode",
         missing((mode, mode == "io" or f"--forward-mode={mode}" in examples) for mode in modes)),
    ]
    print(f"1..{len(verdicts)}")
    for number, (name, fault) in enumerate(verdicts, 1):
        print(f"{'not ok' if fault else 'ok'} {number} - {name}")
        if fault:
            print(f"# missing or wrong: {fault}")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), sys.argv[2])
