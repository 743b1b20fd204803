#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""From file to file: frames that no wire carries.

One port reads a capture and another writes one, so that every length can be given: a single byte,
more than an mbuf holds, as much as a chain of them. What is written is compared with what scapy wrote,
and counted by tshark.
"""

import pathlib

from support import (Penstock, expect_balance, expect_equal, expect_frames,
                     expect_nothing_left, main, run, wait_until)
from support.pcap import read_pcap, write_pcap

from scapy.all import Ether

MBUF_BYTES = 2176 - 128  # What the default mbuf holds.

# What each kind of frame is: lengths.
KINDS = {
    "runts of 1 to 13 bytes": range(1, 14),
    "headers alone, 14 to 59 bytes": range(14, 60),
    "every length a wire carries": range(60, 1515, 7),
    "jumbo frames": (1515, 1518, 1522, 2000, 4000, 8999, 9000, 9014, 9018, 9600),
    "around one and two mbufs": [n + d for n in (MBUF_BYTES, 2 * MBUF_BYTES) for d in range(-2, 3)],
    # The driver's own limit for what it writes is 16128.
    "chains of many mbufs": (5 * MBUF_BYTES + 1, 7 * MBUF_BYTES, 16000, 16128),
}


def frame_of(length, salt):
    return bytes((3 * i + salt) & 0xff for i in range(length))


def swapped(frame):
    if len(frame) < 14:
        return None
    header = Ether(frame[:14])
    return bytes(Ether(dst=header.src, src=header.dst, type=0))[:12] + frame[12:]


def tshark_lengths(path):
    return [int(line) for line in run(["tshark", "-n", "-r", str(path), "-T", "fields",
                                       "-e", "frame.len"]).split()]


def through(tap, name, mode, frames_in, check, options=(), drops=()):
    """Port 0 reads, port 1 writes; port 1 reads nothing, port 0 writes nothing."""
    folder = pathlib.Path("/tmp")
    source, sink = folder / "in.pcap", folder / "out.pcap"
    nothing, unused = folder / "empty.pcap", folder / "unused.pcap"
    write_pcap(source, frames_in)
    write_pcap(nothing, [])
    with tap.group(name):
        with Penstock([f"--vdev=net_pcap0,rx_pcap={source},tx_pcap={unused}",
                       f"--vdev=net_pcap1,rx_pcap={nothing},tx_pcap={sink}"],
                      f"--forward-mode={mode}", "-i", *options) as penstock:
            penstock.command("start")
            wait_until(lambda: f"received {len(frames_in)} packets"
                       in penstock.command("show fwd stats"), "the whole file to be read")
            penstock.write("quit\n")
            penstock.expect_exit(0)
            report = penstock.report()
        check(report, read_pcap(sink))
        with tap.case(f"{name}: tshark counts as many, report balances"):
            totals = report["totals"]
            expect_balance(report, allowed_drops=drops)
            expect_equal(totals["rx_packets"], len(frames_in), "received")
            written = read_pcap(sink)
            expect_equal(totals["tx_packets"], len(written), "sent")
            expect_equal(report["ports"][0]["rx_bytes"], sum(map(len, frames_in)), "rx_bytes")
            expect_equal(report["ports"][1]["tx_bytes"], sum(len(f) for f, _ in written), "tx_bytes")
            expect_equal(tshark_lengths(sink), [length for _, length in written], "tshark's lengths")
            expect_equal(read_pcap(unused), [], "written by the port that receives")
        with tap.case(f"{name}: nothing left"):
            expect_nothing_left()


def tests(tap):
    frames = {kind: [frame_of(length, salt) for salt, length in enumerate(lengths)]
              for kind, lengths in KINDS.items()}
    everything = [frame for each in frames.values() for frame in each]

    def io(_, written):
        seen = [frame for frame, _ in written]
        at = 0
        for kind, each in frames.items():
            with tap.case(f"io: {kind}"):
                expect_frames(seen[at:at + len(each)], each, kind)
            at += len(each)

    through(tap, "io", "io", everything, io)

    def macswap(report, written):
        seen = [frame for frame, _ in written]
        at = 0
        for kind, each in frames.items():
            wanted = [frame for frame in map(swapped, each) if frame is not None]
            with tap.case(f"macswap: {kind}"):
                expect_frames(seen[at:at + len(wanted)], wanted, kind)
            at += len(wanted)
        with tap.case("macswap: what has no two addresses is dropped by name"):
            expect_equal(report["drops"]["runt"], 13, "dropped as runt")

    through(tap, "macswap", "macswap", everything, macswap, drops=("runt",))

    # Mbufs of 256 bytes hold 128 each: even ordinary frames are chains.
    small = [frame_of(length, salt) for salt, length in
             enumerate((1, 13, 14, 127, 128, 129, 255, 256, 257, 1514, 5000))]

    def chains(_, written):
        with tap.case("macswap with small mbufs: chains of up to 40"):
            expect_frames([frame for frame, _ in written],
                          [frame for frame in map(swapped, small) if frame is not None], "chains")

    through(tap, "macswap with small mbufs", "macswap", small, chains,
            options=["--mbuf-size=256"], drops=("runt",))

    def one_at_a_time(_, written):
        with tap.case("io, bursts of one: order kept"):
            expect_frames([frame for frame, _ in written], everything, "order")

    through(tap, "io, bursts of one", "io", everything, one_at_a_time, options=["--burst=1"])


if __name__ == "__main__":
    main(tests)
