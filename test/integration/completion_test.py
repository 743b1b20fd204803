#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The completion stage on real sockets: what was sent comes back, whoever takes it, whenever it is done.

net_xsk counts its own reaps and mbufs, so that what the stage does is seen from the driver's side. With
threaded NAPI the kernel completes late, on a thread of its own.
"""

import pathlib
import re
import subprocess

from support import (BINARY, Penstock, Traffic, Vdev, Veth, Wire, counters, exchange, expect,
                     expect_balance, expect_equal, expect_frames, expect_nothing_left, lcores, main,
                     run, wait_until)

from xsk_test import frames, xsk

FULL = ("tx_full", "tx_error")


def late(*veths):
    """Frames are received on a thread of the kernel's, and complete when that ran."""
    for veth in veths:
        run(f"ethtool -K {veth.peer} gro on")
        pathlib.Path(f"/sys/class/net/{veth.peer}/threaded").write_text("1")


def xstats(penstock, port=0):
    """The driver's counters, asked for at the prompt."""
    return {name: int(value) for name, value in
            re.findall(r"^\s*(\w+):? +(\d+)$", penstock.command(f"show port xstats {port}"),
                       re.MULTILINE)}


def queues(report):
    return {(queue["port"], queue["queue"]): queue for queue in report["tx_queues"]}


def tail(tap):
    """Fewer packets than any threshold, and then nothing."""
    for name, slow in (("at once", False), ("late", True)):
        with tap.group(f"tail, done {name}"), Veth("port-a") as a, Veth("port-b") as b:
            if slow:
                late(a, b)
            with Penstock(xsk(a, b), "-i", "--auto-start", "--forward-mode=macswap") as penstock, \
                    Wire(a.peer) as inside, Wire(b.peer) as outside:
                with tap.case(f"an idle queue gives back its last packets, done {name}"):
                    for number in (20, 1, 5):
                        before = xstats(penstock, 1)["tx_q0_reaped"]
                        expect_equal(len(exchange(inside, outside, frames(number, 100))), number,
                                     "forwarded")
                        wait_until(lambda: xstats(penstock, 1)["tx_q0_reaped"] == before + number,
                                   "the mbufs to come back")
                with tap.case(f"with few looks and none in vain, done {name}"):
                    seen = xstats(penstock, 1)
                    expect(1 <= seen["tx_q0_reaps"] <= 26, f"{seen['tx_q0_reaps']} reaps")
                    expect_equal(seen["tx_q0_empty_reaps"], 0, "empty reaps")
                    expect_equal(xstats(penstock, 0)["tx_q0_reaps"], 0, "reaps of a queue unused")
                with tap.case(f"inline keeps them, done {name}"):
                    expect("completion inline" in penstock.command("set completion inline"), "answer")
                    before = xstats(penstock, 1)["tx_q0_reaped"]
                    expect_equal(len(exchange(inside, outside, frames(20, 100), window=1)), 20,
                                 "forwarded")
                    kept = before + 20 - xstats(penstock, 1)["tx_q0_reaped"]
                    expect(kept >= 1, "nothing was kept")
                with tap.case(f"and the stage, back again, does not, done {name}"):
                    expect("completion stage" in penstock.command("set completion stage"), "answer")
                    before = xstats(penstock, 1)["tx_q0_reaped"]
                    expect_equal(len(exchange(inside, outside, frames(7, 100))), 7, "forwarded")
                    wait_until(lambda: xstats(penstock, 1)["tx_q0_reaped"] == before + 7,
                               "the mbufs to come back")
                    expect_balance(penstock.finish())
            with tap.case(f"nothing left, done {name}"):
                expect_nothing_left(a, b)


def load(tap):
    """A generator that never stops: packets are taken back as fast as they are done."""
    for name, slow in (("at once", False), ("late", True)):
        with tap.group(f"load, done {name}"), Veth("port-a") as a:
            if slow:
                late(a)
            with Penstock(xsk(a), "--forward-mode=txonly") as penstock:
                wait_until(lambda: counters(a.peer)["rx_packets"] > 20000, "traffic")
                report = penstock.finish()
            with tap.case(f"under load the stage reaps, all comes back, done {name}"):
                expect_balance(report, allowed_drops=FULL)
                queue = queues(report)[(0, 0)]
                expect_equal(queue["completion"], "stage", "completion")
                expect(queue["reaps"] > 100, f"{queue['reaps']} reaps")
                expect(queue["reaped"] >= 20000, f"{queue['reaped']} reaped")
                # Where the kernel's thread does not get to run, bursts stall, and look themselves.
                expect(slow or queue["empty_reaps"] * 20 <= queue["reaps"],
                       f"{queue['empty_reaps']} in vain")
                expect_equal(queue["oldest_pinned_us"], 0, "the oldest, once stopped")
                expect_equal(queue["reaped"], report["ports"][0]["xstats"]["tx_q0_reaped"], "driver's")


def reaper(tap):
    """Another lcore than the one that sends."""
    with tap.group("reaper"), Veth("port-a") as a, Veth("port-b") as b:
        late(b)
        with Penstock(xsk(a, b), "-i", "--auto-start", "--forward-mode=macswap", "--nb-cores=3",
                      "--completion-lcore=1.0@3", workers=3) as penstock, \
                Wire(a.peer) as inside, Wire(b.peer) as outside:
            with tap.case("the plan has it as a user, and shares the queue"):
                plan = penstock.command("show plan")
                expect("lcore 3 reaps tx queues 1.0" in plan, plan)
                expect("1.0: 2, mt-lockfree" in plan, plan)
                expect("0.0: 1, exclusive" in plan, plan)
                expect("lcore 3 is idle" not in plan, plan)
                shown = penstock.command("show tx 1")
                expect(re.search(r"^  1\.0 +2 +mt-lockfree .*\n(?:    descr.*\n)?    completion stage: "
                                 r"\d+ reaps, \d+ in vain, \d+ mbufs back, \d+ in flight, oldest "
                                 r"\d+ us$", shown, re.MULTILINE), shown)
            with tap.case("frames pass in order, and every mbuf comes back"):
                sent = frames(3000, 100)
                wanted = [frame[6:12] + frame[:6] + frame[12:] for frame in sent]
                expect_frames(exchange(inside, outside, sent), wanted, "there")
                wait_until(lambda: xstats(penstock, 1)["tx_q0_reaped"] == 3000,
                           "the mbufs to come back")
            report = penstock.finish()
        with tap.case("the report says so"):
            expect_balance(report)
            queue = queues(report)[(1, 0)]
            expect_equal((queue["users"], queue["sharing"], queue["completion"]),
                         (2, "mt-lockfree", "stage"), "queue")
            rows = {(row["port"], row["queue"]): row for row in report["plan"]["tx_queues"]}
            expect_equal(rows[(1, 0)]["reaper"], 3, "reaper")
            expect_equal(rows[(1, 0)]["users"][-1], 3, "last user")
        with tap.case("reaper: nothing left"):
            expect_nothing_left(a, b)


def link(tap):
    """Rings stand still with packets in them, and go on."""
    with tap.group("link"), Veth("port-a") as a, Veth("port-b") as b:
        late(b)
        with Penstock(xsk(a, b), "-i", "--auto-start", "--forward-mode=macswap") as penstock:
            with tap.case("the link goes down under load and comes back: forwarding goes on"):
                with Traffic(frames(1, 200)[0], a.peer):
                    for end in (b.name, b.peer, b.name):
                        seen = counters(b.peer)["rx_packets"]
                        wait_until(lambda: counters(b.peer)["rx_packets"] > seen + 500, "traffic")
                        before = xstats(penstock, 1)
                        run(f"ip link set dev {end} down")
                        wait_until(lambda: xstats(penstock, 0)["rx_good_packets"] >
                                   before["tx_good_packets"] + 2000, "more than the ring holds")
                        run(f"ip link set dev {end} up")
                    seen = counters(b.peer)["rx_packets"]
                    wait_until(lambda: counters(b.peer)["rx_packets"] > seen + 500, "traffic")
            with tap.case("and when it is quiet, nothing stays in the ring"):
                def empty():
                    seen = xstats(penstock, 1)
                    return seen["tx_q0_oldest_pinned_us"] == 0
                wait_until(empty, "the ring to be empty")
            with tap.case("a link that is down when traffic ends gives back all when it is up again"):
                with Wire(a.peer) as inside:
                    run(f"ip link set dev {b.name} down")
                    before = xstats(penstock, 1)["tx_q0_reaped"]
                    for frame in frames(30, 100):
                        inside.send(frame)
                    wait_until(lambda: xstats(penstock, 1)["tx_q0_oldest_pinned_us"] > 0,
                               "packets in the ring")
                    run(f"ip link set dev {b.name} up")
                    wait_until(lambda: xstats(penstock, 1)["tx_q0_reaped"] == before + 30,
                               "the mbufs to come back")
            with tap.case("no mbuf was lost"):
                report = penstock.finish()
                expect_balance(report, allowed_drops=FULL)
                expect_equal(report["ports"][1]["xstats"]["tx_q0_bad_completion"], 0, "bad ones")
        with tap.case("stopped while the link is down: no mbuf is lost either"):
            with Penstock(xsk(a, b), "--forward-mode=txonly") as penstock:
                wait_until(lambda: counters(b.peer)["rx_packets"] > 1000, "traffic")
                run(f"ip link set dev {b.name} down")
                expect_balance(penstock.finish(), allowed_drops=FULL)
            run(f"ip link set dev {b.name} up")
        with tap.case("link: nothing left"):
            expect_nothing_left(a, b)


def others(tap):
    """Ports whose driver takes back what it sent in its own tx_burst."""
    with tap.group("others"), Veth("port-a") as a:
        pcap = "--vdev=net_pcap0,tx_pcap=/tmp/out.pcap"
        for driver, vdev in (("net_null", ["--vdev=net_null0"]), ("net_pcap", [pcap]),
                             ("net_af_xdp", Vdev.af_xdp(a))):
            mode = "--forward-mode=txonly"
            with tap.case(f"{driver}: named when the stage was asked for, and works"):
                with Penstock(vdev, mode, "--completion=stage", "--duration=0.2") as penstock:
                    penstock.expect_exit(0)
                    expect(re.search(r"note: --completion=stage: port 0 \(net_\w+0\) has no "
                                     r"tx_done_cleanup: its driver takes back", penstock.stdout),
                           penstock.stdout)
                    report = penstock.report()
                expect_balance(report, allowed_drops=FULL)
                queue = queues(report)[(0, 0)]
                expect_equal(queue["completion"], "inline", "completion")
                expect(not {"reaps", "empty_reaps", "reaped", "oldest_pinned_us", "in_flight"} &
                       queue.keys(), f"counts that nobody made: {queue}")
            with tap.case(f"{driver}: not named when nobody asked"):
                with Penstock(vdev, mode, "--duration=0.1") as penstock:
                    penstock.expect_exit(0)
                    expect("tx_done_cleanup" not in penstock.stdout, penstock.stdout)
            with tap.case(f"{driver}: a reaper for it is refused"):
                with Penstock(vdev, mode, "--completion-lcore=0.0@1", wait=False) as penstock:
                    penstock.expect_exit(1)
                    expect(re.search(r"^penstock: --completion-lcore=0.0@1: port 0 \(net_\w+0\) has "
                                     "no tx_done_cleanup", penstock.stderr, re.MULTILINE),
                           penstock.stderr)
        with tap.case("others: nothing left"):
            expect_nothing_left(a)


def words(tap):
    """Options against devargs, against each other, and wrong ones."""
    with tap.group("words"), Veth("port-a") as a:
        for devarg, options, completion, note in (
                ("", [], "stage", None),
                (",completion=inline", [], "inline", "reaps in its own tx_burst: its devargs say"),
                (",completion=inline", ["--completion=stage"], "stage",
                 "--completion=stage goes over completion=inline of port 0 (net_xsk0)"),
                (",completion=stage", ["--completion=inline"], "inline",
                 "--completion=inline goes over completion=stage of port 0 (net_xsk0)"),
                ("", ["--completion=inline"], "inline", None)):
            with tap.case(f"devargs '{devarg}', options {options}: {completion}"):
                with Penstock(xsk(a, devargs=devarg), "--forward-mode=txonly", "--burst=16",
                              *options) as penstock:
                    before = counters(a.peer)["rx_packets"]
                    wait_until(lambda: counters(a.peer)["rx_packets"] > before + 5000, "traffic")
                    report = penstock.finish()
                expect_balance(report, allowed_drops=FULL)
                queue = queues(report)[(0, 0)]
                expect_equal(queue["completion"], completion, "completion")
                expect(note is None or note in penstock.stdout, penstock.stdout)
                # Inline looks before each burst, the stage for 64 packets at a time.
                share = queue["reaped"] / queue["reaps"]
                expect(share < 24 if completion == "inline" else share > 40,
                       f"{share:.0f} mbufs a reap")
        for option, why in (
                ("--completion=both", "accepted: stage, inline"),
                ("--completion-threshold=0", "accepted: 1 to 32768"),
                ("--completion-age=1ms", "accepted: BUSY,IDLE, times of 1us to 10s"),
                ("--completion-age=2ms,1ms", "accepted: BUSY,IDLE, times of 1us to 10s"),
                ("--completion-lcore=0@1", "accepted: default, or PORT.QUEUE@LCORE"),
                ("--completion-lcore=0.0@1 --completion=inline", "--completion-lcore: accepted: ")):
            with tap.case(f"refused before anything starts: {option}"):
                done = subprocess.run([BINARY, lcores(1), "--no-pci", *xsk(a), "--", *option.split()],
                                      capture_output=True, text=True, timeout=60, check=False)
                expect_equal(done.returncode, 2, "exit code")
                expect(why in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr)
        for option, why in (
                ("--completion-lcore=1.0@1", "port 1 is not there; ports are 0"),
                ("--completion-lcore=0.7@1", "has 1 TX queues in this plan"),
                ("--completion-lcore=0.0@9", "lcore 9 does not work here; those that do are 1")):
            with tap.case(f"refused by the machine: {option}"):
                with Penstock(xsk(a), "--forward-mode=txonly", option, wait=False) as penstock:
                    penstock.expect_exit(1)
                    expect(f"penstock: {option}: " in penstock.stderr and why in penstock.stderr,
                           penstock.stderr)
        with tap.case("words: nothing left"):
            expect_nothing_left(a)


def prompt(tap):
    """Changes while packets move."""
    with tap.group("prompt"), Veth("port-a") as a:
        with Penstock(xsk(a), "-i", "--auto-start", "--forward-mode=txonly", "--burst=16") as penstock:
            for command, option in (("set completion-threshold 256", "completion-threshold 256"),
                                    ("set completion-age 50us,5ms", "completion-age 50us,5ms"),
                                    ("set completion inline", "completion inline"),
                                    ("set completion stage", "completion stage")):
                with tap.case(f"{command}: done, and packets go on"):
                    answer = penstock.command(command)
                    expect(f"{option}; forwarding paused for" in answer, answer)
                    shown = penstock.command("show config")
                    name, value = option.split()
                    expect(re.search(rf"^ +{name} +{re.escape(value)} ", shown, re.MULTILINE), shown)
                    seen = counters(a.peer)["rx_packets"]
                    wait_until(lambda: counters(a.peer)["rx_packets"] > seen + 1000, "traffic")
            with tap.case("a threshold of 256 has 256 packets a reap"):
                before = xstats(penstock)
                wait_until(lambda: xstats(penstock)["tx_q0_reaps"] > before["tx_q0_reaps"] + 50, "reaps")
                after = xstats(penstock)
                share = (after["tx_q0_reaped"] - before["tx_q0_reaped"]) / \
                    (after["tx_q0_reaps"] - before["tx_q0_reaps"])
                expect(share > 64, f"{share:.0f} mbufs a reap")
            with tap.case("a reaper that is not there is refused, and packets go on"):
                answer = penstock.command("set completion-lcore 0.0@5")
                expect("lcore 5 does not work here" in answer + penstock.stderr, answer)
                seen = counters(a.peer)["rx_packets"]
                wait_until(lambda: counters(a.peer)["rx_packets"] > seen + 1000, "traffic")
            with tap.case("prompt: all accounted for"):
                expect_balance(penstock.finish(), allowed_drops=FULL)


def tests(tap):
    tail(tap)
    load(tap)
    reaper(tap)
    link(tap)
    others(tap)
    words(tap)
    prompt(tap)


if __name__ == "__main__":
    main(tests)
