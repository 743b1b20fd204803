#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The rules about files, includes and calls, for devtools/check.sh:  check_tree.py ROOT

Each rule is a function from the tree to violations; RULES at the end is the list of them. A
violation is (file, line, what is wrong and what to do).
"""

import pathlib
import posixpath
import re
import subprocess
import sys
import unicodedata

DPDK_LINE = "no DPDK above this line"
DPDK_HEADER = re.compile(r"(rte_\w+|cmdline\w*|ethdev_\w+|bus_\w+|dev_driver)\.h$")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')
SUBDIR = re.compile(r"^\s*subdir\('([\w/]+)'\)")

# Only the application decides that the process ends, and only it owns the terminal.
FORBIDDEN_CALL = re.compile(
    r"""(?<![\w.>:])(?:std::|::)?
        (?:(exit|_exit|_Exit|quick_exit|abort|rte_exit|rte_panic|RTE_VERIFY|
            printf|vprintf|fprintf|vfprintf|puts|putchar|perror)\s*\(
          |(terminate)\s*\()
      | \bstd::(cout|cerr|clog)\b
      | \babsl::(PrintF|FPrintF)\b""",
    re.VERBOSE)

# Comments, strings and characters, and numbers because of 1'000'000.
CPP_TOKEN = re.compile(
    r"""(?P<comment>//(?:\\\n|[^\n])*|/\*.*?\*/)
      | (?P<raw>\b(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)")
      | (?P<string>"(?:\\.|[^"\\\n])*")
      | (?P<number>\b\d(?:'?[\w.])*)
      | (?P<char>'(?:\\.|[^'\\\n])+')""",
    re.VERBOSE | re.DOTALL)

CPP_SUFFIXES = {".cc", ".h", ".c"}
LICENSED_SUFFIXES = CPP_SUFFIXES | {".py", ".sh", ".pml", ".build"}
LICENSED_NAMES = {"meson_options.txt", "meson.options"}
LICENCES = ("SPDX-License-Identifier: BSD-3-Clause",
            "SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause")  # BPF programs

# A path that exists on one machine only.
MACHINE_PATH = re.compile(r"(?<![\w.})>/*-])/(?:home|root|work|farm)/")

LINK = re.compile(r"!?\[[^\]]*\]\(\s*<?([^)\s>]+)>?[^)]*\)|^\s*\[[^\]]+\]:\s*(\S+)")


class Tree:
    """The tracked text files below a root, and the order of the libraries."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        # Files not added yet count: the check is run before a commit.
        listed = subprocess.run(
            ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            check=True, stdout=subprocess.PIPE).stdout.decode().split("\0")
        self.text = {}
        self.paths = set()
        for path in sorted(set(listed) - {""}):
            if not (self.root / path).is_file():
                continue
            self.paths.add(path)
            try:
                self.text[path] = (self.root / path).read_text(encoding="utf-8")
            except UnicodeDecodeError:
                pass  # captures, pictures, the corpus of a fuzz target
        self.read_order()

    def read_order(self):
        self.order = []  # libraries, in dependency order
        self.dpdk_free = set()
        self.has_dpdk_line = False
        for line in self.text.get("lib/meson.build", "").splitlines():
            if DPDK_LINE in line:
                self.has_dpdk_line = True
                self.dpdk_free = set(self.order)
            elif found := SUBDIR.match(line):
                self.order.append(found[1])

    def lines(self, wanted):
        """(path, line number, line) of each file for which wanted(path)."""
        for path, text in self.text.items():
            if wanted(path):
                for number, line in enumerate(text.splitlines(), 1):
                    yield path, number, line


def is_cpp(path):
    return pathlib.PurePosixPath(path).suffix in CPP_SUFFIXES


def library_of(path):
    parts = path.split("/")
    return parts[1] if parts[0] == "lib" and len(parts) > 2 else None


def check_library_list(tree):
    if not tree.has_dpdk_line:
        yield "lib/meson.build", 1, f"the line '{DPDK_LINE}' is missing; put it back"
    for library in sorted({library_of(path) for path in tree.paths} - {None}):
        if library not in tree.order:
            yield ("lib/meson.build", 1,
                   f"lib/{library} is not listed; add subdir('{library}') below what it uses")


def layer_fault(tree, library, used):
    """Why `library` must not use library `used`, or None."""
    if used not in tree.order:
        return f"lib/{used} is not in lib/meson.build; include a library that is"
    if library in tree.order and tree.order.index(used) > tree.order.index(library):
        return (f"lib/{library} uses lib/{used}, which stands below it in lib/meson.build; "
                "move what both need to a library above")
    return None


def check_includes(tree):
    for path, number, line in tree.lines(is_cpp):
        library = library_of(path)
        found = INCLUDE.match(line)
        if not found or not (library or path.startswith("drivers/")):
            continue
        header = found[1]
        top, _, rest = header.partition("/")
        if ".." in header.split("/"):
            yield path, number, "an include goes up by '..'; write the path from the root"
        elif top in ("app", "test") or (library and top == "drivers"):
            yield (path, number, f"{path.split('/')[0]}/ includes {top}/; "
                   "move what it needs to a library")
        elif library and DPDK_HEADER.search(header) and library in tree.dpdk_free:
            yield (path, number, f"lib/{library} includes {header}, but stands above the line "
                   f"'{DPDK_LINE}'; move the code to a library below the line")
        elif library and top == "lib":
            if fault := layer_fault(tree, library, rest.split("/")[0]):
                yield path, number, fault
        elif library and '"' in line and "/" not in header:
            yield path, number, f'"{header}" has no path; write it from the root, "lib/…"'


def check_linked(tree):
    """The same layers in meson's words: a dependency brings headers with it."""
    for path, number, line in tree.lines(lambda p: library_of(p) and p.endswith("meson.build")):
        library, code = library_of(path), line.partition("#")[0]
        if library in tree.dpdk_free and re.search(r"\b(lib)?dpdk\b", code):
            yield (path, number, f"lib/{library} depends on DPDK, but stands above the line "
                   f"'{DPDK_LINE}'; move the code to a library below the line")
        for used in re.findall(r"\b(\w+)_dep\b", code):
            if used in tree.order and (fault := layer_fault(tree, library, used)):
                yield path, number, fault


def blank(match):
    """Keeps numbers, and of everything else only the line ends, so that line numbers hold."""
    return match[0] if match["number"] else re.sub(r"[^\n]", " ", match[0])


def check_calls(tree):
    for path, text in tree.text.items():
        if not is_cpp(path) or path.startswith(("app/", "test/")):
            continue
        code = CPP_TOKEN.sub(blank, text)
        for number, line in enumerate(code.splitlines(), 1):
            for found in FORBIDDEN_CALL.finditer(line):
                name = found[0].strip().rstrip("(").strip()
                yield (path, number, f"{name} outside app/; return an absl::Status, or tell the "
                       "log sink")


def check_unit_tests(tree):
    for path in sorted(tree.paths):
        if not library_of(path) or not is_cpp(path):
            continue
        source = pathlib.PurePosixPath(path)
        test = f"test/unit/{source.relative_to('lib').with_suffix('')}_test.cc"
        if test not in tree.paths:
            yield path, 1, f"no unit test; write {test}"
            continue
        library = pathlib.PurePosixPath("test/unit", library_of(path))
        listed = tree.text.get(str(library / "meson.build"), "")
        if str(pathlib.PurePosixPath(test).relative_to(library)) not in listed:
            yield test, 1, f"not built; list it in {library}/meson.build"


def check_licences(tree):
    for path, text in tree.text.items():
        name = pathlib.PurePosixPath(path)
        if not (name.suffix in LICENSED_SUFFIXES or name.name in LICENSED_NAMES or
                text.startswith("#!")):
            continue
        # The second line where the first must be "#!" or an editor's.
        if not any(licence in line for line in text.splitlines()[:2] for licence in LICENCES):
            yield path, 1, f"no licence; begin with '{LICENCES[0]}' in a comment"


def check_machine_paths(tree):
    for path, number, line in tree.lines(lambda _: True):
        if found := MACHINE_PATH.search(line):
            yield path, number, f"'{found[0]}…' is a path of one machine; write it from the root"


def prose_lines(text):
    """(line number, line) outside of code blocks, without inline code."""
    fence = None
    for number, line in enumerate(text.splitlines(), 1):
        mark = re.match(r"\s*(```+|~~~+)", line)
        if mark and fence is None:
            fence = mark[1]
        elif mark and mark[1].startswith(fence):
            fence = None
        elif fence is None:
            yield number, re.sub(r"`[^`]*`", "", line)


def anchors(text):
    """The names that a forge gives to the headings of a Markdown text."""
    found = set()
    for line in text.splitlines():
        if heading := re.match(r"#{1,6}\s+(.*?)\s*#*$", line):
            kept = [c for c in heading[1].lower()
                    if c in " -_" or unicodedata.category(c)[0] in "LN"]
            found.add("".join(kept).replace(" ", "-"))
    return found


def check_links(tree):
    folders = {parent.as_posix() for path in tree.paths
               for parent in pathlib.PurePosixPath(path).parents}
    for path, text in tree.text.items():
        if not path.endswith(".md"):
            continue
        for number, line in prose_lines(text):
            for found in LINK.finditer(line):
                target = found[1] or found[2]
                if re.match(r"[a-z][a-z0-9+.-]*:", target):
                    continue  # the web
                file, _, anchor = target.partition("#")
                base = "" if file.startswith("/") else posixpath.dirname(path)
                full = posixpath.normpath(posixpath.join(base, file.lstrip("/"))) if file else path
                if full not in tree.paths and full not in folders:
                    yield path, number, f"link to '{target}': no such file; correct the link"
                elif anchor and full.endswith(".md") and anchor not in anchors(tree.text[full]):
                    yield path, number, f"link to '{target}': no such heading; correct the link"


RULES = (check_library_list, check_includes, check_linked, check_calls, check_unit_tests,
         check_licences, check_machine_paths, check_links)


def main(root):
    tree = Tree(root)
    violations = [violation for rule in RULES for violation in rule(tree)]
    for path, number, what in violations:
        print(f"{path}:{number}: {what}")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "."))
