"""A check that a driver returns the outputs that a model declares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy import ndarray

from nnapi.codes import OEM_SCALAR
from nnapi.errors import OpFailedError
from nnapi.model.model import Model
from nnapi.model.operand import DTYPES, Array, OperandType, combine, stores
from nnapi.printable import pluralize


class OutputCheck:
    """Checks the outputs of runs of one model on a device."""

    def __init__(self, device: str, model: Model) -> None:
        self._device = device
        self._operands = [model.operands[index] for index in model.outputs]
        types = [operand.type for operand in self._operands]
        self._is_static = all(type.is_known for type in types)
        self._usual = [(DTYPES.get(type.code), type.dimensions if type.is_known else None) for type in types]
        """Types and dimensions that are right: the declared ones, or those of an earlier run."""

    def __call__(self, outputs: Sequence[Array]) -> bool:
        """Raise OpFailedError for wrong outputs; return whether all outputs have static dimensions.

        A fast path with static dimensions is checked at its first run only.
        """
        if len(outputs) != len(self._operands):
            raise OpFailedError(
                f"{self._device} returned {pluralize(len(outputs), 'output')}, must be {len(self._operands)}"
            )
        for (dtype, shape), array in zip(self._usual, outputs):  # noqa: B905  # strict would take as long as the test
            if array.__class__ is not ndarray or array.dtype is not dtype or array.shape != shape:
                break
        else:
            return self._is_static
        for operand, array in zip(self._operands, outputs, strict=True):
            if (found := describe_misfit(operand.type, array)) is not None:
                raise OpFailedError(f"{self._device} returned {found} for {operand}")
        self._usual = [(array.dtype, array.shape) for array in outputs]  # usually those of the next run too
        return self._is_static


def describe_misfit(type: OperandType, value: Any) -> str | None:
    """Describe a driver's value that is not an array of this type; return None for one that is."""
    if not isinstance(value, ndarray):
        return repr(value)
    if type.code == OEM_SCALAR:  # the driver decides what it is
        return None
    if not stores(type, value.dtype):
        return f"an array of {value.dtype}"
    shape = value.shape
    fits = value.size == 1 if type.is_scalar else shape and combine(type.dimensions, shape) is not None
    return None if fits else f"dimensions {[*shape]}"
