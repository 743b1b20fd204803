# SPDX-License-Identifier: BSD-3-Clause
"""Runs every command of doc/guide.md as it stands there, one case per block."""

import re
import subprocess

from support import *

TREE = pathlib.Path("/tmp/penstock-tree")


def blocks():
    text = (ROOT / "doc/guide.md").read_text()
    return re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def script():
    """One shell for all blocks, because they build on each other; a line on fd 3 after each."""
    lines = ["set -eu -o pipefail"]
    for number, block in enumerate(blocks()):
        for line in block.splitlines():
            # The shell's own "!" would not stop it where a mistake is accepted.
            refused = re.fullmatch(r"! (.*)", line)
            lines.append(f"if {refused[1]}; then echo 'accepted: {refused[1]}'; exit 1; fi"
                         if refused else line)
        lines.append(f"echo {number} >&3")
    return "\n".join(lines) + "\n"


def tests(tap):
    # Where every user can go, wherever the tree itself is: one example runs as nobody.
    TREE.mkdir()
    run(["mount", "--bind", str(ROOT), str(TREE)])
    done_read, done_write = os.pipe()
    with open("/tmp/output", "w+b") as output:
        shell = subprocess.Popen(
            ["bash", "-c", f"exec 3>&{done_write}; " + script()], cwd=TREE, pass_fds=[done_write],
            stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
        os.close(done_write)
        # The machine's, not the namespaces': to be given back whatever happens.
        hugepages = Hugepages(0)
        before = hugepages.read("nr_hugepages")
        try:
            shell.wait(timeout=150)
        except subprocess.TimeoutExpired:
            shell.kill()
            shell.wait()
        finally:
            (hugepages.pages / "nr_hugepages").write_text(str(before))
        output.seek(0)
        tail = output.read().decode(errors="replace")[-3000:]
    done = {int(line) for line in os.read(done_read, 65536).decode().split()}
    for number, block in enumerate(blocks()):
        with tap.case(f"guide: {block.splitlines()[0][:70]}"):
            expect(number in done, f"did not come to its end; the output before:\n{tail}")
    with tap.case("guide: nothing is left"):
        expect(not any(RUN_DIRECTORY.iterdir() if RUN_DIRECTORY.exists() else []) or
               [p.name for p in RUN_DIRECTORY.iterdir()] == [".lock"],
               f"{RUN_DIRECTORY} is not empty")


if __name__ == "__main__":
    main(tests)
