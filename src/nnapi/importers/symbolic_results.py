"""Results of operations on constants that depend on sizes: each substitution computes them again."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar, cast

from nnapi.model.operand import Array, OperandType
from nnapi.shapes.array import SymbolicArray, find_symbols, is_symbolic
from nnapi.shapes.symbols import Substitution

V = TypeVar("V")
"""The values of a graph under construction: data classes with the attributes ``type`` and ``array``."""


def defer_results(
    inputs: Sequence[V],
    declared: Sequence[OperandType],
    results: Sequence[OperandType],
    compute: Callable[[Sequence[V], Sequence[OperandType]], Sequence[Array]],
) -> list[Array]:
    """Return an array for each of the ``results``; none if no input depends on sizes. ``compute`` gets inputs and
    declared types without symbols."""
    frozen: list[Any] = [replace(cast(Any, value)) for value in inputs]
    symbols = find_symbols([each for value in frozen for each in (value.array, *value.type.dimensions)])
    if symbols is None:
        return []

    def make(sizes: Substitution, position: int) -> Array:
        own = [replace(value, type=_substitute(value.type, sizes), array=_find(value, sizes)) for value in frozen]
        return compute(own, [_substitute(type, sizes) for type in declared])[position]

    def defer(position: int, type: OperandType) -> SymbolicArray:
        return SymbolicArray(symbols, lambda sizes: make(sizes, position), type.dimensions)

    return [cast(Array, defer(position, type)) for position, type in enumerate(results)]


def _substitute(type: OperandType, sizes: Substitution) -> OperandType:
    return type.replace(dimensions=sizes.shape(type.dimensions))


def _find(value: Any, sizes: Substitution) -> Array | None:
    array: Array | None = sizes.array(value.array) if is_symbolic(value.array) else value.array
    return array
