#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""penstock beside packaged dpdk-testpmd: the same file through both, in every mode.

What comes out is the same, frame by frame, but for what DIFFERENCES lists; and what it lists does
differ, so that the list is neither too short nor too long.
"""

import os
import re

from support import (Penstock, Vdev, Veth, Wire, expect, expect_balance, expect_equal, main)
from support.modes_corpus import well_formed
from support.modes_echo import questions
from support.modes_malformed import malformed
from support.pcap import Files, Testpmd, penstock_files, testpmd_files

from scapy.all import Ether, IP, UDP

# Mode, pattern of the row's name, why penstock makes something else of it.
DIFFERENCES = [
    ("csum", r"ICMP.*checksum wrong|ICMP.* padding|options.*, ICMP$|ICMP destination unreachable",
     "penstock fills ICMP's checksum too"),
    ("csum", r"ICMPv6",
     "penstock fills ICMPv6's checksum too"),
    ("csum", r"^(VLAN )?IPv6 (hop-by-hop|destination options|routing|atomic fragment)",
     "testpmd knows no extension headers and leaves the packet as it is"),
    ("csum", r"IPv4 (first|middle|last) fragment, (UDP|TCP)",
     "testpmd writes into each fragment as if it were a whole packet"),
    ("csum", r"^SCTP",
     "testpmd writes a CRC of 0, which no receiver takes"),
    ("csum", r"checksum ffff for 0000",
     "what is right is left as it came; testpmd writes 0000"),
    ("csum", r"UDP shorter than its IP packet",
     "testpmd sums up the whole IP packet, RFC 768 as many bytes as UDP says"),
    ("csum", r"IHL [1-4]$|IPv4 by its ethertype, version|total length|payload length|UDP length",
     "testpmd does not look whether lengths and versions can be"),
    ("csum", r"TCP, data offset",
     "it cannot be TCP; testpmd does not look"),
    ("csum", r"20 VLAN tags",
     "penstock goes no further than 8"),
    ("5tswap", r"20 VLAN tags",
     "penstock goes no further than 8"),
    ("5tswap", r"^(VLAN )?IPv6 (hop-by-hop|destination options|routing|atomic|first fragment).*P$",
     "testpmd knows no extension headers and leaves the ports as they are"),
    ("5tswap", r"IPv4 (middle|last) fragment, (UDP|TCP)",
     "testpmd exchanges payload where a first fragment has ports"),
    ("5tswap", r"IHL [1-4]$|by its ethertype, version|length 20 has no room for UDP|payload length 0$",
     "testpmd does not look whether lengths and versions can be"),
]

FORWARDING = ("io", "mac", "macswap", "5tswap", "csum")


def differs(mode, row):
    return any(mode == each and re.search(pattern, row.name) for each, pattern, _ in DIFFERENCES)


def compare(tap, mode, rows, options):
    words = f"{mode}{' ' if options else ''}{' '.join(options)}"
    frames = [row.frame for row in rows]
    with tap.case(f"{words}: {len(rows)} frames through both"):
        _, ours, report = penstock_files(mode, frames, *options)
        _, theirs = testpmd_files(mode, frames, *options)
        expect_equal(len(theirs), len(rows), "frames out of testpmd")
        expect_balance(report, allowed_drops=[row.drops.get(mode) for row in rows])
        kept = iter(ours)
        for row, rival in zip(rows, theirs):
            mine = None if mode in row.drops else next(kept, None)
            if differs(mode, row):
                expect(mine != rival, f"\"{row.name}\" does not differ any more: {rival.hex()}")
            else:
                expect(mine == rival, f"\"{row.name}\"\n  in      {row.frame.hex()}\n"
                                      f"  penstock {mine.hex() if mine else 'none'}\n"
                                      f"  testpmd  {rival.hex()}")
        expect_equal(next(kept, None), None, "one more out of penstock")


def used(tap):
    with tap.case("every line of the table of differences is of some frame"):
        rows = well_formed() + malformed()
        for mode, pattern, why in DIFFERENCES:
            expect(any(re.search(pattern, row.name) for row in rows), f"{mode} {pattern}: {why}")


# What testpmd answers otherwise, or not, or should not.
ECHO_DIFFERENCES = [
    (r"^(VLAN, )?ping -6 of|^VLAN, ping -6|^ping -6, (100|hop)|^neighbour solicitation (multicast|to one),",
     "testpmd answers over IPv4 only"),
    (r"QinQ", "testpmd knows one tag"),
    (r"^ping, (first|last) fragment", "testpmd answers a fragment as if it were whole"),
    (r"in a frame to another", "penstock's address in an answer is its own"),
    (r"^ping, (options|record)", "testpmd takes options for ICMP"),
    (r"^ping(, IP| -4,) checksum wrong", "testpmd answers what is damaged"),
    (r"^ping (224|255)", "RFC 1122, 3.2.2.6: it may be left unanswered; testpmd answers for groups"),
    (r"^ping from a group", "RFC 1122, 3.2.1.3: no host has that address"),
    (r"ARP (probe|announcement)", "answered, it would take the address from who asks for it"),
]


def echo(tap):
    rows = [row for row in questions(Files.MACS[0]) if not row.beyond]
    apart = [any(re.search(pattern, row.name) for pattern, _ in ECHO_DIFFERENCES) for row in rows]
    with tap.case(f"icmpecho: {len(rows)} frames through both"):
        frames = [row.frame for row in rows]
        ours, _, report = penstock_files("icmpecho", frames)
        theirs, _ = testpmd_files("icmpecho", frames)
        drops = [row.drop for row in rows if row.answer is None]
        expect_balance(report, allowed_drops=drops)
        # To whom an answer is sent tells what it answers.
        ours, theirs = ({frame[:6]: frame for frame in each} for each in (ours, theirs))
        for row, other in zip(rows, apart):
            mine, rival = ours.get(row.frame[6:12]), theirs.get(row.frame[6:12])
            words = (f"\"{row.name}\"\n  in       {row.frame.hex()}\n"
                     f"  penstock {mine.hex() if mine else 'none'}\n"
                     f"  testpmd  {rival.hex() if rival else 'none'}")
            expect((mine != rival) if other else (mine == rival), words)


# ---- what is made ----

LOOKED_AT = 600

# Fields in which what they make differs, and why.
MADE = {
    "txonly": {"checksum": "penstock computes UDP's, testpmd leaves it out",
               "payload": "testpmd sends what was in memory, penstock zeros"},
    "flowgen": {"checksum": "as above", "payload": "as above",
                "addresses": "penstock's are those of --eth-peer, --tx-ip and --tx-udp,"
                             " testpmd's are fixed",
                "length": "testpmd takes off four bytes of FCS that --txpkts does not have"},
}


def fields(frame):
    packet = Ether(frame)
    udp = packet[UDP]
    return {"macs": (packet.src, packet.dst),
            "ip": (packet[IP].version, packet[IP].ihl, packet[IP].tos, packet[IP].id,
                   packet[IP].flags.value, packet[IP].ttl, packet[IP].proto),
            "addresses": (packet[IP].src, packet[IP].dst, udp.sport, udp.dport),
            "length": (len(frame), packet[IP].len, udp.len)}


def made_by(program, veth, mode, options):
    with Wire(veth.peer) as wire:
        if program is Penstock:
            with Penstock(Vdev.af_packet(veth), f"--forward-mode={mode}", *options) as penstock:
                frames = wire.receive_all(LOOKED_AT)
                penstock.finish()
        else:
            with Testpmd(Vdev.af_packet(veth), f"--forward-mode={mode}", *options) as testpmd:
                testpmd.command("start")
                frames = wire.receive_all(LOOKED_AT)
                testpmd.command("stop")
                testpmd.quit()
    expect_equal(len(frames), LOOKED_AT, "frames")
    return frames


def generators(tap):
    own = ["--port-topology=loop", "--eth-peer=0,06:05:04:03:02:01"]
    for mode, options in (("txonly", []), ("txonly", ["--txpkts=100,200", "--tx-ip=10.0.0.1,10.0.0.2",
                                                      "--tx-udp=7,8"]),
                          ("flowgen", []), ("flowgen", ["--flowgen-flows=5"])):
        words = f"{mode} {' '.join(options)}".strip()
        with tap.case(f"{words}: both make the same fields"), Veth("port-a") as veth:
            ours, theirs = (made_by(program, veth, mode, own + options)
                            for program in (Penstock, Testpmd))
            seen = [[fields(frame) for frame in frames] for frames in (ours, theirs)]
            for mine, rival in zip(*seen):
                for name in mine:
                    if mode == "flowgen" and name in ("macs", "addresses", "length"):
                        continue
                    expect_equal(mine[name], rival[name], name)
            # Flow after flow, as many of them.
            expect_equal(*(len({each["addresses"] for each in one}) for one in seen), "flows")


def tests(tap):
    if not any(os.access(os.path.join(folder, "dpdk-testpmd"), os.X_OK)
               for folder in os.get_exec_path()):
        tap.skip("penstock beside dpdk-testpmd", "there is no dpdk-testpmd")
        return
    rows = well_formed() + [row for row in malformed() if not row.beyond]
    for mode in FORWARDING:
        compare(tap, mode, rows, [])
        compare(tap, mode, rows, ["--burst=1"])
    used(tap)
    echo(tap)
    generators(tap)


if __name__ == "__main__":
    main(tests)
