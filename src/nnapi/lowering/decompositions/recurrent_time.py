"""Time steps of recurrent operations: unrolled, or many at a time in the body of a WHILE."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from nnapi.lowering.decomposition_builder import Decomposition
from nnapi.model.builder import Tensor
from nnapi.model.described_operand import describe
from nnapi.model.model import OperationCall

MOST_UNROLLED = 256
"""Maximum number of steps that are unrolled, because each one takes time to compile."""
STEPS_OF_PASS = 32
"""Number of steps in the body of a WHILE: a pass costs more than its steps if these are few."""
STEPS_OF_LOOP = 256
"""Maximum number of steps of a WHILE: each of its passes moves the outputs of all. Longer sequences have several."""
States = tuple[Tensor, ...]
Operands = Mapping[str, Any]
Step = Callable[[Decomposition, Operands, Sequence[Tensor], States], States]
"""One time step: takes a builder, the cell's operands, the rows of this step and the states; returns the next states.
The first one is the output."""


def in_rows(b: Decomposition, sequence: Tensor, time_major: bool) -> Tensor:
    """Return the steps of a sequence one after another: [time · batch, size]."""
    shape = sequence.shape if time_major else (sequence.shape[1], sequence.shape[0], sequence.shape[2])
    if not time_major and min(shape[:2]) > 1:
        sequence = b.transpose(sequence, (1, 0, 2))
    return b.reshape(sequence, (shape[0] * shape[1], shape[2]))


def from_rows(b: Decomposition, rows: Tensor, batch: int, time_major: bool) -> Tensor:
    """Return the sequence whose steps are given one after another."""
    count = rows.shape[0] // batch
    if time_major or min(count, batch) == 1:
        return b.reshape(rows, (count, batch, rows.shape[1]) if time_major else (batch, count, rows.shape[1]))
    return b.transpose(b.reshape(rows, (count, batch, rows.shape[1])), (1, 0, 2))


def over_time(
    b: Decomposition,
    step: Step,
    operands: Operands,
    rows: Sequence[Tensor],
    states: States,
    *,
    lengths: Tensor | None = None,
    reverse: bool = False,
) -> tuple[Tensor, States]:
    """Run a cell; return the outputs of all steps as rows, and the last states.

    ``rows`` are the steps of one or several sequences, as :func:`in_rows` returns them.
    """
    step, (batch, units) = _RepeatedStep(step), states[0].shape
    count, passed = rows[0].shape[0] // batch, 0
    bounds = None if lengths is None else _spread(b, lengths, units)
    outputs: list[Tensor] = []
    loops: dict[int, _Loop] = {}
    while count > MOST_UNROLLED and count - passed >= STEPS_OF_PASS:
        size = min(STEPS_OF_LOOP, (count - passed) // STEPS_OF_PASS * STEPS_OF_PASS)
        start = count - passed - size if reverse else passed
        part = [b.block(each, 0, start * batch, size * batch) for each in rows]
        within = bounds if bounds is None or not start else bounds - start
        if size not in loops:
            loops[size] = _Loop(b, step, operands, part, states, within, reverse)
        made, states = loops[size].run(part, states, within)
        outputs.append(made)
        passed += size
    for done in range(passed, count):
        time = count - 1 - done if reverse else done
        at_time = [b.block(each, 0, time * batch, batch) for each in rows]
        now = None if bounds is None else b.number(bounds, time)
        out, states = _run_step(b, step, operands, at_time, states, now, bounds)
        outputs.append(out)
    if bounds is not None:  # a row of length 0 has no last state
        has_steps, zeros = bounds > 0, _zeros_like(b, states[0])
        states = tuple([b.select(has_steps, state, zeros) for state in states])
    return b.concatenate(outputs[::-1] if reverse else outputs, 0), states


def _zeros_like(b: Decomposition, x: Tensor) -> Tensor:
    return b.constant(np.zeros(x.shape, x.type.dtype))


def _spread(b: Decomposition, lengths: Tensor, units: int) -> Tensor:
    """Return the lengths of a batch's rows, repeated for each unit: [batch, units]."""
    column = b.reshape(lengths, (lengths.shape[0], 1))
    return column + np.zeros((1, units), np.int32)


def _run_step(
    b: Decomposition,
    step: Step,
    operands: Operands,
    rows: Sequence[Tensor],
    states: States,
    time: Tensor | None,
    bounds: Tensor | None,
) -> tuple[Tensor, States]:
    """Run one step; return its output and the next states. Beyond their bounds, rows of the batch give 0 and keep their
    states."""
    after = step(b, operands, rows, states)
    if time is None or bounds is None:
        return after[0], after
    is_within = time < bounds
    out = b.select(is_within, after[0], _zeros_like(b, after[0]))
    return out, tuple([b.select(is_within, new, old) for new, old in zip(after, states, strict=True)])


class _RepeatedStep:
    """Runs a step. From the second on computed rows and states, it copies the operations of the one before: their rules
    and the builder's checks take most of the time of a decomposition."""

    def __init__(self, step: Step) -> None:
        self._step = step
        self._builder: Decomposition | None = None
        self._given: list[Tensor] = []
        self._calls: Sequence[OperationCall] = ()
        self._after: States = ()

    def __call__(self, b: Decomposition, operands: Operands, rows: Sequence[Tensor], states: States) -> States:
        given, calls = [*rows, *states], b.model.operations
        if self._is_alike(b, given):
            return self._repeat(b, given)
        first = len(calls)
        after = self._step(b, operands, rows, states)
        is_computed = all(b.value(each) is None for each in given)
        is_repeatable = is_computed and len({each.index for each in given}) == len(given)
        self._builder = b if is_repeatable else None
        self._given, self._calls, self._after = given, calls[first:], after
        return after

    def _is_alike(self, b: Decomposition, given: Sequence[Tensor]) -> bool:
        """Return whether the rule would append the same operations; it may fold what depends on constants."""
        return b is self._builder and all(
            new.type == old.type and b.value(new) is None for new, old in zip(given, self._given, strict=True)
        )

    def _repeat(self, b: Decomposition, given: Sequence[Tensor]) -> States:
        model, copies = b.model, {old.index: new.index for old, new in zip(self._given, given, strict=True)}
        for call in self._calls:
            name, known = f"{call.name.lower()}_{len(model.operations)}", model.known_matches[call.number]
            types = [model.operands[index].type for index in call.outputs]
            names = [f"{name}_{i}" for i in range(len(types))] if len(types) > 1 else [name]
            outputs = [describe(model, *each) for each in zip(types, names, strict=True)]
            assert known is not None
            model.add_matched_operation(known, [copies.get(index, index) for index in call.inputs], outputs)
            copies.update(zip(call.outputs, outputs, strict=True))
        return tuple([b._tensor(copies.get(each.index, each.index)) for each in self._after])


class _Loop:
    """The models of a WHILE over some steps.

    Its state is the time of the next step, the cell's states, and the outputs: each pass appends its own and drops the
    oldest. The other inputs do not change: the rows, their bounds, and computed operands of the cell.
    """

    def __init__(
        self,
        b: Decomposition,
        step: Step,
        operands: Operands,
        rows: Sequence[Tensor],
        states: States,
        bounds: Tensor | None,
        reverse: bool,
    ) -> None:
        self.b, self.batch, self.reverse = b, states[0].shape[0], reverse
        self.count = rows[0].shape[0] // self.batch
        self.outputs = states[0].type.with_dimensions((rows[0].shape[0], states[0].shape[1]))
        self.zeros = b.constant(np.zeros(self.outputs.dimensions, self.outputs.dtype), self.outputs)
        self.start = b.constant(np.array([self.count - 1 if reverse else 0], np.int32))
        self.types = [self.start.type, *(state.type for state in states), self.outputs]
        given = [each.type for each in (*rows, *([] if bounds is None else [bounds]))]
        body = b.nest("steps")
        time, *inner, outputs = (body.input(type) for type in self.types)
        read = [body.input(type) for type in given]
        limits = None if bounds is None else read.pop()
        own = {name: body.take_outer(operand) for name, operand in operands.items()}
        body.output(*self._add_pass(body, step, own, time, tuple(inner), outputs, read, limits))
        self.kept = body.list_outer_operands()
        condition = b.nest("condition")
        now, *_ = [condition.input(type) for type in (*self.types, *given, *(each.type for each in self.kept))]
        limit = -1 if reverse else self.count
        condition.output(now > limit if reverse else now < limit)
        self.models = condition.finish(), body.finish()

    def run(self, rows: Sequence[Tensor], states: States, bounds: Tensor | None) -> tuple[Tensor, States]:
        """Append the WHILE; return the outputs of its steps as rows, and the states after them."""
        given = [*rows, *([] if bounds is None else [bounds]), *self.kept]
        results = self.b.while_(*self.models, [self.start, *states, self.zeros, *given], out=self.types)
        return results[-1], tuple(results[1:-1])

    def _add_pass(
        self,
        body: Decomposition,
        step: Step,
        operands: Operands,
        time: Tensor,
        states: States,
        outputs: Tensor,
        rows: Sequence[Tensor],
        bounds: Tensor | None,
    ) -> list[Tensor]:
        """Append the steps of one pass to the loop's body; return the next state."""
        sign = -1 if self.reverse else 1
        times = time + np.arange(STEPS_OF_PASS, dtype=np.int32) * sign
        read = [self._read(body, each, times) for each in rows]
        made = []
        for passed in range(STEPS_OF_PASS):
            at_time = [body.block(each, 0, passed * self.batch, self.batch) for each in read]
            now = None if bounds is None else time + passed * sign
            out, states = _run_step(body, step, operands, at_time, states, now, bounds)
            made.append(out)
        left = outputs.shape[0] - STEPS_OF_PASS * self.batch
        kept = [body.block(outputs, 0, 0 if self.reverse else outputs.shape[0] - left, left)] if left else []
        outputs = body.concatenate([*reversed(made), *kept] if self.reverse else [*kept, *made], 0)
        return [time + STEPS_OF_PASS * sign, *states, outputs]

    def _read(self, body: Decomposition, rows: Tensor, times: Tensor) -> Tensor:
        """Return the rows of a pass's steps."""
        width = rows.shape[1]
        whole = body.reshape(rows, (self.count, self.batch * width))
        return body.reshape(body.gather(whole, 0, times), (STEPS_OF_PASS * self.batch, width))
