#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What devtools/test.sh asks about the tests that meson knows.

  tests.py list BUILD                      each suite with its tests
  tests.py select BUILD [SUITE…]           names of the tests of these suites, one a line; default all
  tests.py select BUILD --sanitize=WHAT    names of the tests that make sense under a sanitizer
  tests.py targets BUILD …                 as select, but what ninja has to build for them
  tests.py forget BUILD                    remove the results of earlier runs
  tests.py report BUILD NAME…              report on the run of these tests; 1 if not all passed

A test case is a googletest or TAP case where a test reports those, else the test itself.
"""

import collections
import json
import pathlib
import re
import sys
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent

GOOD = {"OK", "EXPECTEDFAIL"}


class WrongInvocation(Exception):
    pass


def load_tests(build):
    tests = json.loads((build / "meson-info" / "intro-tests.json").read_text())
    counts = collections.Counter(test["name"] for test in tests)
    twice = [name for name, count in counts.items() if count > 1]
    if twice:
        # Results are filed by name: one would hide the other's.
        raise WrongInvocation(f"two tests are named '{twice[0]}'; give one another name")
    return tests


def suites_of(test):
    return [suite.partition(":")[2] for suite in test["suite"]]


def dpdk_free_libraries():
    above, line, _ = (ROOT / "lib" / "meson.build").read_text().partition(
        "no DPDK above this line")
    if not line:
        raise WrongInvocation("lib/meson.build: the line 'no DPDK above this line' is missing")
    return re.findall(r"^subdir\('(\w+)'\)", above, re.MULTILINE)


def select(build, arguments):
    tests = load_tests(build)
    if arguments and arguments[0].startswith("--sanitize="):
        # DPDK is built without sanitizers, and its rings and lcores look like races to them.
        libraries = dpdk_free_libraries()
        wanted = [t for t in tests if "unit" in suites_of(t) and t["name"] in libraries]
        if "thread" not in arguments[0]:  # a parser has one thread
            wanted += [t for t in tests if "fuzz" in suites_of(t)]
        return wanted
    if not tests:
        raise WrongInvocation(f"{build}: no test is configured; configure with -Dtests=true")
    known = sorted({suite for test in tests for suite in suites_of(test)})
    for suite in arguments:
        if suite not in known:
            raise WrongInvocation(f"no suite '{suite}'; there are: {' '.join(known)}")
    return [t for t in tests if not arguments or set(suites_of(t)) & set(arguments)]


def print_list(build):
    by_suite = collections.defaultdict(list)
    for test in load_tests(build):
        for suite in suites_of(test):
            by_suite[suite].append(test["name"])
    for suite in sorted(by_suite):
        print(f"{suite}: {' '.join(sorted(by_suite[suite]))}")


def print_targets(build, arguments):
    inside = build.resolve()
    for test in select(build, arguments):
        program = pathlib.Path(test["cmd"][0]).resolve()
        if program.is_relative_to(inside):
            print(program.relative_to(inside))


def forget(build):
    """A test that dies writes no result; what an earlier run wrote would then pass for its own."""
    for log in (build / "meson-logs").glob("testlog*"):
        log.unlink()
    for test in load_tests(build):
        if test["protocol"] == "gtest":
            folder = pathlib.Path(test["workdir"]) if test["workdir"] else build
            (folder / f"{test['name']}.xml").unlink(missing_ok=True)


class Report:
    def __init__(self):
        self.passed = 0
        self.failed = []
        self.skipped = []

    def add_case(self, case, label):
        """One case of the JUnit file, as googletest or meson's TAP reader put it there."""
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            self.failed.append(label)
        elif skipped is not None:
            self.skipped.append(label + reason(skipped.get("message") or
                                               case.findtext("system-out") or ""))
        elif case.get("status") == "notrun":
            self.skipped.append(f"{label}: disabled")
        else:
            self.passed += 1


def reason(text):
    """The last line that says something; googletest's first line is only file and line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return f": {lines[-1]}" if lines else ""


def cases_by_test(build):
    """Test name → [(label, case)] of the tests that report cases of their own."""
    found = collections.defaultdict(list)
    path = build / "meson-logs" / "testlog.junit.xml"
    if not path.exists():
        return found
    for suite in xml.etree.ElementTree.parse(path).iter("testsuite"):
        # "project.[project:suite / ]test[.googletest suite]"; "project" alone holds plain tests.
        named = re.match(r"[^.]+\.(?:.* / )?([^./]+)(?:\.(.+))?$", suite.get("name"))
        for case in suite.iter("testcase") if named else ():
            test, group = named.groups()
            if group:
                label = f"{group}.{case.get('name')}"
            else:  # TAP: "3 - name", "3 name" or "3"
                label = re.sub(r"^\d+ (?:- )?(?=.)", "", case.get("name"))
            found[test].append((label, case))
    return found


def read_results(build):
    path = build / "meson-logs" / "testlog.json"
    if not path.exists():
        return {}
    runs = [json.loads(line) for line in path.read_text().splitlines()]
    return {run["name"].split(" / ")[-1]: run for run in runs}


def report(build, names):
    results = read_results(build)
    cases = cases_by_test(build)
    tests = {test["name"]: test for test in load_tests(build)}
    out = Report()
    for name in names:
        label = f"{suites_of(tests[name])[0]}/{name}"
        run = results.get(name)
        if run is None:
            out.failed.append(f"{label}: it was not run")
            continue
        failed_before = len(out.failed)
        for case_label, case in cases[name]:
            out.add_case(case, f"{label} {case_label}")
        if run["result"] == "SKIP":
            if not cases[name]:
                out.skipped.append(label + reason(run.get("stderr") or run.get("stdout") or ""))
        elif run["result"] not in GOOD:
            # A crash, a time-out, a leak found at exit: no case of its own tells of it.
            if len(out.failed) == failed_before:
                out.failed.append(f"{label}: {run['result'].lower()}, "
                                  f"exit {run['returncode']} after {run['duration']:.1f} s")
        elif not cases[name] and tests[name]["protocol"] in ("gtest", "tap"):
            out.failed.append(f"{label}: it reports no test case")
        elif not cases[name]:
            out.passed += 1
    print_report(build, out, sum(run["duration"] for run in results.values()))
    return 0 if out.passed and not out.failed else 1


def print_report(build, out, seconds):
    print()
    for title, labels in (("failed", out.failed), ("skipped", out.skipped)):
        if labels:
            print(f"{title}:")
            for label in labels:
                print(f"  {label}")
    if out.failed:
        print(f"all output: {build}/meson-logs/testlog.txt")
    print(f"seconds in tests: {seconds:.0f}")
    print(f"{out.passed} passed, {len(out.failed)} failed, {len(out.skipped)} skipped")


def main(arguments):
    if len(arguments) < 2:
        raise WrongInvocation(__doc__)
    command, build, rest = arguments[0], pathlib.Path(arguments[1]), arguments[2:]
    if command == "list":
        print_list(build)
    elif command == "select":
        print("\n".join(test["name"] for test in select(build, rest)))
    elif command == "targets":
        print_targets(build, rest)
    elif command == "forget":
        forget(build)
    elif command == "report":
        return report(build, rest)
    else:
        raise WrongInvocation(__doc__)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except WrongInvocation as wrong:
        print(f"test.sh: {wrong}", file=sys.stderr)  # who was asked
        sys.exit(2)
