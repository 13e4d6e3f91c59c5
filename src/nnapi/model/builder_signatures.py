"""Signatures and documentation of Builder methods, from the declarations of operations."""

import keyword
from collections.abc import Mapping
from functools import cache
from inspect import Parameter as Shown
from inspect import Signature

from nnapi.codes import FuseCode
from nnapi.model.arguments import default_of
from nnapi.model.operand import type_name
from nnapi.model.operation import REGISTRY, Operation
from nnapi.model.parameter import (
    REQUIRED,
    ActivationParameter,
    AnyParameter,
    ModelParameter,
    Parameter,
    Several,
    Slot,
    TensorParameter,
    ValuesParameter,
)

OPTIONS = {"out": None, "scale": None, "zero_point": 0, "name": ""}


def method_name(operation: Operation) -> str:
    """Return the operation's name as a Python method: ``conv_2d``, ``if_``."""
    name = operation.name.lower()
    return f"{name}_" if keyword.iskeyword(name) else name


@cache
def signature(operation: Operation) -> Signature:
    """Return the method's signature; parameters that only some overloads have are shown as ``name=...``."""
    overloads = [list(overload.inputs) for overload in operation.overloads]
    slots = {slot.name: slot for overload in overloads for slot in overload}
    common = [name for name in slots if all(name in [slot.name for slot in overload] for overload in overloads)]
    leading = len(common) if len(overloads) == 1 else next(i for i, name in enumerate(slots) if name not in common)
    shown: list[Shown] = []
    for position, (name, slot) in enumerate(slots.items()):
        if isinstance(slot, Several):
            shown.append(Shown(name, Shown.VAR_POSITIONAL))
            leading = position
            continue
        after = list(slots.values())[position:leading]  # a default is legal only if all later parameters have one
        default = REQUIRED if any(default_of(other) is REQUIRED for other in after) else default_of(slot)
        default = ... if name not in common else Shown.empty if default is REQUIRED else default
        shown.append(
            Shown(name, Shown.POSITIONAL_OR_KEYWORD if position < leading else Shown.KEYWORD_ONLY, default=default)
        )
    shown += [Shown(name, Shown.KEYWORD_ONLY, default=default) for name, default in OPTIONS.items()]
    return Signature(shown)


def find_summary(operation: Operation) -> str:
    """Return the operation's line in its module's docstring; "" for an extension's, or without docstrings."""
    text = REGISTRY.find_module(operation.code).__doc__ or "" if operation.code in REGISTRY else ""
    return next((line for line in text.splitlines() if line.startswith(f"{operation.name}: ")), "")


@cache
def documentation(operation: Operation) -> str:
    """Return the method's docstring: summary, overloads, operands with types, ranks and levels, outputs."""
    own = f"{operation.name}: {operation.doc}" if operation.doc else ""
    lines = [own or find_summary(operation) or f"Append {operation.name}.", ""]
    if len(operation.overloads) > 1:
        lines += [
            f"Overload {overload.name}: {', '.join(slot.name for slot in overload.inputs)}"
            for overload in operation.overloads
        ]
        lines.append("")
    slots = {slot.name: slot for overload in operation.overloads for slot in overload.inputs}
    lines += ["Operands:", *(f"    {_describe(slot, slots)}" for slot in slots.values()), ""]
    lines += ["Outputs:", *(f"    {_describe(slot, slots)}" for slot in operation.outputs)]
    return "\n".join(lines)


def _describe(slot: Slot, slots: Mapping[str, Slot]) -> str:
    parameter = _parameter(slot)
    words = [_types(parameter, slots)]
    if isinstance(slot, Several):
        words.insert(0, f"any number, at least {slot.least}, of")
    if isinstance(parameter, ValuesParameter):
        words.append("(a list of numbers)")
    if isinstance(parameter, TensorParameter) and parameter.rank is not None:
        words.append(f"of rank {parameter.describe_ranks()}")
    default = default_of(slot)
    if isinstance(parameter, ActivationParameter):
        words.append(f"({', '.join(code.name.removeprefix('FUSED_').lower() for code in FuseCode)}), none by default")
    elif default is None:
        words.append("or None")
    elif default is not REQUIRED:
        words.append(f"{default} by default")
    return f"{slot.name}: {' '.join(words)}"


def _parameter(slot: Slot) -> Parameter:
    return slot.parameter if isinstance(slot, Several) else slot


def _types(parameter: Parameter, slots: Mapping[str, Slot]) -> str:
    if isinstance(parameter, ModelParameter):
        return "a finished Model"
    if isinstance(parameter, AnyParameter):
        return "operands of any type"
    if parameter.like and parameter.via is None:
        return f"of the type of {parameter.like}"
    if parameter.like:
        beside: dict[str, list[str]] = {}
        for code in _parameter(slots[parameter.like]).types:
            names = " or ".join(map(type_name, parameter.accepts({parameter.like: code})))
            beside.setdefault(names, []).append(type_name(code))
        return ", ".join(f"{names} beside {' or '.join(leaders)}" for names, leaders in beside.items() if names)
    return ", ".join(
        type_name(code) + (f" (level {level})" if level > 1 else "") for code, level in parameter.types.items()
    )
