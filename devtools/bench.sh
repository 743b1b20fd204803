#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Sets up, builds and measures penstock against what it has to beat; test/bench/run.py measures. It
# never fails for a slow result: 1 means that something could not be measured, 2 a wrong invocation.

set -euo pipefail
# shellcheck source=devtools/lib.sh
. "$(dirname "$0")/lib.sh"

if (($# == 0)); then
  exec test/bench/run.py --list
fi
# A wrong word is answered before anything is installed or compiled.
targets=$(test/bench/run.py --targets "$@") || exit $?
# Help was wanted, and given.
if [[ $targets != targets:* ]]; then
  printf '%s\n' "$targets"
  exit 0
fi
set_up
configure build
read -r -a names <<<"${targets#targets:}"
if ((${#names[@]} > 0)); then build build "${names[@]}"; fi
exec test/bench/run.py "$@"
