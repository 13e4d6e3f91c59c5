"""Files by which the system shows that there is hardware. ``glob`` takes as long to import as a driver's module."""

from __future__ import annotations

import os
from collections.abc import Sequence


def find_files(patterns: Sequence[str]) -> list[str]:
    """The files of patterns that there are, sorted: a path, with ``*`` at its end where a number follows."""
    return sorted(path for pattern in patterns for path in _match(pattern))


def _match(pattern: str) -> list[str]:
    if not pattern.endswith("*"):
        return [pattern] if os.path.exists(pattern) else []
    folder, start = os.path.split(pattern[:-1])
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return [os.path.join(folder, name) for name in names if name.startswith(start) and name[len(start) :].isdigit()]
