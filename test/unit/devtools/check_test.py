# SPDX-License-Identifier: BSD-3-Clause
"""devtools/check.sh against a small tree: silent on a good one, and each planted fault found.

  check_test.py DEVTOOLS     prints TAP
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

HEAD = "// SPDX-License-Identifier: BSD-3-Clause\n"
HASH_HEAD = "# SPDX-License-Identifier: BSD-3-Clause\n"
BODY = "namespace penstock {}\n"

# A tree that breaks no rule. Two libraries above the DPDK line, two below.
GOOD = {
    ".clang-format": "BasedOnStyle: Google\nColumnLimit: 100\n",
    "lib/meson.build": HASH_HEAD + "subdir('base')\nsubdir('net')\n"
                       "# ---- no DPDK above this line ----\nsubdir('packet')\nsubdir('port')\n",
    "lib/base/meson.build": HASH_HEAD + "base_dep = declare_dependency()\n",
    "lib/net/meson.build": HASH_HEAD + "net_dep = declare_dependency(dependencies: base_dep)\n",
    "lib/packet/meson.build": HASH_HEAD +
                              "packet_dep = declare_dependency(dependencies: [dpdk, net_dep])\n",
    "lib/base/clock.h": HEAD + BODY,
    "lib/base/clock.cc": HEAD + '#include "lib/base/clock.h"\n\n#include <string>\n',
    "lib/net/mac.h": HEAD + '#include "lib/base/clock.h"\n' + BODY,
    "lib/packet/mbuf.cc": HEAD + '#include <rte_mbuf.h>\n\n#include "lib/net/mac.h"\n',
    "lib/port/open.cc": HEAD + '#include "lib/packet/mbuf.h"\n',
    "drivers/net/xsk/xsk.cc": HEAD + '#include "lib/base/clock.h"\n',
    "drivers/net/xsk/prog.bpf.c": "// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause\n",
    "app/penstock/main.cc": HEAD + "#include <cstdlib>\nint main() { exit(printf(\"x\")); }\n",
    "test/unit/base/meson.build": HASH_HEAD + "files('clock_test.cc')\n",
    "test/unit/net/meson.build": HASH_HEAD + "files('mac_test.cc')\n",
    "test/unit/packet/meson.build": HASH_HEAD + "files('mbuf_test.cc')\n",
    "test/unit/port/meson.build": HASH_HEAD + "files('open_test.cc')\n",
    "test/unit/base/clock_test.cc": HEAD + "void f() { abort(); }\n",
    "test/unit/net/mac_test.cc": HEAD,
    "test/unit/packet/mbuf_test.cc": HEAD,
    "test/unit/port/open_test.cc": HEAD,
    "devtools/run.sh": "#!/bin/bash\n" + HASH_HEAD + "echo \"$1\"\n",
    ".ci/run": "#!/bin/bash\n" + HASH_HEAD + "echo ran\n",
    "README.md": "# Small tree\n## The clock, in short\n[clock](lib/base/clock.h), [folder](lib),\n"
                 "[below](#the-clock-in-short), [web](https://example.org/x)\n"
                 "```\n[not a link](nowhere)\n```\nand `[neither](nowhere)`\n",
}

# What must not be taken for a fault: each of these stands in a comment, a string or a longer name.
INNOCENT = HEAD + r"""// abort(), printf(), std::cout and rte_exit() in a comment
/* exit(1);
   "not a string */
const char* kText = "call exit(1) or std::cerr";
const char* kRaw = R"(abort();)";
const int kMillion = 1'000'000;
int f(Queue& queue, char* text) {
  queue.exit(1);
  queue->abort();
  return snprintf(text, 1, "'") + in_use_at_exit(kMillion) + Gate::exit(1);
}
"""

CALLS = ["exit(1)", "::exit(1)", "std::exit(1)", "_exit(1)", "abort()", "std::abort()",
         'rte_exit(1, "x")', 'rte_panic("x")', "std::terminate()", 'printf("x")',
         'fprintf(stderr, "x")', 'puts("x")', 'perror("x")', 'std::cout << "x"', 'std::cerr << "x"',
         'absl::PrintF("x")']

# (what is planted, {file: text or None to remove it}, the violation's beginning)
FAULTS = [
    ("an unformatted file", {"lib/base/clock.cc": HEAD + "int   x;\n"},
     "lib/base/clock.cc:2: not formatted"),
    ("an unformatted BPF program", {"drivers/net/xsk/prog.bpf.c":
     "// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause\nint  x;\n"},
     "drivers/net/xsk/prog.bpf.c:2: not formatted"),
    ("a test that is not built", {"test/unit/net/meson.build": HASH_HEAD},
     "test/unit/net/mac_test.cc:1: not built; list it in test/unit/net/meson.build"),
    ("an unquoted variable", {"devtools/run.sh": "#!/bin/bash\n" + HASH_HEAD + "echo $1\n"},
     "devtools/run.sh:3: "),
    ("an unquoted variable in .ci/run", {".ci/run": "#!/bin/bash\n" + HASH_HEAD + "echo $1\n"},
     ".ci/run:3: "),
    ("an include of a library below", {"lib/base/clock.h": HEAD + '#include "lib/net/mac.h"\n'},
     "lib/base/clock.h:2: lib/base uses lib/net, which stands below"),
    ("the same in angle brackets and with spaces",
     {"lib/packet/mbuf.cc": HEAD + "#include <lib/port/open.h>\n"},
     "lib/packet/mbuf.cc:2: lib/packet uses lib/port, which stands below"),
    ("an include of an unlisted library", {"lib/net/mac.h": HEAD + '#include "lib/tls/key.h"\n'},
     "lib/net/mac.h:2: lib/tls is not in lib/meson.build"),
    ("a library that is not listed",
     {"lib/tls/key.h": HEAD, "test/unit/tls/key_test.cc": HEAD},
     "lib/meson.build:1: lib/tls is not listed"),
    ("a missing DPDK line", {"lib/meson.build": HASH_HEAD + "subdir('base')\nsubdir('net')\n"
                             "subdir('packet')\nsubdir('port')\n"},
     "lib/meson.build:1: the line 'no DPDK above this line' is missing"),
    ("a library that includes a driver",
     {"lib/port/open.cc": HEAD + '#include "drivers/net/xsk/xsk.h"\n'},
     "lib/port/open.cc:2: lib/ includes drivers/"),
    ("a library that includes the application",
     {"lib/port/open.cc": HEAD + '#include "app/penstock/modes.h"\n'},
     "lib/port/open.cc:2: lib/ includes app/"),
    ("a driver that includes the application",
     {"drivers/net/xsk/xsk.cc": HEAD + '#include "app/penstock/modes.h"\n'},
     "drivers/net/xsk/xsk.cc:2: drivers/ includes app/"),
    ("an include by '..'", {"lib/base/clock.h": HEAD + '#include "../net/mac.h"\n'},
     "lib/base/clock.h:2: an include goes up"),
    ("an include without path", {"lib/base/clock.cc": HEAD + '#include "clock.h"\n'},
     'lib/base/clock.cc:2: "clock.h" has no path'),
    ("a DPDK header above the line", {"lib/net/mac.h": HEAD + "#include <rte_ether.h>\n"},
     "lib/net/mac.h:2: lib/net includes rte_ether.h"),
    ("a DPDK dependency above the line",
     {"lib/net/meson.build": HASH_HEAD + "net_dep = declare_dependency(dependencies: dpdk)\n"},
     "lib/net/meson.build:2: lib/net depends on DPDK"),
    ("a DPDK dependency by its name",
     {"lib/base/meson.build": HASH_HEAD + "base_dep = dependency('libdpdk')\n"},
     "lib/base/meson.build:2: lib/base depends on DPDK"),
    ("a dependency on a library below",
     {"lib/base/meson.build": HASH_HEAD + "base_dep = declare_dependency(dependencies: net_dep)\n"},
     "lib/base/meson.build:2: lib/base uses lib/net, which stands below"),
    ("a source without its test", {"lib/base/log.cc": HEAD},
     "lib/base/log.cc:1: no unit test; write test/unit/base/log_test.cc"),
    ("a nested source without its test", {"lib/port/quirk/mlx.h": HEAD},
     "lib/port/quirk/mlx.h:1: no unit test; write test/unit/port/quirk/mlx_test.cc"),
    ("a removed test", {"test/unit/net/mac_test.cc": None}, "lib/net/mac.h:1: no unit test"),
    ("a source without licence", {"lib/base/clock.cc": BODY}, "lib/base/clock.cc:1: no licence"),
    ("a script without licence", {"devtools/run.sh": "#!/bin/bash\necho\n"},
     "devtools/run.sh:1: no licence"),
    ("a build file without licence", {"lib/base/meson.build": "base_dep = 1\n"},
     "lib/base/meson.build:1: no licence"),
    ("a script without suffix and licence", {"devtools/run": "#!/bin/sh\necho\n"},
     "devtools/run:1: no licence"),
    ("a path of one machine", {"README.md": "# Tree\n\nRun /" + "home/anna/penstock.\n"},
     "README.md:3: '/" + "home/…' is a path of one machine"),
    ("a link to nowhere", {"README.md": "# Tree\n\n[guide](doc/guide.md)\n"},
     "README.md:3: link to 'doc/guide.md': no such file"),
    ("a picture that is missing", {"README.md": "![loop](doc/loop.svg)\n"},
     "README.md:1: link to 'doc/loop.svg': no such file"),
    ("a link by reference to nowhere", {"README.md": "[guide][g]\n\n[g]: guide.md\n"},
     "README.md:3: link to 'guide.md': no such file"),
    ("a link to a file that git ignores",
     {"README.md": "[log](build/log)\n", ".gitignore": "/build/\n", "build/log": "x"},
     "README.md:1: link to 'build/log': no such file"),
    ("a link to a missing heading", {"README.md": "# Tree\n\n[options](#the-options)\n"},
     "README.md:3: link to '#the-options': no such heading"),
] + [
    (f"the call {call}", {"lib/base/clock.cc": f"{HEAD}void f() {{ {call}; }}\n"},
     f"lib/base/clock.cc:2: {call.split('(')[0].split(' ')[0]} outside app/")
    for call in CALLS
] + [
    ("a call in a driver", {"drivers/net/xsk/xsk.cc": HEAD + "void f() { abort(); }\n"},
     "drivers/net/xsk/xsk.cc:2: abort outside app/"),
    ("a call after a raw string and a number",
     {"lib/base/clock.cc": HEAD + 'auto a = R"x(")x";\nint b = 1\'000;\nvoid f() { exit(\'"\'); }\n'},
     "lib/base/clock.cc:4: exit outside app/"),
]


def plant(root, files):
    for path, text in files.items():
        target = root / path
        if text is None:
            target.unlink()
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)


def fresh_tree(root, files):
    for entry in root.iterdir():
        if entry.name == ".git":
            continue
        if entry.is_dir():
            shutil.rmtree(entry)
        else:
            entry.unlink()
    plant(root, GOOD)
    subprocess.run(["git", "-C", root, "add", "--all"], check=True)
    plant(root, files)


def check(devtools, root):
    done = subprocess.run([devtools / "check.sh", root], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return done.returncode, done.stdout.splitlines(), done.stderr


def main(devtools):
    print(f"1..{len(FAULTS) + 3}")
    number = 0

    def verdict(good, name, evidence):
        nonlocal number
        number += 1
        print(f"{'ok' if good else 'not ok'} {number} - {name}")
        if not good:
            for line in str(evidence).splitlines():
                print(f"# {line}")

    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        subprocess.run(["git", "-C", root, "init", "--quiet"], check=True)

        fresh_tree(root, {})
        code, lines, errors = check(devtools, root)
        verdict(code == 0 and len(lines) == 1 and not errors, "a good tree passes", (lines, errors))

        fresh_tree(root, {"lib/base/clock.cc": INNOCENT})
        code, lines, errors = check(devtools, root)
        # It is not formatted either, which is not the matter here.
        verdict(not [line for line in lines if "outside app/" in line],
                "comments, strings and longer names are not calls", lines)

        has_formatter = shutil.which("clang-format-14") is not None
        for name, files, expected in FAULTS:
            if "not formatted" in expected and not has_formatter:
                number += 1
                print(f"ok {number} - {name} # SKIP clang-format-14 is not installed")
                continue
            fresh_tree(root, files)
            code, lines, errors = check(devtools, root)
            found = [line for line in lines if line.startswith(expected)]
            verdict(code == 1 and len(found) == 1 and "; " in found[0], name,
                    f"expected: {expected}\n" + "\n".join(lines) + errors)

        fresh_tree(root, {"lib/base/clock.cc": HEAD + "void  f() { abort(); }\n",
                          "devtools/run.sh": "#!/bin/bash\n" + HASH_HEAD + "echo $1\n"})
        code, lines, errors = check(devtools, root)
        verdict(code == 1 and len(lines) == 2 + has_formatter,
                "one check that speaks does not silence the others", (lines, errors))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve())
