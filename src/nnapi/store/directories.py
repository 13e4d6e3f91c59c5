"""The default directories of persistent records."""

import os
from enum import StrEnum
from functools import cache


class RecordKind(StrEnum):
    """Kinds of records; each value is the name of a folder in :func:`default_directory`."""

    PLANS = "plans"
    MODELS = "models"
    EXCLUSIONS = "exclusions"
    PREPARED = "prepared"
    PROBES = "probes"


HOLDS = {
    RecordKind.PLANS: "the plans that trials or predictions found fastest",
    RecordKind.EXCLUSIONS: "the operations that ended a driver's process",
    RecordKind.MODELS: "summaries of model files, with which a cached model is compiled without reading its file",
    RecordKind.PROBES: "the hardware that drivers found, if finding it takes long",
    RecordKind.PREPARED: "prepared models of compilations without a named cache",
}


def default_directory() -> str:
    """Return NNAPI_CACHE_DIR, or ``nnapi`` in the user's cache directory; below /dev/null if the user has no home."""
    return _find_directory(*map(os.environ.get, ("NNAPI_CACHE_DIR", "XDG_CACHE_HOME", "HOME")))


def find_setting_file(name: str) -> str:
    """Return the path of a file in the user's configuration directory; the file may not exist."""
    folder = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.environ.get("HOME", ""), ".config")
    return os.path.join(folder, "nnapi", name)


def directory_of(kind: RecordKind) -> str:
    return os.path.join(default_directory(), kind)


@cache
def _find_directory(chosen: str | None, users: str | None, home: str | None) -> str:
    if chosen:
        return chosen
    if not users:
        home = os.path.expanduser("~")
        users = os.devnull if home == "~" else os.path.join(home, ".cache")
    return os.path.join(users, "nnapi")
