# SPDX-License-Identifier: BSD-3-Clause
"""Frames for the forwarding modes, as rows: what goes in, and what each mode makes of it.

A packet is written once, as scapy writes it, with every checksum right. `wrong` says which checksums
the frame that goes in has otherwise; csum is to give them back, but for those in `keeps`. What a mode
exchanges or answers is made by scapy too. Nothing in here knows how penstock does it.
"""

import collections
import dataclasses

from scapy.all import (ARP, Dot1AD, Dot1Q, Ether, GRE, ICMP, IP, IPOption_NOP, IPOption_RR,
                       IPOption_Timestamp, IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment,
                       IPv6ExtHdrHopByHop, IPv6ExtHdrRouting, LLC, Padding, PadN, Raw, SCTP,
                       SCTPChunkData, TCP, UDP)
from scapy.layers.inet6 import ICMPv6EchoReply, ICMPv6EchoRequest, ICMPv6Unknown

DESTINATION = "02:0a:0b:0c:0d:0e"
A4, B4 = "192.0.2.1", "198.51.100.2"
A6, B6 = "2001:db8::1", "2001:db8:ffff::2"
BAD = 0x0bad


@dataclasses.dataclass
class Row:
    name: str
    frame: bytes
    filled: bytes              # What csum makes of it, its MAC addresses apart.
    turned: bytes              # What 5tswap makes of it.
    drops: dict = dataclasses.field(default_factory=dict)  # mode: reason, where it is dropped
    counts: dict = dataclasses.field(default_factory=collections.Counter)  # What csum counts.
    fault: str = None          # What csum and 5tswap count as wrong with it.
    why: str = ""
    beyond: bool = False       # testpmd would look, or write, beyond its end.
    unanswered: str = None     # Why icmpecho drops it; without it, what the rest of the row says.

    def __post_init__(self):
        if self.unanswered is None:
            asks = self.fault is not None and not asks_nothing(self.frame)
            self.unanswered = self.drops.get("macswap") or (self.fault if asks else "no_request")

    def fits_wire(self, mtu):
        """Can packet sockets send and receive it on an interface?"""
        cut_tag = self.frame[12:14] in (b"\x81\x00", b"\x88\xa8") and len(self.frame) < 20
        return 14 < len(self.frame) <= 14 + mtu and not cut_tag  # The kernel takes off whole tags.


def asks_nothing(frame):
    """Is no ICMP or ICMPv6 in it by the first 20 bytes of its IP header? Then a fault is no matter."""
    if len(frame) < 34:
        return False
    if frame[12:14] == b"\x08\x00":
        return frame[23] != 1
    return frame[12:14] == b"\x86\xdd" and frame[20] in (6, 17)


def pattern(length):
    return Raw(bytes((7 * i + length) & 0xff for i in range(length)))


def source_of(number):
    """Each row has its own, so that a frame can be told by it whatever became of the rest."""
    return f"02:01:00:00:{number >> 8:02x}:{number & 0xff:02x}"


def set_checksums(packet, values):
    packet = packet.copy()
    for layer, value in values.items():
        target = packet.getlayer(layer)
        target.setfieldval("cksum" if hasattr(target, "cksum") else "chksum", value)
    return bytes(packet)


EXTENSIONS = (IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop, IPv6ExtHdrRouting)


def turned(frame):
    """Addresses of Ethernet, IP and TCP or UDP exchanged. Checksums stay as they are."""
    packet = Ether(frame)
    packet.src, packet.dst = packet.dst, packet.src
    layer = packet.payload
    while isinstance(layer, (Dot1Q, Dot1AD)):
        layer = layer.payload
    if isinstance(layer, (IP, IPv6)):
        layer.src, layer.dst = layer.dst, layer.src
        layer = layer.payload
        while isinstance(layer, EXTENSIONS):
            layer = layer.payload
        if isinstance(layer, (TCP, UDP)):
            layer.sport, layer.dport = layer.dport, layer.sport
    return bytes(packet)


def mac_swapped(frame):
    return frame[6:12] + frame[:6] + frame[12:]


class Corpus:
    def __init__(self):
        self.rows = []

    def ether(self, **fields):
        return Ether(dst=DESTINATION, src=source_of(len(self.rows)), **fields)

    def add(self, name, packet, wrong=None, keeps=(), trailer=b"", **more):
        """`packet` without its Ethernet header, or with one whose source is then replaced."""
        if not isinstance(packet, Ether):
            packet = self.ether() / packet
        packet.src = source_of(len(self.rows))
        wrong = wrong or {}
        frame = set_checksums(packet, wrong) + trailer
        filled = set_checksums(packet, {k: v for k, v in wrong.items() if k in keeps}) + trailer
        more.setdefault("turned", turned(frame))
        if {ICMP, ICMPv6EchoRequest} & set(wrong):
            more.setdefault("unanswered", "bad_icmp_checksum")
        row = Row(name, frame, filled=filled, **more)
        for layer in set(wrong) - set(keeps):
            row.counts["bad_ip_checksum" if layer is IP else "bad_l4_checksum"] += 1
        self.rows.append(row)

    def add_raw(self, name, ethertype_and_rest, filled=None, turned_to=None, **more):
        """A frame that scapy would not make: everything from the ethertype on as bytes."""
        head = bytes(self.ether(type=0))[:12]
        frame = head + ethertype_and_rest
        self.rows.append(Row(name, frame, filled=frame if filled is None else head + filled,
                             turned=mac_swapped(frame) if turned_to is None
                             else mac_swapped(head) + turned_to, **more))


V4 = {"src": A4, "dst": B4}
V6 = {"src": A6, "dst": B6}


def ip4(**fields):
    return IP(**{**V4, **fields})


def ip6(**fields):
    return IPv6(**{**V6, **fields})


def udp(length=100, **fields):
    return UDP(**{"sport": 1024, "dport": 40000, **fields}) / pattern(length)


def tcp(length=100, **fields):
    return TCP(**{"sport": 1025, "dport": 40001, "seq": 7, **fields}) / pattern(length)


def icmp(length=56, **fields):
    return ICMP(**{"id": 77, "seq": 3, **fields}) / pattern(length)


def icmp6(length=56, **fields):
    return ICMPv6EchoRequest(**{"id": 77, "seq": 3, "data": bytes(pattern(length)), **fields})


TRANSPORTS = [("UDP", udp, UDP), ("TCP", tcp, TCP)]


def plain(c):
    tags = [("", ()), ("VLAN ", (Dot1Q(vlan=5),)), ("priority tag ", (Dot1Q(vlan=0, prio=7),)),
            ("two 802.1Q ", (Dot1Q(vlan=5), Dot1Q(vlan=4094))),
            ("QinQ ", (Dot1AD(vlan=9), Dot1Q(vlan=5))),
            ("QinQ twice ", (Dot1AD(vlan=9), Dot1AD(vlan=10)))]
    for words, layers in tags:
        head = c.ether()
        for layer in layers:
            head = head / layer
        for version, ip in (("IPv4", ip4), ("IPv6", ip6)):
            for name, transport, layer in TRANSPORTS:
                for length in (0, 1, 2, 99):
                    packet = head / ip() / transport(length)
                    c.add(f"{words}{version} {name} {length} bytes", packet)
                    c.add(f"{words}{version} {name} {length} bytes, checksum wrong", packet,
                          wrong={layer: BAD})
        c.add(f"{words}IPv4 header checksum wrong", head / ip4() / udp(), wrong={IP: BAD})
        c.add(f"{words}IPv4 both checksums wrong", head / ip4() / tcp(), wrong={IP: 0, TCP: 0})
        c.add(f"{words}ICMP checksum wrong", head / ip4() / icmp(), wrong={ICMP: BAD})
        c.add(f"{words}ICMPv6 checksum wrong", head / ip6() / icmp6(),
              wrong={ICMPv6EchoRequest: BAD})


def checksum_values(c):
    """Values at which implementations go wrong."""
    for version, ip in (("IPv4", ip4), ("IPv6", ip6)):
        # RFC 768, and RFC 6935 for tunnels over IPv6.
        c.add(f"UDP checksum 0 over {version}: none was computed, none is", ip() / udp(),
              wrong={UDP: 0}, keeps={UDP})
        c.rows[-1].counts["udp_no_checksum"] += 1
    for version, ip in (("IPv4", ip4), ("IPv6", ip6)):
        for name, transport, layer in TRANSPORTS:
            packet = summing_to_zero(ip, transport, layer)
            c.add(f"{name} over {version} whose sum is zero", packet, wrong={layer: BAD},
                  why="UDP sends ffff for it, TCP 0000")
        c.add(f"{version} UDP checksum ffff instead of what it is", ip() / udp(),
              wrong={UDP: 0xffff})
        # To a receiver it is right, as 0000 would be.
        c.add(f"TCP over {version}, checksum ffff for 0000", summing_to_zero(ip, tcp, TCP),
              wrong={TCP: 0xffff}, keeps={TCP})
    header = ip4(id=0, chksum=0) / udp()
    header.id = IP(bytes(ip4(id=0) / udp())).chksum
    c.add("IPv4 header whose sum is zero", header, wrong={IP: BAD})
    c.add("IPv4 header, checksum ffff for 0000", header, wrong={IP: 0xffff}, keeps={IP})
    c.add("IPv4 header checksum ffff", ip4() / tcp(), wrong={IP: 0xffff})
    c.add("TCP checksum 0 is no checksum left out", ip4() / tcp(), wrong={TCP: 0})
    c.add("TTL and TOS at their ends", ip4(ttl=0, tos=255) / udp(), wrong={IP: BAD, UDP: BAD})
    c.add("payload of ff", ip4() / UDP(sport=65535, dport=65535) / Raw(b"\xff" * 333),
          wrong={UDP: BAD})
    c.add("TCP with options", ip4() / TCP(options=[("MSS", 1460), ("NOP", None)]) / pattern(7),
          wrong={TCP: BAD})
    c.add("TCP with urgent data, all flags", ip6() / TCP(flags=0x1ff, urgptr=9) / pattern(8),
          wrong={TCP: BAD})


def summing_to_zero(ip, transport, layer):
    """A packet whose ones' complement sum is ffff: its last word is what the sum lacked."""
    probe = ip() / transport(0) / Raw(bytes(2))
    missing = IP(bytes(probe))[layer].chksum if ip is ip4 else IPv6(bytes(probe))[layer].chksum
    return ip() / transport(0) / Raw(missing.to_bytes(2, "big"))


def options_and_headers(c):
    options = {"record route, IHL 15": [IPOption_RR(length=39, routers=["0.0.0.0"] * 9)],
               "timestamp": [IPOption_Timestamp()], "one word of NOP": [IPOption_NOP()] * 4}
    for name, option in options.items():
        packet = ip4(options=option)
        c.add(f"IPv4 options, {name}", packet / udp(31), wrong={IP: BAD, UDP: BAD})
        c.add(f"IPv4 options, {name}, TCP", packet / tcp(), wrong={TCP: BAD})
        c.add(f"IPv4 options, {name}, ICMP", packet / icmp(), wrong={ICMP: BAD})
    hop, dest = IPv6ExtHdrHopByHop(), IPv6ExtHdrDestOpt(options=[PadN(optdata=bytes(12))])
    routing = IPv6ExtHdrRouting(addresses=[A6], segleft=0)
    chains = {"hop-by-hop": [hop], "destination options": [dest], "routing, arrived": [routing],
              "hop-by-hop, destination, routing, destination": [hop, dest, routing, dest],
              "routing, one to go": [IPv6ExtHdrRouting(addresses=["2001:db8::77"], segleft=1)],
              "atomic fragment": [IPv6ExtHdrFragment(id=9)]}
    for name, headers in chains.items():
        packet = ip6()
        for header in headers:
            packet = packet / header.copy()
        for transport, make, layer in TRANSPORTS + [("ICMPv6", icmp6, ICMPv6EchoRequest)]:
            c.add(f"IPv6 {name}, {transport}", packet / make(45), wrong={layer: BAD})
            if (name, transport) == ("routing, one to go", "ICMPv6"):
                c.rows[-1].unanswered = "routed"


def far_headers(c):
    """Extension headers that push TCP and UDP to where, and over where, a mbuf of 128 bytes ends."""
    for tags in ((), (Dot1Q(vlan=5),)):
        for more in (48, 56, 64, 72, 80, 200, 248):
            packet = c.ether()
            for tag in tags:
                packet = packet / tag
            packet = packet / ip6() / IPv6ExtHdrDestOpt(options=[PadN(optdata=bytes(more - 4))])
            for transport, make, layer in TRANSPORTS:
                c.add(f"{'VLAN ' if tags else ''}IPv6 destination options of {more} bytes, {transport}",
                      packet / make(301), wrong={layer: BAD})


def fragments(c):
    """A transport checksum is of all fragments of a packet: no mode can tell it, none touches it."""
    for name, flags, offset in (("first", "MF", 0), ("middle", "MF", 8), ("last", 0, 16)):
        for transport, make, layer in TRANSPORTS + [("ICMP", icmp, ICMP)]:
            c.add(f"IPv4 {name} fragment, {transport}",
                  ip4(id=5, flags=flags, frag=offset) / make(56),
                  wrong={IP: BAD, layer: BAD}, keeps={layer})
            c.rows[-1].counts["fragments"] += 1
            c.rows[-1].unanswered = "fragment" if transport == "ICMP" else "no_request"
        c.add(f"IPv6 {name} fragment, UDP", ip6() /
              IPv6ExtHdrFragment(id=5, m=int(flags == "MF"), offset=offset) / udp(56),
              wrong={UDP: BAD}, keeps={UDP})
        c.rows[-1].counts["fragments"] += 1


def other_protocols(c):
    sctp = SCTP(sport=5000, dport=5001) / SCTPChunkData(data=b"12345678")
    c.add("SCTP over IPv4", ip4() / sctp, wrong={IP: BAD})
    c.add("SCTP over IPv6", ip6() / sctp)
    c.add("SCTP, CRC wrong", ip4() / sctp, wrong={SCTP: BAD}, keeps={SCTP},
          why="csum fills no CRC32c")
    for proto in (2, 50, 89, 136, 255):
        c.add(f"IPv4 protocol {proto}", ip4(proto=proto) / pattern(64), wrong={IP: BAD})
        c.add(f"IPv6 next header {proto}", ip6(nh=proto) / pattern(64))
    c.add("IPv6 no next header", ip6(nh=59) / pattern(16))
    inner = IP(src="10.0.0.1", dst="10.0.0.2", chksum=BAD) / UDP(chksum=BAD) / pattern(20)
    c.add("GRE, inner checksums wrong", ip4() / GRE() / inner, wrong={IP: BAD})
    c.add("IP in IP, inner checksums wrong", ip4(proto=4) / inner, wrong={IP: BAD})
    c.add("ICMP destination unreachable, quoting", ip4() / ICMP(type=3, code=1) / Raw(bytes(inner)),
          wrong={ICMP: BAD}, unanswered="no_request")
    c.add("ICMPv6 of an unknown type", ip6() / ICMPv6Unknown(type=200, msgbody=b"seven77"),
          wrong={ICMPv6Unknown: BAD})
    c.add("ICMPv6 echo reply", ip6() / ICMPv6EchoReply(data=b"x"), wrong={ICMPv6EchoReply: BAD})


def not_ip(c):
    c.add("ARP reply", c.ether() / ARP(op=2, psrc=A4, pdst=B4, hwsrc=DESTINATION))
    for kind in (0x88cc, 0x8847, 0x88b5, 0x0600, 0xffff):
        c.add(f"ethertype {kind:04x}", c.ether(type=kind) / pattern(80))
    c.add("VLAN, LLDP inside", c.ether() / Dot1Q(vlan=3, type=0x88cc) / pattern(60))
    c.add_raw("802.3 length field", b"\x00\x26" + bytes(LLC(dsap=0x42, ssap=0x42, ctrl=3)) + bytes(43))
    c.add_raw("length field 0800 backwards", b"\x00\x08" + bytes(50))
    c.add_raw("ethertype of IPv4 behind a length", b"\x05\xdc" + b"\x08\x00" + bytes(50))


def padding(c):
    for length in (0, 1, 5):
        trailer = b"\xa5" * (18 - length)
        c.add(f"IPv4 UDP {length} bytes, padding that is not zero", ip4() / udp(length),
              wrong={UDP: BAD}, trailer=trailer)
        c.add(f"IPv4 ICMP {length} bytes, padding that is not zero", ip4() / icmp(length),
              wrong={ICMP: BAD}, trailer=trailer)
    c.add("IPv4 TCP, 200 bytes behind its end", ip4() / tcp(3), wrong={TCP: BAD},
          trailer=b"\x5a" * 200)
    c.add("IPv6 TCP, 201 bytes behind its end", ip6() / tcp(3), wrong={TCP: BAD},
          trailer=b"\x5a" * 201)
    c.add("VLAN IPv4 UDP, one byte behind its end", c.ether() / Dot1Q(vlan=5) / ip4() / udp(),
          wrong={IP: BAD, UDP: BAD}, trailer=b"\xff")


def lengths(c):
    for length in (60, 61, 127, 128, 129, 255, 256, 1513, 1514):
        c.add(f"frame of {length} bytes", ip4() / udp(length - 42), wrong={IP: BAD, UDP: BAD})
    for length in (1515, 2048, 2049, 3455, 3456, 4096, 9000, 9018, 16000):
        c.add(f"jumbo frame of {length} bytes, UDP", ip4() / udp(length - 42),
              wrong={IP: BAD, UDP: BAD})
        c.add(f"jumbo frame of {length} bytes, TCP over IPv6", ip6() / tcp(length - 74),
              wrong={TCP: BAD})


def well_formed():
    c = Corpus()
    for part in (plain, checksum_values, options_and_headers, far_headers, fragments,
                 other_protocols, not_ip, padding, lengths):
        part(c)
    return c.rows
