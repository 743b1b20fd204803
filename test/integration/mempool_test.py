#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""mempool_deferred: in penstock, where it is the default, over what else a start may say; and in the
distribution's own dpdk-testpmd, loaded with -d, where an lcore receives what another frees.
"""

import os
import re
import shutil

from support import (ROOT, Penstock, Process, Vdev, Veth, Wire, exchange, expect, expect_balance,
                     expect_equal, expect_frames, lcores, main, wait_until)

from scapy.all import Ether, IP, UDP

BUILT = os.environ.get("PENSTOCK_MEMPOOL_DEFERRED",
                       str(ROOT / "build/drivers/mempool/deferred/librte_mempool_deferred.so"))
# EAL refuses a driver below a folder that anybody may write to, as the tree's may be; /run is the
# test's own.
DRIVER = "/run/librte_mempool_deferred.so"
PROMPT = r"testpmd> \Z"


def frames(count):
    head = bytes(Ether(dst="02:00:00:00:00:02", src="02:00:00:00:00:01") /
                 IP(src="192.0.2.1", dst="198.51.100.1") / UDP(sport=1111, dport=2222, chksum=0))
    return [head + n.to_bytes(4, "big") + bytes(14) for n in range(count)]


def ops_of(report):
    return {pool["ops"] for pool in report["mempools"]}


def choice(tap):
    """Which mempool a start has."""
    for eal, options, expected in (
            ([], [], "deferred"),
            ([], ["--mempool=deferred"], "deferred"),
            ([], ["--mempool=ring"], "ring_mp_mc"),
            (["--mbuf-pool-ops-name=stack"], [], "stack"),
            (["--mbuf-pool-ops-name=deferred"], ["--mempool=deferred"], "deferred")):
        with tap.case(f"{' '.join(eal + options) or 'nothing said'}: {expected}"):
            with Penstock(["--vdev=net_null0", *eal], *options) as penstock:
                report = penstock.finish()
            expect_balance(report)
            expect_equal(ops_of(report), {expected}, "ops")
    with tap.case("two that differ are refused in one line"):
        with Penstock(["--vdev=net_null0", "--mbuf-pool-ops-name=stack"], "--mempool=ring",
                      wait=False) as penstock:
            penstock.expect_exit(1)
            expect(re.search(r"^penstock: --mempool: ring_mp_mc is asked for, and by EAL's "
                             r"--mbuf-pool-ops-name stack; leave one of the two out$",
                             penstock.stderr + penstock.stdout, re.M),
                   f"says {penstock.stderr[-500:]}")


def forwards(tap):
    """AF_XDP ports of both drivers. On net_xsk one lcore frees what the other received: each reaps
    what the other sends.
    """
    for name, vdevs, options in (
            ("net_af_xdp", Vdev.af_xdp, []),
            ("net_xsk", lambda *ports: [f"--vdev=net_xsk{i},iface={port.name}"
                                        for i, port in enumerate(ports)],
             ["--completion-lcore=1.0@2,0.0@1"])):
        for cache in (0, 250):
            with tap.group(f"{name}, --mbcache={cache}"), Veth("port-a") as a, Veth("port-b") as b:
                with Penstock(vdevs(a, b), f"--mbcache={cache}", "--total-num-mbufs=16383", *options,
                              workers=2) as penstock, \
                        Wire(a.peer) as inside, Wire(b.peer) as outside:
                    with tap.case(f"{name}, cache {cache}: every frame, in both directions"):
                        sent = frames(5000)
                        expect_frames(exchange(inside, outside, sent), sent, "out")
                        expect_frames(exchange(outside, inside, sent), sent, "back")
                    with tap.case(f"{name}, cache {cache}: every mbuf back"):
                        report = penstock.finish()
                        expect_balance(report)
                        expect_equal(ops_of(report), {"deferred"}, "ops")
                        for queue in report["tx_queues"] if options else ():
                            expect_equal(queue["users"], 2, "lcores at the queue")
                            expect(queue["reaped"] >= 5000, f"mbufs reaped by the other: {queue}")


class Testpmd(Process):
    def __init__(self, *options, eal=(), workers=2):
        super().__init__(["dpdk-testpmd", "--no-huge", "-m", "256", "--no-pci", "--no-telemetry",
                          "--no-shconf", lcores(workers), "-d", DRIVER,
                          "--mbuf-pool-ops-name=deferred", *eal, "--", "-i", "--no-mlockall",
                          *options], terminal=True)
        try:
            self.wait_for(PROMPT)
        except BaseException:
            self.__exit__()
            raise

    def command(self, text):
        start = len(self.stdout)
        self.write(text + "\n")
        return self.wait_for(r"(?s)(.*?)" + PROMPT, start=start).group(1)

    def received(self, port):
        return int(re.search(r"RX-packets: (\d+)", self.command(f"show port stats {port}"))[1])

    def in_use(self):
        """mbufs that are neither in the pool nor in a cache, by testpmd's own dump."""
        text = self.command("dump_mempool")
        part = text[text.index("mb_pool"):]

        def number(name):
            found = re.search(rf"{name}=(\d+)", part)
            return int(found[1]) if found else 0  # Without a cache there is no such line.
        return number("populated_size") - number("total_cache_count") - number("common_pool_count")


def testpmd(tap):
    shutil.copy(BUILT, DRIVER)
    for cache in (0, 256):
        # net_null makes packets on one lcore and leaves them in net_ring, from where the other
        # lcore takes them to net_null, which frees them.
        with tap.group(f"dpdk-testpmd, cache {cache}"), \
                Testpmd(f"--mbcache={cache}", "--total-num-mbufs=8192", "--nb-cores=2",
                        eal=["--vdev=net_ring0", "--vdev=net_null0"]) as process:
            with tap.case(f"testpmd, cache {cache}: takes the ops by their name"):
                dump = process.command("dump_mempool")
                expect(re.search(r"ops_name: <deferred>", dump), f"dump_mempool says {dump[:600]}")
            with tap.case(f"testpmd, cache {cache}: more frees on another lcore than mbufs"):
                process.command("start")
                wait_until(lambda: process.received(0) > 5 * 8192, "frees")
                process.command("stop")
            with tap.case(f"testpmd, cache {cache}: every mbuf comes back"):
                # What the stop left in net_ring is taken out of it.
                process.command("set portlist 0")
                process.command("set fwd rxonly")
                process.command("start")
                wait_until(lambda: process.in_use() == 0, "the mbufs in net_ring")
                process.command("stop")
                expect_equal(process.in_use(), 0, "mbufs in use")
            process.write("quit\n")
            process.expect_exit(0)


def tests(tap):
    choice(tap)
    forwards(tap)
    testpmd(tap)


if __name__ == "__main__":
    main(tests)
