#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""net_xsk in dpdk-testpmd when things go against it: a capability less, a kernel that lacks an option,
the interface taken away under load, SIGKILL. What is the matter is said, and nothing is left behind.
"""

import ctypes
import platform
import shutil
import signal
import struct
import subprocess
import tempfile

from support import (Process, Traffic, Veth, Wire, counters, exchange, expect, expect_equal, expect_frames,
                     lcores, main, run, wait_until, xdp_sockets)

from xsk_testpmd_test import BUILT, DRIVER, Testpmd, expect_clean, frames, mac_swapped

NEEDED = ["net_raw", "net_admin", "bpf", "ipc_lock"]


def capabilities(tap):
    """Root in name only, with what the driver needs and not more."""
    with tap.group("capabilities"), Veth("port-a") as a:

        def start(kept):
            kept = ",".join(f"+{name}" for name in kept)
            done = subprocess.run(
                ["setpriv", "--bounding-set=-all," + kept, "--inh-caps=-all," + kept, "dpdk-testpmd",
                 "--no-huge", "-m", "128", "--no-pci", "--no-telemetry", "--no-shconf", lcores(1),
                 "-d", DRIVER, f"--vdev=net_xsk0,iface={a.name}", "--", "--total-num-mbufs=4096",
                 "--no-mlockall", "--tx-first"],
                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
            return done.stdout + done.stderr

        with tap.case("NET_RAW, NET_ADMIN, BPF and IPC_LOCK are enough"):
            before = counters(a.peer)["rx_packets"]
            text = start(NEEDED)
            expect(counters(a.peer)["rx_packets"] > before, text[-1500:])
            expect_clean(a)
        for missing in NEEDED:
            with tap.case(f"without CAP_{missing.upper()} it is that one that is named"):
                before = counters(a.peer)["rx_packets"]
                text = start([name for name in NEEDED if name != missing])
                expect_equal(counters(a.peer)["rx_packets"], before, "frames sent without it")
                expect(f"this process lacks CAP_{missing.upper()})" in text, text[-1500:])
                expect_clean(a)


SECCOMP_ERRNO = 0x00050000
SECCOMP_ALLOW = 0x7fff0000
SETSOCKOPT = {"x86_64": 54, "aarch64": 208}


def without_send_budget():
    """Runs in the child, before exec: from now on setsockopt(SOL_XDP, XDP_MAX_TX_SKB_BUDGET) answers
    ENOPROTOOPT, as the kernels do that have no such option."""
    def load(offset):  # into the accumulator
        return struct.pack("HBBI", 0x20, 0, 0, offset)

    def unless(value, skip):
        return struct.pack("HBBI", 0x15, 0, skip, value)

    def answer(value):
        return struct.pack("HBBI", 0x06, 0, 0, value)

    # Number, then the second and the third argument.
    code = (load(0) + unless(SETSOCKOPT[platform.machine()], 5) + load(24) + unless(283, 3) +
            load(32) + unless(9, 1) + answer(SECCOMP_ERRNO | 92) + answer(SECCOMP_ALLOW))
    buffer = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(22, 2, program, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_SECCOMP)")


def older_kernel(tap):
    with tap.group("no budget"), Veth("port-a") as a, Veth("port-b") as b, \
            Testpmd([a, b], "--forward-mode=txonly", "--burst=256", preexec=without_send_budget) as testpmd:
        with tap.case("a kernel without XDP_MAX_TX_SKB_BUDGET: the port works, 32 packets per call"):
            expect("budget 32" in testpmd.command("show port info 0"), "budget")
            before = counters(a.peer)["rx_packets"]
            testpmd.command("start")
            wait_until(lambda: counters(a.peer)["rx_packets"] > before + 20000, "frames to come")
            testpmd.command("stop")
            stats = testpmd.xstats(0)
            expect_equal(counters(a.peer)["rx_packets"] - before, stats["tx_good_packets"], "at the peer")
            expect_equal(stats["tx_q0_budget"], 0, "budget that was set")
            large = ("64_127", "128_255", "256_511", "512_up")
            expect_equal(sum(stats[f"tx_q0_send_packets_{size}"] for size in large), 0,
                         "calls that took more than 63")
        with tap.case("it is said, and once"):
            testpmd.command("port stop all")
            testpmd.command("port start all")
            expect_equal(testpmd.stderr.count("has no XDP_MAX_TX_SKB_BUDGET"), 1, testpmd.stderr[-900:])
        with tap.case("quit is clean"):
            testpmd.quit()
            expect_clean(a, b)


def removed(tap):
    """testpmd takes a port away by itself when it is told that it was removed."""
    for round_ in range(4):
        with tap.group(f"removal {round_}"), Veth("port-a") as a, Veth("port-b") as b, \
                Testpmd([a, b], "--forward-mode=macswap", "--auto-start") as testpmd, \
                tap.case(f"removed under load, {('both', 'the one', 'the other')[round_ % 3]}: testpmd goes on"):
            gone = ([a, b], [a], [b])[round_ % 3]
            with Traffic(frames(1, 200)[0], a.peer, b.peer):
                wait_until(lambda: counters(a.peer)["rx_packets"] > 2000, "traffic")
                for each in gone:
                    run(f"ip link del {each.name}")
                testpmd.wait_for(f"Now total ports is {2 - len(gone)}")
            for each in gone:
                expect(f"interface {each.name} was removed" in testpmd.stderr, testpmd.stderr[-900:])
            testpmd.command("show port stats all")
            testpmd.command("stop")
            # The mbufs of the port that is gone are back as well.
            testpmd.command("port stop all")
            expect_equal(testpmd.in_use(), 0, "mbufs in use")
            testpmd.quit()
            wait_until(lambda: not xdp_sockets(), "the sockets to be closed")


def killed(tap):
    with tap.group("SIGKILL"), Veth("port-a") as a, Veth("port-b") as b:
        for round_ in range(3):
            with tap.case(f"killed under load, round {round_}: nothing is left, and the next start works"):
                with Testpmd([a, b], "--forward-mode=macswap", "--auto-start") as testpmd:
                    expect("promiscuity 1" in run(f"ip -d link show {a.name}"), "not promiscuous")
                    with Wire(a.peer) as inside, Wire(b.peer) as outside:
                        sent = frames(50)
                        expect_frames(exchange(inside, outside, sent), [mac_swapped(f) for f in sent],
                                      f"round {round_}")
                    with Traffic(frames(1, 200)[0], a.peer, b.peer):
                        before = counters(a.peer)["rx_packets"]
                        wait_until(lambda: counters(a.peer)["rx_packets"] > before + 1000, "traffic")
                        testpmd.signal(signal.SIGKILL)
                        testpmd.wait()
                expect_clean(a, b)
                expect("promiscuity 0" in run(f"ip -d link show {a.name}"), "still promiscuous")


def refusals(tap):
    rows = [
        ("iface=port-a,start_queue=4294967296", "devarg start_queue=4294967296: accepted is 0"),
        ("iface=port-a,queue_count=2", "has 1 RX and 1 TX queues"),
        ("iface=port-a,budget=64k", "accepted is auto, or 32"),
        ("iface=port-a,sndbuf=0", "devarg sndbuf=0: accepted is 4096"),
        ("iface=port-a,filter=[]", "accepted are udp:PORT"),
        ("iface=port-a,filter=[esp,esp:1]", "filter rule 'esp:1'"),
        ("iface=port-a,filter=[dst-mac:02:00]", "filter rule 'dst-mac:02:00'"),
        ("iface=port-a,xdp_prog=", "a BPF object file"),
        ("iface=port-a,xdp_prog=/nothere.o", "bpf_object__open(/nothere.o)"),
        ("iface=port-a,bind=zerocopy", "bind=copy works everywhere"),
        ("iface=lo,bind", "bind=: accepted is auto, copy, zerocopy"),
    ]
    with tap.group("refusals"), Veth("port-a") as a:
        for arguments, message in rows:
            with tap.case(f"refused: {arguments}"):
                with Process(["dpdk-testpmd", "--no-huge", "-m", "64", "--no-pci", "--no-telemetry",
                              "--no-shconf", lcores(1), "-d", DRIVER, f"--vdev=net_xsk0,{arguments}",
                              "--", "-i", "--total-num-mbufs=2048"]) as process:
                    process.close_input()
                    process.wait()
                    text = process.stderr + process.stdout
                    expect(message in text, f"no {message!r} in: {text[-900:]}")
                expect_clean(a)


def tests(tap):
    shutil.copy(BUILT, DRIVER)
    tempfile.tempdir = "/tmp"
    capabilities(tap)
    older_kernel(tap)
    removed(tap)
    killed(tap)
    refusals(tap)


if __name__ == "__main__":
    main(tests)
