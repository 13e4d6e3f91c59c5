"""Inputs and outputs by name, and options by name."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from enum import IntEnum
from typing import Any, SupportsIndex, TypeVar, overload

from nnapi.codes import PreferenceCode, PriorityCode
from nnapi.errors import BadDataError, need
from nnapi.model.model import Model
from nnapi.model.operand import Array

Preference = PreferenceCode | str
Priority = PriorityCode | str
Duration = float | timedelta

PREFERENCES = {
    "low_power": PreferenceCode.PREFER_LOW_POWER,
    "fast": PreferenceCode.PREFER_FAST_SINGLE_ANSWER,
    "fast_single_answer": PreferenceCode.PREFER_FAST_SINGLE_ANSWER,
    "sustained": PreferenceCode.PREFER_SUSTAINED_SPEED,
    "sustained_speed": PreferenceCode.PREFER_SUSTAINED_SPEED,
}
PRIORITIES = {code.name.removeprefix("PRIORITY_").lower(): code for code in PriorityCode}

Code = TypeVar("Code", bound=IntEnum)


class Outputs(list[Array]):
    """The outputs of a run, by index in ``model.outputs`` and by name: ``outputs[0]``, ``outputs["scores"]``."""

    def __init__(self, arrays: Iterable[Array], names: tuple[str, ...]) -> None:
        super().__init__(arrays)
        self._names = names

    def keys(self) -> tuple[str, ...]:
        return self._names

    def items(self) -> Iterator[tuple[str, Array]]:
        return zip(self._names, self, strict=True)

    @overload
    def __getitem__(self, key: SupportsIndex | str) -> Array: ...
    @overload
    def __getitem__(self, key: slice) -> list[Array]: ...
    def __getitem__(self, key: SupportsIndex | slice | str) -> Array | list[Array]:
        if not isinstance(key, str):
            return super().__getitem__(key)
        if key not in self._names:
            raise KeyError(f"{key!r} is not an output; the outputs are {', '.join(self._names)}")
        return super().__getitem__(self._names.index(key))


def order_inputs(model: Model, given: Mapping[str, Any]) -> list[Any]:
    """Return the values of a model's inputs in order; raise BadDataError for a name that is unknown or missing."""
    names = [info.name for info in model.input_info]
    unknown = [name for name in given if name not in names]
    wrong = ", ".join(map(repr, unknown))
    need(not unknown, f"{model.name} has no input {wrong}; it has {', '.join(names)}", BadDataError)
    missing = [name for name in names if name not in given]
    need(not missing, f"{model.name} also needs {', '.join(missing)}", BadDataError)
    return [given[name] for name in names]


def read_preference(preference: Preference) -> PreferenceCode:
    """Return the code of a preference: "low_power", "fast" or "sustained", or the code itself."""
    return _read(preference, PREFERENCES, PreferenceCode, "preference", "0..2")


def read_priority(priority: Priority) -> PriorityCode:
    """Return the code of a priority: "low", "medium" or "high", or the code itself."""
    return _read(priority, PRIORITIES, PriorityCode, "priority", "90, 100 or 110")


def _read(given: Code | str, known: Mapping[str, Code], codes: type[Code], what: str, numbers: str) -> Code:
    if isinstance(given, str):
        need(given.lower() in known, f"{what} is {given!r}, must be one of {', '.join(known)}", BadDataError)
        return known[given.lower()]
    need(given in [*codes], f"{what} is {given}, must be {numbers}", BadDataError)
    return codes(given)


def read_seconds(duration: Duration, what: str) -> int:
    """Convert a duration, in seconds or as a timedelta, to nanoseconds."""
    seconds = duration.total_seconds() if isinstance(duration, timedelta) else duration
    is_valid = isinstance(seconds, int | float) and 0 <= seconds < 2**63 / 1e9
    need(is_valid, f"{what} is {duration!r}, must be seconds or a timedelta, at least 0", BadDataError)
    return round(seconds * 1e9)
