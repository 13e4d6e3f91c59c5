"""Constants that depend on sizes: evaluated for each substitution."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeAlias, TypeGuard, cast

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from nnapi.shapes.size import Size, drop_ones
from nnapi.shapes.symbols import Substitution, Symbols

Array: TypeAlias = np.ndarray[Any, Any]
Make: TypeAlias = Callable[[Substitution], Array]
MOST_ELEMENTS = 64
"""Integer arrays of at most this many elements are arrays of expressions."""
ATTRIBUTES, REDUCTIONS = {np.shape, np.ndim, np.size}, {np.min, np.max, np.any, np.all}
COMPARISONS = {np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal}
EXACT = {np.add, np.subtract, np.multiply, np.negative, np.minimum, np.maximum} | COMPARISONS
"""Functions of integers that expressions and guards compute."""


class SymbolicArray(NDArrayOperatorsMixin):
    """An array whose shape or values depend on sizes. ``number`` is its value for the import's sizes.

    Elementwise functions and reductions give arrays of this kind again. Where code needs the values, substitutions must
    keep them: a guard is recorded. ``elements`` are the values of a small integer array as expressions.
    """

    def __init__(
        self, symbols: Symbols, make: Make, shape: Sequence[int] | None = None, elements: Array | None = None
    ) -> None:
        """``shape`` may hold sizes; if None, substitutions must keep the array's shape."""
        self.symbols, self.make, self.elements = symbols, make, elements
        self.number: Array = symbols.own.array(self)
        self.shape = symbols.test(lambda sizes: sizes.array(self).shape) if shape is None else tuple(shape)
        self.dtype, self.ndim, self.itemsize = self.number.dtype, self.number.ndim, self.number.itemsize

    @classmethod
    def of(cls, symbols: Symbols, elements: Any, dtype: Any) -> SymbolicArray:
        """Return the integer array of these elements: ints and sizes."""
        found = np.empty(np.shape(elements) if isinstance(elements, np.ndarray) else (len(elements),), object)
        found[...] = elements
        flat: list[Any] = found.reshape(-1).tolist()

        def make(sizes: Substitution) -> Array:
            return np.array([sizes.size(each) for each in flat], dtype).reshape(found.shape)

        return cls(symbols, make, found.shape, found)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    def __len__(self) -> int:
        return int(self.shape[0])

    # Code that needs the values

    def fix(self) -> Array:
        """Return the value; substitutions must keep it."""
        own = self.number
        self.symbols.test(lambda sizes: np.array_equal(sizes.array(self), own))
        return own

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.fix(), dtype)

    def __array_function__(self, function: Any, types: Any, given: Any, named: Any) -> Any:
        if function in ATTRIBUTES and not named:
            return getattr(given[0], function.__name__)
        if function in REDUCTIONS and len(given) == 1 and not named:
            return self._reduce(function, named)
        return function(*_fix_all(given), **_fix_all(named))

    def __bool__(self) -> bool:
        if self.elements is not None:
            return bool(self.elements.item())
        return self.symbols.test(lambda sizes: bool(sizes.array(self)))

    def __int__(self) -> int:
        return self.symbols.test(lambda sizes: int(sizes.array(self)))

    def __float__(self) -> float:
        return self.symbols.test(lambda sizes: float(sizes.array(self)))

    def item(self) -> Any:
        return self.fix().item() if self.elements is None else self.elements.item()

    def tolist(self) -> Any:
        return self.fix().tolist() if self.elements is None else self.elements.tolist()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.fix() if self.elements is None else [wrap(self, each) for each in self.elements])

    def __getitem__(self, index: Any) -> Any:
        return self.fix()[index] if self.elements is None else wrap(self, self.elements[index])

    # Functions that give such arrays

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **named: Any) -> Any:
        if method != "__call__" or function.nout != 1 or "out" in named:
            return getattr(function, method)(*_fix_all(inputs), **_fix_all(named))
        if function in EXACT and not named and all(_has_elements(each) for each in inputs):
            with np.errstate(all="ignore"):  # the processor's flags are those of earlier sums, not of these objects
                found = function(*[as_objects(each) for each in inputs])
            return wrap(self, found, np.result_type(*[_sample(each) for each in inputs]))
        return self.derive(
            lambda *arrays: function(*arrays, **named), inputs, broadcast(getattr(each, "shape", ()) for each in inputs)
        )

    def derive(
        self, function: Callable[..., Array], inputs: Sequence[Any], shape: Sequence[int] | None = None
    ) -> SymbolicArray:
        """Return ``function`` of inputs, of which some are SymbolicArrays or sizes."""
        return SymbolicArray(
            self.symbols, lambda sizes: np.asarray(function(*[_substitute(sizes, each) for each in inputs])), shape
        )

    def astype(self, dtype: Any, **named: Any) -> SymbolicArray:
        dtype = np.dtype(dtype)
        if self.elements is not None and dtype.kind in "iu":
            return SymbolicArray.of(self.symbols, self.elements, dtype)
        return self.derive(partial(_cast, dtype=dtype), [self], self.shape)

    def view(self, dtype: Any) -> SymbolicArray:
        return self if dtype == self.dtype else self.derive(lambda array: array.view(dtype), [self], self.shape)

    def reshape(self, *shape: Any) -> SymbolicArray:
        wanted = list(shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape)
        if -1 in wanted:
            wanted[wanted.index(-1)] = self.size // math.prod(each for each in wanted if each != -1)
        if self.elements is not None:
            return SymbolicArray.of(self.symbols, self.elements.reshape(wanted), self.dtype)
        return SymbolicArray(self.symbols, lambda sizes: sizes.array(self).reshape(sizes.shape(wanted)), wanted)

    def transpose(self, *order: Any) -> SymbolicArray:
        axes = order[0] if len(order) == 1 else order or tuple(range(self.ndim))[::-1]
        if self.elements is not None:
            return SymbolicArray.of(self.symbols, self.elements.transpose(axes), self.dtype)
        return self.derive(lambda array: array.transpose(axes), [self], [self.shape[axis] for axis in axes])

    @property
    def T(self) -> SymbolicArray:
        return self.transpose()

    def copy(self) -> SymbolicArray:
        return self

    def min(self, **named: Any) -> Any:
        return self._reduce(np.min, named)

    def max(self, **named: Any) -> Any:
        return self._reduce(np.max, named)

    def any(self) -> Any:
        return self._reduce(np.any, {})

    def all(self) -> Any:
        return self._reduce(np.all, {})

    def _reduce(self, function: Callable[..., Any], named: dict[str, Any]) -> SymbolicArray:
        return self.derive(lambda array: function(array, **named), [self], ())


def is_symbolic(value: Any) -> TypeGuard[SymbolicArray]:
    return isinstance(value, SymbolicArray)


def has_sizes(values: Sequence[Any]) -> bool:
    return any(isinstance(each, Size) for each in values)


def find_symbols(values: Sequence[Any]) -> Symbols | None:
    """Return the symbols of the first size or SymbolicArray among values."""
    found = next((each.symbols for each in values if isinstance(each, Size | SymbolicArray)), None)
    return cast(Symbols | None, found)


def as_integers(values: Any, dtype: Any) -> Any:
    """Return an integer array of ints and sizes, or of rows of them; a SymbolicArray if there are sizes."""
    if is_symbolic(values):
        return values.astype(dtype)
    if isinstance(values, list) and values and isinstance(values[0], list | tuple):
        flat = as_integers([each for row in values for each in row], dtype)
        return flat.reshape((len(values), len(values[0])))
    symbols = find_symbols(values) if isinstance(values, list | tuple) else None
    return np.asarray(values, dtype) if symbols is None else SymbolicArray.of(symbols, list(values), dtype)


def number_elements(shape: Sequence[int]) -> Any:
    """Return an array of this shape that holds the position of each element."""
    symbols = find_symbols(shape)
    if symbols is None:
        return np.arange(math.prod(shape)).reshape(shape)

    def make(sizes: Substitution) -> Array:
        own = sizes.shape(shape)
        return np.arange(math.prod(own)).reshape(own)

    return SymbolicArray(symbols, make, shape)


def fill(shape: Sequence[int], value: float, dtype: Any) -> Any:
    """Return an array of this shape, filled with a value."""
    symbols = find_symbols(shape)
    if symbols is None:
        return np.full(shape, value, dtype)
    return SymbolicArray(symbols, lambda sizes: np.full(sizes.shape(shape), value, dtype), shape)


def is_whole(indices: Any, size: int) -> bool:
    """Return whether indices are 0, 1, … up to the last of an axis; sizes on which they depend must keep the answer."""
    if not is_symbolic(indices):
        return not isinstance(size, Size) and np.array_equal(indices.reshape(-1), np.arange(size))
    return indices.symbols.test(
        lambda sizes: np.array_equal(sizes.array(indices).reshape(-1), np.arange(sizes.size(size)))
    )


def broadcast_to(array: Any, shape: Sequence[int]) -> Any:
    """Return a copy of an array, repeated to this shape."""
    symbols = find_symbols([array, *shape])
    if symbols is None:
        return np.broadcast_to(array, tuple(shape)).copy()
    return SymbolicArray(
        symbols, lambda sizes: np.broadcast_to(_substitute(sizes, array), sizes.shape(shape)).copy(), shape
    )


def in_order(array: Any) -> Any:
    """Return an array in C order."""
    return array if is_symbolic(array) else np.ascontiguousarray(array)


def broadcast(shapes: Any) -> tuple[int, ...] | None:
    """Return the shape that shapes broadcast to; None if they do not."""
    shapes = [tuple(shape) for shape in shapes if len(shape)]
    if len(shapes) == 1:
        return cast(tuple[int, ...], shapes[0])
    rank = max(map(len, shapes), default=0)
    found: list[int] = []
    for sizes in zip(*[(1,) * (rank - len(shape)) + shape for shape in shapes], strict=True):
        wide = drop_ones(sizes)
        if any(size != wide[0] for size in wide[1:]):
            return None
        found.append(wide[0] if wide else 1)
    return tuple(found)


def _substitute(sizes: Substitution, value: Any) -> Any:
    if is_symbolic(value):
        return sizes.array(value)
    return sizes.evaluate(value.expression) if isinstance(value, Size) else value


def _cast(array: Array, dtype: Any) -> Array:
    """Convert elements; those that the type cannot hold become some value, as in files."""
    with np.errstate(invalid="ignore"):
        return array.astype(dtype)


def wrap(like: SymbolicArray, found: Any, dtype: Any = None) -> Any:
    """Return elements as an array or a scalar: symbolic if one is a size."""
    array = np.asarray(found, object) if isinstance(found, np.ndarray) else _as_scalar(found)
    flat = array.reshape(-1).tolist()
    if has_sizes(flat):
        return SymbolicArray.of(like.symbols, array, dtype or like.dtype)
    is_truth = bool(flat) and all(isinstance(each, bool | np.bool_) for each in flat)
    return array.astype(bool if is_truth else dtype or like.dtype)


def _as_scalar(value: Any) -> Array:
    array = np.empty((), object)
    array[()] = value
    return array


def _has_elements(value: Any) -> bool:
    if is_symbolic(value):
        return value.elements is not None
    return isinstance(value, int | Size) or (isinstance(value, np.ndarray | np.integer) and value.dtype.kind in "iu")


def as_objects(value: Any) -> Any:
    if is_symbolic(value):
        return value.elements
    return value.astype(object) if isinstance(value, np.ndarray) else _as_scalar(value)


def _sample(value: Any) -> Any:
    return value.number if is_symbolic(value) else value.number if isinstance(value, Size) else value


def _fix_all(values: Any) -> Any:
    if is_symbolic(values):
        return values.fix()
    if isinstance(values, list | tuple):
        return type(values)(map(_fix_all, values))
    return {key: _fix_all(each) for key, each in values.items()} if isinstance(values, dict) else values
