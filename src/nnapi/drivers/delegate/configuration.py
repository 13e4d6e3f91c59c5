"""The configuration of delegates: an environment variable, else a file."""

import os

VARIABLE = "NNAPI_DELEGATES"
FILE = "nnapi/delegates.toml"
"""Below the folder of the user's configuration."""


def has_settings() -> bool:
    """Whether there may be a delegate."""
    said = os.environ.get(VARIABLE)
    return os.path.exists(find_file()) if said is None else bool(said)


def find_file() -> str:
    """Return the path of the file, which may not exist."""
    folder = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.environ.get("HOME", ""), ".config")
    return os.path.join(folder, FILE)
