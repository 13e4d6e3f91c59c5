"""Write profiles as TOML; reading one back returns an equal profile."""

import json
from collections.abc import Iterator
from typing import Any

from nnapi.codes import OperandCode
from nnapi.contract.driver import Capabilities, Performance
from nnapi.profiles.profile import ANYTHING, PLAIN, OperandLimits, OperationLimits, Profile


def write_profile(profile: Profile) -> str:
    return "\n".join(_lines(profile)) + "\n"


def _lines(profile: Profile) -> Iterator[str]:
    yield f"name = {_value(profile.name)}"
    yield f"version = {_value(profile.version)}"
    yield f"type = {_value(profile.type.name.removeprefix('DEVICE_'))}"
    yield f"feature_level = {profile.feature_level}"
    if profile.source:
        yield f"source = {_value(profile.source)}"
    if profile.computed_by is not None:
        yield f"computed_by = {_value(profile.computed_by)}"
    if profile.delay_seconds:
        yield f"delay_seconds = {profile.delay_seconds!r}"
    yield from ("", "[performance]", *_list_performance(profile.capabilities))
    if profile.others is not None:
        yield from ("", "[other_operations]", *(f"{key} = {_value(v)}" for key, v in _limits(profile.others.first)))
    yield from ("", "[operations]")
    for code, limits in sorted(profile.operations.items(), key=lambda item: item[0].name):
        yield f"{code.name} = {_table(_list_limits(limits))}"


def _list_performance(declared: Capabilities) -> Iterator[str]:
    by_type = {OperandCode(code).name: figures for code, figures in sorted(declared.by_type.items())}
    others = {"relaxed": declared.relaxed, "IF": declared.if_, "WHILE": declared.while_}
    for name, figures in {"default": declared.default, **by_type, **others}.items():
        yield f"{name} = {_table(list(Performance(*map(float, figures))._asdict().items()))}"
    if (declared.launch_seconds, declared.seconds_per_byte) != (PLAIN.launch_seconds, PLAIN.seconds_per_byte):
        yield from ("", "[transfer]")
        yield f"launch_seconds = {float(declared.launch_seconds)!r}"
        yield f"seconds_per_byte = {float(declared.seconds_per_byte)!r}"


def _list_limits(limits: OperationLimits) -> list[tuple[str, Any]]:
    below = {name: dict(_limits(each)) for name, each in limits.operands.items()}
    return [*_limits(limits.first), *((f"operands.{name}", each) for name, each in below.items())]


def _limits(limits: OperandLimits) -> list[tuple[str, Any]]:
    """Return the fields that limit anything, by their keys in the file."""
    given = {name: value for name, value in vars(limits).items() if value != getattr(ANYTHING, name)}
    if limits.types is not None:
        given["types"] = [OperandCode(code).name for code in limits.types]
    return [*given.items()]


def _table(entries: list[tuple[str, Any]]) -> str:
    inside = ", ".join(f"{key} = {_value(value)}" for key, value in entries)
    return f"{{ {inside} }}" if inside else "{}"


def _value(value: Any) -> str:
    """Format a value as TOML. Strings, arrays, booleans and integers are formatted as in JSON."""
    return _table(list(value.items())) if isinstance(value, dict) else json.dumps(value, ensure_ascii=False)
