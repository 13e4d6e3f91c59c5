"""The packages that build a release, pinned with hashes in release-lock.txt."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from tools.environment import FailedError

LOCK = Path(__file__).resolve().parent.parent / "release-lock.txt"
EVERY = "--require-hashes", "--requirement", LOCK
"""Words for pip that install all of them."""
BUILD = "setuptools", "cffi", "pycparser"
"""The packages that build a wheel, with their dependencies."""
HAS_CFFI = (
    "import sys, sysconfig; print(sys.version_info >= (3, 14) or not sysconfig.get_config_var('Py_GIL_DISABLED'))"
)
"""Print whether the Python that runs this can have cffi, as in setup.py."""


def select(names: Collection[str], lock: str) -> str:
    """Return the lines of a lock for these packages. Raises FailedError if it lacks one."""
    found = {}
    for requirement in re.split(r"\n(?=\S)", lock):
        name = re.match(r"[\w.-]+(?===)", requirement)
        if name and name[0] in names:
            found[name[0]] = requirement.rstrip()
    if missing := [name for name in names if name not in found]:
        raise FailedError(f"{LOCK.name} lacks {', '.join(missing)}: run make lock")
    return "".join(f"{requirement}\n" for requirement in found.values())


def write_build_lock(file: Path, has_cffi: bool) -> Path:
    """Write the lock of the packages that build a wheel."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(select(BUILD if has_cffi else BUILD[:1], LOCK.read_text()))
    return file
