"""The place of the configuration of delegates: an environment variable, else a file."""

import os

from nnapi.store.directories import find_setting_file

VARIABLE = "NNAPI_DELEGATES"


def has_settings() -> bool:
    """Return whether a delegate may be configured."""
    said = os.environ.get(VARIABLE)
    return os.path.exists(find_file()) if said is None else bool(said)


def find_file() -> str:
    """Return the path of the configuration file, which may not exist."""
    return find_setting_file("delegates.toml")
