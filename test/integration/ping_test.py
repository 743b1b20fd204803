#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The kernel's own ping, ping -6, ARP and neighbour discovery against icmpecho.

The kernel has an address at its end and asks for others that nobody has: it resolves them, pings them,
and must get every answer, over AF_XDP, packet sockets and a tap device. Its own address it must be able
to take, although whoever answers for any address could say that it is taken.
"""

import json
import pathlib
import re

from support import (Penstock, Vdev, Veth, expect, expect_balance, expect_equal,
                     expect_nothing_left, link, main, run, wait_until)

COUNT = 50

# What else the kernel says to a link: multicast listener reports, router solicitations; and whether
# its addresses are free.
OTHER = ("no_request", "address_probe")

# Name, options of ping, target.
PINGS = [
    ("ping", [], "192.0.2.77"),
    ("ping another address", [], "192.0.2.250"),
    ("ping -s 1400", ["-s", "1400"], "192.0.2.78"),
    ("ping -s 17", ["-s", "17"], "192.0.2.78"),
    ("ping -R", ["-R"], "192.0.2.79"),
    ("ping -T tsandaddr", ["-T", "tsandaddr"], "192.0.2.79"),
    ("ping -t 1", ["-t", "1"], "192.0.2.79"),
    ("ping -p 00", ["-p", "00", "-s", "33"], "192.0.2.79"),
    ("ping -6", ["-6"], "2001:db8::77"),
    ("ping -6 another address", ["-6"], "2001:db8::abcd:1234"),
    ("ping -6 -s 1400", ["-6", "-s", "1400"], "2001:db8::78"),
    ("ping -6 a link-local address", ["-6"], "fe80::1234:5678"),
]


def give_addresses(interface):
    """Returns when the kernel has found them free."""
    pathlib.Path(f"/proc/sys/net/ipv6/conf/{interface}/disable_ipv6").write_text("0")
    run(f"ip addr add 192.0.2.1/24 dev {interface}")
    run(f"ip addr add 2001:db8::1/64 dev {interface}")
    wait_until(lambda: not run(f"ip -6 addr show dev {interface} tentative"),
               "the kernel to look whether its addresses are free")
    addresses = json.loads(run(f"ip -j addr show dev {interface}"))[0]["addr_info"]
    expect_equal([a["local"] for a in addresses if a.get("dadfailed")], [], "addresses refused")
    expect_equal({a["family"] for a in addresses}, {"inet", "inet6"}, "families of addresses")


def ping(interface, options, target):
    out = run(["ping", "-n", "-q", "-c", str(COUNT), "-i", "0.002", "-W", "10", "-I", interface,
               *options, target], check=False)
    expect(re.search(rf"^{COUNT} packets transmitted, {COUNT} received, 0% packet loss", out, re.M),
           f"ping of {target}: {out}")


def neighbours(interface):
    """MAC addresses by IP address, as the kernel has learnt them."""
    return {each["dst"]: each.get("lladdr")
            for each in json.loads(run(f"ip -j neigh show dev {interface}"))}


def pings(tap, port, eal, interface, mac_of, leftovers, options=()):
    """`interface` is the kernel's end, `mac_of()` the address of penstock's."""
    with Penstock(eal, "--forward-mode=icmpecho", *options) as penstock:
        with tap.case(f"{port}: the kernel takes addresses of its own"):
            give_addresses(interface)
        for name, words, target in PINGS:
            with tap.case(f"{port}: {name}, {COUNT} of {COUNT}"):
                ping(interface, words, target)
        with tap.case(f"{port}: every address is at the port's own MAC address"):
            seen = neighbours(interface)
            targets = {target for _, _, target in PINGS}
            expect(targets <= set(seen), f"resolved are {seen}")
            expect_equal({seen[target] for target in targets}, {mac_of()}, "MAC addresses")
        with tap.case(f"{port}: report balances, nothing but what is not asked is dropped"):
            report = penstock.finish()
            expect_balance(report, allowed_drops=OTHER)
            expect(report["drops"]["address_probe"] >= 2, "the kernel did not look for a free address")
            expect(report["totals"]["tx_packets"] >= COUNT * len(PINGS), "answers sent")
    with tap.case(f"{port}: nothing left"):
        expect_nothing_left(*leftovers)


def tests(tap):
    for port, vdev in (("net_af_xdp", Vdev.af_xdp), ("net_af_packet", Vdev.af_packet)):
        with tap.group(port), Veth("port-a") as a:
            pings(tap, port, vdev(a), a.peer, lambda mac=a.mac: mac, [a])
    # The kernel's end is the device that the port makes, with the MAC address of the port. It takes
    # packets in as many mbufs as it needs.
    for port, options in (("net_tap", []), ("net_tap, mbufs of 128 bytes", ["--mbuf-size=256"])):
        with tap.group(port):
            pings(tap, port, Vdev.tap("tap-a"), "tap-a", lambda: link("tap-a")["address"], [],
                  options)


if __name__ == "__main__":
    main(tests)
