#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Fetches the headers that a DPDK driver is built with into .sdk/dpdk/, from the distribution's DPDK
# source package of the installed version. Debian's libdpdk-dev leaves them out. Called by setup.sh;
# does nothing when they are there, or when the installed DPDK brings them itself.
#
# apt checks what it fetches against the signed index. The source lists, the index and the archive
# are private to this script: those of the machine are read, and never changed.

set -euo pipefail
cd "$(dirname "$0")/.."
target=.sdk/dpdk

say() {
  printf 'setup: %s\n' "$*"
}
fail() {
  printf 'setup.sh: %s\n' "$*" >&2
  exit 1
}

includes=$(pkg-config --cflags-only-I libdpdk | tr ' ' '\n' | sed -n 's/^-I//p')
for folder in $includes /usr/include; do
  [[ ! -f $folder/ethdev_driver.h ]] || exit 0
done
version=$(dpkg-query --show --showformat '${source:Version}' libdpdk-dev 2>/dev/null) ||
  fail "libdpdk-dev is not the distribution's: build that DPDK with -Denable_driver_sdk=true, or" \
    "name a folder with its driver headers with meson's -Ddpdk_sdk=DIR"
if [[ -f $target/VERSION && $(<"$target/VERSION") == "$version" ]]; then
  exit 0
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{lists/partial,cache/archives/partial,sources}

# Where this version comes from: "package | version | URI suite/component architecture Packages".
mapfile -t places < <(apt-cache madison libdpdk-dev |
  awk -F ' *[|] *' -v version="$version" '$2 == version { split($3, word, " "); print word[1] }' |
  sort -u)
((${#places[@]} > 0)) ||
  fail "no package source offers DPDK $version, which is installed: upgrade libdpdk-dev and run" \
    "setup.sh again"

# The machine's own entries for these places, as source entries.
for place in "${places[@]}"; do
  for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [[ ! -r $list ]] || awk -v place="${place%/}" '
      $1 == "deb" && index($0, place) { $1 = "deb-src"; print }' "$list"
  done >>"$work/sources/own.list"
  for list in /etc/apt/sources.list.d/*.sources; do
    [[ ! -r $list ]] || awk -v RS= -v place="${place%/}" '
      index($0, place) && !/Enabled: *no/ { sub(/Types:[^\n]*/, "Types: deb-src"); print $0 "\n" }' \
      "$list"
  done >>"$work/sources/own.sources"
done

apt_get() {
  apt-get -qq -o Dpkg::Use-Pty=0 -o Debug::NoLocking=1 -o Dir::Etc::SourceList=/dev/null \
    -o Dir::Etc::SourceParts="$work/sources" -o Dir::State::Lists="$work/lists" \
    -o Dir::Cache="$work/cache" -o APT::Sandbox::User= "$@" </dev/null
}
say "fetching the driver headers of DPDK $version"
apt_get update || fail "apt-get update failed for the source entries; see its lines above"
(cd "$work" && apt_get source --download-only "dpdk=$version") ||
  fail "apt-get could not fetch the source package dpdk $version; see its lines above"

mkdir -p "$work/tree" "$work/dpdk"
tar -C "$work/tree" --strip-components=1 --wildcards -xf "$work"/dpdk_*.orig.tar.* \
  '*/lib/*_driver.h' '*/lib/*_pmd.h' '*/lib/ethdev/ethdev_vdev.h' '*/drivers/bus/vdev/*_driver.h'
find "$work/tree" -name '*.h' -exec cp -t "$work/dpdk" {} +
for header in ethdev_driver.h ethdev_vdev.h bus_vdev_driver.h; do
  [[ -f $work/dpdk/$header ]] || fail "the source package dpdk $version has no $header"
done
printf '%s\n' "$version" >"$work/dpdk/VERSION"
chmod -R a+rX "$work/dpdk"
mkdir -p "${target%/*}"
rm -rf "$target"
mv "$work/dpdk" "$target"
say "the driver headers of DPDK $version are in $target"
