# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What the scripts of this folder share; sourced, never run. A script that sources it stands at the
# root of the tree from then on.
#
#   root            the root of the tree, absolute
#   say TEXT        one line of progress, told apart from the output of the tools
#   fail TEXT       one line on stderr; the script ends with 1
#   set_up          installs what is missing
#   clang_cxx       prints the name of the second compiler, "clang++-14" where there is one
#   configure DIR [-Dname=value…]   makes DIR a build folder, or gives an existing one these options
#   build DIR [TARGET…]             compiles in it

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit 1

say() {
  printf '== %s\n' "$*"
}

fail() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

set_up() {
  devtools/setup.sh
}

clang_cxx() {
  if command -v clang++-14 >/dev/null; then echo clang++-14; else echo clang++; fi
}

configure() {
  local folder=$1 log
  shift
  if [[ -f $folder/build.ninja ]]; then
    (($# == 0)) || meson configure "$folder" "$@"
    return
  fi
  say "configuring $folder"
  log=$(mktemp)
  # Hundreds of lines, of which a build that works needs none.
  if meson setup "$folder" "$@" </dev/null >"$log" 2>&1; then
    rm -f "$log"
  else
    tail -n 5 "$log" >&2
    rm -f "$log"
    return 1
  fi
}

build() {
  local folder=$1
  shift
  say "building $folder"
  ninja -C "$folder" "$@" </dev/null
}
