#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Packet capture on a running penstock with DPDK's own dpdk-dumpcap and dpdk-pdump: the files hold the
frames that were sent, and whatever becomes of a capture, penstock's books balance.
"""

import pathlib
import signal

from support import (Hugepages, Penstock, Process, Traffic, Vdev, Veth, Wire, counters, exchange, expect,
                     expect_balance, expect_equal, expect_frames, expect_nothing_left, main, run,
                     wait_until)

from scapy.all import Ether, IP, IPv6, Raw, UDP, rdpcap

FULL = ("tx_full", "tx_error")


def frames(first=0, count=24):
    """No two alike, of several lengths, IPv4 and IPv6."""
    made = []
    for number in range(first, first + count):
        network = IPv6(src="2001:db8::1", dst="2001:db8::2") if number % 3 == 0 else \
            IP(src="192.0.2.1", dst="192.0.2.2", id=number)
        packet = (Ether(dst="02:00:00:00:00:02", src="02:00:00:00:00:01") / network /
                  UDP(sport=1000 + number, dport=9) / Raw(bytes([number % 256]) * (20 + 55 * (number % 24))))
        made.append(bytes(packet))
    return made


def captured(path):
    return [bytes(packet) for packet in rdpcap(str(path))]


class Dumpcap(Process):
    """dpdk-dumpcap that captures: the lcores copy from here on."""

    def __init__(self, penstock, path, *options, port=0):
        super().__init__(["dpdk-dumpcap", f"--file-prefix=penstock-{penstock.pid}", "-i", str(port),
                          "-w", path, *options])
        try:
            self.wait_for(r"^Packets captured: 0", "stderr")
        except BaseException:
            self.__exit__()
            raise


class Pdump(Process):
    """dpdk-pdump into two files, ready."""

    def __init__(self, penstock, rx, tx, wait=True):
        # Its output is for a terminal; a pipe would hold it back.
        super().__init__(["stdbuf", "-oL", "dpdk-pdump", f"--file-prefix=penstock-{penstock.pid}", "--",
                          "--pdump", f"port=0,queue=*,rx-dev={rx},tx-dev={tx}"])
        if wait:
            self.wait_for(r"capture for \(\d+\) tuples")


def by_dumpcap(tap, penstock, a, b):
    with tap.case("dpdk-dumpcap: received frames, byte for byte, as scapy and tshark read them"):
        sent = frames()
        with Dumpcap(penstock, "/tmp/rx.pcapng", "-c", str(len(sent))) as dumpcap:
            expect_frames(exchange(a, b, sent), sent, "forwarded while captured")
            dumpcap.expect_exit(0)
        expect_frames(captured("/tmp/rx.pcapng"), sent, "captured")
        seen = run(["tshark", "-r", "/tmp/rx.pcapng", "-T", "fields", "-e", "frame.len"]).split()
        expect_equal([int(length) for length in seen], [len(frame) for frame in sent], "tshark")
    with tap.case("dpdk-dumpcap: frames that leave by a port, the other port's"):
        sent = frames(100)
        with Dumpcap(penstock, "/tmp/tx.pcapng", "-c", str(len(sent)), port=1) as dumpcap:
            expect_frames(exchange(a, b, sent), sent, "forwarded while captured")
            dumpcap.expect_exit(0)
        expect_frames(captured("/tmp/tx.pcapng"), sent, "captured")
    with tap.case("dpdk-dumpcap -f: what the filter takes, and only that"):
        sent = frames(200)
        wanted = [frame for frame in sent if frame[12:14] == b"\x86\xdd"]
        with Dumpcap(penstock, "/tmp/filter.pcapng", "-f", "ip6", "-c", str(len(wanted))) as dumpcap:
            expect_frames(exchange(a, b, sent), sent, "forwarded while captured")
            dumpcap.expect_exit(0)
        expect_frames(captured("/tmp/filter.pcapng"), wanted, "captured")
    with tap.case("dpdk-dumpcap -s: cut to the length asked for, forwarded whole"):
        sent = frames(50)
        with Dumpcap(penstock, "/tmp/cut.pcapng", "-s", "60", "-c", str(len(sent))) as dumpcap:
            expect_frames(exchange(a, b, sent), sent, "forwarded while captured")
            dumpcap.expect_exit(0)
        expect_frames(captured("/tmp/cut.pcapng"), [frame[:60] for frame in sent], "captured")


def by_pdump(tap, penstock, a, b):
    with tap.case("dpdk-pdump: both directions of a port, in a file each"):
        there, back = frames(), frames(60)
        rx, tx = pathlib.Path("/tmp/rx.pcap"), pathlib.Path("/tmp/tx.pcap")
        with Pdump(penstock, rx, tx) as pdump:
            expect_frames(exchange(a, b, there), there, "forwarded while captured")
            expect_frames(exchange(b, a, back), back, "forwarded while captured")
            # A file has a header of 24 bytes, a frame one of 16. They are written as they come.
            wait_until(lambda: rx.stat().st_size == 24 + sum(16 + len(f) for f in there) and
                       tx.stat().st_size == 24 + sum(16 + len(f) for f in back), "the files")
            pdump.signal(signal.SIGINT)
            pdump.expect_exit(0)
        expect_frames(captured(rx), there, "received")
        expect_frames(captured(tx), back, "sent")


def killed(tap, penstock, a, b):
    sent = frames()
    with tap.case("a capture that is killed: frames go on, more than it ever had room for"):
        with Dumpcap(penstock, "/tmp/killed.pcapng") as dumpcap:
            expect_frames(exchange(a, b, sent), sent, "before")
            dumpcap.process.kill()
            dumpcap.wait()
        many = frames(0, 240) * 20
        expect_equal(len(exchange(a, b, many)), len(many), "frames after its end")
    with tap.case("and after it a new one, once dpdk-pdump took away what the killed one left"):
        with Pdump(penstock, "/tmp/again-rx.pcap", "/tmp/again-tx.pcap", wait=False) as pdump:
            expect_equal(pdump.wait(), 1, "exit code of the first that comes after it")
            expect("File exists" in pdump.stderr, pdump.stderr)
        with Dumpcap(penstock, "/tmp/again.pcapng", "-c", str(len(sent))) as dumpcap:
            expect_frames(exchange(a, b, sent), sent, "forwarded while captured")
            dumpcap.expect_exit(0)
        expect_frames(captured("/tmp/again.pcapng"), sent, "captured")


def under_load(tap, a, b):
    """Captures begin and end while lcores are in the callbacks."""
    with tap.case("captures that come and go under load: the books balance"):
        with Penstock(Vdev.af_xdp(a, b), "--forward-mode=macswap") as penstock:
            with Traffic(frames(1, 1)[0], a.peer, b.peer):
                for number in range(6):
                    with Dumpcap(penstock, f"/tmp/load-{number}.pcapng", "-c", "500",
                                 port=number % 2) as dumpcap:
                        dumpcap.expect_exit(0)
                    expect(len(captured(f"/tmp/load-{number}.pcapng")) >= 500, "frames captured")
                before = counters(b.peer)["rx_packets"]
                wait_until(lambda: counters(b.peer)["rx_packets"] > before + 1000, "traffic")
            expect_balance(penstock.finish(), allowed_drops=FULL)
        expect_nothing_left(a, b)


def outlived(tap, pages, a, b):
    for how, end in (("ends", lambda p: p.finish()), ("is killed", lambda p: (p.process.kill(), p.wait()))):
        with tap.case(f"penstock {how} while a capture runs: the capture ends, nothing is left"):
            with Penstock(Vdev.af_xdp(a, b)) as penstock:
                with Dumpcap(penstock, "/tmp/outlived.pcapng") as dumpcap:
                    report = end(penstock)
                    dumpcap.expect_exit(0)
                    expect("Primary process is no longer active" in dumpcap.stderr, dumpcap.stderr)
                if isinstance(report, dict):
                    expect_balance(report)
                    expect_equal(penstock.stderr, "", "stderr")
            # The next start undoes what the killed one left.
            with Penstock(Vdev.af_xdp(a, b)) as penstock:
                expect_balance(penstock.finish())
            expect_nothing_left(a, b)
            expect_equal(list(pages.folder.iterdir()), [], "hugepage files")
            wait_until(pages.enough, "the kernel to free the hugepages")


def not_offered(tap, a, b):
    with tap.case("without hugepages dpdk-dumpcap finds no memory to share, and nothing is disturbed"):
        with Penstock(["--no-huge", *Vdev.af_xdp(a, b)]) as penstock:
            with Process(["dpdk-dumpcap", f"--file-prefix=penstock-{penstock.pid}", "-i", "0",
                          "-w", "/tmp/none.pcapng"]) as dumpcap:
                dumpcap.expect_exit(1)
                expect("Cannot get hugepage information" in dumpcap.stderr, dumpcap.stderr)
            sent = frames()
            with Wire(a.peer) as source, Wire(b.peer) as sink:
                expect_frames(exchange(source, sink, sent), sent, "forwarded")
            expect_balance(penstock.finish())
        expect_nothing_left(a, b)


def tests(tap):
    with tap.group("capture"), Hugepages(400) as pages, Veth("port-a") as a, Veth("port-b") as b:
        expect(pages.enough(), "this machine gives no hugepages")
        with Penstock(Vdev.af_xdp(a, b), "--forward-mode=io") as penstock, \
                Wire(a.peer) as source, Wire(b.peer) as sink:
            by_dumpcap(tap, penstock, source, sink)
            by_pdump(tap, penstock, source, sink)
            killed(tap, penstock, source, sink)
            with tap.case("after all of that: every frame accounted for, every mbuf back"):
                expect_balance(penstock.finish())
                expect_nothing_left(a, b)
        under_load(tap, a, b)
        outlived(tap, pages, a, b)
        not_offered(tap, a, b)


if __name__ == "__main__":
    main(tests)
