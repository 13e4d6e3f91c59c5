"""Conversion of drivers' requests and answers to plain values for messages, and back. Malformed values raise one of
:data:`WRONG`; reading never runs code that the other side chooses."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import UnionType
from typing import Any, NamedTuple, TypeAlias, get_args, get_origin, get_type_hints

import numpy as np

from nnapi.contract.driver import (
    Allocates,
    Attribute,
    Caches,
    Capabilities,
    DeviceInfo,
    Driver,
    LoopTimeoutError,
    Verdict,
)
from nnapi.contract.workload import Work
from nnapi.errors import MissedDeadlineTransientError, NnapiError, OpFailedError, OutOfMemoryError, error_for
from nnapi.model.extension import EXTENSIONS, Extension
from nnapi.model.model import Lifetime, Model
from nnapi.model.operand import Array, ChannelQuantization, OperandType
from nnapi.model.pickling import Description, build, describe
from nnapi.model.precision import Precision
from nnapi.trace import Span
from nnapi.trace.labels import parse_label

Values: TypeAlias = Any
"""Values that JSON can express."""
WRONG = (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError)
"""Errors that malformed values may raise."""
ATTRIBUTES = tuple[Attribute, ...]


class Greeting(NamedTuple):
    info: DeviceInfo
    capabilities: Capabilities
    allocates: bool
    caches: bool

    @classmethod
    def of(cls, driver: Driver) -> "Greeting":
        return cls(driver.info, driver.capabilities(), isinstance(driver, Allocates), isinstance(driver, Caches))


def to_greeting(values: Values) -> Greeting:
    greeting: Greeting = to_value(Greeting, values)
    if not (1 <= greeting.info.feature_level <= 8):
        raise ValueError(f"feature level {greeting.info.feature_level}")
    return greeting


def of_value(value: Any) -> Values:
    """Convert a named tuple of the driver interface, or a member of one, for :func:`to_value`."""
    if isinstance(value, bytes | memoryview):
        return bytes(value).hex()
    if isinstance(value, Mapping):
        value = [*value.items()]
    return [of_value(each) for each in value] if isinstance(value, tuple | list) else value


def to_value(kind: Any, values: Values) -> Any:
    """Convert values back to a type: a named tuple of the driver interface, or the type of a member."""
    origin, parts = get_origin(kind), get_args(kind)
    if hasattr(kind, "_fields"):
        return kind(*(to_value(*each) for each in zip(_types(kind), values, strict=True)))
    if origin is tuple and parts[-1] is ...:
        return tuple(to_value(parts[0], each) for each in values)
    if origin is tuple:
        return tuple(to_value(*each) for each in zip(parts, values, strict=True))
    if origin is Mapping:
        return {to_value(parts[0], key): to_value(parts[1], each) for key, each in values}
    if origin is UnionType:  # a type or None
        return None if values is None else to_value(parts[0], values)
    return bytes.fromhex(values) if kind is bytes else kind(values)


@cache
def _types(kind: Any) -> tuple[Any, ...]:
    return tuple(get_type_hints(kind).values())


def of_verdicts(model: Model, verdicts: Sequence[Verdict]) -> Values:
    """Convert verdicts, with the operations' numbers, because the two sides may order operations differently."""
    return [
        [call.number, bool(verdict.supported), verdict.reason, of_value(verdict.parts)]
        for call, verdict in zip(model.operations, verdicts, strict=True)
    ]


def to_verdicts(model: Model, values: Values) -> list[Verdict]:
    found = {
        int(number): Verdict(bool(supported), str(reason), to_value(tuple[Work, ...], parts))
        for number, supported, reason, parts in values
    }
    return [found[call.number] for call in model.operations]


def of_error(error: BaseException, who: str) -> Values:
    """Convert an error; errors other than NnapiErrors become those that the runtime would raise."""
    if isinstance(error, NnapiError):
        return [int(error.code), str(error), isinstance(error, LoopTimeoutError)]
    if isinstance(error, MemoryError):
        return [int(OutOfMemoryError.code), f"{who}: no memory left: {error}", False]
    return [int(OpFailedError.code), f"{who} failed: {type(error).__name__}: {error}", False]


def to_error(values: Values) -> NnapiError:
    code, message, is_loop = values
    kind = error_for(code)
    return LoopTimeoutError(str(message)) if is_loop and kind is MissedDeadlineTransientError else kind(str(message))


def of_model(model: Model) -> tuple[Values, list[Array]]:
    """Return a model, with all that it refers to, as values, and the constants that these refer to by index."""
    arrays: list[Array] = []
    model.need_mapped()
    models = [_of_description(description, arrays) for description in describe(model)]
    names = {name for description in models for name, _ in _codes(description) if name is not None}
    extensions = [of_value(found) for name in sorted(names) if (found := EXTENSIONS.find(name))]
    return {"extensions": extensions, "models": models}, arrays


def _of_description(description: Description, arrays: list[Array]) -> Values:
    operands = []
    for name, code, type, lifetime, value in description.operands:
        if lifetime is Lifetime.CONSTANT:
            arrays.append(value)
            value = len(arrays) - 1
        channel = None
        if type.channel is not None:  # too long for a message if there are thousands
            arrays.append(np.array(type.channel.scales, np.float64))
            channel = [type.channel.dimension, len(arrays) - 1]
        described = [type.dimensions, type.scale, type.zero_point, channel, type.data.hex()]
        operands.append([name, code, described, lifetime.value, value])
    return {**description._asdict(), "operands": operands}


def _codes(description: Values) -> list[tuple[str | None, int]]:
    return [operand[1] for operand in description["operands"]] + [call[0] for call in description["operations"]]


def to_model(values: Values, constant: Callable[[int], Array]) -> Model:
    """Return the model of these values; ``constant`` returns a constant's bytes by index."""
    for extension in to_value(tuple[Extension, ...], values["extensions"]):
        if EXTENSIONS.find(extension.name) is None:
            EXTENSIONS.describe("the application", extension)
    return build(Model, [_to_description(each, constant) for each in values["models"]])


def _to_description(values: Values, constant: Callable[[int], Array]) -> Description:
    operands = []
    for name, code, (dimensions, scale, zero_point, channel, data), lifetime, value in values["operands"]:
        quantization = None
        if channel is not None:
            quantization = ChannelQuantization(channel[0], tuple(constant(channel[1]).view(np.float64).tolist()))
        type = OperandType(code[1], dimensions, scale, zero_point, quantization, bytes.fromhex(data))
        role = Lifetime(lifetime)
        operands.append((name, tuple(code), type, role, constant(value) if role is Lifetime.CONSTANT else value))
    calls = [(tuple(code), tuple(inputs), tuple(outputs)) for code, inputs, outputs in values["operations"]]
    others: dict[str, Any] = {name: tuple(each) if isinstance(each, list) else each for name, each in values.items()}
    precision = Precision(values["precision"])
    return Description(**others | {"operands": operands, "operations": calls, "precision": precision})


def of_span(span: Span) -> Values:
    return [str(span.label), span.start, span.end, span.thread, span.thread_name, span.args, span.depth]


def to_span(values: Values, process: int) -> Span:
    label, start, end, thread, name, args, depth = values
    return Span(parse_label(str(label)), int(start), int(end), process, int(thread), str(name), dict(args), int(depth))
