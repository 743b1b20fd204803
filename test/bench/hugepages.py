# SPDX-License-Identifier: BSD-3-Clause
"""Memory in hugepages for the processes of a benchmark: testpmd is at its best there."""

import contextlib
import pathlib
import subprocess
import tempfile

import measure

HUGEPAGES = 512  # Of 2 MiB: enough for as many processes as look for the best setting at once.
NR_HUGEPAGES = pathlib.Path("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages")


@contextlib.contextmanager
def hugepage_memory():
    """EAL arguments for memory in hugepages, reserved for as long as the context lasts."""
    before = int(NR_HUGEPAGES.read_text())
    with tempfile.TemporaryDirectory(prefix="penstock-bench-huge-") as folder:
        try:
            NR_HUGEPAGES.write_text(str(before + HUGEPAGES))
            if int(NR_HUGEPAGES.read_text()) < before + HUGEPAGES:
                raise measure.Failed(f"this machine has no memory for {HUGEPAGES} hugepages")
            mounted = subprocess.run(["mount", "-t", "hugetlbfs", "-o", "pagesize=2M", "none", folder],
                                     check=False).returncode == 0
            if not mounted:
                raise measure.Failed("cannot mount hugetlbfs: run as root")
            try:
                yield [f"--huge-dir={folder}", "--huge-unlink=always"]
            finally:
                subprocess.run(["umount", folder], check=True)
        except OSError as error:
            raise measure.Failed(f"cannot reserve hugepages: {error}") from error
        finally:
            with contextlib.suppress(OSError):
                NR_HUGEPAGES.write_text(str(before))
