# SPDX-License-Identifier: BSD-3-Clause
"""devtools/tests.py against a real meson run: what passes, fails and is skipped is counted so.

  tests_test.py DEVTOOLS     prints TAP

The tests of the small project are shell scripts that do what googletest, TAP and plain programs do.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

GTEST_XML = """cat > "${1#--gtest_output=xml:}" <<'XML'
<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="AllTests">
  <testsuite name="Clock">
    <testcase name="Ticks" status="run" result="completed" classname="Clock" />
    <testcase name="Needs" status="run" result="skipped" classname="Clock">
      <skipped message="clock_test.cc:7&#x0A;needs a second CPU" />
    </testcase>
    <testcase name="DISABLED_Later" status="notrun" result="suppressed" classname="Clock" />
    MORE
  </testsuite>
</testsuites>
XML
"""
GTEST_FAILURE = ('<testcase name="Stops" status="run" result="completed" classname="Clock">'
                 '<failure message="boom"/></testcase>')
TAP = "printf '1..4\\nok 1 - first\\nnot ok 2 - second\\nok 3 third # SKIP no veth\\nok 4\\n'\n"

# name, suite, protocol, script, the lines that a report must hold, (passed, failed, skipped)
CASES = [
    ("plain", "unit", "exitcode", "exit 0\n", [], (1, 0, 0)),
    ("plain_fails", "unit", "exitcode", "exit 3\n", ["unit/plain_fails: fail, exit 3"], (0, 1, 0)),
    ("plain_skips", "integration", "exitcode", "echo no AF_XDP here >&2; exit 77\n",
     ["integration/plain_skips: no AF_XDP here"], (0, 0, 1)),
    ("killed", "unit", "exitcode", "kill -SEGV $$\n", ["unit/killed: fail, exit -11"], (0, 1, 0)),
    ("late", "unit", "exitcode", "exec sleep 60\n", ["unit/late: timeout, "], (0, 1, 0)),
    ("gtest", "unit", "gtest", GTEST_XML.replace("MORE", ""),
     ["unit/gtest Clock.Needs: needs a second CPU", "unit/gtest Clock.DISABLED_Later"], (1, 0, 2)),
    ("gtest_fails", "unit", "gtest", GTEST_XML.replace("MORE", GTEST_FAILURE) + "exit 1\n",
     ["unit/gtest_fails Clock.Stops"], (1, 1, 2)),
    # All cases passed, and then the process died: a leak found at exit, a crash in a destructor.
    ("gtest_dies_at_exit", "unit", "gtest", GTEST_XML.replace("MORE", "") + "exit 23\n",
     ["unit/gtest_dies_at_exit: fail, exit 23"], (1, 1, 2)),
    ("gtest_writes_nothing", "unit", "gtest", "exit 0\n",
     ["unit/gtest_writes_nothing: it reports no test case"], (0, 1, 0)),
    # It wrote results in the first run, and dies before it can in the second.
    ("gtest_crashes_later", "fuzz", "gtest",
     'if [ -e ran_once ]; then kill -ABRT $$; fi; touch ran_once\n' + GTEST_XML.replace("MORE", ""),
     ["fuzz/gtest_crashes_later: fail, exit -6"], (0, 1, 0)),
    ("tap", "unit", "tap", TAP, ["unit/tap second", "unit/tap third: no veth"], (2, 1, 1)),
]


def write_project(root):
    build_file = ["project('small')"]
    for name, suite, protocol, script, _, _ in CASES:
        (root / f"{name}.sh").write_text(script)
        build_file.append(f"test('{name}', find_program('sh'), args: files('{name}.sh'), "
                          f"suite: '{suite}', protocol: '{protocol}', timeout: 2)")
    (root / "meson.build").write_text("\n".join(build_file) + "\n")


def run(*arguments):
    return subprocess.run(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)


def main(devtools):
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
        build = str(root / "build")
        write_project(root)
        configured = run("meson", "setup", build, str(root))
        verdict(configured.returncode == 0, "the small project configures", configured.stdout)

        def ask(command, *rest):
            return run(devtools / "tests.py", command, build, *rest)

        def test_run():
            ask("forget")
            run("meson", "test", "-C", build, "--no-rebuild")

        names = ask("select").stdout.split()
        verdict(names == [case[0] for case in CASES], "select without a suite gives all", names)
        chosen = ask("select", "fuzz", "integration").stdout.split()
        verdict(chosen == ["plain_skips", "gtest_crashes_later"], "select gives suites", chosen)
        unknown = ask("select", "unti")
        verdict(unknown.returncode == 2 and
                "no suite 'unti'; there are: fuzz integration unit" in unknown.stdout,
                "an unknown suite is refused with those there are", unknown.stdout)
        listed = ask("list").stdout.splitlines()
        verdict("fuzz: gtest_crashes_later" in listed and len(listed) == 3, "list", listed)

        test_run()
        test_run()
        for name, _, _, _, lines, counts in CASES:
            told = ask("report", name)
            expected = "{} passed, {} failed, {} skipped".format(*counts)
            good = told.stdout.splitlines()[-1] == expected
            good = good and all(f"  {line}" in told.stdout for line in lines)
            good = good and told.returncode == (0 if counts[1] == 0 and counts[0] > 0 else 1)
            verdict(good, f"report on {name}", f"expected {expected} {lines}\n{told.stdout}")

        total = [sum(column) for column in zip(*(case[5] for case in CASES))]
        told = ask("report", *names)
        verdict(told.stdout.splitlines()[-1] == "{} passed, {} failed, {} skipped".format(*total) and
                told.returncode == 1, "report on all is the sum", told.stdout)

        ask("forget")
        told = ask("report", "plain")
        verdict("  unit/plain: it was not run" in told.stdout and told.returncode == 1,
                "a test without result has failed", told.stdout)

        with open(root / "meson.build", "a", encoding="utf-8") as build_file:
            build_file.write("test('plain', find_program('true'), suite: 'fuzz')\n")
        run("meson", "setup", "--reconfigure", build, str(root))
        twice = ask("select")
        verdict(twice.returncode == 2 and "two tests are named 'plain'" in twice.stdout,
                "two tests of one name are refused", twice.stdout)

        # Which tests a sanitizer run takes is read from the tree that tests.py stands in.
        shutil.copytree(devtools, root / "tree" / "devtools")
        (root / "tree" / "lib").mkdir()
        (root / "tree" / "lib" / "meson.build").write_text(
            "subdir('plain')\n# no DPDK above this line\nsubdir('tap')\n")
        (root / "meson.build").write_text(
            "project('small')\n" + "".join(
                f"test('{name}', find_program('true'), suite: '{suite}')\n" for name, suite in
                [("plain", "unit"), ("tap", "unit"), ("parser", "fuzz"), ("veth", "integration")]))
        run("meson", "setup", "--reconfigure", build, str(root))
        for sanitizer, expected in (("thread", ["plain"]),
                                    ("address,undefined", ["plain", "parser"])):
            told = run(root / "tree" / "devtools" / "tests.py", "select", build,
                       f"--sanitize={sanitizer}")
            verdict(told.stdout.split() == expected, f"what runs under {sanitizer}", told.stdout)
    print(f"1..{number}")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve())
