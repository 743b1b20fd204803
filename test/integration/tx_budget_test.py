#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""How many packets one send call carries: fixed, tuned and changed while penstock sends, on the stock
driver and on net_xsk.

The stock driver counts no calls: strace does, on the lcore that sends. net_xsk has counters. Frames are
counted by the kernel at the other end.
"""

import contextlib
import pathlib
import re
import signal

from support import (Penstock, Process, Veth, counters, expect, expect_balance,
                     expect_equal, expect_nothing_left, main, wait_until)

from xsk_test import xsk

STOCK = "--vdev=net_af_xdp0,iface=port-a,busy_budget=0"
BURST = 256
ENOUGH = 100 * BURST


def queues(penstock, which="all"):
    """What `show tx` says: {queue: (send calls, EAGAINs, budget, why)}, and the distributions."""
    text = penstock.command(f"show tx {which}")
    rows = re.findall(r"^  (\d+\.\d+) +(\d+) +([a-z-]+) +(\d+|-) +(\d+|-) +(\d+|-) +(.*)$", text, re.MULTILINE)
    sizes = re.findall(r"^  (\d+\.\d+) .*\n    descriptors per send, (.*)$", text, re.MULTILINE)
    return {row[0]: row[3:] for row in rows}, dict(sizes)


def budget(penstock, queue="0.0"):
    return queues(penstock)[0][queue][2]


def worker(penstock, lcore=1):
    for task in pathlib.Path(f"/proc/{penstock.pid}/task").iterdir():
        if (task / "comm").read_text().strip() in (f"lcore-worker-{lcore}", f"dpdk-worker{lcore}",
                                                   f"rte-worker-{lcore}"):
            return int(task.name)
    raise AssertionError("no worker")


def received(veth):
    return counters(veth.peer)["rx_packets"]


def send(penstock, veth):
    """Forwards until some bursts went out, stops; how many frames came out at the other end."""
    before = received(veth)
    penstock.command("start")
    wait_until(lambda: received(veth) > before + ENOUGH, "frames to come")
    penstock.command("stop")
    return received(veth) - before


def traced(penstock, veth):
    """The same under strace: frames, calls of sendto, those that failed."""
    with Process(["strace", "-c", "-e", "trace=sendto", "-p", worker(penstock)]) as strace:
        strace.wait_for(r"attached", stream="stderr")
        frames = send(penstock, veth)
        strace.signal(signal.SIGINT)
        strace.wait()
        found = re.search(r"^ *[\d.]+ +[\d.]+ +\d+ +(\d+) +(\d+ +)?sendto$", strace.stderr, re.MULTILINE)
    expect(found, f"strace: {strace.stderr[-800:]}")
    return frames, int(found[1]), int(found[2] or 0)


def expect_calls(seen, per_burst, what):
    frames, calls, failed = seen
    bursts = frames / BURST
    # A burst that found the ring not empty may take a call more or less.
    expect(abs(calls - bursts * per_burst) <= 0.02 * bursts * per_burst + 2,
           f"{what}: {calls} calls for {bursts} bursts of {BURST}")
    expect(abs(failed - bursts * (per_burst - 1)) <= 0.02 * bursts * per_burst + 2,
           f"{what}: {failed} calls failed, of {calls} for {bursts} bursts")


def stock(tap):
    with tap.group("stock"), Veth("port-a") as a:
        with Penstock([STOCK], "-i", "--forward-mode=txonly", f"--burst={BURST}",
                      "--tx-budget=32") as penstock:
            with tap.case("stock: a budget of 32 cuts a burst of 256 into eight calls"):
                expect_calls(traced(penstock, a), 8, "budget 32")
                row = queues(penstock)[0]["0.0"]
                expect_equal(row, ("-", "-", "32", "--tx-budget"), "show tx")
            with tap.case("stock: set tx-budget 256 makes them one, without a pause"):
                expect_equal(penstock.command("set tx-budget 256").splitlines()[-1], "tx-budget 256",
                             "answer")
                expect_calls(traced(penstock, a), 1, "budget 256")
            with tap.case("stock: set tx-budget 64 makes them four"):
                penstock.command("set tx-budget 0:64")
                expect_calls(traced(penstock, a), 4, "budget 64")
            with tap.case("stock: auto follows the bursts while it sends"):
                penstock.command("set tx-budget 32")
                penstock.command("start")
                penstock.command("set tx-budget auto")
                wait_until(lambda: budget(penstock) == "256", "the budget to follow")
                penstock.command("stop")
                rows, sizes = queues(penstock)
                expect(re.fullmatch(r"auto: 100\.0 % of \d+ sends fit", rows["0.0"][3]), rows)
                expect_equal(sizes["0.0"], "to 256: 100.0 %", "descriptors per send")
                expect_calls(traced(penstock, a), 1, "auto")
            with tap.case("stock: a wrong budget is refused and changes nothing"):
                for wrong in ("31", "1025", "1:64", "many"):
                    expect("--tx-budget" in penstock.command(f"set tx-budget {wrong}"), wrong)
                expect_equal(budget(penstock), "256", "budget")
            with tap.case("stock: the report has it, and the books balance"):
                penstock.write("quit\n")
                penstock.expect_exit(0)
                report = penstock.report()
                expect_equal(report["tx_queues"][0]["budget"], 256, "budget")
                expect_balance(report, ("tx_full", "tx_error"))
        with tap.case("stock: auto is the default, and follows from the first burst on"):
            with Penstock([STOCK], "--forward-mode=txonly", f"--burst={BURST}") as penstock:
                before = received(a)
                wait_until(lambda: received(a) > before + 20 * ENOUGH, "frames")
                report = penstock.finish()
                expect_equal(report["tx_queues"][0]["budget"], 256, "budget")
            expect_nothing_left(a)


def ours(tap):
    with tap.group("net_xsk"), Veth("port-a", queues=2) as a:
        with Penstock(xsk(a), "-i", "--forward-mode=txonly", f"--burst={BURST}", "--txq=2", "--rxq=2",
                      "--tx-budget=32", workers=2) as penstock:

            def calls_of_a_run():
                before = queues(penstock)[0]
                frames = send(penstock, a)
                after = queues(penstock)[0]
                both = [sum(int(after[queue][i]) - int(before[queue][i]) for queue in after)
                        for i in (0, 1)]
                return frames, *both

            with tap.case("net_xsk, two queues: a budget of 32 cuts their bursts into eight calls"):
                expect_calls(calls_of_a_run(), 8, "budget 32")
            with tap.case("net_xsk, two queues: auto makes them one"):
                penstock.command("set tx-budget auto")
                send(penstock, a)
                expect_calls(calls_of_a_run(), 1, "auto")
                rows, sizes = queues(penstock)
                expect_equal(sorted(rows), ["0.0", "0.1"], "queues")
                for queue, (_, _, now, why) in rows.items():
                    expect_equal(now, "256", f"budget of {queue}")
                    expect(why.startswith("auto: 100.0 % of "), why)
                    expect_equal(sizes[queue], "to 256: 100.0 %", "descriptors per send")
            penstock.write("quit\n")
            penstock.expect_exit(0)
            with tap.case("net_xsk, two queues: the report has both budgets"):
                report = penstock.report()
                expect_equal([queue["budget"] for queue in report["tx_queues"]], [256, 256], "budgets")
                expect_balance(report, ("tx_full", "tx_error"))
        with tap.case("net_xsk: a devarg holds, and is overridden by the option, which says so"):
            for options, wanted, said in (([], ("64", "devarg budget=64"), False),
                                          (["--tx-budget=128"], ("128", "--tx-budget"), True),
                                          (["--tx-budget=64"], ("64", "--tx-budget"), False)):
                with Penstock(xsk(a, devargs=",budget=64"), "-i", *options) as penstock:
                    expect_equal(queues(penstock)[0]["0.0"][2:], wanted, f"with {options}")
                # All that it said is there once it has ended.
                expect_equal("overrides the devarg budget=64" in penstock.stderr, said,
                             f"{options}: {penstock.stderr}")


def by_port(tap):
    with tap.group("by port"), contextlib.ExitStack() as stack:
        a, b = (stack.enter_context(Veth(name)) for name in ("port-a", "port-b"))
        null = "--vdev=net_null0"
        ports = [STOCK, f"--vdev=net_xsk0,iface={b.name}", null]
        for option, wanted in (("--tx-budget=0:64,1:128", ("64", "128", "-")),
                               ("--tx-budget=1:128", ("32", "128", "-")),
                               ("--tx-budget=0:auto,1:64", ("32", "64", "-"))):
            with tap.case(f"three ports: {option}"):
                with Penstock(ports, "-i", option) as penstock:
                    rows = queues(penstock)[0]
                    expect_equal(tuple(rows[f"{port}.0"][2] for port in range(3)), wanted, "budgets")
                    expect_equal(list(queues(penstock, 1)[0]), ["1.0"], "of port 1 alone")
                    expect("has no budget" not in penstock.stdout, "nothing was asked of net_null")
        with tap.case("three ports: auto in so many words is noted where it means nothing"):
            with Penstock(ports, "-i", "--tx-budget=auto") as penstock:
                notes = re.findall(r"note: port (\d) \(\w+\) has no budget", penstock.stdout)
                expect_equal(notes, ["2"], penstock.stdout)


def tests(tap):
    stock(tap)
    ours(tap)
    by_port(tap)


if __name__ == "__main__":
    main(tests)
