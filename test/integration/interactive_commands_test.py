#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every command at the prompt of a terminal: what it does, its completion, its help, its faults."""

import re

from support import (ROOT, Failed, Penstock, Vdev, Veth, Wire, counters, exchange, expect, expect_balance,
                     expect_equal, expect_frames, expect_nothing_left, link, main, wait_until)

FRAMES = [bytes.fromhex("020000000002020000000001 88b5") + bytes([n]) * 46 for n in range(40)]
SWAPPED = [frame[6:12] + frame[:6] + frame[12:] for frame in FRAMES]

# A line of each command. After each of its words comes the next, or the end. "<hint>=word": the word is
# not offered, but the hint in its place.
LINES = """start
start tx_first <bursts>=4
stop
quit
help show port
load <file>=lab.txt
show fwd stats all
clear fwd stats
show plan
show config fwd
show config cores
show config rxtx
show config txpkts
show mempool
show tx all
show tx 0
show port stats all
show port xstats 0
show port info 1
show port summary all
clear port stats 0
clear port xstats all
port start 1
port stop all
set fwd macswap
set eth-peer 0 <mac>=02:00:00:00:00:01
set burst <n>=64
set txpkts <txpkts>=64,64
set tx-ip <tx-ip>=192.0.2.1,192.0.2.2
set tx-udp <tx-udp>=9,9
set tx-retries <n>=3
set port-topology loop
set log-level info
set duration <seconds>=9
set rxq <rxq>=1
set txq <txq>=1
set rxd <rxd>=512
set txd <txd>=512
set tx-budget auto
set tx-budget <tx-budget>=0:auto
set portlist <portlist>=0,1
set portmask <mask>=0x3
set corelist <corelist>=1
set coremask <mask>=0x2
set nbcore <n>=1
set nb-cores <n>=1
set max-pkt-len <bytes>=1518
set rx-offloads <rx-offloads>=scatter
set tx-offloads <tx-offloads>=multi_segs
set flowgen-flows <n>=8
set txonly-multi-flow on
flow validate 0 egress pattern udp dst is <0..65535>=53 / end actions count / end
flow list 0 group <0..4294967295>=1
flow query 0 <rule>=0 count
flow destroy 0 rule <rule>=0
flow flush 0
flow create 0 ingress pattern eth / ipv4 / end actions drop / end""".splitlines()


def words(text):
    """Without the line editor's control sequences."""
    return re.sub(r"\033\[[0-9;]*[A-Za-z]|\033[A-Z]|\r", "", text)


class Session:
    def __init__(self, penstock):
        self.penstock = penstock

    def ask(self, command):
        """The answer, without the line that was typed."""
        return words(self.penstock.command(command)).split("\n", 1)[-1]

    def typed(self, keys):
        """What is on the screen after keys that are no whole line; the line is given up."""
        start = len(self.penstock.stdout)
        self.penstock.write(keys + "\x03")
        # The line is drawn anew, then given up: the prompt is there at its end.
        match = self.penstock.wait_for(r"(?s)(.*)\r\r?\npenstock> \Z", start=start)
        return words(match.group(1))

    def listed(self, before):
        """What `?` lists behind `before`: word to help."""
        found = re.findall(r"^ (\S*) ?\[(.*?)\]: (.*)$", self.typed(before + "?"), re.M)
        return {word or hint: text for word, hint, text in found}


def completion(tap, session):
    for line in LINES:
        with tap.case(f"every word of it is offered: {line}"):
            before = ""
            for part in line.split():
                hint, _, word = part.rpartition("=")
                listed = session.listed(before)
                expect((hint or word) in listed, f"{before!r}: {hint or word} is not in {listed}")
                expect(all(listed.values()), f"{before!r}: no help in {listed}")
                before += f"{word} "
            listed = session.listed(before)
            expect("RETURN" in listed, f"{before!r}: no end in {listed}")
    with tap.case("each word is listed once"):
        text = session.typed("?")
        first = re.findall(r"^ (\S+) \[", text, re.M)
        expect_equal(len(first), len(set(first)), f"words in {text}")
        expect_equal(sorted(first), sorted({line.split()[0] for line in LINES}), "first words")
    with tap.case("Tab finishes a word, lists several, and knows where there is nothing"):
        expect_equal(session.typed("sho\tpo\tinf\t"), "show port info ", "three words finished")
        expect_equal(session.typed("q\t"), "quit ", "one word finished")
        several = session.typed("st\t")
        expect(re.fullmatch(r"st\n start \[start\]: .+\n stop \[stop\]: .+\npenstock> st", several),
               several)
        expect_equal(session.typed("show zz\t"), "show zz", "nothing")
    with tap.case("what Tab finished runs"):
        session.penstock.write("show pl\t")
        expect("plan (" in session.ask(""), "show plan")


def shown(tap, session, a, b, wire_a, wire_b):
    ask = session.ask
    rx, tx = counters(a.name)["rx_packets"], counters(b.name)["tx_packets"]
    with tap.case("show port stats: what the kernel counted"):
        ask("start")
        expect_frames(exchange(wire_a, wire_b, FRAMES), FRAMES, "forwarded")

        def agree():
            packets = re.findall(r"[RT]X-packets: (\d+)", ask("show port stats all"))
            kernel = [counters(a.name)["rx_packets"] - rx, counters(b.name)["tx_packets"] - tx]
            return [int(packets[0]), int(packets[3])] == kernel == [40, 40]
        wait_until(agree, "driver and kernel to agree")
        expect(re.search(r"in the [\d.]+ s since the last show: RX 0 pps 0 bit/s", ask(
            "show port stats 0")), "rates")
    with tap.case("clear port stats: shown from 0, the report keeps its sum"):
        expect("port 0 shown from 0" in ask("clear port stats 0"), "answer")
        expect_equal(re.findall(r"[RT]X-packets: (\d+)", ask("show port stats 0")), ["0", "0"], "0")
        expect_equal(re.findall(r"TX-packets: (\d+)", ask("show port stats 1")), ["40"], "other")
        expect("total: received 40 " in ask("show fwd stats"), "the report")
    with tap.case("show port xstats, and clear"):
        expect("rx_good_packets: 40\n" in ask("show port xstats 0"), "good packets")
        ask("clear port xstats all")
        expect("rx_good_packets: 0\n" in ask("show port xstats 0"), "after clear")
    with tap.case("show fwd stats, and clear"):
        ask("clear fwd stats all")
        expect("total: received 0 " in ask("show fwd stats all"), "after clear")
        expect_frames(exchange(wire_a, wire_b, FRAMES), FRAMES, "forwarded")
        expect("total: received 40 " in ask("show fwd stats"), "since clear")
        expect("total: received 40 " in ask("stop"), "stop shows the same")
        ask("start")
    with tap.case("show port summary and info: the interface as the kernel knows it"):
        rows = re.findall(r"^  (\d) +(\S+) +(\S+) +(\S+) +(\S+) +(\S+) ", ask(
            "show port summary all"), re.M)
        expect_equal(rows, [(str(i), link(each.name)["address"], f"net_af_xdp{i}", "net_af_xdp",
                             "started", "up") for i, each in enumerate((a, b))], "rows")
        text = ask("show port info 1")
        expect(f"interface {b.name}," in text and f"MTU {link(b.name)['mtu']}," in text, text)
        expect("promiscuous on" in text, text)
    with tap.case("show mempool: what the lcore's cache and the driver's rings leave"):
        row = re.search(r"^  penstock_0 +\S+ +(\d+) +(\d+) +(\d+) +250 ", ask("show mempool"), re.M)
        size, used, available = map(int, row.groups())
        expect_equal(used + available, size, "in use and available")
        expect(used >= 4096, f"two ports of 2048 descriptors hold {used}")
    with tap.case("show plan and show config"):
        expect(re.search(r"^  1 +0\.0 1\.0 +0\.0: 1, exclusive", ask("show plan"), re.M), "plan")
        text = ask("show config")
        for option, value in (("forward-mode", "io"), ("burst", "32"), ("interactive", "on")):
            expect(re.search(rf"^  {option} +{value} ", text, re.M), f"{option} in {text}")
        expect("plan (" in ask("show config fwd") and "plan (" in ask("show config cores"), "plans")


def flows(ask, wire, *commands):
    """How many flows are in the first frames that are made after the commands."""
    ask("stop")
    wire.drain()
    for command in commands:
        ask(command)
    ask("start")
    return len({wire.receive()[26:38] for _ in range(40)})


def changed(tap, session, wire_a, wire_b):
    """What changes while frames pass."""
    ask = session.ask
    paused = r"; forwarding paused for \d+\.\d\d ms\n"
    for command, answer in (("set burst 64", "burst 64"), ("set tx-retries 2", "tx-retries 2"),
                            ("set txpkts 100", "txpkts 100"),
                            ("set port-topology chained", "port-topology chained"),
                            ("set tx-ip 192.0.2.1,192.0.2.2", "tx-ip 192.0.2.1,192.0.2.2"),
                            ("set tx-udp 7,8", "tx-udp 7,8"),
                            ("set eth-peer 1 02:00:00:00:00:77", "eth-peer 1,02:00:00:00:00:77")):
        with tap.case(f"{command}: done, and forwarding goes on"):
            seen = ask(command)
            expect(re.fullmatch(re.escape(answer) + paused, seen), seen)
            expect_equal(ask(command), f"{answer}, as it was\n", "once more")
            expect_frames(exchange(wire_a, wire_b, FRAMES), FRAMES, "forwarded")
    with tap.case("set fwd: another mode, the counts go on"):
        expect(re.fullmatch("forward-mode macswap" + paused, ask("set fwd macswap")), "answer")
        expect_frames(exchange(wire_a, wire_b, FRAMES), SWAPPED, "forwarded")
    with tap.case("set fwd txonly makes what set txpkts, tx-ip and eth-peer said"):
        ask("set fwd txonly")
        frame = wire_b.receive()
        expect_equal(len(frame), 100, "length")
        expect_equal(frame[:6].hex(), "020000000077", "destination")
        expect_equal(frame[26:38].hex(), "c0000201c000020200070008", "addresses and ports")
        for value, several in (("on", True), ("off", False)):
            seen = flows(ask, wire_b, f"set txonly-multi-flow {value}")
            expect_equal(seen > 1, several, f"several flows with {value}")
    with tap.case("set flowgen-flows: as many flows"):
        for count in (3, 5):
            expect_equal(flows(ask, wire_b, "set fwd flowgen", f"set flowgen-flows {count}"), count,
                         "flows")
        ask("set fwd io")
        wire_a.drain()
        wire_b.drain()
    with tap.case("set portlist and port stop: a port that does not forward; and back"):
        ask("set portlist 0")
        expect_frames(exchange(wire_a, wire_a, FRAMES), FRAMES, "port 0 alone sends back")
        text = ask("set portlist 0,1")
        expect(text.startswith("portlist 0,1; forwarding paused"), text)
        expect_frames(exchange(wire_a, wire_b, FRAMES), FRAMES, "forwarded")
    with tap.case("set nbcore, corelist and masks: the plan as it is asked for"):
        for command in ("set nbcore 1", "set corelist 1", "set coremask 0x2", "set portmask 0x3"):
            expect(ask(command).startswith(command.split()[1].replace("nbcore", "nb-cores")), command)
        expect_frames(exchange(wire_a, wire_b, FRAMES), FRAMES, "forwarded")
    with tap.case("port stop at rest, port start"):
        ask("stop")
        seen = ask("port stop 0")
        expect_equal(seen, "port 0 stopped\n", "answer")
        expect(re.search(r"^  0 .* stopped", ask("show port summary 0"), re.M), "summary")
        expect(ask("start").startswith("error: "), "start with a port that is stopped")
        expect_equal(ask("port start 0"), "port 0 started\n", "answer")
        expect("forwarding: io" in ask("start"), "start")
        expect_frames(exchange(wire_a, wire_b, FRAMES), FRAMES, "forwarded")
    with tap.case("start tx_first: so many bursts from each TX queue, and then it forwards"):
        ask("stop")
        ask("set burst 4")
        wire_b.drain()
        before = counters(wire_b.interface)["rx_packets"]
        ask("start tx_first 3")
        wait_until(lambda: counters(wire_b.interface)["rx_packets"] - before == 12, "12 frames")
        wire_a.drain()
        wire_b.drain()
        expect_frames(exchange(wire_a, wire_b, FRAMES), FRAMES, "forwarded")
    with tap.case("settings that need no pause"):
        expect_equal(ask("set log-level warning"), "log-level warning\n", "log-level")
        expect_equal(ask("set duration 3600"), "duration 3600\n", "duration")


def set_up(tap):
    """What a port is set up with, as the plan and the port then have it."""
    with tap.group("set up"), Penstock([f"--vdev=net_null{n}" for n in range(2)], "-i",
                                       terminal=True) as penstock:
        session = Session(penstock)
        for command, look, seen in (("set rxq 2", "show plan", "port 1: 2 rx queues of "),
                                    ("set txq 3", "show plan", r"port 1: .*, 3 tx queues of "),
                                    ("set rxd 512", "show plan", "port 1: 2 rx queues of 512, "),
                                    ("set txd 256", "show plan", r"port 1: .* 3 tx queues of 256, "),
                                    ("set max-pkt-len 1018", "show port info 1", " MTU 1000,")):
            with tap.case(f"{command}: {look}"):
                expect(not re.search(seen, session.ask(look)), f"{seen} before")
                expect_equal(session.ask(command), command.removeprefix("set ") + "\n", "answer")
                expect(re.search(seen, session.ask(look)), f"{seen} after: {session.ask(look)}")
        for option in ("rx-offloads scatter", "tx-offloads multi_segs"):
            with tap.case(f"set {option}: refused by a driver without it"):
                expect(re.match(r"error: --\w+-offloads=\w+: port 0 \(net_null0\) has no ",
                                session.ask(f"set {option}")), "answer")
        with tap.case("set duration: it ends by itself"):
            session.ask("start")
            penstock.write("set duration 1\n")
            penstock.expect_exit(0)
            expect(penstock.report()["totals"]["rx_packets"] > 0, "nothing was forwarded")
    with tap.group("offloads"), Penstock(Vdev.tap("tap-p"), "-i", terminal=True) as penstock:
        session = Session(penstock)
        for option in ("rx-offloads scatter", "tx-offloads multi_segs"):
            with tap.case(f"set {option}: of a driver that has it"):
                expect_equal(session.ask(f"set {option}"), f"{option}\n", "answer")
                name, value = option.split()
                expect(re.search(rf"^  {name} +{value} ", session.ask("show config"), re.M), "config")


def topologies(tap):
    """Three ports: with two, chained is paired."""
    with tap.group("topologies"), Veth("port-a") as a, Veth("port-b") as b, Veth("port-c") as c, \
            Wire(a.peer) as wire_a, Wire(b.peer) as wire_b, Wire(c.peer) as wire_c, \
            Penstock(Vdev.af_xdp(a, b, c), "-i", terminal=True) as penstock:
        session = Session(penstock)
        session.ask("start")
        for topology, out in (("chained", wire_c), ("loop", wire_b), ("paired", wire_a)):
            with tap.case(f"set port-topology {topology}: from port 1"):
                expect(f"port-topology {topology};" in session.ask(f"set port-topology {topology}"),
                       "answer")
                expect_frames(exchange(wire_b, out, FRAMES), FRAMES, "forwarded")


def rules(tap):
    """Flow rules from validate to flush, on a driver that takes every one and counts nothing."""
    rule = "ingress pattern eth / end actions count / end"
    with tap.group("flow rules"), Penstock(["--vdev=net_failsafe0,exec(true)"], "-i",
                                           terminal=True) as penstock:
        session = Session(penstock)
        listed = "ID\tGroup\tPrio\tAttr\tRule\n0\t0\t0\ti--\tETH => COUNT\n"
        for command, answer in ((f"validate 0 {rule}", "Flow rule validated\n"), ("list 0", ""),
                                (f"create 0 {rule}", "Flow rule #0 created\n"), ("list 0", listed),
                                ("list 0 group 1", listed.splitlines(True)[0]),
                                ("query 0 5 count", "error: no flow rule 5 on port 0 (net_failsafe0); "
                                 "'flow list 0' shows its rules\n"),
                                ("query 0 0 count", "error: port 0 (net_failsafe0): net_failsafe refuses "
                                 "the query of flow rule 0: Operation not permitted\n"),
                                ("flush 0", ""), ("list 0", ""),
                                (f"create 0 {rule}", "Flow rule #0 created\n"),
                                ("destroy 0 rule 0", "Flow rule #0 destroyed\n"), ("list 0", "")):
            with tap.case(f"flow {command}"):
                expect_equal(session.ask(f"flow {command}"), answer, "answer")


FAULTS = (
    ("strat", '"strat": accepted: start, stop, help, show, clear, port, set, flow, load, quit'),
    ("show", 'line ends after "show": accepted: fwd, plan, config, mempool, tx, port'),
    ("show port", 'line ends after "show port": accepted: stats, xstats, info, summary'),
    ("show port stats 7", '"7" after "show port stats": accepted: all, 0, 1'),
    ("clear port stats", 'line ends after "clear port stats": accepted: all, 0, 1'),
    ("port stop x", '"x" after "port stop": accepted: all, 0, 1'),
    ("show config all", '"all" after "show config": accepted: fwd, cores, rxtx, txpkts, the end'),
    ("show plan now", '"now" after "show plan": accepted: the end of the line'),
    ("start 5", '"5" after "start": accepted: tx_first, the end of the line'),
    ("start tx_first 0", "start tx_first 0: accepted: 1 to 1000000"),
    ("start tx_first", "already forwarding; type stop, and then start tx_first again"),
    ("set burst 0", "--burst=0: accepted: 1 to 512"),
    ("set burst", 'line ends after "set burst": accepted: <n>'),
    ("set txpkts 20", "--txpkts=20: accepted: 42 to 9728"),
    ("set eth-peer 0 zz", "--eth-peer=0,zz: accepted: PORT,MAC"),
    ("set eth-peer 5 02:00:00:00:00:01", '"5" after "set eth-peer": accepted: 0, 1'),
    ("set fwd nothing", '"nothing" after "set fwd": accepted: io, '),
    ("set rxq 2", "rxq"),
    ("load /nowhere", "/nowhere: no such file; accepted: a text file of commands"),
    ("load /tmp", "/tmp: not a regular file; accepted: "),
    ("help nothing", 'no command begins with "nothing"'),
    ("set promisc all on", '"set promisc": known from testpmd, not offered: '),
)


def faults(tap, session, wire_a, wire_b):
    for command, answer in FAULTS:
        with tap.case(f"one line, and nothing else happens: {command}"):
            before = session.ask("show config")
            seen = session.ask(command)
            expect(seen.startswith("error: ") and seen.count("\n") == 1 and answer in seen, seen)
            expect_equal(session.ask("show config"), before, "configuration")
    with tap.case("it still forwards"):
        expect_frames(exchange(wire_a, wire_b, FRAMES), FRAMES, "forwarded")


def files(tap, session, folder):
    good, bad = folder / "good.txt", folder / "bad.txt"
    good.write_text("# a lab\nset burst 16\n\nshow plan  # and look\n")
    bad.write_text("set burst 17\nset burst 0\nset burst 18\n")
    with tap.case("load: every line, shown before its answer"):
        text = session.ask(f"load {good}")
        expect(re.search(r"(?s)> set burst 16\nburst 16.*> show plan\nplan \(", text), text)
    with tap.case("load: the first error ends it, with file and line"):
        text = session.ask(f"load {bad}")
        expect(f"error: {bad}:2: --burst=0: accepted: 1 to 512\n" in text, text)
        expect(re.search(r"^  burst +17 ", session.ask("show config"), re.M), "line 1 stays done")


def helps(tap, session):
    with tap.case("help: every command; help of some"):
        text = session.ask("help")
        for line in LINES:
            first = re.match(r"\S+( [^ <]+(?!\S))?", line)[0]
            seen = session.ask(f"help {first}")
            expect(all(re.match(rf"  {first.split()[0]}\b.* \S|    \S", row)
                       for row in seen.splitlines()) and seen, f"help {first}: {seen}")
            expect(re.search(rf"^  {line.split()[0]}\b", text, re.M), f"{line} in {text}")
        expect_equal(session.ask("help all"), text, "help all")
        expect_equal(set(re.findall(r"^  (\w+ \w+)", session.ask("help clear"), re.M)),
                     {"clear fwd", "clear port"}, "help clear")
    with tap.case("help of a flow rule: what may come next"):
        for begun, row in (("", "    create  +make a rule"), (" create", "    0  +net_af_xdp0"),
                           (" create 0 pattern esp", "    spi  +security parameters index"),
                           (" flush 0", "    RETURN  +end of the line")):
            seen = session.ask(f"help flow{begun}")
            expect(re.search(rf"^{row}$", seen, re.M), f"help flow{begun}: {seen}")
        expect("no command begins with" in session.ask("help flow create 0 pattern nothing"), "nothing")


def testpmd(tap, folder):
    """Every command that testpmd has: it runs, or is answered with what to use."""
    rows = [line.split(maxsplit=1)
            for line in (ROOT / "test/data/testpmd/commands.txt").read_text().splitlines()
            if not line.startswith("#")]
    lab = folder / "lab.txt"
    lab.write_text("show plan\n")
    # Port 0 takes flow rules.
    with Penstock(["--vdev=net_failsafe0,exec(true)", "--vdev=net_null0"], "-i") as penstock:
        session = Session(penstock)
        with tap.case(f"testpmd's {len(rows)} commands: each is had, or what to use is said"):
            wrong = []
            for sign, line in rows:
                if sign == "+":
                    seen = "" if line == "quit" else session.ask(line.replace("lab.txt", str(lab)))
                    good = "error: " not in seen
                else:
                    seen = session.ask(line)
                    # Not merely what is accepted.
                    good = re.match(r'error: ".*": known from testpmd, not offered: (?!accepted)..',
                                    seen)
                if not good:
                    wrong.append(f"{sign} {line}: {seen.strip()}")
            expect(len(rows) > 300 and not wrong, "\n".join(wrong))
        penstock.write("quit\n")
        penstock.expect_exit(0)


def start_files(tap, folder):
    """--cmdline-file, with a prompt and without."""
    null = ["--vdev=net_null0"]
    path = folder / "start.txt"
    with tap.case("--cmdline-file without -i: its commands, then it forwards"):
        path.write_text("set burst 7\nshow plan\n")
        with Penstock(null, f"--cmdline-file={path}") as penstock:
            penstock.wait_for(r"(?s)> set burst 7\nburst 7\n> show plan\nplan ")
            report = penstock.finish()
            expect(report["totals"]["rx_packets"] > 0, "nothing was forwarded")
            expect_balance(report)
    with tap.case("--cmdline-file with -i: its commands, then the prompt"):
        path.write_text("start\n")
        with Penstock(null, "-i", f"--cmdline-file={path}") as penstock:
            expect("forwarding: io" in penstock.stdout, penstock.stdout)
            expect("already forwarding" in penstock.command("start"), "it forwards")
            penstock.write("quit\n")
            penstock.expect_exit(0)
    with tap.case("--cmdline-file with quit: report, exit 0"):
        path.write_text("start\nstop\nquit\nshow nothing\n")
        with Penstock(null, f"--cmdline-file={path}", wait=False) as penstock:
            penstock.expect_exit(0)
            expect_balance(penstock.report())
    for text, fault in (("set burst 0\n", f": {path}:1: --burst=0: accepted: 1 to 512"),
                        ("\n# x\nstart\nstrat\n", f': {path}:4: "strat": accepted: '),
                        (None, f"={path}: accepted: a file that can be read")):
        with tap.case(f"--cmdline-file with a fault: exit 2, one line, nothing left ({text!r})"):
            path.unlink(missing_ok=True)
            if text is not None:
                path.write_text(text)
            with Penstock(null, "-i", f"--cmdline-file={path}", wait=False) as penstock:
                penstock.expect_exit(2)
                lines = [line for line in penstock.stderr.splitlines() if "info:" not in line]
                expect(len(lines) == 1 and f"penstock: --cmdline-file{fault}" in lines[0],
                       penstock.stderr)
            expect_nothing_left()


def tests(tap):
    import pathlib
    import tempfile
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        with tap.group("at a terminal"), Veth("port-a") as a, Veth("port-b") as b, \
                Wire(a.peer) as wire_a, Wire(b.peer) as wire_b, \
                Penstock(Vdev.af_xdp(a, b), "-i", terminal=True) as penstock:
            session = Session(penstock)
            completion(tap, session)
            shown(tap, session, a, b, wire_a, wire_b)
            changed(tap, session, wire_a, wire_b)
            faults(tap, session, wire_a, wire_b)
            files(tap, session, folder)
            helps(tap, session)
            with tap.case("quit: all is accounted for, nothing is left"):
                penstock.write("quit\n")
                penstock.expect_exit(0)
                report = penstock.report()
                expect_equal(report["totals"]["unaccounted"], 0, "unaccounted")
                expect_nothing_left(a, b)
        set_up(tap)
        topologies(tap)
        rules(tap)
        testpmd(tap, folder)
        start_files(tap, folder)


if __name__ == "__main__":
    main(tests)
