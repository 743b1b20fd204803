#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Flow rules, against dpdk-testpmd on the same drivers.

net_failsafe without a device below it takes every rule that the grammar lets through, so both programs
must accept the same lines there and list the same rules. net_tap refuses by itself, and both must give
its reasons.
"""

import re

from support import Penstock, Process, Vdev, expect, expect_equal, lcores, main

ANYTHING = ["--vdev=net_failsafe0,exec(true)"]

# What stands behind "flow create 0"; what both accept, and what both refuse.
ACCEPTED = """
ingress pattern eth / ipv4 / end actions drop / end
egress pattern eth / end actions count / end
transfer pattern eth / end actions drop / end
ingress egress ingress pattern end actions end
group 3 priority 7 group 0x10 ingress pattern eth / end actions drop / end
pattern eth src is 02:00:00:00:00:01 dst spec 0200:0000:0002 dst mask ff:ff:ff:00:00:00 / end actions drop / end
pattern eth type is 0x88cc has_vlan is 1 / end actions drop / end
pattern eth type is 010 dst prefix 24 / end actions drop / end
pattern eth / vlan vid is 4095 pcp is 7 dei is 1 / end actions drop / end
pattern eth / vlan tci spec 0x1064 tci mask 0xffff inner_type is 2048 has_more_vlan is 0 / end actions drop / end
pattern eth / vlan vid spec 1 vid last 9 vid prefix 12 / end actions drop / end
pattern ipv4 src is 192.0.2.1 dst spec 198.51.100.0 dst prefix 24 / end actions drop / end
pattern ipv4 src is 3221225985 dst mask 0xffffff00 / end actions drop / end
pattern ipv4 version_ihl is 0x45 tos is 0xb8 packet_id is 1 fragment_offset is 0 ttl last 64 proto is 50 / end actions drop / end
pattern ipv6 src is 2001:db8::1 dst spec ::ffff:192.0.2.1 dst prefix 128 / end actions drop / end
pattern ipv6 tc is 0xff flow is 0xfffff proto is 17 hop is 255 has_frag_ext is 1 / end actions drop / end
pattern eth / ipv4 / udp src is 65535 dst spec 0 dst last 1023 / end actions drop / end
pattern eth / ipv6 / tcp src is 1 dst is 2 flags spec 2 flags mask 0x12 / end actions drop / end
pattern eth / ipv4 / esp spi is 4294967295 / end actions drop / end
pattern any num is 2 / void / end actions void / passthru / end
pattern eth / end actions queue / end
pattern eth / end actions queue index 1 index 2 / end
pattern eth / end actions mark id 0xffffffff / count identifier 5 / drop / end
pattern eth / end actions rss / end
pattern eth / end actions rss func toeplitz level 2 types ip udp tcp esp l3-src-only end queues 0 1 2 end / end
pattern eth / end actions rss types end queues end / end
pattern eth / end actions rss types none end func symmetric_toeplitz / end
pattern eth / end actions rss func simple_xor func default key 0x0123456789abcdef key_len 8 / end
pattern eth / end actions rss key abc / end
pattern eth / end actions rss key_len 64 / end
"""
REFUSED = """

ingress
pattern
pattern eth
pattern eth end actions drop / end
pattern eth / end
pattern eth / end actions
pattern eth / end actions drop
pattern eth / end actions drop end
pattern eth / end actions drop / end end
pattern eth / end actions drop / end ingress
Pattern eth / end actions drop / end
pattern et / end actions drop / end
pattern eth/ end actions drop / end
pattern eth / / end actions drop / end
pattern ipv7 / end actions drop / end
pattern eth src 02:00:00:00:00:01 / end actions drop / end
pattern eth src is 02:00:00:00:00 / end actions drop / end
pattern eth src is 2:0:0:0:0:1 / end actions drop / end
pattern eth src is 02-00-00-00-00-01 / end actions drop / end
pattern eth type is 0x10000 / end actions drop / end
pattern eth type is 08 / end actions drop / end
pattern eth type is 0x / end actions drop / end
pattern eth type is ipv4 / end actions drop / end
pattern eth has_vlan is true / end actions drop / end
pattern eth has_vlan is / end actions drop / end
pattern vlan vid prefix 13 / end actions drop / end
pattern ipv4 src is 192.0.2.256 / end actions drop / end
pattern ipv4 src is 192.0.2.0/24 / end actions drop / end
pattern ipv4 src is 0x100000000 / end actions drop / end
pattern ipv4 src prefix 33 / end actions drop / end
pattern ipv4 ttl is 256 / end actions drop / end
pattern ipv6 src is 192.0.2.1 / end actions drop / end
pattern ipv6 src is 5 / end actions drop / end
pattern ipv6 dst prefix 129 / end actions drop / end
pattern udp src is -1 / end actions drop / end
pattern udp flags is 2 / end actions drop / end
pattern esp spi is 4294967296 / end actions drop / end
group 4294967296 pattern eth / end actions drop / end
group -1 pattern eth / end actions drop / end
pattern eth / end actions queue index 65536 / end
pattern eth / end actions queue 1 / end
pattern eth / end actions queue index 1 queue 2 / end
pattern eth / end actions drop 1 / end
pattern eth / end actions mark 1 / end
pattern eth / end actions rss func md5 / end
pattern eth / end actions rss types ip / end
pattern eth / end actions rss types ipv9 end / end
pattern eth / end actions rss queues 0 x end / end
pattern eth / end actions rss queues 65536 end / end
pattern eth / end actions rss key 0xxyz / end
pattern eth / end actions rss key_len 65 / end
"""
# What testpmd accepts and penstock does not: a number that does not fit, which testpmd cuts down to
# something else, and what it has beyond the common items and actions.
ONLY_TESTPMD = """
pattern vlan vid is 5000 / end actions drop / end
pattern vlan pcp is 8 / end actions drop / end
pattern eth has_vlan is 2 / end actions drop / end
pattern ipv6 flow is 0x100000 / end actions drop / end
pattern eth / vxlan vni is 1 / end actions drop / end
pattern eth / icmp / end actions drop / end
pattern eth / end actions flag / end
pattern eth / end actions jump group 1 / end
"""
# Where penstock says what to use instead: the word, and what stands behind "flow".
NOT_OFFERED = {
    "isolate": "isolate 0 1",
    "vxlan": "create 0 pattern eth / vxlan vni is 1 / end actions drop / end",
    "jump": "create 0 pattern eth / end actions jump group 1 / end",
    "age": "query 0 0 age",
    "tunnel_match": "create 0 tunnel_match 1 pattern eth / end actions drop / end",
}
# What penstock has beyond it.
ONLY_PENSTOCK = """
pattern esp seq is 5 / end actions drop / end
"""

ON_TAP = """
ingress pattern eth / ipv4 / udp dst is 53 / end actions drop / end
ingress pattern eth / ipv4 / end actions queue index 0 / end
ingress pattern eth / ipv4 / end actions drop / count / end
ingress pattern eth / esp / end actions drop / end
ingress pattern eth / ipv4 ttl is 3 / end actions drop / end
ingress pattern eth / ipv4 / end actions queue index 9 / end
ingress egress pattern eth / end actions drop / end
ingress group 77 pattern eth / end actions drop / end
ingress priority 99999 pattern eth / end actions drop / end
"""


def rows(text):
    return text.removeprefix("\n").removesuffix("\n").split("\n")


class Testpmd(Process):
    """dpdk-testpmd at its prompt."""

    def __init__(self, eal, *options):
        # Unbuffered, so that what a command prints stands behind it and before the next prompt.
        super().__init__(["stdbuf", "-o0", "dpdk-testpmd", "--no-pci", "--no-telemetry", "--no-huge",
                          "-m", "256", "--no-shconf", "--log-level=error", lcores(1), *eal, "--", "-i",
                          "--total-num-mbufs=4096", "--no-mlockall", *options])
        self.wait_for(r"testpmd> ")

    def command(self, text):
        start = len(self.stdout)
        self.write(text + "\n")
        return self.wait_for(r"(?s)(.*?)testpmd> \Z", start=start).group(1)


def penstock_accepts(penstock, row):
    text = penstock.command(f"flow create 0 {row}".rstrip())
    created = re.search(r"^Flow rule #\d+ created$", text, re.M)
    errors = re.findall(r"^error: .+$", text, re.M)
    expect(bool(created) != (len(errors) == 1), f"{row}: neither a rule nor one line: {text!r}")
    if errors:
        expect(" after \"flow" in errors[0] and "accepted: " in errors[0], errors[0])
    return bool(created)


def testpmd_accepts(testpmd, row):
    text = testpmd.command(f"flow create 0 {row}".rstrip())
    refused = re.search(r"^(Bad arguments|Command not found|Ambiguous command)", text, re.M)
    created = re.search(r"^Flow rule #\d+ created$", text, re.M)
    expect(bool(refused) != bool(created), f"{row}: neither accepted nor refused: {text!r}")
    return bool(created)


def table(text):
    """The lines of a rule list."""
    return re.findall(r"^(?:ID|\d+)\t.*$", text.replace("\r", ""), re.M)


def same_grammar(tap):
    with tap.group("grammar"), Penstock(ANYTHING, "-i") as penstock, Testpmd(ANYTHING) as testpmd:
        for row in rows(ACCEPTED):
            with tap.case(f"accepted: {row}"):
                expect(testpmd_accepts(testpmd, row), "testpmd refuses it")
                expect(penstock_accepts(penstock, row), "penstock refuses it")
        with tap.case("the rules are listed as by testpmd"):
            listed = table(testpmd.command("flow list 0"))
            expect_equal(len(listed), 1 + len(rows(ACCEPTED)), "rules of testpmd")
            expect_equal(table(penstock.command("flow list 0")), listed, "list")
            groups = table(testpmd.command("flow list 0 group 16 group 9"))
            expect_equal(len(groups), 2, "rules of testpmd in group 16")
            expect_equal(table(penstock.command("flow list 0 group 16 group 9")), groups, "group 16")
        for row in rows(REFUSED):
            with tap.case(f"refused: {row or 'nothing'}"):
                expect(not testpmd_accepts(testpmd, row), "testpmd accepts it")
                expect(not penstock_accepts(penstock, row), "penstock accepts it")
        with tap.case("destroyed, numbered and flushed as by testpmd"):
            for command in ("flow destroy 0 rule 3 rule 0x7", f"flow destroy 0 rule {len(rows(ACCEPTED)) - 1}",
                            "flow create 0 priority 1 pattern eth / end actions drop / end"):
                wanted = re.findall(r"^Flow rule .*$", testpmd.command(command), re.M)
                expect(wanted, f"testpmd's answer to {command}")
                seen = re.findall(r"^Flow rule .*$", penstock.command(command), re.M)
                expect_equal(sorted(seen), sorted(wanted), command)
            expect_equal(table(penstock.command("flow list 0")), table(testpmd.command("flow list 0")),
                         "list")
            for program in (penstock, testpmd):
                program.command("flow flush 0")
                expect_equal(table(program.command("flow list 0")), [], "after flush")
        for row in rows(ONLY_TESTPMD):
            with tap.case(f"only testpmd: {row}"):
                expect(testpmd_accepts(testpmd, row), "testpmd refuses it")
                expect(not penstock_accepts(penstock, row), "penstock accepts it")
        for word, row in NOT_OFFERED.items():
            with tap.case(f"what to use instead of {word}"):
                expect(re.search(rf'^error: "{word}" after "flow.*": known from testpmd, not offered: '
                                 r"(?!accepted).+; accepted: ", penstock.command(f"flow {row}"), re.M), row)
        for row in rows(ONLY_PENSTOCK):
            with tap.case(f"only penstock: {row}"):
                expect(not testpmd_accepts(testpmd, row), "testpmd accepts it")
                expect(penstock_accepts(penstock, row), "penstock refuses it")


def driver_refusals(tap):
    with tap.group("net_tap"), Penstock(Vdev.tap("tap-p"), "-i") as penstock, \
            Testpmd(Vdev.tap("tap-t")) as testpmd:
        verdicts = set()
        for row in rows(ON_TAP):
            with tap.case(f"net_tap: {row}"):
                before = len(testpmd.stderr)
                theirs = testpmd.command(f"flow validate 0 {row}")
                ours = penstock.command(f"flow validate 0 {row}")
                validated = "Flow rule validated" in theirs
                expect_equal("Flow rule validated" in ours, validated, f"validated; testpmd: {theirs}")
                if not validated:
                    said = testpmd.wait_for(r"Caught PMD error type \d+ \(.*\): (?:cause: \S+, )?(.+)\n",
                                            stream="stderr", start=before)[1]
                    line = re.search(r"^error: port 0 \(net_tap0\): net_tap refuses the flow rule: (.+)$",
                                     ours, re.M)
                    expect(line and line[1].endswith(said), f"{ours!r} instead of testpmd's {said!r}")
                verdicts.add(validated)
        with tap.case("net_tap takes some and refuses others"):
            expect_equal(verdicts, {True, False}, "verdicts")


def at_a_terminal(tap):
    with tap.group("terminal"), Penstock(ANYTHING, "-i", terminal=True) as penstock:
        with tap.case("Tab completes a rule"):
            text = penstock.command("flow cr\t0 ingr\tpat\tudp sr\tis 5 / en\tact\tdr\t/ en\t")
            expect("Flow rule #0 created" in text, text)
        with tap.case("Tab completes the id of a rule"):
            text = penstock.command("flow des\t0 ru\t0")
            expect("Flow rule #0 destroyed" in text, text)
        with tap.case("? shows the fields of an item with their help"):
            start = len(penstock.stdout)
            penstock.write("flow create 0 pattern esp ?")
            penstock.wait_for(r"(?s)spi.*security parameters index.*seq.*sequence number", start=start)
            penstock.write("\x03")


def lives_with_the_port(tap):
    with tap.group("life"), Penstock(ANYTHING, "-i") as penstock:
        with tap.case("rules outlive stop and start"):
            penstock.command("flow create 0 pattern eth / end actions drop / end")
            listed = table(penstock.command("flow list 0"))
            expect_equal(len(listed), 2, "lines")
            for command in ("start", "stop", "start"):
                penstock.command(command)
                expect_equal(table(penstock.command("flow list 0")), listed, f"after {command}")
        with tap.case("they go with the port, and that is said"):
            penstock.write("quit\n")
            penstock.expect_exit(0)
            expect(re.search(r"port 0 \(net_failsafe0\): closes; flow rules destroyed: 1", penstock.stderr),
                   penstock.stderr)


def tests(tap):
    same_grammar(tap)
    driver_refusals(tap)
    at_a_terminal(tap)
    lives_with_the_port(tap)


if __name__ == "__main__":
    main(tests)
