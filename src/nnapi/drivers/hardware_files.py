"""Device files of hardware. ``glob`` takes as long to import as a driver's module."""

import os
from collections.abc import Sequence


def find_files(patterns: Sequence[str]) -> list[str]:
    """Return the existing files of patterns, sorted: paths, with ``*`` at the end for a number."""
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
