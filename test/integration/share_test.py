#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Several lcores, and what they share: every frame comes out once, each flow in its order.

Frames carry the number of their flow and their place in it. What comes out of each port is put
together again by flow and has to be the sequence that went in, whichever lcores it went through.
Lcores are threads here, more of them than processors in some cases, so that one that holds a lock is
interrupted and the others have to wait.
"""

import collections
import contextlib
import struct

from support import (Penstock, Veth, Wire, counters, expect, expect_balance, expect_equal,
                     expect_nothing_left, main)

from scapy.all import Ether, IP, UDP

FLOWS = 16
WINDOW = 160  # On the way at a time, of all flows: less than any ring in between.
TAG = struct.Struct(">HI")


def flow_header(flow):
    """Flows differ where the kernel's choice of a queue looks."""
    return bytes(Ether(dst="02:00:00:00:00:02", src="02:00:00:00:00:01", type=0x0800) /
                 IP(src=f"192.0.2.{1 + flow % 250}", dst="198.51.100.1", len=46, chksum=0) /
                 UDP(sport=1024 + 37 * flow, dport=9, len=26, chksum=0))


def frames_of(port, count):
    """`count` frames of the flows of one port, taking turns."""
    headers = [flow_header(port * FLOWS + flow) for flow in range(FLOWS)]
    for n in range(count):
        flow = n % FLOWS
        yield headers[flow] + TAG.pack(port * FLOWS + flow, n // FLOWS) + bytes(12)


def expect_each_once_in_order(frames, port, count):
    seen = collections.defaultdict(list)
    for frame in frames:
        flow, number = TAG.unpack_from(frame, 42)
        seen[flow].append(number)
    for flow in range(port * FLOWS, (port + 1) * FLOWS):
        wanted = len(range(flow - port * FLOWS, count, FLOWS))
        numbers = seen.pop(flow, [])
        twice = [n for n, times in collections.Counter(numbers).items() if times > 1]
        expect(not twice, f"flow {flow}: numbers {twice[:5]} came more than once")
        expect(len(numbers) == wanted, f"flow {flow}: {len(numbers)} frames instead of {wanted}")
        expect(numbers == list(range(wanted)), f"flow {flow}: out of order")
    expect(not seen, f"flows {sorted(seen)} do not belong to port {port}")


def pump(pairs, count):
    """For each (source wire, sink wire): sends `count` frames in, returns what came out."""
    sources = [frames_of(port, count) for port in range(len(pairs))]
    out = [[] for _ in pairs]
    share = max(1, WINDOW // len(pairs))
    for start in range(0, count, share):
        step = min(share, count - start)
        for _ in range(step):
            for (source, _), frames in zip(pairs, sources):
                source.send(next(frames))
        for (_, sink), seen in zip(pairs, out):
            seen += sink.receive_all(step)
        if any(len(seen) < start + step for seen in out):
            break
    return out


class Setting:
    """What a case is made of."""

    def __init__(self, name, queues, options, workers, count, peers=None, sharing=None, idle=0,
                 both_ways=True):
        self.name = name
        # Of each port. More than one: a packet socket, whose driver has the kernel spread flows over
        # its queues. veth shows no channels, so that net_af_xdp takes it for an interface of one.
        self.queues = queues
        self.options = options
        self.workers = workers
        self.count = count              # Frames into each port.
        self.peers = peers or {0: 1, 1: 0, 2: 3, 3: 2}
        self.sharing = sharing or {}    # (port, queue) → (users, how); the others are exclusive.
        self.idle = idle
        self.both_ways = both_ways      # Otherwise only into port 0.


SETTINGS = [
    Setting("two lcores share one TX queue", [2, 1], ["--rxq=0:2"], 2, 16000,
            sharing={(1, 0): (2, "spinlock")}),
    Setting("two lcores share one TX queue, single packets", [2, 1], ["--rxq=0:2", "--burst=1"], 2,
            8000, sharing={(1, 0): (2, "spinlock")}),
    Setting("four lcores on all processors share one TX queue", [4, 1], ["--rxq=0:4"], 4, 6000,
            sharing={(1, 0): (4, "spinlock")}, both_ways=False),
    Setting("two lcores, each its own TX queue", [2, 2], ["--rxq=2"], 2, 8000),
    Setting("four lcores, a queue each", [2, 2], ["--rxq=2"], 4, 6000),
    Setting("four lcores on a packet socket's one TX queue", [2, 2], ["--rxq=2", "--txq=1"], 4, 6000,
            sharing={(0, 0): (2, "spinlock"), (1, 0): (2, "spinlock")}),
    Setting("four ports on two lcores", [1, 1, 1, 1], [], 2, 8000),
    Setting("four ports on one lcore", [1, 1, 1, 1], [], 1, 4000),
    Setting("three ports in a chain on two lcores", [1, 1, 1], ["--port-topology=chained"], 2, 8000,
            peers={0: 1, 1: 2, 2: 0}),
    Setting("a loop on two lcores", [1, 1], ["--port-topology=loop"], 2, 4000, peers={0: 0, 1: 1}),
    Setting("more lcores than queues", [1, 1], [], 5, 4000, idle=3),
]


def queues_in_plan(report):
    return {(queue["port"], queue["queue"]): (queue["users"], queue["sharing"])
            for queue in report["tx_queues"]}


def forward(tap, setting):
    name = setting.name
    with tap.group(name), contextlib.ExitStack() as stack:
        veths = [stack.enter_context(Veth(f"port-{chr(97 + i)}", queues=queues))
                 for i, queues in enumerate(setting.queues)]
        eal = [f"--vdev=net_af_packet{i},iface={veth.name},qpairs={queues}" if queues > 1 else
               f"--vdev=net_af_xdp{i},iface={veth.name},busy_budget=0"
               for i, (veth, queues) in enumerate(zip(veths, setting.queues))]
        ins = range(len(veths)) if setting.both_ways else range(1)
        with Penstock(eal, *setting.options, workers=setting.workers) as penstock:
            wires = [stack.enter_context(Wire(veth.peer)) for veth in veths]
            out = pump([(wires[port], wires[setting.peers[port]]) for port in ins], setting.count)
            with tap.case(f"{name}: each once, each flow in order"):
                for port in ins:
                    expect_each_once_in_order(out[port], port, setting.count)
                expect_equal([wire.receive(0) for wire in wires], [None] * len(wires), "more frames")
            report = penstock.finish()
        with tap.case(f"{name}: shared as planned, all accounted for"):
            total = setting.count * len(ins)
            expect_balance(report)
            expect_equal(report["totals"]["tx_packets"], total, "sent")
            expect_equal(sum(counters(veth.peer)["rx_packets"] for veth in veths), total,
                         "frames the kernel delivered")
            seen = queues_in_plan(report)
            for (port, queue), (users, how) in setting.sharing.items():
                expect(f"{port}.{queue}: {users}, {how}" in penstock.stdout, penstock.stdout)
            expect_equal({key: seen[key] for key in setting.sharing}, setting.sharing, "sharing")
            others = {key: how for key, (_, how) in seen.items() if key not in setting.sharing}
            expect_equal(set(others.values()) - {"exclusive"}, set(), "sharing of the others")
            idle = [lcore for lcore in report["plan"]["lcores"] if not lcore["rx_queues"]]
            expect_equal(len(idle), setting.idle, "idle lcores")
            expect_equal(penstock.stdout.count("is idle"), setting.idle, "notes of idle lcores")
        with tap.case(f"{name}: every lcore that has queues took part"):
            working = {lcore["lcore"]: lcore["rx_packets"] for lcore in report["lcores"]
                       if lcore["polls"]}
            expect_equal(len(working), setting.workers - setting.idle, "working lcores")
            expect(all(working.values()) or not setting.both_ways, f"received by lcore: {working}")
            # Where lcores share a queue and only one of them worked, nothing was shared.
            expect(len([n for n in working.values() if n]) > 1 or not setting.sharing,
                   f"received by lcore: {working}")
        with tap.case(f"{name}: nothing left"):
            expect_nothing_left(*veths)


def at_full_speed(tap):
    """No wire limits these, so the lock is wanted by both all the time."""
    with tap.case("two lcores hammer the one TX queue of a port: none lost, none counted twice"):
        with Penstock(["--vdev=net_null0", "--vdev=net_null1"], "--rxq=2", "--txq=1",
                      "--duration=0.5", workers=2) as penstock:
            penstock.expect_exit(0)
            report = penstock.report()
        expect_balance(report)
        expect_equal(queues_in_plan(report), {(0, 0): (2, "spinlock"), (1, 0): (2, "spinlock")},
                     "sharing")
        expect(all(lcore["rx_packets"] for lcore in report["lcores"]), "an lcore did not take part")


def tests(tap):
    for setting in SETTINGS:
        forward(tap, setting)
    at_full_speed(tap)


if __name__ == "__main__":
    main(tests)
