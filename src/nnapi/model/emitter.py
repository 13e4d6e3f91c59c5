"""Emit operations that move elements, into the graph of an import or into the model of a decomposition."""

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from nnapi.codes import OperandCode, OperationCode
from nnapi.model.operand import OperandType, Shape
from nnapi.operation_codes import Code, CompositeCode
from nnapi.shapes.array import number_elements
from nnapi.shapes.size import Size, is_same


class Emitted(Protocol):
    """A value in the model under construction."""

    @property
    def type(self) -> OperandType: ...
    @property
    def shape(self) -> Shape: ...


V = TypeVar("V", bound=Emitted)
R = TypeVar("R")


class Emitter(Generic[V, R]):
    """Emits operations by :meth:`append`, which each target defines. The methods take elements of any type.

    ``to`` is the result where it is known before: a type, or an R that the operation writes. A dimension of 0 is
    dynamic.
    """

    @abstractmethod
    def append(self, code: Code, inputs: Sequence[Any], results: Sequence[R | OperandType]) -> list[V]:
        """Append an operation and return its results.

        Inputs that are numbers become scalars; sequences and arrays of integers become TENSOR_INT32 constants.
        """

    @abstractmethod
    def full(self, type: OperandType, value: float) -> V:
        """Return a constant tensor filled with one stored value."""

    def can_move(self, x: V) -> bool:
        """Return whether NNAPI's TRANSPOSE and CONCATENATION take values of this type."""
        return x.type.code != OperandCode.TENSOR_INT32

    def reshape(self, x: V, shape: Sequence[int], to: R | None = None) -> V:
        """Return the same elements in another shape, of which one dimension may be dynamic."""
        if to is None and is_same(shape, x.shape):
            return x
        return self._emit(OperationCode.RESHAPE, x, [dimension or -1 for dimension in shape], shape=shape, to=to)

    def transpose(self, x: V, order: Sequence[int], to: R | None = None) -> V:
        if not self.can_move(x):
            return self.gather_transposed(x, order, to)
        shape = [x.shape[axis] for axis in order]
        return self._emit(OperationCode.TRANSPOSE, x, list(order), shape=shape, to=to)

    def gather_transposed(self, x: V, order: Sequence[int], to: R | None = None) -> V:
        """Transpose a value of any type by gathering its elements one by one."""
        flat = self.reshape(x, (math.prod(x.shape),))
        moved = self.pick(flat, 0, number_elements(x.shape).transpose(order).reshape(-1))
        return self.reshape(moved, [x.shape[axis] for axis in order], to)

    def concatenate(self, values: Sequence[V], axis: int, to: R | None = None) -> V:
        if to is None and len(values) == 1:
            return values[0]
        shape, sizes = list(values[0].shape), [value.shape[axis] for value in values]
        shape[axis] = sum(sizes) if all(sizes) else 0
        code = OperationCode.CONCATENATION if self.can_move(values[0]) else CompositeCode.CONCATENATION_V2
        return self._emit(code, *values, axis, shape=shape, to=to)

    def split(self, x: V, axis: int, count: int) -> list[V]:
        """Split a value along an axis into equal pieces."""
        if count == 1:
            return [x]
        shape = list(x.shape)
        shape[axis] //= count
        return self.append(OperationCode.SPLIT, [x, axis, count], [_reshaped(x, shape)] * count)

    def slice(self, x: V, begin: Sequence[int], size: Sequence[int], to: R | None = None) -> V:
        """Return a block of the elements; a size of -1 reaches to the end."""
        shape = [max(dimension, 0) for dimension in size]
        return self._emit(OperationCode.SLICE, x, list(begin), list(size), shape=shape, to=to)

    def block(self, x: V, axis: int, begin: int, size: int) -> V:
        """Return ``size`` elements along an axis, from index ``begin`` on."""
        if size == x.shape[axis]:
            return x
        first = [0] * len(x.shape)
        count = [-1 if isinstance(dimension, Size) else dimension or -1 for dimension in x.shape]
        first[axis], count[axis] = begin, size
        return self.slice(x, first, count)

    def pick(self, x: V, axis: int, indices: Any) -> V:
        """Return the elements at constant indices along an axis."""
        shape = (*x.shape[:axis], *np.shape(indices), *x.shape[axis + 1 :])
        return self._emit(OperationCode.GATHER, x, axis, indices, shape=shape)

    def pad_by_concatenation(self, x: V, paddings: Sequence[Sequence[int]], value: float) -> V:
        """Pad by concatenating constants of one stored value, for types that NNAPI's PAD does not take."""
        for axis, widths in enumerate(paddings):
            types = [_reshaped(x, (*x.shape[:axis], width, *x.shape[axis + 1 :])) for width in widths]
            low, high = ([self.full(type, value)] if type.dimensions[axis] else [] for type in types)
            x = self.concatenate([*low, x, *high], axis)
        return x

    def _emit(self, code: Code, *inputs: Any, shape: Sequence[int], to: R | None = None) -> V:
        """Append an operation whose result has the type of the first input but for the shape; return the result."""
        return self.append(code, inputs, [_reshaped(inputs[0], shape) if to is None else to])[0]


def _reshaped(x: Emitted, shape: Sequence[int]) -> OperandType:
    return OperandType(x.type.code, tuple(shape), x.type.scale, x.type.zero_point)
