"""Read profiles from TOML files. Errors name the file, the key and the fault."""

import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from nnapi.codes import DeviceTypeCode, OperandCode, OperationCode
from nnapi.contract.driver import Capabilities, Performance
from nnapi.errors import BadDataError
from nnapi.model.operation import REGISTRY
from nnapi.printable import shorten
from nnapi.profiles.profile import OperandLimits, OperationLimits, Profile
from nnapi.store.toml_files import read_toml

SHIPPED = Path(__file__).parent
SUFFIX = ".toml"
LONGEST_DELAY = 3600.0
LONGEST_NAME = 200
KINDS = {str: "a string", bool: "true or false", int: "a whole number", float: "a number", dict: "a table"}
T = TypeVar("T")


def list_shipped() -> list[str]:
    return sorted(path.name for path in SHIPPED.glob(f"*{SUFFIX}"))


def find_profile(name: str | os.PathLike[str]) -> Path:
    """Return the path of a profile: a file, or a profile that nnapi includes; BadDataError if neither exists."""
    path = Path(name)
    if path.is_file():
        return path
    if str(path) in list_shipped():
        return SHIPPED / path
    raise BadDataError(f"{path}: no such profile; those that come with nnapi are {', '.join(list_shipped())}")


def read_profile(path: str | os.PathLike[str]) -> Profile:
    """Read a profile; raise BadDataError if it is invalid."""
    root = _Table(os.fspath(path), "", read_toml(path))
    with_limits = root.take_table("operations")
    transfer = root.take_table("transfer")
    level = root.take("feature_level", int, 8)
    if level not in range(1, 9):
        root.refuse("feature_level", f"must be 1 to 8, is {level}")
    others = root.take_table("other_operations") if root.has("other_operations") else None
    profile = Profile(
        name=root.take("name", str),
        version=root.take("version", str, "1.0"),
        type=_read_device_type(root),
        feature_level=level,
        source=root.take("source", str, ""),
        capabilities=_read_capabilities(root.take_table("performance"), transfer),
        operations={code: _read_operation(with_limits.take_table(code.name), code) for code in _codes(with_limits)},
        others=None if others is None else OperationLimits(_read_operand(others)),
        computed_by=root.take("computed_by", str, None),
        delay_seconds=root.take_number("delay_seconds", 0.0),
    )
    for table in (root, with_limits, transfer, others):
        if table is not None:
            table.close()
    for key, text in (("name", profile.name), ("version", profile.version)):
        if len(text) > LONGEST_NAME:
            root.refuse(key, f"has {len(text)} characters, at most {LONGEST_NAME} are possible")
    if not profile.name or not profile.name.isprintable():
        root.refuse("name", f"must be a line that is not empty, is {profile.name!r}")
    if profile.delay_seconds > LONGEST_DELAY:
        root.refuse("delay_seconds", f"must be at most {LONGEST_DELAY:g}, is {profile.delay_seconds:g}")
    return profile


class _Table:
    """A table of a TOML file. Each key is read once; keys that are left are unknown."""

    def __init__(self, file: str, path: str, values: dict[str, Any]) -> None:
        self._file, self._path, self._values, self._known = file, path, dict(values), list[str]()

    def has(self, key: str) -> bool:
        """Return whether an optional key exists."""
        self._known.append(key)
        return key in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def refuse(self, key: str, violation: str) -> NoReturn:
        raise BadDataError(f"{self._file}: {shorten(f'{self._path}{key} {violation}')}")

    def take(self, key: str, kind: type[Any], *default: Any) -> Any:
        """Return and remove a key's value; ``default`` if the key is missing, else BadDataError."""
        self._known.append(key)
        if key not in self._values:
            return default[0] if default else self.refuse(key, "is missing")
        value = self._values.pop(key)
        fits = isinstance(value, (int, float) if kind is float else kind)
        is_number_by_accident = isinstance(value, bool) and kind is not bool
        return value if fits and not is_number_by_accident else self._refuse_kind(key, kind, value)

    def take_number(self, key: str, default: float) -> float:
        """Return a number, which must be finite and not negative."""
        number = float(self.take(key, float, default))
        if not math.isfinite(number) or number < 0:
            self.refuse(key, f"must be finite and not negative, is {number:g}")
        return number

    def take_list(self, key: str, kind: type[T]) -> list[T] | None:
        """Return a list with at least one value, all of one kind; None if the key is missing."""
        self._known.append(key)
        values = self._values.pop(key, None)
        if values is None:
            return None
        if not isinstance(values, list) or not values:
            self.refuse(key, f"must be a list that is not empty, is {values!r}")
        for value in values:
            if type(value) is not kind:
                self._refuse_kind(f"{key}: each", kind, value)
        return values

    def take_table(self, key: str) -> "_Table":
        return _Table(self._file, f"{self._path}{key}.", self.take(key, dict, {}))

    def close(self) -> None:
        """Raise BadDataError if there is an unknown key."""
        for key in self._values:
            self.refuse(key, f"is not known; known are: {', '.join(sorted(set(self._known))) or 'none'}")

    def _refuse_kind(self, key: str, kind: type[Any], value: Any) -> NoReturn:
        self.refuse(key, f"must be {KINDS[kind]}, is {value!r}")


def _read_device_type(root: _Table) -> DeviceTypeCode:
    names = [code.name.removeprefix("DEVICE_") for code in DeviceTypeCode if code != DeviceTypeCode.DEVICE_UNKNOWN]
    name = root.take("type", str, "ACCELERATOR")
    if name not in names:
        root.refuse("type", f"must be one of {', '.join(names)}, is {name!r}")
    return DeviceTypeCode[f"DEVICE_{name}"]


def _read_capabilities(performance: _Table, transfer: _Table) -> Capabilities:
    plain = Capabilities()
    default = _read_performance(performance, "default", plain.default)
    relaxed, if_, while_ = (_read_performance(performance, key, default) for key in ("relaxed", "IF", "WHILE"))
    by_type: dict[int, Performance] = {
        code: _read_performance(performance, code.name, default) for code in OperandCode if performance.has(code.name)
    }
    performance.close()
    return Capabilities(
        default,
        by_type,
        relaxed,
        if_,
        while_,
        transfer.take_number("launch_seconds", plain.launch_seconds),
        transfer.take_number("seconds_per_byte", plain.seconds_per_byte),
    )


def _read_performance(tables: _Table, key: str, default: Performance) -> Performance:
    if not tables.has(key):
        return default
    table = tables.take_table(key)
    found = Performance(*(table.take_number(figure, value) for figure, value in default._asdict().items()))
    table.close()
    return found


def _codes(operations: _Table) -> list[OperationCode]:
    for name in operations:
        if name not in OperationCode.__members__:
            operations.refuse(name, "is not an operation of NNAPI")
    return [OperationCode[name] for name in operations]


def _read_operation(table: _Table, code: OperationCode) -> OperationLimits:
    named = table.take_table("operands")
    declared = REGISTRY[code]
    known = {slot.name for form in declared.overloads for slot in form.inputs} | {
        slot.name for slot in declared.outputs
    }
    operands = {}
    for name in list(named):
        if name not in known:
            named.refuse(name, f"is not an operand of {code.name}, which has {', '.join(sorted(known))}")
        operands[name] = _read_operand(one := named.take_table(name))
        one.close()
    first = _read_operand(table)
    table.close()
    return OperationLimits(first, operands)


def _read_operand(table: _Table) -> OperandLimits:
    types = table.take_list("types", str)
    for name in types or ():
        if name not in OperandCode.__members__:
            table.refuse("types", f"names {name!r}, which is not an operand type of NNAPI")
    ranks = table.take_list("ranks", int)
    if ranks and min(ranks) < 0:
        table.refuse("ranks", f"must not be negative, has {min(ranks)}")
    largest = table.take("largest_dimension", int, None)
    if largest is not None and largest < 1:
        table.refuse("largest_dimension", f"must be at least 1, is {largest}")
    values = table.take_list("values", bool)
    return OperandLimits(
        None if types is None else tuple(OperandCode[name] for name in types),
        None if ranks is None else tuple(ranks),
        largest,
        table.take("constant", bool, False),
        None if values is None else tuple(values),
    )
