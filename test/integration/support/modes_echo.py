# SPDX-License-Identifier: BSD-3-Clause
"""What icmpecho is asked, as rows, and what scapy would answer."""

import dataclasses

from scapy.all import ARP, Dot1AD, Dot1Q, Ether, ICMP, IP, IPOption_NOP, IPOption_RR, IPv6
from scapy.layers.inet6 import (ICMPv6EchoReply, ICMPv6EchoRequest, ICMPv6MLReport2, ICMPv6ND_NA,
                                ICMPv6ND_NS, ICMPv6ND_RS, ICMPv6NDOptDstLLAddr, ICMPv6NDOptSrcLLAddr,
                                IPv6ExtHdrFragment, IPv6ExtHdrHopByHop)

from .modes_corpus import (A4, A6, B4, B6, BAD, DESTINATION, icmp, icmp6, ip4, ip6, pattern,
                           set_checksums, source_of, tcp, udp)

BROADCAST = "ff:ff:ff:ff:ff:ff"


@dataclasses.dataclass
class Question:
    name: str
    frame: bytes
    answer: bytes = None       # None: there is none.
    drop: str = "no_request"   # As what it is then dropped.
    beyond: bool = False       # testpmd would look beyond its end.

    def fits_wire(self, mtu):
        return len(self.frame) <= 14 + mtu


class Questions:
    def __init__(self, port_mac):
        self.rows = []
        self.port_mac = port_mac

    @property
    def mac(self):
        return source_of(len(self.rows))

    def ether(self, dst=None, **fields):
        return Ether(dst=dst or self.port_mac, src=self.mac, **fields)

    def ask(self, name, question, answer=None, wrong=None, trailer=b"", **more):
        """Packets with their Ethernet headers. A trailer comes back as it went in."""
        frame = set_checksums(question, wrong or {}) + trailer
        reply = None if answer is None else bytes(answer) + trailer
        self.rows.append(Question(name, frame, reply, **more))

    def no(self, name, packet, drop="no_request", wrong=None, dst=None):
        self.ask(name, self.ether(dst=dst) / packet, wrong=wrong, drop=drop)

    def echo(self, name, ip, length=56, tags=(), back=None, dst=None, **more):
        """An echo request of scapy's, and its reply: addresses exchanged, the rest as it came."""
        back = (back or ip).copy()
        back.src, back.dst = ip.dst, ip.src
        there, home = self.ether(dst), Ether(dst=self.mac, src=self.port_mac)
        for tag in tags:
            there, home = there / tag.copy(), home / tag.copy()
        data = dict(id=len(self.rows), seq=513)
        if IP in ip:
            request, reply = (ICMP(type=kind, **data) / pattern(length) for kind in (8, 0))
        else:
            data["data"] = bytes(pattern(length))
            request, reply = ICMPv6EchoRequest(**data), ICMPv6EchoReply(**data)
        self.ask(name, there / ip / request, home / back / reply, **more)


FOUR = ip4(ttl=33, tos=4, id=99)
SIX = ip6(tc=4, fl=77, hlim=33)


def echo(q):
    for length in (0, 1, 2, 55, 56, 1472, 3400, 8972):
        q.echo(f"ping of {length} bytes", FOUR, length)
    for length in (0, 1, 56, 1452, 3380, 8952):
        q.echo(f"ping -6 of {length} bytes", SIX, length)
    for name, tags in (("VLAN", (Dot1Q(vlan=5, prio=3),)), ("QinQ", (Dot1AD(vlan=9), Dot1Q(vlan=5)))):
        q.echo(f"{name}, ping", FOUR, tags=tags)
        q.echo(f"{name}, ping -6", SIX, tags=tags)
    q.echo("ping with padding that is not zero", FOUR, 1, trailer=b"\xa5" * 17)
    q.echo("ping -6, 100 bytes behind its end", SIX, 7, trailer=b"\xa5" * 100)
    q.echo("ping in a frame to another", FOUR, dst=DESTINATION)
    q.echo("ping, options of no operation", ip4(options=[IPOption_NOP()] * 4))
    # RFC 1122, 3.2.2.6: who answers puts itself on the record.
    empty = ["0.0.0.0"] * 2
    q.echo("ping, record route", ip4(options=[IPOption_RR(length=15, routers=[A4] + empty, pointer=8)]),
           back=ip4(options=[IPOption_RR(length=15, routers=[A4, B4] + empty[1:], pointer=12)]))
    # Extension headers are of the request.
    q.echo("ping -6, hop-by-hop options", SIX / IPv6ExtHdrHopByHop(), back=SIX)
    wrong = {4: ICMP, 6: ICMPv6EchoRequest}
    for version, ip, request in ((4, FOUR, icmp()), (6, SIX, icmp6())):
        q.no(f"ping -{version}, checksum wrong", ip / request, "bad_icmp_checksum",
             wrong={wrong[version]: BAD})
    q.no("ping, IP checksum wrong", FOUR / icmp(), "bad_ip_checksum", wrong={IP: BAD})
    # RFC 1122, 3.2.2.6: to groups it may be left unanswered, and nobody here is in one.
    for group, mac in (("224.0.0.1", "01:00:5e:00:00:01"), ("255.255.255.255", BROADCAST)):
        q.no(f"ping {group}", ip4(dst=group) / icmp(), "bad_destination", dst=mac)
    q.no("ping -6 ff02::1", ip6(dst="ff02::1") / icmp6(), "bad_destination", dst="33:33:00:00:00:01")
    q.no("ping from a group", ip4(src="224.0.0.1") / icmp(), "bad_source")
    q.no("ping -6 from a group", ip6(src="ff02::1") / icmp6(), "bad_source")


def arp(q):
    for name, destination in (("broadcast", BROADCAST), ("to one", q.port_mac)):
        who = dict(hwsrc=q.mac, psrc=A4, pdst=B4)
        q.ask(f"ARP request, {name}", Ether(bytes(q.ether(dst=destination) / ARP(op=1, **who))),
              Ether(dst=q.mac, src=q.port_mac) /
              ARP(op=2, hwsrc=q.port_mac, psrc=B4, hwdst=q.mac, pdst=A4), trailer=bytes(18))
    q.ask("VLAN, ARP request", q.ether(dst=BROADCAST) / Dot1Q(vlan=5) /
          ARP(op=1, hwsrc=q.mac, psrc=A4, pdst=B4),
          Ether(dst=q.mac, src=q.port_mac) / Dot1Q(vlan=5) /
          ARP(op=2, hwsrc=q.port_mac, psrc=B4, hwdst=q.mac, pdst=A4), trailer=bytes(14))
    # RFC 5227: answered, it would take the address from who asks for it.
    for name, address in (("probe", "0.0.0.0"), ("announcement", B4)):
        q.no(f"ARP {name}", ARP(op=1, hwsrc=q.mac, psrc=address, pdst=B4), "address_probe",
             dst=BROADCAST)
    q.no("ARP reply", ARP(op=2, hwsrc=q.mac, psrc=A4, pdst=B4))
    q.no("RARP operation", ARP(op=3, hwsrc=q.mac, psrc=A4, pdst=B4))
    q.no("ARP of another hardware", ARP(op=1, hwtype=6, hwsrc=q.mac, psrc=A4, pdst=B4))
    q.no("ARP for another protocol", ARP(op=1, ptype=0x86dd, hwsrc=q.mac, psrc=A4, pdst=B4))
    whole = bytes(q.ether() / ARP(op=1, hwsrc=q.mac, psrc=A4, pdst=B4))
    q.rows.append(Question("ARP request cut short", whole[:41], drop="truncated", beyond=True))


def neighbours(q):
    multicast = "33:33:ff:00:00:02"
    solicited = "ff02::1:ff00:2"
    for name, mac, dst in (("multicast", multicast, solicited), ("to one", q.port_mac, B6)):
        for how, option in (("with", ICMPv6NDOptSrcLLAddr(lladdr=q.mac)), ("without", None)):
            ask = q.ether(dst=mac) / IPv6(src=A6, dst=dst, hlim=255) / ICMPv6ND_NS(tgt=B6)
            if option:
                option.lladdr = q.mac
                ask = ask / option
            q.ask(f"neighbour solicitation {name}, {how} link-layer address", ask,
                  Ether(dst=q.mac, src=q.port_mac) / IPv6(src=B6, dst=A6, hlim=255) /
                  ICMPv6ND_NA(tgt=B6, R=0, S=1, O=1) / ICMPv6NDOptDstLLAddr(lladdr=q.port_mac))
    # As with ARP.
    q.no("duplicate address detection", IPv6(src="::", dst=solicited, hlim=255) / ICMPv6ND_NS(tgt=B6),
         "address_probe", dst=multicast)
    ns = ICMPv6ND_NS(tgt=B6) / ICMPv6NDOptSrcLLAddr(lladdr=q.mac)
    # RFC 4861, 7.1.1: what came through a router is no solicitation, among others.
    for name, ip, message in (
            ("hop limit 254", IPv6(src=A6, dst=solicited, hlim=254), ns),
            ("of a multicast address", IPv6(src=A6, dst=solicited, hlim=255),
             ICMPv6ND_NS(tgt="ff02::1")),
            ("code 1", IPv6(src=A6, dst=solicited, hlim=255), ICMPv6ND_NS(tgt=B6, code=1)),
            ("from no address, with one", IPv6(src="::", dst=solicited, hlim=255), ns)):
        q.no(f"neighbour solicitation {name}", ip / message, "bad_solicitation", dst=multicast)
    q.no("neighbour solicitation, checksum wrong", IPv6(src=A6, dst=solicited, hlim=255) / ns,
         "bad_icmp_checksum", wrong={ICMPv6ND_NS: BAD}, dst=multicast)
    q.no("neighbour advertisement", IPv6(src=A6, dst=B6, hlim=255) / ICMPv6ND_NA(tgt=A6))
    q.no("router solicitation", IPv6(src=A6, dst="ff02::2", hlim=255) / ICMPv6ND_RS())
    q.no("multicast listener report", IPv6(src=A6, dst="ff02::16", hlim=1) / IPv6ExtHdrHopByHop() /
         ICMPv6MLReport2())


def not_echo(q):
    for kind in (0, 3, 5, 11, 13, 17):
        q.no(f"ICMP type {kind}", ip4() / ICMP(type=kind) / pattern(20))
    for kind in (1, 129, 130, 200):
        q.no(f"ICMPv6 type {kind}", ip6() / ICMPv6EchoRequest(type=kind, data=b"12345678"))
    q.no("ICMP echo request, code 1", ip4() / ICMP(type=8, code=1) / pattern(20))
    q.no("UDP", ip4() / udp())
    q.no("TCP over IPv6", ip6() / tcp())
    q.ask("ethertype 88cc", q.ether(type=0x88cc) / pattern(60))
    for name, flags, offset in (("first", "MF", 0), ("last", 0, 8)):
        q.no(f"ping, {name} fragment", ip4(flags=flags, frag=offset) / icmp(), "fragment")
    q.no("ping -6, first fragment", ip6() / IPv6ExtHdrFragment(m=1, id=3) / icmp6(), "fragment")


def questions(port_mac):
    q = Questions(port_mac)
    for part in (echo, arp, neighbours, not_echo):
        part(q)
    # Whoever has this answer has seen all others, and all drops are counted.
    q.echo("ping at the end", FOUR)
    return q.rows
