#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The rules of the tree that a compiler does not check. One line per violation,
# "file:line: what is wrong; what to do"; every check runs, then the exit code is 1 if any spoke.
#
#   devtools/check.sh [DIR]     DIR: the root of the tree to check; default this one
#
# Looked at are the files that git tracks, and those it would after "git add".

set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$here/..}"

status=0
files() {
  # Without those deleted but not yet staged.
  git ls-files -z --cached --others --exclude-standard "$@" |
    while IFS= read -r -d '' file; do
      if [[ -f $file ]]; then printf '%s\0' "$file"; fi
    done
}

check_format() {
  if ! command -v clang-format-14 >/dev/null; then
    echo "check.sh: formatting is not checked: clang-format-14, the reference, is not installed" >&2
    return 0
  fi
  local output
  if ! output=$(files '*.cc' '*.h' '*.c' |
    xargs -0 --no-run-if-empty clang-format-14 --dry-run 2>&1); then
    printf 'check.sh: clang-format-14 failed:\n%s\n' "$output" >&2
    return 1
  fi
  [[ -n $output ]] || return 0
  # One line per file: the first place; the rest is for format.sh, not for a reader.
  sed -nE 's/^([^:]+:[0-9]+):[0-9]+: (warning|error): .*/\1/p' <<<"$output" |
    sort -t: -k1,1 -k2,2n | sort -t: -k1,1 -u --stable |
    sed 's/$/: not formatted as .clang-format says; run devtools\/format.sh/'
  return 1
}

check_shell() {
  local scripts
  mapfile -d '' -t scripts < <(files '*.sh' .ci/run)
  ((${#scripts[@]} > 0)) || return 0
  shellcheck --external-sources --format=gcc "${scripts[@]}" |
    sed -E 's/^([^:]+:[0-9]+):[0-9]+: [a-z]+: (.*[^. ])[. ]*\[(SC[0-9]+)\]$/\1: \2; see "shellcheck \3"/'
}

check_format || status=1
check_shell || status=1
"$here/check_tree.py" . || status=1
((status)) || echo "check: the tree keeps its rules"
exit "$status"
