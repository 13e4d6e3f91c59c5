"""Attention and rotary embeddings, which files write as several operations."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from nnapi.codes import OperationCode as O
from nnapi.importers.graph import Step, Value
from nnapi.importers.recognition.pattern import Number, Operand, Pattern, apply
from nnapi.importers.recognition.rewriter import Replacement, StepRewriter, pattern
from nnapi.operation_codes import CompositeCode as Composite
from nnapi.ops.shapes import axis_of
from nnapi.rewriting.pattern import Match


def _is_plain_product(step: Step) -> bool:
    return not any(_truth(flag) for flag in step.inputs[2:4])


def _multiplies_rows(step: Step) -> bool:
    return not _truth(step.inputs[2])


def _truth(flag: Value) -> bool:
    return bool(flag.array)


def _is_last_softmax(step: Step) -> bool:
    """Return whether a SOFTMAX has beta 1 and is along the last axis."""
    _, beta, *axis = step.inputs
    if beta.array is None or float(beta.array) != 1:
        return False
    rank = step.inputs[0].rank
    return not axis or (axis[0].array is not None and rank > 0 and axis_of(int(axis[0].array), rank) == rank - 1)


def _is_real(value: Value) -> bool:
    return value.is_float


query, key, value, mask = (Operand(name, _is_real) for name in ("query", "key", "value", "mask"))
is_transposed = Operand("is_transposed")
multiply = apply(O.BATCH_MATMUL, _is_plain_product)
rows = apply(O.BATCH_MATMUL, _multiplies_rows)
softmax = apply(O.SOFTMAX, _is_last_softmax)
scores = rows(query * Number("of_query"), key * Number("of_key"), Operand("_"), is_transposed) * Number("of_scores")


@pattern(multiply(softmax(scores + mask), value), multiply(softmax(scores), value))
def attention(
    rewriter: StepRewriter,
    query: Value,
    key: Value,
    value: Value,
    is_transposed: Value,
    of_query: float,
    of_key: float,
    of_scores: float,
    mask: Value | None = None,
    **_: Value,
) -> Replacement | None:
    scale = of_query * of_key * of_scores
    key_rows = key if _truth(is_transposed) else _transpose_back(rewriter, key)
    if key_rows is None or not np.isfinite(scale):
        return None
    given = rewriter.graph.no_value(query.type.code) if mask is None else mask
    return Replacement(Composite.ATTENTION, [query, key_rows, value, given, rewriter.real(scale)])


def _transpose_back(rewriter: StepRewriter, columns: Value) -> Value | None:
    """Return keys as rows, where a file's TRANSPOSE makes them columns; None if nothing transposes them."""
    step = rewriter.match.makers.get(columns)
    if step is None or step.code != O.TRANSPOSE or rewriter.flow.reads[columns] != 1 or step.inputs[1].array is None:
        return None
    *order, last, first = step.inputs[1].array.tolist()
    order += [first, last]
    return step.inputs[0] if order == sorted(order) else rewriter.transpose(step.inputs[0], order)


@dataclass(eq=False)
class Half(Pattern):
    """The first or second half of the last axis of a value, by SPLIT, SLICE or STRIDED_SLICE."""

    whole: Pattern
    index: int

    def find(self, value: Value, match: Match) -> Iterator[Match]:
        step = match.makers.get(value)
        if step is not None and self._is_half(step, value):
            yield from self.whole.find(step.inputs[0], match.through(step))

    def _is_half(self, step: Step, value: Value) -> bool:
        x, half = step.inputs[0], value.shape[-1:]
        if not half or 0 in value.shape or x.shape != (*value.shape[:-1], 2 * half[0]):
            return False
        if step.code == O.SPLIT:
            return len(step.outputs) == 2 and step.outputs[self.index] is value
        return _find_begin(step) == [*(0 for _ in x.shape[1:]), self.index * half[0]]

    def list_parts(self) -> tuple[Pattern, ...]:
        return (self.whole,)


def _find_begin(step: Step) -> list[int] | None:
    """Return the first index of each axis that SLICE or STRIDED_SLICE takes in steps of 1; None for other steps."""
    x = step.inputs[0]
    arrays = [value.array for value in step.inputs[1:]]
    if step.code not in (O.SLICE, O.STRIDED_SLICE) or any(array is None for array in arrays):
        return None
    begin = [int(each) for each in arrays[0].reshape(-1)]  # type: ignore[union-attr]
    if step.code == O.STRIDED_SLICE:
        strides, mask = arrays[2], arrays[3]
        if strides is None or mask is None or (strides != 1).any():
            return None
        begin = [0 if int(mask) >> axis & 1 else first for axis, first in enumerate(begin)]
    return [first % size for first, size in zip(begin, x.shape, strict=True)]


def _joins_last_axis(step: Step) -> bool:
    *parts, axis = step.inputs
    rank = step.outputs[0].rank
    return len(parts) == 2 and axis.array is not None and rank > 0 and axis_of(int(axis.array), rank) == rank - 1


x = Operand("x", _is_real)
cos, sin = Operand("cos", _is_real), Operand("sin", _is_real)
first, second = Half(x, 0), Half(x, 1)
join = apply(O.CONCATENATION, _joins_last_axis)


@pattern(x * cos + join(-second, first) * sin)
def rotary_embedding(rewriter: StepRewriter, x: Value, cos: Value, sin: Value) -> Replacement:
    return Replacement(Composite.ROTARY_EMBEDDING, [x, cos, sin, rewriter.flag(False)])


@pattern(join(first * cos - second * sin, second * cos + first * sin))
def rotary_embedding_by_halves(rewriter: StepRewriter, x: Value, cos: Value, sin: Value) -> Replacement:
    twice = [_repeat(rewriter, angles) for angles in (cos, sin)]
    return Replacement(Composite.ROTARY_EMBEDDING, [x, *twice, rewriter.flag(False)])


def _repeat(rewriter: StepRewriter, angles: Value) -> Value:
    """Return the last axis twice, for both halves."""
    axis = angles.rank - 1
    if angles.array is not None:
        rewriter.graph.reserve(2 * angles.array.nbytes)
        return rewriter.graph.constant(np.concatenate([angles.array] * 2, axis), name=angles.name)
    return rewriter.concatenate([angles, angles], axis)
