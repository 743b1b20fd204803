#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Shows penstock at work on a machine that has nothing for it: sets up, builds, makes two wires of
# virtual interfaces, sends frames through a forwarder over AF_XDP for a few seconds and says what
# became of each. Everything but the build lives in namespaces of its own and goes with them: the
# machine's interfaces are neither used nor changed. Needs root. The exit code is 0 if every frame is
# accounted for.

set -euo pipefail
# shellcheck source=devtools/lib.sh
. "$(dirname "$0")/lib.sh"

seconds=4

usage() {
  cat <<'USAGE'
devtools/demo.sh     set up, build, forward frames over AF_XDP for four seconds, report, clean up
USAGE
}

case ${1-} in
  '') ;;
  -h | --help) usage && exit 0 ;;
  *) printf "demo.sh: unknown argument '%s'; there is none but --help\n" "$1" >&2 && exit 2 ;;
esac
((EUID == 0)) || fail "network namespaces and AF_XDP need root: sudo devtools/demo.sh"

penstock=$root/build/app/penstock/penstock

if [[ -z ${PENSTOCK_DEMO_INSIDE-} ]]; then
  set_up
  configure build
  build build app/penstock/penstock
  # Whatever way it ends, the kernel then ends the processes in there and takes the interfaces away.
  PENSTOCK_DEMO_INSIDE=1 exec unshare --net --mount --pid --fork --kill-child --mount-proc "$0"
fi

# ---- in the namespaces from here on ----

forwarder_pid=
# The first process of a namespace gets no signal that it does not handle.
trap 'exit 130' INT TERM
trap '[[ -z $forwarder_pid ]] || kill -KILL "$forwarder_pid" 2>/dev/null || true' EXIT

mount -t sysfs sysfs /sys
mount -t bpf bpf /sys/fs/bpf
# The tree stays where it is, also below one of the next two.
mount --bind "$root" /mnt
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /tmp
mkdir -p "$root"
mount --move /mnt "$root"
# The kernel would send solicitations of its own.
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6

wire() {
  ip link add name "$1" type veth peer name "$2"
  ip link set "$1" up
  ip link set "$2" up
}

say "making two wires: generator ---- left [forwarder] right ---- sink"
wire generator left
wire right sink

# A processor for each if there are two; each penstock has a control thread, which mostly sleeps.
mapfile -t processors < <(taskset -cp $$ | sed 's/.*: //' | tr ',' '\n' |
  awk -F- '{ for (i = $1; i <= (NF > 1 ? $2 : $1); ++i) print i }')
first=${processors[0]}
second=${processors[1]-$first}

eal=(--no-pci --no-telemetry)
options=(--memory=256M --log-level=warning)

say "starting the forwarder: macswap from left to right and back, over AF_XDP sockets"
forwarder=("$penstock" "${eal[@]}" "--lcores=0@$first,1@$second"
  "--vdev=net_af_xdp0,iface=left,busy_budget=0" "--vdev=net_af_xdp1,iface=right,busy_budget=0"
  -- --forward-mode=macswap "${options[@]}" --stats-period=1 --report=/tmp/forwarder.json)
echo "   ${forwarder[*]#"$root/"}"
mkfifo /tmp/forwarder.out
"${forwarder[@]}" >/tmp/forwarder.out &
forwarder_pid=$!
exec 3</tmp/forwarder.out
# It forwards once it has printed its plan, of which the mempools are the end.
while IFS= read -r line <&3; do
  printf '   %s\n' "$line"
  [[ $line == *mempool\ 0:* ]] && break
done
kill -0 "$forwarder_pid" 2>/dev/null || fail "the forwarder did not start"
sed -u 's/^/   /' <&3 &
printer_pid=$!

say "sending UDP frames of 64 bytes into generator for $seconds seconds, as fast as one lcore can"
generator=("$penstock" "${eal[@]}" "--lcores=0@$first,1@$first"
  "--vdev=net_af_xdp0,iface=generator,busy_budget=0" -- --forward-mode=txonly "${options[@]}"
  "--duration=$seconds" --report=/tmp/generator.json)
echo "   ${generator[*]#"$root/"}"
"${generator[@]}" >/tmp/generator.out || fail "the generator failed: $(tail -n 3 /tmp/generator.out)"

say "stopping the forwarder with SIGTERM; its report:"
kill -TERM "$forwarder_pid"
status=0
wait "$forwarder_pid" || status=$?
forwarder_pid=
wait "$printer_pid"
((status == 0)) || fail "the forwarder ended with $status"

say "every frame, by three accounts that know nothing of each other"
/usr/bin/python3 - <<'REPORT'
import json
import pathlib
import sys


def kernel(interface, name):
    return int(pathlib.Path(f"/sys/class/net/{interface}/statistics/{name}").read_text())


generator = json.loads(pathlib.Path("/tmp/generator.json").read_text())
forwarder = json.loads(pathlib.Path("/tmp/forwarder.json").read_text())
left, right = forwarder["ports"]
sent = generator["totals"]["tx_packets"]
dropped = {name: count for name, count in forwarder["drops"].items() if count}
unaccounted = generator["totals"]["unaccounted"] + forwarder["totals"]["unaccounted"]
never_returned = sum(pool["in_use_at_exit"] for pool in forwarder["mempools"])
# What the forwarder was too slow for was lost before it: in its socket's ring, or in the wire's.
missed = left["rx_missed"]
in_wire = kernel("generator", "tx_dropped")
before = missed + in_wire
rows = [
    ("generator made", generator["totals"]["made"]),
    ("generator sent", sent),
    ("missed on left: the socket's ring was full", missed),
    ("kernel dropped on the way to left", in_wire),
    ("forwarder received on left", left["rx_packets"]),
    ("forwarder dropped" + "".join(f", {name}" for name in dropped), sum(dropped.values())),
    ("forwarder sent on right", right["tx_packets"]),
    ("kernel delivered to sink", kernel("sink", "rx_packets")),
    ("kernel dropped on the way to sink", kernel("right", "tx_dropped")),
    ("unaccounted", unaccounted),
    ("mbufs that never came back", never_returned),
]
for what, count in rows:
    print(f"   {what:<60} {count:>12,}")
rate = forwarder["totals"]["tx_packets"] / generator["duration_s"] / 1e6
print(f"   {'forwarded, million frames a second':<60} {rate:>12.3f}")
delivered = kernel("sink", "rx_packets") + kernel("right", "tx_dropped")
good = (unaccounted == 0 and never_returned == 0 and right["tx_packets"] > 0 and before >= 0 and
        delivered == right["tx_packets"] and
        left["rx_packets"] == right["tx_packets"] + sum(dropped.values()))
print("   every frame is accounted for" if good else "   the accounts do not agree")
sys.exit(0 if good else 1)
REPORT
say "removed: the wires, both penstocks and their namespaces"
