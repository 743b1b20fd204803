#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Ports of every kind open, forward and close; what a driver keeps is told apart from what is lost.

forward_test has AF_XDP, packet sockets and tap devices in depth, pcap_test files; here are the others,
and the ends at which mbufs are in a driver's hands.
"""

import pathlib
import re
import signal

from support import (Penstock, Traffic, Vdev, Veth, Wire, counters, exchange, expect,
                     expect_balance, expect_equal, expect_frames, expect_nothing_left, main, run,
                     wait_until)

from scapy.all import Ether, IP, UDP, RawPcapReader, RawPcapWriter

HEADER = bytes(Ether(dst="02:00:00:00:00:02", src="02:00:00:00:00:01", type=0x88b5))
FRAMES = [HEADER + bytes((n + i) & 0xff for i in range(length))
          for n, length in enumerate(list(range(46, 1501, 29)) + [1500])]
FLOOD = bytes(Ether(dst="02:00:00:00:00:02", src="02:00:00:00:00:01") / IP() / UDP()).ljust(60, b"\0")
FULL = ("tx_full", "tx_error")


def memif(tap):
    """Two penstocks, one on each side of a shared memory."""
    socket = "/tmp/memif.sock"
    with tap.group("net_memif"), Veth("port-a") as a, Veth("port-b") as b:
        with Penstock([f"--vdev=net_memif0,role=server,socket={socket},socket-abstract=no",
                       f"--vdev=net_af_xdp0,iface={a.name},busy_budget=0"]) as server, \
                Penstock([f"--vdev=net_memif0,role=client,socket={socket},socket-abstract=no",
                          f"--vdev=net_af_xdp0,iface={b.name},busy_budget=0"]) as client, \
                Wire(a.peer) as wire_a, Wire(b.peer) as wire_b:
            # They find each other while they run, and until then have nobody to send to.
            wait_until(lambda: wire_a.send(FRAMES[0]) or wire_b.receive(0.05), "a first frame")
            wait_until(lambda: wire_a.receive(0) is None and wire_b.receive(0.1) is None,
                       "the last of the first frames")
            with tap.case("net_memif: from one penstock to another and back, every frame the same"):
                expect_frames(exchange(wire_a, wire_b, FRAMES), FRAMES, "server to client")
                expect_frames(exchange(wire_b, wire_a, FRAMES), FRAMES, "client to server")
            with tap.case("net_memif: both reports balance and agree"):
                reports = [each.finish() for each in (client, server)]
                for report in reports:
                    expect_balance(report, allowed_drops=("tx_full",))
                    # Its driver's counts go with the connection, so it has none to report.
                    expect("rx_bytes" not in report["ports"][0], "a count that it cannot know")
                # What one took from its wire and did not drop, the other gave to its own.
                for one, other in (reports, reversed(reports)):
                    expect_equal(other["ports"][1]["tx_packets"],
                                 one["ports"][1]["rx_packets"] - one["drops"]["tx_full"],
                                 "through the memory")
        with tap.case("net_memif: nothing left"):
            expect_nothing_left(a, b)
            expect(not pathlib.Path(socket).exists(), "the socket is still there")


def overload(tap):
    """Ports are up and nobody polls: what the socket's ring cannot take is missed, and counted."""
    count = 3000
    with tap.group("net_af_xdp, overloaded"), Veth("port-a") as a, Wire(a.peer) as wire:
        with tap.case("net_af_xdp: received and missed are all that was sent"):
            with Penstock([f"--vdev=net_af_xdp0,iface={a.name},busy_budget=0"], "-i",
                          "--forward-mode=rxonly") as penstock:
                for _ in range(count):
                    wire.send(FLOOD)
                penstock.command("start")
                wait_until(lambda: "RX-packets: 0 " not in
                           penstock.command("show port stats all"), "the first packets")
                wait_until(lambda: sum(map(int, re.findall(
                    r"(?:RX-packets|RX-missed): (\d+)", penstock.command("show port stats all"))))
                    == count, f"{count} packets received or missed")
                report = penstock.finish()
            expect_balance(report, allowed_drops=("rxonly",))
            port = report["ports"][0]
            expect(port["rx_missed"] > 0, "nothing was missed: no overload, no test")
            expect_equal(port["rx_packets"] + port["rx_missed"], count, "received and missed")


def ring(tap):
    """What is sent to a ring comes back from it: file, ring, file."""
    source, sink = "/tmp/ring-in.pcap", "/tmp/ring-out.pcap"
    with RawPcapWriter(source, linktype=1) as writer:
        writer.write_header(None)
        for frame in FRAMES:
            writer.write_packet(frame, sec=0, usec=0, caplen=len(frame), wirelen=len(frame))
    with tap.case("net_ring: every frame comes back as it went in"):
        with Penstock([f"--vdev=net_pcap0,rx_pcap={source},tx_pcap={sink}", "--vdev=net_ring0"],
                      "-i") as penstock:
            drivers = re.findall(r"^port \d: .*driver (\w+)", penstock.command("show port info all"),
                                 re.M)
            expect_equal(sorted(drivers), ["net_pcap", "net_ring"], "drivers")
            penstock.command("start")
            wait_until(lambda: f"received {2 * len(FRAMES)}," in penstock.command("show fwd stats"),
                       "every frame to pass twice")
            penstock.write("quit\n")
            penstock.expect_exit(0)
            expect_balance(penstock.report())
        reader = RawPcapReader(sink)
        expect_frames([bytes(frame) for frame, _ in reader], FRAMES, "file, ring, file")
        reader.close()
        expect_nothing_left()


def null(tap):
    for mode in ("io", "macswap", "rxonly", "txonly"):
        with tap.case(f"net_null: {mode}"):
            with Penstock(["--vdev=net_null0,size=1514,copy=1", "--vdev=net_null1,size=64"],
                          f"--forward-mode={mode}", "--duration=0.1") as penstock:
                penstock.expect_exit(0)
                report = penstock.report()
            expect_balance(report, allowed_drops=("rxonly",))
            totals = report["totals"]
            expect((totals["rx_packets"] > 0) == (mode != "txonly"), "received")
            expect((totals["tx_packets"] > 0) == (mode != "rxonly"), "sent")
            expect_nothing_left()


def live_pcap(tap):
    with tap.group("net_pcap"), Veth("port-a") as a, Veth("port-b") as b:
        with Penstock([f"--vdev=net_pcap{i},rx_iface_in={each.name},tx_iface={each.name}"
                       for i, each in enumerate((a, b))]) as penstock, \
                Wire(a.peer) as wire_a, Wire(b.peer) as wire_b:
            with tap.case("net_pcap on interfaces: every frame the same, both ways"):
                expect_frames(exchange(wire_a, wire_b, FRAMES), FRAMES, "first to second port")
                expect_frames(exchange(wire_b, wire_a, FRAMES), FRAMES, "second to first port")
            with tap.case("net_pcap on interfaces: report balances"):
                report = penstock.finish()
                expect_balance(report)
                expect_equal(report["totals"]["tx_packets"], 2 * len(FRAMES), "sent")
        with tap.case("net_pcap on interfaces: nothing left"):
            expect_nothing_left(a, b)


def held(report, sockets):
    """in_use_at_exit is 0, and what the driver keeps is what its rings can hold."""
    expect_balance(report, allowed_drops=FULL)
    count = sum(pool["held_by_driver"] for pool in report["mempools"])
    # Filled with half of FILL's 4096 from the start; all of it, COMPLETION, RX and TX at most.
    most = sockets * (4096 + 2048 + 1024 + 1024)
    expect(sockets * 1024 <= count <= most, f"{count} held by the driver, of {most} at most")


def held_by_driver(tap):
    with tap.group("held_by_driver"), Veth("port-a") as a, Veth("port-b") as b:
        with tap.case("net_af_xdp closed after nothing moved: what it keeps is not called lost"):
            with Penstock(Vdev.af_xdp(a, b)) as penstock:
                held(penstock.finish(), 2)
        for threaded in (0, 1):
            # With it, frames are received on a thread of the kernel's and complete late. It is there
            # where NAPI is, and that is where GRO is.
            for end in (a.peer, b.peer):
                run(f"ethtool -K {end} gro on")
                pathlib.Path(f"/sys/class/net/{end}/threaded").write_text(str(threaded))
            late = " with late completions" if threaded else ""
            with tap.case(f"net_af_xdp closed in full traffic, both ways{late}"):
                with Traffic(FLOOD, a.peer, b.peer):
                    with Penstock(Vdev.af_xdp(a, b), "--forward-mode=macswap") as penstock:
                        wait_until(lambda: counters(b.peer)["rx_packets"] > 2000, "traffic")
                        held(penstock.finish(), 2)
            with tap.case(f"net_af_xdp closed while it generates{late}"):
                before = counters(a.peer)["rx_packets"]
                with Penstock(Vdev.af_xdp(a), "--forward-mode=txonly") as penstock:
                    wait_until(lambda: counters(a.peer)["rx_packets"] > before + 2000, "traffic")
                    held(penstock.finish(), 1)
        with tap.case("net_af_xdp with a small pool and long chains to join"):
            with Penstock(Vdev.af_xdp(a), "--forward-mode=txonly", "--txpkts=42,400,400,400,100",
                          "--total-num-mbufs=16383") as penstock, Wire(a.peer) as wire:
                expect_equal({len(frame) for frame in wire.receive_all(500)}, {1342}, "lengths")
                report = penstock.finish()
                expect_balance(report, allowed_drops=("tx_full", "tx_error", "tx_segments"))
        with tap.case("net_af_xdp: nothing left"):
            expect_nothing_left(a, b)


def link_down(tap):
    with tap.group("link"), Veth("port-a") as a, Veth("port-b") as b, \
            Traffic(FLOOD, a.peer):
        with Penstock(Vdev.af_xdp(a, b)) as penstock:
            with tap.case("the far end goes down and comes up again: forwarding goes on"):
                for _ in range(3):
                    seen = counters(b.peer)["rx_packets"]
                    wait_until(lambda: counters(b.peer)["rx_packets"] > seen, "traffic")
                    run(f"ip link set dev {b.peer} down")
                    run(f"ip link set dev {b.peer} up")
                seen = counters(b.peer)["rx_packets"]
                wait_until(lambda: counters(b.peer)["rx_packets"] > seen, "traffic after it")
            with tap.case("the own end goes down and comes up again: likewise"):
                run(f"ip link set dev {b.name} down")
                run(f"ip link set dev {b.name} up")
                seen = counters(b.peer)["rx_packets"]
                wait_until(lambda: counters(b.peer)["rx_packets"] > seen, "traffic after it")
            with tap.case("after all that the report balances"):
                expect_balance(penstock.finish(signal.SIGINT), allowed_drops=FULL)
        with tap.case("link: nothing left"):
            expect_nothing_left(a, b)


def tests(tap):
    memif(tap)
    overload(tap)
    ring(tap)
    null(tap)
    live_pcap(tap)
    held_by_driver(tap)
    link_down(tap)


if __name__ == "__main__":
    main(tests)
