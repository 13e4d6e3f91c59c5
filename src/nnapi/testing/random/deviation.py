"""Permitted distance of a device's results from the reference's, measured with perturbed operands.

Rounding errors have no bound, because sums may cancel. So the reference also computes with perturbed operands. A device
may differ by SPARE times the change that the perturbation makes in the reference's results.

- Operations that only choose, compare or move values do not round; 0 stays exactly 0, also as a zero point.
- Hidden quantized values may be one step off. A visible result of the device is the next operation's input.
- Where a small difference of a hidden value can cause a large one in a result, both outcomes are tried.
- Results of decisions on inexact values, such as an order, are not judged, nor dimensions that depend on them.
- Results that are NaN or infinite, and later steps of such a sequence, are undefined in the specification, so they are
  not judged; moved and chosen elements are. In examples drawn with such values, so are comparisons and finite results.
- Quantized results may be one step off from the same operation on float values, because fixed point has few bits.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nnapi.codes import FuseCode
from nnapi.errors import NnapiError, need_value
from nnapi.model.operand import DTYPES, Array
from nnapi.model.operation import REGISTRY
from nnapi.operation_codes import CODES
from nnapi.runtime.compilation import Compilation
from nnapi.runtime.device import device
from nnapi.testing.build import build, run_example
from nnapi.testing.compare import as_double, tolerance_for
from nnapi.testing.example import Example, with_dynamic_outputs
from nnapi.testing.random.decisions import find_free_axes, find_ties, have_several_quotients
from nnapi.testing.random.float_values import on_float_values
from nnapi.testing.random.operation_sets import (
    CHOOSING,
    DIVIDING,
    KEEPING,
    ORDERING,
    PAIRWISE,
    RAISING,
    REQUANTIZING,
    ROUNDING,
    SCALING,
    SEQUENCES,
    STEPPING,
    TWO_COMPARED,
    UNDEFINED_BY_0,
)
from nnapi.testing.random.perturbation import shift, terms, usual, without_denormals
from nnapi.testing.random.subgraphs import OperationExample, find_given, match_call, part_of

ROUNDS = 4
"""Perturbed computations of the reference; all operands grow in the first and shrink in the second."""
STEP = {np.dtype(np.float32): 2.0**-21, np.dtype(np.float16): 2.0**-10}
"""Relative perturbation of operands: four times the last digit of float32, once that of float16."""
LARGE = {np.dtype(np.float32): 2.0**58, np.dtype(np.float16): 2.0**6}
"""Sums of products of larger values may overflow: of some thousand in float32, of a dozen in float16."""
OVERFLOWING = 2.0**14
"""From this value on, float16, which relaxed models permit, may overflow, because partial sums may be larger."""
SPARE = 8.0
"""Factor on the measured change, because the device's order of summation may lose more than perturbations do."""
IN_A_ROW = 64.0
"""Terms of a sum that may be added one after the other; longer sums may lose more digits."""
LEAST = 2.0**-24
"""The distance of float16 values near 0; rounding may change a result by half of this."""
HIDDEN = 1e-6
"""The permitted absolute difference of a hidden float: a tenth of that of a visible one."""
CODES_SPARE = 3.0
"""SPARE for quantized values: more earlier values may be one step off than in the perturbed computations."""

Values = dict[int, Array | None]


@dataclass
class Expectation:
    """The right value of a result, and the permitted error of each element: infinite if any value is right.

    ``free_axes`` may have any dimension.
    """

    value: Array
    allowance: Array
    free_axes: frozenset[int] = frozenset()


class Computation:
    """The reference's computation of an example, operation by operation, with ROUNDS perturbed copies."""

    def __init__(self, example: Example, *, special: bool = False, rounds: int = ROUNDS) -> None:
        self.example, self.special = example, special
        self.operations, self.operands = example.main.operations, example.main.operands
        self._doubtful: set[int] = set()
        self._undefined: set[int] = set()
        self._free_axes: dict[int, frozenset[int]] = {}
        self._lost: dict[int, Array] = {}
        self._fed_back = {i for call in self.operations if call.type in SEQUENCES for i in call.outputs}
        chosen = [
            call for number, call in enumerate(self.operations) if call.type in CHOOSING and not self.rescales(number)
        ]
        self._chosen = {index for call in chosen for index in call.outputs}
        self._rng = np.random.default_rng(0)  # fixed, so that an example is always perturbed alike
        self.values: Values = {i: find_given(example, i) for i in range(len(self.operands))}
        self.others: list[Values] = [dict(self.values) for _ in range(rounds)]
        self._parts = [_Runner(part_of(example, number)) for number in range(len(self.operations))]

    def run(self, number: int) -> None:
        """Compute operation ``number`` from the known values; raise the errors of the reference."""
        runner, name = self._parts[number], self.operations[number].type
        inputs, outputs = runner.part.inputs, runner.part.outputs
        uncertain = [index for index in inputs if self._is_uncertain(index)]
        if self._is_beyond_judging(name, inputs) or (name in ORDERING and uncertain) or self._is_root(name, inputs):
            self._doubtful.update(outputs)
        if any(index in self._undefined or self._is_special(index, lambda a: ~np.isnan(a)) for index in inputs):
            self._undefined.update(outputs)
        bounds = {index: self.expect(index).allowance for index in uncertain} if name in STEPPING else {}
        self.values |= runner(self.values)
        self._note_losses(number)
        if self.example.relaxed and any(self._may_overflow(index) for index in (*inputs, *outputs)):
            self._doubtful.update(outputs)
        if self._doubtful.intersection(outputs):
            self._free_axes |= find_free_axes(self.example.main, number, self.values, self._doubtful)
        if uncertain and (
            name in TWO_COMPARED or (name in STEPPING and self.operands[outputs[0]].type == "TENSOR_BOOL8")
        ):
            self._compare(name, inputs, outputs[0], bounds)
        elif name in CHOOSING - ROUNDING and not uncertain and not self.special:
            for other in self.others:
                other |= {index: self.values[index] for index in outputs}
        else:
            self._repeat(runner, name, bounds)
        if name in DIVIDING & STEPPING:
            self._note_remainders(self.operations[number].inputs, outputs[0], bounds)
        if name in DIVIDING:
            self._note_poles(self.operations[number].inputs[1], outputs[0])
        if name in SEQUENCES and any(self._is_special(index) for index in outputs):
            self._doubtful.update(outputs)

    def find_undefined(self) -> str:
        """Return why a device may fail: it reads undefined integers as indices, or divides integers by 0; else ""."""
        integers = {i for i, operand in enumerate(self.operands) if operand.type == "TENSOR_INT32"}
        for call in self.operations:
            if not integers.isdisjoint(self._doubtful.intersection(call.inputs)):
                return "an index depends on NaN or infinity"
            if call.type in UNDEFINED_BY_0 and call.inputs[1] in integers and not np.all(self.values[call.inputs[1]]):
                return "an integer is divided by 0"
        return ""

    def _repeat(self, runner: "_Runner", name: str, bounds: Mapping[int, Array]) -> None:
        """Compute the perturbed copies, with values on both sides of their ``bounds``."""
        inputs, outputs = runner.part.inputs, runner.part.outputs
        factor = 1 + terms(name, [self.values[i] for i in inputs], [self.values[i] for i in outputs]) / IN_A_ROW
        scales = inputs[1:] if name in SCALING else ()
        exact = {index for index in scales if not self._value(index).ndim}  # they determine dimensions
        for turn, other in enumerate(self.others):
            given: Values = {index: other[index] for index in inputs}
            if turn % 2:
                given = {index: without_denormals(array) for index, array in given.items()}
            if name not in CHOOSING:
                given |= {index: self._nudge(given[index], turn, factor) for index in inputs if index not in exact}
            for position, (index, bound) in enumerate(bounds.items()):
                given[index] = shift(self._value(index), bound if turn >> position % 2 & 1 else -bound)
            try:
                other |= runner(given)
            except NnapiError:  # perturbed values may be illegal, such as a box without an area
                self._doubtful.update(outputs)
                other |= {index: self.values[index] for index in outputs}

    def _value(self, index: int) -> Array:
        return need_value(self.values[index], f"operand {index} is omitted")

    def _may_overflow(self, index: int) -> bool:
        value = self.values[index]
        return value is not None and value.dtype == np.float32 and bool(np.any(np.abs(value) > OVERFLOWING))

    def _compare(self, name: str, inputs: Sequence[int], output: int, bounds: Mapping[int, Array]) -> None:
        """Set the perturbed results of comparing values that may be equal: all true, then all false, then random."""
        operands, values = [self.operands[index] for index in inputs], [self._value(index) for index in inputs]
        ties = find_ties(name, operands, values, [bounds.get(index, 0.0) for index in inputs])
        right = self._value(output)
        for turn, other in enumerate(self.others):
            answer = self._rng.random(ties.shape) < 0.5 if turn > 1 else np.full(ties.shape, turn == 0)
            other[output] = np.asarray(np.where(ties, answer, right != 0), right.dtype)

    def _is_root(self, name: str, inputs: Sequence[int]) -> bool:
        """Return whether negative bases are raised to an uncertain exponent: it may be an integer only by rounding."""
        if name not in RAISING or not self._is_uncertain(inputs[-1]):
            return False
        base = self.values[inputs[0]]
        return base is not None and bool(np.any(base < 0))

    def _is_beyond_judging(self, name: str, inputs: Sequence[int]) -> bool:
        """Return whether the specification defines no result, or a sum of products may overflow."""
        if any(index in self._doubtful for index in inputs):
            return True
        if self.special and name in TWO_COMPARED:
            return False
        if self.special and name not in CHOOSING | PAIRWISE and any(self._is_large(index) for index in inputs):
            return True
        if name in KEEPING:
            return any(self._is_special(index, lambda a: ~np.isnan(a)) for index in inputs)
        return any(self._is_special(index) for index in inputs)

    def _is_large(self, index: int) -> bool:
        """Return whether sums of products of a value's elements may overflow."""
        array = self.values[index]
        return array is not None and array.dtype in LARGE and bool((np.abs(array) > LARGE[array.dtype]).any())

    def _note_losses(self, number: int) -> None:
        operation = self.operations[number]
        given, made = ([self.values[i] for i in indices] for indices in (operation.inputs, operation.outputs))
        found = estimate_losses(operation.type, given, made, self.example.tolerance.float)
        self._lost |= dict(zip(operation.outputs, found, strict=False))

    def _note_remainders(self, inputs: Sequence[int], output: int, bounds: Mapping[int, Array]) -> None:
        """Permit any remainder where the ``bounds`` of the operands permit several quotients."""
        values, off = [self._value(index) for index in inputs[:2]], [bounds.get(index, 0.0) for index in inputs[:2]]
        self._lost[output] = np.where(have_several_quotients(*values, *off), np.abs(as_double(values[1])), 0)

    def _note_poles(self, divisor: int, quotient: int) -> None:
        """Permit any quotient or remainder where a perturbed divisor changes sign.

        The quotient x / x shows no change, but 0 / 0 is NaN.
        """
        sign, shape = np.sign(self._value(divisor)), self._value(quotient).shape
        others = [other[divisor] for other in self.others]
        crosses = [np.sign(other) != sign for other in others if other is not None and other.shape == sign.shape]
        if np.any(crosses):
            crossing = np.broadcast_to(np.any(crosses, 0), shape)
            self._lost[quotient] = np.where(crossing, np.inf, self._lost.get(quotient, 0))

    def _is_uncertain(self, index: int) -> bool:
        """Return whether a device's value may differ from the reference's."""
        value = self.values[index]
        return value is not None and any(
            other[index] is not value and not np.array_equal(other[index], value, equal_nan=value.dtype.kind == "f")  # type: ignore[arg-type]
            for other in self.others
        )

    def _is_special(self, index: int, permitted: Callable[[Array], Array] = np.isfinite) -> bool:
        """Return whether any of a value's floats, in any copy, is not ``permitted``: by default, not finite."""
        arrays = [values[index] for values in (self.values, *self.others)]
        return any(a is not None and a.dtype.kind == "f" and not permitted(a).all() for a in arrays)

    def _nudge(self, array: Array | None, turn: int, factor: float = 1.0, least: float = 0.0) -> Array | None:
        """Return values perturbed by ``factor`` times their type's step, and by at least ``least``."""
        if array is None or array.dtype not in STEP:
            return array
        sign = np.full(array.shape, 1 - 2 * turn) if turn < 2 else self._rng.uniform(-1, 1, array.shape)
        step = STEP[np.dtype(np.float16)] if self.example.tolerance.float == "fp16" else STEP[array.dtype]
        with np.errstate(all="ignore"):
            return np.asarray(array * (1 + factor * step * sign) + least * sign, array.dtype)

    def expect(self, index: int) -> Expectation:
        """Return the reference's value of a result and the permitted error of a device's."""
        operand, value = self.operands[index], self._value(index)
        if index in self._doubtful:
            return Expectation(value, np.full(value.shape, np.inf), self._free_axes.get(index, frozenset()))
        tolerance = need_value(
            tolerance_for(operand.type, self.example.tolerance, strict=True), f"{operand.type} has no tolerance"
        )
        exact = as_double(value)
        with np.errstate(all="ignore"):
            allowance = tolerance.atol + tolerance.rtol * np.abs(exact)
            if index in self._chosen and not operand.zero_point:
                allowance = np.where(exact == 0, 0, allowance)
            allowance = np.where(np.isfinite(exact), allowance, 0) + self._lost.get(index, 0)
            allowance = np.where(np.isnan(exact) & (not self.special), np.inf, allowance)
            moved = np.zeros_like(exact)
            for other in self.others:
                differing = other[index]
                if differing is None or differing.shape != value.shape:
                    return Expectation(value, np.full(value.shape, np.inf))
                differing = as_double(differing)
                same = (differing == exact) | (np.isnan(differing) & np.isnan(exact))
                step = np.where(same, 0, np.abs(differing - exact))
                moved = np.maximum(moved, np.where(np.isfinite(step), step, np.inf))
            if index in self._fed_back:
                moved = np.full_like(moved, moved.max(initial=0))
        if operand.scale:
            return Expectation(value, allowance + CODES_SPARE * np.maximum(moved, usual(moved)))
        return Expectation(value, allowance + SPARE * np.maximum(moved, np.where(moved > 0, usual(moved), 0)))

    def settle(self, index: int, shown: Array) -> None:
        """Continue with the device's result ``shown``; only float16 results may have been rounded.

        A quantized or integer result of NaN stays doubtful: a device may compute it again, with another result.
        """
        if index not in self._undefined or shown.dtype.kind == "f":
            self._doubtful.discard(index)
        self._lost.pop(index, None)
        self.values[index] = shown
        is_half = shown.dtype == np.float16
        for turn, other in enumerate(self.others):
            is_rounded = is_half or self.example.relaxed
            other[index] = self._nudge(shown, turn, least=LEAST * is_half) if is_rounded else shown

    def blur(self, number: int) -> None:
        """Perturb hidden results: quantized values by one step, floats by their last digits."""
        name, outputs = self.operations[number].type, self.operations[number].outputs
        if name in CHOOSING and name not in REQUANTIZING and not self.rescales(number) and not self._clamps(number):
            if self._rounds_to_float16(number):
                for turn, other in enumerate(self.others):
                    other |= {index: self._nudge(other[index], turn) for index in outputs}
            return
        for index in outputs:
            by = self._lost.get(index)
            if by is not None and np.isinf(by).any():
                self._doubtful.add(index)
            for turn, other in enumerate(self.others):
                value = other[index]
                if by is not None and value is not None:
                    other[index] = shift(value, by * (1 - 2 * (turn % 2)))
                other[index] = self._one_off(index, other[index], turn)

    def _rounds_to_float16(self, number: int) -> bool:
        """Return whether an operation rounds only to store float16; a device need not round a hidden value."""
        operation, operands = self.operations[number], self.operands
        given, made = operands[operation.inputs[0]].type, operands[operation.outputs[0]].type
        return made == "TENSOR_FLOAT16" and given != made

    def _clamps(self, number: int) -> bool:
        """Return whether an operation clamps quantized results to 1 or 6, which engines may round to another code."""
        operation = self.operations[number]
        positions = match_call(operation, self.operands).inputs.get("activation", ())
        codes = [self.values[operation.inputs[position]] for position in positions]
        clamping = (FuseCode.FUSED_RELU1, FuseCode.FUSED_RELU6)
        return bool(self.operands[operation.outputs[0]].scale) and any(code in clamping for code in codes)

    def rescales(self, number: int) -> bool:
        """Return whether an operation has quantized operands of different scales."""
        operation, operands = self.operations[number], self.operands
        used = [operands[i] for i in (*operation.inputs, *operation.outputs)]
        return len({(each.scale, each.zero_point) for each in used if each.scale}) > 1

    def _one_off(self, index: int, array: Array | None, turn: int) -> Array | None:
        if array is None:
            return None
        if array.dtype.kind == "f":
            stays = self.special and turn == ROUNDS - 1  # keep 0, because devices may read denormal values as 0
            return np.asarray(
                self._nudge(array, turn) + array.dtype.type(0 if stays else HIDDEN * (1 - 2 * (turn % 2)))
            )
        if not self.operands[index].scale or array.dtype == np.int32:
            return array
        limits = np.iinfo(array.dtype)
        steps = np.full(array.shape, 1 - 2 * turn) if turn < 2 else self._rng.integers(-1, 2, array.shape)
        return np.asarray(np.clip(array.astype(np.int64) + steps, limits.min, limits.max), array.dtype)

    def real(self, number: int) -> dict[int, Array]:
        """Return an operation's results computed on float values, in quantization steps without rounding."""
        part = part_of(self.example, number)
        twin = on_float_values(part, self.values)
        if twin is None:
            return {}
        try:
            results = run_example(twin, device("nnapi-reference"))
        except NnapiError:
            return {}
        found = {}
        for index, position, numbers in zip(part.outputs, twin.main.outputs, results, strict=True):
            operand = self.operands[index]
            if operand.scale and twin.main.operands[position].type == "TENSOR_FLOAT32":
                limits = np.iinfo(DTYPES[operand.code])
                codes = numbers.astype(np.float64) / np.float64(operand.scale) + operand.zero_point
                found[index] = np.clip(codes, limits.min, limits.max)
        return found


def estimate_losses(name: str, inputs: Sequence[Any], outputs: Sequence[Any], precision: str) -> list[Array]:
    """Return the loss of each element of the first results, infinite if no digit may be left; [] if none is known."""
    estimate = REGISTRY[CODES[name]].estimate_loss
    if estimate is None or any(array is None for array in (*inputs[:1], *outputs)) or inputs[0].dtype.kind != "f":
        return []
    with np.errstate(all="ignore"):
        return estimate(inputs, outputs, precision)


class _Runner:
    """An operation that the reference prepared once, for inputs of fixed shapes."""

    def __init__(self, part: OperationExample) -> None:
        self.part = part
        self._compilation: Compilation | None = None

    def __call__(self, values: Mapping[int, Array | None]) -> Values:
        if self._compilation is None:
            self._compilation = Compilation(build(self._with_shapes(values)), [device("nnapi-reference")])
            self._compilation.finish()
        results = self._compilation.run(*(values[index] for index in self.part.inputs))
        return dict(zip(self.part.outputs, results, strict=True))

    def _with_shapes(self, values: Mapping[int, Array | None]) -> Example:
        """Return the operation for inputs with the shapes of ``values``; its results' dimensions are unspecified."""
        example = self.part.example
        given = zip(example.main.inputs, (values[index] for index in self.part.inputs), strict=True)
        return with_dynamic_outputs(example).with_dimensions(
            {i: array.shape for i, array in given if array is not None}
        )
