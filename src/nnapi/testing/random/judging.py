"""Judge one random example on a device: agreed, refused, or failed."""

import math
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np

from nnapi.errors import NnapiError, need
from nnapi.model.operand import Array, Shape, combine
from nnapi.model.operation import REGISTRY
from nnapi.operation_codes import CODES
from nnapi.runtime.device import Device
from nnapi.runtime.verdicts.verdicts import need_verdicts
from nnapi.testing.build import build, run_example
from nnapi.testing.compare import HALF, SINGLE, as_double
from nnapi.testing.example import Example, OperandSpec, with_expected
from nnapi.testing.random.deviation import Computation, Expectation
from nnapi.testing.random.equivalents import equivalent_variants
from nnapi.testing.random.subgraphs import keep_operations
from nnapi.testing.suite.result import Status

REFERENCE = "nnapi-reference"
CAREFUL = 64
"""Perturbed computations before a failure is reported; fewer may miss the change of one element."""
NEARLY = 0.02
"""Permitted distance in steps from the float value beyond one step, because float32 arithmetic rounds too."""


class Outcome(StrEnum):
    AGREED = "agreed"
    REFUSED = "refused"
    INVALID = "invalid"
    """The reference refuses the example, and the device does not compute it either."""
    FAILED = "failed"


@dataclass(frozen=True)
class Judgement:
    """The outcome of an example. ``example`` is the part that ran, with expected outputs; ``end`` is how the process
    ended, if it did."""

    outcome: Outcome
    reason: str = ""
    operation: str = ""
    example: Example | None = None
    end: Status | None = None


def judge(example: Example, device: Device, *, special: bool = False) -> Judgement:
    """Run an example on a device and on the reference, and judge whether they agree.

    Operations that the device refuses are removed first. The expected value of a visible result is computed from the
    device's own earlier results. The reference must also agree with equivalent variants and with float values. With
    ``special``, comparisons and finite results are judged in examples with NaN or infinity.
    """
    computation = Computation(example, rounds=0)
    wrong = _refusal(computation)
    try:
        model = build(example)
    except NnapiError as error:
        return Judgement(Outcome.INVALID, str(error))
    verdicts = need_verdicts(device.driver, model)
    numbers = {operation.outputs: number for number, operation in enumerate(example.main.operations)}
    claimed = [
        numbers[call.outputs] for call, verdict in zip(model.operations, verdicts, strict=True) if verdict.supported
    ]
    if not claimed:
        return Judgement(Outcome.REFUSED, verdicts[0].reason, example.main.operations[0].type)
    if len(claimed) < len(example.main.operations):
        if wrong is not None:
            return Judgement(Outcome.INVALID, str(wrong))
        return judge(keep_operations(example, claimed, computation.values), device, special=special)
    return _judge_claimed(example, device, special, wrong, computation.find_undefined())


def _refusal(computation: Computation) -> NnapiError | None:
    operands = computation.operands
    try:
        for number, operation in enumerate(computation.operations):
            computation.run(number)
            for index in operation.outputs:
                value, declared = computation.values[index], operands[index].dimensions
                agrees = value is None or not declared or combine(value.shape, declared) is not None
                need(agrees, f"{operation.type} gives #{index} other dimensions than {list(declared)}")
    except NnapiError as error:
        return error
    return None


def _judge_claimed(
    example: Example, device: Device, special: bool, wrong: NnapiError | None, undefined: str
) -> Judgement:
    """Judge an example that the device claims. The device may fail if the reference refuses the data (``wrong``), if
    the specification leaves the result ``undefined``, or if it refuses the data's dimensions, which were unspecified.
    """
    last = example.main.operations[-1].type
    try:
        outputs = dict(zip(example.main.outputs, run_example(example, device), strict=True))
    except NnapiError as error:
        if wrong is not None or undefined:
            return Judgement(Outcome.INVALID, str(wrong or undefined))
        given = {index: array.shape for index, array in example.inputs.items() if array is not None}
        specified = example.with_dimensions(given)
        if not all(verdict.supported for verdict in need_verdicts(device.driver, build(specified))):
            return judge(specified, device, special=special)
        return _fail(example, last, f"fails though it takes the model: {error}")
    if wrong is not None:
        said = f"computes what the reference refuses: {wrong}"
        return Judgement(Outcome.FAILED, said, last, replace(example, expect_failure=True))
    judgement = judge_outputs(example, device, outputs, special)
    if judgement.outcome == Outcome.AGREED and device.name == REFERENCE and not special:
        for variant, other in equivalent_variants(example):
            if violation := _find_change(other, outputs, device):
                return _fail(other, last, f"{variant}: {violation}")
    return judgement


def judge_outputs(example: Example, device: Device, outputs: Mapping[int, Array], special: bool = False) -> Judgement:
    """Judge a device's outputs of an example; do not run equivalent variants."""
    judgement = _compare(example, device, outputs, Computation(example, special=special))
    if judgement.outcome == Outcome.FAILED:
        judgement = _compare(example, device, outputs, Computation(example, special=special, rounds=CAREFUL))
    return judgement


def _compare(example: Example, device: Device, outputs: Mapping[int, Array], computation: Computation) -> Judgement:
    for number, operation in enumerate(example.main.operations):
        computation.run(number)
        expected = {index: computation.expect(index) for index in operation.outputs}
        shown = [index for index in operation.outputs if index in outputs]
        for index in shown:
            if violation := _violation(example.main.operands[index], index, outputs[index], expected[index]):
                real = computation.real(number).get(index)
                loss = _find_rounding_loss(computation, number, index)
                if real is not None and _is_near(outputs[index], expected[index], real, loss):
                    continue
                return _fail(example, operation.type, violation)
        if device.name == REFERENCE and (violation := _contradiction(computation, number)):
            return _fail(example, operation.type, violation)
        computation.blur(number)
        for index in shown:
            computation.settle(index, outputs[index])
    return Judgement(Outcome.AGREED, example=example)


def _fail(example: Example, operation: str, violation: str) -> Judgement:
    return Judgement(Outcome.FAILED, violation, operation, add_expected(example))


def add_expected(example: Example) -> Example:
    """Return the example with the outputs that the reference computes."""
    computation = Computation(example, rounds=0)
    with suppress(Exception):  # the outputs after an error are not known
        _refusal(computation)
    found = {i: v for i in example.main.outputs if (v := computation.values.get(i)) is not None}
    return with_expected(example, found)


def _violation(operand: OperandSpec, index: int, actual: Array, expected: Expectation) -> str | None:
    if operand.is_ignored:
        return None
    label = f"output {operand.name or index} ({operand.type})"
    if _fix(actual.shape, expected.free_axes) != _fix(expected.value.shape, expected.free_axes):
        return f"{label} has dimensions {list(actual.shape)}, expected {list(expected.value.shape)}"
    if expected.free_axes:
        return None
    given, wanted = as_double(actual), as_double(expected.value)
    with np.errstate(all="ignore"):
        same = (given == wanted) | (np.isnan(given) & np.isnan(wanted))
        near = np.abs(given - wanted) <= expected.allowance
        bad = ~(same | near | np.isinf(expected.allowance))
        errors = np.where(bad, np.nan_to_num(np.abs(given - wanted), nan=np.inf), 0)
    if not bad.any():
        return None
    position = np.unravel_index(int(np.argmax(errors)), bad.shape)
    where = [int(i) for i in position]
    return (
        f"{label}{where or ''} is {given[position]:.9g}, expected {wanted[position]:.9g} "
        f"(allowed {expected.allowance[position]:.3g}); {int(bad.sum())} of {bad.size} differ"
    )


def _fix(shape: Shape, free_axes: Collection[int]) -> Shape:
    """Return the dimensions of a shape, 0 for those of ``free_axes``."""
    return tuple(0 if axis in free_axes else dimension for axis, dimension in enumerate(shape))


def _is_near(actual: Array, expected: Expectation, real: Array, loss: float) -> bool:
    """Return whether quantized values are near the reference's or within ``loss`` steps of the float values."""
    off = max(1.0, loss + 0.5) + NEARLY
    low = np.minimum(as_double(expected.value) - expected.allowance, real - off)
    high = np.maximum(as_double(expected.value) + expected.allowance, real + off)
    codes = as_double(actual)
    return bool(np.all(np.isnan(real) | (low <= codes) & (codes <= high)))


def _contradiction(computation: Computation, number: int) -> str | None:
    """Describe the first quantized result of the reference that is far from the float result, if any."""
    for index, real in computation.real(number).items():
        operand = computation.operands[index]
        value = computation.values[index]
        if operand.is_ignored or value is None or value.shape != real.shape:
            continue
        loss = _find_rounding_loss(computation, number, index) + _find_sum_loss(computation, number, index)
        wrong = np.abs(as_double(value) - real) > 1 + NEARLY + loss
        if wrong.any():
            position = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
            where = [int(i) for i in position]
            return (
                f"output {operand.name or index}{where} is {value[position]}, by float values {real[position]:.4g}; "
                f"{int(wrong.sum())} of {wrong.size} differ"
            )
    return None


def _find_rounding_loss(computation: Computation, number: int, index: int) -> float:
    """Return the loss in steps of rounding to the input's scale first, then to the result's."""
    operation, operands = computation.operations[number], computation.operands
    first, result = operands[operation.inputs[0]], operands[index]
    same = (first.scale, first.zero_point) == (result.scale, result.zero_point)
    if first.type != result.type or same:
        return 0.0
    return REGISTRY[CODES[operation.type]].facts.rounded_first * first.scale / result.scale


def _find_sum_loss(computation: Computation, number: int, index: int) -> float:
    """Return the loss in steps of a float32 sum of products whose terms may be far larger than the sum."""
    operation, operands = computation.operations[number], computation.operands
    summed = REGISTRY[CODES[operation.type]].facts.summed
    if summed is None or summed.start != 1:  # all dimensions but the first, which counts the units
        return 0.0
    x, weights = (operands[i] for i in operation.inputs[:2])
    largest = max(weights.channel_quant.scales if weights.channel_quant else (weights.scale,))
    return 2.0**-10 * math.prod(weights.dimensions[1:]) * x.scale * largest / operands[index].scale


def _find_change(example: Example, outputs: Mapping[int, Array], device: Device) -> str | None:
    """Describe the difference of an equivalent variant; None if its outputs are the same."""
    try:
        others = run_example(example, device)
    except NnapiError as error:
        return f"fails: {error}"
    for (index, first), position, other in zip(outputs.items(), example.main.outputs, others, strict=True):
        exact: Any = 0 if first.dtype.kind != "f" else (HALF if example.tolerance.float == "fp16" else SINGLE).rtol
        size = np.abs(as_double(first))
        known = np.nan_to_num(size, nan=0.0, posinf=0.0)
        allowance = np.where(np.isfinite(size), exact * 16 * known + (0 if not exact else 1e-5), np.inf)
        expected = Expectation(first, allowance)
        if violation := _violation(example.main.operands[position], index, other, expected):
            return violation
    return None
