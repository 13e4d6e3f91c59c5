"""Words that the shell offers while a command is typed: devices, profiles, operations and model files.

If a function offers nothing, the shell completes names of files.
"""

import os
from collections.abc import Callable, Sequence

from nnapi.exporters import FORMATS
from nnapi.samples import MODELS

Words = Callable[[str], list[str]]


def complete_models(incomplete: str) -> list[str]:
    """Offer model files, folders and samples. A single folder is left to the shell, which adds no space behind it."""
    folder, name = os.path.split(incomplete)
    found = [] if folder else [sample for sample in MODELS if sample.startswith(name)]
    try:
        entries = sorted(os.scandir(folder or "."), key=lambda entry: entry.name)
    except OSError:
        return []
    for entry in entries:
        if not entry.name.startswith(name) or (entry.name.startswith(".") and not name):
            continue
        if entry.is_dir():
            found.append(os.path.join(folder, entry.name) + "/")
        elif entry.name.endswith(tuple(FORMATS)):
            found.append(os.path.join(folder, entry.name))
    return [] if len(found) == 1 and found[0].endswith("/") else found


def complete_devices(incomplete: str) -> list[str]:
    import nnapi

    return [device.name for device in nnapi.devices() if device.name.startswith(incomplete)]


def complete_profiles(incomplete: str) -> list[str]:
    from nnapi.profiles.reading import list_shipped

    return [name for name in list_shipped() if name.startswith(incomplete)]


def complete_operations(incomplete: str) -> list[str]:
    from nnapi.operation_codes import OperationCode

    return [name for name in OperationCode.__members__ if name.startswith(incomplete)]


def complete_list(complete: Words | Sequence[str]) -> Words:
    """Return a function that completes the last of several words separated by commas."""

    def complete_last(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        given = before.split(",")
        words = complete(last) if callable(complete) else [word for word in complete if word.startswith(last)]
        return [before + comma + word for word in words if word not in given]

    return complete_last
