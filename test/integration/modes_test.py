#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every forwarding mode against scapy, byte for byte, over AF_XDP and from file to file.

The frames are rows in support/modes_corpus.py (well formed), modes_malformed.py and modes_echo.py. What
comes out is compared with what scapy makes of them, in order; what does not come out is to be among the
drops by its name and in the right number. From files they also come as chains of short mbufs, whose
first ends within the headers.
"""

import collections
import pathlib
import re

from support import (Penstock, Vdev, Veth, Wire, counters, expect, expect_balance, expect_equal,
                     expect_frames, expect_nothing_left, link, main, run,
                     wait_until)
from support.modes_corpus import mac_swapped, well_formed
from support.modes_echo import questions
from support.modes_malformed import malformed
from support.pcap import Files, penstock_files

from scapy.all import Ether, IP, Raw, UDP

PEERS = [f"02:00:00:00:00:0{port}" for port in range(2)]  # Of --eth-peer, by default.
ODD_PEER = "06:05:04:03:02:01"
MTU = 1500
# The largest that one mbuf of a page holds, with what the kernel wants before it, and the mbuf for it.
LARGE_MTU = 3442
LARGE_MBUF = "--mbuf-size=3840"
LCORE = 1  # That works.
WINDOW = 64  # On the way at a time: fewer than any queue in between holds.


def addressed(frame, source, destination):
    return bytes(Ether(src=source, dst=destination, type=0))[:12] + frame[12:]


class Wanted:
    """What a mode makes of rows when it sends from `source` to `destination`."""

    def __init__(self, mode, rows, source=None, destination=None):
        make = {"io": lambda row: row.frame,
                "macswap": lambda row: mac_swapped(row.frame),
                "mac": lambda row: addressed(row.frame, source, destination),
                "5tswap": lambda row: row.turned,
                "csum": lambda row: addressed(row.filled, source, destination)}[mode]
        self.rows = rows
        self.drops = collections.Counter(row.drops[mode] for row in rows if mode in row.drops)
        self.of = [None if mode in row.drops else make(row) for row in rows]

    @property
    def frames(self):
        return [frame for frame in self.of if frame is not None]

    def check(self, seen):
        """In order; what differs is told by its row."""
        left = iter(seen)
        for row, wanted in zip(self.rows, self.of):
            if wanted is None:
                continue
            frame = next(left, None)
            expect(frame is not None, f"{len(seen)} frames instead of {len(self.frames)}")
            expect(frame == wanted, f"\"{row.name}\" {row.why}\n  in     {row.frame.hex()}\n"
                                    f"  seen   {frame.hex()}\n  wanted {wanted.hex()}")
        expect_equal(len(seen), len(self.frames), "frames")


def expect_counted(report, mode, rows):
    """What csum and 5tswap say was wrong, beside what they forward."""
    if mode not in ("csum", "5tswap"):
        return
    wanted = collections.Counter(row.fault for row in rows if row.fault)
    if mode == "csum":
        for row in rows:
            wanted += row.counts
    expect_equal({name: count for name, count in report[mode].items() if count}, dict(wanted),
                 f"what {mode} counted")


FORWARDING = ("io", "mac", "macswap", "5tswap", "csum")


def expect_drops(report, wanted):
    expect_equal({name: count for name, count in report["drops"].items() if count}, dict(wanted),
                 "drops by name")


# ---- from file to file ----

# In a data room of 128 bytes, and of an odd number, frames are chains that begin within their headers.
MBUFS = {"": [], ", chains of mbufs": ["--mbuf-size=256"], ", odd mbufs": ["--mbuf-size=257"]}


def from_files(tap, rows, kind):
    for mode in FORWARDING:
        for words, options in MBUFS.items():
            with tap.case(f"{mode} from files{words}: {len(rows)} frames {kind}"):
                wanted = Wanted(mode, rows, Files.MACS[1], PEERS[1])
                back, seen, report = penstock_files(mode, [row.frame for row in rows], *options)
                wanted.check(seen)
                expect_equal(back, [], "frames sent by the port that received")
                expect_balance(report, allowed_drops=wanted.drops)
                expect_drops(report, wanted.drops)
                expect_counted(report, mode, rows)
                expect_nothing_left()


def echo_from_files(tap, rows):
    for words, options in MBUFS.items():
        with tap.case(f"icmpecho from files{words}: {len(rows)} frames"):
            seen, across, report = penstock_files("icmpecho", [row.frame for row in rows], *options)
            check_answers(seen, rows)
            expect_equal(across, [], "frames sent by the port that did not receive")
            drops = collections.Counter(row.drop for row in rows if row.answer is None)
            expect_balance(report, allowed_drops=drops)
            expect_drops(report, drops)
            expect_nothing_left()


def check_answers(seen, rows):
    wanted = [row for row in rows if row.answer is not None]
    for row, frame in zip(wanted, seen):
        expect(frame == row.answer, f"\"{row.name}\"\n  asked  {row.frame.hex()}\n"
                                    f"  seen   {frame.hex()}\n  wanted {row.answer.hex()}")
    expect_equal(len(seen), len(wanted), "answers")


def sinks_from_files(tap, rows):
    with tap.case(f"icmpecho from files: {len(rows)} frames that ask nothing, or wrongly"):
        *sent, report = penstock_files("icmpecho", [row.frame for row in rows])
        expect_equal(sent, [[], []], "frames sent")
        drops = collections.Counter(row.unanswered for row in rows)
        expect_balance(report, allowed_drops=drops)
        expect_drops(report, drops)
    with tap.case(f"rxonly from files: {len(rows)} frames"):
        *sent, report = penstock_files("rxonly", [row.frame for row in rows])
        expect_equal(sent, [[], []], "frames sent")
        expect_balance(report, allowed_drops=("rxonly",))
        expect_drops(report, {"rxonly": len(rows)})


# ---- what is made ----

def udp_frame(source, destination, ip, sport, dport, length):
    frame = (Ether(src=source, dst=destination) / IP(src=ip[0], dst=ip[1], id=0) /
             UDP(sport=sport, dport=dport) / Raw(bytes(length - 42)))
    return bytes(frame)


def address_plus(address, number):
    value = int.from_bytes(bytes(map(int, address.split("."))), "big") + number
    return ".".join(map(str, value.to_bytes(4, "big")))


# Mode, options, and what is to be seen: source and destination address of packet n, flows in a cycle.
GENERATORS = [
    ("txonly", [], lambda n: ("198.18.0.1", "198.18.0.2"), {}, 1),
    ("txonly", ["--txonly-multi-flow", "--tx-ip=10.0.0.1,10.0.0.9"],
     lambda n: (f"10.0.{n}.{9 + LCORE}", "10.0.0.9"), {}, 256),
    ("flowgen", [], lambda n: ("198.18.0.1", address_plus("198.18.0.2", n)), {}, 1024),
    ("flowgen", ["--flowgen-flows=3", "--txpkts=101", "--tx-udp=7,8", "--burst=7",
                 "--tx-ip=10.0.0.1,10.0.0.254"],
     lambda n: ("10.0.0.1", address_plus("10.0.0.254", n)),
     {"length": 101, "sport": 7, "dport": 8}, 3),
    ("flowgen", ["--flowgen-flows=1", "--txpkts=64"],
     lambda n: ("198.18.0.1", "198.18.0.2"), {}, 1),
]
LOOKED_AT = 2500  # More than two cycles.


def check_made(seen, source, destination, addresses, fields, cycle):
    fields = {"length": 64, "sport": 9, "dport": 9, **fields}
    wanted = [udp_frame(source, destination, addresses(n), **fields) for n in range(cycle)]
    expect(len(seen) >= LOOKED_AT, f"{len(seen)} frames, fewer than {LOOKED_AT}")
    expect_frames(seen[:LOOKED_AT], [wanted[n % cycle] for n in range(LOOKED_AT)], "made")


def generators(tap):
    for mode, options, addresses, fields, cycle in GENERATORS:
        words = f"{mode} {' '.join(options)}".strip()
        with tap.case(f"{words} into files: scapy makes the same, in the same order"):
            files = Files([bytes(Ether() / Raw(bytes(46)))] * 5)
            with Penstock(files.eal(), f"--forward-mode={mode}", "--duration=0.05",
                          *options) as penstock:
                penstock.expect_exit(0)
                report = penstock.report()
            # txonly sends by each port; flowgen by the peer of each that receives.
            for port in range(2):
                check_made(files.written(port), Files.MACS[port], PEERS[port], addresses, fields,
                           cycle)
            received = 5 if mode == "flowgen" else 0
            expect_balance(report, allowed_drops=("flowgen",))
            expect_equal(report["drops"].get("flowgen", 0), received, "received and let go")
            expect_nothing_left()
        with tap.case(f"{words} over AF_XDP: likewise"), Veth("port-a") as veth:
            with Wire(veth.peer) as wire, \
                    Penstock(Vdev.af_xdp(veth), f"--forward-mode={mode}", "--port-topology=loop",
                             f"--eth-peer=0,{ODD_PEER}", *options) as penstock:
                seen = wire.receive_all(LOOKED_AT)
                report = penstock.finish()
                # Between two packets that were sent there may be some that were not.
                fields_ = {"length": 64, "sport": 9, "dport": 9, **fields}
                made = {udp_frame(veth.mac, ODD_PEER, addresses(n), **fields_)
                        for n in range(cycle)}
                expect_equal({frame.hex() for frame in set(seen) - made}, set(), "of no flow")
                expect_equal(len(set(seen)), cycle, "flows seen")
                expect_balance(report, allowed_drops=("tx_full", "tx_error"))


# ---- over AF_XDP ----

def exchange_some(source, sink, frames, wanted):
    """Sends `frames`, of which some do not come out: `wanted` has None for them."""
    seen = []
    for start in range(0, len(frames), WINDOW):
        for frame in frames[start:start + WINDOW]:
            source.send(frame)
        due = sum(frame is not None for frame in wanted[start:start + WINDOW])
        seen += sink.receive_all(due)
    return seen


def filled_by_tap(tap, rows):
    """csum leaves the checksums to the port: this one's driver then computes them."""
    words = "csum over tap devices, by their offloads"
    with tap.group(words):
        names = ["tap-a", "tap-b"]
        with Penstock(Vdev.tap(*names), "--forward-mode=csum",
                      "--tx-offloads=ipv4_cksum,udp_cksum,tcp_cksum") as penstock, \
                Wire(names[0]) as source, Wire(names[1]) as sink:
            mac = link(names[1])["address"]
            source.drain()
            sink.drain()
            with tap.case(f"{words}: {len(rows)} frames"):
                wanted = Wanted("csum", rows, mac, PEERS[1])
                wanted.check(exchange_some(source, sink, [row.frame for row in rows], wanted.of))
            report = penstock.finish()
            with tap.case(f"{words}: report balances"):
                expect_balance(report)
        with tap.case(f"{words}: nothing left"):
            expect_nothing_left()


def large(*veths):
    for veth in veths:
        for end in (veth.name, veth.peer):
            run(f"ip link set {end} mtu {LARGE_MTU}")


def over_af_xdp(tap, mode, rows, kind):
    with tap.group(f"{mode} over AF_XDP"), Veth("port-a") as a, Veth("port-b") as b:
        large(a, b)
        before = [counters(veth.peer) for veth in (a, b)]
        with Penstock(Vdev.af_xdp(a, b), f"--forward-mode={mode}", f"--eth-peer=0,{ODD_PEER}",
                      LARGE_MBUF) as penstock, Wire(a.peer) as wire_a, Wire(b.peer) as wire_b:
            frames = [row.frame for row in rows]
            there = Wanted(mode, rows, b.mac, PEERS[1])
            back = Wanted(mode, rows, a.mac, ODD_PEER)
            with tap.case(f"{mode} over AF_XDP: {len(rows)} frames {kind}, both ways"):
                there.check(exchange_some(wire_a, wire_b, frames, there.of))
                back.check(exchange_some(wire_b, wire_a, frames, back.of))
            with tap.case(f"{mode} over AF_XDP: nothing else; report and kernel agree"):
                report = penstock.finish()
                expect_equal([wire_a.receive(0), wire_b.receive(0)], [None, None], "more frames")
                drops = there.drops + back.drops
                expect_balance(report, allowed_drops=drops)
                expect_drops(report, drops)
                expect_counted(report, mode, rows + rows)
                for index, veth in enumerate((a, b)):
                    port, after = report["ports"][index], counters(veth.peer)
                    expect_equal(port["rx_packets"],
                                 after["tx_packets"] - before[index]["tx_packets"], "received")
                    expect_equal(port["tx_packets"],
                                 after["rx_packets"] - before[index]["rx_packets"], "sent")
        with tap.case(f"{mode} over AF_XDP: nothing left"):
            expect_nothing_left(a, b)


def echo_over_af_xdp(tap):
    with tap.group("icmpecho over AF_XDP"), Veth("port-a") as a, Veth("port-b") as b:
        large(a, b)
        rows = [row for row in questions(a.mac) if row.fits_wire(LARGE_MTU)]
        with Penstock(Vdev.af_xdp(a, b), "--forward-mode=icmpecho", LARGE_MBUF) as penstock, \
                Wire(a.peer) as wire_a, Wire(b.peer) as wire_b:
            with tap.case(f"icmpecho over AF_XDP: {len(rows)} frames, answered where they came in"):
                seen = exchange_some(wire_a, wire_a, [row.frame for row in rows],
                                     [row.answer for row in rows])
                check_answers(seen, rows)
                report = penstock.finish()
                expect_equal([wire_a.receive(0), wire_b.receive(0)], [None, None], "more frames")
                drops = collections.Counter(row.drop for row in rows if row.answer is None)
                expect_balance(report, allowed_drops=drops)
                expect_drops(report, drops)


def rxonly_over_af_xdp(tap, rows):
    with tap.case(f"rxonly over AF_XDP: {len(rows)} frames"), Veth("port-a") as a:
        large(a)
        with Penstock(Vdev.af_xdp(a), "--forward-mode=rxonly", "-i", LARGE_MBUF) as penstock, \
                Wire(a.peer) as wire:
            penstock.command("start")
            for start in range(0, len(rows), WINDOW):
                chunk = rows[start:start + WINDOW]
                for row in chunk:
                    wire.send(row.frame)
                wait_until(lambda: f"received {start + len(chunk)} packets"
                           in penstock.command("show fwd stats"), "all frames")
            expect_equal(wire.receive(0), None, "frames sent")
            penstock.write("quit\n")
            penstock.expect_exit(0)
            report = penstock.report()
        expect_balance(report, allowed_drops=("rxonly",))
        expect_drops(report, {"rxonly": len(rows)})


def tests(tap):
    good, bad = well_formed(), malformed()
    from_files(tap, good, "well formed")
    from_files(tap, bad, "malformed")
    echo_from_files(tap, questions(Files.MACS[0]))
    sinks_from_files(tap, good + bad)
    generators(tap)
    wire = [row for row in good + bad if row.fits_wire(LARGE_MTU)]
    for mode in FORWARDING:
        over_af_xdp(tap, mode, wire, "of every kind")
    if pathlib.Path("/dev/net/tun").exists():
        # The driver writes ffff for a sum of zero, not only UDP's; to a receiver both are right.
        filled_by_tap(tap, [row for row in wire if row.fits_wire(MTU) and
                            not re.match("(TCP over IPv.|IPv4 header) whose sum is zero",
                                         row.name)])
    else:
        tap.skip("csum over tap devices", "this kernel has no tap devices")
    echo_over_af_xdp(tap)
    rxonly_over_af_xdp(tap, wire)


if __name__ == "__main__":
    main(tests)
