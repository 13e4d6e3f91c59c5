"""Questions and answers of drivers as plain values for messages, and back.

Making something of values raises what it likes where they are not as they should be (:data:`WRONG`); it never runs code
of the other side's choice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from nnapi.codes import DeviceTypeCode, PreferenceCode, PriorityCode
from nnapi.drivers.base import (
    Allocates,
    Attribute,
    Caches,
    Capabilities,
    DeviceInfo,
    Driver,
    LoopTimeoutError,
    Performance,
    PrepareOptions,
    Verdict,
)
from nnapi.errors import MissedDeadlineTransientError, NnapiError, OpFailedError, OutOfMemoryError, error_for
from nnapi.model.extension import EXTENSIONS, Extension, ExtensionType
from nnapi.model.model import Lifetime, Model
from nnapi.model.operand import Array, ChannelQuantization, OperandType
from nnapi.model.pickling import Description, build, describe
from nnapi.trace import Span
from nnapi.trace.labels import parse_label

Values: TypeAlias = Any
"""Values that JSON can express."""
WRONG = (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError)
"""Errors of reading values that are not as they should be."""


def of_info(info: DeviceInfo) -> Values:
    extensions = [_of_extension(extension) for extension in info.extensions]
    return [info.name, info.version, int(info.type), info.feature_level, extensions]


def to_info(values: Values) -> DeviceInfo:
    name, version, type, level, extensions = values
    if not (1 <= level <= 8):
        raise ValueError(f"feature level {level}")
    return DeviceInfo(str(name), str(version), DeviceTypeCode(type), int(level), tuple(map(_to_extension, extensions)))


def _of_extension(extension: Extension) -> Values:
    return [extension.name, [[code, *type] for code, type in sorted(extension.operand_types.items())]]


def _to_extension(values: Values) -> Extension:
    name, types = values
    return Extension(str(name), {int(code): ExtensionType(int(size), bool(tensor)) for code, size, tensor in types})


class Greeting(NamedTuple):
    """A driver's description of itself."""

    info: DeviceInfo
    capabilities: Capabilities
    allocates: bool
    caches: bool


def of_greeting(driver: Driver) -> dict[str, Values]:
    return {
        "info": of_info(driver.info),
        "capabilities": of_capabilities(driver.capabilities()),
        "allocates": isinstance(driver, Allocates),
        "caches": isinstance(driver, Caches),
    }


def to_greeting(values: Values) -> Greeting:
    info, declared = to_info(values["info"]), to_capabilities(values["capabilities"])
    return Greeting(info, declared, bool(values["allocates"]), bool(values["caches"]))


def of_capabilities(capabilities: Capabilities) -> Values:
    by_type = [[int(code), *performance] for code, performance in capabilities.by_type.items()]
    general = [capabilities.default, capabilities.relaxed, capabilities.if_, capabilities.while_]
    return [by_type, general, capabilities.launch_seconds, capabilities.seconds_per_byte]


def to_capabilities(values: Values) -> Capabilities:
    by_type, general, launch, byte = values
    default, relaxed, if_, while_ = (_to_performance(each) for each in general)
    figures = {int(code): _to_performance(performance) for code, *performance in by_type}
    return Capabilities(default, figures, relaxed, if_, while_, float(launch), float(byte))


def _to_performance(values: Values) -> Performance:
    time, power = values
    return Performance(float(time), float(power))


def of_verdicts(model: Model, verdicts: Sequence[Verdict]) -> Values:
    """With the numbers of the operations: the order in which they run is each side's own."""
    return [[call.number, bool(v.supported), v.reason] for call, v in zip(model.operations, verdicts, strict=True)]


def to_verdicts(model: Model, values: Values) -> list[Verdict]:
    found = {int(number): Verdict(bool(supported), str(reason)) for number, supported, reason in values}
    return [found[call.number] for call in model.operations]


def of_options(options: PrepareOptions) -> Values:
    attributes = of_attributes(options.attributes)
    return [int(options.preference), int(options.priority), options.deadline, options.threads, attributes]


def to_options(values: Values) -> PrepareOptions:
    preference, priority, deadline, threads, attributes = values
    return PrepareOptions(
        PreferenceCode(preference), PriorityCode(priority), deadline, threads, to_attributes(attributes)
    )


def of_attributes(attributes: Sequence[Attribute]) -> Values:
    return [[name, code, bytes(data).hex()] for name, code, data in attributes]


def to_attributes(values: Values) -> tuple[Attribute, ...]:
    return tuple((str(name), int(code), bytes.fromhex(data)) for name, code, data in values)


def of_error(error: BaseException, who: str) -> Values:
    """Return an error as values; anything but an NnapiError is reported as the runtime reports it."""
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
    """The model and all that it refers to, and the constants, whose places in the list stand for them."""
    arrays: list[Array] = []
    model.need_mapped()
    models = [_of_description(description, arrays) for description in describe(model)]
    names = {name for description in models for name, _ in _codes(description) if name is not None}
    extensions = [_of_extension(found) for name in sorted(names) if (found := EXTENSIONS.find(name))]
    return {"extensions": extensions, "models": models}, arrays


def _of_description(description: Description, arrays: list[Array]) -> Values:
    operands = []
    for name, code, type, lifetime, value in description.operands:
        if lifetime is Lifetime.CONSTANT:
            arrays.append(value)
            value = len(arrays) - 1
        channel = None
        if type.channel is not None:  # thousands of them are too long for a message
            arrays.append(np.array(type.channel.scales, np.float64))
            channel = [type.channel.dimension, len(arrays) - 1]
        described = [type.dimensions, type.scale, type.zero_point, channel, type.data.hex()]
        operands.append([name, code, described, lifetime.value, value])
    return {**description._asdict(), "operands": operands}


def _codes(description: Values) -> list[tuple[str | None, int]]:
    return [operand[1] for operand in description["operands"]] + [call[0] for call in description["operations"]]


def to_model(values: Values, constant: Callable[[int], Array]) -> Model:
    """The model; ``constant`` gives the bytes of one by its place."""
    for extension in map(_to_extension, values["extensions"]):
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
    sides = tuple(values["inputs"]), tuple(values["outputs"])
    relaxed, dynamic_range = bool(values["relaxed"]), bool(values["dynamic_range"])
    return Description(values["name"], operands, calls, *sides, relaxed, tuple(values["notes"]), dynamic_range)


def of_span(span: Span) -> Values:
    return [str(span.label), span.start, span.end, span.thread, span.thread_name, span.args, span.depth]


def to_span(values: Values, process: int) -> Span:
    label, start, end, thread, name, args, depth = values
    return Span(parse_label(str(label)), int(start), int(end), process, int(thread), str(name), dict(args), int(depth))


def of_bytes(array: Array) -> Array:
    """The bytes of an array, without a copy where they lie one behind the other."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)
