"""The phones connected by ``nnapi phone connect``: later commands use their devices as if NNAPI_FOREIGN named them."""

import os
from contextlib import suppress

from nnapi.store.directories import find_setting_file
from nnapi.store.files import make_directory, read_bounded, replace_file

FILE = "phones"
"""A file in the user's configuration directory, with a line NAME=adb:SERIAL for each phone."""
MOST = 1 << 20


def list_phones() -> list[str]:
    """Return the settings of the connected phones."""
    with suppress(OSError):
        return read_bounded(find_setting_file(FILE), MOST).decode(errors="replace").split()
    return []


def use_phones() -> None:
    """Set NNAPI_FOREIGN to the connected phones, unless the variable is set."""
    if (phones := list_phones()) and "NNAPI_FOREIGN" not in os.environ:
        os.environ["NNAPI_FOREIGN"] = ",".join(phones)


def add_phone(name: str, serial: str) -> None:
    """Remember a phone; it replaces another phone of the same name."""
    _write([*(each for each in list_phones() if each.partition("=")[0] != name), f"{name}=adb:{serial}"])


def drop_phone(serial: str) -> None:
    """Forget a phone, under all its names."""
    phones = list_phones()
    rest = [each for each in phones if each.partition("=")[2] != f"adb:{serial}"]
    if rest != phones:
        _write(rest)


def _write(phones: list[str]) -> None:
    path = find_setting_file(FILE)
    make_directory(os.path.dirname(path))
    with replace_file(path) as file:
        file.write("".join(f"{each}\n" for each in phones).encode())
