"""The configured delegates: from NNAPI_DELEGATES or, if it is not set, from a file."""

import os
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from nnapi.codes import DeviceTypeCode
from nnapi.contract.driver import Driver
from nnapi.drivers.delegate.configuration import VARIABLE, find_file
from nnapi.drivers.isolated.probing import Unusable
from nnapi.errors import BadDataError, need

KEYS = "library", "options", "type"
TYPES = {code.name.removeprefix("DEVICE_"): code for code in DeviceTypeCode if code != DeviceTypeCode.DEVICE_UNKNOWN}


class DelegateDevice(NamedTuple):
    """A configured delegate: library, options, device type. Calling it, in the device's process, returns its driver."""

    name: str
    library: str
    options: tuple[tuple[str, str], ...] = ()
    type: DeviceTypeCode = DeviceTypeCode.DEVICE_ACCELERATOR

    def __call__(self) -> list[Driver]:
        from nnapi.drivers.delegate.driver import DelegateDriver  # on demand: only in the driver's process

        return [DelegateDriver(*self)]


def list_settings() -> Iterator[DelegateDevice | Unusable]:
    """Yield the configured delegates, and an Unusable with the reason for each invalid setting."""
    said = os.environ.get(VARIABLE)
    settings = _read_file(find_file()) if said is None else [*filter(None, map(str.strip, said.split(",")))]
    names: set[str] = set()
    for setting in settings:
        name = setting.partition("=")[0] if isinstance(setting, str) else setting[0]
        try:
            device = parse_setting(setting) if isinstance(setting, str) else _read_table(*setting)
            need(name not in names, f"{name} is configured twice", BadDataError)
            names.add(name)
            yield device
        except BadDataError as error:
            yield Unusable(name or VARIABLE, str(error))


def parse_setting(text: str) -> DelegateDevice:
    """Parse one item of NNAPI_DELEGATES; ``%XX`` stands for a special character."""
    from urllib.parse import unquote  # on demand: few programs need it

    name, _, rest = text.partition("=")
    library, _, query = rest.partition("?")
    need(name and library, f"{VARIABLE}: {text!r} must be NAME=PATH or NAME=PATH?OPTION=VALUE&…", BadDataError)
    options = []
    for part in filter(None, query.split("&")):
        key, equals, value = part.partition("=")
        need(key and equals, f"{VARIABLE}: {name}: the option {part!r} must be OPTION=VALUE", BadDataError)
        options.append((unquote(key), unquote(value)))
    return DelegateDevice(name, os.path.abspath(unquote(library)), tuple(options))


def _read_file(path: str) -> list[tuple[str, Any, str]]:
    if not os.path.exists(path):
        return []
    from nnapi.store.toml_files import read_toml  # on demand: few programs need it

    try:
        return [(name, table, path) for name, table in read_toml(path).items()]
    except BadDataError as error:
        return [("delegates.toml", error, path)]


def _read_table(name: str, table: Any, path: str) -> DelegateDevice:
    where = f"{path}: {name}"
    if isinstance(table, BadDataError):
        raise table
    need(isinstance(table, Mapping), f"{where} must be a table", BadDataError)
    unknown = [key for key in table if key not in KEYS]
    need(not unknown, f"{where}.{', '.join(unknown)} is not known; there are {', '.join(KEYS)}", BadDataError)
    library, options, kind = table.get("library"), table.get("options", {}), table.get("type", "ACCELERATOR")
    need(isinstance(library, str) and library, f"{where}.library must be the path of a delegate", BadDataError)
    need(isinstance(options, Mapping), f"{where}.options must be a table", BadDataError)
    need(kind in TYPES, f"{where}.type must be one of {', '.join(TYPES)}, is {kind!r}", BadDataError)
    library = os.path.join(os.path.dirname(os.path.abspath(path)), library)
    return DelegateDevice(name, library, tuple((k, _as_text(where, k, v)) for k, v in options.items()), TYPES[kind])


def _as_text(where: str, key: str, value: Any) -> str:
    need(isinstance(value, str | int | float), f"{where}.options.{key} must be a string or a number", BadDataError)
    return str(value).lower() if isinstance(value, bool) else str(value)
