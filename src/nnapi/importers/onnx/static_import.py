"""Import an ONNX file as one model, with those dynamic dimensions that NNAPI can express."""

import os
from collections.abc import Sequence

import numpy as np

from nnapi.codes import OperationCode
from nnapi.errors import BadDataError, need
from nnapi.formats.onnx import messages as onnx
from nnapi.garbage_collection import pause_collecting
from nnapi.importers.build import build
from nnapi.importers.graph import Step, Value
from nnapi.importers.input_shapes import Shapes, fix_shape, need_inputs
from nnapi.importers.onnx.convert import INCONSISTENT, Conversion
from nnapi.importers.onnx.fold_into_filters import FoldingIntoFilters
from nnapi.importers.onnx.graph import OnnxGraph
from nnapi.importers.onnx.node import HIGHEST_RANK, identity, value_in_file_order
from nnapi.importers.onnx.reader import NEWEST, File
from nnapi.importers.onnx.schemas import newest_opset
from nnapi.importers.onnx.scope import ImportState, Scope
from nnapi.importers.onnx.tensors import (
    BYTES,
    CODES,
    DTYPES,
    DYNAMIC,
    NAMES,
    NARROWED,
    WIDENED,
    OnnxTensor,
    Values,
    constant,
    declared_shape,
    has_empty_axis,
    operand_type,
    placeholder,
)
from nnapi.importers.refusals import UnsupportedOperationsError, expressible
from nnapi.importers.source_files import SourceFile
from nnapi.importers.symbolic_model import InputSymbols
from nnapi.model.model import Model
from nnapi.model.operand import type_name


@pause_collecting()
def read_file(
    file: File,
    path: str,
    shapes: Shapes | None = None,
    values: Values | None = None,
    symbols: InputSymbols | None = None,
) -> Model:
    """Return the model in a file; raise the errors of :func:`read`. Inputs in ``values`` are read as these constants,
    but stay inputs of the model. ``symbols`` get the dynamic dimensions, and record what the model owes to them."""
    file.is_shared |= bool(shapes or values)
    try:
        model = _import(file, os.path.basename(path), shapes or {}, values or {}, symbols)
    except INCONSISTENT as error:  # for example, names that are not UTF-8 are bytes
        raise BadDataError(f"it is damaged ({type(error).__name__}: {error})") from None
    if file.mapped:
        model.origin = SourceFile.at(path, file.mapped)
    return model


def _import(file: File, name: str, shapes: Shapes, values: Values, symbols: InputSymbols | None) -> Model:
    state = ImportState(file, name, shapes, values, symbols)
    graph = file.content.graph
    need_inputs(shapes, graph.inputs)
    conversion = Conversion(state, OnnxGraph(state.allowance), file.opsets)
    if (newest := newest_opset()) < file.opsets[""] < NEWEST:
        conversion.note(f"the file is of opset {file.opsets['']}; it is read as opset {newest}, the newest known here")
    conversion.begin(graph)
    inputs = _read_inputs(conversion, file.proto.graph.input)
    conversion.run(graph)
    outputs = _read_outputs(conversion, graph.outputs)
    if state.refusals:
        raise UnsupportedOperationsError.of(name, state.refusals)
    FoldingIntoFilters(conversion.graph, outputs).run()
    model = Model(os.path.splitext(name)[0])
    model.notes = tuple(state.notes)
    model.permit_dynamic_range(state.dynamic_range)
    build(conversion.graph, model, inputs, outputs, symbols=symbols)
    taken = zip(model.inputs, inputs, strict=True)
    model.empty_inputs = frozenset(index for index, value in taken if value in state.empty)
    return model


def _read_inputs(conversion: Scope, given: Sequence[onnx.ValueInfoProto]) -> list[Value]:
    inputs = []
    for info in given:
        if info.name in conversion.tensors:  # old files list constants as inputs too
            continue
        tensor = placeholder(info.name)
        with conversion.refusing("model input", info.name):
            tensor = _read_input(conversion, info)
        inputs.append(tensor.materialize())
        if tensor.array is not None:
            conversion.state.empty.add(inputs[-1])
        if info.name in conversion.state.values:
            tensor = constant(info.name, conversion.state.values[info.name])
        conversion.tensors[info.name] = tensor
    return inputs


def _read_input(scope: Scope, info: onnx.ValueInfoProto) -> OnnxTensor:
    kind = info.type.WhichOneof("value")
    expressible(kind == "tensor_type", f"it is of type {str(kind).removesuffix('_type')}, NNAPI has tensors only")
    declared = info.type.tensor_type
    shape = declared_shape(declared) if declared.HasField("shape") else None
    if info.name in scope.state.shapes:
        wanted = fix_shape(info.name, shape, tuple(map(int, scope.state.shapes[info.name])), least=0)
        symbols = scope.state.symbols
        shape = wanted if symbols is None or shape is None else symbols.declare(info.name, shape, wanted)
    if shape is None or DYNAMIC in shape:
        scope.state.sizes_depend_on_data = False
    _note_type(scope, declared.elem_type)
    type = operand_type(declared.elem_type, shape or (1,), info.name)
    if shape is None:
        type = type.with_dimensions(())
    is_empty = has_empty_axis(declared) or 0 in scope.state.shapes.get(info.name, ())
    empty = np.zeros(shape or (), DTYPES[declared.elem_type]) if is_empty else None
    return OnnxTensor(info.name, declared.elem_type, shape, empty, Value(type, info.name))


def _read_outputs(scope: Scope, names: Sequence[str]) -> list[Value]:
    taken: set[Value] = set()
    values = []
    for name in names:
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


def _find_result(scope: Scope, tensor: OnnxTensor) -> Value:
    expressible(not tensor.is_dynamic_shape or tensor.compute, "it depends on dimensions that only a run knows")
    if tensor.compute:
        tensor = tensor.compute()
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
