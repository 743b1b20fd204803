#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Sets up, builds and runs the tests. The last line is "N passed, N failed, N skipped", in test
# cases; the exit code is 0 if none failed, 1 if one did or the tree does not build, 2 for a wrong
# invocation. Integration tests need root and are skipped without it.

set -euo pipefail
# shellcheck source=devtools/lib.sh
. "$(dirname "$0")/lib.sh"

usage() {
  cat <<'USAGE'
devtools/test.sh [SUITE…]                       run these suites in build/; without a name, all
devtools/test.sh --list                         name the suites and their tests, run none
devtools/test.sh --sanitize=address,undefined   run the unit tests of the libraries that are free of
devtools/test.sh --sanitize=thread              DPDK, and the fuzz corpus, in build-address/ or
                                                build-thread/
USAGE
}

wrong() {
  printf 'test.sh: %s; see devtools/test.sh --help\n' "$*" >&2
  exit 2
}

# What stops the tests from running is one failure, so that the last line holds in every case.
give_up() {
  printf 'test.sh: %s\n' "$*" >&2
  echo "0 passed, 1 failed, 0 skipped"
  exit 1
}

list=0
sanitize=
suites=()
for argument in "$@"; do
  case "$argument" in
    -h | --help) usage && exit 0 ;;
    --list) list=1 ;;
    --sanitize=thread | --sanitize=address,undefined) sanitize=${argument#*=} ;;
    -*) wrong "unknown option '$argument'; there are --list, --sanitize=address,undefined and" \
      "--sanitize=thread" ;;
    *) suites+=("$argument") ;;
  esac
done
if [[ -n $sanitize ]] && ((${#suites[@]} > 0)); then
  wrong "--sanitize takes no suite: which tests can run under it is known"
fi

set_up || give_up "the set-up failed"

folder=build
options=()
selection=("${suites[@]}")
patience=1
if [[ -n $sanitize ]]; then
  folder=build-${sanitize%%,*}
  # lundef: a sanitizer's symbols are found when the executable is linked, not before.
  options=("-Db_sanitize=$sanitize" -Db_lundef=false -Dbuildtype=debugoptimized)
  selection=("--sanitize=$sanitize")
  patience=5  # what a sanitizer can cost in time
  # By itself, undefined behaviour is only printed, and the test passes.
  export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
fi
configure "$folder" "${options[@]}" || give_up "meson could not configure $folder/"

if ((list)); then
  exec devtools/tests.py list "$folder"
fi
names=$(devtools/tests.py select "$folder" "${selection[@]}") || exit $?
targets=()
if [[ -n $sanitize ]]; then
  mapfile -t targets < <(devtools/tests.py targets "$folder" "${selection[@]}")
fi
build "$folder" "${targets[@]}" || give_up "the build failed; its errors are above"

say "testing"
devtools/tests.py forget "$folder"
mapfile -t names <<<"$names"
# Its exit code is not asked: the report reads each test's result, and knows what is missing.
meson test -C "$folder" --no-rebuild --timeout-multiplier "$patience" "${names[@]}" </dev/null ||
  true
devtools/tests.py report "$folder" "${names[@]}"
