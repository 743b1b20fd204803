#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Wrong invocations, one to a row: the exit code, one line on stderr that says what to type, nothing
left behind; and after each of them the right start works.

launch_test.py has the words of which nothing on the machine is asked.
"""

import os
import pathlib
import re
import shutil
import subprocess

from support import (BINARY, EAL_DIRECTORY, PATIENCE_S, XDP_OBJECT, Hugepages, Penstock, Process, Veth,
                     expect, expect_balance, expect_equal, expect_nothing_left, lcores, main, run,
                     xdp_program)

NULL = "--vdev=net_null0"
XDP = "--vdev=net_af_xdp0,iface=port-a"
PACKET = "--vdev=net_af_packet0,iface=port-a"
PCAP = "--vdev=net_pcap0,iface=port-a"
TAP = "--vdev=net_tap0,iface=new-tap"
NOBODY = 65534

# EAL's words, ours, exit code, and what the line must say.
ROWS = [
    # ---- lcores ----
    ("-l 0,99 " + NULL, "", 1, r"-l 0,99: no such processor.*-l 0,1"),
    ("-l 0,x " + NULL, "", 2, r"-l 0,x: no list of lcores; accepted: .*-l 0,1"),
    ("-l 0-1000 " + NULL, "", 2, r"-l 0-1000: more lcores than the 128"),
    ("-l 0 " + NULL, "", 1, r"no lcore to forward with: .*-l 0,1"),
    ("--lcores=0@0,1@999 " + NULL, "", 1, r"processor 999 is not there.*--lcores=0@0,1@0"),
    ("--lcores=zz " + NULL, "", 2, r"--lcores=zz: no list of lcores"),
    ("--lcores=0@0,1@0 --main-lcore=5 " + NULL, "", 2, r"--main-lcore=5: not among the lcores"),
    ("-c 0x0 " + NULL, "", 2, r"-c 0x0: no mask of lcores"),
    ("-c 0x1 -l 0 " + NULL, "", 2, r"-l 0: lcores chosen twice, by -c as well"),
    # ---- memory ----
    ("--socket-mem=512 " + NULL, "", 1,
     r"--socket-mem=512: \S+ of hugepages are free, 512M wanted: 'sysctl vm.nr_hugepages=512'"),
    ("--in-memory " + NULL, "", 1, r"\S+ of hugepages are free, 256M wanted"),
    ("--huge-dir=/tmp " + NULL, "", 1, r"--huge-dir=/tmp: no hugetlbfs is mounted there: 'mount"),
    ("--huge-dir=/nowhere " + NULL, "", 1, r"--huge-dir=/nowhere: No such file or directory"),
    ("-m 512 --socket-mem=512 " + NULL, "", 1, r"--socket-mem=512: \S+ of hugepages are free"),
    ("--no-huge --socket-mem=512 " + NULL, "", 2, r"--socket-mem=512: it is about hugepages, and --no-huge"),
    ("-m much " + NULL, "", 2, r"-m much: accepted: memory in MB.*-m 1024"),
    ("-m 99999999 " + NULL, "", 1, r"-m 99999999: this machine has .* in all"),
    (NULL, "--memory=1T", 1, r"--memory=1T: this machine has .* in all"),
    ("-m 16 " + NULL, "", 1, r"not enough memory for about .*--memory"),
    (NULL, "--total-num-mbufs=1000000", 1, r"not enough memory .*--total-num-mbufs"),
    ("--mbuf-pool-ops-name=foo " + NULL, "", 1, r"=foo: no such mempool; accepted: .*ring_mp_mc"),
    # ---- values of EAL's options ----
    ("--iova-mode=xx " + NULL, "", 2, r"--iova-mode=xx: accepted: pa or va"),
    ("--proc-type=secondary " + NULL, "", 2, r"--proc-type=secondary: accepted: primary"),
    ("--base-virtaddr=zz " + NULL, "", 2, r"--base-virtaddr=zz: accepted: an address"),
    ("--force-max-simd-bitwidth=77 " + NULL, "", 2, r"bitwidth=77: accepted: 0 .*512"),
    ("--vfio-intr=foo -n 4 " + NULL, "", 2, r"--vfio-intr=foo: accepted: legacy, msi or msix"),
    ("-n 0 " + NULL, "", 2, r"-n 0: accepted: memory channels"),
    ("--file-prefix=a%b " + NULL, "", 2, r"file prefix \"a%b\"; accepted: 1 to 64 letters"),
    ("-d /nowhere.so " + NULL, "", 1, r"-d /nowhere.so: it cannot be loaded: .*No such file"),
    ("-d /run/drivers/text.so " + NULL, "", 1, r"-d /run/drivers/text.so: it cannot be loaded: "),
    ("-d /run/drivers/open " + NULL, "", 1, r"everybody may write into /run/drivers/open"),
    # ---- devices ----
    ("--vdev=net_foo0", "", 1, r"--vdev=net_foo0: no driver that is installed .*net_af_xdp0"),
    ("-a nonsense", "", 2, r"-a nonsense: no PCI address; accepted: .*0000:03:00.0"),
    ("-a 0000:ff:1f.7", "", 1, r"-a 0000:ff:1f.7: no such PCI device; 'lspci -D'"),
    ("--vdev=net_null0,colour=blue", "", 1, r"net_null0,colour=blue: .*keys that it takes: size"),
    ("--vdev=net_null0,size=-1", "", 1, r"net_null0,size=-1: its driver refused it"),
    # ---- interfaces ----
    ("--vdev=net_af_xdp0", "", 2, r"which interface\? accepted: net_af_xdp0,iface=IFACE"),
    ("--vdev=net_af_xdp0,iface=nowhere", "", 1, r"no interface nowhere .*accepted: .*port-a"),
    ("--vdev=net_af_xdp0,iface=interface-name-too-long", "", 2, r"accepted: 1 to 15 letters"),
    ("--vdev=net_af_xdp0,iface=lo", "", 1, r"interface lo.*no XDP; --vdev=net_af_packet0"),
    (XDP + ",start_queue=5", "", 1, r"port-a has 1 queue, and these are 5 to 5; .*ethtool -L"),
    (XDP + ",queue_count=2", "", 1, r"port-a has 1 queue, and these are 0 to 1; .*ethtool -L"),
    (XDP + ",queue_count=0", "", 2, r"queue_count=0: accepted: .*queue_count from 1"),
    (XDP + ",xdp_prog=/nowhere.o", "", 1, r"/nowhere.o: No such file or directory; accepted"),
    (XDP + ",xdp_prog=/etc/passwd", "", 1, r"/etc/passwd is no XDP program"),
    (XDP + ",speed=fast", "", 1, r"speed=fast: .*keys that it takes: iface, start_queue"),
    (XDP + " --vdev=net_af_xdp1,iface=port-a", "", 1, r"port-a is that of --vdev=net_af_xdp0,.*one port"),
    (PACKET + " --vdev=net_af_packet1,iface=port-a", "", 1, r"interface port-a is that of --vdev=net_af_pa"),
    (PACKET + " " + XDP, "", 1, r"xdp0,iface=port-a: interface port-a is that of --vdev=net_af_packet0"),
    (XDP + " " + PACKET, "", 1, r"packet0,iface=port-a: interface port-a is that of --vdev=net_af_xdp0"),
    (PCAP + " --vdev=net_pcap1,iface=port-a", "", 1, r"port-a is that of --vdev=net_pcap0.*one port on"),
    (PCAP + " --vdev=net_tap0,remote=port-a", "", 1, r"port-a is that of --vdev=net_pcap0.*one port on"),
    (TAP + " --vdev=net_tap1,iface=new-tap", "", 1, r"interface new-tap is that of --vdev=net_tap0"),
    (XDP, "--total-num-mbufs=2047", 1, r"wants 2048 mbufs at once .*--total-num-mbufs=16383"),
    (XDP, "--rxd=1000", 1, r"a power of two of RX descriptors, .*--rxd=1024"),
    (XDP, "--txd=65", 1, r"--txd=65: port 0 .*TX rings as long as RX rings, which have 1024"),
    (XDP, "--txd=32768", 1, r"TX rings as long as RX rings.*leave --txd out, or give the same to both"),
    (XDP, "--rxd=65536", 2, r"--rxd=65536: accepted: 1 to 32768"),
    (XDP, "--mbuf-size=512", 1, r"port-a\): net_af_xdp wants mbufs of 2048 to .*--mbuf-size=2048"),
    (XDP, "--mbuf-size=9000", 1, r"net_af_xdp wants mbufs of 2048 to .*--mbuf-size=\d+"),
    (XDP, "--tx-budget=31", 2, r"--tx-budget=31: accepted: auto, default, 32 to 32768, or by port, such as 0:auto,1:64"),
    (XDP, "--tx-budget=0:64,0:32", 2, r"--tx-budget=0:64,0:32: accepted: .*each port once"),
    (XDP, "--tx-budget=1025", 1, r"=1025: port 0 .*TX rings of 1024 .*accepted: auto, or 32 to 1024;.*--txd"),
    (XDP, "--tx-budget=1:64", 1, r"--tx-budget names port 1, which is not there; ports are 0"),
    (XDP + " " + NULL, "--tx-budget=64", 1, r"port 1 \(net_null0\) has no budget .*such as --tx-budget=0:64"),
    (NULL, "--tx-budget=0:64", 1, r"--tx-budget=64: port 0 .* has no budget .*; leave --tx-budget out"),
    (XDP, "--rxq=2", 1, r"--rxq=2: port 0 \(net_af_xdp0\) has at most 1"),
    ("--vdev=net_af_packet0,iface=nowhere", "", 1, r"no interface nowhere .*accepted: .*port-a"),
    ("--vdev=net_af_packet0,iface=port-a,blocksz=17", "", 1, r"frame size exceeds block size"),
    ("--vdev=net_tap0,iface=interface-name-too-long", "", 2, r"accepted: 1 to 15 letters"),
    ("--vdev=net_tap0,iface=port-a", "", 1, r"no tap interface of that name: it may be taken"),
    ("--vdev=net_tap0", "--rxq=3 --txq=1", 1, r"as many TX queues as RX queues.*--txq=0:3"),
    # ---- files and sockets ----
    ("--vdev=net_pcap0,rx_pcap=/nowhere.pcap", "", 1, r"/nowhere.pcap: No such file or directory"),
    ("--vdev=net_pcap0,rx_pcap=/etc/passwd", "", 1, r"/etc/passwd: unknown file format"),
    ("--vdev=net_pcap0,rx_pcap=/tmp", "", 1, r"/tmp: Is a directory; accepted: a file"),
    ("--vdev=net_pcap0,tx_pcap=/nowhere/out.pcap", "", 1, r"accepted: a file in a folder that is"),
    ("--vdev=net_pcap0,iface=nowhere", "", 1, r"no interface nowhere .*accepted: .*port-a"),
    ("--vdev=net_memif0,role=client,socket=/tmp/m.sock", "", 1,
     r"nobody listens at socket /tmp/m.sock; start the side with role=server first"),
    ("--vdev=net_memif0,role=boss", "", 1, r"net_memif0,role=boss: .*Unknown role: boss"),
    ("--vdev=net_vhost0,iface=/nowhere/socket", "", 1, r"accepted: a file in a folder that is"),
    (NULL, "--report=/nowhere/report.json", 2, r"--report=/nowhere/report.json: accepted"),
    (NULL, "--run-dir=/proc/nowhere", 1, r"/proc/nowhere"),
]

# Capabilities that a process of another user has, its devices, and what the line must say.
LACKING = [
    ("net_admin,bpf,ipc_lock,sys_admin", XDP, r"lacks CAP_NET_RAW; run as root"),
    ("net_raw,bpf,ipc_lock,sys_admin", XDP, r"lacks CAP_NET_ADMIN; run as root"),
    ("net_raw,net_admin,bpf,sys_admin", XDP, r"lacks CAP_IPC_LOCK; run as root"),
    ("net_raw,net_admin,bpf,ipc_lock", XDP, r"lacks CAP_SYS_ADMIN .*; run as root"),
    ("", XDP, r"lacks CAP_NET_RAW, CAP_NET_ADMIN, CAP_BPF, CAP_IPC_LOCK, CAP_SYS_ADMIN"),
    ("", "--vdev=net_af_packet0,iface=port-a", r"lacks CAP_NET_RAW"),
    ("", "--vdev=net_tap0", r"lacks CAP_NET_ADMIN"),
    ("", "--vdev=net_pcap0,iface=port-a", r"port-a.*permission"),
]


def invoke(eal, options="", before=(), run_dir=None):
    own_lcores = [] if any(word in eal for word in ("-l ", "-c ", "--lcores")) else [lcores(1)]
    own_memory = [] if any(word in eal + options for word in ("-m ", "--memory")) else \
        ["--memory=256M"]
    no_pci = [] if "-a " in eal else ["--no-pci"]
    own_directory = [f"--run-dir={run_dir}"] if run_dir else []
    words = [*before, "/tmp/penstock", *no_pci, "--no-telemetry", *own_lcores, *eal.split(), "--",
             "--duration=0.1", *own_memory, *own_directory, *options.split()]
    return subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
                          stdin=subprocess.DEVNULL)


def as_nobody(capabilities=""):
    flags = ",".join("+" + each for each in capabilities.split(",") if each)
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
            *([f"--inh-caps={flags}", f"--ambient-caps={flags}"] if flags else [])]


def expect_refusal(done, code, pattern):
    expect_equal((done.returncode, done.stdout), (code, ""), f"code, stdout ({done.stderr.strip()})")
    lines = done.stderr.splitlines()
    expect(len(lines) == 1 and lines[0].startswith("penstock: "), f"not one line: {done.stderr!r}")
    expect(re.search(pattern, lines[0]), f"/{pattern}/ is not in: {lines[0]}")


def machine():
    """What an invocation might leave, beyond what expect_nothing_left() looks at. Other tests take and
    give hugepages meanwhile: those of ours belong to a file or to a process of this namespace."""
    return {
        "shm": sorted(os.listdir("/dev/shm")),
        "links": sorted((link.name, *((link / word).read_text() for word in ("flags", "mtu", "address")))
                        for link in pathlib.Path("/sys/class/net").iterdir()),
        "processes": sorted(p.name for p in pathlib.Path("/proc").glob("[0-9]*")),
        "files": sorted(p.name for p in Hugepages.folder.glob("*")),
        "root": sorted(os.listdir("/")),
    }


def expect_right_start(device):
    with Penstock([device], "--duration=0.02") as penstock:
        penstock.expect_exit(0)
        expect_balance(penstock.report())
        # What a driver tries and does without is no error of a start that works.
        expect(not re.search("(?m)^penstock: (error|warning)", penstock.stderr), penstock.stderr)


def expect_as_before(veth, before):
    expect_nothing_left(veth)
    expect_equal(machine(), before, "the machine")
    expect_right_start(NULL)


def rows(tap, veth):
    before = machine()
    for eal, options, code, pattern in ROWS:
        with tap.case(f"{eal} -- {options}".removesuffix(" -- ")):
            expect_refusal(invoke(eal, options), code, pattern)
            expect_as_before(veth, before)
    for device in (XDP, PACKET, TAP, PCAP):
        if device == TAP and not pathlib.Path("/dev/net/tun").exists():
            tap.skip(f"after all these, {device} starts", "this kernel has no tap devices")
            continue
        with tap.case(f"after all these, {device} starts"):
            expect_right_start(device)
            expect_as_before(veth, before)


def lacking(tap, veth):
    before = machine()
    own = pathlib.Path("/tmp/nobody")
    own.mkdir()
    os.chown(own, NOBODY, NOBODY)
    for capabilities, eal, pattern in LACKING:
        with tap.case(f"as nobody with '{capabilities}': {eal}"):
            expect_refusal(invoke(eal, before=as_nobody(capabilities), run_dir=own), 1, pattern)
            expect_as_before(veth, before)
    with tap.case("as nobody, without a run directory of its own"):
        expect_refusal(invoke(NULL, before=as_nobody()), 1, r"/run/penstock.*--run-dir=DIR")
        expect_as_before(veth, before)
    with tap.case("as nobody, the right start"):
        expect_equal(invoke(NULL, before=as_nobody(), run_dir=own).returncode, 0, "exit code")


def hugepages(tap, veth):
    with Hugepages(64) as pages:
        expect(pages.enough(), "this machine gives no hugepages")
        before = machine()
        for eal, user, pattern in (
                ("--socket-mem=1024", (), r"[\d.]+[MG] of hugepages are free, 1G wanted"),
                (f"--huge-dir={pages.folder}", as_nobody(), r"this user may not write there"),
                ("--socket-mem=64", as_nobody(), r"no hugetlbfs .* this user may write to")):
            with tap.case(f"hugepages: {eal} {'as nobody' if user else ''}"):
                done = invoke(f"{eal} {NULL}", before=user, run_dir="/tmp/nobody" if user else None)
                expect_refusal(done, 1, pattern)
                expect_as_before(veth, before)
        with tap.case("hugepages: enough of them, --socket-mem works"):
            done = invoke(f"--socket-mem=96 {NULL}", "--total-num-mbufs=8191")
            expect_equal(done.returncode, 0, f"exit code ({done.stderr})")
            expect_as_before(veth, before)
        run(f"umount {pages.folder}")
        with tap.case("hugepages: free and not mounted"):
            before = machine()
            expect_refusal(invoke(f"--socket-mem=64 {NULL}"), 1, r"'mount -t hugetlbfs")
            expect_as_before(veth, before)
        run(f"mount -t hugetlbfs -o pagesize=2M hugetlbfs {pages.folder}")


def of_others(tap, veth):
    before = machine()
    with tap.case("a file prefix that another DPDK application has"):
        testpmd = ["dpdk-testpmd", "--no-huge", "-m", "128", "--no-pci", "--no-telemetry", lcores(1),
                   "--file-prefix=twin", NULL, "--", "--total-num-mbufs=2048", "-i"]
        with Process(testpmd) as other:
            other.wait_for("testpmd>")
            files = sorted((EAL_DIRECTORY / "twin").iterdir())
            expect_refusal(invoke(f"--file-prefix=twin {NULL}"), 1,
                           r"twin/config is of a DPDK application that is running.*--file-prefix")
            expect_equal(sorted((EAL_DIRECTORY / "twin").iterdir()), files, "the other's files")
            other.write("quit\n")
            other.wait()
        shutil.rmtree(EAL_DIRECTORY / "twin", ignore_errors=True)
        expect_as_before(veth, before)
    with tap.case("an XDP program of someone else"):
        run(f"bpftool prog load {XDP_OBJECT} /sys/fs/bpf/foreign type xdp")
        run(f"bpftool net attach xdp pinned /sys/fs/bpf/foreign dev {veth.name}")
        number = xdp_program(veth.name)
        expect_refusal(invoke(XDP), 1, rf"XDP program {number} .*'ip link set dev port-a xdp off'")
        expect_equal(xdp_program(veth.name), number, "the program on the interface")
        run(f"ip link set dev {veth.name} xdp off")
        os.unlink("/sys/fs/bpf/foreign")
        expect_as_before(veth, before)
    with tap.case("an interface that is down: a start, and a warning"):
        run(f"ip link set {veth.name} down")
        done = invoke(XDP)
        expect_equal(done.returncode, 0, f"exit code ({done.stderr})")
        expect("port-a): the interface is down" in done.stderr, done.stderr)
        run(f"ip link set {veth.name} up")
        expect_as_before(veth, before)


def full(tap, veth):
    before = machine()
    with tap.case("/run without room for EAL's files"):
        run(f"mount -t tmpfs -o size=3M tmpfs {EAL_DIRECTORY.parent}")
        try:
            expect_refusal(invoke(NULL), 1, r"/run/dpdk/.*3M free there, and EAL's files take 7M")
        finally:
            run(f"umount {EAL_DIRECTORY.parent}")
        expect_as_before(veth, before)


def pci(tap):
    # Of a kind for which DPDK has no driver, should it come so far.
    folder = pathlib.Path("/sys/bus/pci/devices")
    for device in folder.iterdir() if folder.exists() else ():
        driver = (device / "driver").resolve().name
        if not (device / "driver").exists() or (device / "class").read_text()[:4] in ("0x02", "0x10"):
            continue
        with tap.case(f"a PCI device that a kernel driver has: {driver}"):
            expect_refusal(invoke(f"-a {device.name}"), 1,
                           rf"bound to the kernel's driver {driver}.*--bind=vfio-pci {device.name}")
            expect_equal((device / "driver").resolve().name, driver, "its driver")
        return
    tap.skip("a PCI device that a kernel driver has", "this machine has none that may be tried")


def tests(tap):
    shutil.copy(BINARY, "/tmp/penstock")
    os.chmod("/tmp", 0o1777)
    # Below folders that only root may write to, one of them open.
    for folder, mode in (("/run/drivers", 0o755), ("/run/drivers/open", 0o777)):
        os.mkdir(folder)
        os.chmod(folder, mode)
        pathlib.Path(folder, "text.so").write_text("no driver")
    with tap.group("wrong invocations"), Veth("port-a") as veth:
        rows(tap, veth)
        lacking(tap, veth)
        hugepages(tap, veth)
        of_others(tap, veth)
        full(tap, veth)
    pci(tap)


if __name__ == "__main__":
    main(tests)
