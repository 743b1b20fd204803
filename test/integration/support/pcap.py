# SPDX-License-Identifier: BSD-3-Clause
"""Captures as files, and what reads one and writes another: penstock and dpdk-testpmd."""

import os
import pathlib
import re

from scapy.all import RawPcapReader, RawPcapWriter

from . import Failed, Penstock, Process, lcores, wait_until


def write_pcap(path, frames):
    with RawPcapWriter(str(path), linktype=1, snaplen=65535) as writer:
        writer.write_header(None)
        for frame in frames:
            writer.write_packet(frame, sec=0, usec=0, caplen=len(frame), wirelen=len(frame))


def read_pcap(path):
    """(frame, its length on the wire) of each."""
    reader = RawPcapReader(str(path))
    try:
        return [(bytes(data), meta.wirelen) for data, meta in reader]
    finally:
        reader.close()


class Files:
    """Two ports: port 0 reads `frames`, port 1 nothing; what each writes is a file."""

    MACS = [f"02:70:63:61:70:0{port}" for port in range(2)]  # The driver's own: "pcap" and a number.

    def __init__(self, frames, folder="/tmp"):
        self.folder = pathlib.Path(folder)
        self.count = len(frames)
        write_pcap(self._path("in", 0), frames)
        write_pcap(self._path("in", 1), [])

    def _path(self, kind, port):
        return self.folder / f"{kind}{port}.pcap"

    def eal(self):
        return [f"--vdev=net_pcap{port},rx_pcap={self._path('in', port)},"
                f"tx_pcap={self._path('out', port)}" for port in range(2)]

    def written(self, port):
        return [frame for frame, _ in read_pcap(self._path("out", port))]


def penstock_files(mode, frames, *options):
    """All of `frames` through penstock: what each of the two ports wrote, and the report."""
    files = Files(frames)
    with Penstock(files.eal(), f"--forward-mode={mode}", "-i", *options) as penstock:
        penstock.command("start")
        wait_until(lambda: f"received {files.count} packets" in penstock.command("show fwd stats"),
                   f"{files.count} frames to be read")
        penstock.write("quit\n")
        penstock.expect_exit(0)
        return files.written(0), files.written(1), penstock.report()


class Testpmd(Process):
    """dpdk-testpmd at its prompt."""

    def __init__(self, eal, *options):
        super().__init__(["dpdk-testpmd", "--no-pci", "--no-telemetry", "--no-shconf", "--no-huge",
                          "-m", "512", f"--file-prefix=testpmd-{os.getpid()}", lcores(1), *eal,
                          "--", "-i", "--no-flush-rx", "--total-num-mbufs=8192", *options],
                         terminal=True)
        try:
            self.wait_for(r"testpmd> \Z")
        except Failed:
            self.__exit__()
            raise

    def command(self, text):
        start = len(self.stdout)
        self.write(text + "\n")
        return self.wait_for(r"(?s)\n(.*?)testpmd> \Z", start=start).group(1)

    def counted(self, direction, port=0):
        """Packets by the driver's count, "RX" or "TX"."""
        answer = self.command(f"show port stats {port}")
        return int(re.search(rf"{direction}-packets:\s*(\d+)", answer).group(1))

    def quit(self):
        self.write("quit\n")
        self.expect_exit(0)


def testpmd_files(mode, frames, *options):
    """The same through dpdk-testpmd: what each of the two ports wrote."""
    files = Files(frames)
    with Testpmd(files.eal(), f"--forward-mode={mode}", *options) as testpmd:
        testpmd.command("start")
        wait_until(lambda: testpmd.counted("RX") == files.count, f"{files.count} frames to be read")
        testpmd.command("stop")
        testpmd.quit()
        return files.written(0), files.written(1)
