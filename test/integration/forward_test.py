#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""io and macswap move real frames unchanged, or with their addresses exchanged, and nothing else.

Frames made by scapy go into one end of a wire, what comes out of another is compared with scapy's own
idea of it, byte for byte and in order; the report is compared with the kernel's counters. Over
AF_XDP, over packet sockets and over tap devices.
"""

import contextlib
import functools
import pathlib

from support import (Penstock, Vdev, Veth, Wire, counters, exchange, expect, expect_balance,
                     expect_equal, expect_frames, expect_nothing_left, main)

from scapy.all import (ARP, Dot1AD, Dot1Q, Ether, ICMP, IP, IPOption_RR, IPOption_Timestamp, IPv6,
                       IPv6ExtHdrHopByHop, Raw, TCP, UDP)

MAC_A = "02:01:02:03:04:05"
MAC_B = "02:0a:0b:0c:0d:0e"
MIN_FRAME = 60    # Bytes, as everywhere here without FCS.
MAX_FRAME = 1514
QINQ = "QinQ, 802.1ad"
FRAGMENTS = "IPv4 fragments"

# What a driver makes of traffic before penstock sees it.
LOST = {
    # It asks the kernel to reassemble, and these never become whole.
    ("net_af_packet", FRAGMENTS),
    # The kernel takes the outer tag off, the driver puts it back as 802.1Q.
    ("net_af_packet", QINQ),
}


def ether(**fields):
    return Ether(dst=MAC_B, src=MAC_A, **fields)


def pattern(length):
    return bytes((7 * i + length) & 0xff for i in range(length))


def of_length(length):
    frame = bytes(ether() / IP(src="192.0.2.1", dst="198.51.100.2") / UDP(sport=1024, dport=4789) /
                  Raw(pattern(length - 42)))
    expect_equal(len(frame), length, "length of the frame that scapy made")
    return frame


def padded(packet):
    frame = bytes(packet)
    return frame + bytes(max(0, MIN_FRAME - len(frame)))


# What each kind of traffic is; every frame its own, so that an exchange of two would be seen.
@functools.cache
def traffic():
    payload = Raw(pattern(100))
    return {
        f"every length from {MIN_FRAME} to {MAX_FRAME}":
            [of_length(length) for length in range(MIN_FRAME, MAX_FRAME + 1)],
        "VLAN, every priority, ids at both ends":
            [padded(ether() / Dot1Q(vlan=vlan, prio=prio, id=prio & 1) / IP(dst="192.0.2.9") /
                    UDP() / payload) for vlan in (0, 1, 2, 1000, 4094, 4095) for prio in range(8)],
        "VLAN frames of 64 and 1518 bytes":
            [padded(ether() / Dot1Q(vlan=5) / IP() / UDP() / Raw(pattern(n))) for n in (18, 1472)],
        "two 802.1Q tags":
            [padded(ether() / Dot1Q(vlan=100) / Dot1Q(vlan=vlan) / IP() / UDP() / payload)
             for vlan in (1, 77, 4094)],
        QINQ:
            [padded(ether() / Dot1AD(vlan=100) / Dot1Q(vlan=vlan) / IP() / UDP() / payload)
             for vlan in (1, 77, 4094)],
        "IPv6, with and without extension headers":
            [padded(ether() / IPv6(src="2001:db8::1", dst=f"2001:db8::{i:x}", fl=i) / header)
             for i in range(2, 34) for header in (UDP(dport=i) / payload,
                                                  IPv6ExtHdrHopByHop() / TCP(seq=i) / payload)],
        "IPv4 with options":
            [padded(ether() / IP(dst="192.0.2.3", id=i, options=option) / TCP(dport=i) / payload)
             for i in range(1, 17)
             for option in (IPOption_RR(length=39, routers=["0.0.0.0"] * 9), IPOption_Timestamp())],
        "IPv4 with wrong checksums and lengths, TTL 0":
            [padded(ether() / IP(dst="192.0.2.4", id=i, ttl=i & 1, chksum=0xbad, len=length) /
                    Raw(pattern(64))) for i, length in enumerate((0, 1, 19, 20, 84, 85, 65535))],
        FRAGMENTS:
            [padded(ether() / IP(dst="192.0.2.4", flags="MF", frag=8 * i) / Raw(pattern(64)))
             for i in range(16)],
        "unknown ethertypes":
            [padded(ether(type=kind) / Raw(pattern(80)))
             for kind in (0x0000, 0x0005, 0x05dc, 0x0600, 0x88b5, 0x88cc, 0x8847, 0xffff)],
        "ARP, broadcast and multicast":
            [padded(Ether(dst="ff:ff:ff:ff:ff:ff", src=MAC_A) / ARP(pdst="192.0.2.7")),
             padded(Ether(dst="01:00:5e:00:00:01", src=MAC_A) / IP(dst="224.0.0.1") / UDP()),
             padded(Ether(dst="33:33:00:00:00:01", src=MAC_A) / IPv6(dst="ff02::1") / UDP()),
             padded(Ether(dst="ff:ff:ff:ff:ff:ff", src=MAC_A) / IP(dst="255.255.255.255") / ICMP())],
        "the same address twice, zero addresses":
            [padded(Ether(dst=a, src=b) / IP() / UDP() / payload)
             for a, b in ((MAC_A, MAC_A), ("00:00:00:00:00:00", MAC_A),
                          (MAC_A, "00:00:00:00:00:00"), (MAC_A, "ff:ff:ff:ff:ff:ff"))],
    }


def unchanged(frame):
    return frame


@functools.cache
def exchanged(frame):
    header = Ether(frame[:14])
    return bytes(Ether(dst=header.src, src=header.dst, type=0))[:12] + frame[12:]


MODES = {"io": unchanged, "macswap": exchanged}


class Ports:
    """Two ports of penstock and the wires to them."""

    def __init__(self, driver):
        self.driver = driver
        self._stack = contextlib.ExitStack()
        self.wires = []
        self.peers = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._stack.close()

    def eal(self):
        if self.driver == "net_tap":
            return Vdev.tap("tap-a", "tap-b")
        veths = [self._stack.enter_context(Veth(name)) for name in ("port-a", "port-b")]
        self.peers = [veth.peer for veth in veths]
        self.names = [veth.name for veth in veths]
        return {"net_af_xdp": Vdev.af_xdp, "net_af_packet": Vdev.af_packet}[self.driver](*veths)

    def connect(self):
        """Once penstock is there: it is penstock that makes a tap device."""
        if self.driver == "net_tap":
            self.names = self.peers = ["tap-a", "tap-b"]
        self.wires = [self._stack.enter_context(Wire(peer)) for peer in self.peers]
        for wire in self.wires:
            wire.drain()


def check_counters(ports, report, before):
    """The report against what the kernel counted on the test's end of each wire."""
    for index, peer in enumerate(ports.peers):
        port = report["ports"][index]
        after = counters(peer)
        moved = {key: after[key] - before[index][key] for key in after}
        # A packet that the test sent is one that penstock received, and the other way round.
        expect_equal(port["rx_packets"], moved["tx_packets"], f"rx_packets of port {index}")
        expect_equal(port["tx_packets"], moved["rx_packets"], f"tx_packets of port {index}")
        expect_equal(port["rx_missed"], 0, f"rx_missed of port {index}")
        # Where an XDP program takes the frames, veth counts them without their Ethernet header.
        uncounted = 14 * moved["tx_packets"] if ports.driver == "net_af_xdp" else 0
        expect_equal(port["rx_bytes"], moved["tx_bytes"] + uncounted, f"rx_bytes of port {index}")
        expect_equal(port["tx_bytes"], moved["rx_bytes"], f"tx_bytes of port {index}")


def forward(tap, driver, mode):
    name = f"{mode} over {driver}"
    with tap.group(name), Ports(driver) as ports:
        with Penstock(ports.eal(), f"--forward-mode={mode}") as penstock:
            ports.connect()
            before = [counters(peer) for peer in ports.peers]
            a, b = ports.wires
            frames_in = 0
            for kind, frames in traffic().items():
                if (driver, kind) in LOST:
                    continue
                with tap.case(f"{name}: {kind}"):
                    wanted = [MODES[mode](frame) for frame in frames]
                    frames_in += len(frames)
                    expect_frames(exchange(a, b, frames), wanted, "first to second port")
                    back = frames[::7]
                    frames_in += len(back)
                    expect_frames(exchange(b, a, back), wanted[::7], "second to first port")
            with tap.case(f"{name}: nothing came back to where it was sent"):
                expect([wire.receive(0) for wire in ports.wires] == [None, None],
                       "a frame that nobody waited for")
            if ports.driver == "net_tap":
                # The interfaces go with penstock; what the kernel counted is to be read before.
                with tap.case(f"{name}: the kernel counted as many"):
                    sent = [counters(peer)["tx_packets"] for peer in ports.peers]
                    expect_equal(sum(sent) - sum(each["tx_packets"] for each in before), frames_in,
                                 "frames that the kernel passed to the tap devices")
            report = penstock.finish()
            with tap.case(f"{name}: report balances, {frames_in} frames"):
                expect_balance(report)
                expect_equal(report["mode"], mode, "mode")
                expect_equal(report["totals"]["rx_packets"], frames_in, "frames received")
                expect_equal(report["totals"]["tx_packets"], frames_in, "frames sent")
                expect_equal([port["driver"] for port in report["ports"]], [driver] * 2, "driver")
                if ports.driver != "net_tap":
                    check_counters(ports, report, before)
            with tap.case(f"{name}: nothing left"):
                expect_nothing_left(*([] if driver == "net_tap" else ports.names))


def tests(tap):
    for driver in ("net_af_xdp", "net_af_packet", "net_tap"):
        for mode in MODES:
            if driver == "net_tap" and not pathlib.Path("/dev/net/tun").exists():
                tap.skip(f"{mode} over {driver}", "this kernel has no tap devices")
                continue
            forward(tap, driver, mode)


if __name__ == "__main__":
    main(tests)
