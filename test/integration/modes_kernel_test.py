#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The kernel at both ends of csum: it accepts what penstock sends on, and nothing is lost.

Two network namespaces, each with one end of a wire, and csum between the wires' other ends. UDP and TCP
go through over IPv4 and IPv6. The kernel sends with checksums of its own, and with checksums that it
leaves to a device that has none, so that without csum nothing would arrive; io in csum's place shows it.
"""

import contextlib
import ctypes
import hashlib
import os
import pathlib
import shlex
import socket
import struct
import threading

from support import (PATIENCE_S, Failed, Penstock, Vdev, expect, expect_balance, expect_equal,
                     expect_nothing_left, main, run, wait_until)

CLONE_NEWNET = 0x40000000
ADDRESSES = {4: ("192.0.2.1", "192.0.2.2"), 6: ("2001:db8::1", "2001:db8::2")}
PREFIX = {4: 24, 6: 64}
FAMILIES = {4: socket.AF_INET, 6: socket.AF_INET6}
DATAGRAMS = [0, 1, 2, 3, 100, 101, 1451, 1452, 8000]  # The last in fragments.
STREAM = bytes(os.urandom(1 << 16)) * 24  # Of some thousand segments.


class Namespace:
    """A network namespace with one interface in it, which it takes from here."""

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        run(f"ip netns add {self.name}")
        self.run("ip link set lo up")
        return self

    def __exit__(self, *_):
        run(f"ip netns del {self.name}", check=False)

    def run(self, command):
        return run(["ip", "netns", "exec", self.name, *shlex.split(command)])

    def take(self, interface, end, peer_mac):
        """`end` is 0 or 1; the other one is at `peer_mac`."""
        run(f"ip link set {interface} netns {self.name}")
        self.run(f"sysctl -qw net.ipv6.conf.{interface}.disable_ipv6=0"
                 f" net.ipv6.conf.{interface}.accept_dad=0")
        self.run(f"ip link set {interface} up")
        for version, addresses in ADDRESSES.items():
            self.run(f"ip -{version} addr add {addresses[end]}/{PREFIX[version]} dev {interface}")
            self.run(f"ip -{version} neigh replace {addresses[1 - end]} lladdr {peer_mac}"
                     f" nud permanent dev {interface}")

    @contextlib.contextmanager
    def inside(self):
        """Sockets that this thread opens meanwhile are the namespace's, for good."""
        libc = ctypes.CDLL(None, use_errno=True)
        with open("/proc/thread-self/ns/net", "rb") as before, \
                open(f"/run/netns/{self.name}", "rb") as there:
            expect(libc.setns(there.fileno(), CLONE_NEWNET) == 0, "setns")
            try:
                yield
            finally:
                libc.setns(before.fileno(), CLONE_NEWNET)

    def socket(self, version, kind, protocol=0):
        with self.inside():
            opened = socket.socket(FAMILIES[version], kind, protocol)
        opened.settimeout(PATIENCE_S)
        return opened

    def checksum_errors(self):
        """What the kernel received with a wrong checksum, whatever protocol."""
        total = 0
        # /proc/net is that of the process: nstat's figures, read by a process in the namespace.
        lines = self.run("cat /proc/net/snmp").splitlines()
        for names, values in zip(lines[::2], lines[1::2]):
            fields = dict(zip(names.split(), values.split()))
            total += int(fields.get("InCsumErrors", 0))
        for line in self.run("cat /proc/net/snmp6").splitlines():
            name, value = line.split()
            if "CsumErrors" in name:
                total += int(value)
        return total


def datagrams(a, b, version):
    """Sends to and fro; each has to arrive as it was."""
    with a.socket(version, socket.SOCK_DGRAM) as here, b.socket(version, socket.SOCK_DGRAM) as there:
        here.bind((ADDRESSES[version][0], 4000))
        there.bind((ADDRESSES[version][1], 4001))
        for source, sink, to in ((here, there, ADDRESSES[version][1]),
                                 (there, here, ADDRESSES[version][0])):
            port = sink.getsockname()[1]
            for length in DATAGRAMS:
                data = os.urandom(length)
                source.sendto(data, (to, port))
                try:
                    expect_equal(sink.recv(65536), data, f"datagram of {length} bytes")
                except socket.timeout:
                    raise Failed(f"no datagram of {length} bytes over IPv{version}") from None


def stream(a, b, version):
    """One connection, much data each way; compared by its digest."""
    with b.socket(version, socket.SOCK_STREAM) as listener:
        listener.bind((ADDRESSES[version][1], 5000))
        listener.listen()
        received = {}

        def serve():
            with contextlib.suppress(OSError):
                connection, _ = listener.accept()
                with connection:
                    connection.settimeout(PATIENCE_S)
                    received["there"] = take(connection)
                    connection.sendall(STREAM[::-1])

        server = threading.Thread(target=serve, daemon=True)
        server.start()
        with a.socket(version, socket.SOCK_STREAM) as client:
            client.connect((ADDRESSES[version][1], 5000))
            client.sendall(STREAM)
            client.shutdown(socket.SHUT_WR)
            received["back"] = take(client)
        server.join(PATIENCE_S)
        expect_equal(received.get("there"), hashlib.sha256(STREAM).digest(), "data there")
        expect_equal(received.get("back"), hashlib.sha256(STREAM[::-1]).digest(), "data back")


def take(connection):
    digest = hashlib.sha256()
    while True:
        data = connection.recv(1 << 16)
        if not data:
            return digest.digest()
        digest.update(data)


def pings(a, version):
    """Echo requests of the kernel's: it makes their checksums, and takes answers with right ones."""
    protocol, request, answer = {4: (socket.IPPROTO_ICMP, 8, 0),
                                 6: (socket.IPPROTO_ICMPV6, 128, 129)}[version]
    a.run("sysctl -qw net.ipv4.ping_group_range=0\ 0")
    with a.socket(version, socket.SOCK_DGRAM, protocol) as asking:
        for number, length in enumerate((0, 1, 56, 1400)):
            rest = struct.pack("!H", number) + os.urandom(length)
            asking.sendto(struct.pack("!BBHH", request, 0, 0, 0) + rest,
                          (ADDRESSES[version][1], 0))
            try:
                seen = asking.recv(65536)
            except socket.timeout:
                raise Failed(f"no answer to a ping -{version} of {length} bytes") from None
            expect_equal((seen[0], seen[6:]), (answer, rest), "answer")


def everything(tap, a, b, words):
    for version in ADDRESSES:
        with tap.case(f"{words}: UDP over IPv{version}, {len(DATAGRAMS)} lengths each way"):
            datagrams(a, b, version)
        with tap.case(f"{words}: TCP over IPv{version}, {len(STREAM)} bytes each way"):
            stream(a, b, version)
        with tap.case(f"{words}: echo requests over IPv{version}"):
            pings(a, version)
    with tap.case(f"{words}: not one wrong checksum for the kernel"):
        expect_equal([end.checksum_errors() for end in (a, b)], [0, 0], "wrong checksums received")


MACS = ["02:aa:00:00:00:01", "02:aa:00:00:00:02"]        # Of penstock's ends.
PEER_MACS = ["02:bb:00:00:00:01", "02:bb:00:00:00:02"]  # Of the kernel's.
PEERS = [f"--eth-peer={port},{mac}" for port, mac in enumerate(PEER_MACS)]


@contextlib.contextmanager
def wires(ends, offload):
    """A pair of interfaces for each of two namespaces; the names of penstock's ends."""
    names = ["wire-0", "wire-1"]
    for index, name in enumerate(names):
        run(f"ip link add {name} address {MACS[index]} type veth"
            f" peer {name}-peer address {PEER_MACS[index]}")
        run(f"ethtool -K {name} tx off rxvlan off txvlan off")
        # With it the kernel leaves the checksum to the interface, with as much of it as is of the
        # pseudo-header: it takes that for a device's work, and veth has none to do.
        run(f"ethtool -K {name}-peer tx {offload} tso off gso off gro off rxvlan off txvlan off")
        run(f"ip link set {name} up")
        ends[index].take(f"{name}-peer", index, PEER_MACS[1 - index])
    try:
        yield names
    finally:
        for name in names:
            run(f"ip link del {name}", check=False)


def through(tap, mode, offload, words, cases):
    with tap.group(words), Namespace("end-0") as a, Namespace("end-1") as b:
        with wires((a, b), offload) as names:
            with Penstock(Vdev.af_xdp(*names), f"--forward-mode={mode}", *PEERS) as penstock:
                cases(tap, a, b, words)
                with tap.case(f"{words}: report balances"):
                    expect_balance(penstock.finish())
        with tap.case(f"{words}: nothing left"):
            expect_nothing_left()


def control(tap, a, b, words):
    """What csum is needed for: the same traffic, and nobody who fills checksums."""
    with tap.case(f"{words}: the kernel takes none of it"):
        with a.socket(4, socket.SOCK_DGRAM) as source, b.socket(4, socket.SOCK_DGRAM) as sink:
            sink.bind((ADDRESSES[4][1], 4001))
            for _ in range(10):
                source.sendto(bytes(100), (ADDRESSES[4][1], 4001))
            sink.setblocking(False)

            def ten_refused():
                # The kernel looks at a datagram's checksum when somebody wants it.
                with contextlib.suppress(BlockingIOError):
                    raise Failed(f"received {len(sink.recv(65536))} bytes")
                return b.checksum_errors() == 10

            wait_until(ten_refused, "ten wrong checksums to be counted")


def tap_devices(tap, words, options):
    """An interface on top of each tap device is the namespaces'. The devices themselves stay: the driver
    takes one that leaves its namespace for removed."""
    with tap.group(words), Namespace("end-0") as a, Namespace("end-1") as b:
        names = ["tap-0", "tap-1"]
        with Penstock(Vdev.tap(*names), "--forward-mode=csum", *options, *PEERS) as penstock:
            for index, end in enumerate((a, b)):
                run(f"ip link add link {names[index]} name on-{names[index]}"
                    f" address {PEER_MACS[index]} type macvlan mode private")
                end.take(f"on-{names[index]}", index, PEER_MACS[1 - index])
            everything(tap, a, b, words)
            with tap.case(f"{words}: report balances"):
                expect_balance(penstock.finish())
        with tap.case(f"{words}: nothing left"):
            expect_nothing_left()


def tests(tap):
    through(tap, "io", "on", "checksums left out, io over AF_XDP", control)
    through(tap, "csum", "off", "csum over AF_XDP", everything)
    through(tap, "csum", "on", "checksums left out, csum over AF_XDP", everything)
    if not pathlib.Path("/dev/net/tun").exists():
        tap.skip("csum over tap devices", "this kernel has no tap devices")
        return
    tap_devices(tap, "csum over tap devices", [])
    tap_devices(tap, "csum over tap devices, by their offloads",
                ["--tx-offloads=ipv4_cksum,udp_cksum,tcp_cksum"])


if __name__ == "__main__":
    main(tests)
