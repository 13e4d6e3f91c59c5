"""Random models with IF and WHILE: computed conditions, nested models, constants, states of several types."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nnapi import Builder, Model, OperandType, tensor
from nnapi.model.operand import Array

TRUTH, COUNT = tensor("bool8", (1,)), tensor("int32", (1,))
REAL, WHOLE = tensor("float32", (2, 3)), tensor("int32", (4,))
HALF = tensor("float16", (3,))
UNSIGNED, SIGNED = tensor("uint8", (1, 4), 0.5, 120), tensor("int8", (5,), 0.25, -3)
TYPES = REAL, WHOLE, HALF, UNSIGNED, SIGNED, TRUTH
DEEPEST = 2


class RandomFlow:
    """Makes models by a seed. Their loops end: a counter grows in each turn up to a limit, which may be computed."""

    def __init__(self, seed: int, most_turns: int = 6) -> None:
        self.rng = np.random.default_rng(seed)
        self.most_turns = most_turns

    def make(self) -> Model:
        b = Builder("random flow")
        types = [TRUTH, COUNT, *self._pick_types(3)]
        values = [b.input(type) for type in types]
        for _ in range(self.rng.integers(1, 4)):
            self._append(b, types, values, 0)
        b.output(*(self._change(b, type, value, values) for type, value in zip(types, values, strict=True)))
        return b.finish()

    def inputs(self, model: Model) -> list[Array]:
        """Return random inputs; limits of loops, which are the int32 input of one element, are small."""
        return [self._values(model.operands[index].type) for index in model.inputs]

    def _pick_types(self, count: int) -> list[OperandType]:
        return [TYPES[position] for position in self.rng.integers(len(TYPES), size=count)]

    def _values(self, type: OperandType) -> Array:
        if type == TRUTH:
            return self.rng.integers(0, 2, type.dimensions).astype(np.uint8)
        if type == COUNT:
            return self.rng.integers(-1, self.most_turns + 1, type.dimensions).astype(np.int32)
        if type.is_quantized:
            limits = np.iinfo(type.dtype)
            return self.rng.integers(limits.min, limits.max + 1, type.dimensions).astype(type.dtype)
        values = self.rng.integers(-4, 5, type.dimensions)
        return (values if type == WHOLE else values / 4).astype(type.dtype)

    def _append(self, b: Builder, types: Sequence[OperandType], values: list[Any], depth: int) -> None:
        """Append an operation, and replace the values that it changes; each keeps its type."""
        makers: list[Callable[..., None]] = [self._append_change]
        if depth < DEEPEST:
            makers += [self._append_if, self._append_while]
        makers[self.rng.integers(len(makers))](b, types, values, depth)

    def _append_change(self, b: Builder, types: Sequence[OperandType], values: list[Any], depth: int) -> None:
        position = int(self.rng.integers(len(values)))
        values[position] = self._change(b, types[position], values[position], values)

    def _change(self, b: Builder, type: OperandType, value: Any, values: Sequence[Any]) -> Any:
        """Return a new value of the same type, which depends on the old one."""
        other = self._values(type)
        if type == TRUTH:
            made = b.logical_not(value) if self.rng.random() < 0.5 else b.logical_or(value, b.constant(other, type))
        elif type == COUNT:
            made = b.minimum(b.add(value, np.ones(1, np.int32)), np.full(1, self.most_turns, np.int32))
        elif type == WHOLE:
            made = b.maximum(b.sub(value, other), np.full(1, -100, np.int32))
        elif type == REAL and self.rng.random() < 0.5:
            weights = (self.rng.integers(-4, 5, (3, 3)) / 8).astype(np.float32)
            made = b.tanh(b.fully_connected(value, weights, np.zeros(3, np.float32)))
        elif type.is_quantized:
            made = b.relu(b.add(value, b.constant(other, type), out=type), out=type)
        else:
            made = b.sub(b.abs(value), b.constant(other, type))
        return made

    def _model(self, types: Sequence[OperandType], finish: Callable[[Builder, list[Any]], Sequence[Any]]) -> Model:
        b = Builder(f"nested {self.rng.integers(1000)}")
        results = finish(b, [b.input(type) for type in types])
        b.output(*results)
        return b.finish()

    def _condition(self, b: Builder, types: Sequence[OperandType], values: Sequence[Any]) -> Any:
        """Return a truth value: one of the values, or a comparison."""
        truths = [value for type, value in zip(types, values, strict=True) if type == TRUTH]
        if truths and self.rng.random() < 0.7:
            return truths[0]
        counts = [value for type, value in zip(types, values, strict=True) if type == COUNT]
        return b.less(counts[0], self._values(COUNT), out=TRUTH)

    def _append_if(self, b: Builder, types: Sequence[OperandType], values: list[Any], depth: int) -> None:
        given = list(values)
        if self.rng.random() < 0.3:  # a branch may read a constant
            position = int(self.rng.integers(2, len(values)))
            given[position] = b.constant(self._values(types[position]), types[position])
        then, otherwise = (self._model(types, lambda i, inner: self._steps(i, types, inner, depth)) for _ in range(2))
        condition = self._condition(b, types, values)
        values[:] = b.if_(condition, then, otherwise, given, out=list(types))

    def _steps(self, b: Builder, types: Sequence[OperandType], values: list[Any], depth: int) -> Sequence[Any]:
        values = list(values)
        for _ in range(self.rng.integers(1, 3)):
            self._append(b, types, values, depth + 1)
        return [self._change(b, type, value, values) for type, value in zip(types, values, strict=True)]

    def _append_while(self, b: Builder, types: Sequence[OperandType], values: list[Any], depth: int) -> None:
        """Append a loop: its counter starts at a constant, its limit is a value that the loop does not change."""
        changed = [type for type in types if type != COUNT]
        state = [COUNT, *changed, COUNT]

        def decide(i: Builder, inner: list[Any]) -> Sequence[Any]:
            below = i.less(inner[0], inner[-1], out=TRUTH)
            if TRUTH in changed and self.rng.random() < 0.3:
                below = i.logical_and(below, inner[1 + changed.index(TRUTH)], out=TRUTH)
            return [below]

        def step(i: Builder, inner: list[Any]) -> Sequence[Any]:
            results = self._steps(i, [*changed, COUNT], inner[1:], depth)
            return [i.add(inner[0], np.ones(1, np.int32)), *results[:-1]]

        models = self._model(state, decide), self._model(state, step)
        limit = next(value for type, value in zip(types, values, strict=True) if type == COUNT)
        if self.rng.random() < 0.4:
            limit = b.constant(self._values(COUNT), COUNT)
        start = b.constant(np.zeros(1, np.int32), COUNT)
        inputs = [start, *(v for t, v in zip(types, values, strict=True) if t != COUNT), limit]
        count, *results = b.while_(*models, inputs, out=state[:-1])
        rest = iter(results)
        values[:] = [count if type == COUNT else next(rest) for type in types]


def counting(step: OperandType = COUNT, limit: int = 100, name: str = "counting") -> Model:
    """x, which grows by 1 up to the limit; the limit is a constant of the condition, x an input."""
    b = Builder("condition")
    b.output(b.less(b.input(step), np.full(1, limit, step.dtype), out=TRUTH))
    condition = b.finish()
    b = Builder("body")
    b.output(b.add(b.input(step), np.ones(1, step.dtype)))
    body = b.finish()
    b = Builder(name)
    b.output(*b.while_(condition, body, [b.input(step)], out=[step]))
    return b.finish()
