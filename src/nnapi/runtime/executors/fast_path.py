"""The fast path of a run: one check of types and shapes, then the driver. Other inputs take the general path."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from numpy import dtype, ndarray

from nnapi.codes import OperandCode
from nnapi.contract.driver import Handle, Inference, OpenOptions
from nnapi.model.model import Model
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.trace.log import Log

log = Log("nnapi.ExecutionBuilder")

BOOL, BYTE = dtype(bool), dtype("uint8")
DType: TypeAlias = "dtype[Any]"
FastPath: TypeAlias = Callable[[Sequence[Any]], "list[Array] | None"]
"""Runs inputs that fit exactly. Returns None for other inputs and after errors; callers then take the general path."""


def is_dynamic(model: Model) -> bool:
    """Return whether the model has inputs with dynamic dimensions, so that a fast path fits one run's shapes only."""
    return not all(model.operands[index].type.is_known for index in model.inputs)


def list_shapes(model: Model, inputs: Sequence[Array | None] | None = None) -> Sequence[Shape] | None:
    """Return the shapes of ``inputs`` or the declared ones, for a handle; None if there can be no fast path."""
    if inputs is None:
        shapes: list[Shape | None] = [model.operands[index].type.dimensions for index in model.inputs]
    else:
        shapes = [None if array is None else array.shape for array in inputs]
    known = [shape for shape in shapes if shape and 0 not in shape]
    return known if len(known) == len(shapes) else None


def find_fast_path(model: Model, handle: Handle, shapes: Sequence[Shape] | None) -> FastPath | None:
    """Return the fast path of a handle that was opened for these shapes, or None."""
    if handle.call is None or shapes is None:
        return None
    return _accept([model.operands[index].type for index in model.inputs], shapes, handle.call)


class FastPaths:
    """The fast paths of a dynamic model, for the shapes of the latest two different runs on the general path."""

    def __init__(self, model: Model, handle: Handle, *, borrow: bool = False) -> None:
        """``borrow`` is as in :class:`OpenOptions`."""
        self._model, self._handle, self._borrow = model, handle, borrow
        self._known: list[tuple[Sequence[Shape], FastPath | None]] = []

    def find(self, inputs: Sequence[Array | None]) -> FastPath | None:
        """Return the fast path for inputs of these shapes, or None."""
        shapes = list_shapes(self._model, inputs)
        if shapes is None:
            return None
        for known, path in self._known:
            if known == shapes:
                return path
        handle = self._handle.reopen(OpenOptions(shapes, borrow=self._borrow))
        path = find_fast_path(self._model, handle, shapes)
        self._known = [(shapes, path), *self._known[:1]]
        return path


def _accept(types: Sequence[OperandType], shapes: Sequence[Shape], infer: Inference) -> FastPath:
    wanted = [(type.dtype, shape) for type, shape in zip(types, shapes, strict=True)]
    run = _accept_one(*wanted[0], infer) if len(wanted) == 1 else _accept_several(wanted, infer)
    return _accept_booleans(run) if any(type.code == OperandCode.TENSOR_BOOL8 for type in types) else run


def _accept_booleans(run: FastPath) -> FastPath:
    """Accept NumPy booleans too, as bytes."""

    def run_on_bytes(inputs: Sequence[Any]) -> list[Array] | None:
        return run([array.view(BYTE) if getattr(array, "dtype", None) is BOOL else array for array in inputs])

    return run_on_bytes


def _accept_one(stored: DType, shape: Shape, infer: Inference) -> FastPath:
    """Accept one input: without a loop, a tiny model runs 10 % faster."""

    def run(inputs: Sequence[Any]) -> list[Array] | None:
        if len(inputs) != 1:
            return None
        array = inputs[0]
        if array.__class__ is not ndarray or array.dtype is not stored or array.shape != shape:
            return None
        try:
            return infer(inputs)
        except Exception as error:
            _log_failure(error)
            return None

    return run


def _accept_several(wanted: Sequence[tuple[DType, Shape]], infer: Inference) -> FastPath:
    count = len(wanted)

    def run(inputs: Sequence[Any]) -> list[Array] | None:
        if len(inputs) != count:
            return None
        for array, (stored, shape) in zip(inputs, wanted):  # noqa: B905  # strict would take as long as the test
            if array.__class__ is not ndarray or array.dtype is not stored or array.shape != shape:
                return None
        try:
            return infer(inputs)
        except Exception as error:
            _log_failure(error)
            return None

    return run


def _log_failure(error: Exception) -> None:
    log.debug("the fast path failed, running on the general path: %s", error)
