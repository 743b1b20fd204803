#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Killed in full traffic and started again at once, penstock finds what it left and removes it.

An XDP program, the promiscuous flag, hugepages and EAL's files outlive a process that is killed. The
next start is to succeed all the same, ten times in a row, and the last clean end to leave nothing; but
what was there before, or is another's, is to stay.
"""

import contextlib
import re
import signal

from support import (EAL_DIRECTORY, RUN_DIRECTORY, XDP_OBJECT, Hugepages, Penstock, Traffic,
                     Vdev, Veth, counters, expect, expect_balance, expect_equal,
                     expect_nothing_left, is_promiscuous, main, run, wait_until, xdp_program,
                     xdp_sockets)

from scapy.all import Ether, IP, UDP

TIMES = 10
FRAME = bytes(Ether(dst="02:00:00:00:00:02", src="02:00:00:00:00:01") / IP() / UDP()).ljust(60, b"\0")
# What a saturated port may refuse.
FULL = ("tx_full", "tx_error")


def start(*veths, **devargs):
    return Penstock(Vdev.af_xdp(*veths, **devargs), "--forward-mode=macswap")


def wait_for_traffic(*veths):
    """Frames come out again, of every interface."""
    before = [counters(veth.peer)["rx_packets"] for veth in veths]
    wait_until(lambda: all(counters(veth.peer)["rx_packets"] > old
                           for veth, old in zip(veths, before)), "frames to come out")


def kill(penstock):
    penstock.signal(signal.SIGKILL)
    penstock.expect_exit(-signal.SIGKILL)


def kill_again_and_again(tap, name, hugepages=None, **devargs):
    with tap.group(name), Veth("port-a") as a, Veth("port-b") as b, \
            Traffic(FRAME, a.peer, b.peer):
        for time in range(1, TIMES + 1):
            with tap.case(f"{name}: start {time}, killed in full traffic"):
                with start(a, b, **devargs) as penstock:
                    # Said just before the plan, on another stream.
                    if hugepages is None:
                        penstock.wait_for("running without", "stderr")
                    expect_equal("running without" in penstock.stderr, hugepages is None,
                                 "whether it runs without hugepages")
                    expect_equal("is dead" in penstock.stderr, time > 1,
                                 "whether it says that it cleaned up after a dead one")
                    wait_for_traffic(a, b)
                    expect(xdp_sockets() >= 2, "a running penstock shows no AF_XDP sockets")
                    kill(penstock)
                # Otherwise the test tests nothing.
                expect(any(RUN_DIRECTORY.iterdir()), "no run directory after a kill")
                expect(xdp_program(a.name) is not None, "no XDP program after a kill")
                expect(is_promiscuous(a.name), "not promiscuous after a kill")
        with tap.case(f"{name}: start {TIMES + 1}, ended by SIGTERM: report balances"):
            with start(a, b, **devargs) as penstock:
                wait_for_traffic(a, b)
                report = penstock.finish()
            expect_balance(report, allowed_drops=FULL)
            expect(report["totals"]["tx_packets"] > 0, "nothing sent")
        with tap.case(f"{name}: nothing left"):
            expect_nothing_left(a, b)
            if hugepages is not None:
                expect_equal(list(hugepages.folder.iterdir()), [], "hugepage files left")
                # The kernel unpins a UMEM some time after its socket is closed.
                wait_until(lambda: hugepages.read("free_hugepages") ==
                           hugepages.read("nr_hugepages"), "the hugepages to be free")


def with_hugepages(tap):
    with tap.group("hugepages"), Hugepages(192) as hugepages:
        if not hugepages.enough():
            tap.skip("with hugepages", "this machine has no memory for 192 of them")
            return
        kill_again_and_again(tap, "with hugepages", hugepages)
        kill_again_and_again(tap, "with hugepages and xdp_prog", hugepages, xdp_prog=XDP_OBJECT)


@contextlib.contextmanager
def foreign_program(interface):
    run(f"bpftool prog load {XDP_OBJECT} /sys/fs/bpf/foreign type xdp")
    run(f"bpftool net attach xdpdrv pinned /sys/fs/bpf/foreign dev {interface}")
    try:
        yield xdp_program(interface)
    finally:
        run(f"bpftool net detach xdpdrv dev {interface}", check=False)
        run("rm -f /sys/fs/bpf/foreign")


def refused_because_of(penstock, veth, program):
    """It says which program is in the way, ends with 1, and leaves it."""
    penstock.expect_exit(1)
    last = penstock.stderr.splitlines()[-1]
    expect(re.search(rf"interface {veth.name} carries XDP program {program} \(to_socket\)", last),
           f"does not name program {program} of {veth.name}: {penstock.stderr}")
    expect_equal(xdp_program(veth.name), program, "the foreign program")


def foreign_programs(tap):
    for name, devargs in (("default program", {}), ("xdp_prog", {"xdp_prog": XDP_OBJECT})):
        with tap.group(name), Veth("port-a") as a:
            with tap.case(f"{name}: a foreign XDP program is named and left"):
                with foreign_program(a.name) as program:
                    with Penstock(Vdev.af_xdp(a, **devargs), wait=False) as penstock:
                        refused_because_of(penstock, a, program)
            with tap.case(f"{name}: the refused start left nothing"):
                expect_nothing_left(a)
            with tap.case(f"{name}: a foreign program in the place of a dead life's stays as well"):
                with start(a, **devargs) as penstock:
                    kill(penstock)
                run(f"ip link set dev {a.name} xdp off")
                with foreign_program(a.name) as program:
                    with Penstock(Vdev.af_xdp(a, **devargs), wait=False) as penstock:
                        refused_because_of(penstock, a, program)
                        expect("is not ours and stays" in penstock.stderr,
                               f"recovery does not name it: {penstock.stderr}")
                expect_nothing_left(a)
            with tap.case(f"{name}: with the foreign program gone it starts"):
                with start(a, **devargs) as penstock:
                    expect_balance(penstock.finish())
                expect_nothing_left(a)


def promiscuous_flag(tap):
    with tap.group("promiscuous"), Veth("port-a") as a:
        run(f"ip link set dev {a.name} promisc on")
        with tap.case("a promiscuous flag of the user stays after a clean end"):
            with start(a) as penstock:
                penstock.finish()
            expect(is_promiscuous(a.name), "the flag is gone")
        with tap.case("a promiscuous flag of the user stays after a kill and the next life"):
            with start(a) as penstock:
                kill(penstock)
            with start(a) as penstock:
                penstock.finish()
            expect(is_promiscuous(a.name), "the flag is gone")
        run(f"ip link set dev {a.name} promisc off")
        with tap.case("a promiscuous flag of ours goes"):
            with start(a) as penstock:
                expect(is_promiscuous(a.name), "not promiscuous while it runs")
                penstock.finish()
            expect_nothing_left(a)


def vanished_interface(tap):
    with tap.group("vanished interface"):
        with Veth("port-a") as a:
            with start(a) as penstock:
                kill(penstock)
        with Veth("port-b") as b:
            with tap.case("an interface that is gone since the kill does not stop the next start"):
                with start(b) as penstock:
                    expect_balance(penstock.finish())
                expect_nothing_left(b)


def living_neighbour(tap):
    with tap.group("living neighbour"), Veth("port-a") as a, Veth("port-b") as b:
        with start(a) as living:
            with start(b) as dead:
                kill(dead)
            with tap.case("a start cleans up after the dead and leaves the living alone"):
                program = xdp_program(a.name)
                with start(b) as penstock:
                    expect("is dead" in penstock.stderr, "does not mention the dead one")
                    expect_balance(penstock.finish())
                expect_equal(xdp_program(a.name), program, "the living one's program")
                expect_equal(len(list(EAL_DIRECTORY.iterdir())), 1, "EAL directories")
                expect(xdp_program(b.name) is None, "the dead one's program is still there")
                expect_balance(living.finish())
                expect_nothing_left(a, b)


def tests(tap):
    kill_again_and_again(tap, "default program")
    kill_again_and_again(tap, "xdp_prog", xdp_prog=XDP_OBJECT)
    with_hugepages(tap)
    foreign_programs(tap)
    promiscuous_flag(tap)
    vanished_interface(tap)
    living_neighbour(tap)


if __name__ == "__main__":
    main(tests)
