#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""How penstock is started and how it ends: options, exit codes, signals, reports, several at once.

A wrong invocation gets one line that says what to type, and touches nothing; a start that fails gives
one line as well and leaves nothing; and after each the right start works.
"""

import ctypes
import os
import pathlib
import re
import shutil
import signal
import subprocess

from support import (BINARY, EAL_DIRECTORY, PATIENCE_S, RUN_DIRECTORY, Penstock, Process, Traffic,
                     Vdev, Veth, counters, expect, expect_balance, expect_equal,
                     expect_nothing_left, lcores, main, run, wait_until)

from scapy.all import Ether, IP, UDP

FRAME = bytes(Ether(dst="02:00:00:00:00:02", src="02:00:00:00:00:01") / IP() / UDP()).ljust(60, b"\0")
FULL = ("tx_full", "tx_error")
NULL = ["--no-pci", "--no-telemetry", lcores(1), "--vdev=net_null0"]
QUIET = "--log-level=warning"
MAC = "02:00:00:00:00:01"

# Words of the command line, and what the line on stderr must say of them. Exit code 2.
WRONG = [
    ("--frobnicate --", r"--frobnicate: no EAL option"),
    ("-x", r"-x: no EAL option"),
    ("stray --", r"stray: a stray word"),
    ("-l", r"-l: wants a value"),
    ("--no-huge=1", r"--no-huge=1: takes no value"),
    ("--vdev=net_null0 --vdev=net_null0,size=128", r"a second device of that name; accepted"),
    ("--file-prefix=a --file-prefix b", r"--file-prefix: given twice; accepted: once"),
    ("--forward-mode=io --", r"--forward-mode=io: .* belongs after \"--\""),
    ("-i --", r"-i: .* belongs after \"--\""),
    ("-- --frobnicate", r"--frobnicate: no such option"),
    ("-- --forward_mode=io", r"--forward_mode=io: no such option"),
    ("-- stray", r"stray: a stray word"),
    ("-- --", r"--: a stray word"),
    ("-- -l 0,1", r"-l: "),
    ("-- --vdev=net_null0", r"--vdev=net_null0: an option of EAL, which belongs before"),
    ("-- --nb-ports=2", r"--nb-ports=2: known from testpmd, not offered: .*--portlist"),
    ("-- --txfreet=3", r"--txfreet=3: known from testpmd, not offered"),
    ("-- --nb-cores=0", r"--nb-cores=0: accepted: 1 to 128"),
    ("-- --portmask=0", r"--portmask=0: accepted: a hexadecimal mask"),
    ("-- --portlist=0,0", r"--portlist=0,0: accepted: .*each number once"),
    ("-- --max-pkt-len=63", r"--max-pkt-len=63: accepted: 64 to 9732"),
    ("-- --rx-offloads=checksum", r"--rx-offloads=checksum: accepted: .*ipv4_cksum"),
    ("-- --forward-mode", r"--forward-mode: wants a value"),
    ("-- --forward-mode=fly", r"--forward-mode=fly: accepted: io, macswap, mac, 5tswap, csum, rxonly, txonly"),
    ("-- --forward-mode=noisy", r"--forward-mode=noisy: known from testpmd, not offered: io, .*; accepted: io, "),
    ("-- --forward-mode=shared_rxq", r"known from testpmd, not offered: rxonly; .*; accepted: io, "),
    ("-- --forward-mode=ieee1588", r"known from testpmd, not offered: .*ptp4l.*; accepted: io, "),
    ("-- --forward-mode=recycle_mbufs", r"known from testpmd, not offered: io; .*; accepted: io, "),
    ("-- --flow-isolate-all", r"known from testpmd, not offered: flow create, .*action drop"),
    ("-- --hairpinq=1", r"known from testpmd, not offered: --port-topology=loop"),
    ("-- --hairpin-mode=1", r"known from testpmd, not offered: --port-topology=loop"),
    ("-- --geneve-parsed-port=1", r"known from testpmd, not offered: .*flow create matches the outer"),
    ("-- --vxlan-gpe-port=1", r"known from testpmd, not offered: .*flow create matches the outer"),
    ("-- --latencystats=1", r"known from testpmd, not offered: .*ping against --forward-mode=icmpecho"),
    ("-- --forward-mode=", r"--forward-mode=: accepted"),
    ("-- --port-topology=ring", r"--port-topology=ring: accepted: .*paired.*chained.*loop"),
    ("-- --burst=0", r"--burst=0: accepted: .*1 to 512"),
    ("-- --burst=513", r"--burst=513: accepted: .*1 to 512"),
    ("-- --burst=-1", r"--burst=-1: accepted"),
    ("-- --burst=many", r"--burst=many: accepted"),
    ("-- --burst=32.5", r"--burst=32.5: accepted"),
    ("-- --burst=32 --burst=32", r"--burst=32: given twice"),
    ("-- --tx-retries=1000001", r"--tx-retries=1000001: accepted: .*0 to 1000000"),
    ("-- --rxq=0", r"--rxq=0: accepted"),
    ("-- --rxq=0:1,0:2", r"--rxq=0:1,0:2: accepted"),
    ("-- --txd=1:", r"--txd=1:: accepted"),
    ("-- --txpkts=41", r"--txpkts=41: accepted"),
    ("-- --txpkts=64,0", r"--txpkts=64,0: accepted"),
    ("-- --txpkts=64,1,1,1,1,1,1,1,1", r"--txpkts=64,1,1,1,1,1,1,1,1: accepted"),
    ("-- --tx-ip=10.0.0,10.0.0.1", r"--tx-ip=10.0.0,10.0.0.1: accepted"),
    ("-- --tx-udp=65536", r"--tx-udp=65536: accepted"),
    ("-- --eth-peer=0,02:00", r"--eth-peer=0,02:00: accepted: .*PORT,MAC"),
    (f"-- --eth-peer=0,{MAC} --eth-peer=0,{MAC}", r"--eth-peer=.*: accepted: each port once"),
    ("-- --duration=soon", r"--duration=soon: accepted"),
    ("-- --duration=-1", r"--duration=-1: accepted"),
    ("-- --stats-period=nan", r"--stats-period=nan: accepted"),
    ("-- --memory=1M", r"--memory=1M: accepted: 64M to 1T"),
    ("-- --memory=much", r"--memory=much: accepted"),
    ("-- --mbuf-size=100", r"--mbuf-size=100: accepted"),
    ("-- --mbcache=513", r"--mbcache=513: accepted"),
    ("-- --total-num-mbufs=10", r"--total-num-mbufs=10: accepted"),
    ("-- --log-level=loud", r"--log-level=loud: accepted: .*debug"),
    ("-- --config=/nowhere/file.yaml", r"--config=/nowhere/file.yaml: .*No such file"),
    ("-- --config=/tmp/unknown.yaml", r"/tmp/unknown.yaml:2:1: .*\"speed\""),
    ("-- --config=/tmp/value.yaml", r"/tmp/value.yaml:1:8: .*burst: 1000"),
    ("-- --config=/tmp/broken.yaml", r"/tmp/broken.yaml:\d+:\d+: "),
    ("-- --report=/nowhere/report.json", r"--report=/nowhere/report.json: accepted"),
    ("-- --cmdline-file=/nowhere/commands", r"--cmdline-file=/nowhere/commands: accepted: a file"),
    ("-- --report=/tmp", r"--report=/tmp: accepted"),
]

FILES = {
    "unknown.yaml": "burst: 32\nspeed: 11\n",
    "value.yaml": "burst: 1000\n",
    "broken.yaml": "burst: 32\nrxq: [1\n",
    "good.yaml": "forward-mode: rxonly\nburst: 16\nduration: 0.1\neth-peer: [\"0,02:00:00:00:00:07\"]\n",
}

# EAL's words, ours, and what the line must say. Exit code 1.
FAILING = [
    ("", "", r"no port to work on"),
    ("-l 0 --vdev=net_null0", "", r"no lcore to forward with: .*-l 0,1"),
    ("--vdev=net_nothing0", "", r"net_nothing0"),
    ("--vdev=net_null0,colour=blue", "", r"--vdev=net_null0,colour=blue: its driver refused it"),
    ("--vdev=net_af_xdp0,iface=nowhere", "", r"--vdev=net_af_xdp0,iface=nowhere: .*nowhere"),
    ("--vdev=net_pcap0,rx_pcap=/nowhere.pcap", "", r"/nowhere.pcap"),
    ("--vdev=net_null0", "--rxq=7:1", r"--rxq names port 7, which is not there; ports are 0"),
    ("--vdev=net_null0", f"--eth-peer=5,{MAC}", r"--eth-peer names port 5, .*ports are 0"),
    ("--vdev=net_af_xdp0,iface=port-a", "--rxq=2", r"--rxq=2: port 0 \(net_af_xdp0\) has at most 1"),
    ("--vdev=net_af_xdp0,iface=port-a", "--txq=2", r"--txq=2: port 0 \(net_af_xdp0\) has at most 1"),
    ("--vdev=net_af_xdp0,iface=port-a,queue_count=2", "", r"net_af_xdp0"),
    ("--vdev=net_null0", "--total-num-mbufs=4000000", r"not enough memory .*--memory"),
    ("--vdev=net_null0", "--run-dir=/proc/nowhere", r"/proc/nowhere"),
]


def invoke(words, user=None):
    as_user = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"] if user else []
    # The copy, because where it was built may be closed to other users.
    return subprocess.run([*as_user, "/tmp/penstock", *words], capture_output=True, text=True,
                          timeout=PATIENCE_S, check=False, stdin=subprocess.DEVNULL)


def right_start(tap, after):
    with tap.case(f"{after}: nothing was touched, and the right start works"):
        expect_nothing_left()
        with Penstock(NULL[3:], "--duration=0.05") as penstock:
            penstock.expect_exit(0)
            expect_balance(penstock.report())
        expect_nothing_left()


def at_once(tap):
    for user in (None, 65534):
        who = "nobody" if user else "root"
        with tap.case(f"--help as {who}: every option, every mode, the exit codes"):
            done = invoke(["--help"], user)
            expect_equal((done.returncode, done.stderr), (0, ""), "exit code and stderr")
            for word in ("--forward-mode=MODE", "--config=FILE", "--report=FILE", "macswap",
                         "txonly", "exit codes", "130"):
                expect(word in done.stdout, f"--help does not mention {word}")
        with tap.case(f"--version as {who}"):
            done = invoke(["--version"], user)
            expect_equal((done.returncode, done.stderr), (0, ""), "exit code and stderr")
            expect(re.fullmatch(r"penstock \d+\.\d+\.\d+\n", done.stdout), done.stdout)
    with tap.case("--help after other words, right or wrong, still helps"):
        for words in (["-h"], ["--", "--help"], ["--frobnicate", "--help"]):
            expect(invoke(words).stdout.startswith("penstock [EAL options]"), f"{words}")
    with tap.case("without root, a right invocation says what it lacks"):
        done = invoke(NULL + ["--", QUIET, "--memory=256M"], 65534)
        expect_equal(done.returncode, 1, "exit code")
        one_line(done, 1, r"/run/penstock")


def every_option_of_testpmd(tap):
    """Offered, or known and answered with what to use: none is a stranger."""
    words = run(["strings", "/usr/bin/dpdk-testpmd"])
    names = set(re.findall(r"^ *(--[a-z][a-z0-9-]+)", words, re.MULTILINE)) - {"--help"}
    with tap.case(f"testpmd's {len(names)} options are known"):
        expect(len(names) > 80, f"{len(names)} options found in dpdk-testpmd")
        # With a value that none of ours takes: nothing is to start.
        offered = set(re.findall(r"^ *(--[a-z][a-z0-9-]+)", invoke(["--help"]).stdout, re.MULTILINE))
        expect(len(names & offered) > 20, f"offered of them: {names & offered}")
        strangers = []
        for name in sorted(names):
            said = invoke(["--", f"{name}=?"]).stderr
            instead = rf"penstock: {name}=\?: known from testpmd, not offered: \S.{{8,}}\n"
            if not (re.match(rf"penstock: {name}=\?: (?!known|no such)", said) if name in offered
                    else re.fullmatch(instead, said)):
                strangers.append(f"{name}: {said}")
        expect_equal(strangers, [], "options not answered with what to use")


def drivers_linked(tap):
    with tap.case("the drivers of AF_XDP and mlx5 are linked"):
        needed = run(["readelf", "-d", BINARY])
        for driver in ("librte_net_af_xdp.so", "librte_net_mlx5.so"):
            expect(driver in needed, f"{driver} is not among the libraries needed")


def one_line(done, code, pattern):
    expect_equal(done.returncode, code, f"exit code ({done.stderr.strip()})")
    expect_equal(done.stdout, "", "stdout")
    expect(re.fullmatch(r"penstock: .+\n", done.stderr), f"not one line: {done.stderr!r}")
    expect(re.search(pattern, done.stderr), f"/{pattern}/ is not in: {done.stderr.strip()}")


def wrong_invocations(tap):
    for name, text in FILES.items():
        pathlib.Path("/tmp", name).write_text(text)
    for line, pattern in WRONG:
        with tap.case(f"refused: {line}"):
            for user in (None, 65534):
                one_line(invoke(line.split(), user), 2, pattern)
            for folder in (RUN_DIRECTORY, EAL_DIRECTORY):
                expect(not folder.exists(), f"{folder} was made")
    right_start(tap, "after wrong invocations")


def failing_starts(tap):
    with tap.group("failing starts"), Veth("port-a") as veth:
        for eal, options, pattern in FAILING:
            with tap.case(f"start fails: {eal} -- {options}"):
                own_lcores = [] if "-l " in eal else [lcores(1)]
                words = ["--no-pci", "--no-telemetry", *own_lcores, *eal.split(), "--",
                         "--memory=256M", QUIET, *options.split()]
                one_line(invoke(words), 1, pattern)
                expect_nothing_left(veth)
        with tap.case("start fails: the file prefix of a living instance"):
            with Penstock(NULL[3:] + ["--file-prefix=twin"]) as first:
                done = invoke(NULL + ["--file-prefix=twin", "--", "--memory=256M", QUIET])
                one_line(done, 1, rf"twin.*{first.pid}")
                expect_equal(first.finish()["totals"]["unaccounted"], 0, "the living one's report")
        right_start(tap, "after failing starts")


def signals(tap):
    for number in (signal.SIGINT, signal.SIGTERM):
        with tap.group(number.name), Veth("port-a") as a, Veth("port-b") as b, \
                Traffic(FRAME, a.peer, b.peer):
            with tap.case(f"{number.name} under traffic: exit 0, a report that balances"):
                with Penstock(Vdev.af_xdp(a, b), "--forward-mode=macswap") as penstock:
                    wait_until(lambda: counters(b.peer)["rx_packets"] > 1000, "traffic")
                    report = penstock.finish(number)
                expect_balance(report, allowed_drops=FULL)
                expect("unaccounted 0\n" in penstock.stdout, penstock.stdout)
                expect_equal(penstock.stdout.count("macswap for"), 1, "reports on stdout")
                expect_nothing_left(a, b)
    with tap.group("second signal"), Veth("port-a") as a:
        with tap.case("a second signal ends it at once with 130"):
            with Penstock(Vdev.af_xdp(a)) as penstock:
                penstock.signal(signal.SIGINT)
                penstock.signal(signal.SIGTERM)
                penstock.expect_exit(130)
        with tap.case("the next start removes what that left"):
            with Penstock(Vdev.af_xdp(a)) as penstock:
                expect_balance(penstock.finish())
            expect_nothing_left(a)


def lost_device(tap):
    with tap.group("a device that goes"), Veth("port-a") as a:
        with tap.case("a second penstock on an interface is refused, the first goes on"):
            with Penstock(Vdev.af_xdp(a)) as penstock:
                done = invoke(["--no-pci", lcores(1), *Vdev.af_xdp(a), "--", QUIET])
                one_line(done, 1, r"has a net_af_xdp port of another penstock")
                expect_balance(penstock.finish())
        with tap.case("an interface deleted while running: exit 4, and which port"):
            with Penstock(Vdev.af_xdp(a)) as penstock:
                run(f"ip link del {a.name}")
                penstock.expect_exit(4)
                expect("port 0: the device was removed" in penstock.stderr, penstock.stderr)


def stuck_lcore(tap):
    """One thread is stopped as a debugger does; the others go on."""
    seize, interrupt, wait_all = 0x4206, 0x4207, 0x40000000
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    with tap.case("an lcore that does not move: exit 4, and which"):
        with Penstock(NULL[3:], QUIET) as penstock:
            tasks = pathlib.Path(f"/proc/{penstock.pid}/task")
            lcore = next(int(task.name) for task in tasks.iterdir()
                         if re.match(r"(rte|dpdk|lcore)-worker-?1$",
                                     (task / "comm").read_text().strip()))
            for request in (seize, interrupt):
                expect_equal(libc.ptrace(request, lcore, None, None), 0, "ptrace")
            penstock.wait_for(r"^penstock: lcore 1 has not moved", "stderr")
            # Its end is told to the one who traced it as well.
            wait_until(lambda: os.waitpid(lcore, wait_all | os.WNOHANG)[0] == lcore and
                       not (tasks / str(lcore)).exists(), "the end of the thread")
            penstock.expect_exit(4)
    with tap.case("the next start removes what the stuck one left"):
        with Penstock(NULL[3:]) as penstock:
            expect("is dead" in penstock.stderr, penstock.stderr)
            expect_balance(penstock.finish())
        expect_nothing_left()


def lost_report(tap):
    with tap.case("a report that cannot be written any more: exit 3"):
        folder = pathlib.Path("/tmp/gone")
        folder.mkdir()
        words = [BINARY, *NULL, "--", "--memory=256M", QUIET, f"--report={folder}/report.json"]
        with Process(words) as process:
            process.wait_for(r"^plan .*\n")
            shutil.rmtree(folder)
            process.signal(signal.SIGTERM)
            process.expect_exit(3)
            expect(f"{folder}/report.json" in process.stderr, process.stderr)


def durations_and_periods(tap):
    with tap.case("--duration ends it by itself"):
        with Penstock(NULL[3:], "--duration=0.3") as penstock:
            penstock.expect_exit(0)
            report = penstock.report()
        expect(report["duration_s"] >= 0.3, f"forwarded for {report['duration_s']} s")
        expect_balance(report)
    with tap.case("--stats-period: lines, without control sequences where there is no terminal"):
        with Penstock(NULL[3:], "--stats-period=0.05") as penstock:
            penstock.wait_for(r"(?s)(received +[\d.]+ Mpps.*\n.*port 0 net_null0.*\n.*lcore 1.*){3}")
            penstock.finish()
        expect("\033" not in penstock.stdout, "an escape sequence")
    with tap.case("--stats-period: in place on a terminal"):
        with Penstock(NULL[3:], "--stats-period=0.05", terminal=True) as penstock:
            # Up by as many lines as there were, and clear.
            penstock.wait_for(r"(?s)Mpps.*\033\[3A\033\[J.*Mpps.*\033\[3A\033\[J")
            penstock.finish()


SCHEMA = {
    "": {"schema", "penstock", "mode", "duration_s", "plan", "ports", "lcores", "tx_queues",
         "mempools", "drops", "totals"},
    "penstock": {"version", "dpdk", "kernel"},
    "ports": {"port", "name", "driver", "rx_packets", "rx_bytes", "tx_packets", "tx_bytes",
              "rx_missed", "xstats"},
    "lcores": {"lcore", "polls", "empty_polls", "rx_packets", "tx_packets", "cycles_per_packet"},
    "tx_queues": {"port", "queue", "users", "sharing", "completion"},
    "mempools": {"name", "ops", "size", "in_use_at_exit", "held_by_driver"},
    "totals": {"rx_packets", "tx_packets", "made", "dropped", "rx_pps", "tx_pps", "unaccounted"},
}


def report_schema(tap):
    with tap.case("--report: every key of the format, with the right kind of value"):
        with Penstock(["--vdev=net_null0", "--vdev=net_null1"], "--duration=0.1") as penstock:
            penstock.expect_exit(0)
            report = penstock.report()
        for place, keys in SCHEMA.items():
            value = report[place] if place else report
            for each in value if isinstance(value, list) else [value]:
                expect(keys <= each.keys(), f"{place or 'report'} lacks {keys - each.keys()}")
        expect_equal(report["schema"], 1, "schema")
        expect_equal(report["penstock"]["kernel"], os.uname().release, "kernel")
        expect(re.match(r"DPDK \d+\.\d+", report["penstock"]["dpdk"]), report["penstock"]["dpdk"])
        expect_equal([port["name"] for port in report["ports"]], ["net_null0", "net_null1"], "names")
        expect_equal({queue["sharing"] for queue in report["tx_queues"]}, {"exclusive"}, "sharing")
        totals = report["totals"]
        expect(isinstance(totals["rx_packets"], int) and totals["rx_packets"] > 0, "rx_packets")
        expect(isinstance(totals["rx_pps"], float) and totals["rx_pps"] > 0, "rx_pps")
        for key in ("rx_packets", "tx_packets"):
            for of in ("ports", "lcores"):
                expect_equal(sum(each[key] for each in report[of]), totals[key], f"{key} of {of}")


def configuration_file(tap):
    with tap.case("--config sets what the file says"):
        with Penstock(NULL[3:], "--config=/tmp/good.yaml") as penstock:
            penstock.expect_exit(0)
            expect_equal(penstock.report()["mode"], "rxonly", "mode")
    with tap.case("the command line goes over --config, wherever that stands"):
        with Penstock(NULL[3:], "--forward-mode=txonly", "--config=/tmp/good.yaml") as penstock:
            penstock.expect_exit(0)
            expect_equal(penstock.report()["mode"], "txonly", "mode")


def together(tap):
    with tap.group("several"), Veth("port-a") as a, Veth("port-b") as b, Veth("port-c") as c:
        with tap.case("three instances side by side, each with its own directory"):
            with Penstock(Vdev.af_xdp(a)) as one, Penstock(Vdev.af_xdp(b)) as two, \
                    Penstock(Vdev.af_xdp(c)) as three:
                for folder in (RUN_DIRECTORY, EAL_DIRECTORY):
                    names = {each.name for each in folder.iterdir() if each.is_dir()}
                    expect_equal(names, {f"penstock-{p.pid}" for p in (one, two, three)},
                                 f"folders in {folder}")
                expect_equal({(RUN_DIRECTORY / f"penstock-{one.pid}").stat().st_mode & 0o777},
                             {0o700}, "access to a run directory")
                for each in (two, one, three):
                    expect_balance(each.finish())
            expect_nothing_left(a, b, c)


def tests(tap):
    shutil.copy(BINARY, "/tmp/penstock")
    os.chmod("/tmp", 0o1777)
    at_once(tap)
    drivers_linked(tap)
    every_option_of_testpmd(tap)
    wrong_invocations(tap)
    failing_starts(tap)
    signals(tap)
    lost_device(tap)
    stuck_lcore(tap)
    lost_report(tap)
    durations_and_periods(tap)
    report_schema(tap)
    configuration_file(tap)
    together(tap)


if __name__ == "__main__":
    main(tests)
