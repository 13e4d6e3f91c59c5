"""Look for device files of hardware. Importing ``glob`` takes as long as importing a driver's module."""

import os
from collections.abc import Sequence


def find_files(patterns: Sequence[str]) -> list[str]:
    """Return the existing files that match patterns, sorted. A pattern is a path; a final ``*`` matches digits."""
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
