#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""net_xsk in the distribution's own dpdk-testpmd, loaded with -d: what a user of testpmd does with a
port, what comes out of the other side, and that every mbuf comes back.
"""

import os
import pathlib
import re
import shutil
import struct
import tempfile

from support import (ROOT, Process, Veth, Wire, counters, exchange, expect, expect_equal,
                     expect_frames, is_promiscuous, lcores, link, main, run, wait_until, xdp_program,
                     xdp_sockets)

from scapy.all import Ether, IP, UDP, Raw

BUILT = os.environ.get("PENSTOCK_NET_XSK",
                       str(ROOT / "build/drivers/net/xsk/librte_net_xsk.so"))
# EAL refuses a driver below a folder that anybody may write to, as the tree's may be; /run is the
# test's own.
DRIVER = "/run/librte_net_xsk.so"
PROMPT = r"testpmd> \Z"
MBUFS = 8192


class Testpmd(Process):
    """dpdk-testpmd at its prompt, on ports of net_xsk."""

    def __init__(self, interfaces, *options, workers=1, devargs="", mbufs=MBUFS,
                 preexec=None):
        vdevs = [f"--vdev=net_xsk{i},iface={getattr(each, 'name', each)}{devargs}"
                 for i, each in enumerate(interfaces)]
        super().__init__(["dpdk-testpmd", "--no-huge", "-m", "256", "--no-pci", "--no-telemetry",
                          "--no-shconf", lcores(workers), "-d", DRIVER, *vdevs, "--", "-i",
                          f"--total-num-mbufs={mbufs}", "--no-mlockall", *options], preexec=preexec,
                         terminal=True)
        try:
            self.wait_for(PROMPT)
        except BaseException:
            self.__exit__()
            raise

    def command(self, text):
        start = len(self.stdout)
        self.write(text + "\n")
        return self.wait_for(r"(?s)(.*?)" + PROMPT, start=start).group(1)

    def quit(self):
        self.write("quit\n")
        self.expect_exit(0)

    def xstats(self, port):
        text = self.command(f"show port xstats {port}")
        return {name: int(value) for name, value in re.findall(r"^(\w+): (\d+)\r?$", text, re.M)}

    def in_use(self):
        """mbufs that are neither in the pool nor in a cache, by testpmd's own dump."""
        text = self.command("dump_mempool")
        size = int(re.search(r"populated_size=(\d+)", text[text.index("mb_pool"):])[1])
        part = text[text.index("mb_pool"):]
        cached = int(re.search(r"total_cache_count=(\d+)", part)[1])
        common = int(re.search(r"common_pool_count=(\d+)", part)[1])
        return size - cached - common


def expect_clean(*interfaces):
    wait_until(lambda: not xdp_sockets(), "the kernel to close the AF_XDP sockets")
    for each in interfaces:
        expect(xdp_program(each.name) is None, f"{each.name} still carries an XDP program")
        expect(not is_promiscuous(each.name), f"{each.name} is still promiscuous")


def frames(count, length=60):
    # The numbered part makes each unlike the others.
    head = bytes(Ether(dst="02:00:00:00:00:02", src="02:00:00:00:00:01") /
                 IP(src="192.0.2.1", dst="198.51.100.1", id=1) / UDP(sport=1111, dport=2222, chksum=0))
    body = max(0, length - len(head) - 4)
    return [head + struct.pack(">I", n) + bytes(body) for n in range(count)]


def mac_swapped(frame):
    return frame[6:12] + frame[:6] + frame[12:]


def five_tuple_swapped(frame):
    packet = Ether(mac_swapped(frame))
    packet[IP].src, packet[IP].dst = packet[IP].dst, packet[IP].src
    packet[UDP].sport, packet[UDP].dport = packet[UDP].dport, packet[UDP].sport
    return bytes(packet)


def forwarding(tap):
    for mode, expected in (("io", lambda f: f), ("macswap", mac_swapped),
                           ("5tswap", five_tuple_swapped)):
        with tap.group(mode), Veth("port-a") as a, Veth("port-b") as b, \
                Testpmd([a, b], f"--forward-mode={mode}") as testpmd:
            testpmd.command("start")
            with Wire(a.peer) as inside, Wire(b.peer) as outside:
                for length in (60, 512, 1514):
                    with tap.case(f"{mode}: frames of {length} bytes arrive as they should"):
                        sent = frames(600, length)
                        seen = exchange(inside, outside, sent)
                        expect_frames(seen, [expected(frame) for frame in sent], mode)
            with tap.case(f"{mode}: nothing was copied, no completion was wrong"):
                stats = testpmd.xstats(1)
                expect_equal(stats["tx_q0_copies"], 0, "copies")
                expect_equal(stats["tx_q0_bad_completion"], 0, "bad completions")
                expect_equal(stats["tx_good_packets"], 1800, "sent")
            testpmd.command("stop")
            with tap.case(f"{mode}: stopped ports hold no mbuf, and start again"):
                testpmd.command("port stop all")
                expect_equal(testpmd.in_use(), 0, "mbufs in use")
                expect(xdp_program(a.name) is None, "a stopped port keeps its program")
                testpmd.command("port start all")
                expect(xdp_program(a.name) is not None, "a started port has no program")
                testpmd.command("start")
                with Wire(a.peer) as inside, Wire(b.peer) as outside:
                    sent = frames(64)
                    expect_frames(exchange(inside, outside, sent), [expected(f) for f in sent],
                                  "after a restart")
            with tap.case(f"{mode}: quit is clean"):
                testpmd.quit()
                expect_clean(a, b)


def sending(tap):
    with tap.group("txonly"), Veth("port-a") as a, \
            Testpmd([a], "--forward-mode=txonly", "--burst=64") as testpmd:
        with tap.case("txonly: every frame that is counted reaches the other side"):
            before = counters(a.peer)["rx_packets"]
            testpmd.command("start")
            wait_until(lambda: counters(a.peer)["rx_packets"] > before + 20000, "frames to come")
            testpmd.command("stop")
            stats = testpmd.xstats(0)
            seen = counters(a.peer)["rx_packets"] - before
            expect_equal(seen, stats["tx_good_packets"], "frames at the peer")
            expect_equal(counters(a.peer)["rx_bytes"], stats["tx_good_bytes"], "bytes at the peer")
        with tap.case("txonly: a burst is one call, and the budget has followed it"):
            expect_equal(stats["tx_q0_budget"], 64, "budget")
            expect_equal(stats["tx_q0_send_eagain"] <= 1, True, "EAGAINs but the first")
            expect(stats["tx_q0_sends"] <= stats["tx_good_packets"] / 64 + 2, "more calls than bursts")
        with tap.case("txonly: completions are taken in bulk"):
            expect(stats["tx_q0_reaps"] * 64 <= stats["tx_good_packets"], f"{stats['tx_q0_reaps']} reaps")
        with tap.case("txonly: port stop gives back what was in the rings"):
            testpmd.command("port stop 0")
            expect_equal(testpmd.in_use(), 0, "mbufs in use")
            testpmd.quit()
            expect_clean(a)


def receiving(tap):
    with tap.group("rxonly"), Veth("port-a") as a, \
            Testpmd([a], "--forward-mode=rxonly", "--rxd=512") as testpmd:
        testpmd.command("start")
        def arrived():
            stats = testpmd.xstats(0)
            return stats["rx_good_packets"], stats["rx_missed_errors"]

        with Wire(a.peer) as wire:
            with tap.case("rxonly: what fits into the ring is received"):
                for _ in range(10):
                    before = arrived()[0]
                    for frame in frames(200):
                        wire.send(frame)
                    wait_until(lambda: arrived()[0] == before + 200, "200 frames")
                expect_equal(arrived(), (2000, 0), "received and missed")
            with tap.case("rxonly: what does not fit is counted as missed"):
                for frame in frames(5000):
                    wire.send(frame)
                wait_until(lambda: sum(arrived()) == 7000, "7000 frames, received or missed")
        with tap.case("rxonly: quit while started is clean"):
            testpmd.quit()
            expect_clean(a)


def long_packets(tap):
    with tap.group("long packets"), Veth("port-a") as a, \
            Testpmd([a], "--max-pkt-len=9018", "--enable-scatter") as testpmd, \
            tap.case("--max-pkt-len is the interface's MTU, and 18 more"):
        expect_equal(pathlib.Path(f"/sys/class/net/{a.name}/mtu").read_text().strip(), "9000", "MTU")
        expect("MTU: 9000" in testpmd.command("show port info 0"), "MTU shown")
        testpmd.quit()
        expect_clean(a)


def information(tap):
    with tap.group("information"), Veth("port-a") as a, \
            Testpmd([a], devargs=",xdp_mode=skb,budget=64") as testpmd:
        with tap.case("show port info tells what was chosen"):
            text = testpmd.command("show port info 0")
            expect("skb copy budget 64" in text, text)
            expect(a.mac.upper() in text, text)
            expect("Link status: up" in text, text)
        with tap.case("MTU, MAC address and modes are those of the interface"):
            testpmd.command("port stop 0")
            testpmd.command("port config mtu 0 1400")
            testpmd.command("mac_addr set 0 02:cc:00:00:00:01")
            folder = pathlib.Path("/sys/class/net") / a.name
            expect_equal((folder / "mtu").read_text().strip(), "1400", "MTU")
            expect_equal((folder / "address").read_text().strip(), "02:cc:00:00:00:01", "MAC")
            testpmd.command("port start 0")
            testpmd.command("set promisc 0 on")
            expect("PROMISC" not in link(a.name)["flags"], "the flag would outlive the process")
            expect("promiscuity 1" in run(f"ip -d link show {a.name}"), "not promiscuous")
            testpmd.command("set promisc 0 off")
            expect("promiscuity 0" in run(f"ip -d link show {a.name}"), "still promiscuous")
        with tap.case("the link is followed"):
            run(f"ip link set {a.peer} down")
            wait_until(lambda: "Link status: down" in testpmd.command("show port info 0"), "link down")
            run(f"ip link set {a.peer} up")
            wait_until(lambda: "Link status: up" in testpmd.command("show port info 0"), "link up")
        with tap.case("a removed interface ends the port, not the program"):
            run(f"ip link del {a.name}")
            testpmd.wait_for("Now total ports is 0")
            expect("interface port-a was removed" in testpmd.stderr, testpmd.stderr[-300:])
            testpmd.quit()
            wait_until(lambda: not xdp_sockets(), "the sockets to be closed")


def refusals(tap):
    rows = [
        ("iface=nothere", "there is no interface 'nothere'"),
        ("", "devarg iface is missing"),
        ("iface=port-a,budget=5", "accepted is auto, or 32"),
        ("iface=port-a,bind=often", "accepted is auto, copy, zerocopy"),
        ("iface=port-a,filter=[udp:0]", "a port is 1"),
        ("iface=port-a,unknown=1", "unknown devarg 'unknown'"),
        ("iface=port-a,start_queue=7", "has 1 RX and 1 TX queues"),
        ("iface=port-a,iface=port-a", "given twice"),
    ]
    with tap.group("refusals"), Veth("port-a"):
        for arguments, message in rows:
            with tap.case(f"refused: {arguments or 'no devargs'}"):
                vdev = f"--vdev=net_xsk0,{arguments}".rstrip(",")
                with Process(["dpdk-testpmd", "--no-huge", "-m", "64", "--no-pci", "--no-telemetry",
                              "--no-shconf", lcores(1), "-d", DRIVER, vdev, "--", "-i"]) as process:
                    process.close_input()
                    process.wait()
                    expect(message in process.stderr + process.stdout,
                           f"no {message!r} in: {process.stderr[-500:]}")
        rows = [(["--mbuf-size=1500", "--total-num-mbufs=4096"], "has a data room of 1500 bytes; AF_XDP needs at least"),
                (["--total-num-mbufs=1050"], "needs at least 1088")]
        for options, message in rows:
            with tap.case(f"a mempool that cannot serve is refused: {options[0]}"):
                with Process(["dpdk-testpmd", "--no-huge", "-m", "256", "--no-pci", "--no-telemetry",
                              "--no-shconf", lcores(1), "-d", DRIVER, "--vdev=net_xsk0,iface=port-a",
                              "--", *options]) as process:
                    process.close_input()
                    process.wait()
                    expect(message in process.stderr + process.stdout,
                           f"no {message!r} in: {process.stderr[-500:]}")


def tests(tap):
    shutil.copy(BUILT, DRIVER)
    tempfile.tempdir = "/tmp"
    forwarding(tap)
    sending(tap)
    receiving(tap)
    long_packets(tap)
    information(tap)
    refusals(tap)


if __name__ == "__main__":
    main(tests)
