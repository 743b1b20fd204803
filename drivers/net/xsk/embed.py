#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""embed.py OBJECT HEADER: the bytes of a BPF object as a C++ array, kSteerObject."""

import pathlib
import sys

data = pathlib.Path(sys.argv[1]).read_bytes()
rows = [", ".join(f"0x{byte:02x}" for byte in data[at:at + 16]) for at in range(0, len(data), 16)]
pathlib.Path(sys.argv[2]).write_text(
    "// Made by embed.py.\n#pragma once\n"
    "namespace penstock {\n"
    "alignas(8) inline constexpr unsigned char kSteerObject[] = {\n" + ",\n".join(rows) +
    "};\n}  // namespace penstock\n")
