"""Inputs of many lengths, such as a decoder's past keys or sentences: one compilation serves several by padding.

Padding is exact if a mask removes it from every result; a run with large random padding tests that.
"""

from __future__ import annotations  # NumPy imports its random module at first use

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nnapi.contract.driver import Bound
from nnapi.errors import BadDataError, need, need_value
from nnapi.model.operand import Array, Shape

Shapes = tuple[Shape, ...]
Run = Callable[[Sequence[Array]], list[Array]]
Bind = Callable[[Shapes], Bound]
"""Returns memory for inputs of the given shapes, and a function that runs on it."""

Further = Callable[[Shapes], Sequence[Array]]
"""Returns further inputs of a padded compilation, which depend on the shapes of a run."""

BUCKET = 64
"""Lengths are padded to multiples of this."""
LOUD = 100.0
"""Standard deviation of the random padding in a test run."""
MASKED = -1e30
"""The padding of further float inputs: scores to which a mask adds it get no weight."""
CLOSE = 1e-3
"""Maximum difference of float results in a test run, relative to the largest value."""


def no_further(shapes: Shapes) -> Sequence[Array]:
    return ()


class Axis(NamedTuple):
    """A growing axis of an input or output. Its size is the common length plus ``extra``."""

    tensor: int
    axis: int
    extra: int


@dataclass(frozen=True)
class Growth:
    """Shapes that depend on one length: the axes that grow with it, and the shapes of one run."""

    axes: tuple[Axis, ...]
    shapes: Shapes

    def at(self, length: int) -> Shapes:
        found = [list(shape) for shape in self.shapes]
        for tensor, axis, extra in self.axes:
            found[tensor][axis] = length + extra
        return tuple(map(tuple, found))

    def length_of(self, shapes: Shapes) -> int | None:
        """Return the length if shapes belong to this growth, else None."""
        tensor, axis, extra = self.axes[0]
        if len(shapes) != len(self.shapes) or axis >= len(shapes[tensor]):
            return None
        length = shapes[tensor][axis] - extra
        return length if length > 0 and self.at(length) == shapes else None


def find_growth(before: Shapes | None, now: Shapes) -> Growth | None:
    """Return the growth between two runs, if each axis that differs has grown by one; None if not, or without a run
    before.

    A batch, whose axes are all the first of several, is not padded: a run would compute many times as much.
    """
    if before is None:
        return None
    changed = [(i, old, new) for i, (old, new) in enumerate(zip(before, now, strict=True)) if old != new]
    if any(len(old) != len(new) for _, old, new in changed):
        return None
    pairs = [
        (i, axis, size, size - was)
        for i, old, new in changed
        for axis, (was, size) in enumerate(zip(old, new, strict=True))
        if size != was
    ]
    is_batch = all(axis == 0 and len(now[i]) > 1 for i, axis, *_ in pairs)
    if is_batch or any(step != 1 for *_, step in pairs):
        return None
    length = min(size for _, _, size, _ in pairs)
    return Growth(tuple(Axis(i, axis, size - length) for i, axis, size, _ in pairs), now)


def find_lengths(declared: Shapes, shapes: Shapes) -> Growth:
    """Return the growth for inputs with one dynamic length; ``declared`` shapes have 0 for dynamic dimensions. The
    first axis counts as the batch. BadDataError if there are several lengths."""
    pairs = [
        (i, axis, size)
        for i, (dimensions, shape) in enumerate(zip(declared, shapes, strict=True))
        for axis, (known, size) in enumerate(zip(dimensions, shape, strict=True))
        if not known and (axis or len(shape) == 1)
    ]
    length = min((size for *_, size in pairs), default=0)
    found = ", ".join(str(size) for *_, size in pairs) or "none"
    need(
        length and all(size - length <= 1 for *_, size in pairs),
        f'dynamic="bucket" pads inputs of one dynamic length behind the batch; the lengths are {found}',
        BadDataError,
    )
    return Growth(tuple(Axis(i, axis, size - length) for i, axis, size in pairs), shapes)


def bucket_for(length: int) -> int:
    """Return the length to pad to, so that a decoder's next 62 tokens fit too."""
    return -(-(length + BUCKET - 2) // BUCKET) * BUCKET


class _Fill(NamedTuple):
    """The padding: a value for floats, or large random ones; other types are padded with zeros."""

    value: float = 0.0
    noise: np.random.Generator | None = None

    def write(self, padding: Array) -> None:
        if padding.dtype.kind != "f":
            padding[...] = 0
        elif self.noise is None:
            padding[...] = max(self.value, float(np.finfo(padding.dtype).min))
        else:
            padding[...] = self.noise.normal(0, LOUD, padding.shape)


class _PaddedMemory:
    """Memory for a compilation's padded inputs, of which those from ``first_further`` on mask the others."""

    def __init__(self, axes: Sequence[Axis], bound: Bound, capacity: int, first_further: int) -> None:
        self.run = bound.run
        self._inputs, self._capacity = bound.inputs, capacity
        self._axes = [[axis.axis for axis in axes if axis.tensor == i] for i in range(len(bound.inputs))]
        self._further = [i >= first_further for i in range(len(bound.inputs))]
        self._written = capacity
        """The length of the longest inputs; beyond it, the memory is padded."""

    def write(self, inputs: Sequence[Array], length: int, noise: np.random.Generator | None) -> None:
        capacity, end = self._capacity, self._written if noise is None else self._capacity
        for memory, array, axes, is_further in zip(self._inputs, inputs, self._axes, self._further, strict=True):
            if not axes:
                memory[...] = array
                continue
            fill = _Fill(MASKED) if is_further else _Fill(noise=noise)
            for axis in axes[1:]:
                array = _pad(array, axis, length, capacity, fill)
            before = (slice(None),) * axes[0]
            memory[(*before, slice(length))] = array[(*before, slice(length))]
            memory[(*before, slice(capacity, None))] = array[(*before, slice(length, None))]
            if length < end:
                fill.write(memory[(*before, slice(length, end))])
        self._written = length if noise is None else capacity


class Padded:
    """Runs of any length up to ``capacity`` on one compilation for that length; ``bind`` makes its memory.

    Several threads may run, each in memory of its own.
    """

    def __init__(
        self, growth: Growth, capacity: int, bind: Bind, outputs: tuple[Axis, ...], further: Further = no_further
    ) -> None:
        """BadDataError if the further inputs do not grow with the length."""
        self.growth, self.capacity, self._further = growth, capacity, further
        self._bind, self.outputs = bind, outputs
        self._axes = (*growth.axes, *_find_further_axes(growth, capacity, further))
        self._idle: list[_PaddedMemory] = []

    def widen(self, capacity: int, bind: Bind, further: Further = no_further) -> Padded:
        """Return the runs on a compilation for another capacity."""
        return Padded(self.growth, capacity, bind, self.outputs, further)

    def length_of(self, shapes: Shapes) -> int | None:
        """Return the length if shapes fit, else None."""
        length = self.growth.length_of(shapes)
        return length if length is not None and length <= self.capacity else None

    def run(self, inputs: Sequence[Array], length: int, noise: np.random.Generator | None = None) -> list[Array]:
        """Run on inputs of ``length``; ``noise`` pads float inputs with large random values instead of zeros."""
        try:
            memory = self._idle.pop()
        except IndexError:
            bound = self._bind(self.growth.at(self.capacity))
            memory = _PaddedMemory(self._axes, bound, self.capacity, len(inputs))
        try:
            more = self._further(tuple(array.shape for array in inputs))
            memory.write([*inputs, *more], length, noise)
            results = [*memory.run()]  # valid until the next run
            for axis in self.outputs:
                results[axis.tensor] = _drop(results[axis.tensor], axis.axis, length, self.capacity)
            dropped = {axis.tensor for axis in self.outputs}
            return [array if i in dropped else array.copy() for i, array in enumerate(results)]
        finally:
            self._idle.append(memory)


def _find_further_axes(growth: Growth, capacity: int, further: Further) -> list[Axis]:
    length = growth.length_of(growth.shapes)
    assert length is not None
    axes = _match(further(growth.shapes), further(growth.at(capacity)), length, capacity)
    found = need_value(axes, "a constant does not grow with the length of inputs", BadDataError)
    return [axis._replace(tensor=axis.tensor + len(growth.shapes)) for axis in found]


def try_padding(
    growth: Growth, inputs: Sequence[Array], exact: Run, padded: Bind, capacity: int, further: Further = no_further
) -> Padded | None:
    """Return padded runs if padding is exact, else None. ``exact`` runs ``inputs`` unpadded, for comparison."""
    length = growth.length_of(tuple(array.shape for array in inputs))
    assert length is not None
    expected = exact(inputs)
    rng = np.random.default_rng(length)
    made = Padded(growth, capacity, padded, (), further)
    outputs = _match(expected, made.run(inputs, length, rng), length, capacity)
    if outputs is None:
        return None
    made.outputs = outputs
    again = made.run(inputs, length, rng)
    return made if all(map(_is_same, expected, again)) else None


def shorten(growth: Growth, inputs: Sequence[Array]) -> list[Array]:
    """Return the inputs shortened by one element along each growing axis."""
    length = growth.length_of(tuple(array.shape for array in inputs))
    assert length is not None
    found = list(inputs)
    for axis in growth.axes:
        found[axis.tensor] = _drop(found[axis.tensor], axis.axis, length - 1, length)
    return found


def _match(exact: Sequence[Array], padded: Sequence[Array], length: int, capacity: int) -> tuple[Axis, ...] | None:
    """Return the axes of results that padding lengthens; None if shapes differ in another way."""
    axes = []
    for number, (a, b) in enumerate(zip(exact, padded, strict=True)):
        if a.ndim != b.ndim:
            return None
        for axis, (own, wide) in enumerate(zip(a.shape, b.shape, strict=True)):
            if own == wide:
                continue
            if wide - own != capacity - length or own < length:
                return None
            axes.append(Axis(number, axis, own - length))
    return tuple(axes)


def _pad(array: Array, axis: int, length: int, capacity: int, fill: _Fill) -> Array:
    """Extend an axis with padding from ``length`` to ``capacity``."""
    shape = list(array.shape)
    shape[axis] += capacity - length
    found: Array = np.empty(shape, array.dtype)
    before = (slice(None),) * axis
    found[(*before, slice(length))] = array[(*before, slice(length))]
    fill.write(found[(*before, slice(length, capacity))])
    found[(*before, slice(capacity, None))] = array[(*before, slice(length, None))]
    return found


def _drop(array: Array, axis: int, length: int, capacity: int) -> Array:
    """Remove the padding of an axis, from ``length`` to ``capacity``."""
    before = (slice(None),) * axis
    return np.concatenate([array[(*before, slice(length))], array[(*before, slice(capacity, None))]], axis)


def _is_same(a: Array, b: Array) -> bool:
    if a.shape != b.shape or a.dtype.kind != "f":
        return bool(np.array_equal(a, b))
    apart = np.abs(a.astype(np.float64) - b.astype(np.float64)).max(initial=0)
    return bool(apart <= CLOSE * max(np.abs(a).max(initial=0), 1e-6))
