"""Patterns as files may write them: in a random order of factors and terms, with random operations for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nnapi.codes import OperandCode
from nnapi.codes import OperationCode as O
from nnapi.importers.graph import BOOL8, FLOAT32, Allowance, Graph, Value
from nnapi.importers.recognition.attention import Half
from nnapi.importers.recognition.pattern import Constant, Power, Product, Sum
from nnapi.model.operand import OperandType
from nnapi.rewriting.pattern import Apply, Either, Operand, Pattern

Numbers = Mapping[str, float]


def real(*shape: int, name: str = "") -> Value:
    return Value(OperandType(FLOAT32, shape), name)


class Spelling:
    """Steps that compute a pattern; ``values`` and ``numbers`` are what its names stand for."""

    def __init__(self, values: Mapping[str, Value], numbers: Numbers, seed: int) -> None:
        self.graph = Graph(Allowance(1 << 20))
        self.values, self.numbers = values, numbers
        self.random = np.random.default_rng(seed)
        self._known: dict[Pattern | tuple[Value, int], Value] = {}

    def choose(self, count: int) -> int:
        return int(self.random.integers(count))

    def emit(self, code: Any, *inputs: Value, outputs: int = 1) -> Value:
        is_truth = code in (O.EQUAL, O.GREATER, O.LESS)
        kind = BOOL8 if is_truth else inputs[1 if code == O.SELECT else 0].type.code
        results = [Value(OperandType(kind), f"{code.name}:{i}") for i in range(outputs)]
        fusing = [self.graph.scalar(OperandCode.INT32, 0)] if code in (O.ADD, O.SUB, O.MUL, O.DIV) else []
        self.graph.emit(code, [*inputs, *fusing], results)
        return results[0]

    def constant(self, number: float) -> Value:
        return self.graph.constant(np.full(1, number, np.float32))

    def write(self, pattern: Pattern) -> Value:
        """Append steps; the same pattern is sometimes computed once for all its readers, sometimes anew."""
        if pattern not in self._known or self.choose(2):
            self._known[pattern] = self._write(pattern)
        return self._known[pattern]

    def _write(self, pattern: Pattern) -> Value:
        if isinstance(pattern, Operand):
            return self.values[pattern.name]
        if isinstance(pattern, Constant):
            return self.graph.full(self.values["x"].type, pattern.number)
        if isinstance(pattern, Either):
            return self.write(pattern.forms[self.choose(len(pattern.forms))])
        if isinstance(pattern, Power):
            return self._raise(self.write(pattern.base), pattern.exponent)
        if isinstance(pattern, Half):
            return self._halve(self.write(pattern.whole), pattern.index)
        if isinstance(pattern, Product):
            return self._multiply(pattern)
        if isinstance(pattern, Sum):
            return self._add(pattern)
        assert isinstance(pattern, Apply)
        (code,) = pattern.kinds
        return self.emit(code, *map(self.write, pattern.inputs), *self._others(code, pattern.inputs))

    def _others(self, code: Any, inputs: Sequence[Pattern]) -> list[Value]:
        """Return the operands that a pattern's ``where`` tests."""
        scalar = self.graph.scalar
        if code == O.MEAN:
            return [scalar(OperandCode.INT32, 1)]
        if code == O.BATCH_MATMUL:
            return [scalar(OperandCode.BOOL, False)] * (4 - len(inputs))
        if code == O.SOFTMAX:
            return [scalar(OperandCode.FLOAT32, 1.0), *([scalar(OperandCode.INT32, -1)] if self.choose(2) else [])]
        return [scalar(OperandCode.INT32, self.values["x"].rank - 1)] if code == O.CONCATENATION else []

    def _raise(self, x: Value, exponent: float) -> Value:
        if exponent == 1:
            return x
        if exponent == 2 and self.choose(2):
            return self.emit(O.MUL, x, x)
        if exponent in (0.5, -0.5) and self.choose(2):
            return self.emit(O.SQRT if exponent > 0 else O.RSQRT, x)
        if exponent < 0 and self.choose(2):
            return self.emit(O.DIV, self.constant(1), self._raise(x, -exponent))
        return self.emit(O.POW, x, self.constant(exponent))

    def _halve(self, x: Value, index: int) -> Value:
        rank, half = x.rank, x.shape[-1] // 2
        ways = self._known.get((x, 2))
        begin, size = [0] * rank, [*x.shape[:-1], half]
        begin[-1] = index * half
        way = self.choose(3) if ways is None else 0
        if way == 0:
            if ways is None:
                parts = [real(*size, name=f"part {i}") for i in range(2)]
                scalars = [self.graph.scalar(OperandCode.INT32, number) for number in (rank - 1, 2)]
                self.graph.emit(O.SPLIT, [x, *scalars], parts)
                self._known[x, 0], self._known[x, 1] = parts
                self._known[x, 2] = x
            return self._known[x, index]
        if way == 1:
            return self.emit(O.SLICE, x, self.graph.ints(begin), self.graph.ints(size))
        ends = [a + b for a, b in zip(begin, size, strict=True)]
        masks = [self.graph.scalar(OperandCode.INT32, mask) for mask in (0b1, 0, 0)]
        return self.emit(O.STRIDED_SLICE, x, *map(self.graph.ints, (begin, ends, [1] * rank)), *masks)

    def _multiply(self, product: Product) -> Value:
        items = [self._item(part) for part in product.parts]
        number = self.numbers[product.number] if isinstance(product.number, str) else product.number
        computed = [i for i, (value, _) in enumerate(items) if value.array is None]  # constants would be folded
        index = computed[self.choose(len(computed))]
        if number == -1 and self.choose(2):
            items[index] = self.emit(O.NEG, items[index][0]), items[index][1]
        elif number != 1:
            self._scale(items, index, number)
        while len(items) > 1:
            a, b = (items.pop(self.choose(len(items))) for _ in range(2))
            items.append(self._combine(a, b, O.MUL, O.DIV))
        value, is_inverse = items[0]
        return self.emit(O.DIV, self.constant(1), value) if is_inverse else value

    def _item(self, part: Pattern) -> tuple[Value, bool]:
        """Return a factor, and whether the product is divided by it."""
        if isinstance(part, Power) and part.exponent < 0 and self.choose(2):
            return self._raise(self.write(part.base), -part.exponent), True
        return self.write(part), False

    def _scale(self, items: list[tuple[Value, bool]], index: int, number: float) -> None:
        """Multiply a factor by a number, in one or two steps."""
        value, is_inverse = items[index]
        number = 1 / number if is_inverse else number
        for factor in [number / 4, 4] if self.choose(2) else [number]:
            if self.choose(2):
                value = self.emit(O.MUL, *self._in_any_order(value, self.constant(factor)))
            else:
                value = self.emit(O.DIV, value, self.constant(1 / factor))
        items[index] = value, is_inverse

    def _in_any_order(self, a: Value, b: Value) -> tuple[Value, Value]:
        return (a, b) if self.choose(2) else (b, a)

    def _combine(self, a: tuple[Value, bool], b: tuple[Value, bool], join: O, undo: O) -> tuple[Value, bool]:
        if a[1] == b[1]:
            return self.emit(join, *self._in_any_order(a[0], b[0])), a[1]
        x, y = (b, a) if a[1] else (a, b)
        return self.emit(undo, x[0], y[0]), False

    def _add(self, total: Sum) -> Value:
        items = [self._term(part) for part in total.parts]
        number = self.numbers[total.number] if isinstance(total.number, str) else total.number
        if number:
            items.append((self.constant(number), False))
        while len(items) > 1:
            a, b = (items.pop(self.choose(len(items))) for _ in range(2))
            items.append(self._combine(a, b, O.ADD, O.SUB))
        value, is_negative = items[0]
        return self.emit(O.NEG, value) if is_negative else value

    def _term(self, part: Pattern) -> tuple[Value, bool]:
        """Return a term, and whether it is subtracted."""
        if isinstance(part, Product) and part.number == -1 and self.choose(2):
            return self._multiply(Product(part.parts, 1.0)), True
        return self.write(part), False
