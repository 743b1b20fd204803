#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Installs all that building and testing Penstock needs, on Debian 12 or 13, as root or through sudo.
# Run it as often as you like: when everything is there it says so in an instant and changes nothing.

set -euo pipefail

fail() {
  printf 'setup.sh: %s\n' "$*" >&2
  exit 1
}

distribution=unknown
release=unknown
if [[ -r /etc/os-release ]]; then
  # shellcheck source=/dev/null
  distribution=$(. /etc/os-release && printf '%s' "${ID:-unknown}")
  # shellcheck source=/dev/null
  release=$(. /etc/os-release && printf '%s' "${VERSION_ID:-testing}")
fi
case "$distribution $release" in
  "debian 12")
    compilers=(
      clang-14             # compiles the XDP programs; second compiler, whose warnings differ
      libclang-rt-14-dev   # libFuzzer and the sanitizers' runtimes for clang
      clang-format-14      # the reference formatter: another version formats differently
    )
    ;;
  "debian 13")
    compilers=(
      clang                # compiles the XDP programs; second compiler, whose warnings differ
      libclang-rt-dev      # libFuzzer and the sanitizers' runtimes for clang
    )
    ;;
  *)
    fail "this is $distribution $release, and the package names are those of Debian 12 and 13;" \
      "install by hand what devtools/setup.sh lists"
    ;;
esac

packages=(
  # Building
  g++                      # the compiler of record
  meson                    # build description
  ninja-build              # build
  pkg-config               # how meson finds libraries
  libdpdk-dev              # headers and libraries of DPDK
  libbpf-dev               # attached XDP programs: query, detach
  libxdp-dev               # how stock net_af_xdp loads its program
  libabsl-dev              # Status, strings, time
  libgflags-dev            # command line flags
  nlohmann-json3-dev       # reports
  libyaml-cpp-dev          # configuration files
  libpcap-dev              # libdpdk's pkg-config file asks for it, for net_pcap
  # Testing
  libgtest-dev             # unit tests
  libgmock-dev             # matchers
  libbenchmark-dev         # benchmarks
  dpdk                     # dpdk-testpmd's drivers, telemetry client
  dpdk-dev                 # dpdk-testpmd: the rival that is measured against
  iproute2                 # network namespaces and veth pairs
  ethtool                  # offloads and channels of a veth
  iputils-ping             # the kernel's own echo requests
  tshark                   # a decoder that is not ours
  python3                  # the checks and the test report
  python3-scapy            # frames and answers that are not ours
  python3-cryptography     # scapy's ciphers for ESP
  bpftool                  # XDP programs and maps left behind
  spin                     # models of what lcores share
  strace                   # how often a driver that does not count calls the kernel
  procps                   # process lists of the restart tests
  git                      # the checks look at tracked files only
  shellcheck               # shell scripts
  "${compilers[@]}"
)

# One query for all: a package that dpkg has never heard of is absent from the answer.
installed=$(dpkg-query --show --showformat '${db:Status-Status} ${binary:Package}\n' \
  "${packages[@]}" 2>/dev/null | sed -n 's/^installed \([^:]*\).*/\1/p' || true)
missing=()
for package in "${packages[@]}"; do
  grep -qxF "$package" <<<"$installed" || missing+=("$package")
done
if ((${#missing[@]} == 0)); then
  "${0%/*}/dpdk_headers.sh"
  echo "setup: nothing to do, all ${#packages[@]} packages are installed"
  exit 0
fi

as_root=()
if ((EUID != 0)); then
  command -v sudo >/dev/null || fail "packages are missing (${missing[*]}); run as root"
  as_root=(sudo)
fi
echo "setup: installing ${missing[*]}"
apt_get() {
  # env: sudo drops variables of its caller.
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 \
    -o DPkg::Lock::Timeout=300 "$@" </dev/null
}
apt_get update || fail "apt-get update failed; see its lines above"
apt_get install --yes --no-install-recommends "${missing[@]}" ||
  fail "apt-get could not install: ${missing[*]}; see its lines above"
"${0%/*}/dpdk_headers.sh"
echo "setup: done"
