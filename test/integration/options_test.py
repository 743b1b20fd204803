#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What options make of real ports: who forwards to whom, first bursts, long packets, offloads.

Frames made by scapy go through AF_XDP sockets; lengths and MTUs are compared with what the kernel
says. What a port lacks is refused in one line, and the interface is then as it was.
"""

import contextlib
import pathlib
import signal
import subprocess

from support import (BINARY, PATIENCE_S, Penstock, Vdev, Veth, Wire, exchange, expect,
                     expect_balance, expect_equal, expect_frames, expect_nothing_left, lcores, main,
                     run)

from scapy.all import Dot1Q, Ether, IP, Raw, UDP

MAC_A = "02:01:02:03:04:05"
MAC_B = "02:0a:0b:0c:0d:0e"
BURST = 32


def frames(count, length=100):
    return [bytes(Ether(dst=MAC_B, src=MAC_A) / IP(dst="192.0.2.1", id=i) / UDP(dport=9) /
                  Raw(bytes((i + n) & 0xff for n in range(length - 42)))) for i in range(count)]


def mtu(interface):
    return int(pathlib.Path(f"/sys/class/net/{interface}/mtu").read_text())


@contextlib.contextmanager
def ports(*names):
    """Interfaces for penstock, and the wires to them."""
    with contextlib.ExitStack() as stack:
        veths = [stack.enter_context(Veth(name)) for name in names]
        yield veths, [stack.enter_context(Wire(veth.peer)) for veth in veths]


# Options, and to which of three ports a frame of each goes; None: nowhere.
ROUTES = [
    (["--portlist=0,2"], [2, None, 0]),
    (["--portmask=0x6"], [None, 2, 1]),
    (["--portlist=1"], [None, 1, None]),
    (["--portlist=2,0,1", "--port-topology=chained"], [1, 2, 0]),
    (["--portlist=1-2,0", "--port-topology=chained"], [1, 2, 0]),
    (["--portlist=0,2", "--port-topology=loop"], [0, None, 2]),
]


def routes(tap):
    with tap.group("routes"), ports("port-a", "port-b", "port-c") as (veths, wires):
        for options, route in ROUTES:
            with tap.case(f"where frames go: {' '.join(options)}"):
                with Penstock(Vdev.af_xdp(*veths), *options) as penstock:
                    for wire in wires:
                        wire.drain()
                    moved = 0
                    for port, out in enumerate(route):
                        if out is None:
                            wires[port].send(frames(1)[0])
                            continue
                        seen = exchange(wires[port], wires[out], frames(40))
                        expect_frames(seen, frames(40), f"port {port} to port {out}")
                        moved += 40
                    expect(all(wire.receive(0) is None for wire in wires), "a stray frame")
                    report = penstock.finish()
                    expect_balance(report)
                    expect_equal(report["totals"]["rx_packets"], moved, "frames received")
                expect_nothing_left(*veths)


def cores(tap):
    null = ["--vdev=net_null0", "--vdev=net_null1"]
    for options, wanted in ((["--coremask=0x4"], [2]), (["--corelist=3,1"], [3, 1]),
                            (["--nb-cores=1"], [1]), (["--corelist=2-3", "--nb-cores=1"], [2])):
        with tap.case(f"which lcores work: {' '.join(options)}"):
            with Penstock(null, *options, "--duration=0.2", workers=3) as penstock:
                penstock.expect_exit(0)
                report = penstock.report()
                expect_balance(report)
                expect_equal([lcore["lcore"] for lcore in report["plan"]["lcores"]], wanted,
                             "lcores of the plan")
                expect_equal(sorted(lcore["lcore"] for lcore in report["lcores"]), sorted(wanted),
                             "lcores that worked")


def first_bursts(tap):
    with tap.group("tx-first"), ports("port-a", "port-b") as (veths, wires):
        options = ["--tx-first", "--txpkts=80", f"--eth-peer=0,{MAC_A}", "--tx-ip=192.0.2.1,192.0.2.2"]
        for mode in ("io", "macswap", "txonly"):
            with tap.case(f"--tx-first in mode {mode}: a burst from each port, then the mode"):
                for wire in wires:
                    wire.drain()
                with Penstock(Vdev.af_xdp(*veths), f"--forward-mode={mode}", *options) as penstock:
                    for veth, wire, destination in zip(veths, wires, (MAC_A, "02:00:00:00:00:01")):
                        seen = wire.receive_all(BURST)
                        expect_equal(len(seen), BURST, "frames")
                        for frame in seen:
                            packet = Ether(frame)
                            expect_equal((len(frame), packet.src, packet.dst, packet[IP].src,
                                          packet[UDP].dport),
                                         (80, veth.mac, destination, "192.0.2.1", 9), "a frame")
                    if mode != "txonly":
                        expect([wire.receive(0) for wire in wires] == [None, None], "one more frame")
                        expect_equal(len(exchange(*wires, frames(20))), 20, "frames forwarded")
                    report = penstock.finish()
                    expect_balance(report, ("tx_full", "tx_error"))
                    if mode != "txonly":
                        expect_equal(report["totals"]["made"], 2 * BURST, "made")
        with tap.case("-i --auto-start forwards before a word is typed"):
            with Penstock(Vdev.af_xdp(*veths), "-i", "--auto-start") as penstock:
                for wire in wires:
                    wire.drain()
                expect_equal(len(exchange(*wires, frames(20))), 20, "frames forwarded")
                penstock.write("quit\n")
                penstock.expect_exit(0)
                expect_balance(penstock.report())


def long_packets(tap):
    with tap.group("long packets"), ports("port-a", "port-b") as (veths, wires):
        for veth in veths:
            run(f"ip link set {veth.peer} mtu 3000")
        options = ["--max-pkt-len=3000", "--mbuf-size=3500"]
        with tap.case("--max-pkt-len: the longest packet passes, and the MTU is 18 less"):
            with Penstock(Vdev.af_xdp(*veths), *options) as penstock:
                for veth in veths:
                    expect_equal(mtu(veth.name), 2982, f"MTU of {veth.name}")
                for length in (60, 1514, 1515, 2048, 2996):
                    sent = frames(20, length)
                    expect_frames(exchange(*wires, sent), sent, f"frames of {length} bytes")
                expect_balance(penstock.finish())
        with tap.case("the MTU is what it was, at the end"):
            expect_equal([mtu(veth.name) for veth in veths], [1500, 1500], "MTUs")
            expect_nothing_left(*veths)
        with tap.case("after a kill, the next start puts the MTU back"):
            with Penstock(Vdev.af_xdp(*veths), *options) as penstock:
                penstock.signal(signal.SIGKILL)
                penstock.expect_exit(-signal.SIGKILL)
            expect_equal(mtu("port-a"), 2982, "MTU that the dead one left")
            with Penstock(["--vdev=net_null0"], "--duration=0.1") as penstock:
                penstock.expect_exit(0)
            expect_equal([mtu(veth.name) for veth in veths], [1500, 1500], "MTUs")
            expect_nothing_left(*veths)


# EAL's words, ours, exit code, and what the line says.
NULL = "--vdev=net_null0"
XDP = "--vdev=net_af_xdp0,iface=port-a"
REFUSED = [
    (NULL, "--rx-offloads=ipv4_cksum,vlan_strip", 1,
     "--rx-offloads=vlan_strip,ipv4_cksum: port 0 (net_null0) has no vlan_strip,ipv4_cksum; it has "),
    (NULL, "--tx-offloads=0x20", 1, "--tx-offloads=tcp_tso: port 0 (net_null0) has no tcp_tso; it has"),
    (XDP, "--enable-rx-cksum", 1, "port 0 (net_af_xdp0, interface port-a) has no "
     "ipv4_cksum,udp_cksum,tcp_cksum; it has none"),
    (XDP, "--max-pkt-len=9018", 1, "--max-pkt-len=9018: port 0 (net_af_xdp0, interface port-a) takes "
     "packets of at most"),
    (XDP, "--max-pkt-len=3000", 1, "takes --mbuf-size=3380 or more"),
    ("--vdev=net_af_packet0,iface=port-a", "--max-pkt-len=2000", 1, "packets of at most 64 to 1518"),
    ("--vdev=net_af_packet0,iface=port-a,qpairs=2", "--rss-udp", 1,
     "--rss-udp: port 0 (net_af_packet0"),
    (NULL, "--nb-cores=2", 1, "--nb-cores=2: 1 lcores may work: 1; ask for 1 to 1"),
    (NULL, "--corelist=0", 1, "--corelist names lcore 0, which may not work; those that may are 1"),
    (NULL, "--coremask=0x4", 1, "--corelist names lcore 2"),
    (NULL, "--portlist=0,5", 1, "--portlist names port 5, which is not there; ports are 0"),
    (NULL, "--portmask=0x2", 1, "--portlist names port 1, which is not there; ports are 0"),
    (NULL, "--tx-first --forward-mode=rxonly", 1, "--tx-first: mode rxonly sends nothing"),
    (NULL, "--portlist=0 --portmask=0x1", 2, "--portmask=0x1: given beside --portlist"),
    (NULL, "--rss-ip --rss-udp", 2, "--rss-udp=on: given beside --rss-ip; accepted: one of them"),
    (NULL, "-i --tx-first", 2, "--tx-first: accepted: without -i, or with --auto-start"),
]


def refusals(tap):
    with tap.group("refusals"), Veth("port-a") as veth:
        for eal, options, code, text in REFUSED:
            with tap.case(f"refused: {eal} -- {options}"):
                done = subprocess.run(
                    [BINARY, "--no-pci", "--no-telemetry", lcores(1), eal, "--", "--memory=256M",
                     "--log-level=warning", *options.split()], capture_output=True, text=True,
                    timeout=PATIENCE_S, check=False, stdin=subprocess.DEVNULL)
                expect_equal(done.returncode, code, f"exit code ({done.stderr.strip()})")
                expect(done.stderr.count("\n") == 1, f"not one line: {done.stderr!r}")
                expect(text in done.stderr, f"{text!r} is not in: {done.stderr.strip()}")
                expect_nothing_left(veth)
                expect_equal(mtu("port-a"), 1500, "MTU")
        if not pathlib.Path("/dev/net/tun").exists():
            tap.skip("offloads that a tap device has", "this kernel has no tap devices")
            return
        with tap.case("offloads that a tap device has are taken, by name and by mask"):
            for options in (["--enable-rx-cksum"], ["--rx-offloads=0xe", "--tx-offloads=e"]):
                with Penstock(Vdev.tap("tap-a"), *options, "--duration=0.2") as penstock:
                    penstock.expect_exit(0)
                    expect_balance(penstock.report())


def vlan_strip(tap):
    """A packet socket gives the tag apart from the frame: its driver puts it back, unless it is to
    strip it."""
    tagged = [bytes(Ether(dst=MAC_B, src=MAC_A) / Dot1Q(vlan=100 + i, prio=3) /
                    IP(dst="192.0.2.1", id=i) / UDP(dport=9) / Raw(bytes(60))) for i in range(8)]
    untagged = [frame[:12] + frame[16:] for frame in tagged]
    with tap.group("vlan_strip"), Veth("port-a") as a, Veth("port-b") as b:
        for options, wanted in (([], tagged), (["--rx-offloads=vlan_strip"], untagged)):
            with tap.case(f"net_af_packet {' '.join(options) or 'without offloads'}: frames arrive "
                          f"{'without' if options else 'with'} their tag"):
                with Penstock(Vdev.af_packet(a, b), *options) as penstock, \
                        Wire(a.peer) as wire_a, Wire(b.peer) as wire_b:
                    expect_frames(exchange(wire_a, wire_b, tagged), wanted, "forwarded")
                    expect_balance(penstock.finish())


def rx_verdicts(tap):
    """csum over a tap device, which can look at checksums as it receives."""
    good = Ether(dst=MAC_B, src=MAC_A) / IP(src="192.0.2.9", dst="192.0.2.1") / UDP(dport=9) / \
        Raw(bytes(range(60)))
    right = bytes(good)
    bad = right[:40] + bytes([right[40] ^ 0x55]) + right[41:]  # In the UDP checksum.
    bad_ip = right[:24] + bytes([right[24] ^ 0x55]) + right[25:]
    # Over the whole IP packet, as scapy and the device reckon, where penstock reckons over what the
    # UDP length says (RFC 768): it is good only where the device is believed.
    longer = bytes(Ether(dst=MAC_B, src=MAC_A) / IP(src="192.0.2.9", dst="192.0.2.1", len=90) /
                   UDP(dport=9, len=68) / Raw(bytes(range(60))) / Raw(b"\x5a\xa5"))
    with tap.group("RX verdicts"):
        for options, wanted in (([], {"bad_ip_checksum": 1, "bad_l4_checksum": 2}),
                                (["--enable-rx-cksum"], {"bad_ip_checksum": 1, "bad_l4_checksum": 1})):
            with tap.case(f"csum over net_tap {' '.join(options)}: what is wrong is counted, and right "
                          "when it leaves"):
                with Penstock(Vdev.tap("tap-a", "tap-b"), "--forward-mode=csum", *options) as penstock:
                    run("ip link set tap-a up")
                    run("ip link set tap-b up")
                    with Wire("tap-a") as wire_a, Wire("tap-b") as wire_b:
                        out = exchange(wire_a, wire_b, [right, bad, bad_ip, longer])
                    report = penstock.finish()
                expect_equal([frame[14:] for frame in out[:3]], [right[14:]] * 3, "what left")
                expect_balance(report)
                expect_equal({name: report["csum"][name] for name in wanted}, wanted, "counted")


def tests(tap):
    routes(tap)
    cores(tap)
    first_bursts(tap)
    long_packets(tap)
    vlan_strip(tap)
    refusals(tap)
    if pathlib.Path("/dev/net/tun").exists():
        rx_verdicts(tap)
    else:
        tap.skip("RX verdicts", "this kernel has no tap devices")


if __name__ == "__main__":
    main(tests)
