"""Inputs and outputs of a file's graph as those of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nnapi.codes import OperationCode
from nnapi.errors import BadDataError, need
from nnapi.importers.graph import Step, Value
from nnapi.importers.onnx.convert import Conversion
from nnapi.importers.onnx.node import HIGHEST_RANK, identity, value_in_file_order
from nnapi.importers.onnx.scope import Scope
from nnapi.importers.onnx.tensors import (
    BYTES,
    CODES,
    NAMES,
    NARROWED,
    WIDENED,
    Tensor,
    declared_shape,
    fix_shape,
    operand_type,
    placeholder,
)
from nnapi.importers.refusals import expressible
from nnapi.model.operand import type_name

if TYPE_CHECKING:
    import onnx


def begin(conversion: Conversion, graph: onnx.GraphProto) -> list[Value]:
    """Add the constants and inputs of the file's graph; return the inputs."""
    conversion.begin(graph)
    for sparse in graph.sparse_initializer:
        name = sparse.values.name
        with conversion.refusing("initializer", name):
            expressible(False, "it is stored sparsely")
        conversion.tensors[name] = placeholder(name)
    inputs = []
    for info in graph.input:
        if info.name in conversion.tensors:  # old files list constants as inputs too
            continue
        tensor = placeholder(info.name)
        with conversion.refusing("model input", info.name):
            tensor = _read_input(conversion, info)
        conversion.tensors[info.name] = tensor
        inputs.append(tensor.materialize())
    return inputs


def _read_input(scope: Scope, info: onnx.ValueInfoProto) -> Tensor:
    kind = info.type.WhichOneof("value")
    expressible(kind == "tensor_type", f"it is a {str(kind).removesuffix('_type')}, NNAPI has tensors only")
    declared = info.type.tensor_type
    shape = declared_shape(declared) if declared.HasField("shape") else None
    empty = any(each.HasField("dim_value") and each.dim_value == 0 for each in declared.shape.dim)
    expressible(not empty, "it has no elements")
    if info.name in scope.state.shapes:
        shape = fix_shape(info.name, shape, tuple(map(int, scope.state.shapes[info.name])))
    _note_type(scope, declared.elem_type)
    type = operand_type(declared.elem_type, shape or (1,), info.name)
    if shape is None:
        type = type.with_dimensions(())
    return Tensor(info.name, declared.elem_type, shape, value=Value(type, info.name))


def end(scope: Scope, graph: onnx.GraphProto) -> list[Value]:
    """Return the output values, each named as in the file."""
    taken: set[Value] = set()
    values = []
    for name in (each.name for each in graph.output):
        with scope.refusing("model output", name):
            need(name in scope.tensors, f"nothing writes the output {name}", BadDataError)
            if scope.tensors[name].is_refused:
                continue
            value = _find_result(scope, scope.tensors[name])
            if value in taken or value not in scope.graph.written:
                copy = Value(value.type, name)
                scope.graph.steps.append(Step(OperationCode.CAST, [value], [copy]))
                value = copy
            value.name = name
            taken.add(value)
            values.append(value)
    return values


def _find_result(scope: Scope, tensor: Tensor) -> Value:
    expressible(not tensor.is_dynamic_shape, "it depends on dimensions that only a run knows")
    value = value_in_file_order(scope, tensor)
    if tensor.elem not in BYTES:
        value = scope.graph.real(value)
    _note_type(scope, tensor.elem)
    shape = tensor.shape or (1,)
    if tensor.shape is not None and len(shape) > HIGHEST_RANK and value.shape != shape:
        return identity(scope, tensor).view(value, shape)
    return value


def _note_type(scope: Scope, elem: int) -> None:
    if elem in (*NARROWED, *WIDENED):
        scope.note(f"{NAMES[elem].lower()} tensors are {type_name(CODES[elem])}")
