# SPDX-License-Identifier: BSD-3-Clause
"""Frames that end too soon or contradict themselves, as rows for the forwarding modes.

Of each of them every mode is to make something without reading or writing beyond its end. Where that
is to forward it, csum and 5tswap leave alone what they cannot trust.
"""

from scapy.all import IP, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop, TCP, UDP

from .modes_corpus import (BAD, Corpus, Row, icmp, icmp6, ip4, ip6, mac_swapped, pattern,
                           tcp, udp)

IPV4, IPV6 = b"\x08\x00", b"\x86\xdd"
MAC_MODES = ("mac", "macswap", "5tswap", "csum")


def bad_udp(**fields):
    return UDP(sport=1024, dport=40000, chksum=BAD, **fields)


def runts(c):
    for length in range(1, 14):
        frame = (bytes(c.ether(type=0x0800)))[:length]
        # Nothing in it tells the row; the length does.
        c.rows.append(Row(f"runt of {length} bytes", frame, frame, frame,
                          drops={mode: "runt" for mode in MAC_MODES}, beyond=True))
    c.add_raw("Ethernet header alone, unknown ethertype", b"\x12\x34")
    for name, rest in (("Ethernet header alone, IPv4", b"\x08\x00"),
                       ("Ethernet header alone, ARP", b"\x08\x06"),
                       ("VLAN without a tag", b"\x81\x00"),
                       ("VLAN, tag cut short", b"\x81\x00\x00\x05\x08"),
                       ("VLAN, nothing behind the tag", b"\x81\x00\x00\x05\x08\x00"),
                       ("QinQ, inner tag cut short", b"\x88\xa8\x00\x05\x81\x00\x00")):
        c.add_raw(name, rest, fault="truncated", beyond=True)


def truncated(c):
    """The frame ends within its IP header."""
    for name, ethertype, packet, lengths in (
            ("IPv4", IPV4, ip4() / udp(), (1, 8, 9, 10, 12, 16, 19)),
            ("IPv6", IPV6, ip6() / udp(), (1, 7, 24, 39))):
        for length in lengths:
            c.add_raw(f"{name} header, {length} bytes of it", ethertype + bytes(packet)[:length],
                      fault="truncated", beyond=True)
    c.add_raw("IPv4, 24 bytes of a header of 60", IPV4 + b"\x4f" + bytes(ip4() / udp())[1:24],
              fault="truncated", beyond=True)


def exchanged(frame, ports):
    """What scapy's dissection of a cut packet would not give back: by place, no tags, no options."""
    ip = frame[14:]
    at, half = (12, 4) if frame[12:14] == IPV4 else (8, 16)
    end = at + 2 * half
    ip = ip[:at] + ip[at + half:end] + ip[at:at + half] + ip[end:]
    if ports:
        ip = ip[:end] + ip[end + 2:end + 4] + ip[end:end + 2] + ip[end + 4:]
    return mac_swapped(frame[:14]) + ip


def header_only(c):
    """The IP header is whole and right, and what it announces is not all there."""
    for name, packet, lengths in (
            ("UDP over IPv4", ip4() / udp(), (20, 21, 23, 24, 27, 28, 127)),
            ("TCP over IPv4", ip4() / tcp(), (20, 24, 39, 40, 139)),
            ("ICMP", ip4() / icmp(), (20, 22, 23, 27, 83)),
            ("UDP over IPv6", ip6() / udp(), (40, 43, 44, 47, 48, 147)),
            ("TCP over IPv6", ip6() / tcp(), (40, 44, 59, 60, 159)),
            ("ICMPv6", ip6() / icmp6(), (40, 43, 103))):
        whole = bytes(packet)
        ethertype, ip_bytes = (IPV4, 20) if IP in packet else (IPV6, 40)
        for length in lengths:
            c.add_raw(f"{name}, {length} bytes of {len(whole)}", ethertype + whole[:length],
                      fault="bad_length", beyond=True)
            ports = "ICMP" not in name and length >= ip_bytes + 4
            c.rows[-1].turned = exchanged(c.rows[-1].frame, ports)


def contradictions(c):
    """Length fields and versions that cannot be."""
    whole, six = bytes(ip4() / udp()), bytes(ip6() / udp())
    for ihl in range(5):
        c.add_raw(f"IPv4, IHL {ihl}", IPV4 + bytes([0x40 | ihl]) + whole[1:],
                  fault="bad_header_length", beyond=ihl == 0)
    for name, rest in (("IPv4 by its ethertype, version 6", IPV4 + b"\x65" + whole[1:]),
                       ("IPv4 by its ethertype, version 0", IPV4 + b"\x05" + whole[1:]),
                       ("IPv6 by its ethertype, version 4", IPV6 + b"\x45" + six[1:])):
        c.add_raw(name, rest, fault="bad_version")
    for length in (0, 10, 19, 121, 1000, 65535):
        # What cannot be right is the length; the header that says so is whole.
        c.add(f"IPv4, total length {length} of 120", ip4(len=length) / bad_udp() / pattern(92),
              wrong={IP: BAD}, fault="bad_length")
    for length in (20, 27):
        c.add(f"IPv4, total length {length} has no room for UDP",
              ip4(len=length) / bad_udp(len=68) / pattern(60), wrong={IP: BAD}, fault="truncated")
        c.rows[-1].turned = exchanged(c.rows[-1].frame, ports=length == 27)
    for length in (0, 7):
        c.add(f"UDP length {length}", ip4() / bad_udp(len=length) / pattern(92), wrong={IP: BAD},
              fault="bad_transport_length")
    c.add("UDP length beyond its IP packet", ip4() / bad_udp(len=101) / pattern(92), wrong={IP: BAD},
          fault="bad_transport_length")
    right = IP(bytes(ip4() / udp(42)))[UDP].chksum
    c.add("UDP shorter than its IP packet",
          ip4(len=120) / UDP(sport=1024, dport=40000, len=50, chksum=right) / pattern(42) /
          pattern(50), wrong={UDP: BAD},
          why="RFC 768: the checksum is of as many bytes as UDP says")
    for offset in (0, 4):
        c.add(f"TCP, data offset {offset}", ip4() / tcp(dataofs=offset), wrong={TCP: BAD},
              keeps={TCP}, fault="bad_transport_length")
    c.add("TCP, data offset beyond its end", ip6() / tcp(3, dataofs=15), wrong={TCP: BAD},
          keeps={TCP}, fault="bad_transport_length")
    c.rows[-1].turned = exchanged(c.rows[-1].frame, ports=True)
    c.add("IPv6, payload length 0", ip6(plen=0) / bad_udp() / pattern(60), fault="truncated")
    c.rows[-1].turned = exchanged(c.rows[-1].frame, ports=False)
    c.add("IPv6, payload length 7", ip6(plen=7) / bad_udp() / pattern(60), fault="truncated")
    c.rows[-1].turned = exchanged(c.rows[-1].frame, ports=True)
    c.add("IPv6, payload length beyond its end", ip6(plen=69) / bad_udp() / pattern(60),
          fault="bad_length")


def broken_chains(c):
    chain = bytes(ip6(nh=0, plen=1) / IPv6ExtHdrHopByHop() / udp(20))
    c.add_raw("IPv6 extension header cut short", IPV6 + chain[:41], fault="truncated", beyond=True)
    c.rows[-1].turned = exchanged(c.rows[-1].frame, ports=False)
    beyond = bytearray(bytes(ip6() / IPv6ExtHdrHopByHop() / udp(20)))
    beyond[41] = 200  # Its length in units of eight bytes.
    c.add_raw("IPv6 extension header that ends beyond the packet", IPV6 + bytes(beyond),
              fault="truncated")
    c.rows[-1].turned = exchanged(c.rows[-1].frame, ports=False)
    many = ip6()
    for _ in range(40):
        many = many / IPv6ExtHdrHopByHop()
    c.add("IPv6, 40 extension headers", many / udp(20), wrong={UDP: BAD}, keeps={UDP},
          fault="too_many_extensions", why="nobody goes on and on for one packet")
    c.rows[-1].turned = exchanged(c.rows[-1].frame, ports=False)
    short = bytes(ip6() / IPv6ExtHdrFragment() / udp())[:44]
    c.add_raw("IPv6 fragment header cut short", IPV6 + short, fault="bad_length", beyond=True)
    c.rows[-1].turned = exchanged(c.rows[-1].frame, ports=False)
    tags = b"\x81\x00\x00\x05" * 20 + IPV4
    c.add_raw("20 VLAN tags", tags + bytes(ip4() / bad_udp() / pattern(9)), fault="too_many_tags")


def malformed():
    c = Corpus()
    for part in (runts, truncated, header_only, contradictions, broken_chains):
        part(c)
    return c.rows
