#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Formats every tracked C and C++ file in place, the way devtools/check.sh wants it.

set -euo pipefail
# shellcheck source=devtools/lib.sh
. "$(dirname "$0")/lib.sh"

command -v clang-format-14 >/dev/null ||
  fail "clang-format-14 is not installed, and another version formats differently;" \
    "run devtools/setup.sh on Debian 12"
git ls-files -z '*.cc' '*.h' '*.c' | xargs -0 --no-run-if-empty clang-format-14 -i
