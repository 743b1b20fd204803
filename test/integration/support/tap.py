# SPDX-License-Identifier: BSD-3-Clause
"""What a test expects, how long it waits for it, and the protocol in which it says what came."""

import contextlib
import os
import select
import time
import traceback

PATIENCE_S = 20  # For what takes milliseconds on an idle machine.


class Failed(Exception):
    """What was expected, and what was seen."""


def expect(condition, what):
    if not condition:
        raise Failed(what)


def expect_equal(seen, wanted, what):
    expect(seen == wanted, f"{what}: {seen!r} instead of {wanted!r}")


def wait_until(condition, what, pause_fd=None):
    """Asks again and again; between two questions it yields the processor, or waits for `pause_fd`."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        value = condition()
        if value:
            return value
        expect(time.monotonic() < deadline, f"waited {PATIENCE_S} s for {what}")
        if pause_fd is None:
            os.sched_yield()
        else:
            select.select([pause_fd], [], [], 0.1)


# ---- results ----


class Tap:
    """Test Anything Protocol on stdout."""

    def __init__(self):
        self.cases = 0
        self.failures = 0

    def say(self, text):
        for line in str(text).splitlines():
            print(f"# {line}", flush=True)

    def result(self, good, name, suffix=""):
        self.cases += 1
        self.failures += not good
        print(f"{'ok' if good else 'not ok'} {self.cases} - {name}{suffix}", flush=True)

    def skip(self, name, reason):
        self.result(True, name, f" # SKIP {reason}")

    @contextlib.contextmanager
    def case(self, name):
        """One test case: passes unless its block raises."""
        try:
            yield
        except Exception as error:
            self.explain(error)
            self.result(False, name)
        else:
            self.result(True, name)

    @contextlib.contextmanager
    def group(self, name):
        """Set-up and clean-up around cases: failing there is a failed case of its own."""
        try:
            yield
        except Exception as error:
            self.explain(error)
            self.result(False, f"{name}: set-up and clean-up")

    def explain(self, error):
        if isinstance(error, Failed):
            where = traceback.extract_tb(error.__traceback__)
            own = [f for f in where if "support" not in f.filename and "contextlib" not in f.filename]
            line = f" (line {own[-1].lineno})" if own else ""
            self.say(f"{error}{line}")
        else:
            self.say("".join(traceback.format_exception(error)))

    def finish(self):
        print(f"1..{self.cases}", flush=True)
        return 1 if self.failures or self.cases == 0 else 0
