#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""net_xsk in penstock: forwarding byte for byte, several lcores on one TX queue, a filter that lets the
kernel live on, and nothing left behind, SIGKILL included.
"""

import contextlib
import signal
import subprocess

from support import (BINARY, Penstock, Traffic, Veth, Wire, counters, exchange, expect, expect_balance,
                     expect_equal, expect_frames, expect_nothing_left, is_promiscuous, lcores, main, run,
                     wait_until, xdp_program, xdp_sockets)

from share_test import expect_each_once_in_order, pump, queues_in_plan

from scapy.all import ARP, Ether, IP, UDP


def xsk(*interfaces, devargs=""):
    return [f"--vdev=net_xsk{i},iface={getattr(each, 'name', each)}{devargs}"
            for i, each in enumerate(interfaces)]


def frames(count, length):
    head = bytes(Ether(dst="02:00:00:00:00:02", src="02:00:00:00:00:01", type=0x88b5))
    return [head + n.to_bytes(4, "big") + bytes(i & 0xff for i in range(n, n + length - 18))
            for n in range(count)]


def forwarding(tap):
    with tap.group("macswap"), Veth("port-a") as a, Veth("port-b") as b:
        with Penstock(xsk(a, b), "--forward-mode=macswap") as penstock, \
                Wire(a.peer) as inside, Wire(b.peer) as outside:
            for length in (60, 590, 1514):
                with tap.case(f"macswap: {length} bytes, both ways"):
                    sent = frames(400, length)
                    wanted = [frame[6:12] + frame[:6] + frame[12:] for frame in sent]
                    expect_frames(exchange(inside, outside, sent), wanted, "there")
                    expect_frames(exchange(outside, inside, sent), wanted, "back")
            report = penstock.finish()
        with tap.case("macswap: accounted for, nothing copied, nothing held"):
            expect_balance(report)
            expect_equal(report["totals"]["tx_packets"], 2400, "sent")
            for port in report["ports"]:
                expect_equal(port["driver"], "net_xsk", "driver")
                expect_equal(port["xstats"]["tx_q0_copies"], 0, "copies")
                expect_equal(port["xstats"]["tx_q0_bad_completion"], 0, "bad completions")
            expect(all(not pool.get("held_by_driver") for pool in report["mempools"]), "mbufs held")
        with tap.case("macswap: nothing left"):
            expect_nothing_left(a, b)


def sharing(tap):
    """A queue in for each lcore, and one TX queue out for all of them."""
    for workers, burst in ((2, 32), (3, 1), (4, 32)):
        name = f"{workers} lcores on one TX queue, bursts of up to {burst}"
        with tap.group(name), contextlib.ExitStack() as stack:
            out = stack.enter_context(Veth("out-z"))
            many = stack.enter_context(Veth("wide-w", queues=workers))
            with Penstock([f"--vdev=net_af_packet0,iface={many.name},qpairs={workers}",
                           f"--vdev=net_xsk0,iface={out.name}"],
                          f"--rxq=0:{workers}", f"--burst={burst}", workers=workers) as penstock:
                source = stack.enter_context(Wire(many.peer))
                sink = stack.enter_context(Wire(out.peer))
                count = 6000
                seen = pump([(source, sink)], count)
                with tap.case(f"{name}: nothing lost, nothing twice, each flow in order"):
                    expect_each_once_in_order(seen[0], 0, count)
                    expect_equal(sink.receive(0), None, "more frames")
                report = penstock.finish()
            with tap.case(f"{name}: shared without a lock of ours, all accounted for"):
                expect_balance(report)
                expect_equal(queues_in_plan(report)[(1, 0)], (workers, "mt-lockfree"), "sharing")
                working = [lcore for lcore in report["lcores"] if lcore["rx_packets"]]
                expect(len(working) > 1, "only one lcore worked")
            with tap.case(f"{name}: nothing left"):
                expect_nothing_left(out)


def neighbourly(tap):
    with tap.group("filter"), Veth("port-a") as a:
        run(f"ip address add 192.0.2.1/24 dev {a.name}")
        with Penstock(xsk(a, devargs=",filter=[udp:4789]"), "--forward-mode=rxonly") as penstock, \
                Wire(a.peer) as wire:
            with tap.case("what the filter leaves goes on to the kernel: ARP is answered"):
                wire.drain()
                wire.send(bytes(Ether(src=a.peer_mac, dst="ff:ff:ff:ff:ff:ff") /
                                ARP(hwsrc=a.peer_mac, psrc="192.0.2.2", pdst="192.0.2.1")))
                answer = Ether(wire.receive())
                expect(ARP in answer and answer[ARP].hwsrc == a.mac, answer.summary())
            with tap.case("what it names comes to penstock"):
                for _ in range(50):
                    wire.send(bytes(Ether(src=a.peer_mac, dst=a.mac) /
                                    IP(src="192.0.2.2", dst="192.0.2.1") / UDP(dport=4789)))
                report = penstock.finish()
                expect_equal(report["totals"]["rx_packets"], 50, "received")
                expect_balance(report, allowed_drops=report["drops"])


def long_packets(tap):
    with tap.group("long packets"), Veth("port-a") as a, Veth("port-b") as b:
        for each in (a, b):
            run(f"ip link set {each.peer} mtu 3000")
        with tap.case("--max-pkt-len: the longest packet passes"):
            with Penstock(xsk(a, b), "--max-pkt-len=3000", "--mbuf-size=3500") as penstock, \
                    Wire(a.peer) as inside, Wire(b.peer) as outside:
                expect(" mtu 2982 " in run(f"ip link show {a.name}"), "the MTU is not 18 less")
                sent = frames(20, 2996)
                expect_frames(exchange(inside, outside, sent), sent, "frames")
                expect_balance(penstock.finish())
        with tap.case("--max-pkt-len: the MTU is what it was, at the end"):
            for each in (a, b):
                expect(" mtu 1500 " in run(f"ip link show {each.name}"), "another MTU")
            expect_nothing_left(a, b)


def chosen(tap):
    with tap.group("chosen"), Veth("port-a") as a, \
            Penstock(xsk(a), "--forward-mode=rxonly", "-i", terminal=True) as penstock, \
            tap.case("show port info tells what was chosen"):
        expect("  firmware: native copy budget " in penstock.command("show port info 0"),
               penstock.command("show port info 0"))


def killed(tap):
    with tap.group("SIGKILL"), Veth("port-a") as a, Veth("port-b") as b:
        for round_ in range(3):
            with tap.case(f"killed under load, round {round_}: nothing is left on the interfaces"):
                with Penstock(xsk(a, b), "--forward-mode=macswap") as penstock, \
                        Traffic(frames(1, 200)[0], a.peer, b.peer):
                    wait_until(lambda: counters(a.peer)["rx_packets"] > 1000 * (round_ + 1),
                               "traffic through penstock")
                    penstock.signal(signal.SIGKILL)
                    penstock.wait()
                wait_until(lambda: not xdp_sockets(), "the sockets to be closed")
                for each in (a, b):
                    expect(xdp_program(each.name) is None, "an XDP program is left")
                    expect(not is_promiscuous(each.name), "promiscuous mode is left")
        with tap.case("and the next start works"):
            with Penstock(xsk(a, b), "--forward-mode=macswap") as penstock, \
                    Wire(a.peer) as inside, Wire(b.peer) as outside:
                sent = frames(10, 100)
                expect_equal(len(exchange(inside, outside, sent)), 10, "forwarded")
                expect_balance(penstock.finish())
            expect_nothing_left(a, b)


def capabilities(tap):
    """Without root, with what the driver needs and not more."""
    needed = ["net_raw", "net_admin", "bpf", "ipc_lock"]
    with tap.group("capabilities"), Veth("port-a") as a:

        def start(kept):
            drop = ",".join(f"+{name}" for name in kept)
            return subprocess.run(
                ["setpriv", "--bounding-set=-all," + drop, "--inh-caps=-all," + drop, BINARY,
                 "--no-pci", "--no-telemetry", lcores(1), *xsk(a), "--", "--forward-mode=rxonly",
                 "--duration=0.1", "--memory=128M"], capture_output=True, text=True, timeout=60,
                check=False)
        with tap.case("NET_RAW, NET_ADMIN, BPF and IPC_LOCK are enough"):
            done = start(needed)
            expect_equal(done.returncode, 0, done.stderr[-800:])
        for missing in needed:
            with tap.case(f"without CAP_{missing.upper()} it is named"):
                done = start([name for name in needed if name != missing])
                text = done.stdout + done.stderr
                expect(done.returncode != 0 and f"CAP_{missing.upper()}" in text, text[-800:])


def tests(tap):
    forwarding(tap)
    sharing(tap)
    neighbourly(tap)
    long_packets(tap)
    chosen(tap)
    killed(tap)
    capabilities(tap)


if __name__ == "__main__":
    main(tests)
