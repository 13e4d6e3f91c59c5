"""Import files whose operations depend on dynamic dimensions: anew for each set of input shapes."""

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from nnapi.errors import BadDataError, NnapiError, need
from nnapi.importers.onnx.maps import list_map_keys, list_texts
from nnapi.importers.onnx.reader import File
from nnapi.importers.onnx.static_import import read_file
from nnapi.importers.onnx.tensors import (
    CODES,
    DYNAMIC,
    FLOAT,
    INT64,
    Shapes,
    declared_shape,
    describe_shape,
    operand_type,
)
from nnapi.importers.refusals import Refusal, UnsupportedOperationsError
from nnapi.model.dynamic_model import DynamicModel
from nnapi.model.dynamic_model import Shapes as InputShapes
from nnapi.model.model import Model
from nnapi.model.operand import OperandType, Shape

if TYPE_CHECKING:
    import onnx

GUESSES = (64, 1)
"""Sizes tried for dynamic dimensions, to find out whether NNAPI can express the file."""


def list_dynamic_inputs(file: File, shapes: Shapes) -> dict[str, Shape]:
    """Return the inputs with dynamic dimensions, by name, without those in ``shapes``."""
    declared = {info.name: info.type.tensor_type for info in file.inputs if info.name not in shapes}
    found = {name: declared_shape(type) for name, type in declared.items() if type.HasField("shape")}
    return {name: shape for name, shape in found.items() if DYNAMIC in shape}


def make_dynamic(file: File, path: str, shapes: Shapes, error: UnsupportedOperationsError) -> DynamicModel:
    """Return the model of a file whose import failed with ``error`` because dimensions are dynamic.

    Raises UnsupportedOperationsError for refusals that static dimensions do not remove, with a hint at load(shapes=…).
    """
    dynamic = list_dynamic_inputs(file, shapes)
    if not dynamic:
        raise error
    remaining = _find_inexpressible(file, path, shapes, dynamic)
    if remaining:
        raise _refuse(os.path.basename(path), remaining, dynamic)
    inputs = [_describe(info, shapes) for info in file.inputs]
    outputs = _describe_outputs(file.proto.graph)
    describe = partial(_read_for, file, path, dict(shapes), [name for name, _ in inputs])
    return DynamicModel(os.path.splitext(os.path.basename(path))[0], inputs, outputs, describe)


def _describe_outputs(graph: "onnx.GraphProto") -> list[tuple[str, OperandType]]:
    maps, texts = list_map_keys(graph), list_texts(graph)
    found = []
    for info in graph.output:
        if info.name in maps:
            found.append((info.name, OperandType(CODES[FLOAT], (DYNAMIC, len(maps[info.name])))))
        elif info.name in texts:
            found.append((info.name, OperandType(CODES[INT64], (DYNAMIC,))))
        else:
            found.append(_describe(info, {}))
    return found


def _describe(info: "onnx.ValueInfoProto", shapes: Shapes) -> tuple[str, OperandType]:
    declared = info.type.tensor_type
    need(declared.elem_type in CODES, f"{info.name} has no type that NNAPI has", BadDataError)
    if not declared.HasField("shape"):
        return info.name, OperandType(CODES[declared.elem_type], tuple(shapes.get(info.name, ())))
    shape = tuple(shapes.get(info.name, declared_shape(declared)))
    return info.name, operand_type(declared.elem_type, shape, info.name)


def _read_for(file: File, path: str, shapes: Shapes, names: Sequence[str], inputs: InputShapes) -> Model:
    scalars = {each.name for each in file.proto.graph.input if not each.type.tensor_type.shape.dim}
    given = {name: shape for name, shape in zip(names, inputs, strict=True) if name not in scalars}
    return read_file(file, path, {**given, **shapes})


def _find_inexpressible(file: File, path: str, shapes: Shapes, dynamic: Mapping[str, Shape]) -> list[Refusal]:
    """Return the refusals that do not depend on the dynamic sizes: the import fails with them for each guessed size."""
    found: dict[Refusal, None] | None = None
    for size in GUESSES:
        guess = {name: tuple(each or size for each in shape) for name, shape in dynamic.items()}
        try:
            read_file(file, path, {**shapes, **guess})
        except UnsupportedOperationsError as error:
            found = {each: None for each in error.refusals if found is None or each in found}
        except NnapiError:  # the guessed sizes contradict the file; the sizes in a run may fit
            return []
        else:
            return []
    return list(found or ())


def _refuse(name: str, refusals: Sequence[Refusal], dynamic: Mapping[str, Shape]) -> UnsupportedOperationsError:
    error = UnsupportedOperationsError.of(name, refusals)
    listed = ", ".join(f"{end} {describe_shape(shape)}" for end, shape in dynamic.items())
    hint = f"it has dynamic dimensions, which load(shapes=…) fixes: {listed}"
    return UnsupportedOperationsError(f"{error.message}; {hint}", refusals)
