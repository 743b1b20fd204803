#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""txonly sends the frames that its options describe, rxonly takes all and sends none.

What txonly makes is read at the other end of the wire and given to scapy and to tshark, which decode
it, compute its checksums for themselves and say whether it is what was asked for.
"""

import itertools

from support import (Penstock, Vdev, Veth, Wire, counters, expect, expect_balance, expect_equal,
                     expect_nothing_left, main, run, wait_until)

from scapy.all import Ether, IP, UDP, Raw, wrpcap

DEFAULT = {"source": "198.18.0.1", "destination": "198.18.0.2", "sport": 9, "dport": 9,
           "peer": "02:00:00:00:00:00"}

# Options, the frame's length, what differs from the default.
FRAMES = [
    ([], 64, {}),
    (["--txpkts=42"], 42, {}),
    (["--txpkts=60"], 60, {}),
    (["--txpkts=1514"], 1514, {}),
    (["--txpkts=64,64"], 128, {}),
    (["--txpkts=42,1,1,1,1,1,1,1"], 49, {}),
    (["--txpkts=100,300,500,614", "--burst=64"], 1514, {}),
    (["--tx-ip=10.1.2.3,192.168.255.254", "--tx-udp=1,65535", "--txpkts=65"], 65,
     {"source": "10.1.2.3", "destination": "192.168.255.254", "sport": 1, "dport": 65535}),
    (["--tx-udp=40000", "--txpkts=1000"], 1000, {"sport": 40000, "dport": 40000}),
    (["--eth-peer=0,02:11:22:33:44:55", "--burst=1"], 64, {"peer": "02:11:22:33:44:55"}),
    (["--burst=512", "--txpkts=127"], 127, {}),
]
LOOKED_AT = 600  # More than the largest burst.


def expected_fields(mac, length, changes):
    want = {**DEFAULT, **changes}
    return {"destination MAC": want["peer"], "source MAC": mac, "length": length,
            "source": want["source"], "destination": want["destination"], "IP length": length - 14,
            "sport": want["sport"], "dport": want["dport"], "UDP length": length - 34}


def by_scapy(frame):
    packet = Ether(frame)
    udp = packet[UDP]
    fields = {"destination MAC": packet.dst, "source MAC": packet.src, "length": len(frame),
              "source": packet[IP].src, "destination": packet[IP].dst,
              "IP length": packet[IP].len, "sport": udp.sport, "dport": udp.dport,
              "UDP length": udp.len}
    # Let scapy compute what is left out: the whole frame is to come out the same. A UDP checksum of
    # zero means that the sender computed none.
    again = packet.copy()
    del again[IP].chksum
    if udp.chksum != 0:
        del again[UDP].chksum
    expect_equal(bytes(Ether(bytes(again))).hex(), frame.hex(), "frame with scapy's checksums")
    return fields


def by_tshark(frames, path="/tmp/seen.pcap"):
    """The distinct lines that tshark has for these frames."""
    wrpcap(path, [Raw(frame) for frame in frames], linktype=1)
    out = run(["tshark", "-n", "-r", path, "-o", "ip.check_checksum:TRUE",
               "-o", "udp.check_checksum:TRUE", "-T", "fields", "-E", "separator=/s"] +
              [word for field in ("eth.dst", "eth.src", "frame.len", "ip.src", "ip.dst",
                                  "ip.checksum.status", "udp.srcport", "udp.dstport",
                                  "udp.length", "udp.checksum.status", "_ws.malformed")
               for word in ("-e", field)])
    return out.splitlines()


def check_transmit(tap, options, length, changes):
    name = f"txonly {' '.join(options) or 'by default'}"
    with tap.group(name), Veth("port-a") as veth:
        before = counters(veth.peer)
        with Wire(veth.peer) as wire:
            with Penstock(Vdev.af_xdp(veth), "--forward-mode=txonly", *options) as penstock:
                frames = wire.receive_all(LOOKED_AT)
                report = penstock.finish()
            with tap.case(f"{name}: scapy's and tshark's decoding of {LOOKED_AT} frames"):
                expect_equal(len(frames), LOOKED_AT, "frames received")
                want = expected_fields(veth.mac, length, changes)
                for frame in set(frames):
                    expect_equal(by_scapy(frame), want, "fields that scapy reads")
                lines = by_tshark(frames)
                expect_equal(len(lines), LOOKED_AT, "frames that tshark reads")
                # Checksum status: 1 good, 3 not present (UDP only).
                good = {" ".join(map(str, (want["destination MAC"], want["source MAC"], length,
                                           want["source"], want["destination"], 1,
                                           want["sport"], want["dport"], length - 34, udp))) + end
                        for udp in (1, 3) for end in ("", " ")}
                expect(set(lines) <= good, f"tshark reads {set(lines) - good}, wanted {good}")
        with tap.case(f"{name}: report and kernel agree"):
            expect_balance(report, allowed_drops=("tx_full", "tx_error"))
            after = counters(veth.peer)
            sent = report["totals"]["tx_packets"]
            expect(sent >= LOOKED_AT, f"{sent} sent, {LOOKED_AT} arrived")
            own = counters(veth.name)
            # What the driver handed over and the kernel then refused is a drop of the interface.
            expect_equal(sent, after["rx_packets"] - before["rx_packets"] + own["tx_dropped"],
                         "packets sent: those the kernel delivered and dropped")
            expect_equal(report["ports"][0]["tx_bytes"], sent * length, "tx_bytes")
            expect_equal(report["totals"]["rx_packets"], 0, "received")
        with tap.case(f"{name}: nothing left"):
            expect_nothing_left(veth)


def check_receive(tap):
    count = 900  # Less than the RX ring: none can be missed, however late they are taken.
    with tap.group("rxonly"), Veth("port-a") as a, Veth("port-b") as b:
        with Penstock(Vdev.af_xdp(a, b), "--forward-mode=rxonly", "-i", "--rxd=2048") as penstock, \
                Wire(a.peer) as wire_a, Wire(b.peer) as wire_b:
            expect("forwarding: rxonly" in penstock.command("start"), "start says so")
            lengths = itertools.cycle((60, 61, 127, 128, 1513, 1514))
            frame = Ether(dst="ff:ff:ff:ff:ff:ff", src=a.peer_mac, type=0x88b5)
            total = 0
            for length in itertools.islice(lengths, count):
                wire_a.send(bytes(frame / Raw(bytes(length - 14))))
                total += length
            wait_until(lambda: f"received {count} packets {total} bytes" in
                       penstock.command("show fwd stats"), f"{count} packets")
            with tap.case("rxonly sends nothing"):
                expect_equal([wire_a.receive(0), wire_b.receive(0)], [None, None], "frames sent")
            penstock.write("quit\n")
            penstock.expect_exit(0)
            report = penstock.report()
            with tap.case("rxonly drops each with its name, and says how many came"):
                expect_balance(report, allowed_drops=("rxonly",))
                expect_equal(report["drops"]["rxonly"], count, "dropped as rxonly")
                expect_equal(report["ports"][0]["rx_packets"], count, "received by port 0")
                expect_equal(report["ports"][0]["rx_bytes"], total, "bytes received by port 0")
                expect_equal(report["ports"][1]["rx_packets"], 0, "received by port 1")
                expect_equal(counters(a.peer)["tx_packets"], count, "packets the kernel delivered")
                expect_equal(report["totals"]["tx_packets"], 0, "sent")
        with tap.case("rxonly: nothing left"):
            expect_nothing_left(a, b)


def tests(tap):
    for options, length, changes in FRAMES:
        check_transmit(tap, options, length, changes)
    check_receive(tap)


if __name__ == "__main__":
    main(tests)
