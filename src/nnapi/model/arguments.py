"""Convert the arguments of a Python call to the operands of an overload."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from nnapi.codes import FuseCode, OperandCode, PaddingCode
from nnapi.errors import BadDataError, need, need_value
from nnapi.model.model import Model
from nnapi.model.operand import DTYPES, ZERO_POINTS, Array, OperandType, tensor
from nnapi.model.operation import Operation, Overload
from nnapi.model.parameter import (
    REQUIRED,
    ActivationParameter,
    AnyParameter,
    LayoutParameter,
    ModelParameter,
    Parameter,
    ScalarParameter,
    Several,
    Slot,
    TensorParameter,
    ValuesParameter,
)

TENSOR_OF = {
    np.dtype(np.float32): OperandCode.TENSOR_FLOAT32,
    np.dtype(np.float16): OperandCode.TENSOR_FLOAT16,
    np.dtype(np.int32): OperandCode.TENSOR_INT32,
    np.dtype(np.bool_): OperandCode.TENSOR_BOOL8,
}

CONVERTED = {
    "f": (OperandCode.TENSOR_FLOAT32, OperandCode.TENSOR_FLOAT16),
    "i": (OperandCode.TENSOR_INT32, OperandCode.TENSOR_FLOAT32, OperandCode.TENSOR_FLOAT16),
    "b": (OperandCode.TENSOR_BOOL8,),
}
"""The operand types to try, in this order, for Python numbers and 64-bit arrays."""


@dataclass(frozen=True)
class Argument:
    """An operand of a call: an existing one (``index``) or a new one; omitted if it has no value."""

    type: OperandType
    value: Array | Model | None = None
    index: int | None = None

    @property
    def is_omitted(self) -> bool:
        return self.index is None and self.value is None


Arranged = list[tuple[Slot, list[Argument]]]


def arrange(operation: Operation, given: Sequence[Any], named: Mapping[str, Any]) -> Arranged:
    """Fit arguments to the first overload that accepts them; raise the BadDataError of the one that fits longest."""
    furthest, failure = -1, BadDataError("takes no arguments")
    for overload in operation.overloads:
        arranged: Arranged = []
        codes: dict[str, int] = {}
        try:
            for slot, values in _list_values(overload, _assign_names(overload, given, named)):
                parameter = slot.parameter if isinstance(slot, Several) else slot
                row = [_argument(parameter, value, codes, exact=len(operation.overloads) > 1) for value in values]
                if row:
                    codes[slot.name] = row[0].type.code
                arranged.append((slot, row))
            return arranged
        except BadDataError as error:
            if len(arranged) > furthest:
                furthest, failure = len(arranged), error
    raise failure


def default_of(slot: Slot) -> Any:
    if isinstance(slot, ActivationParameter):
        return FuseCode.FUSED_NONE
    if isinstance(slot, Several) or slot.default is not REQUIRED:
        return REQUIRED if isinstance(slot, Several) else slot.default
    if isinstance(slot, LayoutParameter):
        return False
    return None if slot.optional else REQUIRED


def _assign_names(overload: Overload, given: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments by name; positional ones go, in order, to the parameters that are not named."""
    names = [slot.name for slot in overload.inputs]
    unknown = next((name for name in named if name not in names), None)
    need(unknown is None, f"has no operand {unknown}; it has {', '.join(names)}", BadDataError)
    left, bound = list(given), dict(named)
    slots = [slot for slot in overload.inputs if slot.name not in named]
    for position, slot in enumerate(slots):
        if isinstance(slot, Several):
            after = sum(default_of(other) is REQUIRED for other in slots[position + 1 :])
            width = max(0, len(left) - after)
            listed = bool(left) and isinstance(left[0], list | tuple)
            bound[slot.name] = left.pop(0) if listed else left[:width]
            left = left if listed else left[width:]
        elif left:
            bound[slot.name] = left.pop(0)
    need(not left, f"takes {len(names)} operands, got {len(given) + len(named)}", BadDataError)
    missing = next((s.name for s in overload.inputs if s.name not in bound and default_of(s) is REQUIRED), None)
    need(missing is None, f"{missing} is missing", BadDataError)
    return bound


def _list_values(overload: Overload, bound: Mapping[str, Any]) -> list[tuple[Slot, list[Any]]]:
    """Return the values of each parameter, and defaults up to the last parameter that is given or required."""
    count = len(overload.inputs)
    if not overload.is_variadic:
        last = max((i for i, slot in enumerate(overload.inputs, 1) if slot.name in bound), default=0)
        count = min(length for length in overload.legal_lengths if length >= last)
    listed = []
    for slot in overload.inputs[:count]:
        value = bound.get(slot.name, default_of(slot))
        if isinstance(slot, Several):
            need(isinstance(value, list | tuple), f"{slot.name} must be a list of operands", BadDataError)
            need(len(value) >= slot.least, f"{slot.name} must be at least {slot.least}, got {len(value)}", BadDataError)
        listed.append((slot, list(value) if isinstance(slot, Several) else [value]))
    return listed


def _argument(slot: Parameter, value: Any, codes: Mapping[str, int], *, exact: bool) -> Argument:
    if isinstance(value, Argument):
        return value
    if value is None:
        need(slot.optional or slot.default is None, f"{slot.name} is None, but needed", BadDataError)
        return Argument(_pick_type(slot, codes))
    if isinstance(slot, ModelParameter):
        need(isinstance(value, Model), f"{slot.name} is {value!r}, must be a finished Model", BadDataError)
        return Argument(OperandType(OperandCode.MODEL), value)
    if isinstance(slot, ScalarParameter):
        return _scalar(slot, value, codes, exact=exact)
    if isinstance(slot, ValuesParameter):
        return constant(np.atleast_1d(np.asarray(value)), None, {OperandCode.TENSOR_INT32: 1}, slot.name)
    return constant(value, None, {} if isinstance(slot, AnyParameter) else slot.accepts(codes), slot.name)


def _pick_type(slot: Parameter, codes: Mapping[str, int]) -> OperandType:
    code = next(code for code in slot.accepts(codes) if code != OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL)
    if not isinstance(slot, TensorParameter):
        return OperandType(code)
    rank = next((rank for rank in range(1, 7) if slot.rank_level(rank) == 1), 0)
    return OperandType(code, (0,) * rank, float(code in ZERO_POINTS))


def _scalar(slot: ScalarParameter, value: Any, codes: Mapping[str, int], *, exact: bool) -> Argument:
    """Return a scalar argument; with ``exact``, a bool is not accepted as an int."""
    if isinstance(value, str):
        value = _read_word(slot, value)
    accepted = slot.accepts(codes)
    whole, truth = isinstance(value, Integral), isinstance(value, bool | np.bool_)
    kinds = {
        OperandCode.BOOL: truth,
        OperandCode.INT32: (whole or truth) and not (truth and exact),
        OperandCode.FLOAT32: isinstance(value, Real) and not truth,
        OperandCode.FLOAT16: isinstance(value, Real) and not truth,
        OperandCode.UINT32: whole and not truth,
    }
    wanted = [code for code in kinds if code in accepted]
    same = np.asarray(value).dtype
    names = " or ".join(OperandCode(code).name for code in wanted)
    code = need_value(
        max((code for code in wanted if kinds[code]), key=lambda code: DTYPES[code] == same, default=None),
        f"{slot.name} is {value!r}, must be a number of type {names}",
        BadDataError,
    )
    try:
        with np.errstate(over="ignore"):
            return Argument(OperandType(code), np.asarray(value, DTYPES[code]))
    except OverflowError:
        raise BadDataError(f"{slot.name} is {value}, which {code.name} cannot hold") from None


def _read_word(slot: ScalarParameter, word: str) -> int:
    codes: dict[str, int] = {}
    if isinstance(slot, ActivationParameter):
        codes = {code.name.removeprefix("FUSED_").lower(): code for code in FuseCode}
    elif slot.name == "padding_scheme":
        codes = {code.name.removeprefix("PADDING_").lower(): code for code in PaddingCode}
    need(word.lower() in codes, f"{slot.name} is {word!r}, must be {' or '.join(codes) or 'a number'}", BadDataError)
    return codes[word.lower()]


def constant(value: Any, type: OperandType | None, accepted: Mapping[int, int], name: str) -> Argument:
    """Make a constant of ``type``, by default of an accepted type or the type that matches the array."""
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise BadDataError(f"{name} is not an array: {error}") from None
    if type is None:
        kind = {"u": "i"}.get(array.dtype.kind, array.dtype.kind)
        code = TENSOR_OF.get(array.dtype) if isinstance(value, np.ndarray) else None
        # The dtypes that NumPy gives Python's numbers: 8 bytes, or 4 for integers on 32-bit machines.
        if code is None and (array.dtype.itemsize == 8 or array.dtype == np.int_ or kind == "b"):
            choice = CONVERTED.get(kind, ())
            code = next((code for code in choice if code in accepted), choice[0] if choice else None)
        unknown = f"{name} is an array of {array.dtype}: say what it means, as constant(array, type)"
        type = tensor(need_value(code, unknown, BadDataError), array.shape or (1,))
    elif not type.is_scalar and not type.dimensions:
        type = type.with_dimensions(array.shape)
    stored = _store(array, type, name, convert=not isinstance(value, np.ndarray) or array.dtype.itemsize == 8)
    need(
        (type.is_scalar and stored.size == 1) or stored.shape in (type.dimensions, ()),
        f"{name} is an array of shape {list(stored.shape)}, its type is {type}",
        BadDataError,
    )
    return Argument(type, stored.reshape(type.dimensions))


def _store(array: Array, type: OperandType, name: str, *, convert: bool) -> Array:
    if array.dtype == np.bool_ and type.dtype == np.uint8:
        return array.view(np.uint8)
    if array.dtype == type.dtype:
        return array
    need(convert, f"{name} is an array of {array.dtype}, {type.name} stores {type.dtype}", BadDataError)
    with np.errstate(over="ignore", invalid="ignore"):
        stored = array.astype(type.dtype)
    exact = type.dtype.kind == "f" or np.array_equal(stored, array)
    need(exact, f"{name} holds numbers that {type.name} cannot", BadDataError)
    return stored
