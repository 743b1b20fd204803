#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The prompt, at a terminal and at the end of a pipe."""

import re
import signal
import termios

from support import (Penstock, Vdev, Veth, Wire, exchange, expect, expect_balance, expect_equal,
                     expect_frames, expect_nothing_left, main, wait_until)

FRAMES = [bytes.fromhex("020000000002020000000001 88b5") + bytes([n]) * 46 for n in range(40)]
CAPABILITIES = ("tx_done_cleanup", "mt_lockfree", "fast_free", "multi_segments", "rss",
                "inline_ipsec", "timestamps", "rx_interrupts")


def words(text):
    """Without the line editor's control sequences."""
    return re.sub(r"\033\[[0-9;]*[A-Za-z]|\r", "", text)


def session(tap, terminal):
    where = "at a terminal" if terminal else "from a pipe"
    with tap.group(where), Veth("port-a") as a, Veth("port-b") as b, \
            Wire(a.peer) as wire_a, Wire(b.peer) as wire_b, \
            Penstock(Vdev.af_xdp(a, b), "-i", terminal=terminal) as penstock:
        before = termios.tcgetattr(penstock.terminal) if terminal else None

        def ask(command):
            return words(penstock.command(command))

        with tap.case(f"{where}: it does not forward before it is told"):
            wire_a.send(FRAMES[0])
            expect("total: received 0 " in ask("show fwd stats"), "received before start")
            expect("not forwarding" in ask("stop"), "stop without start")
        with tap.case(f"{where}: start"):
            expect("forwarding: io" in ask("start"), "start says what it does")
            expect("already forwarding" in ask("start"), "a second start")
            # What came before the start waited in the socket.
            expect_frames(wire_b.receive_all(1), FRAMES[:1], "the frame sent before")
            expect_frames(exchange(wire_a, wire_b, FRAMES), FRAMES, "forwarded")
        with tap.case(f"{where}: show port stats all, and of one port"):
            # A frame can be here before the driver has counted it.
            counted = ["41", "0", "0", "41"]
            wait_until(lambda: re.findall(r"[RT]X-packets: (\d+)", ask("show port stats all")) ==
                       counted, f"the drivers to count {counted}")
            text = ask("show port stats all")
            expect_equal(re.findall(r"NIC statistics for port (\d) \((\w+)\)", text),
                         [("0", "net_af_xdp0"), ("1", "net_af_xdp1")], "ports")
            text = ask("show port stats 1")
            expect_equal(re.findall(r"for port (\d)", text), ["1"], "port asked for")
        with tap.case(f"{where}: show port info all: each capability, yes or no"):
            text = ask("show port info all")
            expect_equal(re.findall(r"^port (\d): .*interface ([\w-]+)", text, re.M),
                         [("0", a.name), ("1", b.name)], "ports")
            for name in CAPABILITIES:
                expect_equal(re.findall(rf"^  {name} +(yes|no)$", text, re.M), ["no", "no"], name)
        with tap.case(f"{where}: show plan"):
            text = ask("show plan")
            expect(re.search(r"^  1 +0\.0 1\.0 +0\.0: 1, exclusive; 1\.0: 1, exclusive", text, re.M),
                   text)
        with tap.case(f"{where}: help lists the commands"):
            text = ask("help")
            for command in ("start", "stop", "show plan", "show port stats", "show port info",
                            "show fwd stats", "help", "quit"):
                expect(re.search(rf"^ *{command}\b", text, re.M), f"no {command} in: {text}")
        with tap.case(f"{where}: a wrong command or port is said to be, and nothing else happens"):
            for command, answer in (("strat", r'error: "strat": accepted: start, stop'),
                                    ("show port stats 7", r'error: "7" after .*: accepted: all, 0, 1'),
                                    ("show", r"error: .*accepted: .*")):
                seen = ask(command)
                expect(re.search(answer, seen), f"{command}: {seen!r}")
            expect_frames(exchange(wire_b, wire_a, FRAMES), FRAMES, "still forwarded")
        with tap.case(f"{where}: stop shows the report, start goes on, counts continue"):
            expect(re.search(r"total: received 81 .*unaccounted 0", ask("stop")), "report at stop")
            wire_a.send(FRAMES[0])
            ask("start")
            expect_frames(wire_b.receive_all(1), FRAMES[:1], "sent while stopped")
        with tap.case(f"{where}: quit"):
            penstock.write("quit\n")
            penstock.expect_exit(0)
            report = penstock.report()
            expect_balance(report)
            expect_equal(report["totals"]["rx_packets"], 82, "received")
            if terminal:
                expect_equal(termios.tcgetattr(penstock.terminal)[:4], before_start(before),
                             "the terminal's settings")
            expect_nothing_left(a, b)


def before_start(during):
    """What the terminal was like before the line editor took its echo and line mode."""
    settings = list(during[:4])
    settings[3] |= termios.ECHO | termios.ICANON | termios.ISIG
    return settings


def ends(tap):
    null = ["--vdev=net_null0"]
    with tap.case("commands from a pipe, all at once, then its end: each is run"):
        with Penstock(null, "-i") as penstock:
            penstock.write("start\nshow plan\nstop\nshow port stats 0\n")
            penstock.close_input()
            penstock.expect_exit(0)
            expect_balance(penstock.report())
            expect(re.search(r"(?s)forwarding: io.*plan \(.*io for .*NIC statistics for port 0",
                             penstock.stdout), penstock.stdout)
    with tap.case("end of input while forwarding: report, exit 0"):
        with Penstock(null, "-i") as penstock:
            penstock.command("start")
            penstock.close_input()
            penstock.expect_exit(0)
            expect(penstock.report()["totals"]["rx_packets"] > 0, "nothing was forwarded")
    with tap.case("a last command without newline is no command"):
        with Penstock(null, "-i") as penstock:
            penstock.write("start")
            penstock.close_input()
            penstock.expect_exit(0)
            expect_equal(penstock.report()["totals"]["rx_packets"], 0, "received")
    with tap.case("control-D at a terminal ends it"):
        with Penstock(null, "-i", terminal=True) as penstock:
            penstock.write("\x04")
            penstock.expect_exit(0)
    with tap.case("control-C at a terminal gives up the line"):
        with Penstock(null, "-i", terminal=True) as penstock:
            penstock.write("start\x03quit\n")
            penstock.expect_exit(0)
            expect_equal(penstock.report()["totals"]["rx_packets"], 0, "received")
    with tap.case("SIGTERM at the prompt: the terminal gets its settings back"):
        with Penstock(null, "-i", terminal=True) as penstock:
            during = termios.tcgetattr(penstock.terminal)
            penstock.signal(signal.SIGTERM)
            penstock.expect_exit(0)
            expect_equal(termios.tcgetattr(penstock.terminal)[:4], before_start(during),
                         "the terminal's settings")
    with tap.case("a second signal at the prompt: likewise"):
        with Penstock(null, "-i", terminal=True) as penstock:
            during = termios.tcgetattr(penstock.terminal)
            penstock.signal(signal.SIGINT)
            penstock.signal(signal.SIGTERM)
            penstock.expect_exit(130)
            expect_equal(termios.tcgetattr(penstock.terminal)[:4], before_start(during),
                         "the terminal's settings")
    with tap.case("a line longer than the editor takes is refused, not run"):
        with Penstock(null, "-i") as penstock:
            penstock.write("show plan " + "x" * 5000 + "\n")
            expect("plan (" in words(penstock.command("show plan")), "the next command")
            # What the editor keeps of it would be a command: 511 characters are its most.
            for spaces, answer in ((490, "burst 512"), (499, "burst 512"), (500, "more than 511")):
                line = "set burst" + " " * spaces + "512"
                expect(answer in words(penstock.command(line)), f"{len(line)} characters")
                expect("burst 5\n" not in words(penstock.command("set burst 32")), "cut short")
            # The editor forgets all but the spaces: an empty line.
            penstock.command(" " * 600 + "set burst 1")
            expect("burst " in words(penstock.command("show config fwd")), "the next command")
            expect(not re.search(r"^ *burst +1 ", words(penstock.command("show config fwd")), re.M),
                   "indented")
            penstock.write("quit\n")
            penstock.expect_exit(0)


def tests(tap):
    session(tap, terminal=True)
    session(tap, terminal=False)
    ends(tap)


if __name__ == "__main__":
    main(tests)
